//! The dual round of a shard (M5): follow the model, one or more coordinate passes, send what changed most.
//!
//! max over alpha of the shard   -(1/N) sum_i l*(alpha_i) - (lambda/2) sum_j theta_j u_j^2
//!
//! by single coordinates in random order. With several shards each one multiplies its own changes by
//! sigma': the number of shards M makes the sum of their independent steps safe whatever the data are, and
//! the coordinator says how much of that is needed.

use rayon::prelude::*;

use crate::{
    loss::with_loss,
    round::{ModelDelta, Sparse, narrowed},
};

use super::{
    Shard,
    pass::{Cell, LEG, Lane, Pass},
};

/// Most lanes of a pass, and how many times all of them the curvature of the conjugate is above that of the rows.
const LANES: usize = 8;
const FLATTER: f64 = 4.0;
/// Numbers that are worth a task.
const BLOCK: usize = 1 << 15;

impl Shard {
    /// Applies `delta`, ascends, and returns the largest entries of `u - held`.
    pub(super) fn ascend(&mut self, round: u64, delta: &ModelDelta) -> Sparse<f32> {
        self.relaxation = None;
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
        self.restrict(&columns);
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
            x: self.view.matrix(&self.design).entries(),
            intercept: self.job.intercept,
            y: &self.y,
            weights: self.weights.as_deref(),
            step: f64::from(delta.caution) * self.job.shards as f64 * self.scale(),
            settling: false,
            fresh: false,
        };
        let mut lanes = vec![Lane::default(); self.lanes(pass.step)];
        let pass = Pass { step: pass.step * lanes.len() as f64, ..pass };
        let Self { tour, beta, job, number, .. } = self;
        tour.restart(beta.len());
        for local in 0..job.passes as u64 {
            let turn = (job.seed, *number, round * job.passes as u64 + local);
            with_loss!(job.loss, l => match lanes.len() {
                1 => pass.run(l, turn, tour, &mut cells[..], beta),
                _ => pass.run_lanes(l, turn, tour, (&mut cells, &mut lanes), beta),
            });
        }
    }

    /// In how many lanes a pass is made (M4): as many as do not shorten its steps by much, which is so where the curvature
    /// of the conjugate is far above that of the rows; and one where columns are too many to be copied all the time.
    fn lanes(&self, step: f64) -> usize {
        let (x, flat) = (self.view.matrix(&self.design), self.job.loss.conjugate_curvature_min());
        let rows = x.rows().max(1);
        let block =
            |values: &[f32]| values.iter().map(|&v| f64::from(v) * f64::from(v)).sum::<f64>();
        let blocks: Vec<f64> = x.values().par_chunks(BLOCK).map(block).collect();
        let lengths: f64 = blocks.iter().sum();
        let most = flat / (FLATTER * step * (lengths / rows as f64)).max(f64::MIN_POSITIVE);
        let worth = self.view.len() * 4 <= x.nnz() * LEG / rows;
        if worth { (most as usize).clamp(1, LANES) } else { 1 }
    }

    /// Adds the changes of alpha to `u`.
    fn commit(&mut self, before: &[f64]) {
        let scale = self.scale();
        let rows = (0..before.len()).into_par_iter().with_min_len(BLOCK);
        let changes: Vec<f64> =
            rows.map(|i| -scale * self.weight(i) * (self.beta[i] - before[i])).collect();
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{loss::LossKind, shard::sample};

    const ROWS: usize = 6000;
    const FEATURES: u32 = 60;

    fn shard() -> Shard {
        sample::text(ROWS, FEATURES, LossKind::Logistic, 1e-2)
    }

    fn rounds(count: u64, threads: usize) -> (Shard, Vec<Sparse<f32>>) {
        let mut shard = shard();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let sent = pool.install(|| {
            let round = |number| {
                let mut delta = ModelDelta { caution: 1.0, whole: true, ..ModelDelta::default() };
                for j in 0..=FEATURES {
                    delta.push(j, shard.u[j as usize] as f32, 255);
                }
                shard.ascend(number, &delta)
            };
            (1..=count).map(round).collect()
        });
        (shard, sent)
    }

    #[test]
    fn lanes_lead_to_the_optimum() {
        let (mut shard, _) = rounds(12, 2);
        assert_eq!(shard.lanes(shard.scale()), LANES);
        shard.rebuild();
        let gap = sample::proved_gap(&shard);
        assert!((0.0..1e-3).contains(&gap), "{gap}");
    }

    #[test]
    fn threads_never_change_what_lanes_find() {
        let ((one, sent), (three, same)) = (rounds(3, 1), rounds(3, 3));
        assert_eq!(sent, same);
        assert_eq!(one.beta, three.beta);
    }
}
