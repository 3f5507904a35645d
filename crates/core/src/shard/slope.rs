//! Loss and gradient of a shard at a model (M10).

use std::ops::Range;

use rayon::prelude::*;

use crate::{
    design::row_blocks,
    loss::{Loss, with_smoothed},
    round::{Probe, Slope, Weights, shortened},
};

use super::Shard;

/// A model and its scores: it is often the next to be looked at closely.
#[derive(Debug, Default)]
pub(super) struct Scored {
    pub(super) model: Weights,
    pub(super) scores: Vec<f64>,
}

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
        let (w, rows) = (self.view_weights(&probe.model), self.design.rows());
        let mut scores = std::mem::take(&mut self.scored.scores);
        scores.resize(rows, 0.0);
        let mut tasks = Vec::new();
        let mut rest = &mut scores[..];
        for rows in row_blocks(rows, blocks(rows)) {
            let (part, after) = rest.split_at_mut(rows.len());
            tasks.push((rows, part));
            rest = after;
        }
        let tasks = tasks.into_par_iter();
        let parts: Vec<Partial> =
            tasks.map(|(rows, scores)| self.block_slope(probe, &w, rows, scores)).collect();
        self.scored = Scored { model: probe.model.clone(), scores };
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

    fn block_slope(
        &self,
        probe: &Probe,
        w: &[f64],
        rows: Range<usize>,
        scores: &mut [f64],
    ) -> Partial {
        let per_row = 1.0 / self.job.total_rows as f64;
        let exact = self.is_exact(probe);
        let mut part = Partial { loss: 0.0, smoothed: 0.0, gradient: vec![0.0; w.len()] };
        let x = self.view.matrix(&self.design).entries();
        let constant = if self.job.intercept { w[0] } else { 0.0 };
        with_smoothed!(self.job.loss, probe.smoothing, l => for (i, score) in rows.zip(scores) {
            let row = x.row(i);
            let (z, y, c) = (constant + row.dot_in_order(w), self.y[i], self.weight(i));
            *score = z;
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

    /// Makes the view that of the columns in `support`, without many others.
    pub(super) fn look_at(&mut self, support: &[u32]) {
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

    /// `x_i'w` for all rows and a `model` whose columns the view has; known already if it was the last that was probed.
    pub(super) fn restricted_scores(&mut self, model: &Weights) -> Vec<f64> {
        let Scored { model: last, scores } = std::mem::take(&mut self.scored);
        if last == *model && scores.len() == self.design.rows() {
            return scores;
        }
        self.view.design(&self.design).scores(&self.view_weights(model))
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        config::Config,
        data::CsrMatrix,
        loss::LossKind,
        round::{Directive, Probe, Reply, Weights},
        shard::{Rows, Shard},
    };

    const ROWS: usize = 1500;

    fn shard() -> Shard {
        let (mut x, mut y) = (CsrMatrix::new(7), Vec::new());
        for i in 0..ROWS {
            let v = (i % 11) as f32 / 7.0 - 0.6;
            x.push_row(&[1 + (i % 3) as u32, 4, 5 + (i % 2) as u32], &[v, 1.0 - v, v * v]);
            y.push(if i % 5 < 2 { 1.0 } else { -1.0 });
        }
        let config = Config { loss: LossKind::Logistic, ..Config::new(2) };
        let job = config.check().unwrap().job(ROWS, 7, x.nnz());
        Shard::new(0, job, Rows { x, y, weights: None })
    }

    fn probe(weight: f64) -> Probe {
        let model = Weights { indices: vec![0, 2, 4], values: vec![0.1, weight, -0.3] };
        Probe { model, smoothing: None }
    }

    fn nominees(shard: &mut Shard, weight: f64) -> Reply {
        shard.handle(2, &Directive::Nominate { probe: probe(weight), count: 2, hasty: false })
    }

    #[test]
    fn nominations_are_the_same_after_a_gradient_of_this_model_or_another() {
        let expected = nominees(&mut shard(), 0.7);
        for before in [0.7, -0.2] {
            let mut shard = shard();
            shard.handle(1, &Directive::Gradient(probe(before)));
            assert_eq!(shard.scored.model, probe(before).model);
            assert_eq!(nominees(&mut shard, 0.7), expected, "after {before}");
        }
    }
}
