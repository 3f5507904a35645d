//! Dual coordinate ascent when every feature may be in the model: then `w = u`, and nothing has to be chosen between
//! one pass and the next.
//!
//! Given   the relative gap to come near to
//! Pass    every live row once, in random order; a row that presses against an end of its domain by more than any slope of
//!         the pass before is left alone (*shrinking*)
//! Stop    when the gap is about what is wanted: rows in a sample tell theirs as the pass meets them, which is before
//!         their own step, so the decrease since the pass before tells what that step was worth
//! Returns nothing but its cost: evidence and the model are asked for by directives of their own

use crate::{
    loss::with_loss,
    round::{Reply, Sparse},
};

use super::{
    Shard,
    pass::{Pass, Plain, Tour},
};

/// Most passes for one directive: somebody may want to know how far the run is, or end it.
const MOST_PASSES: u64 = 16;
/// The estimate has to be below the gap by this factor.
const AIM: f64 = 0.7;

impl Shard {
    pub(super) fn settle(&mut self, round: u64, gap: f64) -> Reply {
        if self.lengths.is_empty() {
            self.lengths = self.design.matrix().iter().map(|row| row.norm_sq() as f32).collect();
        }
        let mut model = Plain { w: std::mem::take(&mut self.u), lengths: &self.lengths };
        let pass = Pass {
            x: self.design.matrix(),
            intercept: self.job.intercept,
            y: &self.y,
            weights: self.weights.as_deref(),
            step: self.scale(),
            settling: true,
        };
        let Self { tour, beta, job, number, .. } = self;
        tour.restart(beta.len());
        let per_row = 1.0 / (job.total_rows as f64 * Tour::sampled(beta.len()));
        let (mut visited, mut last) = (0, f64::INFINITY);
        for local in 0..MOST_PASSES {
            let turn = (job.seed, *number, round * MOST_PASSES + local);
            let found = with_loss!(job.loss, l => pass.run(l, turn, tour, &mut model, beta));
            visited += found.visited as u64;
            let norm_sq: f64 = model.w.iter().map(|w| w * w).sum();
            let objective = found.loss * per_row + job.lambda / 2.0 * norm_sq;
            let excess = found.gap * per_row;
            let since = if last.is_finite() { (excess / last).clamp(0.0, 1.0) } else { 1.0 };
            last = excess;
            if excess * since <= AIM * gap * objective {
                break;
            }
        }
        self.u = model.w;
        Reply::Settled { visited, selectors: Sparse::default() }
    }
}
