//! A training run in one process: rows in, model and evidence out.

use crate::{
    baseline,
    config::{Algorithm, ValidConfig},
    coordinator::{CoordinatorError, Search, Stopped, Tally},
    data::{DataError, LabelMap, RawData, Scale, Sealed},
    enrol::{Launch, Preparation},
    evaluate::{Answers, Quality},
    local::{self, Host},
    measures::Measures,
    model::{Model, Outcome},
    round::{Job, Weights},
    shard::{Rows, Shard},
};

/// A training set: prepared, cut into shards, described. Rows that are used as a file has them are sealed still.
#[derive(Debug)]
pub struct TrainingSet {
    launch: Launch,
    shards: Vec<Rows<Sealed>>,
    manner: Manner,
}

/// How rows become those of a training set, in all that depends on it.
#[derive(Debug)]
struct Manner {
    preparation: Preparation,
    labels: Option<LabelMap>,
    /// What every column is divided by, if columns are scaled.
    divisors: Option<Vec<f64>>,
}

impl Manner {
    fn rows(&self, raw: RawData) -> Result<Rows, DataError> {
        let mut rows = self.preparation.rows(raw, self.labels.as_ref())?;
        self.scale(&mut rows);
        Ok(rows)
    }

    fn scale(&self, rows: &mut Rows) {
        if let Some(divisors) = &self.divisors {
            // Rows that are not trained on may have columns of their own, which no model uses.
            rows.x.divide_columns(|j| divisors.get(j as usize).copied().unwrap_or(1.0));
        }
    }
}

impl TrainingSet {
    /// Maps labels, scales rows and columns and gives row r to shard r mod M.
    ///
    /// # Errors
    /// The labels are no task, or the rows had to be unsealed and cannot be used.
    pub fn prepare(
        config: &ValidConfig,
        raw: impl Into<RawData<Sealed>>,
    ) -> Result<Self, DataError> {
        let raw = raw.into();
        let preparation = Preparation::of(config);
        let launch = Launch::new(config, &[preparation.describe(&raw)])?;
        let rows = preparation.sealed_rows(raw, launch.labels.as_ref())?;
        let mut manner = Manner { preparation, labels: launch.labels, divisors: None };
        let (scale, count) = (config.get().scale, config.get().workers);
        if scale == Scale::None && count == 1 {
            return Ok(Self::counted(launch, vec![rows], manner));
        }
        let mut rows = rows.unseal()?;
        manner.divisors = scale.divisors(&rows.x);
        manner.scale(&mut rows);
        if count == 1 {
            return Ok(Self::counted(launch, vec![rows.into()], manner));
        }
        let Rows { x, y, weights } = rows;
        let part = |p: usize| Rows {
            x: x.select(|r| r % count == p).into(),
            y: every(&y, p, count),
            weights: weights.as_ref().map(|all| every(all, p, count)),
        };
        let shards = (0..count).map(part).collect();
        Ok(Self::counted(launch, shards, manner))
    }

    /// Counts the columns of what is in memory: beside reading and parsing this is nothing.
    fn counted(launch: Launch, mut shards: Vec<Rows<Sealed>>, manner: Manner) -> Self {
        for rows in &mut shards {
            rows.x.widen(launch.job.cols);
            rows.x.count();
        }
        Self { launch, shards, manner }
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
    /// Its weights as they are inside of a run, for rows that [`Series::rows`] prepares.
    pub weights: Weights,
    /// Why the run ended.
    pub stopped: Stopped,
    /// The books.
    pub tally: Tally,
}

impl Trained {
    /// The best model of a run, as its books have it; `divisors` are those of columns that were scaled.
    ///
    /// # Errors
    /// There is none yet.
    pub fn conclude(
        config: &ValidConfig,
        launch: &Launch,
        divisors: Option<&[f64]>,
        tally: Tally,
        stopped: Stopped,
    ) -> Result<Self, TrainError> {
        let best = tally.best().ok_or(TrainError::NoModel)?;
        let weights = Weights::clone(&best.model);
        let outcome = Outcome {
            objective: tally.final_objective().unwrap_or(best.objective),
            dual_bound: tally.bound(),
            rows: launch.job.total_rows,
            features: launch.job.cols - 1,
            labels: launch.labels,
            zero_based: launch.zero_based,
            divisors,
        };
        let model = Model::new(config, &weights, &outcome);
        let quality = tally.measures.as_ref().map(Measures::quality);
        Ok(Self { model, quality, weights, stopped, tally })
    }
}

/// What the rows of a shard are labelled, and how much each counts by itself.
#[derive(Debug)]
pub(crate) struct LabelledRows {
    pub(crate) labels: Vec<f64>,
    pub(crate) weights: Option<Vec<f64>>,
}

/// Why a run produced nothing.
#[derive(Debug, thiserror::Error)]
pub enum TrainError {
    /// The rows cannot be used.
    #[error(transparent)]
    Data(#[from] DataError),
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
    host: &mut (impl Host + Send),
) -> Result<Trained, TrainError> {
    Series::new(set)?.run(config, Search::Whole, host)
}

/// Runs on the same rows that differ in k and lambda, each from where the one before ended.
#[derive(Debug)]
pub struct Series {
    launch: Launch,
    shards: Vec<Shard>,
    manner: Manner,
    /// The model of the last run, once there is one.
    last: Option<Weights>,
}

impl Series {
    /// No run yet. Rows that are sealed are unsealed: it is the first time that their entries are read.
    ///
    /// # Errors
    /// The entries of a shard file are not what was written, or no matrix.
    pub fn new(set: TrainingSet) -> Result<Self, DataError> {
        let TrainingSet { launch, shards, manner } = set;
        let number = shards.into_iter().enumerate();
        let shards: Result<_, _> =
            number.map(|(p, rows)| Shard::unseal(p, launch.job, rows)).collect();
        Ok(Self { launch, shards: shards?, manner, last: None })
    }

    /// The facts of the rows.
    pub fn launch(&self) -> &Launch {
        &self.launch
    }

    /// The search of the first run begins with `model`, weights by column of the input.
    pub fn begin_with(&mut self, model: &Weights) {
        let choice = &self.manner.preparation.choice;
        let divisors = self.manner.divisors.as_deref();
        let entry = |(column, weight): (usize, f64)| {
            let place = choice.inner(column as u32);
            (place, divisors.map_or(weight, |divisors| weight * divisors[place as usize]))
        };
        let excluded = |column: usize| choice.exclude().binary_search(&(column as u32)).is_ok();
        let mut entries: Vec<(u32, f64)> =
            model.iter().filter(|&(column, _)| !excluded(column)).map(entry).collect();
        entries.sort_unstable_by_key(|entry| entry.0);
        let (indices, values) = entries.into_iter().unzip();
        self.last = Some(Weights { indices, values });
    }

    /// Rows that are not trained on, prepared as those that are.
    ///
    /// # Errors
    /// A label is not one of the training set.
    pub fn rows(&self, raw: RawData) -> Result<Rows, DataError> {
        self.manner.rows(raw)
    }

    /// The same rows with other targets, as if there had been no run: `rows` are those of each shard, and `label` is the
    /// positive one.
    pub(crate) fn retarget(&mut self, map: LabelMap, rows: &[LabelledRows], label: f64) {
        self.launch.labels = Some(map);
        self.last = None;
        for (shard, rows) in self.shards.iter_mut().zip(rows) {
            let sign = |&l: &f64| if l == label { 1.0 } else { -1.0 };
            let y: Vec<f64> = rows.labels.iter().map(sign).collect();
            let weights = map.row_weights(&y, rows.weights.clone());
            shard.retarget(y, weights);
        }
    }

    /// The scores of all rows, shard by shard.
    pub(crate) fn scores(&self, model: &Weights) -> Vec<f64> {
        let w = model.to_dense(self.launch.job.cols);
        self.shards.iter().flat_map(|shard| shard.design().scores(&w)).collect()
    }

    /// The next run: the dual variables are those of the last one, and the search begins with its model.
    ///
    /// # Errors
    /// There is no model.
    pub fn run(
        &mut self,
        config: &ValidConfig,
        search: Search,
        host: &mut (impl Host + Send),
    ) -> Result<Trained, TrainError> {
        let Job { total_rows, cols, entries, .. } = self.launch.job;
        let job = config.job(total_rows, cols, entries);
        if let (Algorithm::Baseline(baseline), [shard]) =
            (config.get().algorithm, &mut self.shards[..])
        {
            shard.retask(job);
            self.launch.job = job;
            let (tally, stopped) = baseline::run(baseline, config, shard, host);
            return self.conclude(config, tally, stopped);
        }
        let mut coordinator = config.coordinator(job);
        // In a first run nothing is held yet, and the job is most often the one the shards were made for.
        let mut parts = Vec::new();
        if self.last.is_some() || job != self.launch.job {
            parts = self.shards.iter_mut().map(|shard| shard.retask(job)).collect();
            self.launch.job = job;
        }
        coordinator.begin_from(&parts, self.last.take(), search);
        let stopped = local::run(&mut coordinator, &mut self.shards, host)?;
        self.conclude(config, coordinator.into_tally(), stopped)
    }

    fn conclude(
        &mut self,
        config: &ValidConfig,
        tally: Tally,
        stopped: Stopped,
    ) -> Result<Trained, TrainError> {
        let mut trained = Trained::conclude(
            config,
            &self.launch,
            self.manner.divisors.as_deref(),
            tally,
            stopped,
        )?;
        let (job, model) = (&self.launch.job, trained.weights.clone());
        // All rows are at hand: the area under the curve need not be that of rounded scores.
        trained.quality = answers(job, &self.shards, &model).quality(job.loss).ok();
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
