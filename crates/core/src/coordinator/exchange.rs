//! The primal finish of `exact` (M10): refit on a support, then exchange features while P falls.
//!
//! min_{||w||_0 <= k}  P(w), a local search over supports
//!
//! Given   a start whose support may be larger than k: it is pruned with refits on the way
//! Cycle   *swap* C: drop the C features of least sacrifice H w^2/2, add the C of largest gain g^2/(2H), refit
//!         *grow* C: add the C best, refit, drop the C worst, refit
//!         P must fall by 1e-5 relative, else C is halved; ends with C = 0
//! Returns by [`Tally::offer`], which sees every k-sparse point that was evaluated

use crate::round::{Directive, Probe, Reply, Slope};

use super::{
    fit::{Fit, Refit},
    outlook::{Outlook, choose_nominees, nominations},
    tally::Tally,
};

/// Relative decrease of P that makes an exchange worth keeping.
const WORTHWHILE: f64 = 1e-5;
/// Predicted relative decrease at which a refit ends.
const REFIT_TOLERANCE: f64 = 1e-6;
const REFIT_EVALUATIONS: usize = 300;
/// The same for the last refit.
const POLISH_TOLERANCE: f64 = 1e-9;
const POLISH_EVALUATIONS: usize = 2000;
/// Widths to which a kink is smoothed: while exchanging, then in the polish.
const EXCHANGE_WIDTH: f64 = 0.1;
const POLISH_WIDTHS: [f64; 4] = [0.05, 0.01, 2e-3, 4e-4];

/// What a refit is for.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Purpose {
    /// Towards k features, from more.
    Start,
    /// After features were swapped.
    Swap,
    /// With features added; as many are dropped after it.
    Grow,
    /// After the grown support was cut back to k.
    Cut,
    /// To the end, at this width of smoothing.
    Polish(usize),
}

#[derive(Debug, Clone)]
enum Stage {
    Nominating,
    Surveying { columns: Vec<u32> },
    Refitting { refit: Box<Refit>, purpose: Purpose },
}

/// The finish under way.
#[derive(Debug, Clone)]
pub(super) struct Exchange {
    /// The best fit so far; at first the start, not refitted yet.
    incumbent: Fit,
    refitted: bool,
    outlook: Outlook,
    /// Features exchanged at once.
    size: usize,
    /// Whether the next trial is a swap and not a growth.
    swap_next: bool,
    /// Trials of this size that failed in a row.
    failures: usize,
    stage: Stage,
}

/// What to do next.
pub(super) enum Step {
    Ask(Directive),
    Done,
}

/// The shards did not answer what they were asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mismatch;

impl Exchange {
    /// Starts from a model of any size.
    pub(super) fn new(start: Fit, tally: &Tally) -> (Self, Directive) {
        let this = Self {
            incumbent: start,
            refitted: false,
            outlook: Outlook::default(),
            size: (tally.job().k / 4).max(1),
            swap_next: true,
            failures: 0,
            stage: Stage::Nominating,
        };
        let ask = this.nominate(tally);
        (this, ask)
    }

    fn nominate(&self, tally: &Tally) -> Directive {
        let probe = Probe { model: self.incumbent.model.clone(), smoothing: Some(EXCHANGE_WIDTH) };
        Directive::Nominate { probe, count: tally.job().k }
    }

    /// Takes the answers of all shards.
    pub(super) fn absorb(
        &mut self,
        replies: Vec<Reply>,
        tally: &mut Tally,
    ) -> Result<Step, Mismatch> {
        match std::mem::replace(&mut self.stage, Stage::Nominating) {
            Stage::Nominating => {
                let nominated = nominations(replies).ok_or(Mismatch)?;
                let (lambda, k) = (tally.job().lambda, tally.job().k);
                let mut columns = choose_nominees(&nominated, lambda, k);
                columns.extend_from_slice(&self.incumbent.model.indices);
                columns.sort_unstable();
                self.stage = Stage::Surveying { columns: columns.clone() };
                Ok(Step::Ask(Directive::Survey { columns }))
            }
            Stage::Surveying { columns } => {
                let lambda = tally.job().lambda;
                self.outlook =
                    Outlook::new(&columns, &replies, &self.incumbent, lambda).ok_or(Mismatch)?;
                Ok(self.next_trial(tally))
            }
            Stage::Refitting { mut refit, purpose } => {
                let slopes = slopes(replies)?;
                match refit.tell(&slopes, tally) {
                    Some(fit) => Ok(self.judge(fit, purpose, tally)),
                    None => {
                        let ask = refit.ask();
                        self.stage = Stage::Refitting { refit, purpose };
                        Ok(Step::Ask(ask))
                    }
                }
            }
        }
    }

    /// What follows a refit.
    fn judge(&mut self, fit: Fit, purpose: Purpose, tally: &Tally) -> Step {
        let k = tally.job().k;
        match purpose {
            Purpose::Start if fit.features() > k => {
                let keep = (fit.features() * 17 / 20).max(k);
                let cut = self.outlook.without_worst(
                    &fit.model,
                    fit.features() - keep,
                    tally.job().lambda,
                );
                self.refit(cut, purpose, tally)
            }
            Purpose::Grow => {
                let extra = fit.features().saturating_sub(k);
                let cut = self.outlook.without_worst(&fit.model, extra, tally.job().lambda);
                self.refit(cut, Purpose::Cut, tally)
            }
            Purpose::Polish(stage) => self.polish(fit, stage + 1, tally),
            Purpose::Start => {
                self.refitted = true;
                self.accept(fit, tally)
            }
            Purpose::Swap | Purpose::Cut => {
                let target = self.incumbent.objective * (1.0 - WORTHWHILE);
                if fit.objective < target {
                    self.failures = 0;
                    return self.accept(fit, tally);
                }
                self.failures += 1;
                if self.failures >= 2 {
                    self.failures = 0;
                    self.size /= 2;
                }
                self.next_trial(tally)
            }
        }
    }

    fn accept(&mut self, fit: Fit, tally: &Tally) -> Step {
        self.incumbent = fit;
        self.stage = Stage::Nominating;
        Step::Ask(self.nominate(tally))
    }

    /// The next refit of the search, from the incumbent and its outlook.
    fn next_trial(&mut self, tally: &Tally) -> Step {
        let (k, lambda) = (tally.job().k, tally.job().lambda);
        if !self.refitted {
            return self.refit(self.incumbent.model.clone(), Purpose::Start, tally);
        }
        let room = k.saturating_sub(self.incumbent.features());
        let count = self.size.max(room).min(self.outlook.candidates());
        if count == 0 || self.size == 0 {
            return self.polish(self.incumbent.clone(), 0, tally);
        }
        let swap = self.swap_next;
        self.swap_next = !swap;
        let base = &self.incumbent.model;
        if swap {
            let kept = self.outlook.without_worst(base, count.saturating_sub(room), lambda);
            let trial = self.outlook.with_best(&kept, count, 0.5);
            self.refit(trial, Purpose::Swap, tally)
        } else {
            let trial = self.outlook.with_best(base, count, 0.5);
            self.refit(trial, Purpose::Grow, tally)
        }
    }

    /// The last refits, with less and less smoothing where the loss has a kink.
    fn polish(&mut self, fit: Fit, stage: usize, tally: &Tally) -> Step {
        let kinked = tally.job().loss.smoothed(1.0) != tally.job().loss;
        let stages = if kinked { POLISH_WIDTHS.len() } else { 1 };
        if stage >= stages {
            return Step::Done;
        }
        self.refit(fit.model, Purpose::Polish(stage), tally)
    }

    fn refit(&mut self, start: crate::round::Weights, purpose: Purpose, tally: &Tally) -> Step {
        let curvature = self.outlook.diagonal(&start.indices);
        let (width, tolerance, evaluations) = match purpose {
            Purpose::Polish(stage) => (POLISH_WIDTHS[stage], POLISH_TOLERANCE, POLISH_EVALUATIONS),
            _ => (EXCHANGE_WIDTH, REFIT_TOLERANCE, REFIT_EVALUATIONS),
        };
        let job = tally.job();
        let refit = Refit::new(job, start, &curvature, Some(width), tolerance, evaluations);
        let ask = refit.ask();
        self.stage = Stage::Refitting { refit: Box::new(refit), purpose };
        Step::Ask(ask)
    }
}

/// The slopes of all shards.
pub(super) fn slopes(replies: Vec<Reply>) -> Result<Vec<Slope>, Mismatch> {
    replies
        .into_iter()
        .map(|reply| match reply {
            Reply::Gradient(slope) => Ok(slope),
            _ => Err(Mismatch),
        })
        .collect()
}
