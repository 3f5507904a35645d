//! The frame of every experiment: cells that can be done in any order, kept as they are done, and what follows.
//!
//! A cell is one copy of the data under one setting, or so: seconds of work. Its rows depend on the seed and on its name,
//! never on threads or on what was done before, except for the clock in those that measure time.

use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use super::{
    journal::Journal,
    page::Page,
    table::{Columns, Row, Table},
};
use crate::{
    failure::Failure,
    progress::{Meter, Signals},
};

type Work<'a> = Box<dyn Fn(&Signals) -> Result<Vec<Row>, Failure> + Send + Sync + 'a>;

/// Something to do.
pub(super) struct Task<'a> {
    /// Unlike that of any other cell.
    pub(super) name: String,
    /// Whether it looks at the clock: it then has the machine, and one thread, to itself.
    pub(super) timed: bool,
    pub(super) work: Work<'a>,
}

impl<'a> Task<'a> {
    /// A cell that may run beside others.
    pub(super) fn new(
        name: String,
        work: impl Fn(&Signals) -> Result<Vec<Row>, Failure> + Send + Sync + 'a,
    ) -> Self {
        Self { name, timed: false, work: Box::new(work) }
    }

    /// A cell that measures time.
    pub(super) fn timed(
        name: String,
        work: impl Fn(&Signals) -> Result<Vec<Row>, Failure> + Send + Sync + 'a,
    ) -> Self {
        Self { timed: true, ..Self::new(name, work) }
    }
}

/// An experiment.
pub(super) trait Experiment: Send + Sync {
    /// What its rows hold.
    fn columns(&self) -> Columns;

    /// All there is to do, as far as it is known from the rows so far: asked again when it is done, because a choice
    /// made on some cells may decide about others.
    fn tasks<'a>(&'a self, done: &Table) -> Vec<Task<'a>>;

    /// What the rows say.
    fn page(&self, table: &Table) -> Page;
}

#[derive(Debug, thiserror::Error)]
pub(super) enum FrameError {
    #[error("stopped with {done} of {all} cells done: the same call goes on from there")]
    Stopped { done: usize, all: usize },
    #[error("the threads could not be started: {0}")]
    Pool(#[from] rayon::ThreadPoolBuildError),
}

/// Does what is not done yet; all rows in the order of their cells.
pub(super) fn run(
    experiment: &dyn Experiment,
    journal: Journal,
    meter: &Meter,
    signals: &Signals,
) -> Result<Table, Failure> {
    let columns = experiment.columns();
    let mut table = Table { columns, rows: Vec::new() };
    let journal = Mutex::new(journal);
    loop {
        let tasks = experiment.tasks(&table);
        let missing: Vec<&Task<'_>> = {
            let journal = journal.lock().unwrap_or_else(PoisonError::into_inner);
            tasks.iter().filter(|task| journal.rows(&task.name).is_none()).collect()
        };
        meter.plan(tasks.len() - missing.len(), tasks.len());
        let grew = !missing.is_empty();
        let (timed, free): (Vec<&Task<'_>>, Vec<&Task<'_>>) =
            missing.into_iter().partition(|task| task.timed);
        let work = |task: &Task<'_>| attend(task, &journal, meter, signals);
        free.into_par_iter().try_for_each(work)?;
        alone(|| timed.into_iter().try_for_each(work))?;
        let before = table.rows.len();
        let journal = journal.lock().unwrap_or_else(PoisonError::into_inner);
        table.rows =
            tasks.iter().filter_map(|task| journal.rows(&task.name)).flatten().cloned().collect();
        if !grew && table.rows.len() == before {
            return Ok(table);
        }
    }
}

/// On a pool of one thread: what is compared by the clock should not differ in how well it uses several.
fn alone(work: impl FnOnce() -> Result<(), Failure> + Send) -> Result<(), Failure> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    pool.map_err(|error| Failure::run(FrameError::Pool(error)))?.install(work)
}

fn attend(
    task: &Task<'_>,
    journal: &Mutex<Journal>,
    meter: &Meter,
    signals: &Signals,
) -> Result<(), Failure> {
    let stopped = || {
        let (done, all) = meter.state();
        Err(Failure::run(FrameError::Stopped { done, all }))
    };
    if signals.came() {
        return stopped();
    }
    let rows = (task.work)(signals)?;
    // Runs end early when a signal comes, and what they have then is not the cell's.
    if signals.came() {
        return stopped();
    }
    journal.lock().unwrap_or_else(PoisonError::into_inner).add(&task.name, rows)?;
    meter.step(&task.name);
    Ok(())
}

/// A seed of its own for everything that `parts` name.
pub(super) fn seed_of(seed: u64, parts: &[u64]) -> u64 {
    // The finaliser of splitmix64: every bit of the input reaches every bit of the result.
    parts.iter().fold(seed, |state, part| {
        let mut z = state.wrapping_add(part.wrapping_mul(0x9E37_79B9_7F4A_7C15)).wrapping_add(1);
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::journal::Identity;

    /// Squares, and then their sum.
    struct Squares;

    impl Experiment for Squares {
        fn columns(&self) -> Columns {
            Columns { x: "n", values: &["square"] }
        }

        fn tasks<'a>(&'a self, done: &Table) -> Vec<Task<'a>> {
            let square = |n: u32| {
                let value = f64::from(n * n);
                let row =
                    move |_: &Signals| Ok(vec![Row::new("", "each", f64::from(n), 0, &[value])]);
                Task::new(format!("square {n}"), row)
            };
            let mut tasks: Vec<Task<'_>> = (0..20).map(square).collect();
            if done.rows.len() >= 20 {
                let sum = done.rows[..20].iter().filter_map(|row| row.values[0]).sum();
                let row = move |_: &Signals| Ok(vec![Row::new("", "sum", 0.0, 0, &[sum])]);
                tasks.push(Task::timed("sum".to_owned(), row));
            }
            tasks
        }

        fn page(&self, _: &Table) -> Page {
            Page { setting: vec![], claims: vec![], charts: vec![], sections: vec![] }
        }
    }

    #[test]
    fn cells_that_follow_from_others_are_done_and_rows_are_in_order_whatever_was_done_before() {
        let run_in = |place: &std::path::Path| {
            let data = Vec::new();
            let identity =
                Identity { figure: "f".to_owned(), scale: "small".to_owned(), seed: 0, data };
            let journal = Journal::open(place, &identity).unwrap();
            run(&Squares, journal, &Meter::new("f", true), &Signals::default()).unwrap()
        };
        let place = tempfile::tempdir().unwrap();
        let table = run_in(place.path());
        assert_eq!(table.rows.len(), 21);
        assert_eq!(table.rows[20].values, [Some(2470.0)]);
        // As after a call that ended early: some cells are there, in an order of their own.
        let path = place.path().join("cells.jsonl");
        let text = std::fs::read_to_string(&path).unwrap();
        let mut lines: Vec<&str> = text.lines().collect();
        lines[1..].reverse();
        lines.truncate(9);
        std::fs::write(&path, lines.join("\n") + "\n").unwrap();
        assert_eq!(run_in(place.path()).csv(), table.csv());
    }

    #[test]
    fn seeds_differ() {
        let seeds: std::collections::HashSet<u64> =
            (0..1000).map(|i| seed_of(0, &[i / 10, i % 10])).collect();
        assert_eq!(seeds.len(), 1000);
    }
}
