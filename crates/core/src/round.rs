//! What the coordinator asks of every shard in a round, and what a shard answers.
//!
//! One variant per meaning. Every message holds O(k) numbers, whatever the dimension. Numbers have the
//! width they are exchanged with, so a run in one process computes the same as one over a network.

mod sparse;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use wincode::{SchemaRead, SchemaWrite};

use crate::measures::Measures;

pub(crate) use sparse::sum_of;
pub use sparse::{Sparse, Weights};

/// The job as every shard must know it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, SchemaRead, SchemaWrite)]
pub struct Job {
    /// The loss.
    pub loss: crate::loss::LossKind,
    /// The ridge strength.
    pub lambda: f64,
    /// The feature budget.
    pub k: usize,
    /// The columns from 1 to this one are always in the model, and count in the budget.
    pub kept: usize,
    /// Rows of the whole training set.
    pub total_rows: usize,
    /// Columns of the whole training set, the reserved column 0 included.
    pub cols: usize,
    /// Stored entries of the whole training set.
    pub entries: usize,
    /// Whether there is a constant feature.
    pub intercept: bool,
    /// Number of shards.
    pub shards: usize,
    /// Entries of `u` a shard may send in a round.
    pub uplink: usize,
    /// Coordinate passes over a shard in a dual round.
    pub passes: usize,
    /// Seed of every generator.
    pub seed: u64,
    /// Steps of the dual algorithms of the papers; unused by `exact`.
    pub sdiht: crate::solver::SdihtSettings,
}

impl Job {
    /// All columns that may have a weight.
    pub fn columns_in_play(&self) -> std::ops::Range<u32> {
        u32::from(!self.intercept)..self.cols as u32
    }

    /// Whether some features must stay out of the model.
    pub fn chooses(&self) -> bool {
        self.k + 1 < self.cols
    }
}

/// A question to all shards.
#[derive(Debug, Clone, PartialEq, SchemaRead, SchemaWrite)]
pub enum Directive {
    /// Changes of the shared model, then one dual round on its support (M5).
    Ascend(ModelDelta),
    /// Dual rounds on all columns until a relative gap is reached; of a single shard, when all features may be in the model.
    Settle {
        /// The gap.
        gap: f64,
    },
    /// Steps on the relaxation (M14), whose value is the best bound there is; of a single shard, when features have to be
    /// chosen.
    Relax {
        /// The relative distance of its value and the bound at which nothing is left to do.
        gap: f64,
    },
    /// A dual round, then evidence and the loss of a model: a bound needs no round of its own (M7).
    Attest(Attest),
    /// Evidence for a bound: exact `u` on these columns (M7).
    Certify {
        /// The columns, ascending, column 0 first if there is an intercept.
        support: Vec<u32>,
    },
    /// Loss and gradient at a model, on its own support.
    Gradient(Probe),
    /// The columns outside the support with the largest expected gain (M10).
    Nominate {
        /// The model at which to look.
        probe: Probe,
        /// How many columns.
        count: usize,
        /// Whether the curvature at the model itself will do, in place of that over the steps that columns would take.
        hasty: bool,
    },
    /// Exact gradient and curvature, at the model of the last [`Directive::Nominate`].
    Survey {
        /// The columns, ascending.
        columns: Vec<u32>,
        /// That model, for a shard that has not been asked to nominate at it.
        at: Option<Probe>,
    },
    /// What is still unsent of `u`, without a step: before a bound it makes the evidence tighter.
    Flush,
    /// Local steps of the dual iterative hard thresholding of the papers, from this model.
    Sdiht {
        /// The model of the server, `ws` in the report.
        model: Weights,
        /// Earlier models of the server whose loss this shard has not told yet, oldest first.
        unscored: Vec<Weights>,
    },
    /// The losses of these models, as sums over the rows of the shard.
    Score {
        /// The candidates.
        candidates: Vec<Weights>,
    },
    /// The last round: how good the chosen model is on the training data.
    Measure {
        /// The model.
        model: Arc<Weights>,
    },
}

impl Directive {
    /// Whether it is a step of the method itself, and not of the certificate, the finish or the end.
    pub fn is_step(&self) -> bool {
        matches!(
            self,
            Self::Ascend(_)
                | Self::Settle { .. }
                | Self::Relax { .. }
                | Self::Attest(_)
                | Self::Sdiht { .. }
                | Self::Score { .. }
        )
    }

    /// What kind of round it opens.
    pub fn kind(&self) -> RoundKind {
        match self {
            Self::Ascend(_)
            | Self::Settle { .. }
            | Self::Relax { .. }
            | Self::Attest(_)
            | Self::Sdiht { .. } => RoundKind::Dual,
            Self::Flush => RoundKind::Flush,
            Self::Certify { .. } => RoundKind::Certify,
            Self::Score { .. } => RoundKind::Score,
            Self::Measure { .. } => RoundKind::Measure,
            Self::Gradient(_) => RoundKind::Gradient,
            Self::Nominate { .. } => RoundKind::Nominate,
            Self::Survey { .. } => RoundKind::Survey,
        }
    }
}

/// What a round is for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, SchemaRead, SchemaWrite)]
pub enum RoundKind {
    /// There has been none yet.
    #[default]
    Start,
    /// A step of the method.
    Dual,
    /// Sends what is unsent.
    Flush,
    /// Evidence for a bound.
    Certify,
    /// Losses of candidates.
    Score,
    /// The last one.
    Measure,
    /// Loss and gradient of a refit.
    Gradient,
    /// Candidates for exchange.
    Nominate,
    /// Gradient and curvature of candidates.
    Survey,
    /// An iteration of a baseline.
    Iterate,
}

impl RoundKind {
    /// In a word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Dual => "dual",
            Self::Flush => "flush",
            Self::Certify => "certify",
            Self::Score => "score",
            Self::Measure => "measure",
            Self::Gradient => "gradient",
            Self::Nominate => "nominate",
            Self::Survey => "survey",
            Self::Iterate => "iterate",
        }
    }
}

/// Changed entries of the model that the dual phase follows.
#[derive(Debug, Clone, Default, PartialEq, SchemaRead, SchemaWrite)]
pub struct ModelDelta {
    /// Changed columns, ascending.
    pub indices: Vec<u32>,
    /// Their weights `theta_j u_j`.
    pub weights: Vec<f32>,
    /// Their selectors, 255 for 1.
    pub theta: Vec<u8>,
    /// sigma' per shard: how much a shard allows for what the others do meanwhile (M5).
    pub caution: f32,
    /// Whether this is all of the model and not a change: a shard that came back knows nothing, or too much.
    pub whole: bool,
}

impl ModelDelta {
    /// Adds a column after those it has.
    pub fn push(&mut self, column: u32, weight: f32, theta: u8) {
        self.indices.push(column);
        self.weights.push(weight);
        self.theta.push(theta);
    }
}

/// A dual round with evidence.
#[derive(Debug, Clone, Default, PartialEq, SchemaRead, SchemaWrite)]
pub struct Attest {
    /// As in [`Directive::Ascend`].
    pub delta: ModelDelta,
    /// As in [`Directive::Certify`].
    pub support: Vec<u32>,
    /// The model whose loss is wanted.
    pub model: Weights,
}

/// `value` with 36 bits after the leading one: a refit needs more digits than f32 has, and its numbers are
/// most of what a run sends, so those that nobody needs are left out.
pub fn shortened(value: f64) -> f64 {
    const DROPPED: u64 = 0xFFFF;
    let rounded = f64::from_bits((value.to_bits().wrapping_add(DROPPED / 2)) & !DROPPED);
    if rounded.is_finite() { rounded } else { value }
}

/// `value` as f32, and the largest one where it is beyond them all: what is missing is sent later.
pub fn narrowed(value: f64) -> f32 {
    const LARGEST: f64 = f32::MAX as f64;
    value.clamp(-LARGEST, LARGEST) as f32
}

/// A model to be evaluated.
#[derive(Debug, Clone, Default, PartialEq, SchemaRead, SchemaWrite)]
pub struct Probe {
    /// The weights; the support is their columns, zeros included.
    pub model: Weights,
    /// The width over which a kink or a corner of the loss is rounded.
    pub smoothing: Option<f64>,
}

/// Where a single shard has come by itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Settled {
    /// Entries of the data that were visited.
    pub visited: u64,
    /// For a bound, with `u` on all columns in play.
    pub evidence: Evidence,
    /// The sum of the losses of the model `w = u`.
    pub loss: f64,
}

/// A shard's answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// To [`Directive::Ascend`] and [`Directive::Flush`]: the largest entries of `u_m - held_m`.
    Ascend(Sparse<f32>),
    /// To [`Directive::Settle`].
    Settled(Settled),
    /// To [`Directive::Relax`].
    Relaxed {
        /// Entries of the data that were visited; none when there was nothing left to do.
        visited: u64,
        /// The selectors of the point the relaxation is at.
        selectors: Sparse<f32>,
    },
    /// To [`Directive::Attest`].
    Attested(Attested),
    /// To [`Directive::Certify`].
    Evidence(Evidence),
    /// To [`Directive::Gradient`].
    Gradient(Slope),
    /// To [`Directive::Nominate`]: columns with gradient and curvature of this shard.
    Nominees {
        /// Gradient of the loss at the nominated columns.
        gradient: Sparse<f32>,
        /// Curvature at the same columns.
        curvature: Vec<f32>,
    },
    /// To [`Directive::Survey`].
    Survey {
        /// Gradient of the loss at the columns asked for.
        gradient: Vec<f64>,
        /// Curvature there.
        curvature: Vec<f32>,
    },
    /// To [`Directive::Sdiht`].
    Sdiht(LocalModel),
    /// To [`Directive::Score`]: a sum for each candidate.
    Losses(Vec<f64>),
    /// To [`Directive::Measure`].
    Measures(Measures),
}

impl Reply {
    /// Entries of the data visited for this answer, for the books: counted where it depends on the support
    /// or the block, else as shares of an even split.
    pub fn visited(&self, job: &Job) -> f64 {
        let all = job.entries as f64 / job.shards as f64;
        match self {
            Self::Ascend(_) => all * job.passes as f64,
            Self::Settled(settled) => settled.visited as f64,
            Self::Relaxed { visited, .. } => *visited as f64,
            Self::Attested(_) => all * (job.passes as f64 + 2.0),
            Self::Gradient(slope) => slope.visited as f64,
            Self::Evidence(_) => all,
            // Gradient and curvature, and the curvature over two steps.
            Self::Nominees { .. } => 4.0 * all,
            Self::Sdiht(local) => local.visited as f64,
            Self::Losses(losses) => all * losses.len() as f64,
            Self::Measures(_) => all,
            Self::Survey { .. } => 0.0,
        }
    }
}

/// An answer to [`Directive::Attest`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Attested {
    /// As in [`Reply::Ascend`].
    pub update: Sparse<f32>,
    /// Evidence for alpha after the step, with `held_m` after the update.
    pub evidence: Evidence,
    /// Sum of the losses of the model.
    pub loss: f64,
}

/// What a shard knows for a bound (M7, M8).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Evidence {
    /// `u_m` on the columns asked for, rebuilt from alpha.
    pub u: Vec<f64>,
    /// `max |u_m - held_m|` over all other columns.
    pub unsent: f64,
    /// How far any entry of the rebuilt `u_m` can be from its true value.
    pub rounding: f64,
    /// The sums of the conjugates.
    pub conjugate: ConjugateSum,
}

/// `sum_i l*(alpha_i)`, in parts.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ConjugateSum {
    /// The part linear in alpha.
    pub linear: f64,
    /// The part quadratic in alpha.
    pub quadratic: f64,
    /// What is neither: all of it for the logistic loss.
    pub other: f64,
    /// Sum of the magnitudes of all terms, for the rounding allowance.
    pub magnitude: f64,
    /// The largest `|alpha_i|`, per unit of sample weight.
    pub largest: f64,
}

/// Loss and gradient of a shard at a [`Probe`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Slope {
    /// Sum of the true losses.
    pub loss: f64,
    /// Sum of the smoothed losses (the same where there is no kink).
    pub smoothed: f64,
    /// Gradient of the smoothed sum on the support, over the rows of the whole training set.
    pub gradient: Vec<f64>,
    /// Entries of the data that were visited for it.
    pub visited: u64,
}

/// What the dual algorithms of the papers send up.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LocalModel {
    /// The shard's k-sparse model.
    pub model: Weights,
    /// Sums of losses over its rows: of the unscored models, oldest first, then of the model it was sent.
    pub losses: Vec<f64>,
    /// The step it took.
    pub step: f64,
    /// At least `||H_k(u_m)||^2` plus the intercept's square, at the new alpha.
    pub norm_sq: f64,
    /// The sums of the conjugates at the new alpha.
    pub conjugate: ConjugateSum,
    /// Entries of the data that its steps visited; what it looks at only to report is not counted.
    pub visited: u64,
}

impl ConjugateSum {
    /// Adds the sums of another shard.
    pub fn add(&mut self, other: &Self) {
        self.linear += other.linear;
        self.quadratic += other.quadratic;
        self.other += other.other;
        self.magnitude += other.magnitude;
        self.largest = self.largest.max(other.largest);
    }
}
