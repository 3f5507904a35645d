//! Dual coordinate ascent when every feature may be in the model: then `w = u`, and nothing has to be chosen between
//! one pass and the next.
//!
//! Given   the relative gap to reach
//! Pass    every live row once, in random order; a row that presses against an end of its domain by more than any slope of
//!         the pass before is left alone (*shrinking*)
//! Check   when the gap is about what is wanted: rows in a sample tell theirs as the pass meets them, which is before
//!         their own step, so the decrease since the pass before tells what that step was worth. Then `u` is summed afresh,
//!         and P and D are those of all rows
//! Returns the evidence of the last check, and its cost

use rayon::prelude::*;

use crate::{
    coordinator::{certificate::bound_of_all, relative_gap},
    loss::with_loss,
    round::{Evidence, Reply, Settled},
};

use super::{
    Shard, conjugate_sum,
    pass::{Found, Pass, Plain, Tour},
};

/// Fewest and most passes for one directive, and entries that they may visit in between: somebody may want to know how far
/// the run is, or end it.
const PASSES: [u64; 2] = [16, 256];
const WORK: u64 = 1 << 30;
/// The first estimate has to be below the gap by this factor; later ones by what the first was wrong.
const AIM: f64 = 0.6;

impl Shard {
    pub(super) fn settle(&mut self, round: u64, gap: f64) -> Reply {
        if self.lengths.is_empty() {
            let x = self.design.matrix();
            let rows = (0..x.rows()).into_par_iter().with_min_len(1024);
            self.lengths = rows.map(|i| x.row(i).norm_sq() as f32).collect();
        }
        let most = (WORK / self.job.entries.max(1) as u64).clamp(PASSES[0], PASSES[1]);
        self.tour.restart(self.beta.len());
        let (mut visited, mut last, mut aim, mut passes) = (0, f64::INFINITY, AIM, 0);
        loop {
            passes += 1;
            let found = self.settling_pass(round * PASSES[1] + passes);
            visited += found.visited as u64;
            let (objective, excess) = self.outlook(&found);
            let since = if last.is_finite() { (excess / last).clamp(0.0, 1.0) } else { 1.0 };
            last = excess;
            let estimate = excess * since / objective;
            if estimate > aim * gap && passes < most {
                continue;
            }
            let (settled, reached) = self.check();
            visited += 2 * self.job.entries as u64;
            if reached <= gap || passes == most {
                return Reply::Settled(Settled { visited, ..settled });
            }
            aim = aim.min(estimate / reached);
        }
    }

    fn settling_pass(&mut self, number: u64) -> Found {
        let pass = Pass {
            x: self.design.matrix(),
            intercept: self.job.intercept,
            y: &self.y,
            weights: self.weights.as_deref(),
            step: self.scale(),
            settling: true,
        };
        let mut model = Plain { w: std::mem::take(&mut self.u), lengths: &self.lengths };
        let turn = (self.job.seed, self.number, number);
        let (tour, beta) = (&mut self.tour, &mut self.beta);
        let found = with_loss!(self.job.loss, l => pass.run(l, turn, tour, &mut model, beta));
        self.u = model.w;
        found
    }

    /// P, and what it is above D, as a pass saw them.
    fn outlook(&self, found: &Found) -> (f64, f64) {
        let rows = self.job.total_rows as f64 * Tour::sampled(self.beta.len());
        ((found.loss + found.product / 2.0) / rows, found.gap / rows)
    }

    /// The state as it is, from sums made afresh, and its relative gap.
    fn check(&mut self) -> (Settled, f64) {
        self.rebuild();
        let scores = self.design.scores(&self.u);
        let loss = self.loss_sum(&scores);
        self.settled = Some(scores);
        let conjugate = with_loss!(self.job.loss, l => conjugate_sum(l, self));
        let first = self.job.columns_in_play().start as usize;
        let evidence = Evidence {
            u: self.u[first..].to_vec(),
            unsent: 0.0,
            rounding: self.rounding(),
            conjugate,
        };
        let norm_sq: f64 = evidence.u.iter().map(|v| v * v).sum();
        let p = loss / self.job.total_rows as f64 + self.job.lambda / 2.0 * norm_sq;
        let gap = relative_gap(p, bound_of_all(&self.job, &evidence));
        (Settled { visited: 0, evidence, loss }, gap)
    }
}
