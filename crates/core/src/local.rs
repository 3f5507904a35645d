//! The in-memory transport: a coordinator and its shards in one process, the very same as in a cluster.

use std::time::Duration;

use rayon::prelude::*;

use crate::{
    coordinator::{Command, Coordinator, CoordinatorError, Event, Stopped, Tally},
    shard::Shard,
};

/// What the caller brings: the clock, and the wish to end.
pub trait Host: Sync {
    /// Training time so far.
    fn elapsed(&self) -> Duration;

    /// Whether the run shall end with the best model so far.
    fn interrupted(&self) -> bool;

    /// Called after every round, with the time each shard took for its answer.
    fn report(&mut self, tally: &Tally, times: &[Duration]);
}

/// Runs to the end; shards work in parallel.
pub fn run(
    coordinator: &mut Coordinator,
    shards: &mut [Shard],
    host: &mut impl Host,
) -> Result<Stopped, CoordinatorError> {
    let mut times = Vec::new();
    while let Some(command) = coordinator.poll() {
        match command {
            Command::Broadcast { round, directive } => {
                let clock = &*host;
                let answer = |shard: &mut Shard| {
                    let start = clock.elapsed();
                    let reply = shard.handle(round, &directive);
                    (reply, clock.elapsed().saturating_sub(start))
                };
                let answers: Vec<_> = shards.par_iter_mut().map(answer).collect();
                let (replies, taken): (Vec<_>, Vec<_>) = answers.into_iter().unzip();
                times = taken;
                if host.interrupted() {
                    coordinator.handle(host.elapsed(), Event::Stop);
                }
                for (shard, reply) in replies.into_iter().enumerate() {
                    coordinator.handle(host.elapsed(), Event::Answer { shard, round, reply });
                }
            }
            Command::Report => host.report(coordinator.tally(), &times),
            Command::Finish(why) => return Ok(why),
            Command::Fail(why) => return Err(why),
        }
    }
    // Every answered round leaves a command behind, so the queue cannot run dry before the end.
    Ok(Stopped::Interrupted)
}
