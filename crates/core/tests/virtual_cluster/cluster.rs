//! Workers and a server that speak over a bad network, and may die.

use std::{sync::Arc, time::Duration};

use ddiht_core::{
    config::Config,
    coordinator::{Coordinator, Event, Tally},
    data::CsrMatrix,
    loss::LossKind,
    rng,
    round::{Directive, Job, Reply, Sparse},
    shard::{Alpha, Rows, Shard},
    switchboard::{Notice, Switchboard},
};
use rand::RngExt;

use crate::network::{Message, Network, Weather};

/// Ticks after which a worker asks again.
const PATIENCE: u64 = 40;
/// Ticks after which a run counts as stuck.
const STUCK: u64 = 2_000_000;
/// Ticks between checkpoints of the server.
const CHECKPOINT: u64 = 60;

/// Who dies, and when.
#[derive(Clone, Copy)]
pub(crate) enum Fault {
    /// A worker, whose alpha is on disk or lost.
    Worker { at: u64, shard: usize, on_disk: bool },
    /// A worker sleeps: its place is given away, and it finds that out.
    Pause { at: u64, shard: usize },
    /// The server, which goes on from its last checkpoint.
    Server { at: u64 },
}

impl Fault {
    fn at(&self) -> u64 {
        match *self {
            Self::Worker { at, .. } | Self::Pause { at, .. } | Self::Server { at } => at,
        }
    }
}

/// At least 3 deaths of workers and 1 of the server within the first `ticks`.
pub(crate) fn storm(seed: u64, shards: usize, ticks: u64) -> Vec<Fault> {
    let mut draw = rng::generator(seed, 2, 0);
    let mut faults = Vec::new();
    for _ in 0..draw.random_range(3..7) {
        let (at, shard) = (draw.random_range(1..ticks), draw.random_range(0..shards));
        faults.push(Fault::Worker { at, shard, on_disk: draw.random_bool(0.5) });
    }
    for _ in 0..draw.random_range(0..3) {
        let (at, shard) = (draw.random_range(1..ticks), draw.random_range(0..shards));
        faults.push(Fault::Pause { at, shard });
    }
    for _ in 0..draw.random_range(1..3) {
        faults.push(Fault::Server { at: draw.random_range(1..ticks) });
    }
    faults
}

/// A worker: it repeats its last message until it hears what to do next.
struct Worker {
    shard: Shard,
    life: u64,
    place: Place,
    round: u64,
    reply: Option<Reply>,
    ask_again: u64,
    /// What is on its disk.
    saved: Option<Alpha>,
}

/// How far a worker has come in this life.
enum Place {
    Joining,
    Restating(Sparse<f32>),
    Working,
}

pub(crate) struct Cluster {
    config: Config,
    job: Job,
    board: Switchboard,
    /// Whether rounds have been under way before, so that who joins must restate itself.
    under_way: bool,
    checkpoint: Option<Vec<u8>>,
    workers: Vec<Worker>,
    /// For each shard, the life that has it and whether it has restated itself.
    stays: Vec<Option<(u64, bool)>>,
    /// For each shard, the round after which it waits for a directive.
    waiting: Vec<Option<u64>>,
    network: Network,
    faults: Vec<Fault>,
    next_life: u64,
    struck: usize,
    attests: usize,
}

/// How a run ended.
pub(crate) struct Outcome {
    pub(crate) tally: Tally,
    pub(crate) ticks: u64,
    /// Faults that came before the end.
    pub(crate) struck: usize,
    /// Dual rounds of a shard that gave evidence as well.
    pub(crate) attests: usize,
}

impl Cluster {
    pub(crate) fn new(config: &Config, weather: Weather, faults: Vec<Fault>) -> Self {
        let valid = config.clone().check().unwrap();
        let parts = config.workers;
        let all: Vec<Rows> = (0..parts).map(|p| rows(config.loss, p, parts)).collect();
        let entries = all.iter().map(|rows| rows.x.nnz()).sum();
        let job = valid.job(ROWS, COLS, entries);
        let worker = |(p, rows)| Worker {
            shard: Shard::new(p, job, rows),
            life: p as u64,
            place: Place::Joining,
            round: 0,
            reply: None,
            ask_again: 0,
            saved: None,
        };
        Self {
            board: Switchboard::new(valid.coordinator(job)),
            under_way: false,
            checkpoint: None,
            workers: all.into_iter().enumerate().map(worker).collect(),
            stays: vec![None; parts],
            waiting: vec![None; parts],
            network: Network::new(weather),
            faults,
            next_life: parts as u64,
            struck: 0,
            attests: 0,
            job,
            config: config.clone(),
        }
    }

    /// Runs to the end.
    pub(crate) fn run(mut self) -> Outcome {
        for now in 0..STUCK {
            self.strike(now);
            for p in 0..self.workers.len() {
                if self.workers[p].ask_again <= now {
                    self.ask(p, now);
                }
            }
            while let Some(message) = self.network.receive(now) {
                self.deliver(message, now);
            }
            while let Some(notice) = self.board.poll() {
                match notice {
                    Notice::Report => {}
                    Notice::Finish(_) => {
                        let Self { board, struck, attests, .. } = self;
                        return Outcome { tally: board.into_tally(), ticks: now, struck, attests };
                    }
                    Notice::Fail(why) => panic!("{why}"),
                }
            }
            self.tell_the_waiting(now);
            if now % CHECKPOINT == CHECKPOINT - 1 {
                self.checkpoint = Some(self.board.save().unwrap());
            }
        }
        panic!("stuck");
    }

    /// What the day has in store.
    fn strike(&mut self, now: u64) {
        let due: Vec<Fault> = self.faults.iter().filter(|f| f.at() == now).copied().collect();
        self.struck += due.len();
        for fault in due {
            match fault {
                Fault::Worker { shard, on_disk, .. } => self.kill_worker(shard, on_disk, now),
                Fault::Pause { shard, .. } => {
                    self.stays[shard] = None;
                    self.waiting[shard] = None;
                }
                Fault::Server { .. } => self.kill_server(),
            }
        }
    }

    fn kill_worker(&mut self, number: usize, on_disk: bool, now: u64) {
        let mut shard =
            Shard::new(number, self.job, rows(self.config.loss, number, self.workers.len()));
        let worker = &mut self.workers[number];
        if let Some(alpha) = worker.saved.clone().filter(|_| on_disk) {
            shard.resume(&alpha).unwrap();
        }
        worker.shard = shard;
        worker.ask_again = now + PATIENCE;
        self.begin_life(number);
    }

    fn begin_life(&mut self, number: usize) {
        let worker = &mut self.workers[number];
        worker.life = self.next_life;
        self.next_life += 1;
        worker.place = Place::Joining;
        (worker.round, worker.reply) = (0, None);
    }

    fn kill_server(&mut self) {
        let valid = self.config.clone().check().unwrap();
        let coordinator = match &self.checkpoint {
            Some(bytes) => {
                let settings = valid.get();
                let (method, pace) = (valid.method(), settings.pace);
                Coordinator::resume(bytes, self.job, method, pace, settings.limits).unwrap()
            }
            None => valid.coordinator(self.job),
        };
        self.under_way = self.checkpoint.is_some();
        self.board = Switchboard::new(coordinator);
        self.stays.fill(None);
        self.waiting.fill(None);
    }

    fn deliver(&mut self, message: Message, now: u64) {
        match message {
            Message::Join { shard, life } => self.join(shard, life, now),
            Message::Restate { shard, life, part } => {
                if self.known(shard, life, now) {
                    // Once for each stay, however often it is said.
                    if self.stays[shard] == Some((life, false)) {
                        self.stays[shard] = Some((life, true));
                        self.board.handle(Duration::ZERO, Event::Restated { shard, part });
                    }
                    self.network.send(now, &Message::Restated { shard, life });
                }
            }
            Message::Exchange { shard, life, round, reply } => {
                // A place that an earlier server gave is none here.
                if self.stays[shard] == Some((life, false)) {
                    self.network.send(now, &Message::Unknown { shard, life });
                } else if self.known(shard, life, now) {
                    if let Some(reply) = reply {
                        let event = Event::Answer { shard, round, reply };
                        self.board.handle(Duration::from_millis(now), event);
                    }
                    self.waiting[shard] = Some(round);
                }
            }
            other => self.hear(other, now),
        }
    }

    /// A worker hears the server.
    fn hear(&mut self, message: Message, now: u64) {
        match message {
            Message::Joined { shard, life, under_way } => {
                let worker = &mut self.workers[shard];
                if worker.life == life && matches!(worker.place, Place::Joining) {
                    worker.place = if under_way {
                        Place::Restating(worker.shard.restate())
                    } else {
                        Place::Working
                    };
                    self.ask(shard, now);
                }
            }
            Message::Restated { shard, life } => {
                let worker = &mut self.workers[shard];
                if worker.life == life && matches!(worker.place, Place::Restating(_)) {
                    worker.place = Place::Working;
                    self.ask(shard, now);
                }
            }
            Message::Directive { shard, life, round, directive }
                if self.workers[shard].life == life =>
            {
                self.work(shard, round, &directive, now);
            }
            Message::Unknown { shard, life } if self.workers[shard].life == life => {
                self.begin_life(shard);
                self.ask(shard, now);
            }
            _ => {}
        }
    }

    fn join(&mut self, shard: usize, life: u64, now: u64) {
        if self.stays[shard].is_some_and(|stay| stay.0 > life) {
            return; // A message of an earlier life.
        }
        if self.stays[shard].is_none_or(|stay| stay.0 < life) {
            // Before any round is under way there is nothing to restate.
            let fresh = !self.under_way && self.board.tally().rounds == 0 && life == shard as u64;
            self.stays[shard] = Some((life, fresh));
            self.waiting[shard] = None;
        }
        let under_way = self.stays[shard] == Some((life, false));
        self.network.send(now, &Message::Joined { shard, life, under_way });
    }

    /// Whether `life` has the shard; else it is told.
    fn known(&mut self, shard: usize, life: u64, now: u64) -> bool {
        let known = self.stays[shard].is_some_and(|stay| stay.0 == life);
        if !known {
            self.network.send(now, &Message::Unknown { shard, life });
        }
        known
    }

    fn ask(&mut self, shard: usize, now: u64) {
        let worker = &mut self.workers[shard];
        worker.ask_again = now + PATIENCE;
        let life = worker.life;
        let message = match &worker.place {
            Place::Joining => Message::Join { shard, life },
            Place::Restating(part) => Message::Restate { shard, life, part: part.clone() },
            Place::Working => {
                let (round, reply) = (worker.round, worker.reply.clone());
                Message::Exchange { shard, life, round, reply }
            }
        };
        self.network.send(now, &message);
    }

    fn work(&mut self, shard: usize, round: u64, directive: &Directive, now: u64) {
        let worker = &mut self.workers[shard];
        if round <= worker.round {
            return;
        }
        self.attests += usize::from(matches!(directive, Directive::Attest(_)));
        worker.reply = Some(worker.shard.handle(round, directive));
        worker.round = round;
        if round.is_multiple_of(3) {
            worker.saved = Some(worker.shard.alpha());
        }
        self.ask(shard, now);
    }

    fn tell_the_waiting(&mut self, now: u64) {
        for shard in 0..self.waiting.len() {
            let (Some(round), Some((life, _))) = (self.waiting[shard], self.stays[shard]) else {
                continue;
            };
            if let Some(sent) = self.board.next(shard, round) {
                let directive = Arc::clone(&sent.directive);
                let message = Message::Directive { shard, life, round: sent.round, directive };
                self.network.send(now, &message);
                self.waiting[shard] = None;
            }
        }
    }
}

const ROWS: usize = 41;
pub(crate) const COLS: usize = 16;

/// Rows r with r mod `of` = `shard`: two features tell the classes apart, the rest is noise.
fn rows(loss: LossKind, shard: usize, of: usize) -> Rows {
    let mut out = Rows { x: CsrMatrix::new(COLS), y: Vec::new(), weights: None };
    for r in (shard..ROWS).step_by(of) {
        let mut draw = rng::generator(5, 7, r as u64);
        let class = if draw.random_bool(0.5) { 1.0 } else { -1.0 };
        let mut columns: Vec<u32> = (1..COLS as u32).filter(|_| draw.random_bool(0.4)).collect();
        columns.dedup();
        let value = |j: &u32| if *j < 3 { class as f32 } else { draw.random_range(-1.0..1.0f32) };
        let values: Vec<f32> = columns.iter().map(value).collect();
        out.x.push_row(&columns, &values);
        out.y.push(if loss.is_classification() { class } else { 2.0 * class });
    }
    out.x.set_cols(COLS);
    out
}
