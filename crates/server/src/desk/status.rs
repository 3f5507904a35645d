//! What the desk makes known: how the run stands, and the model so far.

use std::time::Instant;

use ddiht_core::{
    coordinator::Stopped,
    local::{Observer, Traffic},
    train::Trained,
};
use ddiht_wire::{Ending, Phase, RunStatus};
use tonic::Status;

use super::{Desk, Stage, TICK};
use crate::{ServerConfig, rounds::Rounds};

impl<O: Observer> Desk<O> {
    /// The best model so far, as a file.
    pub(super) fn model(&self) -> Result<Vec<u8>, Status> {
        let none = || Status::failed_precondition("there is no model yet");
        let internal = |error: &dyn std::fmt::Display| Status::internal(error.to_string());
        let trained = match (&self.outcome, &self.stage) {
            (Some(Ok(trained)), _) => trained.model.to_json(),
            (_, Stage::Training(rounds)) => self.so_far(rounds).ok_or_else(none)?.model.to_json(),
            _ => return Err(none()),
        };
        trained.map(String::into_bytes).map_err(|error| internal(&error))
    }

    /// What there would be if the run ended now.
    pub(super) fn so_far(&self, rounds: &Rounds) -> Option<Trained> {
        let (request, launch) = (&self.config.request, &rounds.launch);
        Trained::conclude(request, launch, None, rounds.tally().clone(), Stopped::Interrupted).ok()
    }

    pub(super) fn publish_now_and_then(&mut self) {
        if self.published.elapsed() >= TICK {
            self.publish();
        }
    }

    /// Makes the state known to who watches.
    pub(super) fn publish(&mut self) {
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
pub(super) fn first_status(config: &ServerConfig) -> RunStatus {
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
    status.step = tally.step.name().to_owned();
}
