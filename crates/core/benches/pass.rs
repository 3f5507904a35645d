//! What a shard does in a round, on text-like data: a dual round, and a gradient on the support.
//!
//! Throughput is in stored entries of the whole shard, whatever part of them the support needs.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::time::Duration;

use ddiht_core::config::Config;
use ddiht_core::coordinator::{Command, Event};
use ddiht_core::data::CsrMatrix;
use ddiht_core::round::Directive;
use ddiht_core::shard::{Rows, Shard};
use ddiht_core::synth::{TextOptions, TextRows};
use divan::counter::ItemsCount;
use divan::{Bencher, black_box};

const ROWS: u64 = 20_000;
/// Rounds before a dual round is measured: by then the support has settled.
const WARM_UP: usize = 10;
/// A k-sparse model and, with all features, the plain convex problem.
const BUDGETS: [usize; 2] = [1000, 47_236];

fn main() {
    divan::main();
}

/// Rows like the text of a news corpus: 20 000 x 47 236 with 75 entries a row.
fn text() -> Rows {
    let options = TextOptions { rows: ROWS, ..TextOptions::default() };
    let mut source = TextRows::new(&options).unwrap();
    let (mut x, mut y) = (CsrMatrix::new(options.features + 1), Vec::new());
    let mut row = Vec::new();
    for _ in 0..ROWS {
        y.push(if source.next_row(&mut row) { 1.0 } else { -1.0 });
        let indices: Vec<u32> = row.iter().map(|entry| entry.0 + 1).collect();
        let values: Vec<f32> = row.iter().map(|entry| entry.1).collect();
        x.push_row(&indices, &values);
    }
    Rows { x, y, weights: None }
}

/// A run stopped before its shard answers a directive.
struct Stage {
    shard: Shard,
    round: u64,
    directive: Arc<Directive>,
    entries: usize,
}

/// Runs until the `count`-th directive of the kind that `is_kind` accepts.
fn stage(k: usize, count: usize, is_kind: impl Fn(&Directive) -> bool) -> Stage {
    let rows = text();
    let mut config = Config::new(k);
    config.limits.gap = 0.0;
    config.limits.rounds = Some(2 * WARM_UP as u64);
    let config = config.check().unwrap();
    let entries = rows.x.nnz();
    let job = config.job(rows.x.rows(), rows.x.cols(), entries);
    let mut coordinator = config.coordinator(job);
    let mut shard = Shard::new(0, job, rows);
    let mut seen = 0;
    while let Some(command) = coordinator.poll() {
        let Command::Send { round, directive, .. } = command else { continue };
        seen += usize::from(is_kind(&directive));
        if seen == count {
            return Stage { shard, round, directive, entries };
        }
        let reply = shard.handle(round, &directive);
        coordinator.handle(Duration::ZERO, Event::Answer { shard: 0, round, reply });
    }
    panic!("the run ended before such a directive");
}

fn measure(bencher: Bencher<'_, '_>, stage: Stage) {
    let Stage { mut shard, mut round, directive, entries } = stage;
    bencher.counter(ItemsCount::new(entries)).bench_local(|| {
        round += 1;
        black_box(shard.handle(round, &directive))
    });
}

#[divan::bench(args = BUDGETS)]
fn dual_round(bencher: Bencher<'_, '_>, k: usize) {
    measure(bencher, stage(k, WARM_UP, |d| matches!(d, Directive::Ascend(_))));
}

#[divan::bench(args = BUDGETS)]
fn gradient(bencher: Bencher<'_, '_>, k: usize) {
    // The first models are empty or nearly so.
    let full = |d: &Directive| matches!(d, Directive::Gradient(p) if p.model.indices.len() >= 1000);
    measure(bencher, stage(k, 1, full));
}

/// The widest question: gradient and curvature in all columns.
#[divan::bench(args = BUDGETS)]
fn nomination(bencher: Bencher<'_, '_>, k: usize) {
    measure(bencher, stage(k, 1, |d| matches!(d, Directive::Nominate { .. })));
}
