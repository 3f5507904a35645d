//! FoBa, adaptive forward-backward selection: features come in one at a time, and go again when what they bring
//! is no longer worth half of what the last one brought.
//!
//! min P(w)  s.t.  ||w||_0 <= k
//!
//! where   F is the support, `delta_n` the fall of P by the step that made it n features large
//! Returns why it ended; the books have the best model
//! F1      `j = argmax_j max_v P(w) - P(w + v e_j)`, `F <- F u {j}`, refit; `delta_n` = the fall of P
//! B1      `j = argmin_{j in F} P(w - w_j e_j)`
//! B2      if `P(w - w_j e_j) - P(w) <= delta_n / 2`: `F <- F \ {j}`, refit, B1 again; else F1
//!
//! It goes on to 2k features, so that wrong ones of the first k can be found out, and then goes back to k by B1.
//! See Zhang, "Adaptive forward-backward greedy algorithm for learning sparse representations", 2011, Fig. 2.

use crate::coordinator::Stopped;

use super::{
    columns::Columns,
    forward::best_column,
    greedy::with_column,
    run::{Fitted, Run, difference, dot},
};

/// Share of what the last feature brought that any feature must be worth.
const WORTH: f64 = 0.5;
/// Iterations for each of the k features, in which features may come and go.
const PATIENCE: usize = 20;
/// Features for which the rise is computed.
const CANDIDATES: usize = 8;

/// Support and fit.
struct State {
    support: Vec<u32>,
    fitted: Fitted,
}

impl State {
    fn features(&self) -> usize {
        self.support.iter().filter(|&&j| j > 0).count()
    }
}

/// Runs it.
pub(super) fn solve(run: &mut Run<'_>) -> Stopped {
    let job = run.job();
    let columns = Columns::of(run.design());
    let support = run.with_intercept(Vec::new());
    let fitted = run.refit(&support, &vec![0.0; job.cols]);
    let mut state = State { support, fitted };
    let most = (2 * job.k).min(job.cols - 1);
    let mut falls = vec![f64::INFINITY; most + 1];
    for _ in 0..PATIENCE * job.k {
        if state.features() >= most {
            break;
        }
        let before = state.fitted.objective;
        if !forward(run, &columns, &mut state) {
            break;
        }
        falls[state.features()] = before - state.fitted.objective;
        while state.features() > 1 {
            let worth = WORTH * falls[state.features()];
            if !backward(run, &mut state, worth) {
                break;
            }
        }
        if let Some(why) = run.close(&state.fitted.w, state.fitted.objective)
            && why != Stopped::Stalled
        {
            return why;
        }
    }
    while state.features() > job.k && run.cut_short().is_none() {
        backward(run, &mut state, f64::INFINITY);
    }
    run.close(&state.fitted.w, state.fitted.objective).unwrap_or(Stopped::Stalled)
}

/// F1
fn forward(run: &mut Run<'_>, columns: &Columns, state: &mut State) -> bool {
    let look = run.look(&state.fitted.w);
    let Some(j) = best_column(run, columns, &state.fitted.w, &look, &state.support) else {
        return false;
    };
    state.support = with_column(&state.support, j);
    state.fitted = run.refit(&state.support, &state.fitted.w);
    true
}

/// B1, B2: whether a feature that is worth at most `worth` went.
fn backward(run: &mut Run<'_>, state: &mut State, worth: f64) -> bool {
    let Some((column, loss)) = cheapest(run, state) else { return false };
    if loss > worth {
        return false;
    }
    state.support.retain(|&j| j != column);
    state.fitted = run.refit(&state.support, &state.fitted.w);
    true
}

/// B1: the feature whose weight can be left out at the least rise of P, and that rise.
fn cheapest(run: &mut Run<'_>, state: &State) -> Option<(u32, f64)> {
    let w = &state.fitted.w;
    let scores = run.design().scores(w);
    run.tally.visited += 2.0 * run.job().entries as f64;
    let norm_sq = dot(w, w);
    // In the quadratic model leaving out j costs H_jj w_j^2 / 2; the true rise is computed for the cheapest.
    let mut bend = vec![run.job().lambda; w.len()];
    run.design().scatter_squares(&run.curvatures(&scores), &mut bend);
    let cost = |j: u32| bend[j as usize] * w[j as usize].powi(2);
    let mut order: Vec<u32> = state.support.iter().copied().filter(|&j| j > 0).collect();
    order.sort_by(|&a, &b| cost(a).total_cmp(&cost(b)).then(a.cmp(&b)));
    let mut best: Option<(u32, f64)> = None;
    for &j in order.iter().take(CANDIDATES) {
        let mut alone = vec![0.0; w.len()];
        alone[j as usize] = w[j as usize];
        let without = difference(&scores, &run.design().scores(&alone));
        // The column alone has no intercept, so its scores are those of the feature.
        let objective = run.objective_at(&without, norm_sq - w[j as usize].powi(2));
        let rise = objective - state.fitted.objective;
        if best.is_none_or(|best| rise < best.1) {
            best = Some((j, rise));
        }
    }
    best
}
