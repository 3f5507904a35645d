//! Losses with rounded corners, for refits that would otherwise creep (M10).

use super::{Loss, SmoothedHinge};

/// `s^2` with `s = (t + sqrt(t^2 + width^2)) / 2`, `t = 1 - m`: at most `width^2 / 4` above the squared
/// hinge near the corner, and with a curvature that passes from 0 to 2 without a jump.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rounded {
    /// How wide the corner is, in units of the margin.
    pub(crate) width: f64,
}

impl Rounded {
    /// `s` and `r = sqrt(t^2 + width^2)`, for which `ds/dt = s/r`.
    #[inline]
    fn parts(self, z: f64, y: f64) -> (f64, f64) {
        let t = 1.0 - y * z;
        let square = self.width * self.width;
        let r = (t * t + square).sqrt();
        // For t < 0 the sum would cancel.
        let s = if t >= 0.0 { (t + r) / 2.0 } else { square / (2.0 * (r - t)) };
        (s, r)
    }

    /// See [`super::Loss::value`].
    #[inline]
    pub(crate) fn value(self, z: f64, y: f64) -> f64 {
        self.value_and_derivative(z, y).0
    }

    /// See [`super::Loss::derivative`].
    #[inline]
    pub(crate) fn derivative(self, z: f64, y: f64) -> f64 {
        self.value_and_derivative(z, y).1
    }

    /// See [`super::Loss::value_and_derivative`].
    #[inline]
    pub(crate) fn value_and_derivative(self, z: f64, y: f64) -> (f64, f64) {
        let (s, r) = self.parts(z, y);
        (s * s, -2.0 * y * s * s / r)
    }

    /// See [`super::Loss::slope_change`].
    #[inline]
    pub(crate) fn slope_change(self, z: f64, y: f64) -> impl Fn(f64) -> f64 {
        let before = self.derivative(z, y);
        move |step| self.derivative(z + step, y) - before
    }

    /// See [`super::Loss::model_curvature`].
    #[inline]
    pub(crate) fn model_curvature(self, z: f64, y: f64) -> f64 {
        let (s, r) = self.parts(z, y);
        2.0 * s * s / (r * r) + s * self.width * self.width / (r * r * r)
    }
}

/// The smoothed hinge with both of its corners rounded. It is `(q(t) - q(t - gamma)) / (2 gamma)` with
/// `q(t) = max(0, t)^2`; here `q` is [`Rounded`], whose curvature never falls, so it stays convex.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RoundedHinge {
    /// The loss.
    pub(crate) hinge: SmoothedHinge,
    /// How wide each corner is.
    pub(crate) width: f64,
}

impl RoundedHinge {
    /// `(of(t) - of(t - gamma)) / (2 gamma)`.
    #[inline]
    fn difference(self, z: f64, y: f64, of: impl Fn(Rounded, f64, f64) -> f64) -> f64 {
        let (rounded, gamma) = (Rounded { width: self.width }, self.hinge.gamma);
        (of(rounded, z, y) - of(rounded, z + y * gamma, y)) / (2.0 * gamma)
    }

    /// See [`super::Loss::value`].
    #[inline]
    pub(crate) fn value(self, z: f64, y: f64) -> f64 {
        self.difference(z, y, Rounded::value)
    }

    /// See [`super::Loss::derivative`].
    #[inline]
    pub(crate) fn derivative(self, z: f64, y: f64) -> f64 {
        self.difference(z, y, Rounded::derivative)
    }

    /// See [`super::Loss::value_and_derivative`].
    #[inline]
    pub(crate) fn value_and_derivative(self, z: f64, y: f64) -> (f64, f64) {
        (self.value(z, y), self.derivative(z, y))
    }

    /// See [`super::Loss::slope_change`].
    #[inline]
    pub(crate) fn slope_change(self, z: f64, y: f64) -> impl Fn(f64) -> f64 {
        let before = self.derivative(z, y);
        move |step| self.derivative(z + step, y) - before
    }

    /// See [`super::Loss::model_curvature`].
    #[inline]
    pub(crate) fn model_curvature(self, z: f64, y: f64) -> f64 {
        // A wide corner gives slopes to rows that have none in the loss itself, and to those its own curvature.
        self.difference(z, y, Rounded::model_curvature).max(self.hinge.model_curvature(z, y))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::SquaredHinge;

    #[test]
    fn the_smoothed_hinge_is_rounded_too() {
        let hinge = SmoothedHinge { gamma: 0.25 };
        let loss = RoundedHinge { hinge, width: 0.01 };
        for z in [-4.0, 0.7, 0.75, 0.9, 1.0, 1.1, 9.0] {
            let e = 1e-6;
            let slope = (loss.value(z + e, 1.0) - loss.value(z - e, 1.0)) / (2.0 * e);
            assert!((slope - loss.derivative(z, 1.0)).abs() < 1e-6, "slope at {z}");
            assert!((loss.value(z, 1.0) - hinge.value(z, 1.0)).abs() < 1e-3, "value at {z}");
        }
    }

    #[test]
    fn slope_and_curvature_are_derivatives() {
        let loss = Rounded { width: 0.3 };
        for z in [-4.0, -0.2, 0.7, 0.99, 1.0, 1.1, 1.5, 9.0] {
            for y in [-1.0, 1.0] {
                let e = 1e-5;
                let slope = (loss.value(z + e, y) - loss.value(z - e, y)) / (2.0 * e);
                let bend = (loss.derivative(z + e, y) - loss.derivative(z - e, y)) / (2.0 * e);
                assert!((slope - loss.derivative(z, y)).abs() < 1e-8, "slope at {z}, {y}");
                assert!((bend - loss.model_curvature(z, y)).abs() < 1e-8, "curvature at {z}, {y}");
            }
        }
    }

    #[test]
    fn stays_close_to_the_squared_hinge() {
        for width in [0.5, 1e-3] {
            for z in [-2.0, 0.0, 0.9, 1.0, 1.2, 5.0] {
                let above = Rounded { width }.value(z, 1.0) - SquaredHinge.value(z, 1.0);
                assert!((0.0..=0.5 * width * width).contains(&above), "{above} at {z}");
            }
        }
    }
}
