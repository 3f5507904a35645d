//! Who has which shard.

use std::time::Instant;

use ddiht_core::enrol::ShardFacts;
use ddiht_wire::{Caller, Joining, SessionId, ShardPresence, ShardStatus, WorkerId};
use tonic::Status;

/// A worker's stay on a shard.
#[derive(Debug, Clone, Copy)]
struct Stay {
    worker: WorkerId,
    session: SessionId,
    heard: Instant,
}

#[derive(Debug, Clone, Default)]
struct Seat {
    stay: Option<Stay>,
    facts: Option<ShardFacts>,
}

/// One seat for every shard.
#[derive(Debug)]
pub(crate) struct Roster {
    seats: Vec<Seat>,
    next_session: u64,
}

/// Why a worker is turned away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    #[error("all {shards} shards have a worker")]
    Full { shards: usize },
    #[error("shard {shard} does not exist")]
    NoSuchShard { shard: usize },
    #[error("this stay on shard {shard} has ended: another worker has taken it over")]
    Replaced { shard: usize },
    #[error("the run is over")]
    Over,
}

impl From<Refusal> for Status {
    fn from(refusal: Refusal) -> Self {
        let sentence = refusal.to_string();
        match refusal {
            // A shard may become free: it is worth asking again.
            Refusal::Full { .. } => Self::unavailable(sentence),
            Refusal::NoSuchShard { .. } => Self::out_of_range(sentence),
            Refusal::Replaced { .. } => Self::aborted(sentence),
            Refusal::Over => Self::failed_precondition(sentence),
        }
    }
}

impl Roster {
    /// Nobody is there; sessions are numbered from `first_session`.
    pub(crate) fn new(shards: usize, first_session: u64) -> Self {
        Self { seats: vec![Seat::default(); shards], next_session: first_session }
    }

    /// Gives a shard to a worker: the one it has, the one it wishes, or the first that is free.
    pub(crate) fn join(
        &mut self,
        joining: &Joining,
        now: Instant,
    ) -> Result<(usize, SessionId), Refusal> {
        if let Some((shard, stay)) = self.find(joining.worker) {
            return Ok((shard, stay.session));
        }
        let free = |&shard: &usize| self.seats[shard].stay.is_none();
        let shard = joining
            .wish
            .filter(free)
            .or_else(|| (0..self.seats.len()).find(free))
            .ok_or(Refusal::Full { shards: self.seats.len() })?;
        let session = SessionId(self.next_session);
        self.next_session = self.next_session.wrapping_add(1);
        self.seats[shard].stay = Some(Stay { worker: joining.worker, session, heard: now });
        Ok((shard, session))
    }

    /// A worker whose reply was lost asks again.
    fn find(&self, worker: WorkerId) -> Option<(usize, Stay)> {
        let stays = self.seats.iter().enumerate().filter_map(|(s, seat)| Some((s, seat.stay?)));
        stays.into_iter().find(|(_, stay)| stay.worker == worker)
    }

    /// Checks that the caller still has its shard, and notes that it was heard.
    pub(crate) fn hear(&mut self, caller: Caller, now: Instant) -> Result<(), Refusal> {
        let shard = caller.shard;
        let seat = self.seats.get_mut(shard).ok_or(Refusal::NoSuchShard { shard })?;
        match &mut seat.stay {
            Some(stay) if stay.session == caller.session => {
                stay.heard = now;
                Ok(())
            }
            _ => Err(Refusal::Replaced { shard }),
        }
    }

    pub(crate) fn describe(&mut self, shard: usize, facts: ShardFacts) {
        self.seats[shard].facts = Some(facts);
    }

    /// The facts of all shards, by shard, once they are all there.
    pub(crate) fn all_facts(&self) -> Option<Vec<ShardFacts>> {
        self.seats.iter().map(|seat| seat.facts.clone()).collect()
    }

    /// Shards with a worker.
    pub(crate) fn joined(&self) -> usize {
        self.seats.iter().filter(|seat| seat.stay.is_some()).count()
    }

    /// Whether `shard` has a worker.
    pub(crate) fn is_occupied(&self, shard: usize) -> bool {
        self.seats[shard].stay.is_some()
    }

    /// How the shards stand; `progress` gives the rounds a shard has answered and its staleness.
    pub(crate) fn status(
        &self,
        now: Instant,
        progress: impl Fn(usize) -> (u64, u64),
    ) -> Vec<ShardStatus> {
        let status = |(shard, seat): (usize, &Seat)| {
            let (rounds, staleness) = progress(shard);
            let presence =
                seat.stay.map_or(ShardPresence::Vacant, |stay| ShardPresence::Occupied {
                    staleness,
                    silent_seconds: now.saturating_duration_since(stay.heard).as_secs_f64(),
                });
            ShardStatus { rounds, presence }
        };
        self.seats.iter().enumerate().map(status).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn worker(id: u64, wish: Option<usize>) -> Joining {
        Joining { worker: WorkerId(id), build: String::new(), wish }
    }

    #[test]
    fn shards_go_to_who_wishes_them_or_comes_first() {
        let (mut roster, now) = (Roster::new(3, 100), Instant::now());
        assert_eq!(roster.join(&worker(1, Some(2)), now).unwrap(), (2, SessionId(100)));
        assert_eq!(roster.join(&worker(2, Some(2)), now).unwrap(), (0, SessionId(101)));
        assert_eq!(roster.join(&worker(3, None), now).unwrap(), (1, SessionId(102)));
        // A repeated call is answered as before.
        assert_eq!(roster.join(&worker(1, None), now).unwrap(), (2, SessionId(100)));
        assert_eq!(roster.join(&worker(4, None), now), Err(Refusal::Full { shards: 3 }));
        assert_eq!(roster.joined(), 3);
    }

    #[test]
    fn only_who_has_a_shard_may_speak_for_it() {
        let (mut roster, now) = (Roster::new(1, 7), Instant::now());
        let caller = |session, shard| Caller { session: SessionId(session), shard };
        assert_eq!(roster.hear(caller(7, 0), now), Err(Refusal::Replaced { shard: 0 }));
        roster.join(&worker(1, None), now).unwrap();
        assert_eq!(roster.hear(caller(7, 0), now), Ok(()));
        assert_eq!(roster.hear(caller(8, 0), now), Err(Refusal::Replaced { shard: 0 }));
        assert_eq!(roster.hear(caller(7, 1), now), Err(Refusal::NoSuchShard { shard: 1 }));
    }
}
