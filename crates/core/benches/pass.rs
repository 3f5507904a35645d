//! What a shard does in a round, on text-like data: a dual round, passes over all columns, a gradient on the support, a
//! nomination; and a whole round, with the coordinator's part.
//!
//! Throughput is in stored entries of the whole shard, whatever part of them the support needs.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::time::Duration;

use ddiht_core::config::Config;
use ddiht_core::coordinator::{Command, Coordinator, Event};
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
const SPARSE: usize = 1000;
const ALL: usize = 47_236;

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
    coordinator: Coordinator,
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
            return Stage { coordinator, shard, round, directive, entries };
        }
        let reply = shard.handle(round, &directive);
        coordinator.handle(Duration::ZERO, Event::Answer { shard: 0, round, reply });
    }
    panic!("the run ended before such a directive");
}

fn measure(bencher: Bencher<'_, '_>, stage: Stage) {
    let Stage { mut shard, mut round, directive, entries, .. } = stage;
    bencher.counter(ItemsCount::new(entries)).bench_local(|| {
        round += 1;
        black_box(shard.handle(round, &directive))
    });
}

#[divan::bench]
fn dual_round(bencher: Bencher<'_, '_>) {
    measure(bencher, stage(SPARSE, WARM_UP, |d| matches!(d, Directive::Ascend(_))));
}

/// Passes over all columns, from where the last ones ended; then the gap is far below what is asked for, and two will do.
#[divan::bench]
fn settle(bencher: Bencher<'_, '_>) {
    measure(bencher, stage(ALL, 1, |d| matches!(d, Directive::Settle { .. })));
}

/// `x_i'w` for all rows, by all entries of the shard.
#[divan::bench]
fn full_pass(bencher: Bencher<'_, '_>) {
    measure(bencher, stage(ALL, 1, |d| matches!(d, Directive::Score { .. })));
}

/// Loss and gradient by the entries of 1000 columns.
#[divan::bench]
fn restricted_pass(bencher: Bencher<'_, '_>) {
    // The first models are empty or nearly so.
    let full =
        |d: &Directive| matches!(d, Directive::Gradient(p) if p.model.indices.len() >= SPARSE);
    measure(bencher, stage(SPARSE, 1, full));
}

/// The widest question: gradient and curvature in all columns.
#[divan::bench]
fn nomination(bencher: Bencher<'_, '_>) {
    let thorough = |d: &Directive| matches!(d, Directive::Nominate { hasty: false, .. });
    measure(bencher, stage(SPARSE, 1, thorough));
}

/// A question, its answer, and what the coordinator makes of it: mostly rounds of refits, as in a run.
#[divan::bench(sample_count = 20, sample_size = 20)]
fn round(bencher: Bencher<'_, '_>) {
    let Stage { mut coordinator, mut shard, round, directive, entries } =
        stage(SPARSE, 1, |d| matches!(d, Directive::Nominate { hasty: false, .. }));
    let reply = shard.handle(round, &directive);
    coordinator.handle(Duration::ZERO, Event::Answer { shard: 0, round, reply });
    bencher.counter(ItemsCount::new(entries)).bench_local(|| {
        while let Some(command) = coordinator.poll() {
            let Command::Send { round, directive, .. } = command else { continue };
            let reply = black_box(shard.handle(round, &directive));
            return coordinator.handle(Duration::ZERO, Event::Answer { shard: 0, round, reply });
        }
    });
}
