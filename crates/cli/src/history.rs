//! The history file: one JSON line a round.

use std::{
    fs::File,
    io::{self, BufWriter, Write},
    path::Path,
    time::Duration,
};

use ddiht_core::coordinator::Tally;
use serde::Serialize;

/// Payload over the wire; nothing in one process.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(crate) struct Bytes {
    pub(crate) up: u64,
    pub(crate) down: u64,
    pub(crate) certificate: u64,
}

#[derive(Debug, Serialize)]
struct Record<'a> {
    round: u64,
    seconds: f64,
    objective: Option<f64>,
    dual_bound: Option<f64>,
    gap: Option<f64>,
    nnz: usize,
    support_changed: usize,
    step: &'a str,
    bytes: Bytes,
    worker_seconds: Vec<f64>,
}

/// A history being written; each line is flushed, so a running job can be plotted.
#[derive(Debug)]
pub(crate) struct History {
    out: BufWriter<File>,
}

impl History {
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        Ok(Self { out: BufWriter::new(File::create(path)?) })
    }

    /// Adds the round that just ended.
    pub(crate) fn add(&mut self, tally: &Tally, times: &[Duration]) -> io::Result<()> {
        let record = Record {
            round: tally.rounds,
            seconds: tally.elapsed.as_secs_f64(),
            objective: tally.best().map(|best| best.objective),
            dual_bound: tally.bound(),
            gap: tally.gap(),
            nnz: tally.best().map_or(0, |best| best.model.nnz()),
            support_changed: tally.support_changed,
            step: tally.step,
            bytes: Bytes::default(),
            worker_seconds: times.iter().map(Duration::as_secs_f64).collect(),
        };
        serde_json::to_writer(&mut self.out, &record)?;
        self.out.write_all(b"\n")?;
        self.out.flush()
    }
}
