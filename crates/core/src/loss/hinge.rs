//! Hinge: `l = max(0, 1 - m)`, `l* = b` on `b in [-1, 0]` (M2).

use super::Loss;

/// `max(0, 1 - y z)`, the loss of the support vector machine.
#[derive(Debug, Clone, Copy)]
pub struct Hinge;

impl Loss for Hinge {
    const ENDS: bool = true;

    #[inline]
    fn value(self, z: f64, y: f64) -> f64 {
        (1.0 - y * z).max(0.0)
    }

    #[inline]
    fn derivative(self, z: f64, y: f64) -> f64 {
        if y * z < 1.0 { -y } else { 0.0 }
    }

    #[inline]
    fn curvature(self, _z: f64, _y: f64) -> f64 {
        0.0
    }

    #[inline]
    fn model_curvature(self, z: f64, y: f64) -> f64 {
        corner_model(1.0 - y * z, 1.0)
    }

    #[inline]
    fn conjugate(self, a: f64, y: f64) -> f64 {
        let b = y * a;
        if (-1.0..=0.0).contains(&b) { b } else { f64::INFINITY }
    }

    #[inline]
    fn conjugate_derivative(self, _a: f64, y: f64) -> f64 {
        y
    }

    #[inline]
    fn project(self, a: f64, y: f64) -> f64 {
        y * (y * a).clamp(-1.0, 0.0)
    }

    #[inline]
    fn coordinate_step(self, a: f64, z: f64, q: f64, y: f64) -> f64 {
        let slope = y * z - 1.0;
        let b = y * a;
        // A row without entries in the support (q = 0) goes to the end its slope points at.
        let b = if q > 0.0 {
            b + slope / q
        } else if slope < 0.0 {
            -1.0
        } else if slope > 0.0 {
            0.0
        } else {
            b
        };
        y * b.clamp(-1.0, 0.0)
    }

    #[inline]
    fn conjugate_linear(self, a: f64, y: f64) -> Option<f64> {
        Some(y * a)
    }

    fn dual_limit(self) -> Option<f64> {
        Some(1.0)
    }

    fn conjugate_curvature_min(self) -> f64 {
        0.0
    }

    fn conjugate_curvature_max(self) -> Option<f64> {
        Some(0.0)
    }
}

/// The curvature of a hinge whose corner is rounded over `width`, `short` below the margin of 1.
#[inline]
pub(super) fn corner_curvature(short: f64, width: f64) -> f64 {
    if short > 0.0 && short <= width { 1.0 / width } else { 0.0 }
}

/// The same beyond the corner too (M10). A row that is wrong has no curvature, but a step ends when it is
/// right: the flattest parabola that touches the loss there and lies above it has curvature
/// `1 / (2 |short - width/2|)`.
#[inline]
pub(super) fn corner_model(short: f64, width: f64) -> f64 {
    if short <= 0.0 { 0.0 } else { 0.5 / (short - width / 2.0).max(width / 2.0) }
}
