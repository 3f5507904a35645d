//! Who was asked, who has answered, and whether that is enough to go on.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use wincode::{SchemaRead, SchemaWrite};

use crate::round::{Directive, Job, Reply};

use super::{Arrived, Batch, resume::is_question};

/// When the answers at hand close a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, SchemaRead, SchemaWrite)]
pub enum Pace {
    /// When every shard has answered.
    Barrier,
    /// When this many shards have.
    Arrivals {
        /// How many, at least 1.
        count: usize,
        /// Rounds after which a shard's answer is waited for all the same.
        max_staleness: Option<u64>,
    },
}

/// A shard as the coordinator sees it.
#[derive(Debug, Default, SchemaRead, SchemaWrite)]
struct Seat {
    /// The round of the last directive that is not dealt with.
    asked: Option<u64>,
    /// That directive, where it is not the one that all were asked.
    own: Option<Directive>,
    /// Not saved: who is asked again answers again.
    #[wincode(skip)]
    reply: Option<Reply>,
}

/// One seat for each shard.
#[derive(Debug, SchemaRead, SchemaWrite)]
pub(super) struct Seats {
    seats: Vec<Seat>,
    pace: Pace,
    /// Whether this round waits for all whatever the pace.
    all: bool,
    /// The directive that all were asked last.
    common: Option<Arc<Directive>>,
}

impl Seats {
    pub(super) fn new(shards: usize, pace: Pace) -> Self {
        let seats = (0..shards).map(|_| Seat::default()).collect();
        Self { seats, pace, all: true, common: None }
    }

    pub(super) fn len(&self) -> usize {
        self.seats.len()
    }

    pub(super) fn wait_for_all(&mut self) {
        self.all = true;
    }

    pub(super) fn wait_for_enough(&mut self) {
        self.all = self.pace == Pace::Barrier;
    }

    /// Every shard is asked the same.
    pub(super) fn ask_all(&mut self, round: u64, directive: &Arc<Directive>) {
        self.common = Some(Arc::clone(directive));
        self.seats.fill_with(|| Seat { asked: Some(round), ..Seat::default() });
    }

    pub(super) fn ask(&mut self, shard: usize, round: u64, directive: Directive) {
        self.seats[shard] = Seat { asked: Some(round), own: Some(directive), reply: None };
    }

    /// What `shard` was asked last, in which round, unless that is dealt with. An answer that is there is
    /// forgotten: whoever gave it is gone, and what comes in its place has to be asked itself.
    pub(super) fn ask_again(&mut self, shard: usize) -> Option<(u64, Directive)> {
        let seat = self.seats.get_mut(shard)?;
        let round = seat.asked?;
        seat.reply = None;
        let directive = seat.own.as_ref().or(self.common.as_deref())?;
        Some((round, directive.clone()))
    }

    /// Whether these are the seats of a run on `job` at this pace, somebody asked, nobody after `round`.
    pub(super) fn resume(&mut self, job: &Job, pace: Pace, round: u64) -> bool {
        // Nobody's sums are known until all have told theirs.
        self.all = true;
        let sound = |seat: &Seat| {
            let directive = seat.own.as_ref().or(self.common.as_deref());
            seat.asked.is_none_or(|asked| {
                (1..=round).contains(&asked) && directive.is_some_and(|d| is_question(d, job))
            })
        };
        self.seats.len() == job.shards
            && self.pace == pace
            && self.outstanding() > 0
            && self.seats.iter().all(sound)
    }

    /// The round of the directive that `shard` has not answered.
    pub(super) fn awaited(&self, shard: usize) -> Option<u64> {
        let seat = self.seats.get(shard)?;
        seat.asked.filter(|_| seat.reply.is_none())
    }

    /// Takes an answer, unless it is not to the last directive or came before.
    pub(super) fn take(&mut self, shard: usize, round: u64, reply: Reply) {
        if self.awaited(shard) == Some(round) {
            self.seats[shard].reply = Some(reply);
        }
    }

    /// Shards that were asked and have not answered.
    pub(super) fn outstanding(&self) -> usize {
        (0..self.seats.len()).filter(|&shard| self.awaited(shard).is_some()).count()
    }

    /// Whether the answers at hand close `round`.
    pub(super) fn round_is_complete(&self, round: u64) -> bool {
        let arrived = self.seats.iter().filter(|seat| seat.reply.is_some()).count();
        let outstanding = self.outstanding();
        if outstanding == 0 || self.all {
            return arrived > 0 && outstanding == 0;
        }
        match self.pace {
            Pace::Barrier => false,
            Pace::Arrivals { count, max_staleness } => {
                let too_old = |asked: u64| max_staleness.is_some_and(|most| round - asked >= most);
                arrived >= count
                    && !(0..self.seats.len()).filter_map(|s| self.awaited(s)).any(too_old)
            }
        }
    }

    /// The answers at hand, by shard, as `round` is closed; their seats are free.
    pub(super) fn empty(&mut self, round: u64) -> Batch {
        let mut batch = Batch::new();
        for (shard, seat) in self.seats.iter_mut().enumerate() {
            if let Some(reply) = seat.reply.take() {
                let asked = seat.asked.take().unwrap_or(round);
                batch.push(Arrived { shard, age: round - asked, reply });
            }
        }
        batch
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{config::Config, round::Weights};

    #[test]
    fn saved_seats_must_have_been_asked_what_shards_can_answer() {
        let job = Config { workers: 2, ..Config::new(3) }.check().unwrap().job(10, 5, 20);
        let resumes = |asked: u64, column: u32, weight: f64| {
            let mut seats = Seats::new(2, Pace::Barrier);
            let model = Weights { indices: vec![column], values: vec![weight] };
            seats.ask_all(asked, &Arc::new(Directive::Measure { model: model.into() }));
            seats.resume(&job, Pace::Barrier, 7)
        };
        assert!(resumes(7, 4, 1.0) && resumes(1, 0, -1.0));
        // An answer cannot be younger than the round it closes.
        assert!(!resumes(8, 4, 1.0) && !resumes(0, 4, 1.0));
        assert!(!resumes(7, 5, 1.0) && !resumes(7, 4, f64::NAN));
    }
}
