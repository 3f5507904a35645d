//! What the greedy algorithms share: a support that grows by one feature at a time, with a refit after each.

use crate::coordinator::Stopped;

use super::run::{Fitted, Look, Run};

/// `g_j^2 / (2 H_jj)` of every column: how far P falls along a column in its quadratic model.
pub(super) fn gains(run: &mut Run<'_>, look: &Look) -> Vec<f64> {
    let lambda = run.job().lambda;
    let rows = run.curvatures(&look.scores);
    let mut bend = vec![lambda; look.gradient.len()];
    run.design().scatter_squares(&rows, &mut bend);
    run.tally.visited += run.job().entries as f64;
    look.gradient.iter().zip(&bend).map(|(g, h)| g * g / (2.0 * h)).collect()
}

/// The place of the largest of `values`, leaving out the columns of `support` and the intercept's; none where all
/// are 0.
pub(super) fn largest_outside(values: &[f64], support: &[u32]) -> Option<u32> {
    let mut best: Option<(f64, u32)> = None;
    for (j, &value) in (0u32..).zip(values).skip(1) {
        let better = value > best.map_or(0.0, |best| best.0);
        if better && support.binary_search(&j).is_err() {
            best = Some((value, j));
        }
    }
    best.map(|best| best.1)
}

/// The support with one more column.
pub(super) fn with_column(support: &[u32], column: u32) -> Vec<u32> {
    let mut larger = support.to_vec();
    if let Err(at) = larger.binary_search(&column) {
        larger.insert(at, column);
    }
    larger
}

/// Adds the feature that `pick` names and refits, until there are k or none helps.
pub(super) fn grow(
    run: &mut Run<'_>,
    mut pick: impl FnMut(&mut Run<'_>, &Fitted, &Look, &[u32]) -> Option<u32>,
) -> Stopped {
    let k = run.job().k;
    let mut support = run.with_intercept(Vec::new());
    let mut fitted = run.refit(&support, &vec![0.0; run.job().cols]);
    for _ in 0..k {
        let look = run.look(&fitted.w);
        let Some(column) = pick(run, &fitted, &look, &support) else { break };
        support = with_column(&support, column);
        fitted = run.refit(&support, &fitted.w);
        if let Some(why) = run.close(&fitted.w, fitted.objective)
            && why != Stopped::Stalled
        {
            return why;
        }
    }
    Stopped::Stalled
}
