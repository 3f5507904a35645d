//! The thread that decides: it owns the roster, the coordinator and the clock.
//!
//! A run gathers workers until every shard has one, waits for all of them to describe what they hold, then
//! exchanges rounds. Requests are handled one at a time, in the order they come.

use std::{
    sync::mpsc::{Receiver, RecvTimeoutError},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use ddiht_core::{
    coordinator::{Event, Stopped},
    enrol::{Assignment, Launch, Preparation},
    local::{Observer, Traffic},
    switchboard::{Notice, Switchboard},
    train::{TrainError, Trained},
};
use ddiht_wire::{
    Answer, Caller, Description, Ending, Joined, Joining, Phase, RunStatus, Verdict, pb,
};
use tokio::sync::watch;
use tonic::Status;

use crate::{
    ServerConfig, ServerError,
    request::{Request, Respond},
    roster::{Refusal, Roster},
    rounds::Rounds,
};

/// Time between looks at the clock when nobody calls.
const TICK: Duration = Duration::from_millis(200);
/// How long workers that are asked to end are waited for.
const PATIENCE: Duration = Duration::from_secs(3);

/// Where the run is.
enum Stage {
    /// Shards are joined and described; those that are done wait for the rest.
    Enrolling {
        waiting: Vec<Respond<Verdict>>,
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
    stage: Stage,
    outcome: Option<Result<Trained, ServerError>>,
    stop_asked: Option<Instant>,
    published: Instant,
}

impl<O: Observer> Desk<O> {
    pub(crate) fn new(
        config: ServerConfig,
        requests: Receiver<Request>,
        observer: O,
    ) -> (Self, watch::Receiver<RunStatus>) {
        let shards = config.request.get().workers;
        // Sessions of an earlier server on this address must not be taken for ours.
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let roster = Roster::new(shards, since_epoch.as_nanos() as u64);
        let (status, receiver) = watch::channel(first_status(&config));
        let stage = Stage::Enrolling { waiting: Vec::new() };
        let now = Instant::now();
        let this = Self {
            config,
            requests,
            observer,
            status,
            roster,
            stage,
            outcome: None,
            stop_asked: None,
            published: now,
        };
        (this, receiver)
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
            Request::Join { joining, respond } => {
                // Who has hung up will ask again, here and below.
                let _ = respond.send(self.join(&joining).map_err(Status::from));
            }
            Request::Describe { caller, description, respond } => {
                match self.roster.hear(caller, Instant::now()) {
                    Ok(()) => self.describe(caller, description, respond),
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
                let heard = self.roster.hear(caller, Instant::now());
                let _ = respond.send(heard.map_err(Status::from));
            }
            Request::Model { respond } => drop(respond.send(self.model())),
            Request::Stop => self.stop(),
        }
    }

    fn join(&mut self, joining: &Joining) -> Result<Joined, Refusal> {
        if matches!(self.stage, Stage::Over { .. }) {
            return Err(Refusal::Over);
        }
        let before = self.roster.joined();
        let (shard, session) = self.roster.join(joining, Instant::now())?;
        let shards = self.config.request.get().workers;
        if self.roster.joined() > before {
            let joined = self.roster.joined();
            tracing::info!("worker {joined} of {shards} ({}) has shard {shard}", joining.build);
        }
        self.publish();
        let preparation = Preparation::of(&self.config.request);
        let data = self.config.data.clone();
        Ok(Joined { session, assignment: Assignment { shard, shards, data, preparation } })
    }

    fn describe(&mut self, caller: Caller, description: Description, respond: Respond<Verdict>) {
        let facts = match (&mut self.stage, description) {
            (Stage::Training(rounds), _) => {
                return drop(respond.send(Ok(Verdict::Launch(rounds.launch))));
            }
            (Stage::Over { ending, .. }, _) => {
                return drop(respond.send(Ok(Verdict::End(ending.clone()))));
            }
            (Stage::Enrolling { waiting }, Description::Problem(sentence)) => {
                waiting.push(respond);
                let shard = caller.shard;
                return self.fail(ServerError::Shard { shard, sentence });
            }
            (Stage::Enrolling { waiting }, Description::Facts(facts)) => {
                waiting.push(respond);
                facts
            }
        };
        self.roster.describe(caller.shard, facts);
        let Some(facts) = self.roster.all_facts() else { return };
        match Launch::new(&self.config.request, &facts) {
            Ok(launch) => self.launch(launch),
            Err(error) => self.fail(error.into()),
        }
    }

    /// All shards are described: the first round may come.
    fn launch(&mut self, launch: Launch) {
        for remark in launch.remarks(self.config.request.get().k) {
            tracing::info!("{remark}");
        }
        let board = Switchboard::new(self.config.request.coordinator(launch.job));
        let rounds = Stage::Training(Box::new(Rounds::new(launch, board)));
        if let Stage::Enrolling { waiting } = std::mem::replace(&mut self.stage, rounds) {
            for respond in waiting {
                let _ = respond.send(Ok(Verdict::Launch(launch)));
            }
        }
        self.go_on();
    }

    fn exchange(&mut self, answer: Answer, bytes: u64, respond: Respond<pb::ExchangeReply>) {
        let (shard, round) = (answer.caller.shard, answer.round);
        match &mut self.stage {
            Stage::Enrolling { .. } => {
                let early =
                    Status::failed_precondition("describe the shard before the first round");
                let _ = respond.send(Err(early));
            }
            Stage::Training(rounds) => match rounds.take(answer, bytes) {
                Ok(()) => {
                    rounds.wait(shard, round, respond);
                    self.go_on();
                }
                // Its alpha has moved on without us: nothing that comes after can be trusted.
                Err(error) => {
                    let refused = ServerError::BadAnswer { shard, round, source: error.clone() };
                    let _ = respond.send(Err(error.into()));
                    self.fail(refused);
                }
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

    /// Takes what the coordinator has to say, and answers who waits.
    fn go_on(&mut self) {
        loop {
            let Stage::Training(rounds) = &mut self.stage else { return };
            match rounds.poll() {
                None => {
                    rounds.tell_the_waiting();
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

    fn finish(&mut self, why: Stopped) {
        let Stage::Training(rounds) = &self.stage else { return };
        let tally = rounds.tally().clone();
        match Trained::conclude(&self.config.request, &rounds.launch, tally, why) {
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
            Stage::Enrolling { waiting } => {
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
        self.outcome = Some(outcome);
        self.publish();
    }

    fn stop(&mut self) {
        self.stop_asked.get_or_insert_with(Instant::now);
        match &mut self.stage {
            Stage::Enrolling { .. } => {
                let needed = self.config.request.get().workers;
                let joined = self.roster.joined();
                self.fail(ServerError::Early { joined, needed });
            }
            Stage::Training(rounds) => rounds.stop(Event::Stop),
            Stage::Over { .. } => {}
        }
    }

    /// Who asked for an end is not kept waiting by workers that do not answer.
    fn look_at_the_clock(&mut self) {
        let overdue = self.stop_asked.is_some_and(|asked| asked.elapsed() >= PATIENCE);
        if let Stage::Training(rounds) = &mut self.stage
            && overdue
            && rounds.interrupted().is_some()
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
        rounds.as_deref().is_some_and(told) || since.elapsed() >= PATIENCE
    }

    /// The best model so far, as a file.
    fn model(&self) -> Result<Vec<u8>, Status> {
        let none = || Status::failed_precondition("there is no model yet");
        let internal = |error: &dyn std::fmt::Display| Status::internal(error.to_string());
        let trained = match (&self.outcome, &self.stage) {
            (Some(Ok(trained)), _) => trained.model.to_json(),
            (_, Stage::Training(rounds)) => {
                let (request, launch) = (&self.config.request, &rounds.launch);
                let tally = rounds.tally().clone();
                let so_far = Trained::conclude(request, launch, tally, Stopped::Interrupted);
                so_far.map_err(|_| none())?.model.to_json()
            }
            _ => return Err(none()),
        };
        trained.map(String::into_bytes).map_err(|error| internal(&error))
    }

    fn publish_now_and_then(&mut self) {
        if self.published.elapsed() >= TICK {
            self.publish();
        }
    }

    /// Makes the state known to who watches.
    fn publish(&mut self) {
        self.published = Instant::now();
        let mut status = first_status(&self.config);
        status.workers_joined = self.roster.joined();
        let rounds = match &self.stage {
            Stage::Enrolling { .. } => {
                if status.workers_joined == status.workers_needed {
                    status.phase = Phase::Describing;
                }
                None
            }
            Stage::Training(rounds) => {
                status.phase = Phase::Training;
                Some(rounds)
            }
            Stage::Over { rounds, ending, .. } => {
                status.phase = Phase::Finished;
                if let Ending::Failed(sentence) = ending {
                    status.phase = Phase::Failed;
                    status.problem = Some(sentence.clone());
                }
                rounds.as_ref()
            }
        };
        let progress = |shard| rounds.map_or((0, 0), |rounds| rounds.progress(shard));
        status.shards = self.roster.status(self.published, progress);
        if let Some(rounds) = rounds {
            describe_rounds(rounds, &mut status);
        }
        self.status.send_replace(status);
    }
}

/// Before anything has happened.
fn first_status(config: &ServerConfig) -> RunStatus {
    let settings = config.request.get();
    RunStatus {
        phase: Phase::Gathering,
        workers_joined: 0,
        workers_needed: settings.workers,
        round: 0,
        seconds: 0.0,
        objective: None,
        bound: None,
        gap: None,
        nnz: 0,
        k: settings.k as u64,
        rows: 0,
        features: 0,
        bytes_up: 0,
        bytes_down: 0,
        step: String::new(),
        shards: Vec::new(),
        problem: None,
    }
}

fn describe_rounds(rounds: &Rounds, status: &mut RunStatus) {
    let tally = rounds.tally();
    let Traffic { up, down, .. } = rounds.costs.traffic;
    status.round = tally.reported;
    status.seconds = tally.elapsed.as_secs_f64();
    status.objective = tally.best().map(|best| best.objective);
    status.bound = tally.bound();
    status.gap = tally.gap();
    status.nnz = tally.best().map_or(0, |best| best.model.nnz() as u64);
    status.k = tally.job().k as u64;
    status.rows = tally.job().total_rows as u64;
    status.features = tally.job().cols as u64 - 1;
    status.bytes_up = up;
    status.bytes_down = down;
    status.step = tally.step.to_owned();
}
