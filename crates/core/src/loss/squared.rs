//! Squared error: `l = (y - z)^2`, `l* = a^2/4 + y a` on all of R (M2).

use super::Loss;

/// `(y - z)^2`, for regression.
#[derive(Debug, Clone, Copy)]
pub struct Squared;

impl Loss for Squared {
    #[inline]
    fn value(self, z: f64, y: f64) -> f64 {
        (y - z) * (y - z)
    }

    #[inline]
    fn derivative(self, z: f64, y: f64) -> f64 {
        2.0 * (z - y)
    }

    #[inline]
    fn curvature(self, _z: f64, _y: f64) -> f64 {
        2.0
    }

    #[inline]
    fn conjugate(self, a: f64, y: f64) -> f64 {
        a * a / 4.0 + y * a
    }

    #[inline]
    fn conjugate_derivative(self, a: f64, y: f64) -> f64 {
        a / 2.0 + y
    }

    #[inline]
    fn project(self, a: f64, _y: f64) -> f64 {
        a
    }

    #[inline]
    fn coordinate_step(self, a: f64, z: f64, q: f64, y: f64) -> f64 {
        (z - y + q * a) / (q + 0.5)
    }

    #[inline]
    fn conjugate_linear(self, a: f64, y: f64) -> Option<f64> {
        Some(y * a)
    }

    fn dual_limit(self) -> Option<f64> {
        None
    }

    fn conjugate_curvature_min(self) -> f64 {
        0.5
    }

    fn conjugate_curvature_max(self) -> Option<f64> {
        Some(0.5)
    }
}
