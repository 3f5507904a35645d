//! One function for each fuzz target: what the programs do with bytes from a file or the network.
//!
//! Each takes any bytes and returns whether they were understood to the end. None may panic, hang or ask
//! for much memory, whatever the bytes. `fuzz_targets/` feeds them to libFuzzer; a test of the workspace,
//! `crates/wire/tests/corpus.rs`, includes this file to replay the corpus and mutations of it.

mod cluster;
mod data;
mod files;
mod messages;
pub mod seeds;
mod state;
mod tiny;

pub use data::{libsvm, shard, table};
pub use files::model;
pub use messages::{answers, control, questions};
pub use state::record;
