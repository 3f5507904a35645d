//! Fast gradient hard thresholding pursuit: GraHTP without its refit, which is projected gradient descent.
//!
//! min f(x) = P(x)  s.t.  ||x||_0 <= k
//!
//! Given   eta; without one the longest of `2^j / L` for which f stays below its quadratic model on the step
//! Returns why it ended; the books have the best model
//! Step    `x~ = x - eta grad f(x)`, `x <- x~_k`, until `||x(t) - x(t-1)|| <= 1e-4 ||x(t-1)||`
//! See Yuan, Li and Zhang, "Gradient hard thresholding pursuit", ICML 2014, Alg. 1, lower panel; the halting
//! condition is that of 5.1.1. Theorem 1 asks for `eta < m/M^2`, with restricted constants nobody knows; the test
//! by the model asks for no more than its proof uses.

use crate::coordinator::Stopped;

use super::run::{Look, Run, descend, difference, dot, restrict};

/// Relative change of the weights at which the paper stops.
const HALT: f64 = 1e-4;
/// Steps are never shorter than this share of 1/L, at which the model always holds.
const SHORTEST: f64 = 0.5;

/// Steps from `x` to the k largest entries of a gradient step.
#[derive(Debug)]
pub(super) struct TruncatedSteps {
    fixed: Option<f64>,
    eta: f64,
    /// 1/L.
    safe: f64,
}

impl TruncatedSteps {
    /// With the step given, or those that are found by trying.
    pub(super) fn new(run: &mut Run<'_>, fixed: Option<f64>) -> Self {
        let safe = 1.0 / run.smoothness();
        Self { fixed, eta: safe, safe }
    }

    /// `x~_k`, with its support.
    pub(super) fn take(
        &mut self,
        run: &mut Run<'_>,
        x: &[f64],
        look: &Look,
    ) -> (Vec<f64>, Vec<u32>) {
        let k = run.job().k;
        let truncate = |run: &Run<'_>, eta: f64| {
            let moved = descend(x, &look.gradient, eta);
            let support = run.support_of(&moved, k);
            (restrict(&moved, &support), support)
        };
        if let Some(eta) = self.fixed {
            return truncate(run, eta);
        }
        self.eta *= 2.0;
        loop {
            let (next, support) = truncate(run, self.eta);
            let change = difference(&next, x);
            let scores = run.design().scores(&next);
            run.tally.visited += run.job().entries as f64;
            let model = dot(&look.gradient, &change) + dot(&change, &change) / (2.0 * self.eta);
            let objective = run.objective_at(&scores, dot(&next, &next));
            if objective <= look.objective + model || self.eta <= SHORTEST * self.safe {
                return (next, support);
            }
            self.eta /= 2.0;
        }
    }
}

/// Runs it.
pub(super) fn solve(run: &mut Run<'_>, step: Option<f64>) -> Stopped {
    let mut x = vec![0.0; run.job().cols];
    let mut steps = TruncatedSteps::new(run, step);
    loop {
        let look = run.look(&x);
        let (next, _) = steps.take(run, &x, &look);
        let (change, length) = (difference(&next, &x), dot(&x, &x));
        x = next;
        let objective = run.offer(&x);
        if let Some(why) = run.close(&x, objective) {
            return why;
        }
        if dot(&change, &change) <= HALT * HALT * length || !objective.is_finite() {
            return Stopped::Stalled;
        }
    }
}
