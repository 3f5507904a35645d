//! The thread of the shard.
//!
//! It keeps the shard it has: a worker that lost its server or its place comes back with what it knows.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, mpsc},
    thread,
    time::{Duration, Instant},
};

use ddiht_core::{
    data::{DataError, RawData, Sealed},
    enrol::{Assignment, Launch, ShardFacts},
    round::{Directive, Reply, Sparse},
    shard::Shard,
};
use tokio::sync::oneshot;

use crate::{
    Loader, WorkerError,
    state::{AlphaWriter, read_alpha},
};

/// An answer and the time it took.
#[derive(Debug)]
pub(crate) struct Computed {
    pub(crate) reply: Reply,
    pub(crate) time: Duration,
}

enum Task {
    Load { assignment: Assignment, done: oneshot::Sender<Result<ShardFacts, DataError>> },
    Launch { launch: Launch, under_way: bool, done: oneshot::Sender<Result<(), DataError>> },
    Restate { done: oneshot::Sender<Sparse<f32>> },
    Answer { round: u64, directive: Arc<Directive>, done: oneshot::Sender<Option<Computed>> },
}

/// The way to the thread of the shard. The thread ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Compute {
    tasks: mpsc::Sender<Task>,
}

impl Compute {
    /// Starts the thread; its answers come later by `delay`, and its dual variables are kept in `alpha`. The
    /// receiver is told, or finds nobody there any more, when the thread has ended and all is written.
    pub(crate) fn start(
        load: Loader,
        delay: Duration,
        alpha: Option<PathBuf>,
    ) -> Result<(Self, oneshot::Receiver<()>), WorkerError> {
        let (tasks, inbox) = mpsc::channel();
        let (ended, end) = oneshot::channel();
        let builder = thread::Builder::new().name("shard".to_owned());
        let writer = alpha.clone().map(AlphaWriter::start).transpose()?;
        let bench = Bench { load, delay, alpha, writer, assignment: None, facts: None, work: None };
        builder.spawn(move || {
            bench.work(&inbox);
            drop(ended);
        })?;
        Ok((Self { tasks }, end))
    }

    /// Reads the shard and counts what is in it.
    pub(crate) async fn load(&self, assignment: Assignment) -> Result<ShardFacts, WorkerError> {
        Ok(self.ask(|done| Task::Load { assignment, done }).await??)
    }

    /// Makes the shard ready for the rounds. If they are under way it goes on from what it knows, else it
    /// begins at alpha = 0.
    pub(crate) async fn launch(&self, launch: Launch, under_way: bool) -> Result<(), WorkerError> {
        Ok(self.ask(|done| Task::Launch { launch, under_way, done }).await??)
    }

    /// All that the shard holds of `u`.
    pub(crate) async fn restate(&self) -> Result<Sparse<f32>, WorkerError> {
        self.ask(|done| Task::Restate { done }).await
    }

    /// Answers a directive.
    pub(crate) async fn answer(
        &self,
        round: u64,
        directive: Directive,
    ) -> Result<Computed, WorkerError> {
        let directive = Arc::new(directive);
        let answered = self.ask(|done| Task::Answer { round, directive, done }).await?;
        answered.ok_or(WorkerError::Panicked)
    }

    async fn ask<T>(
        &self,
        task: impl FnOnce(oneshot::Sender<T>) -> Task,
    ) -> Result<T, WorkerError> {
        let (done, answer) = oneshot::channel();
        self.tasks.send(task(done)).map_err(|_| WorkerError::Panicked)?;
        answer.await.map_err(|_| WorkerError::Panicked)
    }
}

/// A shard, before the facts of the whole are known and after.
enum Work {
    Loaded(RawData<Sealed>),
    Ready { launch: Launch, shard: Box<Shard> },
}

/// What the thread has before it.
struct Bench {
    load: Loader,
    delay: Duration,
    alpha: Option<PathBuf>,
    writer: Option<AlphaWriter>,
    assignment: Option<Assignment>,
    facts: Option<ShardFacts>,
    work: Option<Work>,
}

impl Bench {
    /// Works until nobody asks any more. An answer that nobody waits for is nobody's loss.
    fn work(mut self, inbox: &mpsc::Receiver<Task>) {
        for task in inbox {
            match task {
                Task::Load { assignment, done } => drop(done.send(self.load(assignment))),
                Task::Launch { launch, under_way, done } => {
                    let _ = done.send(self.launch(launch, under_way));
                }
                Task::Restate { done } => {
                    let part = self.shard().map(Shard::restate);
                    let _ = done.send(part.unwrap_or_default());
                }
                Task::Answer { round, directive, done } => {
                    let start = Instant::now();
                    let reply = self.shard().map(|shard| shard.handle(round, &directive));
                    thread::sleep(self.delay);
                    let time = start.elapsed();
                    let _ = done.send(reply.map(|reply| Computed { reply, time }));
                    self.keep(directive.is_step());
                }
            }
        }
        // The last state is worth more than any before it.
        if let (Some(Work::Ready { shard, .. }), Some(writer)) = (&self.work, &mut self.writer) {
            writer.keep(shard.alpha());
        }
    }

    fn shard(&mut self) -> Option<&mut Shard> {
        match &mut self.work {
            Some(Work::Ready { shard, .. }) => Some(shard),
            _ => None,
        }
    }

    /// Reads the shard, unless it is the one that is there.
    fn load(&mut self, assignment: Assignment) -> Result<ShardFacts, DataError> {
        if self.assignment.as_ref() == Some(&assignment)
            && let Some(facts) = &self.facts
        {
            return Ok(facts.clone());
        }
        (self.assignment, self.facts, self.work) = (None, None, None);
        let raw = self.load.load(&assignment)?;
        let facts = assignment.preparation.describe(&raw);
        // Before anybody is told of it: a shard that is described counts as one that can be used.
        let raw = assignment.preparation.verify(raw)?;
        self.work = Some(Work::Loaded(raw));
        (self.assignment, self.facts) = (Some(assignment), Some(facts.clone()));
        Ok(facts)
    }

    fn launch(&mut self, launch: Launch, under_way: bool) -> Result<(), DataError> {
        let Some(assignment) = &self.assignment else { return Ok(()) };
        let raw = match self.work.take() {
            Some(Work::Ready { launch: known, mut shard }) if known == launch => {
                if !under_way {
                    shard.restart();
                }
                self.work = Some(Work::Ready { launch, shard });
                return Ok(());
            }
            Some(Work::Loaded(raw)) => raw,
            // Another job on the same rows, which have gone into the shard.
            _ => self.load.load(assignment)?,
        };
        let rows = assignment.preparation.sealed_rows(raw, launch.labels.as_ref())?;
        let mut shard = Shard::unseal(assignment.shard, launch.job, rows)?;
        if let (Some(path), true) = (&self.alpha, under_way) {
            recall(path, &mut shard);
        }
        self.work = Some(Work::Ready { launch, shard: Box::new(shard) });
        Ok(())
    }

    /// Writes the dual variables down when that is due and they may have moved.
    fn keep(&mut self, moved: bool) {
        if let (true, Some(Work::Ready { shard, .. }), Some(writer)) =
            (moved, &self.work, &mut self.writer)
            && writer.is_due()
        {
            writer.keep(shard.alpha());
        }
    }
}

/// Takes up the dual variables of an earlier life, if they are those of this shard.
fn recall(path: &Path, shard: &mut Shard) {
    let Some(alpha) = read_alpha(path) else { return };
    match shard.resume(&alpha) {
        Ok(()) => tracing::info!("the dual variables of an earlier life are taken up"),
        Err(other) => tracing::info!("{}: {other}; the shard begins anew", path.display()),
    }
}
