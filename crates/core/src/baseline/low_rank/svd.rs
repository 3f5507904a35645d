//! The singular value decomposition of a small dense matrix, by one-sided Jacobi rotations.
//!
//! `A = U diag(s) V'`: rotations from the right make the columns of A orthogonal; their lengths are s.
//! See Demmel and Veselic, "Jacobi's method is more accurate than QR", 1992.

use ndarray::{Array1, Array2, Axis};

/// Most sweeps over all pairs of columns; a dozen is usual.
const SWEEPS: usize = 60;
/// Cosine at which two columns are orthogonal.
const ORTHOGONAL: f64 = 1e-15;
/// A singular value this much smaller than the largest is 0.
const ZERO: f64 = 1e-9;

/// `A = U diag(s) V'`, s descending.
#[derive(Debug)]
pub(super) struct Svd {
    pub(super) u: Array2<f64>,
    pub(super) s: Array1<f64>,
    pub(super) v: Array2<f64>,
}

impl Svd {
    /// Singular values that are not 0.
    pub(super) fn rank(&self) -> usize {
        let largest = self.s.first().copied().unwrap_or(0.0);
        self.s.iter().filter(|s| **s > ZERO * largest).count()
    }
}

/// The decomposition of `a`.
pub(super) fn svd(a: &Array2<f64>) -> Svd {
    if a.ncols() > a.nrows() {
        let Svd { u, s, v } = svd(&a.t().to_owned());
        return Svd { u: v, s, v: u };
    }
    let n = a.ncols();
    let (mut b, mut v) = (a.clone(), Array2::eye(n));
    for _ in 0..SWEEPS {
        let mut turned = false;
        for p in 0..n {
            for q in p + 1..n {
                turned |= make_orthogonal(&mut b, &mut v, p, q);
            }
        }
        if !turned {
            break;
        }
    }
    let lengths: Vec<f64> = b.axis_iter(Axis(1)).map(|c| c.dot(&c).sqrt()).collect();
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&i, &j| lengths[j].total_cmp(&lengths[i]));
    let s: Array1<f64> = order.iter().map(|&i| lengths[i]).collect();
    let mut u = b.select(Axis(1), &order);
    for (mut column, &length) in u.axis_iter_mut(Axis(1)).zip(&s) {
        if length > 0.0 {
            column /= length;
        }
    }
    Svd { u, s, v: v.select(Axis(1), &order) }
}

/// Turns columns p and q of `b` until they are orthogonal, and those of `v` with them. Whether they were not.
fn make_orthogonal(b: &mut Array2<f64>, v: &mut Array2<f64>, p: usize, q: usize) -> bool {
    let (x, y) = (b.column(p), b.column(q));
    let (xx, yy, xy) = (x.dot(&x), y.dot(&y), x.dot(&y));
    if xy.abs() <= ORTHOGONAL * (xx * yy).sqrt() {
        return false;
    }
    let zeta = (yy - xx) / (2.0 * xy);
    let tangent = zeta.signum() / (zeta.abs() + (1.0 + zeta * zeta).sqrt());
    let cosine = 1.0 / (1.0 + tangent * tangent).sqrt();
    let sine = cosine * tangent;
    for matrix in [b, v] {
        for mut row in matrix.rows_mut() {
            let (x, y) = (row[p], row[q]);
            row[p] = cosine * x - sine * y;
            row[q] = sine * x + cosine * y;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_matrix_is_the_product_of_its_parts() {
        for shape in [(5, 3), (3, 5), (4, 4)] {
            let a = Array2::from_shape_fn(shape, |(i, j)| ((3 * i + 7 * j) % 5) as f64 - 1.7);
            let Svd { u, s, v } = svd(&a);
            let back = (&u * &s).dot(&v.t());
            assert!((&back - &a).iter().all(|d| d.abs() < 1e-12));
            assert!(s.iter().zip(s.iter().skip(1)).all(|(a, b)| a >= b));
            let gram = v.t().dot(&v) - Array2::<f64>::eye(v.ncols());
            assert!(gram.iter().all(|d| d.abs() < 1e-12));
        }
    }

    #[test]
    fn the_rank_is_counted() {
        let a = Array2::from_shape_fn((6, 4), |(i, j)| (i + 1) as f64 * (j + 1) as f64);
        assert_eq!(svd(&a).rank(), 1);
        assert_eq!(svd(&Array2::zeros((3, 2))).rank(), 0);
    }
}
