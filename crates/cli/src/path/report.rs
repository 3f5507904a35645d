//! The table of a path.

use std::{fmt::Write, time::Duration};

use ddiht_core::{
    config::ValidConfig,
    folds::{self, Spread},
    train::Trained,
};
use serde::Serialize;

use crate::{failure::Failure, output};

/// One k and one lambda.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Setting {
    pub(super) k: usize,
    pub(super) lambda: f64,
    pub(super) objective: f64,
    pub(super) dual_bound: Option<f64>,
    pub(super) gap: Option<f64>,
    nnz: usize,
    rounds: u64,
    passes: f64,
    seconds: f64,
    pub(super) score: Option<f64>,
    pub(super) score_error: Option<f64>,
}

impl Setting {
    /// Of what was `trained` after the settings `before` it, which have taken so long.
    pub(super) fn new(config: &ValidConfig, trained: &Trained, before: Duration) -> Self {
        let model = &trained.model;
        Self {
            k: config.get().k,
            lambda: model.lambda,
            objective: model.objective,
            dual_bound: model.dual_bound,
            gap: model.dual_bound.map(|bound| gap(model.objective, bound)),
            nnz: model.nnz(),
            rounds: trained.tally.reported,
            passes: trained.tally.passes(),
            seconds: trained.tally.elapsed.saturating_sub(before).as_secs_f64(),
            score: None,
            score_error: None,
        }
    }

    /// Takes its score on rows that were not trained on.
    pub(super) fn judge(&mut self, spread: &Spread) {
        (self.score, self.score_error) = (Some(spread.mean), Some(spread.error));
    }

    /// No model of this setting is better than `bound` either.
    fn learn(&mut self, bound: f64) {
        let better = self.dual_bound.is_none_or(|own| own < bound).then_some(bound);
        self.dual_bound = better.or(self.dual_bound);
        self.gap = self.dual_bound.map(|bound| gap(self.objective, bound));
    }

    pub(super) fn line(&self) -> String {
        let score = self.score.map_or_else(String::new, |score| format!("  score {score:.5}"));
        format!("k {}  lambda {:e}  P {:.6}{score}", self.k, self.lambda, self.objective)
    }
}

fn gap(objective: f64, bound: f64) -> f64 {
    if objective == 0.0 { 0.0 } else { (objective - bound) / objective }
}

/// A bound holds for all settings with fewer features and a stronger ridge too: their models are among those it speaks of,
/// and their P is larger.
pub(super) fn share_bounds(settings: &mut [Setting]) {
    let known: Vec<(usize, f64, Option<f64>)> =
        settings.iter().map(|s| (s.k, s.lambda, s.dual_bound)).collect();
    for setting in settings {
        let applies = |&&(k, lambda, _): &&(usize, f64, Option<f64>)| {
            k >= setting.k && lambda <= setting.lambda
        };
        let bounds = known.iter().filter(applies).filter_map(|known| known.2);
        if let Some(best) = bounds.reduce(f64::max) {
            setting.learn(best);
        }
    }
}

/// The best setting and the smallest within one standard error of it, where there are scores. Smaller k come first among
/// equals, and larger lambda.
pub(super) fn choices(settings: &[Setting]) -> Option<(usize, usize)> {
    let mut order: Vec<usize> = (0..settings.len()).collect();
    order.sort_by(|&a, &b| {
        let (a, b) = (&settings[a], &settings[b]);
        a.k.cmp(&b.k).then(b.lambda.total_cmp(&a.lambda))
    });
    let spread = |&at: &usize| {
        let setting = &settings[at];
        Some(Spread { mean: setting.score?, error: setting.score_error? })
    };
    let spreads: Option<Vec<Spread>> = order.iter().map(spread).collect();
    let (best, simplest) = folds::choose(&spreads?)?;
    Some((order[best], order[simplest]))
}

/// What a path found.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    pub(super) path: Vec<Setting>,
    pub(super) score: Option<&'static str>,
    pub(super) best: Option<Setting>,
    pub(super) one_standard_error: Option<Setting>,
    seconds: f64,
}

impl Report {
    pub(super) fn new(path: Vec<Setting>, score: &'static str, time: Duration) -> Self {
        let choices = choices(&path);
        Self {
            score: choices.map(|_| score),
            best: choices.map(|(best, _)| path[best].clone()),
            one_standard_error: choices.map(|(_, simplest)| path[simplest].clone()),
            path,
            seconds: time.as_secs_f64(),
        }
    }

    pub(super) fn print(&self, json: bool) -> Result<(), Failure> {
        if !json {
            return output::print(&self.text());
        }
        let mut text = serde_json::to_string(self).map_err(Failure::run)?;
        text.push('\n');
        output::print(&text)
    }

    fn text(&self) -> String {
        let mut text = format!(
            "{:>8}  {:>8}  {:>11}  {:>11}  {:>8}{}\n",
            "k",
            "lambda",
            "objective",
            "bound",
            "gap",
            self.score.map_or_else(String::new, |name| format!("  {name:>18}"))
        );
        for s in &self.path {
            let bound = s.dual_bound.map_or_else(|| "-".to_owned(), |b| format!("{b:.8}"));
            let gap = s.gap.map_or_else(|| "-".to_owned(), |g| format!("{:.2} %", 100.0 * g));
            let score = match (s.score, s.score_error) {
                (Some(mean), Some(error)) if error > 0.0 => format!("  {mean:>9.5} +- {error:.4}"),
                (Some(mean), _) => format!("  {mean:>18.5}"),
                _ => String::new(),
            };
            let _ = writeln!(
                text,
                "{:>8}  {:>8.1e}  {:>11.8}  {bound:>11}  {gap:>8}{score}",
                s.k, s.lambda, s.objective
            );
        }
        if let (Some(best), Some(simplest)) = (&self.best, &self.one_standard_error) {
            let _ = writeln!(text, "best: k {}, lambda {:e}", best.k, best.lambda);
            let _ = writeln!(
                text,
                "smallest within one standard error: k {}, lambda {:e}",
                simplest.k, simplest.lambda
            );
        }
        text
    }
}
