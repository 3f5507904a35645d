//! Times passes over the rows of a LIBSVM file: `x_i'w` by all columns, and by the 1000 most frequent ones alone.
//!
//! Two more tell what a full pass waits for: the same with columns numbered by how frequent they are, and with the
//! entries of every row moved to the first columns, whose weights are always near.
//!
//!     cargo run --release --example passes -- FILE
//!
//! A line of JSON for each, the least of several tries: what, threads, bytes of the arrays it goes through, seconds.
#![allow(clippy::unwrap_used)]

use std::{path::PathBuf, time::Instant};

use ddiht_core::{
    data::{self, CsrMatrix, ReadOptions, Shortlist},
    design::Design,
    storage::Local,
};

const TRIES: usize = 50;
const COLUMNS: usize = 1000;

fn main() {
    let Some(file) = std::env::args_os().nth(1) else {
        eprintln!("usage: passes FILE");
        std::process::exit(2);
    };
    let raw = data::read(&Local, &[PathBuf::from(file)], &ReadOptions::default()).unwrap();
    let full = Design::new(raw.x, false);
    let columns = by_frequency(&full);
    let restricted = Design::new(most_frequent(&full, &columns), false);
    let mut ranks = vec![0; full.cols()];
    columns.iter().zip(1..).for_each(|(&j, rank)| ranks[j as usize] = rank);
    let sorted = Design::new(renumbered(&full, |_, j| ranks[j as usize]), false);
    let near = Design::new(renumbered(&full, |place, _| place as u32 + 1), false);
    for threads in [1, 2] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        for (name, design) in [
            ("full", &full),
            ("by frequency", &sorted),
            ("near", &near),
            ("restricted", &restricted),
        ] {
            let seconds = pool.install(|| time(design));
            let bytes = design.matrix().bytes();
            println!(
                r#"{{"pass": "{name}", "threads": {threads}, "bytes": {bytes}, "seconds": {seconds:.6}}}"#
            );
        }
    }
}

/// All columns but 0, the most frequent first.
fn by_frequency(design: &Design) -> Vec<u32> {
    let counts = design.column_facts().counts;
    let mut columns: Vec<u32> = (1..counts.len() as u32).collect();
    columns.sort_by_key(|&j| std::cmp::Reverse(counts[j as usize]));
    columns
}

/// The rows, restricted to the first of `columns`.
fn most_frequent(design: &Design, columns: &[u32]) -> CsrMatrix {
    let mut columns = columns[..COLUMNS.min(columns.len())].to_vec();
    columns.sort_unstable();
    let list = Shortlist::of(std::iter::once(0).chain(columns), design.cols());
    let mut out = CsrMatrix::default();
    out.restrict(design.matrix(), &list, &mut Vec::new());
    out
}

/// The rows with other numbers for their columns, by place in the row and number before.
fn renumbered(design: &Design, name: impl Fn(usize, u32) -> u32) -> CsrMatrix {
    let mut out = CsrMatrix::new(design.cols());
    for row in design.matrix().iter() {
        let named = row.indices.iter().enumerate().map(|(place, &j)| name(place, j));
        let mut entries: Vec<(u32, f32)> = named.zip(row.values.iter().copied()).collect();
        entries.sort_unstable_by_key(|&(j, _)| j);
        let (indices, values): (Vec<u32>, Vec<f32>) = entries.into_iter().unzip();
        out.push_row(&indices, &values);
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
