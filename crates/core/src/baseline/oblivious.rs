//! Oblivious selection: every feature is judged by itself, and the k best are taken at once.
//!
//! min P(w)  s.t.  ||w||_0 <= k
//!
//! Returns why it ended; the books have the best model
//! S1      `gain_j = P(0) - min_v P(v e_j)`, in the quadratic model of P at w = 0
//! S2      F = the k features of largest gain
//! S3      `w = argmin { P(w) : supp(w) in F }`
//! See Das and Kempe, "Submodular meets spectral", ICML 2011 (the oblivious algorithm).

use crate::coordinator::Stopped;

use super::{
    greedy::gains,
    run::{Fitted, Run},
};

/// Runs it.
pub(super) fn solve(run: &mut Run<'_>) -> Stopped {
    let fitted = fit(run);
    run.close(&fitted.w, fitted.objective).unwrap_or(Stopped::Stalled)
}

/// The fit on the k features that are best by themselves.
pub(super) fn fit(run: &mut Run<'_>) -> Fitted {
    // The intercept is no choice, so features are judged with it there.
    let empty = vec![0.0; run.job().cols];
    let start = run.refit(&run.with_intercept(Vec::new()), &empty);
    let look = run.look(&start.w);
    // S1, S2
    let gains = gains(run, &look);
    let support = run.support_of(&gains, run.job().k);
    // S3
    run.refit(&support, &start.w)
}
