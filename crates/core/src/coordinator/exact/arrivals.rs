//! Answers as they come: updates of the dual phase, and certificates without a barrier (M7).

use crate::round::{Attested, Directive, ModelDelta, Reply, Sparse};

use super::{Arrived, Exact, Mismatch, Tally, Testimony};

/// Without a barrier D rises and falls as answers come in: one certificate in this many is looked at to tell
/// whether the run stands still.
const MARK_EVERY: u64 = 3;

impl Exact {
    pub(super) fn take_updates(&mut self, batch: &[Arrived], round: u64) -> Result<(), Mismatch> {
        for Arrived { shard, reply, .. } in batch {
            match reply {
                Reply::Ascend(update) => self.take_update(*shard, update),
                Reply::Attested(attested) => self.take_evidence(*shard, attested, round),
                _ => return Err(Mismatch),
            }
        }
        Ok(())
    }

    pub(super) fn take_update(&mut self, shard: usize, update: &Sparse<f32>) {
        self.dual.absorb(shard, update);
        if let Some(testimony) = &mut self.testimony {
            testimony.follow(shard, update);
        }
    }

    pub(super) fn take_evidence(&mut self, shard: usize, attested: &Attested, round: u64) {
        self.dual.absorb(shard, &attested.update);
        if let Some(testimony) = &mut self.testimony {
            testimony.take(shard, attested);
            if self.rhythm.is_seldom(shard) {
                self.settled = round + self.rhythm.rest();
            }
        }
    }

    /// Without a barrier: takes a certificate when all its evidence is in, and begins one when it is time.
    /// Returns whether the dual phase has come to an end by it.
    pub(super) fn hear(&mut self, tally: &mut Tally) -> bool {
        let Some(testimony) = &self.testimony else {
            if tally.main_rounds >= self.testified + self.certify_every {
                self.testified = tally.main_rounds;
                let model = self.suggested.clone();
                self.testimony = Some(Testimony::new(tally.job(), self.dual.held(), model));
            }
            return false;
        };
        let Some(found) = testimony.verdict(tally.job()) else { return false };
        self.testimony = None;
        tally.offer(&found.model, found.loss);
        self.take_bound(found.certificate.bound, tally);
        self.suggested = found.certificate.model;
        self.testimonies += 1;
        if self.testimonies.is_multiple_of(MARK_EVERY) {
            tally.mark();
        }
        tally.gap_reached() || tally.stalled()
    }

    /// Whether `shard` is to give evidence in its next round. Those that answer seldom come first: the others
    /// follow when they have answered them, else the certificate has a step without what it led to.
    pub(super) fn testifies(&self, shard: usize, round: u64) -> bool {
        let Some(testimony) = self.testimony.as_ref().filter(|t| t.lacks(shard)) else {
            return false;
        };
        let mut first = self.rhythm.seldom();
        self.rhythm.is_seldom(shard)
            || (round >= self.settled && first.all(|s| testimony.has_heard(s)))
    }

    pub(super) fn ask(&mut self, shard: usize, round: u64) -> Directive {
        let caution = self.rhythm.caution(shard, self.caution);
        let delta = ModelDelta { caution, ..self.dual.changes(shard) };
        let testifies = self.testifies(shard, round);
        match self.testimony.as_mut().filter(|_| testifies) {
            Some(testimony) => testimony.ask(shard, delta),
            None => Directive::Ascend(delta),
        }
    }
}
