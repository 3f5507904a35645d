//! Hard thresholding pursuit: the support of a gradient step, and the best weights on it.
//!
//! min P(w)  s.t.  ||w||_0 <= k
//!
//! Given   mu; without one `||g_F||^2 / (g_F' H g_F)` in every iteration, F the support of w: the paper's
//!         normalised form (NHTP)
//! Returns why it ended; the books have the best model
//! HTP1    S = the k largest entries of `w - mu grad P(w)`
//! HTP2    `w = argmin { P(w) : supp(w) in S }`, until S has been there before
//! See Foucart, "Hard thresholding pursuit: an algorithm for compressive sensing", 2011. For other losses than
//! squared it is what GraHTP is with this step.

use std::collections::HashSet;

use crate::coordinator::Stopped;

use super::{
    niht::{measured_support, normalised_step},
    run::{Run, descend},
};

/// Runs it with the step given, or normalised steps.
pub(super) fn solve(run: &mut Run<'_>, step: Option<f64>) -> Stopped {
    let k = run.job().k;
    let mut w = vec![0.0; run.job().cols];
    let mut seen = HashSet::new();
    loop {
        let look = run.look(&w);
        let mu = step.unwrap_or_else(|| {
            let support = measured_support(run, &w, &look);
            normalised_step(run, &look, &support)
        });
        // HTP1
        let support = run.support_of(&descend(&w, &look.gradient, mu), k);
        // HTP2
        let fitted = run.refit(&support, &w);
        w = fitted.w;
        if let Some(why) = run.close(&w, fitted.objective) {
            return why;
        }
        if !seen.insert(support) {
            return Stopped::Stalled;
        }
    }
}
