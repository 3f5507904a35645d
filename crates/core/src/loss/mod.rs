//! Losses `l(z, y)` of a score `z = x'w`, their conjugates, and the dual coordinate step (M2, M4).
//!
//! Classification losses are functions of the margin `m = y z` with `y` in {-1, +1}; their dual variable
//! enters as `b = y a`. `squared` is a function of `y - z`. Sample weights need no code here: with
//! `a = c beta` the weighted problem in `beta` is the unweighted one with `q` multiplied by `c` (M9).

mod hinge;
mod logistic;
mod rounded;
mod smoothed_hinge;
mod squared;
mod squared_hinge;

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use wincode::{SchemaRead, SchemaWrite};

pub use hinge::Hinge;
pub use logistic::{Logistic, probability};
pub(crate) use rounded::{Rounded, RoundedHinge};
pub use smoothed_hinge::SmoothedHinge;
pub use squared::Squared;
pub use squared_hinge::SquaredHinge;

/// A convex loss and what the solvers need to know of it.
pub trait Loss: Copy + Send + Sync {
    /// Whether the domain of `l*` has ends at which the slope of D is finite, so that the best `a` may be an end.
    const ENDS: bool = false;

    /// `l(z, y)`.
    fn value(self, z: f64, y: f64) -> f64;

    /// A subgradient of `l` in `z`.
    fn derivative(self, z: f64, y: f64) -> f64;

    /// Both of these, for less where they have much in common.
    #[inline]
    fn value_and_derivative(self, z: f64, y: f64) -> (f64, f64) {
        (self.value(z, y), self.derivative(z, y))
    }

    /// What the derivative changes by when `z` does, to within a hundredth: for proposals (M10), not for proofs.
    #[inline]
    fn slope_change(self, z: f64, y: f64) -> impl Fn(f64) -> f64 {
        let before = self.derivative(z, y);
        move |step| self.derivative(z + step, y) - before
    }

    /// The (generalised) second derivative of `l` in `z`.
    fn curvature(self, z: f64, y: f64) -> f64;

    /// A curvature for models of `l` over steps of order 1 in the margin (M10): [`Loss::curvature`], unless
    /// that is concentrated near a corner or vanishes where `l` is straight.
    fn model_curvature(self, z: f64, y: f64) -> f64 {
        self.curvature(z, y)
    }

    /// `l*(a)`; infinite outside its domain.
    fn conjugate(self, a: f64, y: f64) -> f64;

    /// `l*'(a)` inside the domain.
    fn conjugate_derivative(self, a: f64, y: f64) -> f64;

    /// The point of dom `l*` nearest to `a`.
    fn project(self, a: f64, y: f64) -> f64;

    /// `argmax_b  -l*(b) + z (b - a) - (q/2) (b - a)^2`, with `q >= 0` (M4).
    fn coordinate_step(self, a: f64, z: f64, q: f64, y: f64) -> f64;

    /// How strongly the slope of D presses `a` against the end of the domain it is at; 0 inside.
    #[inline]
    fn outward(self, a: f64, z: f64, y: f64) -> f64 {
        let b = y * a;
        if !Self::ENDS {
            return 0.0;
        }
        let upward = y * (z - self.conjugate_derivative(a, y));
        if b == 0.0 {
            upward
        } else if self.dual_limit() == Some(-b) {
            -upward
        } else {
            0.0
        }
    }

    /// The part of `l*(a)` that is linear in `a` when the rest is quadratic in `a`, else `None`.
    ///
    /// With it the best multiple `s a` of a dual vector has a closed form (M8).
    fn conjugate_linear(self, a: f64, y: f64) -> Option<f64>;

    /// The largest `|a|` in the domain, if there is one.
    fn dual_limit(self) -> Option<f64>;

    /// Lower curvature `mu` of `l*`: `l` is `1/mu`-smooth. Zero where `l` has a kink.
    fn conjugate_curvature_min(self) -> f64;

    /// Upper curvature of `l*` on its domain, `None` where it is unbounded.
    fn conjugate_curvature_max(self) -> Option<f64>;
}

/// The losses a user can name.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, SchemaRead, SchemaWrite)]
#[serde(rename_all = "kebab-case")]
pub enum LossKind {
    /// `max(0, 1 - m)`
    Hinge,
    /// `max(0, 1 - m)^2`
    SquaredHinge,
    /// The hinge with its corner rounded over a width of gamma.
    SmoothedHinge {
        /// Width of the rounded corner.
        gamma: f64,
    },
    /// `log(1 + exp(-m))`
    Logistic,
    /// `(y - z)^2`
    Squared,
}

/// Runs `$body` with `$loss` bound to the concrete [`Loss`] of a [`LossKind`], so that inner loops are
/// compiled once for each loss.
macro_rules! with_loss {
    ($kind:expr, $loss:ident => $body:expr) => {
        match $kind {
            $crate::loss::LossKind::Hinge => {
                let $loss = $crate::loss::Hinge;
                $body
            }
            $crate::loss::LossKind::SquaredHinge => {
                let $loss = $crate::loss::SquaredHinge;
                $body
            }
            $crate::loss::LossKind::SmoothedHinge { gamma } => {
                let $loss = $crate::loss::SmoothedHinge { gamma };
                $body
            }
            $crate::loss::LossKind::Logistic => {
                let $loss = $crate::loss::Logistic;
                $body
            }
            $crate::loss::LossKind::Squared => {
                let $loss = $crate::loss::Squared;
                $body
            }
        }
    };
}
pub(crate) use with_loss;

/// As [`with_loss!`], with `$loss` bound to something smooth near the loss: see [`LossKind::smoothed`], and
/// [`Rounded`] and [`RoundedHinge`]. It has only value, derivative and curvature.
macro_rules! with_smoothed {
    ($kind:expr, $width:expr, $loss:ident => $body:expr) => {
        match ($kind, $width) {
            ($crate::loss::LossKind::SquaredHinge, Some(width)) => {
                let $loss = $crate::loss::Rounded { width };
                $body
            }
            ($crate::loss::LossKind::SmoothedHinge { gamma }, Some(width)) => {
                let hinge = $crate::loss::SmoothedHinge { gamma };
                let $loss = $crate::loss::RoundedHinge { hinge, width };
                $body
            }
            (kind, width) => {
                let kind = width.map_or(kind, |width| kind.smoothed(width));
                $crate::loss::with_loss!(kind, $loss => $body)
            }
        }
    };
}
pub(crate) use with_smoothed;

/// The names of [`LossKind`], as the command line and the model file spell them.
pub const LOSS_NAMES: [&str; 5] =
    ["hinge", "squared-hinge", "smoothed-hinge", "logistic", "squared"];

impl LossKind {
    /// The loss called `name`; `gamma` is used by `smoothed-hinge` alone.
    pub fn from_name(name: &str, gamma: f64) -> Result<Self, UnknownLoss> {
        match name {
            "hinge" => Ok(Self::Hinge),
            "squared-hinge" => Ok(Self::SquaredHinge),
            "smoothed-hinge" => Ok(Self::SmoothedHinge { gamma }),
            "logistic" => Ok(Self::Logistic),
            "squared" => Ok(Self::Squared),
            _ => Err(UnknownLoss(name.to_owned())),
        }
    }

    /// The name of this loss.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hinge => LOSS_NAMES[0],
            Self::SquaredHinge => LOSS_NAMES[1],
            Self::SmoothedHinge { .. } => LOSS_NAMES[2],
            Self::Logistic => LOSS_NAMES[3],
            Self::Squared => LOSS_NAMES[4],
        }
    }

    /// Whether targets are classes (-1, +1) and not real numbers.
    pub fn is_classification(self) -> bool {
        self != Self::Squared
    }

    /// See [`Loss::value`].
    pub fn value(self, z: f64, y: f64) -> f64 {
        with_loss!(self, l => l.value(z, y))
    }

    /// See [`Loss::dual_limit`].
    pub fn dual_limit(self) -> Option<f64> {
        with_loss!(self, l => l.dual_limit())
    }

    /// See [`Loss::conjugate_curvature_min`].
    pub fn conjugate_curvature_min(self) -> f64 {
        with_loss!(self, l => l.conjugate_curvature_min())
    }

    /// See [`Loss::conjugate_curvature_max`].
    pub fn conjugate_curvature_max(self) -> Option<f64> {
        with_loss!(self, l => l.conjugate_curvature_max())
    }

    /// Whether the slope jumps somewhere.
    pub fn has_kink(self) -> bool {
        self == Self::Hinge
    }

    /// Whether the curvature jumps somewhere, though the slope does not.
    pub fn has_corner(self) -> bool {
        matches!(self, Self::SquaredHinge | Self::SmoothedHinge { .. })
    }

    /// A smooth loss within `width / 2` of this one: itself unless it has a kink.
    ///
    /// Second-order methods (refit, exchange) run on it; the objective reported is always the true one.
    pub fn smoothed(self, width: f64) -> Self {
        match self {
            Self::Hinge => Self::SmoothedHinge { gamma: width },
            other => other,
        }
    }
}

impl fmt::Display for LossKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for LossKind {
    type Err = UnknownLoss;

    fn from_str(name: &str) -> Result<Self, UnknownLoss> {
        Self::from_name(name, 0.25)
    }
}

/// A loss name that is not one of [`LOSS_NAMES`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown loss `{0}`: choose one of hinge, squared-hinge, smoothed-hinge, logistic, squared"
)]
pub struct UnknownLoss(pub String);

#[cfg(test)]
mod tests;
