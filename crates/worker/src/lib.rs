//! A worker of a cluster: it joins a server, reads the shard it is given, and answers rounds until the end.
//!
//! Calls go over one connection that mends itself: what fails for want of a connection is tried again, with
//! growing pauses. The shard lives on a thread of its own, so that signs of life go out however long it
//! computes, and so that it is still there when the server was not for a while.
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

use std::{collections::HashSet, future::Future, time::Duration};

use tokio::{
    sync::{mpsc, oneshot},
    task::JoinSet,
};

pub use config::{Loader, WorkerConfig};
pub use credentials::{Bearer, ClientTlsFiles, CredentialFiles, Credentials};
pub use denial::Denial;
pub use error::WorkerError;
pub use link::{Channel, channel};

use session::Session;

/// How long what is under way may take when the worker has to end.
const PATIENCE: Duration = Duration::from_secs(3);

/// Works for the server of `config` until the run is over; `shutdown` ends it early. When the server asks for
/// it, shards that nobody has are worked on as well.
///
/// # Errors
/// The server cannot be reached or refuses, the data cannot be used, or the run failed.
pub async fn run(
    config: WorkerConfig,
    shutdown: impl Future<Output = ()>,
) -> Result<(), WorkerError> {
    let (orphans, mut offered) = mpsc::unbounded_channel();
    let (own, ended) = Session::new(&config, None, orphans.clone())?;
    let own = own.work();
    let mut threads = vec![ended];
    let mut adopted = JoinSet::new();
    let mut taken = HashSet::new();
    let outcome = {
        tokio::pin!(own, shutdown);
        loop {
            tokio::select! {
                ended = &mut own => break ended,
                () = &mut shutdown => break Err(WorkerError::Stopped),
                Some(orphan) = offered.recv() => {
                    if taken.insert(orphan) {
                        let (session, ended) = adopt(&config, orphan, orphans.clone())?;
                        threads.push(ended);
                        adopted.spawn(session.work());
                    }
                }
                Some(ended) = adopted.join_next() => {
                    // Its own shard is what a worker is there for: another may find another worker.
                    taken.clear();
                    if let Ok(Err(error)) = ended {
                        tracing::warn!("a shard that was taken as well is given up: {error}");
                    }
                }
            }
        }
    };
    if outcome.is_ok() {
        let others = async { while adopted.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(PATIENCE, others).await;
    }
    adopted.abort_all();
    let _ = tokio::time::timeout(PATIENCE, all_ended(threads)).await;
    outcome
}

/// A session for a shard that nobody has, with a state of its own.
fn adopt(
    config: &WorkerConfig,
    orphan: usize,
    orphans: session::Orphans,
) -> Result<(Session, oneshot::Receiver<()>), WorkerError> {
    tracing::info!("shard {orphan} has no worker: it is taken as well");
    let state = config.state.as_ref().map(|own| own.join(format!("adopted-{orphan}")));
    let config = WorkerConfig { state, ..config.clone() };
    Session::new(&config, Some(orphan), orphans)
}

/// Waits until the threads of the shards have written what they know.
async fn all_ended(threads: Vec<oneshot::Receiver<()>>) {
    for thread in threads {
        // It is dropped, never sent.
        let _ = thread.await;
    }
}
