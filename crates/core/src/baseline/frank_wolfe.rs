//! Frank-Wolfe over the scaled l1 ball: towards the corner of steepest descent, as far as pays.
//!
//! min f(w) = P(w)  s.t.  ||w||_1 <= R, with at most k corners in play; then a refit on their features
//!
//! Given   R; without one, the l1 length of the fit on the k features that are best by themselves
//! Returns why it ended; the books have the best model
//! S1      `s = argmin { <grad f(w), s> : ||s||_1 <= R }`; the gap `<grad f(w), w - s>` bounds what the ball still has
//! S2      `w <- w + share (s - w)`, share in [0, 1] by line search
//! See Frank and Wolfe, 1956; Jaggi, "Revisiting Frank-Wolfe", ICML 2013.

use crate::coordinator::Stopped;

use super::{
    atoms::{Move, Outlook, pursue},
    run::Run,
};

/// S1
pub(super) fn toward(outlook: &Outlook<'_>) -> Move {
    Move::Toward(outlook.best)
}

/// Runs it.
pub(super) fn solve(run: &mut Run<'_>, radius: Option<f64>) -> Stopped {
    pursue(run, radius, toward)
}
