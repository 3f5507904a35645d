//! `exact`, the default (M5, M7, M10): a dual phase for the bound and a first support, then the primal
//! finish for the model.

use wincode::{SchemaRead, SchemaWrite};

use crate::{
    round::{Directive, Evidence, ModelDelta, Probe, Reply, Sparse, Weights},
    threshold::top_k,
};

use super::{
    Arrived, Batch, Next, Pace,
    certificate::{certify, support_to_certify},
    dual::Dual,
    exchange::{Mismatch, slopes},
    finish::{Finish, Step},
    resume::{are_columns, is_caution, is_model},
    tally::{Stopped, Tally},
};

/// Dual rounds between certificates.
const CERTIFY_EVERY: u64 = 20;
/// sigma' per shard as long as the bound rises: shards rarely pull all in one direction, and then the full
/// sigma' = M wastes rounds (8 shards of reuters, 120 rounds: D .04867 at M, .04875 at 0.75 M).
const LESS_CAUTION: f32 = 0.75;
/// Rounds that only send before a certificate.
const FLUSHES: usize = 4;
/// Without a barrier a certificate is the only time when all wait for the slowest: it comes this many times
/// less often.
const SELDOM: u64 = 3;
/// sigma' of a shard that answers seldom is at least this: at 1 the dual phase of 8 shards of imdb, one of
/// them slow, falls back at first, and below it diverges.
const LEAST_CAUTION: f32 = 1.5;
/// Share of the time limit the dual phase may use before the finish has its turn.
const DUAL_SHARE: f64 = 0.5;

/// Times k, the columns of the widest start of the finish.
const WIDE: usize = 8;

#[derive(Debug, Clone, SchemaRead, SchemaWrite)]
enum Phase {
    /// P of the empty model is asked for.
    Opening,
    Ascending,
    /// A certificate is due, and some shards have not answered yet.
    Draining,
    /// Shards send what is left of `u` before they are asked for evidence.
    Flushing {
        left: usize,
    },
    Certifying {
        support: Vec<u32>,
    },
    /// P of the model a certificate suggested is asked for.
    Scoring {
        model: Weights,
    },
    Finishing(Box<Finish>),
}

/// A dual round of one shard.
#[derive(Debug, Clone, Copy)]
struct Turn {
    shard: usize,
    /// See [`ModelDelta::caution`].
    caution: f32,
}

/// The exact method, the coordinator's side.
#[derive(Debug, Clone, SchemaRead, SchemaWrite)]
pub(super) struct Exact {
    dual: Dual,
    /// Whether all shards are always asked at once.
    together: bool,
    /// Answers that close a dual round.
    arrivals: usize,
    certify_every: u64,
    flushes: usize,
    /// sigma' per shard, and the bound of the last certificate, which tells whether it is enough.
    caution: f32,
    last_bound: f64,
    /// Dual rounds of each shard.
    turns: Vec<u64>,
    phase: Phase,
    /// Why the dual phase ended, once it has.
    dual_ended: Option<Stopped>,
    finished_once: bool,
    /// P of the empty model, and of the last model a certificate suggested.
    empty_objective: f64,
    score: f64,
}

impl Exact {
    pub(super) fn new(tally: &Tally, pace: Pace) -> Self {
        let shards = tally.job().shards;
        let (mirrors, arrivals) = match pace {
            Pace::Barrier => (1, shards),
            Pace::Arrivals { count, .. } => (shards, count.clamp(1, shards)),
        };
        Self {
            dual: Dual::new(tally.job(), mirrors),
            arrivals,
            certify_every: match pace {
                Pace::Barrier => CERTIFY_EVERY,
                Pace::Arrivals { .. } => {
                    (SELDOM * CERTIFY_EVERY * shards as u64).div_ceil(arrivals as u64)
                }
            },
            flushes: match pace {
                _ if shards == 1 => 0,
                Pace::Barrier => FLUSHES,
                Pace::Arrivals { .. } => 1,
            },
            together: pace == Pace::Barrier,
            caution: if shards == 1 { 1.0 } else { LESS_CAUTION },
            last_bound: 0.0,
            turns: vec![0; shards],
            phase: Phase::Opening,
            dual_ended: None,
            finished_once: false,
            empty_objective: f64::INFINITY,
            score: f64::INFINITY,
        }
    }

    pub(super) fn start(&self) -> Next {
        Next::All(Directive::Gradient(Probe::default()))
    }

    /// Takes answers to the last directive; `outstanding` shards have not answered theirs yet.
    pub(super) fn absorb(
        &mut self,
        batch: Batch,
        outstanding: usize,
        tally: &mut Tally,
    ) -> Result<Next, Mismatch> {
        let turns: Vec<Turn> = batch.iter().map(|a| self.turn_of(a.shard, a.age, tally)).collect();
        match std::mem::replace(&mut self.phase, Phase::Ascending) {
            Phase::Opening => {
                let loss = slopes(replies_of(batch))?.iter().map(|s| s.loss).sum();
                self.empty_objective = tally.offer(&Weights::default(), loss);
                // alpha = 0 is in the domain of every loss, and D(0) = 0.
                tally.offer_bound(0.0);
                Ok(self.ascend(&self.all_turns(tally), tally))
            }
            Phase::Ascending => {
                self.take_updates(&batch)?;
                tally.main_rounds += 1;
                let due = tally.main_rounds.is_multiple_of(self.certify_every);
                if !due && !self.dual_limit_reached(tally) {
                    return Ok(self.ascend(&turns, tally));
                }
                if outstanding > 0 {
                    self.phase = Phase::Draining;
                    return Ok(Next::Drain);
                }
                Ok(self.flush(self.flushes, tally))
            }
            Phase::Draining => {
                self.take_updates(&batch)?;
                Ok(self.flush(self.flushes, tally))
            }
            Phase::Flushing { left } => {
                self.take_updates(&batch)?;
                Ok(self.flush(left, tally))
            }
            Phase::Certifying { support } => {
                let evidence: Vec<Evidence> = evidence(replies_of(batch))?;
                let found = certify(tally.job(), self.dual.held(), &support, &evidence);
                tally.offer_bound(found.bound);
                // Shards that overshoot together make D fall, which the full sigma' = M rules out.
                if found.bound <= self.last_bound {
                    self.caution = 1.0;
                }
                self.last_bound = found.bound;
                let probe = Probe { model: found.model.clone(), smoothing: None };
                self.phase = Phase::Scoring { model: found.model };
                Ok(Next::All(Directive::Gradient(probe)))
            }
            Phase::Scoring { model } => {
                let loss = slopes(replies_of(batch))?.iter().map(|s| s.loss).sum();
                self.score = tally.offer(&model, loss);
                tally.mark();
                Ok(self.after_certificate(tally))
            }
            Phase::Finishing(mut finish) => {
                if let Some(why) = tally.cut_short() {
                    return Ok(Next::Done(why));
                }
                match finish.absorb(replies_of(batch), tally)? {
                    Step::Ask(directive) => {
                        self.phase = Phase::Finishing(finish);
                        Ok(Next::All(directive))
                    }
                    Step::Done => Ok(self.after_finish(tally)),
                }
            }
        }
    }

    fn all_turns(&self, tally: &Tally) -> Vec<Turn> {
        (0..tally.job().shards).map(|shard| self.turn_of(shard, 0, tally)).collect()
    }

    fn take_updates(&mut self, batch: &[Arrived]) -> Result<(), Mismatch> {
        for Arrived { shard, reply, .. } in batch {
            let Reply::Ascend(update) = reply else {
                return Err(Mismatch);
            };
            self.dual.absorb(*shard, update);
        }
        Ok(())
    }

    /// See [`super::Event::Restated`].
    pub(super) fn restate(&mut self, shard: usize, part: &Sparse<f32>) {
        self.dual.restate(shard, part);
    }

    /// The model that `shard` should have by now.
    pub(super) fn whole(&self, shard: usize, caution: f32) -> ModelDelta {
        let mirror = if self.together { 0 } else { shard };
        ModelDelta { caution, ..self.dual.whole(mirror) }
    }

    /// Makes what was saved ready to go on; whether it is that of the job of `tally` at this pace.
    pub(super) fn resume(&mut self, tally: &Tally, pace: Pace) -> bool {
        let job = tally.job();
        let phase_fits = match &self.phase {
            Phase::Certifying { support } => are_columns(support, job.cols),
            Phase::Scoring { model } => is_model(model, job.cols),
            Phase::Finishing(finish) => finish.fits(job.cols),
            Phase::Flushing { left } => *left <= self.flushes,
            Phase::Opening | Phase::Ascending | Phase::Draining => true,
        };
        let plan = |of: &Self| (of.together, of.arrivals, of.certify_every, of.flushes);
        let fresh = Self::new(tally, pace);
        phase_fits
            && plan(self) == plan(&fresh)
            && is_caution(self.caution)
            && self.turns.len() == job.shards
            && self.turns.iter().all(|&turns| turns <= tally.rounds.saturating_add(1))
            && self.dual.resume(fresh.dual)
    }

    /// What a shard is asked next whose last answer was `age` rounds old. While it is away the others come to
    /// rest, so it need not allow for all of them moving at once when it is back: it may step further.
    fn turn_of(&self, shard: usize, age: u64, tally: &Tally) -> Turn {
        let shards = tally.job().shards;
        let missed = (age * self.arrivals as u64 / shards as u64).max(1);
        let least = (LEAST_CAUTION / shards as f32).min(self.caution);
        Turn { shard, caution: (self.caution / missed as f32).max(least) }
    }

    /// The next dual round of these shards.
    fn ascend(&mut self, turns: &[Turn], tally: &mut Tally) -> Next {
        let share = turns.len() as f64 / tally.job().shards as f64;
        turns.iter().for_each(|turn| self.turns[turn.shard] += 1);
        // Selectors settle as fast as the shard that has had the fewest rounds.
        let slowest = self.turns.iter().copied().min().unwrap_or(1);
        tally.support_changed = self.dual.advance(share, slowest.saturating_sub(1) as f64);
        self.phase = Phase::Ascending;
        let mut own = |mirror: usize, turn: &Turn| {
            let caution = turn.caution;
            Directive::Ascend(ModelDelta { caution, ..self.dual.changes(mirror) })
        };
        match turns.first() {
            Some(turn) if self.together => Next::All(own(0, turn)),
            _ => Next::Each(turns.iter().map(|t| (t.shard, own(t.shard, t))).collect()),
        }
    }

    /// What shards have not sent yet counts against the bound (M7): they may send some more first.
    fn flush(&mut self, left: usize, tally: &mut Tally) -> Next {
        if left == 0 {
            return self.certify(tally);
        }
        self.phase = Phase::Flushing { left: left - 1 };
        Next::All(Directive::Flush)
    }

    fn certify(&mut self, tally: &mut Tally) -> Next {
        let support = support_to_certify(self.dual.held().u(), tally.job());
        self.phase = Phase::Certifying { support: support.clone() };
        Next::All(Directive::Certify { support })
    }

    /// Whether the dual phase must end after this round, whatever it reached.
    fn dual_limit_reached(&self, tally: &Tally) -> bool {
        let share = if self.finished_once { 1.0 } else { DUAL_SHARE };
        tally.rounds_used() || tally.cut_short().is_some() || tally.time_share_used(share)
    }

    fn after_certificate(&mut self, tally: &mut Tally) -> Next {
        if tally.gap_reached() {
            self.dual_ended = Some(Stopped::Gap);
            return self.polish(tally);
        }
        if let Some(why) = tally.cut_short() {
            return Next::Done(why);
        }
        let ended = if tally.rounds_used() {
            Some(Stopped::Rounds)
        } else if tally.stalled() {
            Some(Stopped::Stalled)
        } else if self.dual_limit_reached(tally) {
            Some(Stopped::Time)
        } else {
            None
        };
        match ended {
            None => self.ascend(&self.all_turns(tally), tally),
            Some(why) => {
                self.dual_ended = Some(why);
                self.finish(tally)
            }
        }
    }

    fn finish(&mut self, tally: &mut Tally) -> Next {
        // Where the dual phase has not come near a sensible scale, only its choice of columns is used.
        let most = tally.job().k.saturating_mul(WIDE);
        let mut model = self.dual.weights();
        model.keep_largest(most);
        if self.score > self.empty_objective {
            model.values.fill(0.0);
        }
        let wide = top_k(self.dual.held().u(), most);
        let (finish, directive) = Finish::new(model, wide, tally);
        self.phase = Phase::Finishing(Box::new(finish));
        Next::All(directive)
    }

    /// The gap is reached, but the model is not yet the best on its own support. Where the loss has a kink
    /// that would take long for little: the coordinate passes are the better solver there.
    fn polish(&mut self, tally: &mut Tally) -> Next {
        if tally.job().loss.has_kink() {
            return Next::Done(Stopped::Gap);
        }
        let model = tally.best().map(|best| best.model.clone()).unwrap_or_default();
        let (finish, directive) = Finish::polish_only(model, tally);
        self.phase = Phase::Finishing(Box::new(finish));
        Next::All(directive)
    }

    fn after_finish(&mut self, tally: &mut Tally) -> Next {
        self.finished_once = true;
        if tally.gap_reached() {
            return Next::Done(Stopped::Gap);
        }
        match self.dual_ended {
            // Time is left and nothing else may end the run: go on raising the bound.
            Some(Stopped::Time) => self.ascend(&self.all_turns(tally), tally),
            Some(why) => Next::Done(why),
            None => Next::Done(Stopped::Stalled),
        }
    }
}

fn replies_of(batch: Batch) -> Vec<Reply> {
    batch.into_iter().map(|arrived| arrived.reply).collect()
}

pub(super) fn evidence(replies: Vec<Reply>) -> Result<Vec<Evidence>, Mismatch> {
    replies
        .into_iter()
        .map(|reply| match reply {
            Reply::Evidence(evidence) => Ok(evidence),
            _ => Err(Mismatch),
        })
        .collect()
}
