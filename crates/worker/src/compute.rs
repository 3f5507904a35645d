//! The thread of the shard.

use std::{
    sync::{Arc, mpsc},
    thread,
    time::{Duration, Instant},
};

use ddiht_core::{
    data::DataError,
    enrol::{Assignment, Launch},
    round::{Directive, Reply},
    shard::Shard,
};
use tokio::sync::oneshot;

use crate::{Loader, WorkerError};
use ddiht_core::enrol::ShardFacts;

/// An answer and the time it took.
#[derive(Debug)]
pub(crate) struct Computed {
    pub(crate) reply: Reply,
    pub(crate) time: Duration,
}

enum Task {
    Load { assignment: Assignment, done: oneshot::Sender<Result<ShardFacts, DataError>> },
    Launch { launch: Launch, done: oneshot::Sender<Result<(), DataError>> },
    Answer { round: u64, directive: Arc<Directive>, done: oneshot::Sender<Option<Computed>> },
}

/// The way to the thread of the shard. The thread ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Compute {
    tasks: mpsc::Sender<Task>,
}

impl Compute {
    /// Starts the thread; its answers come later by `delay`.
    pub(crate) fn start(load: Loader, delay: Duration) -> Result<Self, WorkerError> {
        let (tasks, inbox) = mpsc::channel();
        let builder = thread::Builder::new().name("shard".to_owned());
        builder.spawn(move || work(&load, delay, &inbox))?;
        Ok(Self { tasks })
    }

    /// Reads the shard and counts what is in it.
    pub(crate) async fn load(&self, assignment: Assignment) -> Result<ShardFacts, WorkerError> {
        Ok(self.ask(|done| Task::Load { assignment, done }).await??)
    }

    /// Makes the shard ready for the first round.
    pub(crate) async fn launch(&self, launch: Launch) -> Result<(), WorkerError> {
        Ok(self.ask(|done| Task::Launch { launch, done }).await??)
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

/// What the thread does. An answer that nobody waits for any more is nobody's loss.
fn work(load: &Loader, delay: Duration, inbox: &mpsc::Receiver<Task>) {
    let (mut loaded, mut shard) = (None, None);
    for task in inbox {
        match task {
            Task::Load { assignment, done } => {
                let facts = load.load(&assignment).map(|raw| {
                    let facts = assignment.preparation.describe(&raw);
                    loaded = Some((assignment, raw));
                    facts
                });
                let _ = done.send(facts);
            }
            Task::Launch { launch, done } => {
                let ready = loaded.take().map_or(Ok(()), |(assignment, raw)| {
                    let rows = assignment.preparation.rows(raw, launch.labels.as_ref())?;
                    shard = Some(Shard::new(assignment.shard, launch.job, rows));
                    Ok(())
                });
                let _ = done.send(ready);
            }
            Task::Answer { round, directive, done } => {
                let start = Instant::now();
                let reply = shard.as_mut().map(|shard| shard.handle(round, &directive));
                thread::sleep(delay);
                let time = start.elapsed();
                let _ = done.send(reply.map(|reply| Computed { reply, time }));
            }
        }
    }
}
