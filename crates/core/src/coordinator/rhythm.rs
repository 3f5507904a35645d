//! Who answers seldom, how far such a shard steps, and when it is asked again (M4).
//!
//! While a shard is away the others come to rest, and when it is back they make room for what it did. So it
//! is one block of two, and the other block is always at its best: it may step much further than with a
//! barrier. But only from there: asked at once it would step from a model that lacks the others' answer to
//! its last step, and diverge. So it rests until they have answered.

use wincode::{SchemaRead, SchemaWrite};

use super::resume::is_caution;

/// Cycles of all shards that a shard misses if it answers seldom.
const SELDOM: u64 = 2;
/// Cycles for which it rests: in the first the others still answer what they were asked before.
const REST: u64 = 2;
/// sigma' of such a shard, at first. With 8 shards of imdb, one of them 10 times as slow, the dual phase is as
/// quick at 0.5 after a rest of 3 cycles, where every cycle costs time, and diverges at 0.25 after one of 2.
const OWN_CAUTION: f32 = 0.75;

/// A shard that is asked again in some round.
#[derive(Debug, Clone, Copy, SchemaRead, SchemaWrite)]
struct Resting {
    shard: usize,
    until: u64,
}

/// The rhythm of all shards.
#[derive(Debug, Clone, SchemaRead, SchemaWrite)]
pub(super) struct Rhythm {
    /// Answers that close a round.
    arrivals: u64,
    /// Which shards answer seldom.
    seldom: Vec<bool>,
    resting: Vec<Resting>,
    /// sigma' of those.
    own_caution: f32,
}

impl Rhythm {
    /// Nothing known of `shards` shards.
    pub(super) fn new(shards: usize, arrivals: usize) -> Self {
        Self {
            arrivals: arrivals as u64,
            seldom: vec![false; shards],
            resting: Vec::new(),
            own_caution: OWN_CAUTION,
        }
    }

    /// Whether it can have become of `fresh`.
    pub(super) fn fits(&self, fresh: &Self) -> bool {
        let shards = fresh.seldom.len();
        self.seldom.len() == shards
            && self.arrivals == fresh.arrivals
            && is_caution(self.own_caution / shards as f32)
            && self.resting.iter().all(|resting| resting.shard < shards)
    }

    /// Notes in `round` the answers of these shards, with their ages; the shards to ask now. Some are, if
    /// nobody else is at work.
    pub(super) fn next(
        &mut self,
        answers: &[(usize, u64)],
        round: u64,
        outstanding: usize,
    ) -> Vec<usize> {
        let mut now = Vec::new();
        for &(shard, age) in answers {
            self.seldom[shard] = age >= self.rounds_of(SELDOM);
            if self.seldom[shard] {
                self.resting.push(Resting { shard, until: round + self.rest() });
            } else {
                now.push(shard);
            }
        }
        let alone = now.is_empty() && outstanding == 0;
        now.extend(self.resting.iter().filter(|r| alone || r.until <= round).map(|r| r.shard));
        self.resting.retain(|r| !alone && r.until > round);
        now.sort_unstable();
        now
    }

    /// All shards are asked the same: nobody rests.
    pub(super) fn wake(&mut self) {
        self.resting.clear();
    }

    /// Rounds in which every shard answers this often.
    fn rounds_of(&self, cycles: u64) -> u64 {
        (cycles * self.seldom.len() as u64).div_ceil(self.arrivals)
    }

    /// Rounds for which a shard rests.
    pub(super) fn rest(&self) -> u64 {
        self.rounds_of(REST)
    }

    /// Whether `shard` answers seldom.
    pub(super) fn is_seldom(&self, shard: usize) -> bool {
        self.seldom[shard]
    }

    /// The shards that do.
    pub(super) fn seldom(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.seldom.len()).filter(|&shard| self.seldom[shard])
    }

    /// sigma' per shard of `shard`, where the others have `usual`.
    pub(super) fn caution(&self, shard: usize, usual: f32) -> f32 {
        if self.seldom[shard] {
            (self.own_caution / self.seldom.len() as f32).min(usual)
        } else {
            usual
        }
    }

    /// The bound fell: shards that answer seldom take smaller steps from now on.
    pub(super) fn be_careful(&mut self) {
        self.own_caution = (self.own_caution * 2.0).min(self.seldom.len() as f32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shard_that_answers_seldom_rests_and_steps_further() {
        let mut rhythm = Rhythm::new(4, 2);
        // 4 rounds are 2 cycles of 4 shards.
        assert_eq!(rhythm.next(&[(1, 3), (2, 4)], 10, 2), [1]);
        assert_eq!(rhythm.seldom().collect::<Vec<_>>(), [2]);
        assert_eq!((rhythm.caution(1, 0.75), rhythm.caution(2, 0.75)), (0.75, 0.1875));
        assert_eq!(rhythm.next(&[(1, 1)], 13, 2), [1]);
        assert_eq!(rhythm.next(&[(1, 1)], 14, 2), [1, 2]);
        assert_eq!(rhythm.next(&[(2, 0)], 15, 2), [2]);
        assert!(!rhythm.is_seldom(2));
    }

    #[test]
    fn a_round_is_never_left_without_a_shard_at_work() {
        let mut rhythm = Rhythm::new(2, 1);
        assert!(rhythm.next(&[(0, 9)], 9, 1).is_empty());
        assert_eq!(rhythm.next(&[(1, 9)], 10, 0), [0, 1]);
        assert!(rhythm.next(&[(0, 9)], 19, 1).is_empty());
        rhythm.wake();
        assert_eq!(rhythm.next(&[(1, 0)], 99, 0), [1]);
    }

    #[test]
    fn a_bound_that_falls_makes_steps_smaller_but_never_smaller_than_usual() {
        let mut rhythm = Rhythm::new(4, 1);
        rhythm.next(&[(3, 8)], 8, 3);
        rhythm.be_careful();
        assert_eq!(rhythm.caution(3, 0.75), 0.375);
        (0..9).for_each(|_| rhythm.be_careful());
        assert_eq!(rhythm.caution(3, 0.75), 0.75);
    }
}
