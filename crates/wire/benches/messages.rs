//! Encoding and decoding the messages of a dual round and of a refit, k = 1000 of 47,236 columns.
#![allow(clippy::unwrap_used)]

use ddiht_core::{
    config::Config,
    round::{Directive, Job, ModelDelta, Probe, Reply, Slope, Sparse, Weights},
};
use ddiht_wire::{
    AnswerBody, DirectiveDecoder, DirectiveEncoder, decode_reply, encode_reply, exchange, pb,
};
use divan::{Bencher, black_box, counter::BytesCount};
use prost::Message;

const COLS: usize = 47_237;
const K: u32 = 1000;

fn main() {
    divan::main();
}

fn job() -> Job {
    let mut config = Config::new(K as usize);
    config.workers = 8;
    config.check().unwrap().job(20_000, COLS, 1_500_000)
}

/// Columns all over the range.
fn columns() -> Vec<u32> {
    (1..=K).map(|i| i * 47 - i % 31).collect()
}

fn numbers() -> Vec<f64> {
    (1..=K).map(|i| (f64::from(i) * 0.37).sin()).collect()
}

fn ascend() -> Directive {
    let mut delta = ModelDelta { caution: 0.75, ..ModelDelta::default() };
    for (&j, &w) in columns().iter().zip(&numbers()) {
        delta.push(j, w as f32, 200);
    }
    Directive::Ascend(delta)
}

fn gradient() -> Directive {
    let model = Weights { indices: columns(), values: numbers() };
    Directive::Gradient(Probe { model, smoothing: None })
}

fn ascent() -> Reply {
    let values = numbers().iter().map(|&v| v as f32).collect();
    Reply::Ascend(Sparse { indices: columns(), values })
}

fn slope() -> Reply {
    let gradient = numbers();
    Reply::Gradient(Slope { loss: 1.0, smoothed: 1.0, gradient, visited: 400_000 })
}

/// A question on the wire, and what a worker makes of it.
fn question(bencher: Bencher<'_, '_>, directive: &Directive) {
    let job = job();
    let bytes = DirectiveEncoder::new().encode(1, directive).encoded_len();
    bencher.counter(BytesCount::new(bytes)).bench_local(|| {
        let sent = DirectiveEncoder::new().encode(1, directive).encode_to_vec();
        let message = pb::ExchangeReply::decode(sent.as_slice()).unwrap();
        black_box(DirectiveDecoder::new(&job).decode(message).unwrap())
    });
}

/// An answer on the wire, and what a server makes of it.
fn answer(bencher: Bencher<'_, '_>, directive: &Directive, reply: &Reply) {
    let job = job();
    let request = |answer| pb::ExchangeRequest {
        round: 1,
        answer: Some(answer),
        ..pb::ExchangeRequest::default()
    };
    let bytes = request(encode_reply(reply)).encoded_len();
    bencher.counter(BytesCount::new(bytes)).bench_local(|| {
        let sent = request(encode_reply(reply)).encode_to_vec();
        let message = pb::ExchangeRequest::decode(sent.as_slice()).unwrap();
        let AnswerBody::Reply(sealed) = exchange::open_answer(message).unwrap().body else {
            panic!("a reply was sent");
        };
        black_box(decode_reply(sealed, directive, &job).unwrap())
    });
}

#[divan::bench]
fn ask_ascend(bencher: Bencher<'_, '_>) {
    question(bencher, &ascend());
}

#[divan::bench]
fn ask_gradient(bencher: Bencher<'_, '_>) {
    question(bencher, &gradient());
}

#[divan::bench]
fn answer_ascend(bencher: Bencher<'_, '_>) {
    answer(bencher, &ascend(), &ascent());
}

#[divan::bench]
fn answer_gradient(bencher: Bencher<'_, '_>) {
    answer(bencher, &gradient(), &slope());
}
