//! Squared hinge: `l = max(0, 1 - m)^2`, `l* = b + b^2/4` on `b <= 0` (M2).

use super::Loss;

/// `max(0, 1 - y z)^2`, the default loss.
#[derive(Debug, Clone, Copy)]
pub struct SquaredHinge;

impl Loss for SquaredHinge {
    const ENDS: bool = true;

    #[inline]
    fn value(self, z: f64, y: f64) -> f64 {
        let short = (1.0 - y * z).max(0.0);
        short * short
    }

    #[inline]
    fn derivative(self, z: f64, y: f64) -> f64 {
        -2.0 * y * (1.0 - y * z).max(0.0)
    }

    #[inline]
    fn curvature(self, z: f64, y: f64) -> f64 {
        if y * z < 1.0 { 2.0 } else { 0.0 }
    }

    #[inline]
    fn conjugate(self, a: f64, y: f64) -> f64 {
        let b = y * a;
        if b <= 0.0 { b + b * b / 4.0 } else { f64::INFINITY }
    }

    #[inline]
    fn conjugate_derivative(self, a: f64, y: f64) -> f64 {
        y * (1.0 + y * a / 2.0)
    }

    #[inline]
    fn project(self, a: f64, y: f64) -> f64 {
        y * (y * a).min(0.0)
    }

    #[inline]
    fn coordinate_step(self, a: f64, z: f64, q: f64, y: f64) -> f64 {
        y * ((y * z - 1.0 + q * y * a) / (q + 0.5)).min(0.0)
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
