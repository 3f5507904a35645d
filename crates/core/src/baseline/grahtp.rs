//! Gradient hard thresholding pursuit: hard thresholding pursuit for any smooth loss.
//!
//! min f(x) = P(x)  s.t.  ||x||_0 <= k
//!
//! Given   eta; without one, the steps of FGraHTP
//! Returns why it ended; the books have the best model
//! S1      `x~ = x - eta grad f(x)`
//! S2      `F` = the indices of the k largest entries of `x~`
//! S3      `x = argmin { f(x) : supp(x) in F }`, until F has been there before
//! See Yuan, Li and Zhang, "Gradient hard thresholding pursuit", ICML 2014, Alg. 1. The paper stops when F repeats
//! the one before; the sequence is periodic in any case (3.1), and any F that comes again ends it here.

use std::collections::HashSet;

use crate::coordinator::Stopped;

use super::{fgrahtp::TruncatedSteps, run::Run};

/// Runs it.
pub(super) fn solve(run: &mut Run<'_>, step: Option<f64>) -> Stopped {
    let mut x = vec![0.0; run.job().cols];
    let mut steps = TruncatedSteps::new(run, step);
    let mut seen = HashSet::new();
    loop {
        let look = run.look(&x);
        // S1, S2
        let (start, support) = steps.take(run, &x, &look);
        // S3
        let fitted = run.refit(&support, &start);
        x = fitted.w;
        if let Some(why) = run.close(&x, fitted.objective) {
            return why;
        }
        if !seen.insert(support) {
            return Stopped::Stalled;
        }
    }
}
