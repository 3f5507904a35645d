//! What a server is told when it starts.

use std::{path::PathBuf, sync::Arc, time::Duration};

use ddiht_core::{config::ValidConfig, storage::Storage};

use crate::{Security, keeper::Saved};

/// A job, where its data are, and how its workers are looked after.
#[derive(Debug)]
pub struct ServerConfig {
    /// The request; its number of workers is the number of shards.
    pub request: ValidConfig,
    /// Where workers find the data, unless they know better.
    pub data: Vec<String>,
    /// Who may call.
    pub security: Security,
    /// How faults are dealt with.
    pub faults: FaultPolicy,
    /// Where the state of the run is kept, and how often.
    pub checkpoint: Option<CheckpointPolicy>,
    /// A run to go on with.
    pub saved: Option<Saved>,
}

/// What becomes of workers that are silent, missing or wrong.
#[derive(Debug, Clone)]
pub struct FaultPolicy {
    /// A worker that has not been heard for so long is given up.
    pub heartbeat_timeout: Duration,
    /// Workers that may wait for a shard to become free.
    pub spares: usize,
    /// Whether a shard that nobody has is offered to a worker that has one.
    pub adopt_orphans: bool,
    /// The largest norm of what a worker may send.
    pub max_update_norm: Option<f64>,
}

impl Default for FaultPolicy {
    fn default() -> Self {
        Self {
            heartbeat_timeout: Duration::from_secs(10),
            spares: 0,
            adopt_orphans: false,
            max_update_norm: None,
        }
    }
}

impl FaultPolicy {
    /// Time between the signs of life that workers are asked for: several fit into the timeout, so that one
    /// that is late or lost costs nothing.
    pub(crate) fn heartbeat(&self) -> Duration {
        (self.heartbeat_timeout / 5).clamp(Duration::from_millis(20), Duration::from_secs(600))
    }
}

/// Where and how often the state of a run is written.
#[derive(Debug, Clone)]
pub struct CheckpointPolicy {
    /// What the directory is in.
    pub storage: Arc<dyn Storage>,
    /// The directory.
    pub directory: PathBuf,
    /// Time between checkpoints.
    pub every: Duration,
}

impl ServerConfig {
    /// With the usual ways to deal with faults, no checkpoints, and no demands on who calls.
    pub fn new(request: ValidConfig, data: Vec<String>) -> Self {
        let faults = FaultPolicy::default();
        let security = Security::default();
        Self { request, data, security, faults, checkpoint: None, saved: None }
    }
}
