//! The coordinator: a state machine without I/O. Events go in with the time, commands come out.
//!
//! It gathers answers of the shards, in any order, and hands them to the method in the order of shard
//! numbers, so arrival order can never change a result. With a barrier a round needs the answer of every
//! shard; otherwise it closes as soon as enough have arrived, and only those are asked again. (shard,
//! round) names an answer: a repeated one is ignored.

mod averaging;
pub(crate) mod certificate;
mod dual;
mod exact;
mod exchange;
mod finish;
pub(crate) mod fit;
mod held;
pub mod lbfgs;
mod mirror;
mod outlook;
mod resume;
mod rhythm;
mod seats;
mod tally;
mod testimony;
mod versions;
mod width;

use std::{collections::VecDeque, sync::Arc, time::Duration};

use wincode::{SchemaRead, SchemaWrite};

use crate::{
    measures::Measures,
    round::{Directive, Job, Probe, Reply, RoundKind, Sparse, Weights},
};

use averaging::Averaging;
use exact::Exact;
use exchange::Mismatch;
pub use resume::ResumeError;
pub use seats::Pace;
use seats::Seats;
pub use tally::{Best, Limits, Staleness, Stopped, Tally, relative_gap};

/// Times k, the columns of the widest start of the finish.
pub(crate) const WIDE: usize = 8;

/// How the shards' answers become a model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Method {
    /// The exact method.
    Exact,
    /// Local models combined, as the report's server does.
    Average {
        /// How.
        combine: Combine,
        /// The report's beta_M, a factor of the mean.
        beta: f64,
    },
}

/// How the server of the report combines local models.
#[derive(Debug, Clone, Copy, PartialEq, SchemaRead, SchemaWrite)]
pub enum Combine {
    /// Their mean.
    Mean,
    /// A mean with weights `(min_j P(w_j) / P(w_m))^power`.
    Weighted {
        /// 0 is the mean, infinity the best.
        power: f64,
    },
    /// The one with the least objective on the whole training set.
    Min,
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
    /// Another worker has a shard, or the same one has lost its place. What it holds of `u` counts as sent
    /// in place of all that was sent before, and what the shard was asked last is asked again.
    Restated {
        /// The shard.
        shard: usize,
        /// What it starts from.
        part: Sparse<f32>,
    },
    /// Somebody wants the run to end with the best model so far.
    Stop,
    /// The shards are not waited for any more: the run ends with what is known.
    Abandon,
}

/// What to do.
#[derive(Debug)]
pub enum Command {
    /// Send this directive to a shard.
    Send {
        /// The shard.
        shard: usize,
        /// The round it belongs to.
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

/// How far the search of a run goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, SchemaRead, SchemaWrite)]
pub enum Search {
    /// All starts and kicks.
    Whole,
    /// Only around what is known: a model of before, and that of the dual phase.
    Near,
}

/// An answer that counts in the round being closed.
struct Arrived {
    shard: usize,
    /// Rounds that have passed since it was asked for.
    age: u64,
    reply: Reply,
}

/// Answers that close a round, in the order of shard numbers.
type Batch = Vec<Arrived>;

/// What a method wants next.
enum Next {
    /// Ask every shard, and wait for all.
    All(Directive),
    /// Ask these shards, and go on when enough have answered.
    Each(Vec<(usize, Directive)>),
    /// Wait for all that were asked and have not answered.
    Drain,
    Done(Stopped),
}

#[derive(Debug, SchemaRead, SchemaWrite)]
enum Running {
    Exact(Box<Exact>),
    Averaging(Box<Averaging>),
}

impl Running {
    /// Whether what users call a round needs another question to be complete.
    fn is_midway(&self) -> bool {
        matches!(self, Self::Averaging(averaging) if averaging.is_scoring())
    }
}

/// The coordinator of one run.
#[derive(Debug, SchemaRead, SchemaWrite)]
pub struct Coordinator {
    tally: Tally,
    method: Running,
    seats: Seats,
    /// The kind of the open round.
    open: RoundKind,
    /// Where the last nomination looked: a shard that was not there must be told.
    nominated: Option<Probe>,
    /// Why the method ended, while the model is measured.
    ending: Option<Stopped>,
    #[wincode(skip)]
    commands: VecDeque<Command>,
    over: bool,
}

impl Coordinator {
    /// Opens the first round.
    pub fn new(job: Job, method: Method, pace: Pace, limits: Limits) -> Self {
        let mut tally = Tally::new(job, limits);
        let (method, first) = match method {
            Method::Exact => {
                let exact = Exact::new(&tally, pace);
                let first = exact.start();
                (Running::Exact(Box::new(exact)), first)
            }
            Method::Average { combine, beta } => {
                let mut averaging = Averaging::new(combine, beta, pace, &job);
                let first = averaging.start(&mut tally);
                (Running::Averaging(Box::new(averaging)), first)
            }
        };
        let seats = Seats::new(job.shards, pace);
        let commands = VecDeque::new();
        let mut this = Self {
            tally,
            method,
            seats,
            open: RoundKind::Start,
            nominated: None,
            ending: None,
            commands,
            over: false,
        };
        this.proceed(first);
        this
    }

    /// Goes on from an earlier run: `parts` are what the shards hold of `u` already, if they do, and the search of the
    /// finish begins with `model`, if there is one. To be called before anything else.
    pub fn begin_from(&mut self, parts: &[Sparse<f32>], model: Option<Weights>, search: Search) {
        if let Running::Exact(exact) = &mut self.method {
            parts.iter().enumerate().for_each(|(shard, part)| exact.restate(shard, part));
            exact.search_from(model, search);
        }
    }

    /// The books.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// The books, when the run is over.
    pub fn into_tally(self) -> Tally {
        self.tally
    }

    /// Takes an event at the training time `now`.
    pub fn handle(&mut self, now: Duration, event: Event) {
        self.tally.elapsed = now;
        match event {
            Event::Stop => self.tally.interrupted = true,
            Event::Abandon if !self.over => {
                self.tally.interrupted = true;
                self.finish(Stopped::Interrupted);
            }
            Event::Abandon => {}
            Event::Answer { shard, round, reply } => self.answer(shard, round, reply),
            Event::Restated { shard, part } => self.restate(shard, &part),
        }
    }

    /// Join replaces, never adds: the part of the shard is set to what it says, so the sums are those of the
    /// alphas that exist.
    fn restate(&mut self, shard: usize, part: &Sparse<f32>) {
        if self.over || shard >= self.seats.len() {
            return;
        }
        match &mut self.method {
            Running::Exact(exact) => exact.restate(shard, part),
            Running::Averaging(averaging) => averaging.restate(shard, part),
        }
        let Some((round, directive)) = self.seats.ask_again(shard) else { return };
        let directive = Arc::new(self.renewed(shard, directive));
        self.commands.push_back(Command::Send { shard, round, directive });
    }

    /// The question as it must be put to a shard that remembers nothing of the rounds before.
    fn renewed(&self, shard: usize, directive: Directive) -> Directive {
        match (directive, &self.method) {
            (Directive::Ascend(delta), Running::Exact(exact)) => {
                Directive::Ascend(exact.whole(shard, delta.caution))
            }
            // Evidence was asked for sums that are no more.
            (Directive::Attest(attest), Running::Exact(exact)) => {
                Directive::Ascend(exact.whole(shard, attest.delta.caution))
            }
            (Directive::Survey { columns, .. }, _) => {
                Directive::Survey { columns, at: self.nominated.clone() }
            }
            (directive, _) => directive,
        }
    }

    /// The next thing to do, until there is nothing.
    #[must_use]
    pub fn poll(&mut self) -> Option<Command> {
        self.commands.pop_front()
    }

    /// The round of the directive that a shard has not answered yet.
    pub fn awaited(&self, shard: usize) -> Option<u64> {
        self.seats.awaited(shard)
    }

    fn answer(&mut self, shard: usize, round: u64, reply: Reply) {
        if self.over {
            return;
        }
        if shard >= self.seats.len() {
            let shards = self.seats.len();
            return self.fail(CoordinatorError::UnknownShard { shard, shards });
        }
        self.seats.take(shard, round, reply);
        if self.seats.round_is_complete(self.tally.rounds + 1) {
            self.close_round();
        }
    }

    fn close_round(&mut self) {
        let round = self.tally.rounds + 1;
        let batch = self.seats.empty(round);
        batch.iter().for_each(|arrived| self.tally.staleness.add(arrived.age));
        if self.open != RoundKind::Flush {
            let visited: f64 = batch.iter().map(|a| a.reply.visited(self.tally.job())).sum();
            self.tally.visited += visited;
        }
        self.tally.rounds = round;
        self.tally.step = self.open;
        if let Some(why) = self.ending {
            return self.close_run(batch, why);
        }
        let outstanding = self.seats.outstanding();
        let next = match &mut self.method {
            Running::Exact(exact) => exact.absorb(batch, outstanding, &mut self.tally),
            Running::Averaging(averaging) => averaging.absorb(batch, outstanding, &mut self.tally),
        };
        if !self.method.is_midway() {
            self.report();
        }
        match next {
            Ok(next) => self.proceed(next),
            Err(Mismatch) => self.fail(CoordinatorError::WrongAnswer { round }),
        }
    }

    fn report(&mut self) {
        self.tally.reported += 1;
        self.commands.push_back(Command::Report);
    }

    fn proceed(&mut self, next: Next) {
        match next {
            Next::All(directive) => {
                self.open = directive.kind();
                self.seats.wait_for_all();
                if let Directive::Nominate { probe, .. } = &directive {
                    self.nominated = Some(probe.clone());
                }
                let (round, directive) = (self.tally.rounds + 1, Arc::new(directive));
                self.seats.ask_all(round, &directive);
                for shard in 0..self.seats.len() {
                    let directive = Arc::clone(&directive);
                    self.commands.push_back(Command::Send { shard, round, directive });
                }
            }
            Next::Each(directives) => {
                self.seats.wait_for_enough();
                for (shard, directive) in directives {
                    self.open = directive.kind();
                    let round = self.tally.rounds + 1;
                    self.seats.ask(shard, round, directive.clone());
                    let directive = Arc::new(directive);
                    self.commands.push_back(Command::Send { shard, round, directive });
                }
            }
            Next::Drain => self.seats.wait_for_all(),
            Next::Done(why) => {
                self.ending = Some(why);
                if self.seats.outstanding() == 0 {
                    self.measure(why);
                } else {
                    self.seats.wait_for_all();
                }
            }
        }
    }

    /// The last round: the objective of the model chosen, afresh from the data.
    fn measure(&mut self, why: Stopped) {
        match self.tally.best() {
            Some(best) => {
                let model = Arc::clone(&best.model);
                self.proceed(Next::All(Directive::Measure { model }));
            }
            None => self.finish(why),
        }
    }

    /// Takes the last answers: late ones that nobody needs any more, or the measures of the model.
    fn close_run(&mut self, batch: Batch, why: Stopped) {
        let measures: Vec<Measures> = batch
            .into_iter()
            .filter_map(|arrived| match arrived.reply {
                Reply::Measures(measures) => Some(measures),
                _ => None,
            })
            .collect();
        if self.open != RoundKind::Measure {
            return self.measure(why);
        }
        self.tally.measures = Measures::sum(&measures);
        self.report();
        if self.tally.measures.is_none() || measures.len() < self.seats.len() {
            let round = self.tally.rounds;
            return self.fail(CoordinatorError::WrongAnswer { round });
        }
        self.finish(why);
    }

    fn finish(&mut self, why: Stopped) {
        self.over = true;
        self.commands.push_back(Command::Finish(why));
    }

    fn fail(&mut self, why: CoordinatorError) {
        self.over = true;
        self.commands.push_back(Command::Fail(why));
    }
}
