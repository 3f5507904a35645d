//! The dense designs of the papers, each with a sparse model that is known.
//!
//! | kind | rows x | weights | targets | from |
//! |---|---|---|---|---|
//! | correlated | `N(mu, Sigma)`, `mu` standard normal, `Sigma_ij = 1/4` among the informative features | ones on the first k | `x'w + N(0, 1)` | DIHT, 5.1 |
//! | logistic | standard normal | standard normal on k features | +1 with probability `1 / (1 + exp(-2 x'w))` | GraHTP, 5.1.1 |
//! | gaussian | standard normal | normal on k features, `||w|| = 1` | `x'w`, no noise | momentum paper, 6.1 |
//! | ar1 | `x_j = phi x_(j-1) + sqrt(1 - phi^2) e`, columns of length 1 | normal on k features, `||w|| = 1` | `x'w + e` with `||Xw||^2 / ||e||^2 = SNR` | momentum paper, 6.1 |

use std::fmt::Write as _;
use std::io;

use ndarray::{Array1, Array2, Axis};
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::{SynthError, normal, shuffle, uniform};

/// Covariance of two informative features of [`DenseKind::Correlated`].
const COVARIANCE: f64 = 0.25;

/// Which design.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum DenseKind {
    /// Correlated Gaussian features with random means, and ones as weights.
    Correlated,
    /// Classes drawn by a sparse logistic model.
    Logistic,
    /// Compressed sensing: Gaussian measurements without noise.
    Gaussian,
    /// Features that follow each other in an autoregressive process.
    Ar1 {
        /// Correlation of neighbours.
        correlation: f64,
        /// Energy of the signal over that of the noise.
        snr: f64,
    },
}

/// What to make.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DenseOptions {
    /// Which design.
    pub kind: DenseKind,
    /// Rows.
    pub rows: usize,
    /// Features.
    pub features: usize,
    /// Features with a weight.
    pub informative: usize,
    /// Where the generator starts.
    pub seed: u64,
}

/// A design, its targets and the model behind them.
#[derive(Debug, Clone, PartialEq)]
pub struct DenseData {
    /// The features, a row each.
    pub x: Array2<f64>,
    /// The targets.
    pub y: Array1<f64>,
    /// The true weights.
    pub weights: Array1<f64>,
}

impl DenseData {
    /// Draws the weights, the design and the targets, each from a stream of its own.
    ///
    /// # Errors
    /// An option is out of its range.
    pub fn new(options: &DenseOptions) -> Result<Self, SynthError> {
        check(options)?;
        let mut random = Xoshiro256PlusPlus::seed_from_u64(options.seed);
        let weights = true_weights(options, &mut random.clone());
        random.jump();
        let x = design(options, &mut random.clone());
        random.jump();
        let y = targets(options.kind, &x.dot(&weights), &mut random);
        Ok(Self { x, y, weights })
    }

    /// Writes the rows as LIBSVM text, values as `f32`.
    ///
    /// # Errors
    /// They cannot be written.
    pub fn write<W: io::Write>(&self, mut out: W) -> Result<(), SynthError> {
        let mut line = String::new();
        for (row, y) in self.x.rows().into_iter().zip(&self.y) {
            line.clear();
            // Writing to a String cannot fail.
            let _ = write!(line, "{y}");
            for (j, &value) in row.iter().enumerate() {
                let _ = write!(line, " {}:{}", j + 1, value as f32);
            }
            line.push('\n');
            out.write_all(line.as_bytes())?;
        }
        Ok(out.flush()?)
    }

    /// The true weights that are not 0, as pairs of a feature number from 1 and a value.
    pub fn truth(&self) -> impl Iterator<Item = (usize, f64)> + '_ {
        self.weights.iter().enumerate().filter(|(_, w)| **w != 0.0).map(|(j, &w)| (j + 1, w))
    }
}

fn true_weights(options: &DenseOptions, random: &mut Xoshiro256PlusPlus) -> Array1<f64> {
    let DenseOptions { kind, features, informative, .. } = *options;
    let mut weights = Array1::zeros(features);
    if kind == DenseKind::Correlated {
        weights.slice_mut(ndarray::s![..informative]).fill(1.0);
        return weights;
    }
    let mut order: Vec<u32> = (0..features as u32).collect();
    shuffle(&mut order, random);
    for &j in &order[..informative] {
        weights[j as usize] = normal(random);
    }
    if kind != DenseKind::Logistic {
        let length = libm::sqrt(weights.dot(&weights));
        weights /= length;
    }
    weights
}

fn design(options: &DenseOptions, random: &mut Xoshiro256PlusPlus) -> Array2<f64> {
    let DenseOptions { kind, rows, features, informative, .. } = *options;
    let mut x = Array2::zeros((rows, features));
    match kind {
        DenseKind::Correlated => {
            let means: Array1<f64> = (0..features).map(|_| normal(random)).collect();
            let (common, own) = (libm::sqrt(COVARIANCE), libm::sqrt(1.0 - COVARIANCE));
            for mut row in x.rows_mut() {
                let shared = common * normal(random);
                for (j, value) in row.iter_mut().enumerate() {
                    let e = normal(random);
                    *value = means[j] + if j < informative { shared + own * e } else { e };
                }
            }
        }
        DenseKind::Logistic | DenseKind::Gaussian => x.mapv_inplace(|_: f64| normal(random)),
        DenseKind::Ar1 { correlation, .. } => {
            let fresh = libm::sqrt(1.0 - correlation * correlation);
            for mut row in x.rows_mut() {
                let mut last = normal(random);
                for value in &mut row {
                    *value = last;
                    last = correlation * last + fresh * normal(random);
                }
            }
            for mut column in x.axis_iter_mut(Axis(1)) {
                let length = libm::sqrt(column.dot(&column));
                column /= length;
            }
        }
    }
    x
}

fn targets(kind: DenseKind, scores: &Array1<f64>, random: &mut Xoshiro256PlusPlus) -> Array1<f64> {
    match kind {
        DenseKind::Correlated => scores.mapv(|z| z + normal(random)),
        DenseKind::Gaussian => scores.clone(),
        DenseKind::Logistic => scores.mapv(|z| {
            let positive = 1.0 / (1.0 + libm::exp(-2.0 * z));
            if uniform(random) < positive { 1.0 } else { -1.0 }
        }),
        DenseKind::Ar1 { snr, .. } => {
            let noise = scores.mapv(|_| normal(random));
            // The ratio is that of these very rows, as the paper has it, and not of an expectation.
            let size = libm::sqrt(scores.dot(scores) / (snr * noise.dot(&noise)));
            scores + &(noise * size)
        }
    }
}

fn check(options: &DenseOptions) -> Result<(), SynthError> {
    let DenseOptions { kind, rows, features, informative, .. } = *options;
    if rows == 0 {
        return Err(SynthError::Rows);
    }
    if features == 0 || features > 1 << 31 {
        return Err(SynthError::Features(features));
    }
    if informative == 0 || informative > features {
        return Err(SynthError::Informative { informative, features });
    }
    match kind {
        DenseKind::Ar1 { correlation, .. } if !(-1.0 < correlation && correlation < 1.0) => {
            Err(SynthError::Correlation(correlation))
        }
        DenseKind::Ar1 { snr, .. } if !(snr > 0.0 && snr.is_finite()) => {
            Err(SynthError::Ratio(snr))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AR1: DenseKind = DenseKind::Ar1 { correlation: 0.4, snr: 10.0 };

    fn make(kind: DenseKind) -> DenseData {
        let options = DenseOptions { kind, rows: 4000, features: 12, informative: 5, seed: 1 };
        DenseData::new(&options).unwrap()
    }

    fn covariance(x: &Array2<f64>, i: usize, j: usize) -> f64 {
        let centred = |j: usize| &x.column(j) - x.column(j).mean().unwrap();
        centred(i).dot(&centred(j)) / x.nrows() as f64
    }

    #[test]
    fn informative_features_of_the_first_design_are_correlated() {
        let DenseData { x, weights, y } = make(DenseKind::Correlated);
        // Five standard errors of a covariance of 4000 rows are 0.08.
        assert!((covariance(&x, 0, 0) - 1.0).abs() < 0.12);
        assert!((covariance(&x, 0, 4) - 0.25).abs() < 0.08);
        assert!(covariance(&x, 4, 5).abs() < 0.08);
        assert_eq!(weights.sum(), 5.0);
        let noise = &y - &x.dot(&weights);
        assert!((noise.dot(&noise) / 4000.0 - 1.0).abs() < 0.12);
    }

    #[test]
    fn neighbours_of_an_autoregressive_row_are_correlated_and_columns_have_length_one() {
        let DenseData { x, weights, y } = make(AR1);
        assert!((4000.0 * covariance(&x, 3, 4) - 0.4).abs() < 0.08);
        assert!((4000.0 * covariance(&x, 3, 5) - 0.16).abs() < 0.08);
        assert!((x.column(7).dot(&x.column(7)) - 1.0).abs() < 1e-12);
        let signal = x.dot(&weights);
        let noise = &y - &signal;
        assert!((signal.dot(&signal) / noise.dot(&noise) - 10.0).abs() < 1e-9);
    }

    #[test]
    fn measurements_have_no_noise_and_classes_follow_their_probabilities() {
        let DenseData { x, weights, y } = make(DenseKind::Gaussian);
        assert_eq!(x.dot(&weights), y);
        assert!((weights.dot(&weights) - 1.0).abs() < 1e-12);
        let DenseData { x, weights, y } = make(DenseKind::Logistic);
        let scores = x.dot(&weights);
        let expected: f64 = scores.iter().map(|z| libm::tanh(*z).abs()).sum();
        let agreed: f64 = scores.iter().zip(&y).map(|(z, y)| z.signum() * y).sum();
        assert!((agreed - expected).abs() < 5.0 * 64.0, "{agreed} and not {expected}");
    }

    #[test]
    fn the_bytes_do_not_change_between_versions_or_machines() {
        let options = DenseOptions { kind: AR1, rows: 2, features: 3, informative: 1, seed: 0 };
        let mut text = Vec::new();
        DenseData::new(&options).unwrap().write(&mut text).unwrap();
        let want = "-0.7637738125037683 1:-0.9338072 2:-0.9753269 3:-0.7971185\n\
                    0.014277556683808035 1:0.3577767 2:-0.22076562 3:-0.60382295\n";
        assert_eq!(String::from_utf8(text).unwrap(), want);
    }

    #[test]
    fn options_out_of_range_are_refused() {
        let good = DenseOptions { kind: AR1, rows: 2, features: 3, informative: 1, seed: 0 };
        let bad = [
            DenseOptions { rows: 0, ..good },
            DenseOptions { informative: 4, ..good },
            DenseOptions { kind: DenseKind::Ar1 { correlation: 1.0, snr: 1.0 }, ..good },
            DenseOptions { kind: DenseKind::Ar1 { correlation: 0.0, snr: 0.0 }, ..good },
        ];
        for options in bad {
            assert!(DenseData::new(&options).is_err(), "{options:?}");
        }
    }
}
