//! Data, losses, solvers and the round state machine of ddiht: no async, no network, no clock.
pub mod coordinator;
pub mod data;
pub mod design;
pub mod local;
pub mod loss;
pub mod rng;
pub mod round;
pub mod shard;
pub mod solver;
pub mod threshold;
pub mod metrics;
pub mod synth;
