//! A worker of a cluster: it joins a server, reads the shard it is given, and answers rounds until the end.
//!
//! Calls go over one connection that mends itself: what fails for want of a connection is tried again, with
//! growing pauses. The shard lives on a thread of its own, so that signs of life go out however long it
//! computes.
//!
//! # Layout
//! - [`run`]: from an address to the end of the run
//! - [`Credentials`]: what a client shows its server; [`Denial`]: why that is not enough; `connect`: sockets and TLS
//! - `session`: the order of calls; `link`: calls that are tried again; `compute`: the thread of the shard;
//!   `state`: what is remembered between lives

mod compute;
mod config;
mod connect;
mod credentials;
mod denial;
mod error;
mod link;
mod session;
mod state;

use std::future::Future;

pub use config::{Loader, WorkerConfig};
pub use credentials::{Bearer, ClientTlsFiles, CredentialFiles, Credentials};
pub use denial::Denial;
pub use error::WorkerError;
pub use link::{Channel, channel};

/// Works for the server of `config` until the run is over; `shutdown` ends it early.
///
/// # Errors
/// The server cannot be reached or refuses, the data cannot be used, or the run failed.
pub async fn run(
    config: WorkerConfig,
    shutdown: impl Future<Output = ()>,
) -> Result<(), WorkerError> {
    tokio::select! {
        ended = session::work(config) => ended,
        () = shutdown => Err(WorkerError::Stopped),
    }
}
