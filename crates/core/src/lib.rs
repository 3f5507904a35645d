//! Data, losses, solvers and the round state machine of ddiht: no async, no network, no clock.
//!
//! # Layout
//! - [`data`]: LIBSVM text and binary shards into one matrix type; labels
//! - [`loss`], [`threshold`], [`design`]: the mathematics of one row, of `H_k`, and of sums over rows
//! - [`round`]: what a coordinator asks of shards and what they answer
//! - [`baseline`]: other people's algorithms for the same problem, in one process
//! - [`shard`], [`solver`]: the shards' side; [`coordinator`]: the other side, a state machine without I/O
//! - [`enrol`]: what a run must know of its data before the first round
//! - [`switchboard`]: the coordinator for workers whose messages may be lost or repeated
//! - [`storage`]: where files are kept; [`checkpoint`], [`record`]: what a run keeps for its own sake
//! - [`local`]: both in one process; [`train`]: a whole run; [`config`], [`settings`], [`model`]:
//!   what goes in and out
//! - [`one_vs_rest`]: a run for each of several classes; [`classes`]: their model file; [`verdict`],
//!   [`class_metrics`]: their answers
//! - [`evaluate`], [`measures`], [`metrics`], [`folds`], [`synth`]: measures, and data to measure on
//!
//! Derivations are numbered M1, M2, ... in `docs/math.md`, and comments refer to them by number.

pub mod baseline;
pub mod checkpoint;
pub mod class_metrics;
pub mod classes;
pub mod config;
pub mod coordinator;
pub mod data;
pub mod design;
pub mod enrol;
pub mod evaluate;
mod fetch;
pub mod folds;
pub mod local;
pub mod loss;
pub mod measures;
pub mod metrics;
pub mod model;
pub mod one_vs_rest;
pub mod record;
pub mod rng;
pub mod round;
pub mod settings;
pub mod shard;
pub mod solver;
pub mod storage;
mod support_norm;
pub mod switchboard;
pub mod synth;
pub mod threshold;
pub mod train;
pub mod verdict;
