//! The primal finish of `exact` (M10): searches from several starts, then a refit to the end.
//!
//! The first start is the support of the dual phase. Where the data are small enough that a search costs
//! little, an empty start and a wide one follow, and then *kicks*: some features of the best fit are taken out, may not
//! come back at once, and the search goes on from there. All of it is counted in entries visited, never in
//! seconds, so the result is the same on every machine.

use std::collections::VecDeque;

use rand::{RngExt, seq::index};
use wincode::{SchemaRead, SchemaWrite};

use crate::{
    rng,
    round::{Directive, Job, Reply, Weights},
};

use super::{
    exchange::{self, Exchange, Mismatch, Start, slopes},
    fit::{Effort, Fit, Refit},
    resume::{MOST, are_columns, is_count, is_model, is_width},
    tally::Tally,
    width,
};

/// Entries of the data that searches beyond the first may visit.
const EXTRA_WORK: f64 = 1e9;
/// Another start is tried if the first search visited at most this many.
const CHEAP_SEARCH: f64 = 6e8;
/// Entries after which a search ends where it is.
const SEARCH_WORK: f64 = 3e9;
/// The same for each of the last searches, where corners have been rounded.
const NARROW_WORK: f64 = 5e8;
/// Entries that the last refits may visit.
const POLISH_WORK: f64 = 2e9;
/// What a round costs besides, in entries: in one process, and where messages may have to travel.
const ROUND_WORK: f64 = 2e4;
const FAR_ROUND_WORK: f64 = 1e6;
/// Kicks in a row that found nothing.
const MOST_FAILED_KICKS: usize = 100;
/// Shard number of the generator for kicks: no shard has it.
const KICKS: usize = usize::MAX;

#[derive(Debug, Clone, SchemaRead, SchemaWrite)]
enum Stage {
    Searching(Box<Exchange>),
    Polishing { refit: Box<Refit>, left: VecDeque<Effort> },
}

/// The finish under way.
#[derive(Debug, Clone, SchemaRead, SchemaWrite)]
pub(super) struct Finish {
    starts: VecDeque<Start>,
    stage: Stage,
    best: Option<Fit>,
    /// Curvature on the support of the best fit.
    curvature: Vec<f64>,
    /// How widely corners are rounded.
    width: Option<f64>,
    /// Entries visited when the search under way began, and by the first one in all.
    began: f64,
    first_cost: Option<f64>,
    /// Entries left for searches beyond the first.
    left: f64,
    failed_kicks: usize,
    kicks: u64,
    /// Entries a search may visit.
    search_work: f64,
    /// Whether there are kicks after the last start.
    kicking: bool,
    /// Whether the last searches are under way, with corners less and less rounded.
    narrowing: bool,
}

/// What to do next.
pub(super) enum Step {
    Ask(Directive),
    Done,
}

impl Finish {
    /// Whether all its columns are below `cols`.
    pub(super) fn fits(&self, cols: usize) -> bool {
        let stage = match &self.stage {
            Stage::Searching(search) => search.fits(cols),
            Stage::Polishing { refit, left } => {
                refit.fits(cols) && left.iter().all(|effort| is_width(effort.width))
            }
        };
        let start = |start: &Start| {
            is_model(&start.model, cols)
                && are_columns(&start.banned, cols)
                && is_width(start.width)
                && is_count(start.size)
        };
        let best = |fit: &Fit| {
            is_model(&fit.model, cols) && self.curvature.len() == fit.model.indices.len()
        };
        stage
            && self.starts.iter().all(start)
            && self.best.as_ref().is_none_or(best)
            && is_width(self.width)
            && is_count(self.failed_kicks)
            && self.kicks <= MOST
    }

    /// Begins with the model of the dual phase, or with a `known` one before it; `wide` is a larger support to be pruned.
    pub(super) fn new(
        known: Option<Weights>,
        model: Weights,
        wide: Vec<u32>,
        tally: &Tally,
    ) -> (Self, Directive) {
        let constant = tally.job().intercept.then_some(0);
        let zeros = |indices: Vec<u32>| Weights { values: vec![0.0; indices.len()], indices };
        let empty = zeros(constant.into_iter().collect());
        let wide = zeros(constant.into_iter().chain(wide).collect());
        let mut starts: VecDeque<Weights> = known.into_iter().collect();
        starts.extend([model, empty, wide]);
        Self::from_starts(starts, true, tally)
    }

    /// Begins with `known`, the model of a problem nearby, if there is one; that of the dual phase comes next. No kicks, and
    /// no long way down from many features: they find little beside what the problem nearby has found.
    pub(super) fn near(
        known: Option<Weights>,
        mut model: Weights,
        tally: &Tally,
    ) -> (Self, Directive) {
        if known.is_some() {
            let Job { k, kept, .. } = *tally.job();
            model.keep_largest(k.saturating_add(k / 4), kept);
        }
        Self::from_starts(known.into_iter().chain([model]).collect(), false, tally)
    }

    fn from_starts(
        mut models: VecDeque<Weights>,
        kicking: bool,
        tally: &Tally,
    ) -> (Self, Directive) {
        let job = tally.job();
        let width = width::initial(job.loss);
        let start = |mut model: Weights| {
            model.make_room(job.kept);
            Start {
                model,
                size: job.k / if kicking { 4 } else { 16 },
                banned: Vec::new(),
                width,
                may_widen: true,
                hasty: false,
            }
        };
        let first = models.pop_front().unwrap_or_default();
        let (search, ask) = Exchange::new(start(first), tally);
        let this = Self {
            starts: models.into_iter().map(start).collect(),
            stage: Stage::Searching(Box::new(search)),
            best: None,
            curvature: Vec::new(),
            width,
            began: work(tally),
            first_cost: None,
            left: EXTRA_WORK,
            failed_kicks: 0,
            kicks: 0,
            search_work: SEARCH_WORK,
            kicking,
            narrowing: false,
        };
        (this, ask)
    }

    /// Only a search from `model`, and the last refits.
    pub(super) fn around(model: Weights, tally: &Tally) -> (Self, Directive) {
        Self::from_starts(VecDeque::from([model]), false, tally)
    }

    /// Only the last refits, on the support of `model`.
    pub(super) fn polish_only(mut model: Weights, tally: &Tally) -> (Self, Directive) {
        model.make_room(tally.job().kept);
        let (mut this, _) = Self::new(None, Weights::default(), Vec::new(), tally);
        this.curvature = vec![1.0; model.indices.len()];
        let directive = this.begin_polish(model, tally);
        (this, directive)
    }

    /// Takes the answers of all shards.
    pub(super) fn absorb(
        &mut self,
        replies: Vec<Reply>,
        tally: &mut Tally,
    ) -> Result<Step, Mismatch> {
        match &mut self.stage {
            Stage::Searching(search) => {
                let step = search.absorb(replies, tally)?;
                if let exchange::Step::Ask(directive) = step
                    && work(tally) - self.began < self.search_work
                {
                    return Ok(Step::Ask(directive));
                }
                let fit = search.incumbent().clone();
                let (curvature, width) = (search.curvature(&fit.model.indices), search.width());
                self.keep(fit, curvature, width);
                Ok(self.next_search(tally))
            }
            Stage::Polishing { refit, left } => {
                let slopes = slopes(replies)?;
                match refit.tell(&slopes, tally) {
                    Some(fit) => {
                        let left = std::mem::take(left);
                        Ok(self.polish(fit.model, left, tally))
                    }
                    None => Ok(Step::Ask(refit.ask())),
                }
            }
        }
    }

    /// Books the cost of a search, and says whether another one can be afforded.
    fn charge(&mut self, tally: &Tally) -> bool {
        let cost = work(tally) - self.began;
        self.began += cost;
        if self.first_cost.is_some() {
            self.left -= cost;
        }
        let first = *self.first_cost.get_or_insert(cost);
        self.left > 0.0 && first <= CHEAP_SEARCH
    }

    fn keep(&mut self, fit: Fit, curvature: Vec<f64>, width: Option<f64>) {
        // Objectives at different widths do not compare; the width grew because refits did not converge.
        let better = width != self.width
            || self.best.as_ref().is_none_or(|best| fit.objective < best.objective);
        self.width = width;
        if better {
            self.best = Some(fit);
            self.curvature = curvature;
        }
        self.failed_kicks = if better { 0 } else { self.failed_kicks + 1 };
    }

    fn next_search(&mut self, tally: &Tally) -> Step {
        let more = self.charge(tally) && !tally.gap_reached();
        let best = self.best.clone().unwrap_or_default();
        let start = if !more || self.failed_kicks > MOST_FAILED_KICKS {
            None
        } else if let Some(start) = self.starts.pop_front() {
            self.failed_kicks = 0;
            Some(start)
        } else if !self.kicking {
            None
        } else {
            self.kicks += 1;
            kick(tally.job(), &best.model, self.kicks)
        };
        let start = start.filter(|_| !self.narrowing);
        let start = match start {
            Some(start) => Start { width: self.width, may_widen: true, ..start },
            None => match self.narrowed(&best.model, tally) {
                Some(start) => start,
                None => return Step::Ask(self.begin_polish(best.model, tally)),
            },
        };
        let (search, ask) = Exchange::new(start, tally);
        self.stage = Stage::Searching(Box::new(search));
        Step::Ask(ask)
    }

    /// A search from the best fit with corners less rounded: nearer to the true loss, though refits take longer.
    fn narrowed(&mut self, model: &Weights, tally: &Tally) -> Option<Start> {
        let job = tally.job();
        let width = width::narrower(job.loss, self.width)?;
        self.narrowing = true;
        self.search_work = NARROW_WORK;
        let size = job.k / 16;
        Some(Start { model: model.clone(), size, width: Some(width), ..Start::default() })
    }

    fn begin_polish(&mut self, model: Weights, tally: &Tally) -> Directive {
        let mut efforts = VecDeque::from(width::polish(tally.job().loss, self.width));
        let first = efforts.pop_front().unwrap_or(width::LAST);
        self.refit(model, first, efforts, tally)
    }

    fn polish(&mut self, model: Weights, mut left: VecDeque<Effort>, tally: &Tally) -> Step {
        match left.pop_front() {
            Some(effort) => Step::Ask(self.refit(model, effort, left, tally)),
            None => Step::Done,
        }
    }

    fn refit(
        &mut self,
        model: Weights,
        effort: Effort,
        left: VecDeque<Effort>,
        tally: &Tally,
    ) -> Directive {
        let affordable = (POLISH_WORK / tally.job().entries.max(1) as f64) as usize;
        let effort = Effort { evaluations: effort.evaluations.min(affordable.max(50)), ..effort };
        let refit = Refit::new(tally.job(), model, &self.curvature, effort, f64::INFINITY);
        let ask = refit.ask();
        self.stage = Stage::Polishing { refit: Box::new(refit), left };
        ask
    }
}

/// Entries visited so far, with an allowance for every round.
fn work(tally: &Tally) -> f64 {
    let per_round = if tally.job().shards == 1 { ROUND_WORK } else { FAR_ROUND_WORK };
    tally.visited + per_round * tally.rounds as f64
}

/// `model` without some features drawn at random, none that is kept; nothing if it has too few to spare.
fn kick(job: &Job, model: &Weights, number: u64) -> Option<Start> {
    let may_go = |&j: &u32| j as usize > job.kept;
    let features: Vec<u32> = model.indices.iter().copied().filter(may_go).collect();
    if features.is_empty() || features.len() + job.kept + 1 >= job.cols {
        return None;
    }
    let mut random = rng::generator(job.seed, KICKS, number);
    let most = (features.len() / 2).clamp(1, 64);
    let count = random.random_range(1..=most);
    let drawn = index::sample(&mut random, features.len(), count);
    let mut banned: Vec<u32> = drawn.iter().map(|i| features[i]).collect();
    banned.sort_unstable();
    let kept = model.iter().filter(|&(j, _)| banned.binary_search(&(j as u32)).is_err());
    let (indices, values) = kept.map(|(j, w)| (j as u32, w)).unzip();
    Some(Start { model: Weights { indices, values }, size: count, banned, ..Start::default() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{config::Config, coordinator::Limits};

    /// An infinite width, divided by any factor, stays one: the last refits would have no end.
    #[test]
    fn a_saved_finish_must_have_a_width_that_can_be_narrowed() {
        let limits = Limits { gap: 1e-3, rounds: None, time: None };
        let tally = Tally::new(Config::new(3).check().unwrap().job(10, 6, 20), limits);
        let (mut saved, _) = Finish::new(None, Weights::default(), vec![1, 5], &tally);
        assert!(saved.fits(6) && !saved.fits(5));
        for (width, good) in [(0.1, true), (f64::INFINITY, false), (f64::NAN, false), (0.0, false)]
        {
            saved.width = Some(width);
            assert_eq!(saved.fits(6), good, "{width}");
        }
        saved.width = None;
        saved.best =
            Some(Fit { model: Weights { indices: vec![2], values: vec![1.0] }, objective: 1.0 });
        assert!(!saved.fits(6), "a curvature for each weight");
        saved.curvature = vec![1.0];
        saved.failed_kicks = usize::MAX;
        assert!(!saved.fits(6));
    }
}
