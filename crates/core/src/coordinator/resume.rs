//! A coordinator as bytes, and back: what a checkpoint of a run is made of.
//!
//! All of the method's state is saved, the search of the finish included, so a run goes on where it was.
//! What shards hold is not: they are the owners of their alphas, and say what they hold when they come back
//! ([`super::Event::Restated`]). Until then nobody is asked anything.

use crate::{
    record,
    round::{Job, Weights},
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
        let same_method = match (&mut this.method, method) {
            (Running::Exact(exact), Method::Exact) => exact.resume(&job, pace),
            (Running::Averaging(averaging), Method::Average { .. }) => averaging.resume(&job, pace),
            _ => false,
        };
        let probe_fits = this.nominated.as_ref().is_none_or(|p| is_model(&p.model, job.cols));
        let sound = same_method
            && probe_fits
            && !this.over
            && this.tally.resume(&job, limits)
            && this.seats.resume(job.shards, pace);
        if sound { Ok(this) } else { Err(ResumeError::Foreign) }
    }
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
