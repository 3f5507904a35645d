//! Between a coordinator and workers that ask again when they hear nothing.
//!
//! A worker tells its answer and asks for what comes next, in one message. Any of these messages may be
//! lost, late or repeated: the last directive of every shard is kept, so that a repeated question gets the
//! same reply, and an answer counts once.

use std::{sync::Arc, time::Duration};

use crate::{
    coordinator::{Command, Coordinator, CoordinatorError, Event, Stopped, Tally},
    round::Directive,
};

/// A directive and the round it belongs to.
#[derive(Debug, Clone)]
pub struct Sent {
    /// The round.
    pub round: u64,
    /// The directive.
    pub directive: Arc<Directive>,
}

/// What the owner of a switchboard must know.
#[derive(Debug)]
pub enum Notice {
    /// A round is complete.
    Report,
    /// The run is over.
    Finish(Stopped),
    /// The run cannot go on.
    Fail(CoordinatorError),
}

/// A coordinator and the last directive of every shard.
#[derive(Debug)]
pub struct Switchboard {
    coordinator: Coordinator,
    last: Vec<Option<Sent>>,
}

impl Switchboard {
    /// Of a coordinator that nobody has polled yet.
    pub fn new(coordinator: Coordinator) -> Self {
        let last = vec![None; coordinator.tally().job().shards];
        Self { coordinator, last }
    }

    /// The books.
    pub fn tally(&self) -> &Tally {
        self.coordinator.tally()
    }

    /// The books, when the run is over.
    pub fn into_tally(self) -> Tally {
        self.coordinator.into_tally()
    }

    /// The state of the coordinator, once there is nothing more to poll.
    ///
    /// # Errors
    /// It cannot be encoded.
    pub fn save(&self) -> Result<Vec<u8>, wincode::WriteError> {
        self.coordinator.save()
    }

    /// The directive that an answer of `round` would be to, if `shard` has not answered it.
    pub fn asked(&self, shard: usize, round: u64) -> Option<&Directive> {
        let sent = self.last.get(shard)?.as_ref()?;
        (self.coordinator.awaited(shard) == Some(round)).then_some(&*sent.directive)
    }

    /// The round that `shard` has been asked and has not answered.
    pub fn awaited(&self, shard: usize) -> Option<u64> {
        self.coordinator.awaited(shard)
    }

    /// Takes an event.
    pub fn handle(&mut self, now: Duration, event: Event) {
        self.coordinator.handle(now, event);
    }

    /// The next thing to know, until there is nothing. Directives are put where shards find them.
    pub fn poll(&mut self) -> Option<Notice> {
        loop {
            return match self.coordinator.poll()? {
                Command::Send { shard, round, directive } => {
                    self.last[shard] = Some(Sent { round, directive });
                    continue;
                }
                Command::Report => Some(Notice::Report),
                Command::Finish(why) => Some(Notice::Finish(why)),
                Command::Fail(why) => Some(Notice::Fail(why)),
            };
        }
    }

    /// What `shard` has to do after `round`, if that is known already. What is answered need not be done again: a
    /// worker that is new to a shard at rest waits for the next question.
    pub fn next(&self, shard: usize, round: u64) -> Option<&Sent> {
        let awaited = self.awaited(shard)?;
        self.last.get(shard)?.as_ref().filter(|sent| sent.round > round && sent.round == awaited)
    }
}
