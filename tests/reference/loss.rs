//! The losses, written down a second time: value, slope and curvature in the score `z`.

/// A loss with a slope; the hinge is replaced by a smoothed one with a very narrow corner.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Loss {
    SmoothedHinge(f64),
    SquaredHinge,
    Logistic,
    Squared,
}

impl Loss {
    pub(crate) fn named(name: &str) -> Self {
        match name {
            "hinge" => Self::SmoothedHinge(1e-3),
            "smoothed-hinge" => Self::SmoothedHinge(0.25),
            "squared-hinge" => Self::SquaredHinge,
            "logistic" => Self::Logistic,
            "squared" => Self::Squared,
            other => panic!("no reference for the loss {other}"),
        }
    }

    pub(crate) fn value(self, z: f64, y: f64) -> f64 {
        let room = 1.0 - y * z;
        match self {
            Self::SmoothedHinge(_) if room <= 0.0 => 0.0,
            Self::SmoothedHinge(gamma) if room >= gamma => room - gamma / 2.0,
            Self::SmoothedHinge(gamma) => room * room / (2.0 * gamma),
            Self::SquaredHinge => room.max(0.0).powi(2),
            Self::Logistic => {
                let m = y * z;
                (-m).max(0.0) + (-m.abs()).exp().ln_1p()
            }
            Self::Squared => (z - y).powi(2),
        }
    }

    pub(crate) fn slope(self, z: f64, y: f64) -> f64 {
        let room = 1.0 - y * z;
        match self {
            Self::SmoothedHinge(gamma) => -y * (room / gamma).clamp(0.0, 1.0),
            Self::SquaredHinge => -2.0 * y * room.max(0.0),
            Self::Logistic => -y / (1.0 + (y * z).exp()),
            Self::Squared => 2.0 * (z - y),
        }
    }

    pub(crate) fn curvature(self, z: f64, y: f64) -> f64 {
        let room = 1.0 - y * z;
        match self {
            Self::SmoothedHinge(gamma) if (0.0..gamma).contains(&room) => 1.0 / gamma,
            Self::SmoothedHinge(_) => 0.0,
            Self::SquaredHinge => 2.0 * f64::from(room > 0.0),
            Self::Logistic => {
                let p = 1.0 / (1.0 + (y * z).exp());
                p * (1.0 - p)
            }
            Self::Squared => 2.0,
        }
    }

    /// The largest curvature.
    pub(crate) fn steepest(self) -> f64 {
        match self {
            Self::SmoothedHinge(gamma) => 1.0 / gamma,
            Self::SquaredHinge | Self::Squared => 2.0,
            Self::Logistic => 0.25,
        }
    }
}
