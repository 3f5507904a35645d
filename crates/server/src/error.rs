//! Why a server ends without a model.

use std::{io, net::SocketAddr, path::PathBuf};

use ddiht_core::{
    checkpoint::CheckpointError, data::DataError, storage::is_outage, train::TrainError,
};

/// A run that produced nothing.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {source}")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// A worker cannot use its data; the sentence is the worker's.
    #[error("{sentence} (shard {shard})")]
    Shard {
        /// The shard.
        shard: usize,
        /// What the worker says.
        sentence: String,
    },
    /// The data of all shards together cannot be used.
    #[error(transparent)]
    Data(#[from] DataError),
    /// The directory for checkpoints cannot be used.
    #[error("cannot keep checkpoints in {}: {source}", directory.display())]
    CheckpointDirectory {
        /// The directory.
        directory: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// There is a checkpoint that cannot be gone on from.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// The shards are not those of the run that was saved.
    #[error(
        "the data are not those of the checkpoint: rows, features, entries and labels must be the same; \
         remove it, or name another directory"
    )]
    DataChanged,
    /// The run ended without a model.
    #[error(transparent)]
    Train(#[from] TrainError),
    /// It was stopped before all workers were there.
    #[error("stopped with {joined} of {needed} workers there, before training began")]
    Early {
        /// Workers that had joined.
        joined: usize,
        /// Workers that were needed.
        needed: usize,
    },
    /// The thread of the coordinator could not be started.
    #[error("cannot start a thread: {0}")]
    Thread(io::Error),
    /// The thread of the coordinator died.
    #[error("the coordinator ended in a panic; please report it")]
    Panicked,
    /// The reflection service could not be set up.
    #[error("the reflection service cannot be set up: {0}")]
    Reflection(tonic_reflection::server::Error),
    /// The listener broke.
    #[error("the network cannot be used any more: {0}")]
    Transport(tonic::transport::Error),
}

impl ServerError {
    /// Whether the data are to blame, and not the run.
    pub fn is_input(&self) -> bool {
        match self {
            Self::Shard { .. } | Self::Data(_) | Self::DataChanged => true,
            Self::CheckpointDirectory { source, .. } => !is_outage(source),
            Self::Checkpoint(CheckpointError::Record(error)) => !error.is_outage(),
            Self::Checkpoint(_) => true,
            _ => false,
        }
    }
}
