//! Times passes over the rows of a LIBSVM file: `x_i'w` by all columns, and by the 1000 most frequent ones alone.
//!
//!     cargo run --release --example passes -- FILE
//!
//! A line of JSON for each, the least of several tries: what, threads, bytes of the arrays it goes through, seconds.
#![allow(clippy::unwrap_used)]

use std::{path::PathBuf, time::Instant};

use ddiht_core::{
    data::{self, CsrMatrix, ReadOptions},
    design::Design,
    storage::Local,
};

const TRIES: usize = 9;
const COLUMNS: usize = 1000;

fn main() {
    let Some(file) = std::env::args_os().nth(1) else {
        eprintln!("usage: passes FILE");
        std::process::exit(2);
    };
    let raw = data::read(&Local, &[PathBuf::from(file)], &ReadOptions::default()).unwrap();
    let full = Design::new(raw.x, false);
    let restricted = Design::new(most_frequent(&full), false);
    for threads in [1, 2] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        for (name, design) in [("full", &full), ("restricted", &restricted)] {
            let seconds = pool.install(|| time(design));
            let bytes = design.matrix().bytes();
            println!(
                r#"{{"pass": "{name}", "threads": {threads}, "bytes": {bytes}, "seconds": {seconds:.6}}}"#
            );
        }
    }
}

/// The rows, restricted to their most frequent columns.
fn most_frequent(design: &Design) -> CsrMatrix {
    let counts = design.column_facts().counts;
    let mut columns: Vec<u32> = (1..counts.len() as u32).collect();
    columns.sort_by_key(|&j| std::cmp::Reverse(counts[j as usize]));
    columns.truncate(COLUMNS);
    columns.sort_unstable();
    let mut names = vec![0; counts.len()];
    for (&j, name) in columns.iter().zip(2..) {
        names[j as usize] = name;
    }
    let mut out = CsrMatrix::new(columns.len() + 1);
    for row in design.matrix().iter() {
        out.push_renamed(row, |j| names[j as usize]);
    }
    out
}

fn time(design: &Design) -> f64 {
    let w: Vec<f64> = (0..design.cols()).map(|j| 1.0 / (j + 1) as f64).collect();
    let mut best = f64::INFINITY;
    for _ in 0..TRIES {
        let start = Instant::now();
        std::hint::black_box(design.scores(&w));
        best = best.min(start.elapsed().as_secs_f64());
    }
    best
}
