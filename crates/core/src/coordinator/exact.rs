//! `exact`, the default (M5, M7, M10): a dual phase for the bound and a first support, then the primal
//! finish for the model.

use crate::round::{Directive, Evidence, Probe, Reply, Weights};

use super::{
    Next,
    certificate::{certify, support_to_certify},
    dual::Dual,
    exchange::{Exchange, Mismatch, Step, slopes},
    fit::Fit,
    tally::{Stopped, Tally},
};

/// Dual rounds between certificates.
const CERTIFY_EVERY: u64 = 20;
/// Share of the time limit the dual phase may use before the finish has its turn.
const DUAL_SHARE: f64 = 0.5;

#[derive(Debug, Clone)]
enum Phase {
    /// P of the empty model is asked for.
    Opening,
    Ascending,
    Certifying {
        support: Vec<u32>,
    },
    /// P of the model a certificate suggested is asked for.
    Scoring {
        model: Weights,
    },
    Finishing(Box<Exchange>),
}

/// The exact method, the coordinator's side.
#[derive(Debug, Clone)]
pub(super) struct Exact {
    dual: Dual,
    phase: Phase,
    /// Why the dual phase ended, once it has.
    dual_ended: Option<Stopped>,
    finished_once: bool,
}

impl Exact {
    pub(super) fn new(tally: &Tally) -> Self {
        Self {
            dual: Dual::new(tally.job()),
            phase: Phase::Opening,
            dual_ended: None,
            finished_once: false,
        }
    }

    pub(super) fn start(&self) -> Directive {
        Directive::Gradient(Probe::default())
    }

    /// Takes the answers of all shards to the last directive.
    pub(super) fn absorb(
        &mut self,
        replies: Vec<Reply>,
        tally: &mut Tally,
    ) -> Result<Next, Mismatch> {
        match std::mem::replace(&mut self.phase, Phase::Ascending) {
            Phase::Opening => {
                tally.passes += 1.0;
                let loss = slopes(replies)?.iter().map(|s| s.loss).sum();
                tally.offer(&Weights::default(), loss);
                Ok(self.ascend(tally))
            }
            Phase::Ascending => {
                tally.passes += tally.job().passes as f64;
                for reply in &replies {
                    let Reply::Ascend(update) = reply else {
                        return Err(Mismatch);
                    };
                    self.dual.absorb(update);
                }
                tally.main_rounds += 1;
                let last = self.dual_limit_reached(tally);
                if last || tally.main_rounds.is_multiple_of(CERTIFY_EVERY) {
                    return Ok(self.certify(tally));
                }
                Ok(self.ascend(tally))
            }
            Phase::Certifying { support } => {
                tally.passes += 1.0;
                let evidence: Vec<Evidence> = evidence(replies)?;
                let found = certify(tally.job(), self.dual.u(), &support, &evidence);
                tally.offer_bound(found.bound);
                let probe = Probe { model: found.model.clone(), smoothing: None };
                self.phase = Phase::Scoring { model: found.model };
                Ok(self.ask(Directive::Gradient(probe), "score", tally))
            }
            Phase::Scoring { model } => {
                tally.passes += 1.0;
                let loss = slopes(replies)?.iter().map(|s| s.loss).sum();
                tally.offer(&model, loss);
                tally.mark();
                Ok(self.after_certificate(tally))
            }
            Phase::Finishing(mut exchange) => {
                tally.passes += 1.0;
                if let Some(why) = tally.cut_short() {
                    return Ok(Next::Done(why));
                }
                match exchange.absorb(replies, tally)? {
                    Step::Ask(directive) => {
                        self.phase = Phase::Finishing(exchange);
                        Ok(self.ask(directive, "finish", tally))
                    }
                    Step::Done => Ok(self.after_finish(tally)),
                }
            }
        }
    }

    fn ask(&self, directive: Directive, step: &'static str, tally: &mut Tally) -> Next {
        tally.step = step;
        Next::Ask(directive)
    }

    fn ascend(&mut self, tally: &mut Tally) -> Next {
        let (delta, entered) = self.dual.advance();
        tally.support_changed = entered;
        self.phase = Phase::Ascending;
        self.ask(Directive::Ascend(delta), "dual", tally)
    }

    fn certify(&mut self, tally: &mut Tally) -> Next {
        let support = support_to_certify(self.dual.u(), tally.job());
        self.phase = Phase::Certifying { support: support.clone() };
        self.ask(Directive::Certify { support }, "certify", tally)
    }

    /// Whether the dual phase must end after this round, whatever it reached.
    fn dual_limit_reached(&self, tally: &Tally) -> bool {
        let share = if self.finished_once { 1.0 } else { DUAL_SHARE };
        tally.rounds_used() || tally.cut_short().is_some() || tally.time_share_used(share)
    }

    fn after_certificate(&mut self, tally: &mut Tally) -> Next {
        if tally.gap_reached() {
            return Next::Done(Stopped::Gap);
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
            None => self.ascend(tally),
            Some(why) => {
                self.dual_ended = Some(why);
                self.finish(tally)
            }
        }
    }

    fn finish(&mut self, tally: &mut Tally) -> Next {
        let start = Fit { model: self.dual.weights(), objective: f64::INFINITY };
        let (exchange, directive) = Exchange::new(start, tally);
        self.phase = Phase::Finishing(Box::new(exchange));
        self.ask(directive, "finish", tally)
    }

    fn after_finish(&mut self, tally: &mut Tally) -> Next {
        self.finished_once = true;
        if tally.gap_reached() {
            return Next::Done(Stopped::Gap);
        }
        match self.dual_ended {
            // Time is left and nothing else may end the run: go on raising the bound.
            Some(Stopped::Time) => self.ascend(tally),
            Some(why) => Next::Done(why),
            None => Next::Done(Stopped::Stalled),
        }
    }
}

fn evidence(replies: Vec<Reply>) -> Result<Vec<Evidence>, Mismatch> {
    replies
        .into_iter()
        .map(|reply| match reply {
            Reply::Evidence(evidence) => Ok(evidence),
            _ => Err(Mismatch),
        })
        .collect()
}
