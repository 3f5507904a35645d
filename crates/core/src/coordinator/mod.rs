//! The coordinator: a state machine without I/O. Events go in with the time, commands come out.
//!
//! It gathers one answer of every shard for each round, in any order, and hands them to the method in the
//! order of shard numbers, so arrival order can never change a result. (shard, round) names an answer: a
//! repeated one is ignored.

mod averaging;
mod certificate;
mod dual;
mod exact;
mod exchange;
mod finish;
mod fit;
pub mod lbfgs;
mod outlook;
mod tally;
mod width;

use std::{collections::VecDeque, sync::Arc, time::Duration};

use crate::round::{Directive, Job, Reply};

use averaging::Averaging;
use exact::Exact;
use exchange::Mismatch;
pub use tally::{Best, Limits, Stopped, Tally, relative_gap};

/// How the shards' answers become a model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Method {
    /// The exact method.
    Exact,
    /// Local models averaged, times `beta`.
    Average {
        /// The report's beta_M.
        beta: f64,
    },
}

/// What happened.
#[derive(Debug)]
pub enum Event {
    /// A shard answered the directive of a round.
    Answer {
        /// The shard.
        shard: usize,
        /// The round it answers.
        round: u64,
        /// The answer.
        reply: Reply,
    },
    /// Somebody wants the run to end with the best model so far.
    Stop,
}

/// What to do.
#[derive(Debug)]
pub enum Command {
    /// Send this directive to every shard.
    Broadcast {
        /// The round it opens.
        round: u64,
        /// The directive.
        directive: Arc<Directive>,
    },
    /// A round is complete; the books have its figures.
    Report,
    /// The run is over.
    Finish(Stopped),
    /// The run cannot go on.
    Fail(CoordinatorError),
}

/// Why a run cannot go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CoordinatorError {
    /// A shard that does not exist answered.
    #[error("shard {shard} answered, but there are only {shards}")]
    UnknownShard {
        /// The shard.
        shard: usize,
        /// How many there are.
        shards: usize,
    },
    /// An answer does not fit the directive of its round.
    #[error("an answer of round {round} is not of the kind that was asked for")]
    WrongAnswer {
        /// The round.
        round: u64,
    },
}

/// What a method wants next.
enum Next {
    Ask(Directive),
    Done(Stopped),
}

#[derive(Debug)]
enum Running {
    Exact(Box<Exact>),
    Averaging(Averaging),
}

/// The coordinator of one run.
#[derive(Debug)]
pub struct Coordinator {
    tally: Tally,
    method: Running,
    inbox: Vec<Option<Reply>>,
    /// The kind of the open round.
    open: &'static str,
    commands: VecDeque<Command>,
    over: bool,
}

impl Coordinator {
    /// Opens the first round.
    pub fn new(job: Job, method: Method, limits: Limits) -> Self {
        let tally = Tally::new(job, limits);
        let (method, first) = match method {
            Method::Exact => {
                let exact = Exact::new(&tally);
                let first = exact.start();
                (Running::Exact(Box::new(exact)), first)
            }
            Method::Average { beta } => {
                let averaging = Averaging::new(beta);
                let first = averaging.start();
                (Running::Averaging(averaging), first)
            }
        };
        let inbox = (0..job.shards).map(|_| None).collect();
        let commands = VecDeque::new();
        let mut this = Self { tally, method, inbox, open: "", commands, over: false };
        this.broadcast(first);
        this
    }

    /// The books.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Takes an event at the training time `now`.
    pub fn handle(&mut self, now: Duration, event: Event) {
        self.tally.elapsed = now;
        match event {
            Event::Stop => self.tally.interrupted = true,
            Event::Answer { shard, round, reply } => self.answer(shard, round, reply),
        }
    }

    /// The next thing to do, until there is nothing.
    #[must_use]
    pub fn poll(&mut self) -> Option<Command> {
        self.commands.pop_front()
    }

    fn answer(&mut self, shard: usize, round: u64, reply: Reply) {
        if self.over || round != self.tally.rounds + 1 {
            return;
        }
        let shards = self.inbox.len();
        let Some(place) = self.inbox.get_mut(shard) else {
            return self.fail(CoordinatorError::UnknownShard { shard, shards });
        };
        if place.is_none() {
            *place = Some(reply);
        }
        if self.inbox.iter().all(Option::is_some) {
            self.close_round();
        }
    }

    fn close_round(&mut self) {
        let replies: Vec<Reply> = self.inbox.iter_mut().filter_map(Option::take).collect();
        let visited: f64 = replies.iter().map(|reply| reply.visited(self.tally.job())).sum();
        self.tally.visited += visited;
        self.tally.rounds += 1;
        self.tally.step = self.open;
        let next = match &mut self.method {
            Running::Exact(exact) => exact.absorb(replies, &mut self.tally),
            Running::Averaging(averaging) => averaging.absorb(replies, &mut self.tally),
        };
        self.commands.push_back(Command::Report);
        match next {
            Ok(Next::Ask(directive)) => self.broadcast(directive),
            Ok(Next::Done(why)) => {
                self.over = true;
                self.commands.push_back(Command::Finish(why));
            }
            Err(Mismatch) => self.fail(CoordinatorError::WrongAnswer { round: self.tally.rounds }),
        }
    }

    fn broadcast(&mut self, directive: Directive) {
        let round = self.tally.rounds + 1;
        self.open = directive.name();
        self.commands.push_back(Command::Broadcast { round, directive: Arc::new(directive) });
    }

    fn fail(&mut self, why: CoordinatorError) {
        self.over = true;
        self.commands.push_back(Command::Fail(why));
    }
}
