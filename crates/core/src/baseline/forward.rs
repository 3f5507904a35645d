//! Forward selection: the feature that lowers P most comes in, and all weights are refitted.
//!
//! min P(w)  s.t.  ||w||_0 <= k
//!
//! Returns why it ended; the books have the best model
//! S1      `j = argmax_j max_v P(w) - P(w + v e_j)`
//! S2      `F <- F u {j}`
//! S3      `w = argmin { P(w) : supp(w) in F }`, until F has k features
//!
//! The best step along a column is found by a line search for the columns that the quadratic model of P names
//! first, which for the squared loss is exact.
//! See Shalev-Shwartz, Srebro and Zhang, "Trading accuracy for sparsity", 2010, and Das and Kempe, 2011.

use crate::{coordinator::Stopped, threshold::top_k};

use super::{
    columns::Columns,
    greedy::{gains, grow},
    line,
    run::{Look, Run},
};

/// Columns for which the best step is searched.
const SHORTLIST: usize = 32;

/// Runs it.
pub(super) fn solve(run: &mut Run<'_>) -> Stopped {
    let columns = Columns::of(run.design());
    grow(run, |run, fitted, look, support| best_column(run, &columns, &fitted.w, look, support))
}

/// S1: the column outside of `support` along which P falls furthest from `w`.
pub(super) fn best_column(
    run: &mut Run<'_>,
    columns: &Columns,
    w: &[f64],
    look: &Look,
    support: &[u32],
) -> Option<u32> {
    let mut gains = gains(run, look);
    support.iter().for_each(|&j| gains[j as usize] = 0.0);
    let mut best: Option<(f64, u32)> = None;
    let mut listed = top_k(&gains, SHORTLIST);
    listed.sort_by(|a, b| gains[*b as usize].total_cmp(&gains[*a as usize]).then(a.cmp(b)));
    for j in listed {
        let gain = line::fall_along(run, columns, j, w[j as usize], &look.scores);
        if gain > best.map_or(0.0, |best| best.0) {
            best = Some((gain, j));
        }
    }
    best.map(|best| best.1)
}
