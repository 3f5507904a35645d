//! What a run has reached: the best model, the best bound, and when to stop.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};
use wincode::{SchemaRead, SchemaWrite};

use crate::{
    measures::Measures,
    round::{Job, RoundKind, Weights},
};

use super::resume::{MOST, is_model};

/// When a run ends.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, SchemaRead, SchemaWrite)]
pub struct Limits {
    /// Relative gap that is good enough; 0 switches off this rule and `stalled`.
    pub gap: f64,
    /// Most dual rounds (outer iterations of the papers' algorithms).
    pub rounds: Option<u64>,
    /// Most training time.
    pub time: Option<Duration>,
}

/// Why a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, SchemaRead, SchemaWrite)]
#[serde(rename_all = "lowercase")]
pub enum Stopped {
    /// The gap was reached.
    Gap,
    /// The rounds were used up.
    Rounds,
    /// The time was used up.
    Time,
    /// Neither model nor bound improved any more.
    Stalled,
    /// Somebody asked for the end.
    Interrupted,
}

/// A model and its objective.
#[derive(Debug, Clone, PartialEq, SchemaRead, SchemaWrite)]
pub struct Best {
    /// P of the model.
    pub objective: f64,
    /// The model; column 0 is the intercept. It may have all columns, so that copies are to cost nothing.
    pub model: Arc<Weights>,
}

/// The books of a run.
#[derive(Debug, Clone, SchemaRead, SchemaWrite)]
pub struct Tally {
    job: Job,
    limits: Limits,
    best: Option<Best>,
    bound: Option<f64>,
    /// Rounds of every kind, as they are numbered: each is a question and its answers.
    pub rounds: u64,
    /// Rounds as they are reported: the local steps of `min` and `weighted` and the scores that
    /// complete them are one, as in the report's Alg. 2.
    pub reported: u64,
    /// Rounds that `--rounds` counts.
    pub main_rounds: u64,
    /// Entries of the data visited by all shards.
    pub visited: f64,
    /// Training time so far.
    pub elapsed: Duration,
    /// Whether the run was asked to end.
    pub interrupted: bool,
    /// Columns that entered the support in the last round, and its step.
    pub support_changed: usize,
    /// What the last round did.
    pub step: RoundKind,
    /// P of the model the run is at, where it is not always the best one.
    pub current: Option<f64>,
    /// The shard whose model was chosen in each round, for [`super::Combine::Min`].
    pub selected: Vec<usize>,
    /// How old answers were.
    pub staleness: Staleness,
    /// The model measured on the training data, at the very end.
    #[wincode(skip)]
    pub measures: Option<Measures>,
    marks: VecDeque<Mark>,
}

/// Rounds that passed between a question and the use of its answer; all 0 with a barrier.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, SchemaRead, SchemaWrite)]
pub struct Staleness {
    /// Answers.
    pub answers: u64,
    /// Their ages in all.
    pub total: u64,
    /// The largest age.
    pub largest: u64,
}

impl Staleness {
    /// Books an answer.
    pub(super) fn add(&mut self, age: u64) {
        self.answers += 1;
        self.total += age;
        self.largest = self.largest.max(age);
    }

    /// The mean age.
    pub fn mean(&self) -> f64 {
        self.total as f64 / self.answers.max(1) as f64
    }
}

/// State of the books after a main round.
#[derive(Debug, Clone, Copy, SchemaRead, SchemaWrite)]
struct Mark {
    round: u64,
    objective: f64,
    bound: f64,
}

/// Rounds over which `stalled` looks back.
const LOOK_BACK: u64 = 20;

impl Tally {
    /// Empty books.
    pub fn new(job: Job, limits: Limits) -> Self {
        Self {
            job,
            limits,
            best: None,
            bound: None,
            rounds: 0,
            reported: 0,
            main_rounds: 0,
            visited: 0.0,
            elapsed: Duration::ZERO,
            interrupted: false,
            support_changed: 0,
            step: RoundKind::Start,
            current: None,
            selected: Vec::new(),
            staleness: Staleness::default(),
            measures: None,
            marks: VecDeque::new(),
        }
    }

    /// Whether these are books of `job`; they go on under `limits`.
    pub(super) fn resume(&mut self, job: &Job, limits: Limits) -> bool {
        self.limits = limits;
        self.interrupted = false;
        let sound = |best: &Best| {
            is_model(&best.model, job.cols)
                && best.model.nnz() <= job.k
                && best.objective.is_finite()
        };
        self.job == *job
            && self.best.as_ref().is_none_or(sound)
            && self.bound.is_none_or(f64::is_finite)
            && self.figures_fit()
    }

    /// Whether counts and figures are such that a run can have come to them.
    fn figures_fit(&self) -> bool {
        let Staleness { answers, total, largest } = self.staleness;
        [self.rounds, answers, total, largest].iter().all(|&count| count <= MOST)
            && self.main_rounds <= self.rounds
            && self.marks.iter().all(|mark| mark.round <= self.main_rounds)
            && (0.0..f64::INFINITY).contains(&self.visited)
            && self.selected.iter().all(|&shard| shard < self.job.shards)
    }

    /// The job.
    pub fn job(&self) -> &Job {
        &self.job
    }

    /// The limits.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The best model seen.
    pub fn best(&self) -> Option<&Best> {
        self.best.as_ref()
    }

    /// The best objective seen, or infinity.
    pub fn objective(&self) -> f64 {
        self.best.as_ref().map_or(f64::INFINITY, |best| best.objective)
    }

    /// The best bound seen.
    pub fn bound(&self) -> Option<f64> {
        self.bound
    }

    /// P of a model with this sum of losses; the model is kept if it is the best so far and k-sparse.
    pub fn offer(&mut self, model: &Weights, loss_sum: f64) -> f64 {
        let objective = self.objective_of(model, loss_sum);
        if self.would_be_best(model, objective) {
            self.best = Some(Best { objective, model: Arc::new(model.clone()) });
        }
        objective
    }

    /// The same of a model that nobody else needs.
    pub fn take(&mut self, model: Weights, loss_sum: f64) -> f64 {
        let objective = self.objective_of(&model, loss_sum);
        if self.would_be_best(&model, objective) {
            self.best = Some(Best { objective, model: Arc::new(model) });
        }
        objective
    }

    fn would_be_best(&self, model: &Weights, objective: f64) -> bool {
        objective < self.objective() && model.nnz() <= self.job.k
    }

    /// `(1/N) sum l + (lambda/2) ||w||^2`.
    pub fn objective_of(&self, model: &Weights, loss_sum: f64) -> f64 {
        loss_sum / self.job.total_rows as f64 + self.job.lambda / 2.0 * model.norm_sq()
    }

    /// P of the best model as it was measured at the end, or as it was found.
    pub fn final_objective(&self) -> Option<f64> {
        let best = self.best.as_ref()?;
        let measured = self.measures.as_ref().map(|m| self.objective_of(&best.model, m.loss));
        Some(measured.unwrap_or(best.objective))
    }

    /// Keeps `bound` if it is the best so far.
    pub fn offer_bound(&mut self, bound: f64) {
        if bound.is_finite() && self.bound.is_none_or(|best| bound > best) {
            self.bound = Some(bound);
        }
    }

    /// Passes over the data.
    pub fn passes(&self) -> f64 {
        self.visited / self.job.entries.max(1) as f64
    }

    /// `(P - D) / P`, 0 when P is 0.
    pub fn gap(&self) -> Option<f64> {
        let (best, bound) = (self.best.as_ref()?, self.bound?);
        Some(relative_gap(best.objective, bound))
    }

    /// Whether the gap asked for is reached.
    pub fn gap_reached(&self) -> bool {
        self.limits.gap > 0.0 && self.gap().is_some_and(|gap| gap <= self.limits.gap)
    }

    /// Whether an order or the clock ends the run now, and which.
    pub fn cut_short(&self) -> Option<Stopped> {
        if self.interrupted {
            return Some(Stopped::Interrupted);
        }
        self.limits.time.is_some_and(|limit| self.elapsed >= limit).then_some(Stopped::Time)
    }

    /// Whether this share of the time is used up.
    pub fn time_share_used(&self, share: f64) -> bool {
        self.limits
            .time
            .is_some_and(|limit| self.elapsed.as_secs_f64() >= share * limit.as_secs_f64())
    }

    /// Whether the main rounds are used up.
    pub fn rounds_used(&self) -> bool {
        self.limits.rounds.is_some_and(|limit| self.main_rounds >= limit)
    }

    /// Notes the state after a main round for [`Tally::stalled`].
    pub fn mark(&mut self) {
        let mark = Mark {
            round: self.main_rounds,
            objective: self.objective(),
            bound: self.bound.unwrap_or(f64::NEG_INFINITY),
        };
        self.marks.push_back(mark);
        while self.marks.get(1).is_some_and(|next| next.round + LOOK_BACK <= self.main_rounds) {
            self.marks.pop_front();
        }
    }

    /// Whether best P and best D each improved by less than gap/100, relative, over the last 20 rounds.
    pub fn stalled(&self) -> bool {
        let (Some(then), Some(now)) = (self.marks.front(), self.marks.back()) else {
            return false;
        };
        if self.limits.gap <= 0.0 || then.round + LOOK_BACK > now.round {
            return false;
        }
        let least = self.limits.gap / 100.0 * now.objective.abs();
        // Written so that infinities (nothing known yet) do not count as standing still.
        let still = |before: f64, after: f64| before == after || (before - after).abs() < least;
        still(then.objective, now.objective) && still(then.bound, now.bound)
    }
}

/// `(objective - bound) / objective`, 0 when the objective is 0.
pub fn relative_gap(objective: f64, bound: f64) -> f64 {
    if objective == 0.0 { 0.0 } else { (objective - bound) / objective }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    #[test]
    fn saved_books_must_be_such_that_one_can_go_on_counting() {
        let limits = Limits { gap: 1e-3, rounds: None, time: None };
        let job = Config::new(3).check().unwrap().job(10, 5, 20);
        let resumes = |change: fn(&mut Tally)| {
            let mut tally = Tally::new(job, limits);
            (tally.rounds, tally.main_rounds) = (30, 25);
            tally.mark();
            change(&mut tally);
            tally.resume(&job, limits)
        };
        assert!(resumes(|_| ()));
        assert!(!resumes(|tally| tally.rounds = u64::MAX));
        assert!(!resumes(|tally| tally.main_rounds = 31));
        assert!(!resumes(|tally| tally.marks[0].round = u64::MAX));
        assert!(!resumes(|tally| tally.staleness.total = u64::MAX));
        assert!(!resumes(|tally| tally.visited = f64::NAN));
        assert!(!resumes(|tally| tally.bound = Some(f64::INFINITY)));
        assert!(!resumes(|tally| tally.selected.push(1)));
    }
}
