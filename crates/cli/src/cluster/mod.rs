//! Servers and workers, and what people ask of them.

pub(crate) mod control;
pub(crate) mod loopback;
pub(crate) mod security;
pub(crate) mod server;
pub(crate) mod worker;

use std::{future::Future, io};

use crate::failure::Failure;

#[derive(Debug, thiserror::Error)]
#[error("the network runtime cannot be started: {0}")]
struct RuntimeError(io::Error);

/// Runs a future to its end, with all the runtime it needs.
fn block_on<T>(future: impl Future<Output = T>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| Failure::run(RuntimeError(error)))?;
    let outcome = runtime.block_on(future);
    // A thread that still computes must not hold up the end.
    runtime.shutdown_background();
    Ok(outcome)
}
