//! The thread that decides: it owns the roster, the coordinator and the clock.
//!
//! A run gathers workers until every shard has one, waits for all of them to describe what they hold, then
//! exchanges rounds. Requests are handled one at a time, in the order they come. A run that was saved goes
//! the same way, but its workers have to restate what they hold before its rounds go on.

mod members;
mod status;

use std::{
    collections::VecDeque,
    hash::{BuildHasher, RandomState},
    sync::mpsc::{Receiver, RecvTimeoutError},
    time::{Duration, Instant},
};

use ddiht_core::{
    coordinator::{Event, Stopped},
    enrol::Launch,
    local::Observer,
    switchboard::{Notice, Switchboard},
    train::{TrainError, Trained},
};
use ddiht_wire::{Answer, Caller, Description, Ending, Restatement, RunStatus, Verdict, pb};
use tokio::sync::watch;

use crate::{
    ServerConfig, ServerError,
    keeper::{Keeper, Saved},
    request::{Request, Respond},
    roster::{Refusal, Roster},
    rounds::{BadAnswer, Rounds},
};

use members::Spare;

/// Time between looks at the clock when nobody calls.
const TICK: Duration = Duration::from_millis(200);
/// How long answers are waited for once an end is asked for, and how long workers once there is one. Together
/// less than the 5 seconds that a server may take to end.
const ANSWER_PATIENCE: Duration = Duration::from_millis(2500);
const LEAVE_PATIENCE: Duration = Duration::from_millis(1500);

/// Where the run is.
enum Stage {
    /// Shards are joined and described; those that are done wait for the rest.
    Enrolling {
        waiting: Vec<Respond<Verdict>>,
        saved: Option<Box<Saved>>,
    },
    Training(Box<Rounds>),
    Over {
        rounds: Option<Box<Rounds>>,
        ending: Ending,
        since: Instant,
    },
}

/// The owner of a run.
pub(crate) struct Desk<O> {
    config: ServerConfig,
    requests: Receiver<Request>,
    observer: O,
    status: watch::Sender<RunStatus>,
    roster: Roster,
    spares: VecDeque<Spare>,
    keeper: Option<Keeper>,
    stage: Stage,
    outcome: Option<Result<Trained, ServerError>>,
    stop_asked: Option<Instant>,
    published: Instant,
}

impl<O: Observer> Desk<O> {
    pub(crate) fn new(
        mut config: ServerConfig,
        requests: Receiver<Request>,
        observer: O,
    ) -> Result<(Self, watch::Receiver<RunStatus>), ServerError> {
        let shards = config.request.get().workers;
        // Nobody can guess these, and those of an earlier server on this address are none of ours.
        let secret = RandomState::new();
        let mut drawn = 0u64;
        let draw_session = Box::new(move || {
            drawn += 1;
            secret.hash_one((drawn, Instant::now()))
        });
        let roster = Roster::new(shards, draw_session);
        let (status, receiver) = watch::channel(status::first_status(&config));
        let saved = config.saved.take().map(Box::new);
        let keeper = config.checkpoint.clone().map(Keeper::start).transpose()?;
        let this = Self {
            config,
            requests,
            observer,
            status,
            roster,
            spares: VecDeque::new(),
            keeper,
            stage: Stage::Enrolling { waiting: Vec::new(), saved },
            outcome: None,
            stop_asked: None,
            published: Instant::now(),
        };
        Ok((this, receiver))
    }

    /// Works until the run is over and everybody knows it.
    pub(crate) fn run(mut self) -> (Result<Trained, ServerError>, O) {
        loop {
            match self.requests.recv_timeout(TICK) {
                Ok(request) => self.handle(request),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => self.stop(),
            }
            self.look_at_the_clock();
            if self.may_leave()
                && let Some(outcome) = self.outcome.take()
            {
                return (outcome, self.observer);
            }
        }
    }

    fn handle(&mut self, request: Request) {
        match request {
            Request::Join { joining, peer, respond } => self.join(&joining, peer, respond),
            Request::Describe { caller, description, respond } => {
                match self.roster.hear(caller, Instant::now()) {
                    Ok(()) => self.describe(caller, description, respond),
                    Err(refusal) => drop(respond.send(Err(refusal.into()))),
                }
            }
            Request::Restate { piece, bytes, respond } => {
                let caller = piece.caller;
                match self.roster.hear(caller, Instant::now()) {
                    Ok(()) => self.restate(*piece, bytes, respond),
                    Err(refusal) => drop(respond.send(Err(refusal.into()))),
                }
            }
            Request::Exchange { answer, bytes, respond } => {
                match self.roster.hear(answer.caller, Instant::now()) {
                    Ok(()) => self.exchange(*answer, bytes, respond),
                    Err(refusal) => drop(respond.send(Err(refusal.into()))),
                }
            }
            Request::Heartbeat { caller, respond } => {
                let _ = respond.send(self.heartbeat(caller));
            }
            Request::Model { respond } => drop(respond.send(self.model())),
            Request::Stop => self.stop(),
        }
    }

    fn describe(&mut self, caller: Caller, description: Description, respond: Respond<Verdict>) {
        let shard = caller.shard;
        match (&mut self.stage, description) {
            (Stage::Training(rounds), Description::Facts(facts)) => {
                let launch = rounds.launch;
                let restate = rounds.must_restate(shard);
                let known = self.roster.recognise(shard, &facts).map(|()| {
                    if restate { Verdict::UnderWay(launch) } else { Verdict::Launch(launch) }
                });
                if let Err(refusal) = &known {
                    self.turn_out(shard, refusal);
                }
                let _ = respond.send(known.map_err(Into::into));
            }
            (Stage::Training(_), Description::Problem(sentence)) => {
                // Others have read their shards: this one is waited for.
                self.turn_out(shard, &sentence);
                let _ = respond.send(Ok(Verdict::End(Ending::Failed(sentence))));
            }
            (Stage::Over { ending, .. }, _) => {
                let _ = respond.send(Ok(Verdict::End(ending.clone())));
            }
            (Stage::Enrolling { waiting, .. }, Description::Problem(sentence)) => {
                waiting.push(respond);
                self.fail(ServerError::Shard { shard, sentence });
            }
            (Stage::Enrolling { waiting, .. }, Description::Facts(facts)) => {
                waiting.push(respond);
                self.roster.describe(shard, facts);
                self.launch_when_all_are_described();
            }
        }
    }

    fn launch_when_all_are_described(&mut self) {
        let Some(facts) = self.roster.all_facts() else { return };
        match Launch::new(&self.config.request, &facts) {
            Ok(launch) => self.launch(launch),
            Err(error) => self.fail(error.into()),
        }
    }

    /// All shards are described: the first round may come, or the next one.
    fn launch(&mut self, launch: Launch) {
        for remark in launch.remarks(self.config.request.get().k) {
            tracing::info!("{remark}");
        }
        let Stage::Enrolling { waiting, saved } = &mut self.stage else { return };
        let (waiting, saved) = (std::mem::take(waiting), saved.take());
        let most = self.config.faults.max_update_norm;
        let (rounds, verdict) = match saved {
            Some(saved) if saved.checkpoint.launch != launch => {
                self.stage = Stage::Enrolling { waiting, saved: None };
                return self.fail(ServerError::DataChanged);
            }
            Some(saved) => (Rounds::resume(*saved, most), Verdict::UnderWay(launch)),
            None => {
                let board = Switchboard::new(self.config.request.coordinator(launch.job));
                (Rounds::new(launch, board, most), Verdict::Launch(launch))
            }
        };
        self.stage = Stage::Training(Box::new(rounds));
        for respond in waiting {
            // Who has hung up will ask again, here and elsewhere.
            let _ = respond.send(Ok(verdict.clone()));
        }
        self.go_on();
    }

    fn restate(&mut self, piece: Restatement, bytes: u64, respond: Respond<()>) {
        let shard = piece.caller.shard;
        let Stage::Training(rounds) = &mut self.stage else {
            // Nothing is under way, or not any more: nobody needs to know.
            return drop(respond.send(Ok(())));
        };
        match rounds.restate(piece, bytes) {
            Ok(complete) => {
                if let Some(entries) = complete {
                    tracing::info!("shard {shard} goes on, with {entries} entries of u");
                }
                let _ = respond.send(Ok(()));
                self.go_on();
            }
            Err(bad) => self.refuse(shard, bad, respond),
        }
    }

    fn exchange(&mut self, answer: Answer, bytes: u64, respond: Respond<pb::ExchangeReply>) {
        let (shard, round) = (answer.caller.shard, answer.round);
        match &mut self.stage {
            Stage::Enrolling { .. } => {
                let _ = respond.send(Err(Refusal::NotDescribed.into()));
            }
            Stage::Training(rounds) => match rounds.take(answer, bytes) {
                Ok(()) => {
                    rounds.wait(shard, round, respond);
                    self.go_on();
                }
                Err(bad) => self.refuse(shard, bad, respond),
            },
            Stage::Over { rounds: Some(rounds), ending, .. } => {
                rounds.wait(shard, round, respond);
                rounds.tell_the_end(ending);
            }
            Stage::Over { rounds: None, ending, .. } => {
                let _ = respond.send(Ok(ddiht_wire::exchange::encode_end(round, ending)));
            }
        }
    }

    /// A worker whose word cannot be used loses its shard: its alpha has moved on without us, and only a
    /// restatement puts that right.
    fn refuse<T>(&mut self, shard: usize, bad: BadAnswer, respond: Respond<T>) {
        self.turn_out(shard, &bad);
        let _ = respond.send(Err(bad.into()));
    }

    /// Takes what the coordinator has to say, and answers who waits.
    fn go_on(&mut self) {
        loop {
            let Stage::Training(rounds) = &mut self.stage else { return };
            match rounds.poll() {
                None => {
                    rounds.tell_the_waiting();
                    self.keep();
                    return self.publish_now_and_then();
                }
                Some(Notice::Report) => {
                    self.observer.report(rounds.tally(), &rounds.costs);
                    rounds.costs.close_round();
                }
                Some(Notice::Finish(why)) => return self.finish(why),
                Some(Notice::Fail(why)) => return self.fail(TrainError::from(why).into()),
            }
        }
    }

    /// Writes the state of the run down when that is due.
    fn keep(&mut self) {
        let (Some(keeper), Stage::Training(rounds)) = (&self.keeper, &self.stage) else { return };
        if !keeper.is_due() || rounds.tally().best().is_none() {
            return;
        }
        let best = self.so_far(rounds).map(|trained| trained.model);
        let checkpoint = rounds.checkpoint(&self.config.request);
        if let (Some(checkpoint), Some(keeper)) = (checkpoint, &mut self.keeper) {
            keeper.keep(checkpoint, best);
        }
    }

    fn finish(&mut self, why: Stopped) {
        let Stage::Training(rounds) = &self.stage else { return };
        let tally = rounds.tally().clone();
        match Trained::conclude(&self.config.request, &rounds.launch, None, tally, why) {
            Ok(trained) => self.end(Ok(trained), &Ending::Finished),
            Err(error) => self.fail(error.into()),
        }
    }

    fn fail(&mut self, error: ServerError) {
        let sentence = error.to_string();
        self.end(Err(error), &Ending::Failed(sentence));
    }

    /// The run is over: everybody who waits is told so, and whoever asks from now on.
    fn end(&mut self, outcome: Result<Trained, ServerError>, ending: &Ending) {
        let over = Stage::Over { rounds: None, ending: ending.clone(), since: Instant::now() };
        let kept = match std::mem::replace(&mut self.stage, over) {
            Stage::Enrolling { waiting, .. } => {
                for respond in waiting {
                    let _ = respond.send(Ok(Verdict::End(ending.clone())));
                }
                None
            }
            Stage::Training(mut rounds) => {
                rounds.tell_the_end(ending);
                Some(rounds)
            }
            Stage::Over { rounds, .. } => rounds,
        };
        if let Stage::Over { rounds, .. } = &mut self.stage {
            *rounds = kept;
        }
        self.send_spares_home(ending);
        self.outcome = Some(outcome);
        self.publish();
    }

    fn stop(&mut self) {
        self.stop_asked.get_or_insert_with(Instant::now);
        match &mut self.stage {
            Stage::Enrolling { saved: Some(saved), .. } => {
                // An earlier server has found a model.
                let tally = saved.coordinator.tally().clone();
                let (request, launch) = (&self.config.request, &saved.checkpoint.launch);
                match Trained::conclude(request, launch, None, tally, Stopped::Interrupted) {
                    Ok(trained) => self.end(Ok(trained), &Ending::Finished),
                    Err(error) => self.fail(error.into()),
                }
            }
            Stage::Enrolling { saved: None, .. } => {
                let needed = self.config.request.get().workers;
                let joined = self.roster.joined();
                self.fail(ServerError::Early { joined, needed });
            }
            Stage::Training(rounds) => rounds.stop(Event::Stop),
            Stage::Over { .. } => {}
        }
    }

    /// Silent workers are given up, and who asked for an end is not kept waiting by them.
    fn look_at_the_clock(&mut self) {
        self.give_up_the_silent();
        let overdue = self.stop_asked.is_some_and(|asked| asked.elapsed() >= ANSWER_PATIENCE);
        if let Stage::Training(rounds) = &mut self.stage
            && overdue
        {
            rounds.stop(Event::Abandon);
            self.go_on();
        }
        self.publish_now_and_then();
    }

    /// Whether every worker has been told the end, or has had time to ask.
    fn may_leave(&self) -> bool {
        let Stage::Over { rounds, since, .. } = &self.stage else { return false };
        let told = |rounds: &Rounds| {
            let mut shards = 0..self.config.request.get().workers;
            shards.all(|s| !self.roster.is_occupied(s) || rounds.knows_the_end(s))
        };
        rounds.as_deref().is_some_and(told) || since.elapsed() >= LEAVE_PATIENCE
    }
}
