//! DIHT and SDIHT (Liu et al., ICML 2017, Alg. 1 and 2), and the worker of D-DIHT (report, Alg. 1).
//!
//! max_alpha  D(alpha) = -(1/N) sum_i l*(alpha_i) - (lambda/2) ||H_k(wf)||^2,   wf = -(1/(lambda N)) sum_i alpha_i x_i
//!
//! by projected super-gradient steps on one block of rows at a time. `N` is the rows of the shard: each
//! worker of the report solves the problem of its own data. One block of all rows is DIHT.
//!
//! Given   the server's model `ws`, which enters only the first gradient of a round (report, S3)
//! Returns the shard's model `w = H_k(wf)` and what a bound needs
//! Step    `alpha_j <- P(alpha_j + eta g_j)`, `g_j = x_j'w - l*'(alpha_j)`, in the scaling of the report's
//!         eq. (3), without the 1/N of the paper's eq. (6)

use rand::RngExt;
use serde::{Deserialize, Serialize};
use wincode::{SchemaRead, SchemaWrite};

use crate::{
    loss::Loss,
    rng,
    round::{Job, LocalModel, Weights},
    shard::{Shard, conjugate_sum},
    threshold::{TopK, favouring, sum_of_largest},
};

/// How far a step goes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, SchemaRead, SchemaWrite)]
#[serde(rename_all = "lowercase")]
pub enum StepRule {
    /// The exact maximiser of a separable lower bound of D on the block (M13): it cannot diverge.
    Safe,
    /// The theorem's `m / (mu (t + 1))`, `m` blocks.
    Paper,
    /// A constant.
    Fixed(f64),
}

/// Settings of the dual algorithms of the papers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, SchemaRead, SchemaWrite)]
pub struct SdihtSettings {
    /// Rows of a block; `None` is all rows of the shard, which is DIHT.
    pub batch: Option<usize>,
    /// Blocks visited in a round.
    pub local_steps: usize,
    /// The step.
    pub step: StepRule,
}

/// What a shard remembers between rounds.
#[derive(Debug)]
pub struct Sdiht {
    settings: SdihtSettings,
    /// A partition of the rows.
    blocks: Vec<Vec<u32>>,
    /// `sigma_max(X_B)^2 / (lambda N)` of each block once it has been needed.
    curvature: Vec<Option<f64>>,
    steps: u64,
    top: TopK,
}

/// Steps of the power iteration for `sigma_max`; its value is raised by a margin because the iteration
/// approaches it from below.
const POWER_STEPS: usize = 30;
const POWER_MARGIN: f64 = 1.05;

impl Sdiht {
    /// A solver that has done nothing yet.
    pub fn new(job: &Job) -> Self {
        Self {
            settings: job.sdiht,
            blocks: Vec::new(),
            curvature: Vec::new(),
            steps: 0,
            top: TopK::new(),
        }
    }

    /// Steps taken, which the step of the theorem shrinks with.
    pub(crate) fn steps(&self) -> u64 {
        self.steps
    }

    /// A solver that goes on after `steps`.
    pub(crate) fn after(job: &Job, steps: u64) -> Self {
        Self { steps, ..Self::new(job) }
    }

    /// One round from the server's model `ws`.
    pub(crate) fn round<L: Loss>(
        &mut self,
        loss: L,
        shard: &mut Shard,
        round: u64,
        ws: &Weights,
    ) -> LocalModel {
        if self.blocks.is_empty() {
            self.partition(shard);
        }
        let mut w = ws.to_dense(shard.job().cols);
        let loss_of_ws = shard.losses(std::slice::from_ref(ws));
        let mut draw = rng::generator(shard.job().seed, shard.number(), round);
        let (mut step, mut visited) = (0.0, 0);
        for _ in 0..self.settings.local_steps {
            if self.blocks.is_empty() {
                break;
            }
            let block = draw.random_range(0..self.blocks.len());
            step = self.ascend(loss, shard, block, &w);
            visited += self.entries(shard, block);
            let support = self.threshold(shard);
            w.fill(0.0);
            let local = local_factor(shard);
            support.iter().for_each(|&j| w[j as usize] = local * shard.dual().1[j as usize]);
        }
        LocalModel { visited, ..self.report(loss, shard, loss_of_ws, step) }
    }

    /// Stored entries of a block.
    fn entries(&self, shard: &Shard, block: usize) -> u64 {
        let rows = self.blocks[block].iter();
        rows.map(|&i| shard.design().matrix().row(i as usize).values.len() as u64).sum()
    }

    /// A seeded random partition into blocks of nearly equal size.
    fn partition(&mut self, shard: &Shard) {
        let rows = shard.design().rows();
        let mut order: Vec<u32> = (0..rows as u32).collect();
        let size = self.settings.batch.unwrap_or(rows).clamp(1, rows.max(1));
        if size < rows {
            rng::shuffle(&mut order, shard.job().seed, shard.number(), u64::MAX);
        }
        let count = rows.div_ceil(size).max(1);
        self.blocks = crate::design::row_blocks(rows, count)
            .into_iter()
            .map(|span| order[span].to_vec())
            .filter(|block| !block.is_empty())
            .collect();
        self.curvature = vec![None; self.blocks.len()];
    }

    /// S1: dual ascent on one block; S2.1: `wf` follows. Returns the step.
    fn ascend<L: Loss>(&mut self, loss: L, shard: &mut Shard, block: usize, w: &[f64]) -> f64 {
        // Finding it takes some sixty passes over the block, which a given step must not pay for unless it may need it.
        let needed =
            self.settings.step == StepRule::Safe || loss.conjugate_curvature_max().is_none();
        let q = if needed { self.block_curvature(shard, block) } else { 0.0 };
        self.steps += 1;
        let eta = match self.settings.step {
            StepRule::Safe => 1.0 / (q + loss.conjugate_curvature_max().unwrap_or(0.0)),
            StepRule::Paper => {
                let mu = loss.conjugate_curvature_min();
                self.blocks.len() as f64 / (mu * (self.steps as f64 + 1.0))
            }
            StepRule::Fixed(eta) => eta,
        };
        let scale = shard.scale();
        let mut changes = vec![0.0; shard.design().rows()];
        for &i in &self.blocks[block] {
            let i = i as usize;
            let (z, y, c) = (shard.design().score(w)(i), shard.targets()[i], shard.weight(i));
            let b = shard.dual().0[i];
            if !(z.is_finite() && q.is_finite()) {
                // Values near the end of f32 can do that. This alpha stays where it is, in the domain.
                continue;
            }
            let next = if self.settings.step == StepRule::Safe {
                loss.coordinate_step(b, z, q * c, y)
            } else {
                // The derivative of l* is infinite at the ends of the logistic domain; a step from there
                // goes to the interior by the coordinate rule.
                let g = z - loss.conjugate_derivative(b, y);
                if g.is_finite() {
                    loss.project(b + eta * g, y)
                } else {
                    loss.coordinate_step(b, z, q * c, y)
                }
            };
            changes[i] = -scale * c * (next - b);
            shard.set_beta(i, next);
        }
        shard.shift_u(&changes);
        eta
    }

    /// S2.2: the support of `H_k(wf)`, with the intercept.
    fn threshold(&mut self, shard: &Shard) -> Vec<u32> {
        let u = shard.dual().1;
        let mut support = Vec::new();
        let Job { k, kept, .. } = *shard.job();
        self.top.select(u.len(), k, favouring(kept, u), &mut support);
        if shard.job().intercept {
            support.insert(0, 0);
        }
        support
    }

    /// `sigma_max(X_B)^2 / (lambda N)` over all columns, by power iteration.
    fn block_curvature(&mut self, shard: &Shard, block: usize) -> f64 {
        if let Some(known) = self.curvature[block] {
            return known;
        }
        let design = shard.design();
        let mut v = vec![0.0; design.rows()];
        self.blocks[block].iter().for_each(|&i| v[i as usize] = 1.0);
        let mut sigma_sq = 0.0;
        for _ in 0..POWER_STEPS {
            let norm = v.iter().map(|x| x * x).sum::<f64>().sqrt();
            if norm == 0.0 {
                break;
            }
            v.iter_mut().for_each(|x| *x /= norm);
            let mut xv = vec![0.0; design.cols()];
            design.scatter(&v, &mut xv);
            let score = design.score(&xv);
            for &i in &self.blocks[block] {
                v[i as usize] = score(i as usize);
            }
            sigma_sq = xv.iter().map(|x| x * x).sum::<f64>();
        }
        let q = POWER_MARGIN * sigma_sq * shard.scale() * local_factor(shard);
        self.curvature[block] = Some(q);
        q
    }

    /// The model and what a bound needs, from a rebuilt `u`.
    fn report<L: Loss>(
        &mut self,
        loss: L,
        shard: &mut Shard,
        losses: Vec<f64>,
        step: f64,
    ) -> LocalModel {
        shard.rebuild();
        let indices = self.threshold(shard);
        let local = local_factor(shard);
        let u = shard.dual().1;
        let values = indices.iter().map(|&j| local * u[j as usize]).collect();
        let off = shard.rounding();
        let upper = |j: u32| (u[j as usize].abs() + off).powi(2);
        let mut squares: Vec<f64> = indices.iter().filter(|&&j| j > 0).map(|&j| upper(j)).collect();
        let constant = if shard.job().intercept { upper(0) } else { 0.0 };
        LocalModel {
            norm_sq: sum_of_largest(&mut squares, shard.job().k) + constant,
            model: Weights { indices, values },
            losses,
            step,
            conjugate: conjugate_sum(loss, shard),
            visited: 0,
        }
    }
}

/// `N / N_m`: from the global scaling of `u` to that of the shard's own problem.
fn local_factor(shard: &Shard) -> f64 {
    shard.job().total_rows as f64 / shard.design().rows().max(1) as f64
}
