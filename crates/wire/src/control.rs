//! `Control`: how a run stands, and its model.

use crate::{
    bounds::MAX_SHARDS,
    check::{
        MAX_TEXT, at_most, cut, finite, magnitude, present, ranged, sentence, short, small_count,
    },
    error::WireError,
    pb::{self, shard_state::Presence},
};

/// Bytes of a piece of the model file.
pub const CHUNK: usize = 64 * 1024;
/// Bytes of a model file: more than 2^24 weights have.
pub const MAX_MODEL: usize = 1 << 30;
/// Bytes of the name of a kind of round.
const MAX_STEP: usize = 64;

/// Where a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Workers are missing.
    Gathering,
    /// Shards are being read.
    Describing,
    /// Rounds are under way.
    Training,
    /// There is a model.
    Finished,
    /// There will be none.
    Failed,
}

impl Phase {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gathering => "gathering",
            Self::Describing => "describing",
            Self::Training => "training",
            Self::Finished => "finished",
            Self::Failed => "failed",
        }
    }
}

/// How a run stands.
#[derive(Debug, Clone, PartialEq)]
pub struct RunStatus {
    /// Where it is.
    pub phase: Phase,
    /// Workers that are there.
    pub workers_joined: usize,
    /// Workers it needs.
    pub workers_needed: usize,
    /// Rounds done.
    pub round: u64,
    /// Training time in seconds.
    pub seconds: f64,
    /// The best objective, once there is one.
    pub objective: Option<f64>,
    /// The best bound, once there is one.
    pub bound: Option<f64>,
    /// The relative gap, once there are both.
    pub gap: Option<f64>,
    /// Non-zero weights of the best model.
    pub nnz: u64,
    /// The feature budget.
    pub k: u64,
    /// Rows of the training data, 0 until they are described.
    pub rows: u64,
    /// Features of the training data, 0 until they are described.
    pub features: u64,
    /// Payload received from workers.
    pub bytes_up: u64,
    /// Payload sent to workers.
    pub bytes_down: u64,
    /// The kind of the last round; empty before the first.
    pub step: String,
    /// Every shard, in order.
    pub shards: Vec<ShardStatus>,
    /// Why the run failed.
    pub problem: Option<String>,
}

/// How a shard stands.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ShardStatus {
    /// Rounds it has answered.
    pub rounds: u64,
    /// Whether somebody works on it.
    pub presence: ShardPresence,
}

/// Whether somebody works on a shard.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ShardPresence {
    /// Nobody.
    Vacant,
    /// A worker.
    Occupied {
        /// Steps of the server since it last asked this shard.
        staleness: u64,
        /// Seconds since the worker was last heard.
        silent_seconds: f64,
    },
}

/// The server's answer.
pub fn encode_status(status: &RunStatus) -> pb::StatusReply {
    pb::StatusReply {
        phase: encode_phase(status.phase).into(),
        workers_joined: small_count(status.workers_joined),
        workers_needed: small_count(status.workers_needed),
        round: status.round,
        seconds: status.seconds,
        objective: status.objective,
        bound: status.bound,
        gap: status.gap,
        nnz: status.nnz,
        k: status.k,
        rows: status.rows,
        features: status.features,
        bytes_up: status.bytes_up,
        bytes_down: status.bytes_down,
        step: cut(&status.step, MAX_STEP),
        shards: status.shards.iter().map(encode_shard).collect(),
        problem: cut(status.problem.as_deref().unwrap_or_default(), MAX_TEXT),
    }
}

/// The answer as a client takes it.
pub fn decode_status(reply: pb::StatusReply) -> Result<RunStatus, WireError> {
    at_most("shards", &reply.shards, MAX_SHARDS)?;
    let known = |field, value: Option<f64>| value.map(|v| finite(field, v)).transpose();
    let workers = |field, count: u32| ranged(field, count.into(), 0, MAX_SHARDS as u64);
    let problem = sentence("problem", reply.problem, MAX_TEXT)?;
    Ok(RunStatus {
        phase: decode_phase(reply.phase)?,
        workers_joined: workers("workers_joined", reply.workers_joined)?,
        workers_needed: workers("workers_needed", reply.workers_needed)?,
        round: reply.round,
        seconds: magnitude("seconds", reply.seconds)?,
        objective: known("objective", reply.objective)?,
        bound: known("bound", reply.bound)?,
        gap: known("gap", reply.gap)?,
        nnz: reply.nnz,
        k: reply.k,
        rows: reply.rows,
        features: reply.features,
        bytes_up: reply.bytes_up,
        bytes_down: reply.bytes_down,
        step: sentence("step", reply.step, MAX_STEP)?,
        shards: reply.shards.into_iter().map(decode_shard).collect::<Result<_, _>>()?,
        problem: (!problem.is_empty()).then_some(problem),
    })
}

fn encode_phase(phase: Phase) -> pb::Phase {
    match phase {
        Phase::Gathering => pb::Phase::Gathering,
        Phase::Describing => pb::Phase::Describing,
        Phase::Training => pb::Phase::Training,
        Phase::Finished => pb::Phase::Finished,
        Phase::Failed => pb::Phase::Failed,
    }
}

fn decode_phase(value: i32) -> Result<Phase, WireError> {
    match pb::Phase::try_from(value) {
        Ok(pb::Phase::Gathering) => Ok(Phase::Gathering),
        Ok(pb::Phase::Describing) => Ok(Phase::Describing),
        Ok(pb::Phase::Training) => Ok(Phase::Training),
        Ok(pb::Phase::Finished) => Ok(Phase::Finished),
        Ok(pb::Phase::Failed) => Ok(Phase::Failed),
        Ok(pb::Phase::Unspecified) | Err(_) => {
            Err(WireError::UnknownMember { field: "phase", value })
        }
    }
}

fn encode_shard(status: &ShardStatus) -> pb::ShardState {
    let presence = match status.presence {
        ShardPresence::Vacant => Presence::Vacant(pb::Vacant {}),
        ShardPresence::Occupied { staleness, silent_seconds } => {
            Presence::Occupied(pb::Occupied { staleness, silent_seconds })
        }
    };
    pb::ShardState { rounds: status.rounds, presence: Some(presence) }
}

fn decode_shard(message: pb::ShardState) -> Result<ShardStatus, WireError> {
    let presence = match present("shards.presence", message.presence)? {
        Presence::Vacant(_) => ShardPresence::Vacant,
        Presence::Occupied(occupied) => ShardPresence::Occupied {
            staleness: occupied.staleness,
            silent_seconds: magnitude("shards.silent_seconds", occupied.silent_seconds)?,
        },
    };
    Ok(ShardStatus { rounds: message.rounds, presence })
}

/// The pieces of a model file, in order.
pub fn model_chunks(file: &[u8]) -> impl Iterator<Item = pb::ModelChunk> + '_ {
    file.chunks(CHUNK).map(|piece| pb::ModelChunk { data: piece.to_vec() })
}

/// Puts the pieces of a model file together.
#[derive(Debug, Default)]
pub struct ModelAssembler {
    file: Vec<u8>,
}

impl ModelAssembler {
    /// With no piece yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the next piece.
    pub fn push(&mut self, chunk: pb::ModelChunk) -> Result<(), WireError> {
        let piece = short("data", chunk.data, CHUNK)?;
        let found = self.file.len() + piece.len();
        if found > MAX_MODEL {
            return Err(WireError::TooLong { field: "data", found, most: MAX_MODEL });
        }
        self.file.extend_from_slice(&piece);
        Ok(())
    }

    /// The file, after the last piece.
    pub fn finish(self) -> Vec<u8> {
        self.file
    }
}
