//! Who joins, who waits in case somebody is lost, and who is given up.

use std::{fmt::Display, net::SocketAddr, time::Instant};

use ddiht_core::{
    enrol::{Assignment, Preparation},
    local::Observer,
};
use ddiht_wire::{Admission, Caller, Ending, Joined, Joining};
use tonic::Status;

use super::{Desk, Stage};
use crate::{request::Respond, roster::Place};

/// A worker that waits for a shard to become free.
pub(super) struct Spare {
    joining: Joining,
    peer: Option<SocketAddr>,
    respond: Respond<Admission>,
}

impl<O: Observer> Desk<O> {
    pub(super) fn join(
        &mut self,
        joining: &Joining,
        peer: Option<SocketAddr>,
        respond: Respond<Admission>,
    ) {
        if let Stage::Over { ending, .. } = &self.stage {
            return drop(respond.send(Ok(Admission::Over(ending.clone()))));
        }
        match self.roster.join(joining, peer, Instant::now()) {
            Ok(place) => self.welcome(place, joining, respond),
            Err(refusal) => {
                self.spares.retain(|spare| {
                    !spare.respond.is_closed() && spare.joining.worker != joining.worker
                });
                if self.spares.len() < self.config.faults.spares {
                    tracing::info!("a spare worker ({}) waits", joining.build);
                    self.spares.push_back(Spare { joining: joining.clone(), peer, respond });
                } else {
                    let _ = respond.send(Err(refusal.into()));
                }
            }
        }
    }

    fn welcome(&mut self, place: Place, joining: &Joining, respond: Respond<Admission>) {
        let Place { shard, session, repeated } = place;
        let shards = self.config.request.get().workers;
        if !repeated {
            let (joined, peer) = (self.roster.joined(), self.roster.peer(shard));
            let build = &joining.build;
            tracing::info!("worker {joined} of {shards} ({build}, {peer}) has shard {shard}");
            if let Stage::Training(rounds) = &mut self.stage {
                rounds.renew(shard);
            }
        }
        self.publish();
        let preparation = Preparation::of(&self.config.request);
        let data = self.config.data.clone();
        let assignment = Assignment { shard, shards, data, preparation };
        let heartbeat = self.config.faults.heartbeat();
        let joined = Joined { session, assignment, heartbeat };
        // Who has hung up will ask again.
        let _ = respond.send(Ok(Admission::Joined(joined)));
    }

    /// A sign of life; the answer may name a shard to take as well.
    pub(super) fn heartbeat(&mut self, caller: Caller) -> Result<Option<usize>, Status> {
        let now = Instant::now();
        self.roster.hear(caller, now)?;
        let training = matches!(self.stage, Stage::Training(_));
        if !self.config.faults.adopt_orphans || !training {
            return Ok(None);
        }
        let orphan = self.roster.offer(caller, now, self.config.faults.heartbeat_timeout);
        if let Some(orphan) = orphan {
            let peer = self.roster.peer(caller.shard);
            tracing::info!(
                "shard {orphan} is offered to the worker of shard {} ({peer})",
                caller.shard
            );
        }
        Ok(orphan)
    }

    /// Ends the stay of a worker on `shard` for a reason, and looks for another.
    pub(super) fn turn_out(&mut self, shard: usize, why: &dyn Display) {
        let peer = self.roster.peer(shard);
        tracing::warn!("the worker of shard {shard} ({peer}) is turned out: {why}");
        self.vacate(shard);
    }

    /// Ends the stays of workers that have not been heard for too long.
    pub(super) fn give_up_the_silent(&mut self) {
        if matches!(self.stage, Stage::Over { .. }) {
            return;
        }
        let timeout = self.config.faults.heartbeat_timeout;
        for shard in self.roster.expire(Instant::now(), timeout) {
            let seconds = timeout.as_secs_f64();
            tracing::warn!(
                "the worker of shard {shard} has been silent for {seconds:.1} s and is given up; the run \
                 waits for another"
            );
            self.vacate(shard);
        }
    }

    fn vacate(&mut self, shard: usize) {
        self.roster.release(shard, Instant::now());
        if let Stage::Training(rounds) = &mut self.stage {
            rounds.renew(shard);
        }
        self.publish();
        while let Some(spare) = self.spares.pop_front() {
            if !spare.respond.is_closed() {
                return self.join(&spare.joining, spare.peer, spare.respond);
            }
        }
    }

    /// Tells spare workers that they are not needed any more.
    pub(super) fn send_spares_home(&mut self, ending: &Ending) {
        for spare in self.spares.drain(..) {
            let _ = spare.respond.send(Ok(Admission::Over(ending.clone())));
        }
    }
}
