//! Forward basis selection over the dictionary of all `+-e_j`: the atom of steepest descent comes in.
//!
//! min f(x) = P(x)  s.t.  x is a combination of at most k atoms
//!
//! Returns why it ended; the books have the best model
//! S1      `u = argmin { <grad f(x), u> : u in V }`, V the atoms: the largest entry of the gradient
//! S2      `U <- U u {u}`
//! S3      `x = argmin { f(x) : x in the linear hull of U }`, until U has k atoms
//! See Yuan and Yan, "Forward basis selection for pursuing sparse representations over a dictionary", 2013. It is
//! OMP without the lengths of the columns: in a dictionary all atoms count alike.

use crate::coordinator::Stopped;

use super::{
    greedy::{grow, largest_outside},
    run::Run,
};

/// Runs it.
pub(super) fn solve(run: &mut Run<'_>) -> Stopped {
    grow(run, |_, _, look, support| {
        let sizes: Vec<f64> = look.gradient.iter().map(|g| g.abs()).collect();
        largest_outside(&sizes, support)
    })
}
