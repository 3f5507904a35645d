//! Accelerated iterative hard thresholding: momentum, and a gradient step on an enlarged support.
//!
//! min f(x) = P(x)  s.t.  ||x||_{0,A} <= k,  A single features, or groups of them that are taken whole
//!
//! where   `Pi_k` keeps the k largest entries, or the groups of most energy with at most k features
//! Given   beta, the smoothness of f (or 1/`--step`); tau, 1/4 or what is best for f
//! Returns why it ended; the books have the best model
//! Line 4  `T = supp Pi_k(grad_{U^c} f(u)) u U`, U the support of u
//! Line 5  `u_bar = u - (1/beta) grad_T f(u)`
//! Line 6  `x' = Pi_k(u_bar)`; line 9, optional: refitted on its support
//! Line 7  `u = x' + tau (x' - x)`
//! Line 8  until `||x' - x|| <= eta ||x'||`
//! See "IHT dies hard: provable accelerated iterative hard thresholding" (Khanna and Kyrillidis, AISTATS 2018),
//! Alg. 1. The adaptive tau minimises `f(x' + tau (x' - x))` over [0, 1], which for the squared loss is its
//! reference 16's closed form.

use crate::coordinator::Stopped;

use super::{
    BaselineSettings, Groups, Momentum, line,
    run::{Run, difference, dot, restrict},
};

/// eta of line 8.
const TOLERANCE: f64 = 1e-9;

/// Runs it.
pub(super) fn solve(run: &mut Run<'_>, step: Option<f64>, settings: &BaselineSettings) -> Stopped {
    let groups = settings.groups.as_ref();
    let step = step.unwrap_or_else(|| 1.0 / run.smoothness());
    let mut x = vec![0.0; run.job().cols];
    let mut u = x.clone();
    loop {
        let look = run.look(&u);
        // Line 4: active support expansion
        let mut outside = look.gradient.clone();
        (0..u.len()).filter(|&j| u[j] != 0.0).for_each(|j| outside[j] = 0.0);
        let expansion = project(run, groups, &outside);
        // Line 5: u off T is 0 already.
        let mut moved = u.clone();
        for j in 0..u.len() {
            if u[j] != 0.0 || expansion.binary_search(&(j as u32)).is_ok() {
                moved[j] -= step * look.gradient[j];
            }
        }
        // Lines 6 and 9
        let support = project(run, groups, &moved);
        let mut next = restrict(&moved, &support);
        let objective = if settings.debias {
            let fitted = run.refit(&support, &next);
            next = fitted.w;
            fitted.objective
        } else {
            run.offer(&next)
        };
        // Line 7
        let change = difference(&next, &x);
        let tau = match settings.momentum {
            Momentum::Constant(tau) => tau,
            Momentum::Adaptive => best_momentum(run, &next, &change),
        };
        u = next.iter().zip(&change).map(|(x, d)| x + tau * d).collect();
        x = next;
        // Line 8
        if let Some(why) = run.close(&x, objective) {
            return why;
        }
        if dot(&change, &change) <= TOLERANCE * TOLERANCE * dot(&x, &x) || !objective.is_finite() {
            return Stopped::Stalled;
        }
    }
}

/// The support of `Pi_k(v)`, with the intercept.
fn project(run: &Run<'_>, groups: Option<&Groups>, v: &[f64]) -> Vec<u32> {
    let k = run.job().k;
    match groups {
        Some(groups) => run.with_intercept(groups.support(v, k)),
        None => run.support_of(v, k),
    }
}

fn best_momentum(run: &mut Run<'_>, x: &[f64], change: &[f64]) -> f64 {
    let (scores, along) = (run.design().scores(x), run.design().scores(change));
    run.tally.visited += 2.0 * run.job().entries as f64;
    line::share(run, &scores, &along, (dot(x, change), dot(change, change)), 1.0)
}
