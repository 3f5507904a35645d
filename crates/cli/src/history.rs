//! The history file: one JSON line a round.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, BufWriter, Write},
    path::Path,
    time::Duration,
};

use ddiht_core::{
    coordinator::Tally,
    local::{Costs, Traffic},
};
use serde::Serialize;

#[derive(Debug, Serialize)]
struct Record<'a> {
    /// The label of the class being trained, where there are several: rounds and seconds are counted for each.
    #[serde(skip_serializing_if = "Option::is_none")]
    class: Option<f64>,
    round: u64,
    seconds: f64,
    objective: Option<f64>,
    /// P of the model the run is at, where that is not always the best one.
    current: Option<f64>,
    dual_bound: Option<f64>,
    gap: Option<f64>,
    nnz: usize,
    support_changed: usize,
    staleness: f64,
    step: &'a str,
    bytes: Traffic,
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

    /// Goes on with the history of a run that was saved after `rounds`: what came later was lost with the
    /// server, and will come again.
    pub(crate) fn resume(path: &Path, rounds: u64) -> io::Result<Self> {
        let known = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(error),
        };
        let is_before = |line: &&str| {
            let record: Result<serde_json::Value, _> = serde_json::from_str(line);
            let early =
                record.is_ok_and(|record| record["round"].as_u64().is_some_and(|r| r <= rounds));
            early && line.ends_with('\n')
        };
        let kept: usize = known.split_inclusive('\n').take_while(is_before).map(str::len).sum();
        let file = OpenOptions::new().append(true).create(true).open(path)?;
        // Cut off rather than written again: whatever happens now, the rounds kept are there.
        file.set_len(kept as u64)?;
        Ok(Self { out: BufWriter::new(file) })
    }

    /// Adds the round that just ended, of this class if there are several.
    pub(crate) fn add(
        &mut self,
        tally: &Tally,
        costs: &Costs,
        class: Option<f64>,
    ) -> io::Result<()> {
        let record = Record {
            class,
            round: tally.reported,
            seconds: tally.elapsed.as_secs_f64(),
            objective: tally.best().map(|best| best.objective),
            current: tally.current,
            dual_bound: tally.bound(),
            gap: tally.gap(),
            nnz: tally.best().map_or(0, |best| best.model.nnz()),
            support_changed: tally.support_changed,
            staleness: tally.staleness.mean(),
            step: tally.step.name(),
            bytes: costs.traffic,
            worker_seconds: costs.times.iter().map(Duration::as_secs_f64).collect(),
        };
        serde_json::to_writer(&mut self.out, &record)?;
        self.out.write_all(b"\n")?;
        self.out.flush()
    }
}
