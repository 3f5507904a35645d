//! `H_k` by selection: a first call, and calls that remember the threshold of a similar vector.
#![allow(clippy::unwrap_used)]

use ddiht_core::threshold::TopK;
use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

const K: usize = 1000;
/// The vocabulary of a news corpus, and its bigrams.
const DIMENSIONS: [usize; 2] = [47_237, 1_000_001];

fn main() {
    divan::main();
}

/// Heavy-tailed entries of both signs, as `u` has on text.
fn vector(len: usize, seed: u64) -> Vec<f64> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    (0..len).map(|_| (rng.random::<f64>() - 0.5) / (0.01 + rng.random::<f64>())).collect()
}

/// The same vector a round later: every entry moved by up to 2 per cent.
fn moved(v: &[f64]) -> Vec<f64> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(2);
    v.iter().map(|x| x * (0.98 + 0.04 * rng.random::<f64>())).collect()
}

#[divan::bench(args = DIMENSIONS)]
fn first_call(bencher: Bencher<'_, '_>, len: usize) {
    let v = vector(len, 1);
    let mut out = Vec::with_capacity(K);
    bencher.counter(ItemsCount::new(len)).bench_local(|| {
        TopK::new().select(len, K, |j| v[j].abs(), &mut out);
        black_box(out.len())
    });
}

#[divan::bench(args = DIMENSIONS)]
fn with_memory(bencher: Bencher<'_, '_>, len: usize) {
    let before = vector(len, 1);
    let after = moved(&before);
    let mut top = TopK::new();
    let mut out = Vec::with_capacity(K);
    let mut turn = 0usize;
    // Two vectors in turn, so that the remembered threshold is always that of the other one.
    bencher.counter(ItemsCount::new(len)).bench_local(|| {
        let v = if turn.is_multiple_of(2) { &before } else { &after };
        turn += 1;
        top.select(len, K, |j| v[j].abs(), &mut out);
        black_box(out.len())
    });
}

/// What selection is to beat.
#[divan::bench(args = DIMENSIONS)]
fn full_sort(bencher: Bencher<'_, '_>, len: usize) {
    let v = vector(len, 1);
    let mut order: Vec<u32> = Vec::with_capacity(len);
    bencher.counter(ItemsCount::new(len)).bench_local(|| {
        order.clear();
        order.extend(1..u32::try_from(len).unwrap());
        order.sort_by(|&a, &b| v[b as usize].abs().total_cmp(&v[a as usize].abs()));
        black_box(order[..K].len())
    });
}
