//! What others do about the same problem, and what our papers compare with:
//!
//! min_{||w||_0 <= k}  P(w) = (1/N) sum_i l(x_i'w, y_i) + (lambda/2) ||w||^2
//!
//! One algorithm a file. Each works in one process on one shard through a `Run`, which knows P, its gradient
//! and the refit on a support, and keeps the books. They need a loss with a slope everywhere, so not the
//! hinge. None has a bound of its own but [`Baseline::KSupport`]; the intercept (column 0) is in every support and never
//! counted.

mod acc_iht;
mod atoms;
mod away_fw;
mod columns;
mod fbs;
mod fgrahtp;
mod foba;
mod forward;
mod frank_wolfe;
mod grahtp;
mod grasp;
mod greedy;
mod groups;
mod htp;
mod iht;
mod k_support;
mod lasso;
mod line;
pub mod low_rank;
mod niht;
mod oblivious;
mod omp;
mod pairwise_fw;
mod penalised;
mod run;
mod svr_ght;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use crate::{
    config::ValidConfig,
    coordinator::{Stopped, Tally},
    local::Host,
    shard::Shard,
    solver::StepRule,
};

pub use groups::{Groups, GroupsError};
use run::Run;

/// The algorithms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Baseline {
    /// Iterative hard thresholding.
    Iht,
    /// The same with a step from the data.
    Niht,
    /// Hard thresholding pursuit.
    Htp,
    /// Gradient hard thresholding pursuit.
    Grahtp,
    /// The same without a refit.
    Fgrahtp,
    /// Gradient hard thresholding with reduced variance.
    SvrGht,
    /// Iterative hard thresholding with momentum.
    AccIht,
    /// Gradient support pursuit.
    Grasp,
    /// Forward and backward selection.
    Foba,
    /// Forward basis selection.
    Fbs,
    /// All features at once, each by itself.
    Oblivious,
    /// Forward selection.
    Forward,
    /// Orthogonal matching pursuit.
    Omp,
    /// An l1 penalty, searched to k features.
    Lasso,
    /// Frank-Wolfe over an l1 ball.
    Fw,
    /// The same, with weight moved between two atoms.
    PairwiseFw,
    /// The same, with steps away from an atom.
    AwayFw,
    /// The convex relaxation whose optimum is the best bound.
    KSupport,
}

impl Baseline {
    /// All of them.
    pub const ALL: [Self; 18] = [
        Self::Iht,
        Self::Niht,
        Self::Htp,
        Self::Grahtp,
        Self::Fgrahtp,
        Self::SvrGht,
        Self::AccIht,
        Self::Grasp,
        Self::Foba,
        Self::Fbs,
        Self::Oblivious,
        Self::Forward,
        Self::Omp,
        Self::Lasso,
        Self::Fw,
        Self::PairwiseFw,
        Self::AwayFw,
        Self::KSupport,
    ];

    /// The name, as it is typed.
    pub fn name(self) -> &'static str {
        match self {
            Self::Iht => "iht",
            Self::Niht => "niht",
            Self::Htp => "htp",
            Self::Grahtp => "grahtp",
            Self::Fgrahtp => "fgrahtp",
            Self::SvrGht => "svr-ght",
            Self::AccIht => "acc-iht",
            Self::Grasp => "grasp",
            Self::Foba => "foba",
            Self::Fbs => "fbs",
            Self::Oblivious => "oblivious",
            Self::Forward => "forward",
            Self::Omp => "omp",
            Self::Lasso => "lasso",
            Self::Fw => "fw",
            Self::PairwiseFw => "pairwise-fw",
            Self::AwayFw => "away-fw",
            Self::KSupport => "k-support",
        }
    }

    /// Whether it takes steps whose length can be given.
    pub fn has_step(self) -> bool {
        matches!(
            self,
            Self::Iht | Self::Htp | Self::Grahtp | Self::Fgrahtp | Self::SvrGht | Self::AccIht
        )
    }

    /// Whether subgradients are enough for it, with steps of a given length: the hinge has no others.
    pub fn takes_subgradients(self) -> bool {
        matches!(self, Self::Iht | Self::Htp | Self::SvrGht)
    }
}

/// How much of the last move [`Baseline::AccIht`] makes again.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Momentum {
    /// This share.
    Constant(f64),
    /// What is best for the objective.
    Adaptive,
}

/// Settings that only baselines have.
#[derive(Debug, Clone, PartialEq)]
pub struct BaselineSettings {
    /// Of [`Baseline::AccIht`].
    pub momentum: Momentum,
    /// Whether weights are refitted on their support: by [`Baseline::AccIht`] after every step, by others
    /// that do not refit anyway at the end.
    pub debias: bool,
    /// The l1 length that the Frank-Wolfe family allows; that of a first fit without one.
    pub radius: Option<f64>,
    /// Features that [`Baseline::AccIht`] takes or leaves together.
    pub groups: Option<Groups>,
}

impl Default for BaselineSettings {
    fn default() -> Self {
        let momentum = Momentum::Constant(0.25);
        Self { momentum, debias: false, radius: None, groups: None }
    }
}

/// Runs `baseline` on the one shard of a training set to its end; the books have the best model.
pub(crate) fn run(
    baseline: Baseline,
    config: &ValidConfig,
    shard: &mut Shard,
    host: &mut dyn Host,
) -> (Tally, Stopped) {
    let settings = config.get();
    let step = match settings.step {
        StepRule::Fixed(step) => Some(step),
        StepRule::Safe | StepRule::Paper => None,
    };
    let own = &settings.baseline;
    let mut run = Run::new(shard, settings.limits, host);
    let stopped = match baseline {
        Baseline::Iht => iht::solve(&mut run, step),
        Baseline::Niht => niht::solve(&mut run),
        Baseline::Htp => htp::solve(&mut run, step),
        Baseline::Grahtp => grahtp::solve(&mut run, step),
        Baseline::Fgrahtp => fgrahtp::solve(&mut run, step),
        Baseline::SvrGht => svr_ght::solve(&mut run, step, settings.batch_size),
        Baseline::AccIht => acc_iht::solve(&mut run, step, own),
        Baseline::Grasp => grasp::solve(&mut run),
        Baseline::Foba => foba::solve(&mut run),
        Baseline::Fbs => fbs::solve(&mut run),
        Baseline::Oblivious => oblivious::solve(&mut run),
        Baseline::Forward => forward::solve(&mut run),
        Baseline::Omp => omp::solve(&mut run),
        Baseline::Lasso => lasso::solve(&mut run),
        Baseline::Fw => frank_wolfe::solve(&mut run, own.radius),
        Baseline::PairwiseFw => pairwise_fw::solve(&mut run, own.radius),
        Baseline::AwayFw => away_fw::solve(&mut run, own.radius),
        Baseline::KSupport => k_support::solve(&mut run),
    };
    if own.debias {
        run.refit_best();
    }
    (run.finish(), stopped)
}
