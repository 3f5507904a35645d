//! `exact`, the default (M5, M7, M10): a dual phase for the bound and a first support, then the primal
//! finish for the model.

mod alone;
mod arrivals;
mod ending;

use wincode::{SchemaRead, SchemaWrite};

use crate::round::{Directive, Evidence, ModelDelta, Probe, Reply, Sparse, Weights};

use alone::{relaxes, settles};

use super::{
    Arrived, Batch, Next, Pace, Search, WIDE,
    certificate::{certify, certify_all, support_to_certify},
    dual::Dual,
    exchange::{self, Exchange, Mismatch, Start, slopes},
    finish::{Finish, Step},
    resume::{are_columns, is_caution, is_model},
    rhythm::Rhythm,
    tally::{Stopped, Tally},
    testimony::Testimony,
    width,
};

/// Dual rounds between certificates.
const CERTIFY_EVERY: u64 = 20;
/// Earlier ones of a single shard, which costs no messages: where much data make the gap small, few rounds will do.
const EARLY: [u64; 2] = [5, 10];
/// sigma' per shard as long as the bound rises: shards rarely pull all in one direction, and then the full
/// sigma' = M wastes rounds (8 shards of reuters, 120 rounds: D .04867 at M, .04875 at 0.75 M).
const LESS_CAUTION: f32 = 0.75;
/// Rounds that only send before a certificate.
const FLUSHES: usize = 4;
/// Share of the time limit the dual phase may use before the finish has its turn.
const DUAL_SHARE: f64 = 0.5;

#[derive(Debug, Clone, SchemaRead, SchemaWrite)]
enum Phase {
    /// P of the empty model is asked for.
    Opening,
    /// A first model is searched for in haste, without the dual.
    Sketching(Box<Exchange>),
    Ascending,
    /// The one shard comes to the gap by itself.
    Settling,
    /// The one shard comes near the best bound by itself.
    Relaxing,
    /// The dual phase is to end, and some shards have not answered yet.
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

/// The exact method, the coordinator's side.
#[derive(Debug, Clone, SchemaRead, SchemaWrite)]
pub(super) struct Exact {
    dual: Dual,
    /// Whether all shards are always asked at once.
    together: bool,
    certify_every: u64,
    flushes: usize,
    /// sigma' per shard, and the bound of the last certificate, which tells whether it is enough.
    caution: f32,
    last_bound: f64,
    /// Dual rounds so far, each counted by the share of the shards it asked.
    turns: f64,
    rhythm: Rhythm,
    /// Without a barrier: the certificate under way, the model it suggests to score in the next one, how
    /// many there were, and the main round in which the last began.
    #[wincode(skip)]
    testimony: Option<Testimony>,
    suggested: Weights,
    testimonies: u64,
    testified: u64,
    /// The round from which the others have answered the last step of those heard first.
    settled: u64,
    phase: Phase,
    /// A model known beforehand, from which the finish searches, and how far.
    known: Option<Weights>,
    search: Search,
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
            certify_every: (CERTIFY_EVERY * shards as u64).div_ceil(arrivals as u64),
            flushes: if shards == 1 { 0 } else { FLUSHES },
            together: pace == Pace::Barrier,
            caution: if shards == 1 { 1.0 } else { LESS_CAUTION },
            last_bound: 0.0,
            turns: 0.0,
            rhythm: Rhythm::new(shards, arrivals),
            testimony: None,
            suggested: Weights::default(),
            testimonies: 0,
            testified: 0,
            settled: 0,
            phase: Phase::Opening,
            known: None,
            search: Search::Whole,
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
        let answers: Vec<(usize, u64)> = batch.iter().map(|a| (a.shard, a.age)).collect();
        match std::mem::replace(&mut self.phase, Phase::Ascending) {
            Phase::Opening => {
                let loss = slopes(replies_of(batch))?.iter().map(|s| s.loss).sum();
                self.empty_objective = tally.take(Weights::default(), loss);
                // alpha = 0 is in the domain of every loss, and D(0) = 0.
                tally.offer_bound(0.0);
                Ok(self.sketch(tally))
            }
            Phase::Sketching(mut search) => match search.absorb(replies_of(batch), tally)? {
                exchange::Step::Ask(directive) if !self.dual_limit_reached(tally) => {
                    self.phase = Phase::Sketching(search);
                    Ok(Next::All(directive))
                }
                _ => Ok(self.ascend_all(tally)),
            },
            Phase::Ascending => {
                self.take_updates(&batch, tally.rounds)?;
                tally.main_rounds += 1;
                let due = if self.together {
                    tally.main_rounds.is_multiple_of(self.certify_every)
                        || tally.job().shards == 1 && EARLY.contains(&tally.main_rounds)
                } else {
                    self.hear(tally)
                };
                if !due && !self.dual_limit_reached(tally) {
                    let next = self.rhythm.next(&answers, tally.rounds, outstanding);
                    return Ok(self.ascend(&next, tally));
                }
                self.rhythm.wake();
                self.testimony = None;
                if outstanding > 0 {
                    self.phase = Phase::Draining;
                    return Ok(Next::Drain);
                }
                Ok(self.flush(self.flushes, tally))
            }
            Phase::Settling => {
                let mut replies = replies_of(batch);
                let (Some(Reply::Settled(settled)), true) = (replies.pop(), replies.is_empty())
                else {
                    return Err(Mismatch);
                };
                tally.main_rounds += 1;
                let found = certify_all(tally.job(), settled.evidence);
                self.take_bound(found.bound, tally);
                self.score = tally.take(found.model, settled.loss);
                tally.mark();
                Ok(self.after_certificate(tally))
            }
            Phase::Relaxing => {
                let [Arrived { reply: Reply::Relaxed { visited, selectors }, .. }] = &batch[..]
                else {
                    return Err(Mismatch);
                };
                tally.main_rounds += 1;
                Ok(self.after_relaxing(*visited, selectors, tally))
            }
            Phase::Draining => {
                self.take_updates(&batch, tally.rounds)?;
                Ok(self.flush(self.flushes, tally))
            }
            Phase::Flushing { left } => {
                self.take_updates(&batch, tally.rounds)?;
                Ok(self.flush(left, tally))
            }
            Phase::Certifying { support } => {
                let evidence: Vec<Evidence> = evidence(replies_of(batch))?;
                let found = certify(tally.job(), self.dual.held(), &support, &evidence);
                self.take_bound(found.bound, tally);
                Ok(self.ask_score(found.model, tally))
            }
            Phase::Scoring { model } => {
                let loss = losses(replies_of(batch))?;
                self.score = tally.take(model, loss);
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

    /// See [`super::Event::Restated`].
    pub(super) fn restate(&mut self, shard: usize, part: &Sparse<f32>) {
        self.dual.restate(shard, part);
        // What evidence has come was about sums that are no more.
        self.testimony = None;
    }

    /// The finish will search from `model`, if there is one, and go this far.
    pub(super) fn search_from(&mut self, model: Option<Weights>, search: Search) {
        (self.known, self.search) = (model, search);
    }

    /// The model that `shard` should have by now.
    pub(super) fn whole(&self, shard: usize, caution: f32) -> ModelDelta {
        let mirror = if self.together { 0 } else { shard };
        // The others are not at rest around a shard that begins again: it has no reason to step further.
        let caution = caution.max(self.caution);
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
            Phase::Sketching(search) => search.fits(job.cols),
            Phase::Settling => settles(job) && self.together,
            Phase::Relaxing => relaxes(job) && self.together,
            Phase::Opening | Phase::Ascending | Phase::Draining => true,
        };
        let plan = |of: &Self| (of.together, of.certify_every, of.flushes);
        let fresh = Self::new(tally, pace);
        let most = tally.rounds.saturating_add(1);
        phase_fits
            && plan(self) == plan(&fresh)
            && is_caution(self.caution)
            && (0.0..=most as f64).contains(&self.turns)
            && self.testimonies <= most
            && self.testified <= most
            && self.rhythm.fits(&fresh.rhythm)
            && is_model(&self.suggested, job.cols)
            && self.known.as_ref().is_none_or(|known| is_model(known, job.cols))
            && self.dual.resume(fresh.dual)
    }

    /// Shards that overshoot together make D fall, which the full sigma' = M rules out.
    fn take_bound(&mut self, bound: f64, tally: &mut Tally) {
        tally.offer_bound(bound);
        if bound <= self.last_bound {
            self.caution = 1.0;
            self.rhythm.be_careful();
        }
        self.last_bound = bound;
    }

    fn ascend_all(&mut self, tally: &mut Tally) -> Next {
        if settles(tally.job()) && self.together {
            return self.settle(tally);
        }
        if self.relaxes_now(tally) {
            return self.relax(tally);
        }
        let all: Vec<usize> = (0..tally.job().shards).collect();
        self.ascend(&all, tally)
    }

    /// The next dual round of these shards.
    fn ascend(&mut self, shards: &[usize], tally: &mut Tally) -> Next {
        let share = shards.len() as f64 / tally.job().shards as f64;
        self.turns += share;
        tally.support_changed = self.dual.advance(share, (self.turns - 1.0).max(0.0));
        self.phase = Phase::Ascending;
        if self.together {
            let delta = ModelDelta { caution: self.caution, ..self.dual.changes(0) };
            return Next::All(Directive::Ascend(delta));
        }
        let ask = |&shard: &usize| (shard, self.ask(shard, tally.rounds));
        Next::Each(shards.iter().map(ask).collect())
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
        } else if tally.stalled() || self.dual_ended == Some(Stopped::Stalled) {
            Some(Stopped::Stalled)
        } else if self.dual_limit_reached(tally) {
            Some(Stopped::Time)
        } else {
            None
        };
        match ended {
            None => self.ascend_all(tally),
            Some(why) => {
                self.dual_ended = Some(why);
                self.finish(tally)
            }
        }
    }
}

/// The sum of the losses of the one model that was asked for.
fn losses(replies: Vec<Reply>) -> Result<f64, Mismatch> {
    let loss = |reply: Reply| match reply {
        Reply::Losses(losses) if losses.len() == 1 => Ok(losses[0]),
        Reply::Gradient(slope) => Ok(slope.loss),
        _ => Err(Mismatch),
    };
    replies.into_iter().map(loss).sum()
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
