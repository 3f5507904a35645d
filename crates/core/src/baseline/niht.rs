//! Normalised iterative hard thresholding: the step comes from the data, so that P falls without a constant to know.
//!
//! min P(w)  s.t.  ||w||_0 <= k
//!
//! where   F is the support of w (at w = 0, of the k largest entries of the gradient), g the gradient,
//!         H the Hessian of P
//! Returns why it ended; the books have the best model
//! S1      `mu = ||g_F||^2 / (g_F' H g_F)`
//! S2      `w' = H_k(w - mu g)`; if its support is F, done
//! S3      else while `mu > (1 - c) ||w' - w||^2 / B`: `mu <- mu / (kappa (1 - c))`, and S2 again
//!
//! For the squared loss `B = (w' - w)'H(w' - w)`; for others it is twice the Bregman distance from w to w', which
//! is the same where P is quadratic.
//! See Blumensath and Davies, "Normalized iterative hard thresholding: guaranteed stability and performance", 2010.

use crate::coordinator::Stopped;

use super::run::{Look, Run, descend, difference, dot, restrict};

/// How far below the limit a step must be.
const C: f64 = 0.01;
/// How much a step is shortened; more than `1 / (1 - C)`.
const KAPPA: f64 = 2.0;
/// A step this many times shortened moves nothing.
const MOST_SHORTENINGS: usize = 60;

/// Runs it.
pub(super) fn solve(run: &mut Run<'_>) -> Stopped {
    let mut w = vec![0.0; run.job().cols];
    loop {
        let look = run.look(&w);
        let next = step(run, &w, &look);
        let still = next == w;
        w = next;
        let objective = run.offer(&w);
        if let Some(why) = run.close(&w, objective) {
            return why;
        }
        if still {
            return Stopped::Stalled;
        }
    }
}

/// The support on which the first step of an iteration is measured.
pub(super) fn measured_support(run: &Run<'_>, w: &[f64], look: &Look) -> Vec<u32> {
    let own = run.support_of(w, run.job().k);
    if own.iter().any(|&j| j > 0) { own } else { run.support_of(&look.gradient, run.job().k) }
}

/// S1: `||g_F||^2 / (g_F' H g_F)`; where the loss is straight along `g_F`, only the ridge bends.
pub(super) fn normalised_step(run: &mut Run<'_>, look: &Look, support: &[u32]) -> f64 {
    let direction = restrict(&look.gradient, support);
    let bend = run.bend_along(&look.scores, &direction);
    if bend > 0.0 { dot(&direction, &direction) / bend } else { 0.0 }
}

fn step(run: &mut Run<'_>, w: &[f64], look: &Look) -> Vec<f64> {
    let k = run.job().k;
    let support = measured_support(run, w, look);
    let mut mu = normalised_step(run, look, &support);
    for _ in 0..MOST_SHORTENINGS {
        // S2
        let moved = descend(w, &look.gradient, mu);
        let next_support = run.support_of(&moved, k);
        let next = restrict(&moved, &next_support);
        // S3: beyond the limit the quadratic model of P does not hold. For a quadratic P the step on one
        // support is exact, so only others need the test there too.
        let quadratic = run.job().loss == crate::loss::LossKind::Squared;
        if next_support == support && quadratic {
            return next;
        }
        let change = difference(&next, w);
        let scores = run.design().scores(&next);
        let rise = run.objective_at(&scores, dot(&next, &next)) - look.objective;
        run.tally.visited += run.job().entries as f64;
        let bregman = 2.0 * (rise - dot(&look.gradient, &change));
        if bregman <= 0.0 || mu <= (1.0 - C) * dot(&change, &change) / bregman {
            return next;
        }
        mu /= KAPPA * (1.0 - C);
    }
    w.to_vec()
}
