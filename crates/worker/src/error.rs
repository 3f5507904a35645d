//! Why a worker ends before its run does.

use std::{io, path::PathBuf, time::Duration};

use ddiht_core::data::DataError;
use ddiht_wire::WireError;

use crate::Denial;

/// A worker that could not do its work.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// The address makes no sense.
    #[error("{server} is no address of a server: {source}")]
    Address {
        /// The address.
        server: String,
        /// Why.
        source: tonic::transport::Error,
    },
    /// The server was out of reach, or had no shard to give, for too long.
    #[error("the server {server} did not let us in for {:.1} s: {status}", waited.as_secs_f64())]
    Unreachable {
        /// The server.
        server: String,
        /// How long it was tried.
        waited: Duration,
        /// The last failure.
        status: String,
    },
    /// The server does not want this worker, or this answer.
    #[error("the server refuses: {0}")]
    Refused(String),
    /// The server does not accept our credentials.
    #[error(transparent)]
    Denied(#[from] Denial),
    /// The server says what it must not.
    #[error("the server breaks the protocol: {0}")]
    Protocol(#[from] WireError),
    /// The shard cannot be used.
    #[error(transparent)]
    Data(#[from] DataError),
    /// Another process works with the state directory.
    #[error("another worker uses the state in {}: every worker needs a directory of its own", directory.display())]
    StateInUse {
        /// The directory.
        directory: PathBuf,
    },
    /// The server does not know this stay any more, and the worker has to join again.
    #[error("{0}")]
    StayEnded(String),
    /// The state directory cannot be written.
    #[error("cannot keep state in {}: {source}", directory.display())]
    State {
        /// The directory.
        directory: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The run failed, through no fault of this worker.
    #[error("the run failed: {0}")]
    RunFailed(String),
    /// A signal ended it.
    #[error("stopped before the run was over")]
    Stopped,
    /// The thread of the shard could not be started.
    #[error("cannot start a thread: {0}")]
    Thread(#[from] io::Error),
    /// The thread of the shard died.
    #[error("the shard's computation ended in a panic; please report it")]
    Panicked,
}

impl WorkerError {
    /// Whether the call or the data are to blame, and not the run.
    pub fn is_input(&self) -> bool {
        match self {
            Self::Data(error) => !error.is_outage(),
            Self::Address { .. } | Self::StateInUse { .. } => true,
            Self::Denied(denial) => denial.is_input(),
            _ => false,
        }
    }
}
