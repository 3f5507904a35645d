//! A local search over supports (M10): refit, then exchange features while P falls.
//!
//! min_{||w||_0 <= k}  P(w)
//!
//! Given   a start of any size: a larger support is pruned with refits, a smaller one is filled
//! Cycle   *swap* C: drop the C features of least sacrifice H w^2/2, add the C of largest gain g^2/(2H), refit
//!         *grow* C: add the C best, refit, drop surplus by halves with refits
//!         P must fall by 1e-5 relative, else C is halved; ends with C = 0
//! Returns the fit at which no exchange helped; [`Tally::offer`] sees every point evaluated on the way

use wincode::{SchemaRead, SchemaWrite};

use crate::round::{Directive, Job, Probe, Reply, Slope, Weights};

use super::{
    fit::{Effort, Fit, Refit},
    outlook::{Outlook, choose_nominees, nominations},
    resume::{are_columns, is_count, is_model, is_width},
    tally::Tally,
    width,
};

/// Relative decrease of P that makes an exchange worth keeping.
const WORTHWHILE: f64 = 1e-5;
/// Batches in which an empty support is filled.
const FILL_STEPS: usize = 16;
/// When there is no time it takes two, and this is the share of the first: what matters most can be told before anything is
/// fitted, and what comes last is told best where most is fitted. (Four equal ones take a third longer to be as good.)
const HASTY_FIRST: [usize; 2] = [3, 5];
/// Relative decrease of P that exchanges must promise when there is no time.
const HASTY_WORTH: f64 = 2e-5;
/// How well a support is fitted before it is judged.
const TRIAL: Effort = Effort { width: None, predicted: 1e-6, proven: 1e-2, evaluations: 600 };

/// The same on the way to k features, where only the order of the weights matters.
const ROUGH: Effort =
    Effort { width: None, predicted: 1e-3, proven: f64::INFINITY, evaluations: 40 };

/// The same when there is no time: before more features come, with all of them, and when some are exchanged, which gains
/// less than it takes to fit all.
const HASTY_FILL: Effort = Effort { predicted: 1e-3, ..HASTY };
const HASTY: Effort =
    Effort { width: None, predicted: 1e-4, proven: f64::INFINITY, evaluations: 40 };
const HASTY_TRIAL: Effort = Effort { predicted: 1e-5, ..HASTY };

/// What a refit is for.
#[derive(Debug, Clone, Copy, PartialEq, SchemaRead, SchemaWrite)]
enum Purpose {
    /// Towards k features, from more.
    Prune,
    /// Towards k features, from fewer.
    Fill,
    /// After features were swapped.
    Swap,
    /// With features added, or some of these dropped again.
    Grow,
}

#[derive(Debug, Clone, SchemaRead, SchemaWrite)]
enum Stage {
    Nominating,
    Surveying { columns: Vec<u32> },
    Refitting { refit: Box<Refit>, purpose: Purpose },
}

/// Where a search begins.
#[derive(Debug, Clone, Default, SchemaRead, SchemaWrite)]
pub(super) struct Start {
    pub(super) model: Weights,
    /// Features exchanged at once, at first.
    pub(super) size: usize,
    /// Features that may not come in until the support is full, ascending.
    pub(super) banned: Vec<u32>,
    /// How widely corners are rounded, at first.
    pub(super) width: Option<f64>,
    /// Whether they may be rounded more.
    pub(super) may_widen: bool,
    /// Whether a good model soon is better than the best one late.
    pub(super) hasty: bool,
}

/// A search under way.
#[derive(Debug, Clone, SchemaRead, SchemaWrite)]
pub(super) struct Exchange {
    /// The best fit so far; at first the start, not refitted yet.
    incumbent: Fit,
    refitted: bool,
    outlook: Outlook,
    size: usize,
    banned: Vec<u32>,
    width: Option<f64>,
    may_widen: bool,
    hasty: bool,
    /// Whether the next trial is a swap and not a growth.
    swap_next: bool,
    /// Trials of this size that failed in a row.
    failures: usize,
    /// How long the first step of the last refit was, for each purpose: features that pull in one direction shorten it, and
    /// the next ones are much like the last.
    first_steps: [f64; 4],
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
    /// Whether all its columns are below `cols`.
    pub(super) fn fits(&self, cols: usize) -> bool {
        let stage = match &self.stage {
            Stage::Nominating => true,
            Stage::Surveying { columns } => are_columns(columns, cols),
            Stage::Refitting { refit, .. } => refit.fits(cols),
        };
        let refitting = matches!(self.stage, Stage::Refitting { .. });
        stage
            && is_model(&self.incumbent.model, cols)
            // A fit that was just accepted waits for an outlook of its own.
            && (!refitting || self.outlook.fits(&self.incumbent, cols))
            && are_columns(&self.banned, cols)
            && is_width(self.width)
            && is_count(self.size)
            && is_count(self.failures)
            && self.first_steps.iter().all(|step| step.is_finite())
    }

    /// Begins a search; the directive is its first question.
    pub(super) fn new(start: Start, tally: &Tally) -> (Self, Directive) {
        let incumbent = Fit { model: start.model, objective: f64::INFINITY };
        let this = Self {
            // Where there are no features yet, there is nothing that the first of them will not fit again.
            refitted: incumbent.features() == 0,
            incumbent,
            outlook: Outlook::default(),
            size: start.size.max(1),
            banned: start.banned,
            width: start.width,
            may_widen: start.may_widen,
            hasty: start.hasty,
            swap_next: true,
            failures: 0,
            first_steps: [1.0; 4],
            stage: Stage::Nominating,
        };
        let ask = this.nominate(tally);
        (this, ask)
    }

    fn nominate(&self, tally: &Tally) -> Directive {
        let probe = Probe { model: self.incumbent.model.clone(), smoothing: self.width };
        let count = tally.job().k + self.banned.len();
        Directive::Nominate { probe, count, hasty: self.hasty }
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
                let mut columns = choose_nominees(&nominated, &self.banned, lambda, k);
                columns.extend_from_slice(&self.incumbent.model.indices);
                columns.sort_unstable();
                self.stage = Stage::Surveying { columns: columns.clone() };
                Ok(Step::Ask(Directive::Survey { columns, at: None }))
            }
            Stage::Surveying { columns } => {
                let lambda = tally.job().lambda;
                self.outlook =
                    Outlook::new(&columns, &replies, &self.incumbent, lambda).ok_or(Mismatch)?;
                Ok(self.next_trial(tally))
            }
            Stage::Refitting { mut refit, purpose } => {
                let slopes = slopes(replies)?;
                let told = refit.tell(&slopes, tally);
                self.first_steps[purpose as usize] = refit.first_step().min(1.0);
                match told {
                    Some(fit) if refit.exhausted() && !rough(purpose, &fit.model, tally) => {
                        Ok(self.widen(fit, purpose, tally))
                    }
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

    /// After a refit that did not converge: what it says is worth little, so the corner is rounded more
    /// and the search goes on from the incumbent, or where there is none yet, from the same support.
    fn widen(&mut self, fit: Fit, purpose: Purpose, tally: &Tally) -> Step {
        let wider = width::wider(tally.job().loss, self.width).filter(|_| self.may_widen);
        if wider.is_none() {
            return self.judge(fit, purpose, tally);
        }
        self.width = wider;
        match purpose {
            Purpose::Prune | Purpose::Fill => self.refit(fit.model, purpose, tally),
            Purpose::Swap | Purpose::Grow => {
                self.refit(self.incumbent.model.clone(), Purpose::Prune, tally)
            }
        }
    }

    /// What follows a refit.
    fn judge(&mut self, fit: Fit, purpose: Purpose, tally: &Tally) -> Step {
        let &Job { k, kept, lambda, .. } = tally.job();
        let surplus = fit.features().saturating_sub(k);
        match purpose {
            Purpose::Prune if surplus > 0 => {
                let few = (fit.features() / 20).max(1);
                let cut = self.outlook.without_worst(&fit.model, surplus.min(few), kept, lambda);
                self.refit(cut, purpose, tally)
            }
            // Half of the surplus at a time: weights of correlated features redistribute in between.
            Purpose::Grow if surplus > 0 => {
                let cut = self.outlook.without_worst(&fit.model, surplus.div_ceil(2), kept, lambda);
                self.refit(cut, purpose, tally)
            }
            Purpose::Prune | Purpose::Fill => self.accept(fit, tally),
            Purpose::Swap | Purpose::Grow => {
                if fit.objective < self.incumbent.objective * (1.0 - WORTHWHILE) {
                    self.failures = 0;
                    return self.accept(fit, tally);
                }
                self.failures += 1;
                if self.failures >= 2 {
                    self.failures = 0;
                    self.size /= if self.hasty { 4 } else { 2 };
                }
                self.next_trial(tally)
            }
        }
    }

    fn accept(&mut self, fit: Fit, tally: &Tally) -> Step {
        self.refitted = true;
        if fit.features() >= tally.job().k {
            self.banned.clear();
        }
        self.incumbent = fit;
        self.stage = Stage::Nominating;
        Step::Ask(self.nominate(tally))
    }

    /// The next refit of the search, from the incumbent and its outlook.
    fn next_trial(&mut self, tally: &Tally) -> Step {
        let &Job { k, kept, lambda, .. } = tally.job();
        let base = &self.incumbent.model;
        if !self.refitted {
            return self.refit(base.clone(), Purpose::Prune, tally);
        }
        let room = k.saturating_sub(self.incumbent.features());
        let candidates = self.outlook.candidates();
        if room > 0 && candidates > 0 {
            let batch = if self.hasty {
                let after = k - (k * HASTY_FIRST[0]).div_ceil(HASTY_FIRST[1]);
                if room > after { room - after } else { room }
            } else {
                (k / FILL_STEPS).max(1).min(room)
            };
            let trial = self.outlook.with_best(base, batch);
            return self.refit(trial, Purpose::Fill, tally);
        }
        // A kept feature is never exchanged.
        let count = self.size.min(candidates).min(self.incumbent.features().saturating_sub(kept));
        let (pairs, net) = self.outlook.worthwhile(base, kept, lambda);
        if count == 0 || self.hasty && net < HASTY_WORTH * self.incumbent.objective {
            return Step::Done;
        }
        let count = if self.hasty { count.min(pairs) } else { count };
        let swap = self.swap_next;
        self.swap_next = !swap;
        if swap {
            let kept = self.outlook.without_worst(base, count, kept, lambda);
            let trial = self.outlook.with_best(&kept, count);
            self.refit(trial, Purpose::Swap, tally)
        } else {
            let trial = self.outlook.with_best(base, count);
            self.refit(trial, Purpose::Grow, tally)
        }
    }

    fn refit(&mut self, start: Weights, purpose: Purpose, tally: &Tally) -> Step {
        let curvature = self.outlook.diagonal(&start.indices);
        let rival = match purpose {
            Purpose::Prune | Purpose::Fill => f64::INFINITY,
            Purpose::Swap | Purpose::Grow => self.incumbent.objective,
        };
        let effort = match purpose {
            _ if rough(purpose, &start, tally) => ROUGH,
            Purpose::Fill if self.hasty && start.nnz() < tally.job().k => HASTY_FILL,
            Purpose::Swap | Purpose::Grow if self.hasty => HASTY_TRIAL,
            _ if self.hasty => HASTY,
            _ => TRIAL,
        };
        let effort = Effort { width: self.width, ..effort };
        let refit = Refit::new(tally.job(), start, &curvature, effort, rival)
            .stepping_first(self.first_steps[purpose as usize]);
        let ask = refit.ask();
        self.stage = Stage::Refitting { refit: Box::new(refit), purpose };
        Step::Ask(ask)
    }

    /// The best fit so far.
    pub(super) fn incumbent(&self) -> &Fit {
        &self.incumbent
    }

    /// How widely corners are rounded by now.
    pub(super) fn width(&self) -> Option<f64> {
        self.width
    }

    /// The curvature known at the last survey, for further refits.
    pub(super) fn curvature(&self, support: &[u32]) -> Vec<f64> {
        self.outlook.diagonal(support)
    }
}

/// Whether a refit is one on the way to k features.
fn rough(purpose: Purpose, model: &Weights, tally: &Tally) -> bool {
    let features = model.indices.iter().filter(|&&j| j > 0).count();
    purpose == Purpose::Prune && features > tally.job().k
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
