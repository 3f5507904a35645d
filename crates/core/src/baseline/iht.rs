//! Iterative hard thresholding: a gradient step, and its k largest entries.
//!
//! min P(w)  s.t.  ||w||_0 <= k
//!
//! Given   eta, at most 1/L for P to fall in every iteration, L the smoothness of P
//! Returns why it ended; the books have the best model
//! Step    `w <- H_k(w - eta grad P(w))`
//! See Blumensath and Davies, "Iterative hard thresholding for compressed sensing", 2009, eq. (1.3).

use crate::coordinator::Stopped;

use super::run::{Run, descend, restrict};

/// Runs it with the step given, or 1/L.
pub(super) fn solve(run: &mut Run<'_>, step: Option<f64>) -> Stopped {
    let k = run.job().k;
    let eta = step.unwrap_or_else(|| 1.0 / run.smoothness());
    let mut w = vec![0.0; run.job().cols];
    loop {
        let look = run.look(&w);
        let moved = descend(&w, &look.gradient, eta);
        let next = restrict(&moved, &run.support_of(&moved, k));
        let still = next == w;
        w = next;
        let objective = run.offer(&w);
        if let Some(why) = run.close(&w, objective) {
            return why;
        }
        // A step too long, asked for by --step, ends in numbers that are none.
        if still || !objective.is_finite() {
            return Stopped::Stalled;
        }
    }
}
