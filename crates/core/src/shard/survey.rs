//! What a shard knows of columns beside its own support: gradient and curvature at a model (M10).
//!
//! One pass gives both for all columns, the curvature at the model as it is. Over the step that a column would take it may be
//! another, and that takes two more passes: they are made for columns that can be chosen only. From outside the support a
//! closer look never lowers a curvature, so a column that is not among the best before is hardly so afterwards.

use rayon::prelude::*;

use crate::{
    data::Shortlist,
    loss::{Loss, with_smoothed},
    round::{Probe, Reply, Sparse, shortened},
    threshold::TopK,
};

use super::Shard;

/// Gradient and diagonal curvature of all columns at the model of the last nomination.
#[derive(Debug)]
pub(super) struct Survey {
    probe: Probe,
    scores: Vec<f64>,
    /// Of every column.
    slopes: Vec<[f64; 2]>,
    /// The columns whose curvature is that over their step, ascending.
    refined: Vec<u32>,
    /// Whether columns are looked at closely at all.
    hasty: bool,
}

/// How often curvature is taken over the step that it suggests: after the second time steps are about right.
const SECANTS: usize = 2;
/// Times the nominees, the columns outside the support that are looked at closely.
const CLOSER: usize = 2;

impl Shard {
    /// The `count` columns outside the support whose expected gain `g^2 / (2 H)` is largest in this shard.
    pub(super) fn nominate(&mut self, probe: &Probe, count: usize, hasty: bool) -> Reply {
        let mut survey = self.survey_at(probe, hasty);
        let mut indices = Vec::new();
        if !hasty {
            self.best_outside(&survey, count.saturating_mul(CLOSER), &mut indices);
            indices.extend_from_slice(&probe.model.indices);
            indices.sort_unstable();
            self.refine(&mut survey, &indices);
        }
        self.best_outside(&survey, count, &mut indices);
        let slopes = indices.iter().map(|&j| survey.slopes[j as usize]);
        let (values, curvature) = slopes.map(|[g, h]| (g as f32, h as f32)).unzip();
        self.survey = Some(survey);
        Reply::Nominees { gradient: Sparse { indices, values }, curvature }
    }

    /// Exact gradient and curvature on `columns`, at the model of the last nomination, or at another one.
    pub(super) fn answer_survey(&mut self, columns: &[u32], at: Option<&Probe>) -> Reply {
        let anew = at.map(|probe| self.survey_at(probe, false));
        let Some(mut survey) = anew.or_else(|| self.survey.take()) else {
            let (gradient, curvature) = (vec![0.0; columns.len()], vec![0.0; columns.len()]);
            return Reply::Survey { gradient, curvature };
        };
        if !survey.hasty {
            self.refine(&mut survey, columns);
        }
        let slopes = columns.iter().map(|&j| survey.slopes[j as usize]);
        let (gradient, curvature) = slopes.map(|[g, h]| (shortened(g), h as f32)).unzip();
        self.survey = Some(survey);
        Reply::Survey { gradient, curvature }
    }

    fn survey_at(&mut self, probe: &Probe, hasty: bool) -> Survey {
        self.look_at(&probe.model.indices);
        let scores = self.restricted_scores(&probe.model);
        let per_row = 1.0 / self.job.total_rows as f64;
        let rows: Vec<(f64, f64)> = with_smoothed!(self.job.loss, probe.smoothing, l => {
            let of_row = |i: usize| {
                let (z, y, c) = (scores[i], self.y[i], self.weight(i) * per_row);
                (c * l.derivative(z, y), c * l.model_curvature(z, y))
            };
            (0..self.design.rows()).into_par_iter().with_min_len(1024).map(of_row).collect()
        });
        // Memory of the last survey is there already, and new memory takes long to get.
        let mut slopes = self.survey.take().map_or_else(Vec::new, |last| last.slopes);
        slopes.clear();
        slopes.resize(self.job.cols, [0.0; 2]);
        self.design.scatter_both(&rows, &mut slopes);
        Survey { probe: probe.clone(), scores, slopes, refined: Vec::new(), hasty }
    }

    /// The `count` columns outside the support of largest gain, by what is known of them.
    fn best_outside(&self, survey: &Survey, count: usize, indices: &mut Vec<u32>) {
        let floor = self.job.lambda / self.job.shards as f64;
        let support = survey.probe.model.indices.iter().copied();
        let inside = Shortlist::of(support, self.job.cols);
        let gain = |j: usize| {
            let [g, h] = survey.slopes[j];
            if inside.has(j as u32) { 0.0 } else { g * g / (h + floor) }
        };
        TopK::new().select(self.job.cols, count, gain, indices);
    }

    /// Looks closely at `columns` (ascending), where that has not been done. What is found of a column does not depend on
    /// which others are looked at with it.
    fn refine(&self, survey: &mut Survey, columns: &[u32]) {
        let new = |j: &u32| survey.refined.binary_search(j).is_err();
        let columns: Vec<u32> = columns.iter().copied().filter(new).collect();
        if columns.is_empty() {
            return;
        }
        let list = Shortlist::of(columns, self.job.cols);
        let mut weights = vec![0.0; list.columns().len()];
        for (j, w) in survey.probe.model.iter() {
            if let Some(at) = list.place(j as u32) {
                weights[at] = w;
            }
        }
        for _ in 0..SECANTS {
            self.look_ahead(&list, &weights, survey);
        }
        survey.refined.extend_from_slice(list.columns());
        survey.refined.sort_unstable();
    }

    /// The curvature of each column over the step it would take, as the secant of its slope (M10): to 0 from
    /// inside the support, by its own Newton step from outside.
    fn look_ahead(&self, list: &Shortlist, weights: &[f64], survey: &mut Survey) {
        let floor = self.job.lambda / self.job.shards as f64;
        let step = |(&j, &w): (&u32, &f64)| {
            let [g, h] = survey.slopes[j as usize];
            if w == 0.0 { -g / (h + floor) } else { -w }
        };
        let steps: Vec<f64> = list.columns().iter().zip(weights).map(step).collect();
        let per_row = 1.0 / self.job.total_rows as f64;
        let mut change = vec![0.0; steps.len()];
        with_smoothed!(self.job.loss, survey.probe.smoothing, l => {
            let changes = |i: usize| {
                let (z, y, c) = (survey.scores[i], self.y[i], self.weight(i) * per_row);
                let change = l.slope_change(z, y);
                move |step: f64| c * change(step)
            };
            self.design.scatter_changes(list, &steps, changes, &mut change);
        });
        for (at, &j) in list.columns().iter().enumerate() {
            let ([_, h], secant) = (&mut survey.slopes[j as usize], change[at] / steps[at]);
            if secant.is_finite() {
                // From outside the step is a guess: too long a one shows, too short a one proves nothing.
                *h = if weights[at] == 0.0 { secant.max(*h) } else { secant.max(0.0) };
            }
        }
    }
}
