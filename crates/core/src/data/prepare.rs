//! What is done to the rows before training, and again before prediction.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::csr::CsrMatrix;

/// How rows are scaled.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Normalize {
    /// As they are.
    #[default]
    None,
    /// To unit Euclidean length.
    L2,
}

/// A text that names no [`Normalize`].
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("unknown normalisation '{0}', expected none or l2")]
pub struct UnknownNormalize(pub String);

impl FromStr for Normalize {
    type Err = UnknownNormalize;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "none" => Ok(Self::None),
            "l2" => Ok(Self::L2),
            _ => Err(UnknownNormalize(text.to_owned())),
        }
    }
}

impl fmt::Display for Normalize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::L2 => "l2",
        })
    }
}

impl Normalize {
    /// Scales the rows of `x`.
    pub fn apply(self, x: &mut CsrMatrix) {
        match self {
            Self::None => {}
            Self::L2 => normalize_l2(x),
        }
    }
}

/// Scales every row to unit length; a row without entries stays as it is.
///
/// The length is summed in f64 and the quotient rounded once, to the f32 that is stored.
pub fn normalize_l2(x: &mut CsrMatrix) {
    x.par_rows_mut(|values| {
        let norm_sq: f64 = values.iter().map(|&v| f64::from(v) * f64::from(v)).sum();
        if norm_sq > 0.0 {
            let norm = norm_sq.sqrt();
            for v in values {
                *v = (f64::from(*v) / norm) as f32;
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for n in [Normalize::None, Normalize::L2] {
            assert_eq!(n.to_string().parse(), Ok(n));
            let json = serde_json::to_string(&n).unwrap();
            assert_eq!(json, format!("\"{n}\""));
            assert_eq!(serde_json::from_str::<Normalize>(&json).unwrap(), n);
        }
        assert_eq!("L1".parse::<Normalize>(), Err(UnknownNormalize("L1".into())));
    }

    #[test]
    fn rows_get_unit_length() {
        let mut x = CsrMatrix::new(5);
        x.push_row(&[1, 2], &[3.0, -4.0]);
        x.push_row(&[], &[]);
        x.push_row(&[4], &[1e-40]);
        x.push_row(&[1, 3], &[3e38, 3e38]);
        normalize_l2(&mut x);
        assert_eq!(x.row(0).values, [0.6, -0.8]);
        assert!(x.row(1).values.is_empty());
        assert_eq!(x.row(2).values, [1.0]);
        assert!((x.row(3).norm_sq() - 1.0).abs() < 1e-6);
    }

    #[test]
    fn every_row_of_many_blocks_is_scaled() {
        let mut x = CsrMatrix::new(3);
        for i in 0..20_001u16 {
            x.push_row(&[1], &[f32::from(i)]);
        }
        let mut alone = x.clone();
        Normalize::L2.apply(&mut x);
        assert!((1..x.rows()).all(|i| x.row(i).values == [1.0]));
        let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        one.install(|| normalize_l2(&mut alone));
        assert_eq!(x, alone);
    }
}
