//! Files that a run keeps for its own sake: checkpoints of a server, dual variables of a worker.

use std::{path::Path, time::Duration};

use ddiht_core::{
    checkpoint::Checkpoint,
    coordinator::Coordinator,
    record::{self, Kind},
    shard::Alpha,
    train::Trained,
};

use super::{
    cluster::{Cluster, End},
    tiny::{JOBS, Tiny},
};

/// Questions that a resumed run may ask.
const QUESTIONS: usize = 120;

/// Columns that a resumed run may have.
const MOST_COLS: usize = 1 << 20;

/// What the bytes after the first are.
pub(crate) const CHECKPOINT: u8 = 0;
pub(crate) const COORDINATOR: u8 = 1;
pub(crate) const ALPHA: u8 = 2;
pub(crate) const FILE: u8 = 3;

/// The first byte of an input: what follows, and the job it is of.
pub(crate) fn heading(what: u8, job: u8) -> u8 {
    what * JOBS + job % JOBS
}

/// A checkpoint, its coordinator alone, the state of a worker (all without the envelope of a file, so that
/// no checksum is in the way), or a whole file; see [`heading`]. What can be gone on from is gone on from.
pub fn record(data: &[u8]) -> bool {
    let Some((&first, body)) = data.split_first() else { return false };
    let Some(mut tiny) = Tiny::new(first) else { return false };
    match first / JOBS % 4 {
        CHECKPOINT => checkpoint(&mut tiny, &record::seal(Kind::Checkpoint, body)),
        COORDINATOR => coordinator(&mut tiny, body),
        ALPHA => alpha(&mut tiny, &record::seal(Kind::Alpha, body)),
        _ => checkpoint(&mut tiny, body) | alpha(&mut tiny, body),
    }
}

fn checkpoint(tiny: &mut Tiny, file: &[u8]) -> bool {
    let path = Path::new("checkpoint");
    let Ok(saved) = record::parse::<Checkpoint>(file, path, Kind::Checkpoint) else { return false };
    if saved.launch.job.cols > MOST_COLS {
        // A run on that many columns needs memory for each.
        return false;
    }
    let coordinator = match saved.resume(&tiny.config) {
        Ok(coordinator) => coordinator,
        Err(error) => {
            let _ = error.to_string();
            return false;
        }
    };
    // What a server does with the rest: its clock goes on from there, its books too.
    let _ = saved.elapsed + Duration::from_secs(1);
    let _ = saved.traffic.up + saved.traffic.down + saved.traffic.certificate;
    let _ = saved.launch.remarks(3);
    // Data of another size have shards of their own, which are not here.
    saved.launch.job == tiny.launch.job && go_on(tiny, coordinator)
}

fn coordinator(tiny: &mut Tiny, bytes: &[u8]) -> bool {
    let settings = tiny.config.get();
    let (job, method) = (tiny.launch.job, tiny.config.method());
    match Coordinator::resume(bytes, job, method, settings.pace, settings.limits) {
        Ok(coordinator) => go_on(tiny, coordinator),
        Err(_) => false,
    }
}

/// Rounds of a resumed run. A run that fails was resumed all the same.
fn go_on(tiny: &mut Tiny, coordinator: Coordinator) -> bool {
    let mut cluster = Cluster::new(coordinator, &mut tiny.shards);
    cluster.restate_all();
    let end = cluster.run(QUESTIONS);
    let tally = cluster.coordinator.into_tally();
    let _ = (tally.gap(), tally.passes(), tally.staleness.mean());
    if end == End::Finished {
        let stopped = ddiht_core::coordinator::Stopped::Rounds;
        let _ = Trained::conclude(&tiny.config, &tiny.launch, None, tally, stopped);
    }
    end != End::Failed
}

fn alpha(tiny: &mut Tiny, file: &[u8]) -> bool {
    let path = Path::new("alpha");
    let Ok(alpha) = record::parse::<Alpha>(file, path, Kind::Alpha) else { return false };
    let mine = tiny.shards.iter_mut().find(|shard| shard.alpha().shard == alpha.shard);
    if mine.is_none_or(|shard| shard.resume(&alpha).is_err()) {
        return false;
    }
    let coordinator = tiny.config.coordinator(tiny.launch.job);
    go_on(tiny, coordinator)
}
