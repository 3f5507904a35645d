//! GraSP, gradient support pursuit: compressive sampling matching pursuit for any smooth loss.
//!
//! min f(x) = P(x)  s.t.  ||x||_0 <= k
//!
//! Returns why it ended; the books have the best model
//! S1      `z = grad f(x)`
//! S2      `Z` = the indices of its 2k largest entries
//! S3      `T = Z u supp(x)`
//! S4      `b = argmin { f(x) : supp(x) in T }`
//! S5      `x = b_k`, refitted on its support (the paper's debiased form), until that support has been there before
//! See Bahmani, Raj and Boufounos, "Greedy sparsity-constrained optimization", JMLR 2013, Alg. 1.

use std::collections::HashSet;

use crate::coordinator::Stopped;

use super::run::Run;

/// Runs it.
pub(super) fn solve(run: &mut Run<'_>) -> Stopped {
    let k = run.job().k;
    let mut x = vec![0.0; run.job().cols];
    let mut seen = HashSet::new();
    loop {
        // S1, S2
        let look = run.look(&x);
        let mut merged = run.support_of(&look.gradient, 2 * k);
        // S3
        merged.extend((0..x.len() as u32).filter(|&j| x[j as usize] != 0.0));
        merged.sort_unstable();
        merged.dedup();
        // S4
        let wide = run.refit(&merged, &x);
        // S5
        let support = run.support_of(&wide.w, k);
        let fitted = run.refit(&support, &wide.w);
        x = fitted.w;
        if let Some(why) = run.close(&x, fitted.objective) {
            return why;
        }
        if !seen.insert(support) {
            return Stopped::Stalled;
        }
    }
}
