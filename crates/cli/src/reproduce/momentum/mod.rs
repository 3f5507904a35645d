//! The experiments of "IHT dies hard" (Khanna and Kyrillidis, AISTATS 2018).
//!
//! Its objective is `||b - Ax||^2 / 2` without a ridge; ours is `2/N` times that, and needs a ridge, which is far below what
//! shows.

mod selection;
mod sensing;
mod toy;

pub(super) use selection::Selection;
pub(super) use sensing::Sensing;
pub(super) use toy::Toy;

/// A ridge that changes nothing that is looked at.
const NO_RIDGE: f64 = 1e-12;
