//! The job: what is trained, as every shard must know it.

use ddiht_core::{
    loss::LossKind,
    round::Job,
    solver::{SdihtSettings, StepRule},
};

use crate::{
    bounds::{MAX_COLS, MAX_ENTRIES, MAX_ROWS, MAX_SHARDS},
    check::{positive, present, ranged, small_count},
    error::WireError,
    pb::{self, loss::Kind, sdiht_settings::Step},
};

/// The message of `job`.
pub fn encode_job(job: &Job) -> pb::Job {
    pb::Job {
        loss: Some(encode_loss(job.loss)),
        lambda: job.lambda,
        k: job.k as u64,
        kept: job.kept as u64,
        total_rows: job.total_rows as u64,
        cols: job.cols as u64,
        entries: job.entries as u64,
        intercept: job.intercept,
        shards: small_count(job.shards),
        uplink: job.uplink as u64,
        passes: small_count(job.passes),
        seed: job.seed,
        sdiht: Some(encode_sdiht(&job.sdiht)),
    }
}

/// The job of a message.
pub fn decode_job(message: pb::Job) -> Result<Job, WireError> {
    let shards = ranged("job.shards", message.shards.into(), 1, MAX_SHARDS as u64)?;
    let cols = ranged("job.cols", message.cols, 1, MAX_COLS)?;
    let most = |of_a_shard: u64| of_a_shard * shards as u64;
    let total_rows = ranged("job.total_rows", message.total_rows, 1, most(MAX_ROWS))?;
    let entries = ranged("job.entries", message.entries, 0, most(MAX_ENTRIES))?;
    if entries as u128 > total_rows as u128 * cols as u128 {
        let (field, other) = ("job.entries", "job.total_rows and job.cols");
        return Err(WireError::Contradiction { field, other });
    }
    let loss = decode_loss(present("job.loss", message.loss)?)?;
    let sdiht = decode_sdiht(&present("job.sdiht", message.sdiht)?)?;
    if sdiht.step == StepRule::Paper && loss.conjugate_curvature_min() == 0.0 {
        // Its step divides by that curvature.
        return Err(WireError::Contradiction { field: "job.sdiht.step.paper", other: "job.loss" });
    }
    let k = ranged("job.k", message.k, 1, cols as u64)?;
    Ok(Job {
        loss,
        lambda: positive("job.lambda", message.lambda)?,
        k,
        kept: ranged("job.kept", message.kept, 0, k.min(cols - 1) as u64)?,
        total_rows,
        cols,
        entries,
        intercept: message.intercept,
        shards,
        uplink: ranged("job.uplink", message.uplink, 1, u64::MAX)?,
        passes: ranged("job.passes", message.passes.into(), 1, u32::MAX.into())?,
        seed: message.seed,
        sdiht,
    })
}

fn encode_loss(loss: LossKind) -> pb::Loss {
    let kind = match loss {
        LossKind::Hinge => Kind::Hinge(pb::Hinge {}),
        LossKind::SquaredHinge => Kind::SquaredHinge(pb::SquaredHinge {}),
        LossKind::SmoothedHinge { gamma } => Kind::SmoothedHinge(pb::SmoothedHinge { gamma }),
        LossKind::Logistic => Kind::Logistic(pb::Logistic {}),
        LossKind::Squared => Kind::Squared(pb::Squared {}),
    };
    pb::Loss { kind: Some(kind) }
}

fn decode_loss(message: pb::Loss) -> Result<LossKind, WireError> {
    Ok(match present("job.loss", message.kind)? {
        Kind::Hinge(_) => LossKind::Hinge,
        Kind::SquaredHinge(_) => LossKind::SquaredHinge,
        Kind::SmoothedHinge(smoothed) => {
            LossKind::SmoothedHinge { gamma: positive("job.loss.gamma", smoothed.gamma)? }
        }
        Kind::Logistic(_) => LossKind::Logistic,
        Kind::Squared(_) => LossKind::Squared,
    })
}

fn encode_sdiht(settings: &SdihtSettings) -> pb::SdihtSettings {
    let step = match settings.step {
        StepRule::Safe => Step::Safe(pb::SafeStep {}),
        StepRule::Paper => Step::Paper(pb::PaperStep {}),
        StepRule::Fixed(eta) => Step::Fixed(pb::FixedStep { eta }),
    };
    pb::SdihtSettings {
        batch: settings.batch.map(|rows| rows as u64),
        local_steps: settings.local_steps as u64,
        step: Some(step),
    }
}

fn decode_sdiht(message: &pb::SdihtSettings) -> Result<SdihtSettings, WireError> {
    let batch = message.batch.map(|rows| ranged("job.sdiht.batch", rows, 1, u64::MAX));
    Ok(SdihtSettings {
        batch: batch.transpose()?,
        local_steps: ranged("job.sdiht.local_steps", message.local_steps, 1, u64::MAX)?,
        step: match present("job.sdiht.step", message.step)? {
            Step::Safe(_) => StepRule::Safe,
            Step::Paper(_) => StepRule::Paper,
            Step::Fixed(fixed) => StepRule::Fixed(positive("job.sdiht.step.fixed", fixed.eta)?),
        },
    })
}
