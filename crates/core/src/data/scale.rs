//! `--scale`: columns brought to one scale before training. Nothing is centred, so what is sparse stays sparse.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::csr::CsrMatrix;

/// How columns are scaled.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// As they are.
    #[default]
    None,
    /// The largest magnitude of a column becomes 1.
    MaxAbs,
    /// The standard deviation of a column over all rows becomes 1.
    Std,
}

/// A text that names no [`Scale`].
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("unknown scaling '{0}', expected none, maxabs or std")]
pub struct UnknownScale(pub String);

impl FromStr for Scale {
    type Err = UnknownScale;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "none" => Ok(Self::None),
            "maxabs" => Ok(Self::MaxAbs),
            "std" => Ok(Self::Std),
            _ => Err(UnknownScale(text.to_owned())),
        }
    }
}

impl fmt::Display for Scale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::MaxAbs => "maxabs",
            Self::Std => "std",
        })
    }
}

impl Scale {
    /// What the entries of each column are to be divided by; 1 where a column is constant.
    pub fn divisors(self, x: &CsrMatrix) -> Option<Vec<f64>> {
        let divisors = match self {
            Self::None => return None,
            Self::MaxAbs => largest_magnitudes(x),
            Self::Std => deviations(x),
        };
        // A divisor that is not a normal number would turn what it divides into infinities.
        let usable = |s: f64| if s.is_normal() { s } else { 1.0 };
        Some(divisors.into_iter().map(usable).collect())
    }
}

fn largest_magnitudes(x: &CsrMatrix) -> Vec<f64> {
    let mut largest = vec![0f64; x.cols()];
    for row in x.iter() {
        for (&j, &v) in row.indices.iter().zip(row.values) {
            let largest = &mut largest[j as usize];
            *largest = largest.max(f64::from(v).abs());
        }
    }
    largest
}

/// `sqrt((1/N) sum_i (x_ij - m_j)^2)`, by two passes: the difference of two large sums would have no digits left.
fn deviations(x: &CsrMatrix) -> Vec<f64> {
    let rows = x.rows().max(1) as f64;
    let mut means = vec![0f64; x.cols()];
    let mut stored = vec![0f64; x.cols()];
    for row in x.iter() {
        for (&j, &v) in row.indices.iter().zip(row.values) {
            means[j as usize] += f64::from(v) / rows;
            stored[j as usize] += 1.0;
        }
    }
    let mut squares: Vec<f64> =
        means.iter().zip(&stored).map(|(mean, stored)| (rows - stored) * mean * mean).collect();
    for row in x.iter() {
        for (&j, &v) in row.indices.iter().zip(row.values) {
            squares[j as usize] += (f64::from(v) - means[j as usize]).powi(2);
        }
    }
    let deviation = |(square, mean): (&f64, &f64)| {
        let s = (square / rows).sqrt();
        // What rounding leaves of a constant column is no spread.
        if s > 1e-7 * mean.abs() { s } else { 0.0 }
    };
    squares.iter().zip(&means).map(deviation).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matrix() -> CsrMatrix {
        let mut x = CsrMatrix::new(5);
        x.push_row(&[1, 2, 4], &[3.0, -4.0, 0.1]);
        x.push_row(&[1, 4], &[1.0, 0.1]);
        x.push_row(&[4], &[0.1]);
        x.push_row(&[2, 4], &[2.0, 0.1]);
        x
    }

    #[test]
    fn names_round_trip() {
        for scale in [Scale::None, Scale::MaxAbs, Scale::Std] {
            assert_eq!(scale.to_string().parse(), Ok(scale));
            assert_eq!(serde_json::to_string(&scale).unwrap(), format!("\"{scale}\""));
        }
        assert!("minmax".parse::<Scale>().is_err());
    }

    #[test]
    fn divisors_are_those_of_the_definition() {
        assert_eq!(Scale::None.divisors(&matrix()), None);
        let largest = Scale::MaxAbs.divisors(&matrix()).unwrap();
        assert_eq!(largest, [1.0, 3.0, 4.0, 1.0, f64::from(0.1f32)]);
        let std = Scale::Std.divisors(&matrix()).unwrap();
        // Column 1 is 3, 1, 0, 0; column 2 is -4, 0, 0, 2; column 4 is constant.
        assert!((std[1] - 1.5f64.sqrt()).abs() < 1e-12, "{std:?}");
        assert!((std[2] - (4.75f64).sqrt()).abs() < 1e-12, "{std:?}");
        assert_eq!((std[0], std[3], std[4]), (1.0, 1.0, 1.0));
    }
}
