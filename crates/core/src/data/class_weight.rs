//! `--class-weight`: how much the rows of either class count.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Weights of the classes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub enum ClassWeight {
    /// Every row counts 1.
    #[default]
    Equal,
    /// Both classes count alike: a row of a class with n of the N rows counts N / (2 n).
    Balanced,
    /// As given.
    Given {
        /// Of the class +1.
        positive: f64,
        /// Of the class -1.
        negative: f64,
    },
}

impl ClassWeight {
    /// The weights of a row of the classes -1 and +1, in a training set with so many of each.
    pub fn weights(self, negative_rows: u64, positive_rows: u64) -> [f64; 2] {
        let rows = (negative_rows + positive_rows) as f64;
        match self {
            Self::Equal => [1.0, 1.0],
            Self::Balanced => [negative_rows, positive_rows].map(|n| rows / (2.0 * n as f64)),
            Self::Given { positive, negative } => [negative, positive],
        }
    }
}

/// A text that is no [`ClassWeight`].
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "'{0}' is no class weight: write balanced, or two positive numbers for the classes +1 and -1 as in 5:1"
)]
pub struct ClassWeightError(pub String);

impl FromStr for ClassWeight {
    type Err = ClassWeightError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "balanced" {
            return Ok(Self::Balanced);
        }
        let bad = || ClassWeightError(text.to_owned());
        let number = |part: &str| match part.trim().parse::<f64>() {
            Ok(x) if x > 0.0 && x.is_finite() => Ok(x),
            _ => Err(bad()),
        };
        let (positive, negative) = text.split_once(':').ok_or_else(bad)?;
        Ok(Self::Given { positive: number(positive)?, negative: number(negative)? })
    }
}

impl fmt::Display for ClassWeight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Equal => f.write_str("1:1"),
            Self::Balanced => f.write_str("balanced"),
            Self::Given { positive, negative } => write!(f, "{positive}:{negative}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts() {
        assert_eq!("balanced".parse(), Ok(ClassWeight::Balanced));
        let given = ClassWeight::Given { positive: 5.0, negative: 0.5 };
        assert_eq!("5:0.5".parse(), Ok(given));
        assert_eq!(given.to_string().parse(), Ok(given));
        for bad in ["", "5", "5:", ":1", "0:1", "-1:1", "nan:1", "1:inf", "1:2:3", "Balanced"] {
            let error = bad.parse::<ClassWeight>().unwrap_err();
            assert!(error.to_string().contains("balanced"), "{error}");
        }
    }

    #[test]
    fn balanced_classes_count_alike() {
        let [negative, positive] = ClassWeight::Balanced.weights(300, 100);
        assert_eq!((300.0 * negative, 100.0 * positive), (200.0, 200.0));
    }
}
