//! Who has which shard.

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use ddiht_core::enrol::ShardFacts;
use ddiht_wire::{Caller, Joining, LifeId, SessionId, ShardPresence, ShardStatus, WorkerId};
use tonic::Status;

/// A worker's stay on a shard.
#[derive(Debug, Clone, Copy)]
struct Stay {
    worker: WorkerId,
    life: LifeId,
    session: SessionId,
    peer: Option<SocketAddr>,
    heard: Instant,
    /// Shards it was asked to take on top of its own.
    offers: u32,
}

#[derive(Debug, Clone, Default)]
struct Seat {
    stay: Option<Stay>,
    facts: Option<ShardFacts>,
    /// Since when nobody has it, and when it was last offered to a worker that has another.
    vacant_since: Option<Instant>,
    offered: Option<Instant>,
}

/// One seat for every shard.
pub(crate) struct Roster {
    seats: Vec<Seat>,
    draw_session: DrawSession,
}

/// Where the names of sessions come from: nobody may guess that of another.
pub(crate) type DrawSession = Box<dyn FnMut() -> u64 + Send>;

/// A place on a shard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) shard: usize,
    pub(crate) session: SessionId,
    /// Whether the call was made before, and had this answer.
    pub(crate) repeated: bool,
}

/// Why a worker is turned away.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub(crate) enum Refusal {
    #[error("all {shards} shards have a worker")]
    Full { shards: usize },
    #[error("shard {shard} does not exist")]
    NoSuchShard { shard: usize },
    #[error("this stay on shard {shard} has ended: join again")]
    Ended { shard: usize },
    #[error(
        "shard {shard} was described with other data before: rows, columns, entries and labels must be the same"
    )]
    OtherData { shard: usize },
    #[error("rounds are under way: shard {shard} must say what it holds before it can answer")]
    NotRestated { shard: usize },
    #[error("round {round} is not open for shard {shard}: {}", open_round(*awaited))]
    WrongRound { shard: usize, round: u64, awaited: Option<u64> },
    #[error("describe the shard before the first round")]
    NotDescribed,
    #[error(
        "the norm of what shard {shard} sent is {norm:e}, more than the {most:e} that --max-update-norm allows"
    )]
    TooLarge { shard: usize, norm: f64, most: f64 },
}

fn open_round(awaited: Option<u64>) -> String {
    awaited.map_or("none is".into(), |round| format!("round {round} is"))
}

impl From<Refusal> for Status {
    fn from(refusal: Refusal) -> Self {
        let sentence = refusal.to_string();
        match refusal {
            // A shard may become free: it is worth asking again.
            Refusal::Full { .. } => Self::unavailable(sentence),
            Refusal::NoSuchShard { .. } | Refusal::TooLarge { .. } => Self::out_of_range(sentence),
            Refusal::Ended { .. } => Self::aborted(sentence),
            Refusal::OtherData { .. }
            | Refusal::NotRestated { .. }
            | Refusal::WrongRound { .. }
            | Refusal::NotDescribed => Self::failed_precondition(sentence),
        }
    }
}

impl Roster {
    /// Nobody is there.
    pub(crate) fn new(shards: usize, draw_session: DrawSession) -> Self {
        Self { seats: vec![Seat::default(); shards], draw_session }
    }

    /// Gives a shard to a worker: the one it has, the one it wishes, or the first that is free.
    pub(crate) fn join(
        &mut self,
        joining: &Joining,
        peer: Option<SocketAddr>,
        now: Instant,
    ) -> Result<Place, Refusal> {
        let had = self.find(joining.worker);
        if let Some((shard, stay)) = had
            && stay.life == joining.life
        {
            return Ok(Place { shard, session: stay.session, repeated: true });
        }
        let free = |&shard: &usize| self.seats[shard].stay.is_none();
        // Who begins again gives up its earlier stay, however recently that was heard.
        let shard = had
            .map(|(shard, _)| shard)
            .or_else(|| joining.wish.filter(free))
            .or_else(|| (0..self.seats.len()).find(free))
            .ok_or(Refusal::Full { shards: self.seats.len() })?;
        let session = SessionId((self.draw_session)());
        let (worker, life) = (joining.worker, joining.life);
        let seat = &mut self.seats[shard];
        seat.stay = Some(Stay { worker, life, session, peer, heard: now, offers: 0 });
        (seat.vacant_since, seat.offered) = (None, None);
        Ok(Place { shard, session, repeated: false })
    }

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
            _ => Err(Refusal::Ended { shard }),
        }
    }

    /// Where the worker of `shard` calls from, for the log.
    pub(crate) fn peer(&self, shard: usize) -> String {
        let stay = self.seats.get(shard).and_then(|seat| seat.stay);
        let peer = stay.and_then(|stay| stay.peer);
        peer.map_or_else(|| "an unknown address".to_owned(), |address| address.to_string())
    }

    /// Ends the stay on `shard`.
    pub(crate) fn release(&mut self, shard: usize, now: Instant) {
        self.seats[shard].stay = None;
        self.seats[shard].vacant_since = Some(now);
    }

    /// The shards whose workers have been silent for longer than `timeout`; those stays are over.
    pub(crate) fn expire(&mut self, now: Instant, timeout: Duration) -> Vec<usize> {
        let silent = |stay: &Stay| now.saturating_duration_since(stay.heard) > timeout;
        let mut lost = Vec::new();
        for shard in 0..self.seats.len() {
            if self.seats[shard].stay.as_ref().is_some_and(silent) {
                self.release(shard, now);
                lost.push(shard);
            }
        }
        lost
    }

    /// A shard for `caller` to take on top of its own: one that has been without a worker for `patience`, if no
    /// other worker has been asked less often.
    pub(crate) fn offer(
        &mut self,
        caller: Caller,
        now: Instant,
        patience: Duration,
    ) -> Option<usize> {
        let long_ago = |time: Instant| now.saturating_duration_since(time) >= patience;
        let is_orphan = |seat: &Seat| {
            seat.vacant_since.is_some_and(long_ago) && seat.offered.is_none_or(long_ago)
        };
        let orphan = self.seats.iter().position(is_orphan)?;
        let least = self.seats.iter().filter_map(|seat| Some(seat.stay?.offers)).min()?;
        let stay = self.seats.get_mut(caller.shard)?.stay.as_mut()?;
        if stay.offers > least {
            return None;
        }
        stay.offers += 1;
        self.seats[orphan].offered = Some(now);
        Some(orphan)
    }

    /// Notes what is in a shard.
    pub(crate) fn describe(&mut self, shard: usize, facts: ShardFacts) {
        self.seats[shard].facts = Some(facts);
    }

    /// Checks that a shard which comes back is the one that was described.
    pub(crate) fn recognise(&self, shard: usize, facts: &ShardFacts) -> Result<(), Refusal> {
        let same = self.seats[shard].facts.as_ref() == Some(facts);
        if same { Ok(()) } else { Err(Refusal::OtherData { shard }) }
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

    /// Sessions are numbered from `first`.
    fn roster(shards: usize, first: u64) -> Roster {
        let mut numbers = first..;
        Roster::new(shards, Box::new(move || numbers.next().unwrap()))
    }

    fn worker(id: u64, life: u64, wish: Option<usize>) -> Joining {
        Joining { worker: WorkerId(id), life: LifeId(life), build: String::new(), wish }
    }

    fn place(shard: usize, session: u64, repeated: bool) -> Place {
        Place { shard, session: SessionId(session), repeated }
    }

    #[test]
    fn shards_go_to_who_wishes_them_or_comes_first() {
        let (mut roster, now) = (roster(3, 100), Instant::now());
        let mut join = |joining: &Joining| roster.join(joining, None, now);
        assert_eq!(join(&worker(1, 1, Some(2))), Ok(place(2, 100, false)));
        assert_eq!(join(&worker(2, 1, Some(2))), Ok(place(0, 101, false)));
        assert_eq!(join(&worker(3, 1, None)), Ok(place(1, 102, false)));
        // A repeated call is answered as before.
        assert_eq!(join(&worker(1, 1, None)), Ok(place(2, 100, true)));
        assert_eq!(join(&worker(4, 1, None)), Err(Refusal::Full { shards: 3 }));
        assert_eq!(roster.joined(), 3);
    }

    #[test]
    fn who_begins_again_has_its_shard_at_once() {
        let (mut roster, now) = (roster(2, 100), Instant::now());
        roster.join(&worker(1, 1, None), None, now).unwrap();
        roster.join(&worker(2, 1, None), None, now).unwrap();
        assert_eq!(roster.join(&worker(2, 2, None), None, now), Ok(place(1, 102, false)));
        let caller = |session| Caller { session: SessionId(session), shard: 1 };
        assert_eq!(roster.hear(caller(101), now), Err(Refusal::Ended { shard: 1 }));
        assert_eq!(roster.hear(caller(102), now), Ok(()));
    }

    #[test]
    fn only_who_has_a_shard_may_speak_for_it() {
        let (mut roster, now) = (roster(1, 7), Instant::now());
        let caller = |session, shard| Caller { session: SessionId(session), shard };
        assert_eq!(roster.hear(caller(7, 0), now), Err(Refusal::Ended { shard: 0 }));
        roster.join(&worker(1, 1, None), None, now).unwrap();
        assert_eq!(roster.hear(caller(7, 0), now), Ok(()));
        assert_eq!(roster.hear(caller(8, 0), now), Err(Refusal::Ended { shard: 0 }));
        assert_eq!(roster.hear(caller(7, 1), now), Err(Refusal::NoSuchShard { shard: 1 }));
    }

    #[test]
    fn silence_ends_a_stay_and_its_shard_is_offered_in_turn() {
        let (mut roster, start) = (roster(3, 0), Instant::now());
        let second = Duration::from_secs(1);
        for id in 0..3 {
            roster.join(&worker(id, 1, None), None, start).unwrap();
        }
        let caller = |shard: usize| Caller { session: SessionId(shard as u64), shard };
        roster.hear(caller(0), start + 5 * second).unwrap();
        roster.hear(caller(1), start + 5 * second).unwrap();
        assert_eq!(roster.expire(start + 6 * second, 5 * second), [2]);
        assert_eq!(roster.hear(caller(2), start + 6 * second), Err(Refusal::Ended { shard: 2 }));
        // First it is kept for who had it, then offered to one, then to another.
        assert_eq!(roster.offer(caller(0), start + 7 * second, 2 * second), None);
        assert_eq!(roster.offer(caller(0), start + 8 * second, 2 * second), Some(2));
        assert_eq!(roster.offer(caller(1), start + 9 * second, 2 * second), None);
        assert_eq!(roster.offer(caller(0), start + 10 * second, 2 * second), None);
        assert_eq!(roster.offer(caller(1), start + 10 * second, 2 * second), Some(2));
        let adopted = roster.join(&worker(9, 1, Some(2)), None, start + 11 * second).unwrap();
        assert_eq!(adopted.shard, 2);
        assert_eq!(roster.offer(caller(0), start + 20 * second, 2 * second), None);
    }

    #[test]
    fn a_shard_that_comes_back_must_have_the_same_data() {
        let mut roster = roster(1, 0);
        let facts = ShardFacts { rows: 3, cols: 2, ..ShardFacts::default() };
        roster.describe(0, facts.clone());
        assert_eq!(roster.recognise(0, &facts), Ok(()));
        let other = ShardFacts { rows: 4, ..facts };
        assert_eq!(roster.recognise(0, &other), Err(Refusal::OtherData { shard: 0 }));
    }
}
