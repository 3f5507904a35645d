//! A training run in one process: rows in, model and evidence out.

use crate::{
    config::ValidConfig,
    coordinator::{CoordinatorError, Search, Stopped, Tally},
    data::{DataError, LabelMap, RawData},
    enrol::{Launch, Preparation},
    evaluate::{Answers, Quality},
    local::{self, Host},
    measures::Measures,
    model::{Model, Outcome},
    round::{Job, Weights},
    shard::{Rows, Shard},
};

/// A training set: prepared, cut into shards, described.
#[derive(Debug)]
pub struct TrainingSet {
    launch: Launch,
    shards: Vec<Rows>,
}

impl TrainingSet {
    /// Maps labels, scales rows and gives row r to shard r mod M.
    pub fn prepare(config: &ValidConfig, raw: RawData) -> Result<Self, DataError> {
        let preparation = Preparation::of(config);
        let launch = Launch::new(config, &[preparation.describe(&raw)])?;
        let Rows { x, y, weights } = preparation.rows(raw, launch.labels.as_ref())?;
        let count = config.get().workers;
        let shards = if count == 1 {
            vec![Rows { x, y, weights }]
        } else {
            let part = |p: usize| Rows {
                x: x.select(|r| r % count == p),
                y: every(&y, p, count),
                weights: weights.as_ref().map(|all| every(all, p, count)),
            };
            (0..count).map(part).collect()
        };
        Ok(Self { launch, shards })
    }

    /// The facts of the whole.
    pub fn launch(&self) -> &Launch {
        &self.launch
    }
}

/// Every `count`-th of `all`, from number `first`.
pub(crate) fn every(all: &[f64], first: usize, count: usize) -> Vec<f64> {
    all.iter().skip(first).step_by(count).copied().collect()
}

/// What a run produced.
#[derive(Debug)]
pub struct Trained {
    /// The model.
    pub model: Model,
    /// How good it is on the training data, unless the run was cut short before that was measured.
    pub quality: Option<Quality>,
    /// Why the run ended.
    pub stopped: Stopped,
    /// The books.
    pub tally: Tally,
}

impl Trained {
    /// The best model of a run, as its books have it.
    ///
    /// # Errors
    /// There is none yet.
    pub fn conclude(
        config: &ValidConfig,
        launch: &Launch,
        tally: Tally,
        stopped: Stopped,
    ) -> Result<Self, TrainError> {
        let best = tally.best().ok_or(TrainError::NoModel)?;
        let outcome = Outcome {
            objective: tally.final_objective().unwrap_or(best.objective),
            dual_bound: tally.bound(),
            rows: launch.job.total_rows,
            features: launch.job.cols - 1,
            labels: launch.labels,
            zero_based: launch.zero_based,
        };
        let model = Model::new(config, &best.model, &outcome);
        let quality = tally.measures.as_ref().map(Measures::quality);
        Ok(Self { model, quality, stopped, tally })
    }
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
    /// It was stopped before every class had a model.
    #[error(
        "stopped in class {class} of {classes}: the others have no model yet, so nothing is written; --time shares its \
         time out among all classes"
    )]
    Unfinished {
        /// The class that was being trained, from 1.
        class: usize,
        /// Number of classes.
        classes: usize,
    },
}

/// Trains on `set`.
pub fn train(
    config: &ValidConfig,
    set: TrainingSet,
    host: &mut impl Host,
) -> Result<Trained, TrainError> {
    Series::new(set).run(config, Search::Whole, host)
}

/// Runs on the same rows that differ in k and lambda, each from where the one before ended.
#[derive(Debug)]
pub struct Series {
    launch: Launch,
    shards: Vec<Shard>,
    /// The model of the last run, once there is one.
    last: Option<Weights>,
}

impl Series {
    /// No run yet.
    pub fn new(set: TrainingSet) -> Self {
        let TrainingSet { launch, shards } = set;
        let number = shards.into_iter().enumerate();
        let shards = number.map(|(p, rows)| Shard::new(p, launch.job, rows)).collect();
        Self { launch, shards, last: None }
    }

    /// The facts of the rows.
    pub fn launch(&self) -> &Launch {
        &self.launch
    }

    /// The same rows with other targets, as if there had been no run: `labels_of_rows` are those of each shard, and
    /// `label` is the positive one.
    pub(crate) fn retarget(&mut self, map: LabelMap, labels_of_rows: &[Vec<f64>], label: f64) {
        self.launch.labels = Some(map);
        self.last = None;
        for (shard, labels) in self.shards.iter_mut().zip(labels_of_rows) {
            let y: Vec<f64> = labels.iter().map(|&l| if l == label { 1.0 } else { -1.0 }).collect();
            let weights = map.row_weights(&y);
            shard.retarget(y, weights);
        }
    }

    /// The scores of all rows, shard by shard.
    pub(crate) fn scores(&self, model: &Weights) -> Vec<f64> {
        let w = model.to_dense(self.launch.job.cols);
        self.shards.iter().flat_map(|shard| shard.design().scores(&w)).collect()
    }

    /// The search of the first run begins with `model`.
    pub fn begin_with(&mut self, model: Weights) {
        self.last = Some(model);
    }

    /// The next run: the dual variables are those of the last one, and the search begins with its model.
    ///
    /// # Errors
    /// There is no model.
    pub fn run(
        &mut self,
        config: &ValidConfig,
        search: Search,
        host: &mut impl Host,
    ) -> Result<Trained, TrainError> {
        let Job { total_rows, cols, entries, .. } = self.launch.job;
        let job = config.job(total_rows, cols, entries);
        let mut coordinator = config.coordinator(job);
        // In a first run nothing is held yet, and the job is most often the one the shards were made for.
        let mut parts = Vec::new();
        if self.last.is_some() || job != self.launch.job {
            parts = self.shards.iter_mut().map(|shard| shard.retask(job)).collect();
            self.launch.job = job;
        }
        if let Some(model) = self.last.take() {
            coordinator.begin_from(&parts, &model, search);
        }
        let stopped = local::run(&mut coordinator, &mut self.shards, host)?;
        let mut trained =
            Trained::conclude(config, &self.launch, coordinator.into_tally(), stopped)?;
        let model = trained.model.columns();
        // All rows are at hand: the area under the curve need not be that of rounded scores.
        trained.quality = answers(&job, &self.shards, &model).quality(job.loss).ok();
        self.last = Some(model);
        Ok(trained)
    }
}

fn answers(job: &Job, shards: &[Shard], model: &Weights) -> Answers {
    let w = model.to_dense(job.cols);
    let mut answers = Answers::default();
    for shard in shards {
        answers.add(job.loss, shard.design(), shard.targets(), shard.sample_weights(), &w);
    }
    answers
}
