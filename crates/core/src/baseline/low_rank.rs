//! Accelerated iterative hard thresholding for matrices: momentum over the rank-one matrices as atoms.
//!
//! min f(X) = ||b - M(X)||^2 / 2  s.t.  rank X <= k
//!
//! where   M(X) are the inner products of X with given matrices, `Pi_k` the best approximation of rank k
//! Given   beta, the largest eigenvalue of `M*M`; tau = 1/4, or what is best for f
//! Returns X, f and the number of iterations
//! Line 4  T: the spans of the left and right singular vectors of u and of the k largest of the gradient outside
//! Line 5  `u_bar = u - (1/beta) grad_T f(u)`, `grad_T = P_U G + G P_V - P_U G P_V`
//! Line 6  `X' = Pi_k(u_bar)`
//! Line 7  `u = X' + tau (X' - X)`
//! Line 8  until `||X' - X|| <= eta ||X'||`
//! See "IHT dies hard" (Khanna and Kyrillidis, AISTATS 2018), Alg. 1 with the low-rank atoms of 2.1.

mod svd;

use ndarray::{Array1, Array2, ArrayView2, Axis, concatenate};

use super::Momentum;
use svd::{Svd, svd};

/// Inner products with given matrices.
#[derive(Debug, Clone)]
pub struct Measurements {
    /// A row for each matrix, by rows of it.
    maps: Array2<f64>,
    shape: (usize, usize),
}

/// Settings of a recovery.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Recovery {
    /// The rank.
    pub rank: usize,
    /// How much of the last move is made again.
    pub momentum: Momentum,
    /// Relative change at which it ends: eta of line 8.
    pub tolerance: f64,
    /// Most iterations.
    pub iterations: usize,
}

/// What was recovered.
#[derive(Debug, Clone)]
pub struct Recovered {
    /// The matrix.
    pub matrix: Array2<f64>,
    /// f there.
    pub objective: f64,
    /// Iterations that it took.
    pub iterations: usize,
}

/// Matrices that do not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RecoveryError {
    /// A row of the measurements has not as many entries as the matrix.
    #[error("each measurement needs {expected} entries, not {found}")]
    Shape {
        /// Entries of the matrix.
        expected: usize,
        /// Entries of a measurement.
        found: usize,
    },
    /// As many results as measurements.
    #[error("{expected} measurements have {expected} results, not {found}")]
    Results {
        /// Measurements.
        expected: usize,
        /// Results.
        found: usize,
    },
}

impl Measurements {
    /// Of matrices of `shape`, one in each row of `maps`.
    ///
    /// # Errors
    /// The rows are not as long as such a matrix has entries.
    pub fn new(maps: Array2<f64>, shape: (usize, usize)) -> Result<Self, RecoveryError> {
        let (expected, found) = (shape.0 * shape.1, maps.ncols());
        if expected == found {
            Ok(Self { maps, shape })
        } else {
            Err(RecoveryError::Shape { expected, found })
        }
    }

    /// `M(X)`.
    pub fn apply(&self, x: &Array2<f64>) -> Array1<f64> {
        let flat: Array1<f64> = x.iter().copied().collect();
        self.maps.dot(&flat)
    }

    /// `M*(r)`.
    fn adjoint(&self, r: &Array1<f64>) -> Array2<f64> {
        let flat = self.maps.t().dot(r);
        Array2::from_shape_fn(self.shape, |(i, j)| flat[i * self.shape.1 + j])
    }

    /// The largest eigenvalue of `M*M`, by power iteration; raised a little, since that comes from below.
    fn smoothness(&self) -> f64 {
        let mut v: Array1<f64> = Array1::from_elem(self.maps.nrows(), 1.0);
        let mut largest = 0.0;
        for _ in 0..100 {
            let length = v.dot(&v).sqrt();
            if length == 0.0 {
                break;
            }
            v /= length;
            let across = self.maps.t().dot(&v);
            largest = across.dot(&across);
            v = self.maps.dot(&across);
        }
        1.02 * largest
    }

    /// Recovers a matrix of low rank from the results `b`.
    ///
    /// # Errors
    /// There are not as many results as measurements.
    pub fn recover(&self, b: &Array1<f64>, how: &Recovery) -> Result<Recovered, RecoveryError> {
        let (expected, found) = (self.maps.nrows(), b.len());
        if expected != found {
            return Err(RecoveryError::Results { expected, found });
        }
        let step = 1.0 / self.smoothness().max(f64::MIN_POSITIVE);
        let mut x = Array2::zeros(self.shape);
        let mut u: Array2<f64> = x.clone();
        let mut iterations = 0;
        while iterations < how.iterations {
            iterations += 1;
            let gradient = self.adjoint(&(self.apply(&u) - b));
            // Lines 4, 5
            let moved = &u - &(step * restricted(&u, &gradient, how.rank));
            // Line 6
            let next = truncate(&moved, how.rank);
            // Line 7
            let change = &next - &x;
            let tau = self.momentum(b, &next, &change, how.momentum);
            u = &next + &(tau * &change);
            x = next;
            // Line 8
            if norm(&change) <= how.tolerance * norm(&x) {
                break;
            }
        }
        let missed = self.apply(&x) - b;
        Ok(Recovered { matrix: x, objective: missed.dot(&missed) / 2.0, iterations })
    }

    /// tau: for the adaptive one, f along the change is a parabola.
    fn momentum(
        &self,
        b: &Array1<f64>,
        x: &Array2<f64>,
        change: &Array2<f64>,
        how: Momentum,
    ) -> f64 {
        match how {
            Momentum::Constant(tau) => tau,
            Momentum::Adaptive => {
                let (left, along) = (b - &self.apply(x), self.apply(change));
                let bend = along.dot(&along);
                if bend > 0.0 { (left.dot(&along) / bend).clamp(0.0, 1.0) } else { 0.0 }
            }
        }
    }
}

fn norm(x: &Array2<f64>) -> f64 {
    x.iter().map(|v| v * v).sum::<f64>().sqrt()
}

/// `Pi_k`.
fn truncate(x: &Array2<f64>, k: usize) -> Array2<f64> {
    let Svd { u, s, v } = svd(x);
    let kept = k.min(s.len());
    let left = &u.slice(ndarray::s![.., ..kept]) * &s.slice(ndarray::s![..kept]);
    left.dot(&v.slice(ndarray::s![.., ..kept]).t())
}

/// `grad_T`: what of the gradient lives in the spans of u and of its own largest part outside of them.
fn restricted(u: &Array2<f64>, gradient: &Array2<f64>, k: usize) -> Array2<f64> {
    let of_u = svd(u);
    let rank = of_u.rank().min(2 * k);
    let (left, right) =
        (of_u.u.slice(ndarray::s![.., ..rank]), of_u.v.slice(ndarray::s![.., ..rank]));
    let rows_out = gradient - &left.dot(&left.t().dot(gradient));
    let outside = &rows_out - &rows_out.dot(&right).dot(&right.t());
    let of_rest = svd(&outside);
    let more = of_rest.rank().min(k);
    let left = joined(&left, &of_rest.u.slice(ndarray::s![.., ..more]));
    let right = joined(&right, &of_rest.v.slice(ndarray::s![.., ..more]));
    let by_left = left.dot(&left.t().dot(gradient));
    let by_right = gradient.dot(&right).dot(&right.t());
    let by_both = by_left.dot(&right).dot(&right.t());
    by_left + by_right - by_both
}

/// Orthonormal columns and others that are orthogonal to them, side by side.
fn joined(a: &ArrayView2<'_, f64>, b: &ArrayView2<'_, f64>) -> Array2<f64> {
    concatenate(Axis(1), &[*a, *b]).unwrap_or_else(|_| a.to_owned())
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    /// A matrix of rank 2 and Gaussian-like measurements of it.
    fn instance() -> (Array2<f64>, Measurements) {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
        let mut draw =
            |shape| Array2::from_shape_simple_fn(shape, || random.random_range(-1.0..1.0));
        let truth = draw((12, 2)).dot(&draw((2, 9)));
        let maps = draw((95, 12 * 9));
        (truth, Measurements::new(maps, (12, 9)).unwrap())
    }

    #[test]
    fn a_matrix_of_low_rank_is_recovered_from_fewer_numbers_than_it_has() {
        let (truth, measurements) = instance();
        let b = measurements.apply(&truth);
        for momentum in [Momentum::Constant(0.25), Momentum::Adaptive] {
            let how = Recovery { rank: 2, momentum, tolerance: 1e-10, iterations: 3000 };
            let found = measurements.recover(&b, &how).unwrap();
            let error = norm(&(&found.matrix - &truth)) / norm(&truth);
            assert!(error < 1e-6, "{momentum:?}: {error} after {}", found.iterations);
            assert_eq!(svd(&found.matrix).rank(), 2);
        }
    }

    #[test]
    fn momentum_saves_iterations() {
        let (truth, measurements) = instance();
        let b = measurements.apply(&truth);
        let iterations = |tau| {
            let momentum = Momentum::Constant(tau);
            let how = Recovery { rank: 2, momentum, tolerance: 1e-9, iterations: 5000 };
            measurements.recover(&b, &how).unwrap().iterations
        };
        assert!(iterations(0.25) < iterations(0.0));
    }

    #[test]
    fn shapes_must_fit() {
        assert!(Measurements::new(Array2::zeros((3, 5)), (2, 2)).is_err());
        let (_, measurements) = instance();
        let how = Recovery { rank: 1, momentum: Momentum::Adaptive, tolerance: 0.1, iterations: 1 };
        assert!(measurements.recover(&Array1::zeros(4), &how).is_err());
    }
}
