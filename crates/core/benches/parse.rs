//! Throughput of the text reader: one core's parser, and the whole reader from a file.
#![allow(clippy::unwrap_used)]

use std::fmt::Write as _;
use std::path::PathBuf;

use ddiht_core::data::{ReadOptions, libsvm, read};
use ddiht_core::storage::Local;
use divan::counter::BytesCount;
use divan::{Bencher, black_box};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

const BYTES: usize = 20 << 20;

fn main() {
    divan::main();
}

/// Text like tf-idf data: about 80 entries a row, values with six digits.
fn text() -> String {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut text = String::with_capacity(BYTES + 4096);
    while text.len() < BYTES {
        text.push_str(if rng.random() { "+1" } else { "-1" });
        let mut index = 0;
        for _ in 0..80 {
            index += rng.random_range(1..1000u32);
            write!(text, " {index}:{:.6}", rng.random::<f32>()).unwrap();
        }
        text.push('\n');
    }
    text
}

#[divan::bench]
fn lines(bencher: Bencher<'_, '_>) {
    let text = text();
    bencher.counter(BytesCount::new(text.len())).bench(|| {
        let mut sum = 0.0f32;
        for line in text.lines() {
            black_box(libsvm::parse_line(line.as_bytes(), false, |_, v| sum += v)).unwrap();
        }
        sum
    });
}

#[divan::bench(args = [1, 2])]
fn file(bencher: Bencher<'_, '_>, threads: usize) {
    let text = text();
    let dir = tempfile::tempdir().unwrap();
    let path: PathBuf = dir.path().join("bench.libsvm");
    std::fs::write(&path, &text).unwrap();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    bencher.counter(BytesCount::new(text.len())).bench(|| {
        pool.install(|| read(&Local, std::slice::from_ref(&path), &ReadOptions::default())).unwrap()
    });
}
