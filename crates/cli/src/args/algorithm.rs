//! The algorithms, as they are typed.

use clap::{Args, ValueEnum};
use ddiht_core::{
    baseline::{Baseline, Momentum},
    config::Algorithm,
};
use std::path::PathBuf;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum AlgorithmName {
    /// The best there is: exact
    Auto,
    /// Dual phase with certificate, then refit and exchange of features
    Exact,
    /// Dual iterative hard thresholding, all rows at once
    Diht,
    /// Stochastic dual iterative hard thresholding, by blocks of rows
    Sdiht,
    /// Iterative hard thresholding
    Iht,
    /// Normalised iterative hard thresholding
    Niht,
    /// Hard thresholding pursuit
    Htp,
    /// Gradient hard thresholding pursuit
    Grahtp,
    /// Fast gradient hard thresholding pursuit: without a refit
    Fgrahtp,
    /// Gradient hard thresholding with variance reduction, by blocks of rows
    SvrGht,
    /// Accelerated iterative hard thresholding (--momentum, --groups)
    AccIht,
    /// Gradient support pursuit
    Grasp,
    /// Adaptive forward-backward selection
    Foba,
    /// Forward basis selection
    Fbs,
    /// The k features that are best by themselves
    Oblivious,
    /// Forward selection
    Forward,
    /// Orthogonal matching pursuit
    Omp,
    /// An l1 penalty, searched to at most k features, and a refit
    Lasso,
    /// Frank-Wolfe over an l1 ball (--radius), and a refit
    Fw,
    /// Pairwise Frank-Wolfe
    PairwiseFw,
    /// Away-step Frank-Wolfe
    AwayFw,
    /// The k-support-norm relaxation: the best bound, and a refit
    KSupport,
}

impl AlgorithmName {
    /// The algorithm; auto is exact.
    pub(crate) fn algorithm(self) -> Algorithm {
        Algorithm::Baseline(match self {
            Self::Auto | Self::Exact => return Algorithm::Exact,
            Self::Diht => return Algorithm::Diht,
            Self::Sdiht => return Algorithm::Sdiht,
            Self::Iht => Baseline::Iht,
            Self::Niht => Baseline::Niht,
            Self::Htp => Baseline::Htp,
            Self::Grahtp => Baseline::Grahtp,
            Self::Fgrahtp => Baseline::Fgrahtp,
            Self::SvrGht => Baseline::SvrGht,
            Self::AccIht => Baseline::AccIht,
            Self::Grasp => Baseline::Grasp,
            Self::Foba => Baseline::Foba,
            Self::Fbs => Baseline::Fbs,
            Self::Oblivious => Baseline::Oblivious,
            Self::Forward => Baseline::Forward,
            Self::Omp => Baseline::Omp,
            Self::Lasso => Baseline::Lasso,
            Self::Fw => Baseline::Fw,
            Self::PairwiseFw => Baseline::PairwiseFw,
            Self::AwayFw => Baseline::AwayFw,
            Self::KSupport => Baseline::KSupport,
        })
    }
}

/// Settings of the baselines.
#[derive(Debug, Args)]
pub(crate) struct BaselineArgs {
    /// Momentum of acc-iht: a number, or adaptive [default: 0.25]
    #[arg(long, value_name = "X|adaptive", value_parser = momentum, allow_hyphen_values = true)]
    pub(crate) momentum: Option<Momentum>,

    /// Refit weights on their support: acc-iht after every step, other baselines at the end
    #[arg(long)]
    pub(crate) debias: bool,

    /// l1 length that fw, pairwise-fw and away-fw allow [default: that of a first fit]
    #[arg(long, value_name = "R", allow_negative_numbers = true)]
    pub(crate) radius: Option<f64>,

    /// File with the name of a group for every feature, one a line: acc-iht takes whole groups, at most k features in all
    #[arg(long, value_name = "FILE")]
    pub(crate) groups: Option<PathBuf>,
}

fn momentum(text: &str) -> Result<Momentum, String> {
    let number = || text.parse().map(Momentum::Constant);
    if text == "adaptive" {
        Ok(Momentum::Adaptive)
    } else {
        number().map_err(|_| "a number, or `adaptive`".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_algorithm_is_called_what_it_is_typed_as() {
        for name in AlgorithmName::value_variants().iter().filter(|n| **n != AlgorithmName::Auto) {
            let typed = name.to_possible_value().unwrap();
            assert_eq!(typed.get_name(), name.algorithm().name());
        }
        assert_eq!(AlgorithmName::value_variants().len(), Baseline::ALL.len() + 4);
    }
}
