//! Scores on rows that were not trained on.

use std::{
    path::{Path, PathBuf},
    slice,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use ddiht_core::{
    config::ValidConfig,
    coordinator::Search,
    data::RawData,
    evaluate::{Answers, Quality},
    folds::{Folds, Spread, classes},
    shard::Rows,
    storage::Storage,
    train::{Series, Trained, TrainingSet},
};

use super::Score;
use crate::{
    failure::Failure,
    input::{self, Labels},
    progress::{Console, Signals},
};

impl Score {
    /// Of what was `trained` on rows prepared in the same way; less is better.
    pub(super) fn of(self, trained: &Trained, rows: Rows) -> Result<f64, Failure> {
        let loss = trained.model.loss().map_err(Failure::input)?;
        let answers = Answers::of(loss, &trained.weights, rows);
        let quality = answers.quality(loss)?;
        Ok(match (self, &quality) {
            (Self::Error, Quality::Classes(c)) => 1.0 - c.accuracy,
            (Self::Auc, Quality::Classes(c)) => 1.0 - c.auc.unwrap_or(0.5),
            (Self::Rmse, Quality::Numbers(r)) => r.rmse,
            _ => answers.loss_sum / answers.targets.len() as f64,
        })
    }
}

/// Data that settings are compared on, and what they have shown.
#[derive(Debug)]
pub(super) struct Judge {
    data: PathBuf,
    /// The rows, once they have been read for the first model: the others prepare them alike.
    rows: Option<Rows>,
    score: Score,
    best: f64,
    since_best: usize,
}

impl Judge {
    pub(super) fn new(data: &Path, score: Score) -> Self {
        Self { data: data.to_owned(), rows: None, score, best: f64::INFINITY, since_best: 0 }
    }

    /// The score of what a series has `trained`.
    pub(super) fn score(
        &mut self,
        storage: &dyn Storage,
        series: &Series,
        trained: &Trained,
    ) -> Result<Spread, Failure> {
        let rows = match self.rows.take() {
            Some(rows) => rows,
            None => {
                let data = slice::from_ref(&self.data);
                let raw = input::read_raw(
                    storage,
                    slice::from_ref(&trained.model),
                    data,
                    Labels::Needed,
                    None,
                    None,
                )?;
                series.rows(raw)?
            }
        };
        let score = self.score.of(trained, self.rows.insert(rows).clone())?;
        self.since_best = if score < self.best { 0 } else { self.since_best + 1 };
        self.best = self.best.min(score);
        Ok(Spread { mean: score, error: 0.0 })
    }

    /// Whether the last `patience` models were no better than one before them.
    pub(super) fn has_seen_enough(&self, patience: usize) -> bool {
        self.since_best >= patience
    }
}

/// The scores of all settings on one fold.
type Scores = Result<Vec<f64>, Failure>;

/// Trains along the path on every fold, several folds at once, and scores each setting on the rows left out. Meanwhile this
/// thread does `besides`, and then helps.
pub(super) fn all_folds<T>(
    configs: &[ValidConfig],
    raw: &RawData,
    count: usize,
    score: Score,
    signals: &Signals,
    besides: impl FnOnce() -> T,
) -> Result<(Vec<Spread>, T), Failure> {
    let settings = configs[0].get();
    let labels = classes(&raw.labels, settings.positive.as_ref());
    let folds = Folds::deal(&labels, settings.loss.is_classification(), count, settings.seed);
    let next = AtomicUsize::new(0);
    let results: Vec<Mutex<Option<Scores>>> = (0..count).map(|_| Mutex::new(None)).collect();
    let work = || {
        loop {
            let fold = next.fetch_add(1, Ordering::Relaxed);
            let Some(place) = results.get(fold) else { return };
            let scores = one_fold(configs, raw, &folds, fold, score, signals);
            *place.lock().unwrap_or_else(PoisonError::into_inner) = Some(scores);
            tracing::info!("fold {} of {count} is done", fold + 1);
        }
    };
    // Threads of their own: a run waits for its shards, which must find room in the pool.
    let done = thread::scope(|scope| {
        for _ in 1..rayon::current_num_threads().min(count + 1) {
            scope.spawn(work);
        }
        let done = besides();
        work();
        done
    });
    let mut by_fold = Vec::with_capacity(count);
    for result in results {
        by_fold.extend(result.into_inner().unwrap_or_else(PoisonError::into_inner).transpose()?);
    }
    let of_setting = |at: usize| by_fold.iter().map(|fold| fold[at]).collect::<Vec<f64>>();
    Ok(((0..configs.len()).map(|at| Spread::of(&of_setting(at))).collect(), done))
}

fn one_fold(
    configs: &[ValidConfig],
    raw: &RawData,
    folds: &Folds,
    fold: usize,
    score: Score,
    signals: &Signals,
) -> Scores {
    let (inside, outside) = folds.split(raw, fold);
    let set = TrainingSet::prepare(&configs[0], inside)?;
    let mut series = Series::new(set)?;
    let held_out = series.rows(outside)?;
    let mut console = Console::start(true, None, signals.clone());
    let mut scores = Vec::with_capacity(configs.len());
    for config in configs {
        let trained = series.run(config, Search::Near, &mut console)?;
        scores.push(score.of(&trained, held_out.clone())?);
    }
    Ok(scores)
}
