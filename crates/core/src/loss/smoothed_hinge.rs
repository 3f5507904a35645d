//! Smoothed hinge: the hinge with its corner replaced by a parabola of width gamma (M2);
//! `l* = b + (gamma/2) b^2` on `b in [-1, 0]`. The papers call it Huber (eq. 5.1).

use super::{
    Loss,
    hinge::{corner_curvature, corner_model},
};

/// `0` for `m >= 1`, `1 - m - gamma/2` for `m < 1 - gamma`, `(1 - m)^2 / (2 gamma)` between.
#[derive(Debug, Clone, Copy)]
pub struct SmoothedHinge {
    /// Width of the rounded corner, positive.
    pub gamma: f64,
}

impl Loss for SmoothedHinge {
    const ENDS: bool = true;

    #[inline]
    fn value(self, z: f64, y: f64) -> f64 {
        let short = 1.0 - y * z;
        if short <= 0.0 {
            0.0
        } else if short > self.gamma {
            short - self.gamma / 2.0
        } else {
            short * short / (2.0 * self.gamma)
        }
    }

    #[inline]
    fn derivative(self, z: f64, y: f64) -> f64 {
        -y * ((1.0 - y * z) / self.gamma).clamp(0.0, 1.0)
    }

    #[inline]
    fn curvature(self, z: f64, y: f64) -> f64 {
        corner_curvature(1.0 - y * z, self.gamma)
    }

    #[inline]
    fn model_curvature(self, z: f64, y: f64) -> f64 {
        corner_model(1.0 - y * z, self.gamma.max(1.0))
    }

    #[inline]
    fn conjugate(self, a: f64, y: f64) -> f64 {
        let b = y * a;
        if (-1.0..=0.0).contains(&b) { b + self.gamma / 2.0 * b * b } else { f64::INFINITY }
    }

    #[inline]
    fn conjugate_derivative(self, a: f64, y: f64) -> f64 {
        y * (1.0 + self.gamma * y * a)
    }

    #[inline]
    fn project(self, a: f64, y: f64) -> f64 {
        y * (y * a).clamp(-1.0, 0.0)
    }

    #[inline]
    fn coordinate_step(self, a: f64, z: f64, q: f64, y: f64) -> f64 {
        let b = (y * z - 1.0 + q * y * a) / (q + self.gamma);
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
        self.gamma
    }

    fn conjugate_curvature_max(self) -> Option<f64> {
        Some(self.gamma)
    }
}
