//! The report's cluster without a clock: the same coordinator and shards as everywhere, and answers that arrive in the order
//! in which they were asked for.
//!
//! With equal workers that is the order the report describes for its own cluster, groups that take turns; a real clock on
//! few cores would show the scheduler instead.

use std::{collections::VecDeque, time::Duration};

use ddiht_core::{
    config::Config,
    coordinator::{Command, Event},
    data::RawData,
    enrol::{Launch, Preparation},
    round::{Directive, Job, Reply, Weights},
    shard::{Rows, Shard},
};

use crate::{failure::Failure, progress::Signals};

/// What the server did.
#[derive(Debug, Default)]
pub(super) struct Course {
    /// P of the server's model, step by step; the first is that of w = 0.
    pub(super) objectives: Vec<f64>,
    /// The worker that `min` chose, step by step.
    pub(super) chosen: Vec<usize>,
    /// The best bound.
    pub(super) bound: Option<f64>,
}

impl Course {
    /// P of the last model.
    pub(super) fn last(&self) -> f64 {
        self.objectives.last().copied().unwrap_or(f64::NAN)
    }
}

/// Runs `config` on `raw` to its end.
pub(super) fn run(config: Config, raw: &RawData, signals: &Signals) -> Result<Course, Failure> {
    let config = config.check()?;
    let preparation = Preparation::of(&config);
    let launch = Launch::new(&config, &[preparation.describe(raw)])?;
    let rows = preparation.rows(raw.clone(), launch.labels.as_ref())?;
    let mut shards = cut(&launch.job, &rows, config.get().workers);
    let mut coordinator = config.coordinator(launch.job);
    let mut course = Course::default();
    let (mut asked, mut known) = (VecDeque::new(), 0);
    while !signals.came() {
        match coordinator.poll() {
            Some(Command::Send { shard, round, directive }) => {
                if let Directive::Sdiht { model, .. } = &*directive
                    && round > known
                {
                    known = round;
                    course.objectives.push(objective(&launch.job, &mut shards, round, model));
                }
                asked.push_back((shard, round, directive));
            }
            Some(Command::Report) => {}
            Some(Command::Finish(_)) => break,
            Some(Command::Fail(error)) => {
                return Err(ddiht_core::train::TrainError::from(error).into());
            }
            None => {
                let Some((shard, round, directive)) = asked.pop_front() else { break };
                let reply = shards[shard].handle(round, &directive);
                coordinator.handle(Duration::ZERO, Event::Answer { shard, round, reply });
            }
        }
    }
    let tally = coordinator.into_tally();
    course.objectives.extend(tally.current);
    course.chosen.clone_from(&tally.selected);
    course.bound = tally.bound();
    Ok(course)
}

/// Row r goes to shard r mod M.
fn cut(job: &Job, rows: &Rows, workers: usize) -> Vec<Shard> {
    let part = |p: usize| Rows {
        x: rows.x.select(|r| r % workers == p),
        y: rows.y.iter().skip(p).step_by(workers).copied().collect(),
        weights: None,
    };
    (0..workers).map(|p| Shard::new(p, *job, part(p))).collect()
}

/// P of `model` on all rows.
fn objective(job: &Job, shards: &mut [Shard], round: u64, model: &Weights) -> f64 {
    let ask = Directive::Score { candidates: vec![model.clone()] };
    let loss = |shard: &mut Shard| match shard.handle(round, &ask) {
        Reply::Losses(losses) => losses.iter().sum::<f64>(),
        _ => f64::NAN,
    };
    let sum: f64 = shards.iter_mut().map(loss).sum();
    let norm_sq: f64 = model.values.iter().map(|w| w * w).sum();
    sum / job.total_rows as f64 + job.lambda / 2.0 * norm_sq
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::{
        corpus::{Corpus, Files, Name},
        report::WORKERS,
        trial,
    };
    use ddiht_core::{config::Algorithm, coordinator::Pace, loss::LossKind, storage::Local};

    #[test]
    fn with_a_barrier_it_is_the_run_of_the_library_and_without_one_groups_take_turns() {
        let corpus = Corpus::load(Name::Rcv1, 160, 100, 1, &Files::default(), &Local).unwrap();
        let config = Config {
            algorithm: Algorithm::Sdiht,
            workers: WORKERS,
            batch_size: 5,
            ..trial::request(20, LossKind::SquaredHinge, 1e-3, 12)
        };
        let signals = Signals::default();
        let course = run(config.clone(), &corpus.raw, &signals).unwrap();
        let whole = trial::run(config.clone(), &corpus.raw, trial::Until::Done, &signals).unwrap();
        let best = course.objectives.iter().copied().fold(f64::INFINITY, f64::min);
        assert!((best - whole.objective).abs() < 1e-12, "{best} and not {}", whole.objective);
        assert_eq!(course.objectives.len(), 13);
        let pace = Pace::Arrivals { count: 4, max_staleness: None };
        let course = run(Config { pace, ..config }, &corpus.raw, &signals).unwrap();
        assert_eq!(course.objectives.len(), 13);
    }
}
