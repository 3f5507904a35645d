//! The proximal step of the squared k-support norm (M6, M14).
//!
//! `||w||_k^2 = min { sum_j w_j^2 / theta_j : theta in [0,1]^d, sum theta <= k }`, whose dual is `||H_k(u)||^2`.
//! See Argyriou, Foygel and Srebro, "Sparse prediction with the k-support norm", NIPS 2012.

/// A point and the selectors at which its norm is attained.
#[derive(Debug, Clone)]
pub(crate) struct Prox {
    pub(crate) w: Vec<f64>,
    pub(crate) theta: Vec<f64>,
    /// `||w||_k^2`.
    pub(crate) norm_sq: f64,
}

/// `argmin_w sum_j (w_j - q_j)^2 / (2 c_j) + (1/2) ||w||_k^2`: with
/// `theta_j = min(1, max(0, s |q_j| - c_j))` and s such that `sum theta = k`, `w_j = q_j theta_j / (theta_j + c_j)`.
pub(crate) fn prox(q: &[f64], c: &[f64], k: usize) -> Prox {
    let s = selector_slope(q, c, k);
    let entries = || q.iter().zip(c);
    // With s infinite every entry that is not 0 is chosen.
    let selector = |(&q, &c): (&f64, &f64)| {
        if q == 0.0 { 0.0 } else { (s * q.abs() - c).clamp(0.0, 1.0) }
    };
    let theta: Vec<f64> = entries().map(selector).collect();
    let w = entries().zip(&theta).map(|((q, c), theta)| q * theta / (theta + c)).collect();
    let square = |((q, c), theta): ((&f64, &f64), &f64)| q * q * theta / (theta + c).powi(2);
    let norm_sq = entries().zip(&theta).map(square).sum();
    Prox { w, theta, norm_sq }
}

/// The s at which `sum_j min(1, max(0, s |q_j| - c_j)) = k`; infinite where k entries or fewer are not 0.
fn selector_slope(q: &[f64], c: &[f64], k: usize) -> f64 {
    let entries = q.iter().zip(c).map(|(q, &c)| (q.abs(), c));
    let mut open: Vec<(f64, f64)> = entries.filter(|&(q, _)| q > 0.0).collect();
    if open.len() <= k {
        return f64::INFINITY;
    }
    if k == 0 {
        return 0.0;
    }
    // Where the k-th of them comes to its own limit, k selectors are 1 already.
    let mut limits: Vec<f64> = open.iter().map(|&(q, c)| (1.0 + c) / q).collect();
    let (mut low, mut ones) = (0.0, 0usize);
    let mut high = *limits.select_nth_unstable_by(k - 1, f64::total_cmp).1;
    // What is decided for the whole interval leaves the list.
    while open.len() > 1 {
        let s = f64::midpoint(low, high);
        if s <= low || s >= high {
            break;
        }
        let sum: f64 = open.iter().map(|&(q, c)| (s * q - c).clamp(0.0, 1.0)).sum();
        if ones as f64 + sum > k as f64 {
            high = s;
        } else {
            low = s;
        }
        let before = open.len();
        open.retain(|&(q, c)| low * q - c < 1.0);
        ones += before - open.len();
        open.retain(|&(q, c)| high * q - c > 0.0);
        let linear = open.iter().all(|&(q, c)| low * q >= c && high * q <= 1.0 + c);
        if linear && !open.is_empty() {
            let size: f64 = open.iter().map(|&(q, _)| q).sum();
            let shift: f64 = open.iter().map(|&(_, c)| c).sum();
            return (k as f64 - ones as f64 + shift) / size;
        }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::threshold::sum_of_largest;

    #[test]
    fn the_prox_is_a_minimum() {
        let q = [3.0, -2.5, 2.4, 0.3, 0.0, -0.2, 1.0];
        for (c, uneven, k) in [
            (0.5, 0.0, 2),
            (0.01, 0.0, 3),
            (2.0, 0.0, 1),
            (0.3, 0.0, 6),
            (0.2, 0.3, 2),
            (0.01, 1.0, 4),
        ] {
            let c: Vec<f64> = (0..q.len()).map(|j| c + uneven * j as f64).collect();
            let Prox { w, theta, norm_sq } = prox(&q, &c, k);
            let sum: f64 = theta.iter().sum();
            assert!((sum - k as f64).abs() < 1e-9, "selectors add up to {sum} and not {k}");
            // Optimality: (q - w)/c is a subgradient u, so w'u = ||w||_k^2 = ||H_k(u)||^2.
            let u: Vec<f64> = (0..q.len()).map(|j| (q[j] - w[j]) / c[j]).collect();
            let mut squares: Vec<f64> = u.iter().map(|u| u * u).collect();
            let dual = sum_of_largest(&mut squares, k);
            let inner: f64 = w.iter().zip(&u).map(|(w, u)| w * u).sum();
            assert!((inner - norm_sq).abs() < 1e-9 * norm_sq, "{c:?} {k}");
            assert!((dual - norm_sq).abs() < 1e-9 * norm_sq, "{dual}, {norm_sq} ({c:?}, {k})");
        }
    }
}
