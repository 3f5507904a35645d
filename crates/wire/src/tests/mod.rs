//! Tests of the contract: what goes in comes out, what is wrong is refused, and nothing panics.

mod control;
mod noise;
mod refused_answers;
mod refused_enrolment;
mod refused_questions;
mod round_trips;
mod sizes;
mod values;

use std::fmt::Debug;

use ddiht_core::{
    loss::LossKind,
    round::Job,
    solver::{SdihtSettings, StepRule},
};
use prost::Message;
use tonic::{Code, Status};

use crate::{
    WireError,
    exchange::{Caller, SessionId},
};

/// Columns, budget, shards and rows of the job most tests are about.
const COLS: usize = 50;
const K: usize = 5;
const SHARDS: usize = 3;
const ROWS: usize = 1000;

fn job() -> Job {
    Job {
        loss: LossKind::SquaredHinge,
        lambda: 1e-4,
        k: K,
        kept: 0,
        total_rows: ROWS,
        cols: COLS,
        entries: 9000,
        intercept: true,
        shards: SHARDS,
        uplink: K,
        passes: 1,
        seed: 7,
        sdiht: SdihtSettings { batch: None, local_steps: 1, step: StepRule::Safe },
    }
}

fn caller() -> Caller {
    Caller { session: SessionId(u64::MAX - 3), shard: 2 }
}

/// Breaks a message.
type Change<M> = fn(&mut M);

/// Through the bytes of the wire.
fn over_the_wire<M: Message + Default>(message: &M) -> M {
    M::decode(message.encode_to_vec().as_slice()).unwrap()
}

/// Asserts that a message was refused with this code, in a sentence that has these words.
#[track_caller]
fn assert_refused<T: Debug>(result: Result<T, WireError>, code: Code, words: &str) {
    let status = Status::from(result.unwrap_err());
    assert_eq!(status.code(), code, "{status}");
    assert!(status.message().contains(words), "`{}` lacks `{words}`", status.message());
}
