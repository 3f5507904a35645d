//! A coordinator as bytes, and back: what a checkpoint of a run is made of.
//!
//! All of the method's state is saved, the search of the finish included, so a run goes on where it was.
//! What shards hold is not: they are the owners of their alphas, and say what they hold when they come back
//! ([`super::Event::Restated`]). Until then nobody is asked anything.

use crate::{
    record,
    round::{Directive, Job, ModelDelta, Probe, Weights},
};

use super::{Coordinator, Limits, Method, Pace, Running};

/// Why saved bytes cannot be gone on from.
#[derive(Debug, thiserror::Error)]
pub enum ResumeError {
    /// The bytes make no sense.
    #[error("the state of the run cannot be read: {0}")]
    Decode(#[from] wincode::ReadError),
    /// They are the state of a run with another job or another method.
    #[error("the state of the run does not belong to this job")]
    Foreign,
}

impl Coordinator {
    /// The state between two events, when all commands have been taken.
    ///
    /// # Errors
    /// It cannot be encoded.
    pub fn save(&self) -> Result<Vec<u8>, wincode::WriteError> {
        record::encode(self)
    }

    /// Goes on from what [`Coordinator::save`] gave, under `limits`. Every shard has to restate itself before
    /// it is asked anything.
    ///
    /// # Errors
    /// The bytes are not the state of a run on `job` by `method` at `pace`.
    pub fn resume(
        bytes: &[u8],
        job: Job,
        method: Method,
        pace: Pace,
        limits: Limits,
    ) -> Result<Self, ResumeError> {
        let mut this: Self = record::decode(bytes)?;
        let round = this.tally.rounds.saturating_add(1);
        // The books first: they say whose state it is, and memory is asked for only after that.
        let sound = this.tally.resume(&job, limits)
            && this.resume_method(method, pace)
            && this.nominated.as_ref().is_none_or(|probe| is_probe(probe, job.cols))
            && !this.over
            && this.seats.resume(&job, pace, round);
        if sound { Ok(this) } else { Err(ResumeError::Foreign) }
    }

    fn resume_method(&mut self, method: Method, pace: Pace) -> bool {
        match (&mut self.method, method) {
            (Running::Exact(exact), Method::Exact) => exact.resume(&self.tally, pace),
            (Running::Averaging(averaging), Method::Average { combine, beta }) => {
                averaging.resume(self.tally.job(), pace, combine, beta)
            }
            _ => false,
        }
    }
}

/// The largest count of anything in a state: far above any run, and far from where sums overflow.
pub(super) const MOST: u64 = 1 << 40;

/// Whether a count is one that a run can come to.
pub(super) fn is_count(count: usize) -> bool {
    count as u64 <= MOST
}

/// Whether corners can be rounded over this width: far wider ones, and the last refits would never come to
/// the true loss.
pub(super) fn is_width(width: Option<f64>) -> bool {
    width.is_none_or(|width| width > 0.0 && width <= 1.0)
}

/// Whether shards of `job` can be asked this.
pub(super) fn is_question(directive: &Directive, job: &Job) -> bool {
    let models = |models: &[Weights]| models.iter().all(|model| is_model(model, job.cols));
    match directive {
        Directive::Ascend(delta) => is_delta(delta, job.cols),
        Directive::Attest(attest) => {
            is_delta(&attest.delta, job.cols)
                && are_columns(&attest.support, job.cols)
                && is_model(&attest.model, job.cols)
        }
        Directive::Certify { support } => are_columns(support, job.cols),
        Directive::Gradient(probe) => is_probe(probe, job.cols),
        Directive::Nominate { probe, count, .. } => is_probe(probe, job.cols) && is_count(*count),
        Directive::Survey { columns, at } => {
            are_columns(columns, job.cols) && at.as_ref().is_none_or(|at| is_probe(at, job.cols))
        }
        Directive::Settle { gap } | Directive::Relax { gap } => *gap >= 0.0 && gap.is_finite(),
        Directive::Flush => true,
        Directive::Sdiht { model, unscored } => is_model(model, job.cols) && models(unscored),
        Directive::Score { candidates } => models(candidates),
        Directive::Measure { model } => is_model(model, job.cols),
    }
}

fn is_delta(delta: &ModelDelta, cols: usize) -> bool {
    are_columns(&delta.indices, cols)
        && delta.weights.len() == delta.indices.len()
        && delta.theta.len() == delta.indices.len()
        && delta.weights.iter().all(|w| w.is_finite())
        && is_caution(delta.caution)
}

/// Whether sigma' per shard can be this.
pub(super) fn is_caution(caution: f32) -> bool {
    caution > 0.0 && caution <= 1.0
}

fn is_probe(probe: &Probe, cols: usize) -> bool {
    is_model(&probe.model, cols) && is_width(probe.smoothing)
}

/// Whether `columns` are ascending and below `cols`.
pub(super) fn are_columns(columns: &[u32], cols: usize) -> bool {
    columns.is_sorted_by(|a, b| a < b) && columns.last().is_none_or(|&j| (j as usize) < cols)
}

/// Whether `columns` are ascending features, so that column 0 is not among them.
pub(super) fn are_features(columns: &[u32], cols: usize) -> bool {
    are_columns(columns, cols) && columns.first() != Some(&0)
}

/// Whether `model` has finite weights in columns below `cols`.
pub(super) fn is_model(model: &Weights, cols: usize) -> bool {
    model.indices.len() == model.values.len()
        && model.values.iter().all(|w| w.is_finite())
        && are_columns(&model.indices, cols)
}
