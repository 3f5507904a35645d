//! `ddiht synth`: what can be generated.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Generate data.
#[derive(Debug, Subcommand)]
#[command(after_help = "Example: ddiht synth text -o text.svm --rows 20000")]
pub(crate) enum SynthCommand {
    Text(SynthTextArgs),
    Correlated(SynthCorrelatedArgs),
    Logistic(SynthLogisticArgs),
    Gaussian(SynthGaussianArgs),
    Ar1(SynthAr1Args),
}

/// Text-like data: Zipf-distributed words, tf-idf weights, rows of length 1, two classes.
#[derive(Debug, Args)]
#[command(after_help = "Example: ddiht synth text -o text.svm --rows 20000 --features 47236")]
pub(crate) struct SynthTextArgs {
    /// Where to write; `-` is stdout
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// Rows
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    pub(crate) rows: u64,
    /// Features
    #[arg(long, value_name = "D", default_value_t = 47_236)]
    pub(crate) features: usize,
    /// Average number of non-zeros in a row
    #[arg(long, value_name = "X", default_value_t = 75.0)]
    pub(crate) nonzeros: f64,
    /// Features that decide the label
    #[arg(long, value_name = "K", default_value_t = 1000)]
    pub(crate) informative: usize,
    /// Share of labels that are flipped
    #[arg(long, value_name = "P", default_value_t = 0.05)]
    pub(crate) noise: f64,
    /// Seed of every random choice
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
}

/// Where a dense design and the model behind it go.
#[derive(Debug, Args)]
pub(crate) struct DenseOutput {
    /// Where to write; `-` is stdout
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// Where to write the true weights, as JSON
    #[arg(long, value_name = "FILE")]
    pub(crate) truth: Option<PathBuf>,
    /// Seed of every random choice
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
}

/// Regression on correlated Gaussian features with random means (DIHT paper, 5.1): the first weights are 1.
#[derive(Debug, Args)]
#[command(after_help = "Example: ddiht synth correlated -o data.svm --rows 100 --features 500")]
pub(crate) struct SynthCorrelatedArgs {
    #[command(flatten)]
    pub(crate) output: DenseOutput,
    /// Rows
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub(crate) rows: usize,
    /// Features: 500 or 300 in the paper
    #[arg(long, value_name = "D", default_value_t = 500)]
    pub(crate) features: usize,
    /// Features whose weight is 1, correlated among each other
    #[arg(long, value_name = "K", default_value_t = 100)]
    pub(crate) informative: usize,
}

/// Classes drawn by a sparse logistic model (GraHTP paper, 5.1.1).
#[derive(Debug, Args)]
#[command(after_help = "Example: ddiht synth logistic -o data.svm --rows 500 --truth truth.json")]
pub(crate) struct SynthLogisticArgs {
    #[command(flatten)]
    pub(crate) output: DenseOutput,
    /// Rows: 100 to 1000 in the paper
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub(crate) rows: usize,
    /// Features
    #[arg(long, value_name = "D", default_value_t = 1000)]
    pub(crate) features: usize,
    /// Features with a weight
    #[arg(long, value_name = "K", default_value_t = 100)]
    pub(crate) informative: usize,
}

/// Compressed sensing: Gaussian measurements of a sparse vector, without noise (momentum paper, 6.1).
#[derive(Debug, Args)]
#[command(
    after_help = "Example: ddiht synth gaussian -o data.svm --rows 500 --features 2000 (the paper: 7500, 200000, 500)"
)]
pub(crate) struct SynthGaussianArgs {
    #[command(flatten)]
    pub(crate) output: DenseOutput,
    /// Measurements
    #[arg(long, value_name = "N", default_value_t = 500)]
    pub(crate) rows: usize,
    /// Features
    #[arg(long, value_name = "D", default_value_t = 2000)]
    pub(crate) features: usize,
    /// Features with a weight
    #[arg(long, value_name = "K", default_value_t = 50)]
    pub(crate) informative: usize,
}

/// Regression on features of an autoregressive process, with noise (momentum paper, 6.1).
#[derive(Debug, Args)]
#[command(after_help = "Example: ddiht synth ar1 -o data.svm --snr 10")]
pub(crate) struct SynthAr1Args {
    #[command(flatten)]
    pub(crate) output: DenseOutput,
    /// Rows; the paper trains on half of them
    #[arg(long, value_name = "N", default_value_t = 800)]
    pub(crate) rows: usize,
    /// Features
    #[arg(long, value_name = "D", default_value_t = 200)]
    pub(crate) features: usize,
    /// Features with a weight
    #[arg(long, value_name = "K", default_value_t = 20)]
    pub(crate) informative: usize,
    /// Correlation of neighbours
    #[arg(long, value_name = "PHI", default_value_t = 0.4, allow_negative_numbers = true)]
    pub(crate) correlation: f64,
    /// Energy of the signal over that of the noise
    #[arg(long, value_name = "X", default_value_t = 10.0, allow_negative_numbers = true)]
    pub(crate) snr: f64,
}
