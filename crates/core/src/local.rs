//! The in-memory transport: a coordinator and its shards in one process, the very same as in a cluster.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{self, Sender},
    },
    time::Duration,
};

use crate::{
    coordinator::{Command, Coordinator, CoordinatorError, Event, Stopped, Tally},
    round::Reply,
    shard::Shard,
};

/// Training time so far, for any thread.
pub type Clock = Arc<dyn Fn() -> Duration + Send + Sync>;

/// Payload over the wire, of all workers; nothing in one process.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    serde::Serialize,
    wincode::SchemaRead,
    wincode::SchemaWrite,
)]
pub struct Traffic {
    /// From the workers.
    pub up: u64,
    /// To the workers.
    pub down: u64,
    /// The part of both that certificates and the finish took.
    pub certificate: u64,
}

/// What the rounds so far have cost.
#[derive(Debug, Clone)]
pub struct Costs {
    /// For each shard, the time its answers in the last round took.
    pub times: Vec<Duration>,
    /// Payload since the start.
    pub traffic: Traffic,
    /// Shards whose times have been reported: their next answer begins a round.
    told: Vec<bool>,
}

impl Costs {
    /// Nothing yet.
    pub fn new(shards: usize) -> Self {
        let (times, told) = (vec![Duration::ZERO; shards], vec![false; shards]);
        Self { times, traffic: Traffic::default(), told }
    }

    /// Adds the time of an answer.
    pub fn spend(&mut self, shard: usize, time: Duration) {
        if std::mem::take(&mut self.told[shard]) {
            self.times[shard] = Duration::ZERO;
        }
        self.times[shard] += time;
    }

    /// The round has been reported.
    pub fn close_round(&mut self) {
        self.told.fill(true);
    }
}

/// Who wants to know how a run is going.
pub trait Observer {
    /// Called after every round.
    fn report(&mut self, tally: &Tally, costs: &Costs);
}

/// What the caller brings: the clock, and the wish to end.
pub trait Host: Observer {
    /// The clock of training.
    fn clock(&self) -> Clock;

    /// Whether the run shall end with the best model so far.
    fn interrupted(&self) -> bool;
}

/// A shard's answer and the time it took.
struct Answered {
    shard: usize,
    event: Event,
    time: Duration,
}

/// Says that a shard is done even if it panics, so that nobody waits for it.
struct Messenger {
    to: Sender<Option<Answered>>,
    answered: Option<Answered>,
}

impl Messenger {
    fn deliver(mut self, answered: Answered) {
        self.answered = Some(answered);
    }
}

impl Drop for Messenger {
    fn drop(&mut self) {
        // Nobody listens any more once the run is over.
        let _ = self.to.send(self.answered.take());
    }
}

/// Runs to the end.
pub fn run(
    coordinator: &mut Coordinator,
    shards: &mut [Shard],
    host: &mut (impl Host + Send),
) -> Result<Stopped, CoordinatorError> {
    match shards {
        // All of it on a thread of the pool: to hand each of thousands of directives from thread to thread would take
        // longer than the small ones do.
        [shard] => rayon::scope(|_| run_alone(coordinator, shard, host)),
        several => run_together(coordinator, several, host),
    }
}

fn run_alone(
    coordinator: &mut Coordinator,
    shard: &mut Shard,
    host: &mut impl Host,
) -> Result<Stopped, CoordinatorError> {
    let clock = host.clock();
    let mut costs = Costs::new(1);
    loop {
        // There is always a command until the run is over: the one shard has answered.
        match coordinator.poll() {
            Some(Command::Send { round, directive, .. }) => {
                let start = clock();
                let reply = shard.handle(round, &directive);
                costs.spend(0, clock().saturating_sub(start));
                if host.interrupted() {
                    coordinator.handle(clock(), Event::Stop);
                }
                coordinator.handle(clock(), Event::Answer { shard: 0, round, reply });
            }
            Some(Command::Report) => {
                host.report(coordinator.tally(), &costs);
                costs.close_round();
            }
            Some(Command::Finish(why)) => return Ok(why),
            Some(Command::Fail(why)) => return Err(why),
            None => return Ok(Stopped::Interrupted),
        }
    }
}

/// Shards work in parallel, each on one directive at a time.
fn run_together(
    coordinator: &mut Coordinator,
    shards: &mut [Shard],
    host: &mut impl Host,
) -> Result<Stopped, CoordinatorError> {
    let clock = host.clock();
    let mut costs = Costs::new(shards.len());
    let desks: Vec<Mutex<&mut Shard>> = shards.iter_mut().map(Mutex::new).collect();
    let (to, answers) = mpsc::channel();
    // In place: this thread waits for answers, and would be missing in the pool.
    rayon::in_place_scope(|scope| {
        loop {
            while let Some(command) = coordinator.poll() {
                match command {
                    Command::Send { shard, round, directive } => {
                        let (desk, clock) = (&desks[shard], Arc::clone(&clock));
                        let messenger = Messenger { to: to.clone(), answered: None };
                        scope.spawn(move |_| {
                            let start = clock();
                            let mut desk = desk.lock().unwrap_or_else(PoisonError::into_inner);
                            let reply: Reply = desk.handle(round, &directive);
                            let event = Event::Answer { shard, round, reply };
                            let time = clock().saturating_sub(start);
                            messenger.deliver(Answered { shard, event, time });
                        });
                    }
                    Command::Report => {
                        host.report(coordinator.tally(), &costs);
                        costs.close_round();
                    }
                    Command::Finish(why) => return Ok(why),
                    Command::Fail(why) => return Err(why),
                }
            }
            // A shard that answers nothing has panicked, and the scope passes that on.
            let Ok(Some(answered)) = answers.recv() else { return Ok(Stopped::Interrupted) };
            costs.spend(answered.shard, answered.time);
            if host.interrupted() {
                coordinator.handle(clock(), Event::Stop);
            }
            coordinator.handle(clock(), answered.event);
        }
    })
}
