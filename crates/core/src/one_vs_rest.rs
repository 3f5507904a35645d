//! Three or more classes: one run for each label against all others, over one copy of the rows.
//!
//! The features stay where they are in the shards; what changes from class to class is the targets, and with them
//! the weights of the rows. Each run is the one that `--positive '=LABEL'` asks for, and gives the same model.

use std::{sync::Arc, time::Duration};

use crate::{
    class_metrics::ClassQuality,
    classes::Classes,
    config::ValidConfig,
    coordinator::{Search, Stopped, Tally},
    data::{DataError, LabelCounts, LabelMap, RawData, Sealed},
    enrol::Launch,
    evaluate::Quality,
    local::{Clock, Costs, Host, Observer},
    train::{LabelledRows, Series, TrainError, Trained, TrainingSet, every},
    verdict::{Verdicts, class_numbers},
};

/// The class whose turn it is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Turn {
    /// Its number, from 1.
    pub class: usize,
    /// Number of classes.
    pub classes: usize,
    /// Its label.
    pub label: f64,
}

/// A host that wants to know which class is trained.
pub trait ClassHost: Host {
    /// The runs of `turn` begin.
    fn begin(&mut self, turn: Turn);

    /// They have ended.
    fn end(&mut self, turn: Turn, trained: &Trained);
}

/// Whether `raw` has labels that make this request one of several classes: three or more, no more than are counted, and
/// no rule that makes them two.
pub fn has_several_classes<X>(config: &ValidConfig, raw: &RawData<X>) -> bool {
    let config = config.get();
    if config.positive.is_some() || !config.loss.is_classification() {
        return false;
    }
    let counts = LabelCounts::of(&raw.labels);
    counts.counts().len() > 2 && counts.others() == 0
}

/// A training set of several classes.
#[derive(Debug)]
pub struct ClassSet {
    set: TrainingSet,
    /// Each label with its number of rows, ascending.
    counts: Vec<(f64, u64)>,
    /// The labels and weights of the rows of each shard.
    rows: Vec<LabelledRows>,
}

/// Rows of several classes, ready to be trained on.
#[derive(Debug)]
pub struct OneVsRest {
    series: Series,
    counts: Vec<(f64, u64)>,
    rows: Vec<LabelledRows>,
}

/// What the runs of all classes produced.
#[derive(Debug)]
pub struct TrainedClasses {
    /// The labels, ascending.
    pub labels: Vec<f64>,
    /// The run of each.
    pub runs: Vec<Trained>,
    /// How good the answers of all models together are on the training data.
    pub quality: ClassQuality,
}

impl TrainedClasses {
    /// The models as one.
    pub fn model(&self) -> Classes {
        let models = self.runs.iter().map(|run| run.model.clone()).collect();
        Classes::new(self.labels.clone(), models)
    }

    /// The labels whose models say nothing, for want of time or of a reason.
    pub fn without_weights(&self) -> impl Iterator<Item = f64> + '_ {
        let is_empty = |run: &Trained| run.model.columns().values.iter().all(|&w| w == 0.0);
        self.labels.iter().zip(&self.runs).filter(move |(_, run)| is_empty(run)).map(|(&l, _)| l)
    }

    /// Why the runs ended: of all classes, the one that came least far.
    pub fn stopped(&self) -> Stopped {
        let reasons = self.runs.iter().map(|run| run.stopped);
        reasons.max_by_key(|&why| shortfall(why)).unwrap_or(Stopped::Gap)
    }
}

/// How much a run that ended for this reason may have left undone.
fn shortfall(why: Stopped) -> u8 {
    match why {
        Stopped::Gap => 0,
        Stopped::Stalled => 1,
        Stopped::Rounds => 2,
        Stopped::Time => 3,
        Stopped::Interrupted => 4,
    }
}

impl ClassSet {
    /// Prepares rows for which [`has_several_classes`] holds.
    ///
    /// # Errors
    /// The rows cannot be used.
    pub fn prepare(
        config: &ValidConfig,
        raw: impl Into<RawData<Sealed>>,
    ) -> Result<Self, DataError> {
        let raw = raw.into();
        let counts = LabelCounts::of(&raw.labels).counts().to_vec();
        let shards = config.get().workers;
        let of_shard = |p: usize| LabelledRows {
            labels: every(&raw.labels, p, shards),
            weights: raw.weights.as_deref().map(|all| every(all, p, shards)),
        };
        let rows = (0..shards).map(of_shard).collect();
        let first = counts.first().ok_or(DataError::NoLabels)?.0;
        let set = TrainingSet::prepare(&config.for_class(first, None), raw)?;
        Ok(Self { set, counts, rows })
    }

    /// What a user who asked for `k` features for each class should know, in sentences.
    pub fn remarks(&self, k: usize) -> Vec<String> {
        // Which labels are which class, and what they weigh, is another matter for every class.
        let mut said = Launch { labels: None, ..*self.set.launch() }.remarks(k);
        said.push(format!(
            "{} classes, each trained against the rest; --positive makes two classes of them",
            self.counts.len()
        ));
        said
    }
}

impl OneVsRest {
    /// No run yet; see [`Series::new`].
    ///
    /// # Errors
    /// The entries of a shard file are not what was written, or no matrix.
    pub fn new(set: ClassSet) -> Result<Self, DataError> {
        let ClassSet { set, counts, rows } = set;
        Ok(Self { series: Series::new(set)?, counts, rows })
    }

    /// Trains every class, as `config` says of each. The time is that of all classes: each has an equal share of
    /// what those before it have left.
    ///
    /// # Errors
    /// It was interrupted before the last class, or a class has no model.
    pub fn train(
        &mut self,
        config: &ValidConfig,
        host: &mut (impl ClassHost + Send),
    ) -> Result<TrainedClasses, TrainError> {
        let labels: Vec<f64> = self.counts.iter().map(|&(label, _)| label).collect();
        let mut verdicts = Verdicts::new(self.rows.iter().map(|rows| rows.labels.len()).sum());
        let mut runs = Vec::with_capacity(labels.len());
        for (class, &label) in labels.iter().enumerate() {
            let turn = Turn { class: class + 1, classes: labels.len(), label };
            host.begin(turn);
            let trained = self.train_class(config, turn, host)?;
            if trained.stopped == Stopped::Interrupted && turn.class < turn.classes {
                return Err(TrainError::Unfinished { class: turn.class, classes: turn.classes });
            }
            verdicts.hear(class, &self.series.scores(&trained.weights));
            host.end(turn, &trained);
            runs.push(trained);
        }
        let quality = self.quality(&labels, &verdicts, &runs);
        Ok(TrainedClasses { labels, runs, quality })
    }

    fn train_class(
        &mut self,
        config: &ValidConfig,
        turn: Turn,
        host: &mut (impl Host + Send),
    ) -> Result<Trained, TrainError> {
        let (label, rows) = self.counts[turn.class - 1];
        let others = self.series.launch().job.total_rows as u64 - rows;
        let weights = config.get().class_weight.weights(others, rows);
        let map = LabelMap { weights, ..LabelMap::new(-1.0, 1.0) };
        self.series.retarget(map, &self.rows, label);
        let began = (host.clock())();
        let left = (turn.classes - turn.class + 1) as u32;
        let asked = config.get().limits.time;
        let share = asked.map(|time| time.saturating_sub(began) / left);
        let mut host = FromNow { host, began };
        let own = config.for_class(label, share);
        let mut trained = self.series.run(&own, Search::Whole, &mut host)?;
        // The file says what was asked for, and not what share of the time this class had.
        let asked = config.for_class(label, asked);
        trained.model.settings = Some(asked.settings(trained.model.rows));
        Ok(trained)
    }

    fn quality(&self, labels: &[f64], verdicts: &Verdicts, runs: &[Trained]) -> ClassQuality {
        let of_rows: Vec<f64> = self.rows.iter().flat_map(|rows| rows.labels.clone()).collect();
        // Every label was counted, so none is unknown.
        let truth = class_numbers(labels, &of_rows).unwrap_or_default();
        let auc = |run: &Trained| match &run.quality {
            Some(Quality::Classes(measures)) => measures.auc,
            _ => None,
        };
        let aucs: Vec<Option<f64>> = runs.iter().map(auc).collect();
        ClassQuality::of(labels, &truth, verdicts.classes(), &aucs)
    }
}

/// A host whose clock starts with the run of a class.
struct FromNow<'a, H> {
    host: &'a mut H,
    began: Duration,
}

impl<H: Host> Observer for FromNow<'_, H> {
    fn report(&mut self, tally: &Tally, costs: &Costs) {
        self.host.report(tally, costs);
    }
}

impl<H: Host> Host for FromNow<'_, H> {
    fn clock(&self) -> Clock {
        let (clock, began) = (self.host.clock(), self.began);
        Arc::new(move || clock().saturating_sub(began))
    }

    fn interrupted(&self) -> bool {
        self.host.interrupted()
    }
}

#[cfg(test)]
#[path = "one_vs_rest_tests.rs"]
mod tests;
