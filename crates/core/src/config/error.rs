//! Requests that make no sense.

use crate::loss::LossKind;

/// Why a request makes no sense.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ConfigError {
    /// k = 0
    #[error("-k must be at least 1: it is the number of features the model may use")]
    NoFeatures,
    /// A number that must be positive is not.
    #[error("{option} must be a positive number, not {value}")]
    NotPositive {
        /// The option.
        option: &'static str,
        /// Its value.
        value: f64,
    },
    /// A count that must be at least 1 is 0.
    #[error("{option} must be at least 1")]
    Zero {
        /// The option.
        option: &'static str,
    },
    /// A power that is not a number of at least 0.
    #[error("--power must be 0 or more (inf is the best model alone), not {0}")]
    Power(f64),
    /// A number of arrivals that no round can have.
    #[error("--async {count} must be between 1 and the number of workers, {workers}")]
    Arrivals {
        /// The number.
        count: usize,
        /// The workers.
        workers: usize,
    },
    /// Asynchronous rounds of a method that scores on all shards.
    #[error(
        "--async goes with --aggregate exact or average: min and weighted score every model on all shards"
    )]
    ArrivalsWithScores,
    /// A feature that is to be in every model and in none.
    #[error("feature {0} is in --keep and in --exclude")]
    KeptAndExcluded(u32),
    /// More features to keep than the model may have.
    #[error("--keep names {kept} features, and -k allows {k}")]
    TooManyKept {
        /// Features to keep.
        kept: usize,
        /// The budget.
        k: usize,
    },
    /// A gap that is not a number of at least 0.
    #[error("--gap must be 0 or a positive number, not {0}")]
    Gap(f64),
    /// Nothing would end the run.
    #[error("--gap 0 switches off the stopping rules: give --rounds or --time as well")]
    Endless,
    /// `--step paper` where the theorem has none.
    #[error(
        "--step paper needs a smooth loss (its step divides by the curvature mu of the conjugate, which is 0 \
         for {0}): use --step safe, or --loss smoothed-hinge"
    )]
    PaperStep(LossKind),
    /// Settings of baselines for another algorithm.
    #[error(
        "--momentum, --debias, --radius and --groups are settings of the baselines, such as --algorithm acc-iht"
    )]
    NoBaseline,
    /// A baseline that should have run on several shards.
    #[error(
        "--algorithm {0} works on all rows in one process: it goes with --workers 1 and --transport memory alone"
    )]
    BaselineAlone(&'static str),
    /// A baseline with features to keep.
    #[error("--algorithm {0} cannot keep features: --keep goes with exact, diht and sdiht")]
    BaselineKeep(&'static str),
    /// A baseline with the hinge loss.
    #[error(
        "--algorithm {0} needs a loss with a slope everywhere, which the hinge has not: use --loss smoothed-hinge (iht, \
         htp and svr-ght also take the hinge's subgradients, with a number as --step)"
    )]
    BaselineKink(&'static str),
    /// A step for a baseline that has none.
    #[error(
        "--step: {0} finds its own; iht, htp, grahtp, fgrahtp, svr-ght and acc-iht take a number, diht and sdiht \
         also `paper`"
    )]
    BaselineStep(&'static str),
    /// Momentum that is no number.
    #[error("--momentum must be a number, or `adaptive`, not {0}")]
    Momentum(f64),
    /// Groups for an algorithm that knows none.
    #[error("--groups goes with --algorithm acc-iht, not with {0}")]
    Groups(&'static str),
    /// No group fits the budget.
    #[error("-k {k} is less than the {smallest} features of the smallest group of --groups")]
    LargeGroups {
        /// Features of the smallest group.
        smallest: usize,
        /// The budget.
        k: usize,
    },
    /// `--positive` with a regression loss.
    #[error("--positive makes a classification task, but --loss squared is regression")]
    PositiveForRegression,
    /// `--class-weight` with a regression loss.
    #[error("--class-weight needs classes, but --loss squared is regression")]
    ClassWeightForRegression,
}
