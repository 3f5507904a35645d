//! SVR-GHT, gradient hard thresholding with stochastic variance reduction.
//!
//! min F(w) = (1/B) sum_b f_b(w) = P(w)  s.t.  ||w||_0 <= k,  f_b the part of B blocks of rows
//!
//! Given   eta; without one 1/L, halved whenever an outer iteration raises P, which it then takes back
//! Returns why it ended; the books have the best model
//! S1      `mu = grad F(w~)`, `w = w~`
//! S2      B times: draw a block b, `w <- H_k(w - eta (grad f_b(w) - grad f_b(w~) + mu))`
//! S3      `w~ = w`
//! See Li, Zhao, Arora, Liu and Haupt, "Stochastic variance reduced optimization for nonconvex sparse learning",
//! ICML 2016, Alg. 1. The DIHT paper (5.2) runs it with 10 blocks, which is the least number here.

use rand::RngExt;

use crate::{coordinator::Stopped, rng};

use super::run::{Look, Run, restrict};

/// Blocks at the least, if there are as many rows.
const BLOCKS: usize = 10;
/// A step halved this often will not help any more.
const MOST_HALVINGS: usize = 30;

/// Runs it; blocks have at most `batch` rows.
pub(super) fn solve(run: &mut Run<'_>, step: Option<f64>, batch: usize) -> Stopped {
    let blocks = partition(run, batch);
    let mut eta = step.unwrap_or_else(|| 1.0 / run.smoothness());
    let mut anchor = vec![0.0; run.job().cols];
    let mut halvings = 0;
    for outer in 1.. {
        // S1
        let look = run.look(&anchor);
        // S2
        let w = inner(run, &blocks, &anchor, &look, eta, outer);
        let objective = run.offer(&w);
        if step.is_none() && (objective.is_nan() || objective > look.objective) {
            eta /= 2.0;
            halvings += 1;
        } else {
            // S3
            anchor = w;
        }
        if let Some(why) = run.close(&anchor, objective) {
            return why;
        }
        if halvings > MOST_HALVINGS || !objective.is_finite() && step.is_some() {
            break;
        }
    }
    Stopped::Stalled
}

/// A seeded random partition of the rows.
fn partition(run: &Run<'_>, batch: usize) -> Vec<Vec<u32>> {
    let rows = run.design().rows();
    let mut order: Vec<u32> = (0..rows as u32).collect();
    rng::shuffle(&mut order, run.job().seed, 0, u64::MAX);
    let count = rows.div_ceil(batch).max(BLOCKS).min(rows);
    let spans = crate::design::row_blocks(rows, count);
    spans.into_iter().map(|span| order[span].to_vec()).collect()
}

/// S2
fn inner(
    run: &mut Run<'_>,
    blocks: &[Vec<u32>],
    anchor: &[f64],
    look: &Look,
    eta: f64,
    outer: u64,
) -> Vec<f64> {
    let job = run.job();
    let mut draw = rng::generator(job.seed, 0, outer);
    let at_anchor = run.slopes(&look.scores);
    let mut w = anchor.to_vec();
    for _ in 0..blocks.len() {
        let block = &blocks[draw.random_range(0..blocks.len())];
        let mut scores = look.scores.clone();
        let score = run.design().score(&w);
        block.iter().for_each(|&i| scores[i as usize] = score(i as usize));
        // Rows outside of the block have the anchor's scores, so their slopes cancel.
        let change = run.slopes(&scores);
        let coefficients: Vec<f64> =
            change.iter().zip(&at_anchor).map(|(a, b)| blocks.len() as f64 * (a - b)).collect();
        let mut direction: Vec<f64> = w
            .iter()
            .zip(anchor)
            .zip(&look.gradient)
            .map(|((w, a), mu)| job.lambda * (w - a) + mu)
            .collect();
        run.design().scatter(&coefficients, &mut direction);
        let moved: Vec<f64> = w.iter().zip(&direction).map(|(w, g)| w - eta * g).collect();
        w = restrict(&moved, &run.support_of(&moved, job.k));
    }
    run.tally.visited += 2.0 * job.entries as f64;
    w
}
