//! Pairwise Frank-Wolfe: weight goes from the worst corner in play straight to the best one.
//!
//! min f(w) = P(w)  s.t.  ||w||_1 <= R, with at most k corners in play; then a refit on their features
//!
//! Given   R, as for Frank-Wolfe
//! Returns why it ended; the books have the best model
//! S1      s, the corner of steepest descent; v, the worst corner in play
//! S2      `w <- w + share (s - v)`, share in `[0, a_v]` by line search
//! See Lacoste-Julien and Jaggi, "On the global linear convergence of Frank-Wolfe optimization variants",
//! NIPS 2015, Alg. 2.

use crate::coordinator::Stopped;

use super::{
    atoms::{Move, Outlook, pursue},
    run::Run,
};

/// S2
pub(super) fn swap(outlook: &Outlook<'_>) -> Move {
    Move::Swap { from: outlook.worst, to: outlook.best }
}

/// Runs it.
pub(super) fn solve(run: &mut Run<'_>, radius: Option<f64>) -> Stopped {
    pursue(run, radius, swap)
}
