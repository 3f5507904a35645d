//! The summary of a run: one JSON object, or the same facts as a short table.

use ddiht_core::{
    class_metrics::ClassQuality,
    coordinator::{Stopped, relative_gap},
    evaluate::Quality,
    local::Traffic,
    model::Model,
    one_vs_rest::TrainedClasses,
    train::Trained,
};
use serde::Serialize;

use crate::output::{percent, table};

/// How long the parts of a run took.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Seconds {
    pub(crate) load: f64,
    pub(crate) train: f64,
    pub(crate) total: f64,
}

/// The two measures of the summary.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(untagged)]
pub(crate) enum Measures {
    Classes { accuracy: f64, auc: Option<f64> },
    Numbers { rmse: f64, r2: Option<f64> },
}

impl From<&Quality> for Measures {
    fn from(quality: &Quality) -> Self {
        match quality {
            Quality::Classes(c) => Self::Classes { accuracy: c.accuracy, auc: c.auc },
            Quality::Numbers(r) => Self::Numbers { rmse: r.rmse, r2: r.r2 },
        }
    }
}

impl From<&ClassQuality> for Measures {
    fn from(quality: &ClassQuality) -> Self {
        Self::Classes { accuracy: quality.accuracy, auc: quality.auc }
    }
}

impl std::fmt::Display for Measures {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let optional = |x: Option<f64>| x.map_or_else(|| "-".to_owned(), |x| format!("{x:.4}"));
        match *self {
            Self::Classes { accuracy, auc } => {
                write!(f, "accuracy {}, AUC {}", percent(accuracy), optional(auc))
            }
            Self::Numbers { rmse, r2 } => write!(f, "RMSE {rmse:.6}, R2 {}", optional(r2)),
        }
    }
}

/// What `train` prints.
#[derive(Debug, Serialize)]
pub(crate) struct Summary {
    objective: f64,
    dual_bound: Option<f64>,
    gap: Option<f64>,
    nnz: usize,
    rows: usize,
    features: usize,
    rounds: u64,
    passes: f64,
    seconds: Seconds,
    train: Option<Measures>,
    test: Option<Measures>,
    bytes: Traffic,
    staleness: StalenessFigures,
    stopped: Stopped,
    selected: Option<Vec<usize>>,
    /// Where there are several classes; the figures above are then their means and sums.
    #[serde(skip_serializing_if = "Option::is_none")]
    classes: Option<Vec<ClassFigures>>,
}

/// One of several classes.
#[derive(Debug, Clone, Copy, Serialize)]
struct ClassFigures {
    label: f64,
    objective: f64,
    dual_bound: Option<f64>,
    gap: Option<f64>,
    nnz: usize,
    stopped: Stopped,
}

impl ClassFigures {
    fn of(label: f64, run: &Trained) -> Self {
        let Model { objective, dual_bound, .. } = run.model;
        Self {
            label,
            objective,
            dual_bound,
            gap: dual_bound.map(|bound| relative_gap(objective, bound)),
            nnz: run.model.nnz(),
            stopped: run.stopped,
        }
    }
}

/// How old answers were when they were used.
#[derive(Debug, Clone, Copy, Serialize)]
struct StalenessFigures {
    mean: f64,
    largest: u64,
}

impl Summary {
    pub(crate) fn new(
        trained: &Trained,
        seconds: Seconds,
        test: Option<Measures>,
        bytes: Traffic,
    ) -> Self {
        let tally = &trained.tally;
        let model = &trained.model;
        Self {
            objective: model.objective,
            dual_bound: model.dual_bound,
            gap: model.dual_bound.map(|bound| relative_gap(model.objective, bound)),
            nnz: model.nnz(),
            rows: model.rows,
            features: model.features,
            rounds: tally.reported,
            passes: tally.passes(),
            seconds,
            train: trained.quality.as_ref().map(Measures::from),
            test,
            bytes,
            staleness: StalenessFigures {
                mean: tally.staleness.mean(),
                largest: tally.staleness.largest,
            },
            stopped: trained.stopped,
            selected: (!tally.selected.is_empty()).then(|| tally.selected.clone()),
            classes: None,
        }
    }

    /// Of several classes: the mean objective, which the mean of the bounds bounds, and what all runs took.
    pub(crate) fn of_classes(
        trained: &TrainedClasses,
        seconds: Seconds,
        test: Option<Measures>,
    ) -> Self {
        let runs = &trained.runs;
        let count = runs.len() as f64;
        let objective = runs.iter().map(|run| run.model.objective).sum::<f64>() / count;
        let bounds: Option<f64> = runs.iter().map(|run| run.model.dual_bound).sum();
        let dual_bound = bounds.map(|sum| sum / count);
        let staleness = |run: &Trained| run.tally.staleness;
        let answers: u64 = runs.iter().map(|run| staleness(run).answers).sum();
        let ages: u64 = runs.iter().map(|run| staleness(run).total).sum();
        let selected: Vec<usize> = runs.iter().flat_map(|run| run.tally.selected.clone()).collect();
        Self {
            objective,
            dual_bound,
            gap: dual_bound.map(|bound| relative_gap(objective, bound)),
            nnz: runs.iter().map(|run| run.model.nnz()).sum(),
            rows: runs[0].model.rows,
            features: runs[0].model.features,
            rounds: runs.iter().map(|run| run.tally.reported).sum(),
            passes: runs.iter().map(|run| run.tally.passes()).sum(),
            seconds,
            train: Some(Measures::from(&trained.quality)),
            test,
            bytes: Traffic::default(),
            staleness: StalenessFigures {
                mean: ages as f64 / answers.max(1) as f64,
                largest: runs.iter().map(|run| staleness(run).largest).max().unwrap_or(0),
            },
            stopped: trained.stopped(),
            selected: (!selected.is_empty()).then_some(selected),
            classes: Some(
                trained.labels.iter().zip(runs).map(|(&l, run)| ClassFigures::of(l, run)).collect(),
            ),
        }
    }

    /// How many features were chosen.
    fn chosen(&self) -> String {
        match &self.classes {
            None => format!("{} of {}", self.nnz, self.features),
            Some(classes) => {
                let (count, most) = (classes.len(), classes.iter().map(|class| class.nnz).max());
                let most = most.unwrap_or(0);
                format!(
                    "{} of {} for each of {count} classes, {} weights",
                    most, self.features, self.nnz
                )
            }
        }
    }

    /// The table for people.
    pub(crate) fn text(&self) -> String {
        let none = || "-".to_owned();
        let stopped = match self.stopped {
            Stopped::Gap => "the gap asked for was reached",
            Stopped::Rounds => "the rounds were used up",
            Stopped::Time => "the time was used up",
            Stopped::Stalled => "neither model nor bound improved any more",
            Stopped::Interrupted => "it was interrupted",
        };
        let Seconds { load, train, total } = self.seconds;
        let proof = self.gap.map_or_else(
            || "no bound from this algorithm".to_owned(),
            |gap| {
                let what = if self.classes.is_some() { "no models" } else { "no model" };
                let gap = percent(gap.max(0.0));
                let verb = if self.classes.is_some() { "are" } else { "is" };
                format!("{what} with as few features {verb} more than {gap} better")
            },
        );
        let mut lines = vec![
            ("objective", format!("{:.8}", self.objective)),
            ("bound", self.dual_bound.map_or_else(none, |d| format!("{d:.8}"))),
            ("gap", format!("{} ({proof})", self.gap.map_or_else(none, percent))),
            ("features", self.chosen()),
            ("rows", self.rows.to_string()),
            ("train", self.train.map_or_else(none, |m| m.to_string())),
            ("test", self.test.map_or_else(none, |m| m.to_string())),
            ("rounds", format!("{} ({:.0} passes over the data)", self.rounds, self.passes)),
            ("seconds", format!("{train:.2} to train, {load:.2} to load, {total:.2} in all")),
            ("stopped", format!("because {stopped}")),
        ];
        if self.bytes.up > 0 {
            let Traffic { up, down, .. } = self.bytes;
            lines.push(("bytes", format!("{up} up, {down} down, all workers")));
        }
        table(&lines)
    }
}
