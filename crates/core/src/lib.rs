//! Data, losses, solvers and the round state machine of ddiht: no async, no network, no clock.
pub mod data;
pub mod metrics;
pub mod synth;
