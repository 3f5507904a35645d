//! Loss, gradient and curvature of a shard at a model (M10).

use rayon::prelude::*;

use crate::{
    design::row_blocks,
    loss::{Loss, with_smoothed},
    round::{Probe, Reply, Slope, Sparse, Weights, shortened},
    threshold::TopK,
};

use super::Shard;

/// Full gradient and diagonal curvature at the model of the last nomination, the latter over the steps that
/// columns would take.
#[derive(Debug)]
pub(super) struct Survey {
    gradient: Vec<f64>,
    curvature: Vec<f64>,
}

/// How often curvature is taken over the step that it suggests: after the second time steps are about right.
pub(super) const SECANTS: usize = 2;

/// Sums over a block of rows.
struct Partial {
    loss: f64,
    smoothed: f64,
    gradient: Vec<f64>,
}

/// Blocks are cut by the number of rows alone.
fn blocks(rows: usize) -> usize {
    (rows / 512).clamp(1, 8)
}

impl Shard {
    /// Losses and the gradient on the support of `probe`.
    pub(crate) fn slope(&mut self, probe: &Probe) -> Slope {
        let support = &probe.model.indices;
        self.look_at(support);
        let w = self.view_weights(&probe.model);
        let parts: Vec<Partial> = row_blocks(self.design.rows(), blocks(self.design.rows()))
            .into_par_iter()
            .map(|rows| self.block_slope(probe, &w, rows))
            .collect();
        let mut total = Partial { loss: 0.0, smoothed: 0.0, gradient: vec![0.0; w.len()] };
        for part in parts {
            total.loss += part.loss;
            total.smoothed += part.smoothed;
            total.gradient.iter_mut().zip(&part.gradient).for_each(|(t, p)| *t += p);
        }
        let gradient =
            support.iter().map(|&j| shortened(total.gradient[self.view.position(j)])).collect();
        let visited = (self.view.matrix(&self.design).nnz() + self.design.rows()) as u64;
        Slope { loss: total.loss, smoothed: total.smoothed, gradient, visited }
    }

    /// Whether smoothing changes nothing.
    fn is_exact(&self, probe: &Probe) -> bool {
        let corner = self.job.loss.has_kink() || self.job.loss.has_corner();
        probe.smoothing.is_none() || !corner
    }

    fn block_slope(&self, probe: &Probe, w: &[f64], rows: std::ops::Range<usize>) -> Partial {
        let per_row = 1.0 / self.job.total_rows as f64;
        let exact = self.is_exact(probe);
        let mut part = Partial { loss: 0.0, smoothed: 0.0, gradient: vec![0.0; w.len()] };
        with_smoothed!(self.job.loss, probe.smoothing, l => for i in rows {
            let row = self.view.row(&self.design, i);
            let constant = if self.job.intercept { w[0] } else { 0.0 };
            let (z, y, c) = (constant + row.dot(w), self.y[i], self.weight(i));
            let (value, derivative) = l.value_and_derivative(z, y);
            let value = c * value;
            part.smoothed += value;
            part.loss += if exact { value } else { c * self.job.loss.value(z, y) };
            let slope = c * derivative * per_row;
            if slope != 0.0 {
                if self.job.intercept {
                    part.gradient[0] += slope;
                }
                row.axpy_into(slope, &mut part.gradient);
            }
        });
        part
    }

    /// The `count` columns outside the support whose expected gain `g^2 / (2 H)` is largest in this shard.
    pub(super) fn nominate(&mut self, probe: &Probe, count: usize, secants: usize) -> Reply {
        let survey = self.survey_at(probe, secants);
        let floor = self.job.lambda / self.job.shards as f64;
        let mut outside = vec![true; self.job.cols];
        for &j in &probe.model.indices {
            outside[j as usize] = false;
        }
        let gain = |j: usize| {
            let g = survey.gradient[j];
            if outside[j] { g * g / (survey.curvature[j] + floor) } else { 0.0 }
        };
        let mut indices = Vec::new();
        TopK::new().select(self.job.cols, count, gain, &mut indices);
        let pick = |of: &[f64]| indices.iter().map(|&j| of[j as usize] as f32).collect::<Vec<_>>();
        let (values, curvature) = (pick(&survey.gradient), pick(&survey.curvature));
        self.survey = Some(survey);
        Reply::Nominees { gradient: Sparse { indices, values }, curvature }
    }

    /// Exact gradient and curvature on `columns`, as found by the last nomination, or at another model.
    pub(super) fn answer_survey(&mut self, columns: &[u32], at: Option<&Probe>) -> Reply {
        if let Some(probe) = at {
            self.survey = Some(self.survey_at(probe, SECANTS));
        }
        let Some(survey) = &self.survey else {
            let (gradient, curvature) = (vec![0.0; columns.len()], vec![0.0; columns.len()]);
            return Reply::Survey { gradient, curvature };
        };
        let gradient = columns.iter().map(|&j| shortened(survey.gradient[j as usize])).collect();
        let curvature = columns.iter().map(|&j| survey.curvature[j as usize] as f32).collect();
        Reply::Survey { gradient, curvature }
    }

    fn survey_at(&mut self, probe: &Probe, secants: usize) -> Survey {
        self.look_at(&probe.model.indices);
        let scores = self.restricted_scores(&probe.model);
        let per_row = 1.0 / self.job.total_rows as f64;
        let slopes: Vec<(f64, f64)> = with_smoothed!(self.job.loss, probe.smoothing, l => {
            let of_row = |i: usize| {
                let (z, y, c) = (scores[i], self.y[i], self.weight(i) * per_row);
                (c * l.derivative(z, y), c * l.model_curvature(z, y))
            };
            (0..self.design.rows()).map(of_row).collect()
        });
        let mut both = vec![[0.0; 2]; self.job.cols];
        self.design.scatter_both(&slopes, &mut both);
        let (gradient, curvature) = both.into_iter().map(|[g, h]| (g, h)).unzip();
        let mut survey = Survey { gradient, curvature };
        let w = probe.model.to_dense(self.job.cols);
        for _ in 0..secants {
            self.look_ahead(probe, &w, &scores, &mut survey);
        }
        survey
    }

    /// Makes the view that of the columns in `support`, without many others.
    fn look_at(&mut self, support: &[u32]) {
        if !self.view.covers(support) || self.view.len() > 2 * support.len() + 64 {
            self.restrict(support);
        }
    }

    /// The weights of `model`, whose columns the view has, by their place in it.
    fn view_weights(&self, model: &Weights) -> Vec<f64> {
        let mut w = vec![0.0; self.view.len()];
        for (j, v) in model.iter() {
            w[self.view.position(j as u32)] = v;
        }
        w
    }

    /// `x_i'w` for all rows and a `model` whose columns the view has.
    fn restricted_scores(&self, model: &Weights) -> Vec<f64> {
        let w = self.view_weights(model);
        let constant = if self.job.intercept { w[0] } else { 0.0 };
        let score = |i: usize| constant + self.view.row(&self.design, i).dot(&w);
        (0..self.design.rows()).into_par_iter().with_min_len(256).map(score).collect()
    }

    /// The curvature of each column over the step it would take, as the secant of its slope (M10): to 0 from
    /// inside the support, by its own Newton step from outside.
    fn look_ahead(&self, probe: &Probe, w: &[f64], scores: &[f64], survey: &mut Survey) {
        let floor = self.job.lambda / self.job.shards as f64;
        let own = survey.gradient.iter().zip(&survey.curvature).map(|(g, h)| -g / (h + floor));
        let steps: Vec<f64> =
            own.zip(w).map(|(step, &w)| if w == 0.0 { step } else { -w }).collect();
        let per_row = 1.0 / self.job.total_rows as f64;
        let mut change = vec![0.0; self.job.cols];
        with_smoothed!(self.job.loss, probe.smoothing, l => {
            let changes = |i: usize| {
                let (z, y, c) = (scores[i], self.y[i], self.weight(i) * per_row);
                let before = l.derivative(z, y);
                move |step: f64| c * (l.derivative(z + step, y) - before)
            };
            self.design.scatter_changes(&steps, changes, &mut change);
        });
        for (((h, change), step), &w) in survey.curvature.iter_mut().zip(change).zip(steps).zip(w) {
            let secant = change / step;
            if secant.is_finite() {
                // From outside the step is a guess: too long a one shows, too short a one proves nothing.
                *h = if w == 0.0 { secant.max(*h) } else { secant.max(0.0) };
            }
        }
    }
}
