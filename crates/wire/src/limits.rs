//! How many bytes a message may have: tonic takes 4 MiB unless it is told otherwise.
//!
//! Each limit is the size of the largest message within [`Bounds`], so that an honest peer is never cut
//! off and a broken one cannot make us reserve more than an honest one would.

use ddiht_core::{config::Uplink, round::Job};
use prost::Message;

use crate::{
    bounds::{Bounds, MAX_CHOICE, MAX_COLS, MAX_LABELS, MAX_LOCATIONS, MAX_SCORES},
    check::MAX_TEXT,
};

/// Room for tags, lengths, scalars and a sentence.
const OVERHEAD: usize = 4096 + MAX_TEXT;
/// The length of a gRPC message has 32 bits.
const MOST: usize = u32::MAX as usize;
/// Bytes of the largest 64-bit and the largest 32-bit whole number.
const VARINT_64: usize = 10;
const VARINT_32: usize = 5;

/// Bytes of a message on the wire, for the byte counters; framing and compression are not counted.
pub fn payload_len<M: Message>(message: &M) -> u64 {
    message.encoded_len() as u64
}

/// What a server must be able to receive, before the data are known. Where shards send all of `u`, that
/// is as much as gRPC can carry.
pub fn server_receive_before_launch(k: usize, shards: usize, uplink: Uplink) -> usize {
    let cols = usize::try_from(MAX_COLS).unwrap_or(usize::MAX);
    let uplink = match uplink {
        _ if shards == 1 => cols,
        Uplink::K => k,
        Uplink::FourK => k.saturating_mul(4),
        Uplink::Full => cols,
    };
    largest_answer(&Bounds { cols, k, shards, uplink, rows: u64::MAX, classes: true })
}

/// What a server must be able to receive in the rounds of `job`.
pub fn server_receive(job: &Job) -> usize {
    largest_answer(&Bounds::of(job))
}

/// What a worker must be able to receive before the rounds: an assignment with all its places.
pub fn worker_receive_before_launch() -> usize {
    // A rule for the positive class may list as many labels as there are places.
    MAX_LOCATIONS * (MAX_TEXT + VARINT_32 + 8) + 2 * MAX_CHOICE * VARINT_32 + MAX_TEXT + OVERHEAD
}

/// What a worker must be able to receive in the rounds of `job`.
pub fn worker_receive(job: &Job) -> usize {
    largest_question(&Bounds::of(job))
}

/// What a client of `Status`, `Watch` and `GetModel` must be able to receive.
pub fn control_receive(shards: usize) -> usize {
    let shard = 4 * VARINT_64;
    shards.saturating_mul(shard).saturating_add(OVERHEAD + crate::control::CHUNK).min(MOST)
}

fn largest_answer(bounds: &Bounds) -> usize {
    let lists = [
        // An update, with or without evidence.
        entries(bounds.ascent(), bounds.cols, 4)
            .saturating_add(bounds.certified().saturating_mul(8)),
        entries(crate::restate::PIECE, bounds.cols, 4),
        // Gradient and curvature of a survey; nominations are as long at most, and have columns.
        entries(bounds.support(), bounds.cols, 12),
        entries(bounds.model(), bounds.cols, 8).saturating_add(bounds.models().saturating_mul(8)),
        MAX_SCORES * (1 + 2 * VARINT_64),
        MAX_LABELS * (8 + VARINT_64),
    ];
    with_overhead(&lists)
}

fn largest_question(bounds: &Bounds) -> usize {
    let model = entries(bounds.model(), bounds.cols, 8).saturating_add(4 * VARINT_32);
    let delta = entries(bounds.model(), bounds.cols, 5);
    let lists = [
        // Columns and a model of a survey; a model that a worker which came back is told whole.
        2 * entries(bounds.support(), bounds.cols, 8),
        entries(bounds.cols, bounds.cols, 5),
        delta.saturating_add(entries(bounds.certified(), bounds.cols, 0)).saturating_add(model),
        model.saturating_mul(bounds.models().saturating_add(1)),
    ];
    with_overhead(&lists)
}

fn with_overhead(lists: &[usize]) -> usize {
    lists.iter().copied().max().unwrap_or(0).saturating_add(OVERHEAD).min(MOST)
}

/// Bytes of `count` columns of `cols`, with `width` bytes of values for each.
fn entries(count: usize, cols: usize, width: usize) -> usize {
    // Gaps add up to less than `cols`, so at most cols/128 of them need a second byte, cols/128^2 a third.
    let gaps = count.saturating_add(cols / 127).saturating_add(VARINT_32);
    count.saturating_mul(width).saturating_add(gaps.min(count.saturating_mul(VARINT_32)))
}
