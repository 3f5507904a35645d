//! The dual round of a shard (M5): follow the model, one or more coordinate passes, send what changed most.
//!
//! max over alpha of the shard   -(1/N) sum_i l*(alpha_i) - (lambda/2) sum_j theta_j u_j^2
//!
//! by single coordinates in random order. With several shards each one multiplies its own changes by
//! sigma': the number of shards M makes the sum of their independent steps safe whatever the data are, and
//! the coordinator says how much of that is needed.

use crate::{
    data::{CsrMatrix, Row},
    loss::{Loss, with_loss},
    rng,
    round::{ModelDelta, Sparse, narrowed},
};

use super::Shard;

/// A weight and its selector, side by side for the cache.
#[derive(Debug, Clone, Copy, Default)]
struct Cell {
    w: f64,
    theta: f64,
}

/// The rows of a pass.
struct Pass<'a> {
    x: &'a CsrMatrix,
    intercept: bool,
    y: &'a [f64],
    weights: Option<&'a [f64]>,
    /// `sigma' / (lambda N)`.
    step: f64,
}

impl Shard {
    /// Applies `delta`, ascends, and returns the largest entries of `u - held`.
    pub(super) fn ascend(&mut self, round: u64, delta: &ModelDelta) -> Sparse<f32> {
        self.follow(delta);
        self.focus();
        let before = self.beta.clone();
        self.run_passes(round, delta);
        self.commit(&before);
        self.largest_unsent()
    }

    /// `w~, theta~ += delta`.
    fn follow(&mut self, delta: &ModelDelta) {
        if delta.whole {
            for &j in &self.active {
                self.model[j as usize] = 0.0;
                self.theta[j as usize] = 0;
            }
            self.active.clear();
        }
        for (i, &j) in delta.indices.iter().enumerate() {
            self.model[j as usize] = delta.weights[i];
            self.theta[j as usize] = delta.theta[i];
        }
        self.active.extend_from_slice(&delta.indices);
        self.active.sort_unstable();
        self.active.dedup();
        self.active.retain(|&j| self.theta[j as usize] > 0);
    }

    /// Makes the view hold the active columns. A rebuild costs a pass over the shard, so it takes in the
    /// columns most likely to become active next.
    fn focus(&mut self) {
        if self.view.covers(&self.active) {
            return;
        }
        let mut columns = Vec::new();
        let spare = self.active.len() / 4 + 64;
        let (u, theta) = (&self.u, &self.theta);
        let outside = |j: usize| if theta[j] > 0 { 0.0 } else { u[j].abs() };
        self.ahead.select(u.len(), spare, outside, &mut columns);
        columns.extend_from_slice(&self.active);
        columns.sort_unstable();
        self.view.restrict(&self.design, &self.facts.counts, &columns);
    }

    fn run_passes(&mut self, round: u64, delta: &ModelDelta) {
        let mut cells = vec![Cell::default(); self.view.len()];
        for &j in &self.active {
            cells[self.view.position(j)] = Cell {
                w: f64::from(self.model[j as usize]),
                theta: f64::from(self.theta[j as usize]) / 255.0,
            };
        }
        let pass = Pass {
            x: self.view.matrix(&self.design),
            intercept: self.job.intercept,
            y: &self.y,
            weights: self.weights.as_deref(),
            step: f64::from(delta.caution) * self.job.shards as f64 * self.scale(),
        };
        let mut order: Vec<u32> = (0..self.beta.len() as u32).collect();
        for local in 0..self.job.passes as u64 {
            let turn = round * self.job.passes as u64 + local;
            rng::shuffle(&mut order, self.job.seed, self.number, turn);
            with_loss!(self.job.loss, l => pass.run(l, &order, &mut cells, &mut self.beta));
        }
    }

    /// Adds the changes of alpha to `u`.
    fn commit(&mut self, before: &[f64]) {
        let scale = self.scale();
        let changes: Vec<f64> = (0..before.len())
            .map(|i| -scale * self.weight(i) * (self.beta[i] - before[i]))
            .collect();
        self.shift_u(&changes);
    }

    /// The largest entries of `u - held`, which `held` grows by exactly as they are sent.
    pub(super) fn largest_unsent(&mut self) -> Sparse<f32> {
        let mut indices = Vec::new();
        let (u, held) = (&self.u, &self.held);
        self.uplink.select(u.len(), self.job.uplink, |j| (u[j] - held[j]).abs(), &mut indices);
        if self.job.intercept {
            indices.insert(0, 0);
        }
        let values: Vec<f32> =
            indices.iter().map(|&j| narrowed(u[j as usize] - held[j as usize])).collect();
        for (&j, &v) in indices.iter().zip(&values) {
            self.held[j as usize] += f64::from(v);
        }
        Sparse { indices, values }
    }
}

/// `x'w` and `sum_j theta_j x_j^2`, each in two sums side by side.
#[inline]
fn score_and_length(row: Row<'_>, cells: &[Cell]) -> (f64, f64) {
    let (indices, last) = row.indices.as_chunks::<2>();
    let (values, rest) = row.values.as_chunks::<2>();
    let (mut z, mut norm) = ([0.0; 2], [0.0; 2]);
    for (j, v) in indices.iter().zip(values) {
        for lane in 0..2 {
            let (cell, v) = (cells[j[lane] as usize], f64::from(v[lane]));
            z[lane] += v * cell.w;
            norm[lane] += v * v * cell.theta;
        }
    }
    for (&j, &v) in last.iter().zip(rest) {
        let (cell, v) = (cells[j as usize], f64::from(v));
        z[0] += v * cell.w;
        norm[0] += v * v * cell.theta;
    }
    (z[0] + z[1], norm[0] + norm[1])
}

impl Pass<'_> {
    /// One coordinate step for every row in `order`.
    fn run<L: Loss>(&self, loss: L, order: &[u32], cells: &mut [Cell], beta: &mut [f64]) {
        for &i in order {
            let i = i as usize;
            let row = self.x.row(i);
            let constant = if self.intercept { cells[0] } else { Cell::default() };
            // S1: the score, and the curvature of D along this coordinate (M4).
            let (score, length) = score_and_length(row, cells);
            let (z, norm) = (constant.w + score, constant.theta + length);
            let c = self.weights.map_or(1.0, |c| c[i]);
            let curvature = self.step * norm * c;
            if !(z.is_finite() && curvature.is_finite()) {
                // Values near the end of f32 can do that. This alpha stays where it is, in the domain.
                continue;
            }
            let next = loss.coordinate_step(beta[i], z, curvature, self.y[i]);
            let change = next - beta[i];
            if change == 0.0 || c == 0.0 {
                continue;
            }
            beta[i] = next;
            // S2: the model follows.
            let move_by = -self.step * c * change;
            if self.intercept {
                cells[0].w += move_by * constant.theta;
            }
            for (&j, &v) in row.indices.iter().zip(row.values) {
                let cell = &mut cells[j as usize];
                cell.w += move_by * cell.theta * f64::from(v);
            }
        }
    }
}
