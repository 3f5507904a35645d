//! A training run in one process: rows in, model and evidence out.

use crate::{
    config::ValidConfig,
    coordinator::{Coordinator, CoordinatorError, Stopped, Tally},
    data::{DataError, LabelMap, RawData, map_labels},
    evaluate::Answers,
    local::{self, Host},
    model::{Model, Outcome},
    round::{Job, Weights},
    shard::{Rows, Shard},
};

/// A training set: prepared, cut into shards, described.
#[derive(Debug)]
pub struct TrainingSet {
    rows: usize,
    cols: usize,
    entries: usize,
    labels: Option<LabelMap>,
    shards: Vec<Rows>,
}

impl TrainingSet {
    /// Maps labels, scales rows and gives row r to shard r mod M.
    pub fn prepare(config: &ValidConfig, raw: RawData) -> Result<Self, DataError> {
        let settings = config.get();
        let (mut x, mut y) = (raw.x, raw.labels);
        let labels = if settings.loss.is_classification() {
            Some(map_labels(&mut y, settings.positive.as_ref())?)
        } else {
            None
        };
        settings.normalize.apply(&mut x);
        let (rows, cols, entries) = (x.rows(), x.cols(), x.nnz());
        let count = settings.workers;
        let shards = if count == 1 {
            vec![Rows { x, y, weights: None }]
        } else {
            let of = |p: usize| move |r: &usize| r % count == p;
            let part = |p: usize| Rows {
                x: x.select(|r| of(p)(&r)),
                y: (0..rows).filter(of(p)).map(|r| y[r]).collect(),
                weights: None,
            };
            (0..count).map(part).collect()
        };
        Ok(Self { rows, cols, entries, labels, shards })
    }

    /// Rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Features.
    pub fn features(&self) -> usize {
        self.cols - 1
    }

    /// The classes, unless it is a regression.
    pub fn labels(&self) -> Option<LabelMap> {
        self.labels
    }
}

/// What a run produced.
#[derive(Debug)]
pub struct Trained {
    /// The model.
    pub model: Model,
    /// Its answers on the training data.
    pub answers: Answers,
    /// Why the run ended.
    pub stopped: Stopped,
    /// The books.
    pub tally: Tally,
}

/// Why a run produced nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TrainError {
    /// The coordinator gave up.
    #[error(transparent)]
    Coordinator(#[from] CoordinatorError),
    /// It was stopped before there was any model.
    #[error("stopped before there was a model")]
    NoModel,
}

/// Trains on `set`.
pub fn train(
    config: &ValidConfig,
    set: TrainingSet,
    host: &mut impl Host,
) -> Result<Trained, TrainError> {
    let job = config.job(set.rows, set.cols, set.entries);
    let (rows, features, labels) = (set.rows, set.features(), set.labels);
    let number = set.shards.into_iter().enumerate();
    let mut shards: Vec<Shard> = number.map(|(p, rows)| Shard::new(p, job, rows)).collect();
    let mut coordinator = Coordinator::new(job, config.method(), config.get().limits);
    let stopped = local::run(&mut coordinator, &mut shards, host)?;
    let tally = coordinator.tally().clone();
    let best = tally.best().ok_or(TrainError::NoModel)?;
    let answers = answers(&job, &shards, &best.model);
    let objective = answers.objective(&best.model, job.lambda);
    let outcome = Outcome { objective, dual_bound: tally.bound(), rows, features, labels };
    let model = Model::new(config, &best.model, &outcome);
    Ok(Trained { model, answers, stopped, tally })
}

fn answers(job: &Job, shards: &[Shard], model: &Weights) -> Answers {
    let w = model.to_dense(job.cols);
    let mut answers = Answers::default();
    for shard in shards {
        answers.add(job.loss, shard.design(), shard.targets(), shard.sample_weights(), &w);
    }
    answers
}
