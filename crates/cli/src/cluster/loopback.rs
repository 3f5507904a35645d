//! `ddiht train --transport grpc`: server and workers in one process, over real sockets.

use std::{
    net::{Ipv4Addr, SocketAddr},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use ddiht_core::{config::ValidConfig, data::RawData, train::Trained};
use ddiht_server::{ServerConfig, ServerError};
use ddiht_worker::{Credentials, Loader, WorkerConfig, WorkerError};
use tokio::task::JoinSet;

use crate::{failure::Failure, progress::Console, train::Run};

/// How long the workers try to reach a server that is in their own process.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// Trains on `raw` and prints the summary.
pub(crate) fn run(run: &Run<'_>, config: ValidConfig, raw: RawData) -> Result<(), Failure> {
    let load = hand_out(&raw, config.get().workers);
    drop(raw);
    let console = run.console()?;
    let stop = run.signals.clone().wait();
    let served = super::block_on(serve(config, load, stop, console))?;
    let (trained, console) = served?;
    match console {
        Some(console) => run.conclude(&trained, console),
        None => run.conclude(&trained, run.console()?),
    }
}

async fn serve(
    request: ValidConfig,
    load: Loader,
    stop: impl Future<Output = ()> + Send + 'static,
    console: Console,
) -> Result<(Trained, Option<Console>), Failure> {
    let listener = ddiht_server::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await?;
    let address = listener.local_addr()?;
    let mut workers: JoinSet<Result<(), WorkerError>> = JoinSet::new();
    for _ in 0..request.get().workers {
        let config = WorkerConfig {
            server: address.to_string(),
            load: load.clone(),
            state: None,
            credentials: Credentials::default(),
            connect_timeout: CONNECT_TIMEOUT,
            delay: Duration::ZERO,
        };
        workers.spawn(ddiht_worker::run(config, std::future::pending()));
    }
    let config = ServerConfig::new(request, Vec::new());
    let server = ddiht_server::run(listener, config, stop, console);
    tokio::pin!(server);
    loop {
        tokio::select! {
            (outcome, console) = &mut server => return Ok((outcome?, console)),
            Some(ended) = workers.join_next() => match ended {
                Ok(Ok(())) => {}
                // The server has the better sentence if the run itself failed.
                Ok(Err(WorkerError::RunFailed(_) | WorkerError::Data(_))) => {}
                Ok(Err(error)) => return Err(error.into()),
                Err(_) => return Err(ServerError::Panicked.into()),
            },
        }
    }
}

/// Row r of data that are here already goes to shard r mod M.
fn hand_out(raw: &RawData, shards: usize) -> Loader {
    let part = |p: usize| Mutex::new(Some(raw.select(|r| r % shards == p)));
    let parts: Vec<Mutex<Option<RawData>>> = (0..shards).map(part).collect();
    Loader::new(move |assignment| {
        let part = parts
            .get(assignment.shard)
            .and_then(|part| part.lock().unwrap_or_else(PoisonError::into_inner).take());
        Ok(part.unwrap_or_default().into())
    })
}
