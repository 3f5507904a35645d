//! Orthogonal matching pursuit: the column that fits the residual best comes in, and all weights are refitted.
//!
//! min P(w)  s.t.  ||w||_0 <= k
//!
//! Returns why it ended; the books have the best model
//! S1      `j = argmax |grad_j P(w)| / ||x_j||`: for the squared loss, the angle between column and residual
//! S2      `F <- F u {j}`
//! S3      `w = argmin { P(w) : supp(w) in F }`, until F has k features
//! See Pati, Rezaiifar and Krishnaprasad, "Orthogonal matching pursuit", 1993; Tropp and Gilbert, 2007.

use crate::coordinator::Stopped;

use super::{
    greedy::{grow, largest_outside},
    run::Run,
};

/// Runs it.
pub(super) fn solve(run: &mut Run<'_>) -> Stopped {
    grow(run, |run, _, look, support| {
        // S1: a column without entries has no angle.
        let angle = |(g, s): (&f64, &f64)| if *s > 0.0 { g.abs() / s.sqrt() } else { 0.0 };
        let angles: Vec<f64> = look.gradient.iter().zip(run.squares()).map(angle).collect();
        largest_outside(&angles, support)
    })
}
