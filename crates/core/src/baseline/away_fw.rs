//! Away-step Frank-Wolfe: where going away from a bad corner is steeper than going to a good one, it does that.
//!
//! min f(w) = P(w)  s.t.  ||w||_1 <= R, with at most k corners in play; then a refit on their features
//!
//! Given   R, as for Frank-Wolfe
//! Returns why it ended; the books have the best model
//! S1      s, the corner of steepest descent; v, the worst corner in play
//! S2      if `<-grad f, s - w> >= <-grad f, w - v>`: towards s, share at most 1
//! S3      else away from v, share at most `a_v / (1 - a_v)`, at which v goes out of play
//! See Lacoste-Julien and Jaggi, "On the global linear convergence of Frank-Wolfe optimization variants",
//! NIPS 2015, Alg. 1.

use crate::coordinator::Stopped;

use super::{
    atoms::{Move, Outlook, pursue},
    run::Run,
};

/// S2, S3. From a single corner there is no way to go but to another.
pub(super) fn away_or_toward(outlook: &Outlook<'_>) -> Move {
    let alone = outlook.atoms.weight(outlook.worst) >= 1.0;
    if outlook.toward >= outlook.away || alone {
        Move::Toward(outlook.best)
    } else {
        Move::Away(outlook.worst)
    }
}

/// Runs it.
pub(super) fn solve(run: &mut Run<'_>, radius: Option<f64>) -> Stopped {
    pursue(run, radius, away_or_toward)
}
