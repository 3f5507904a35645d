//! `ddiht server`.

use std::{
    net::{SocketAddr, ToSocketAddrs},
    path::Path,
    sync::Arc,
    time::Duration,
};

use ddiht_core::storage::Storage;
use ddiht_server::{CheckpointPolicy, FaultPolicy, ServerConfig};

use crate::{
    args::{FaultArgs, ServerArgs},
    columns::Columns,
    failure::Failure,
    plan,
    train::Run,
};

/// A shorter silence than this is no sign of death.
const SHORTEST_TIMEOUT: Duration = Duration::from_millis(200);

#[derive(Debug, thiserror::Error)]
enum FaultOption {
    #[error("--max-update-norm must be a positive number, not {0}")]
    Norm(f64),
    #[error("--heartbeat-timeout must be at least 200ms, not {0}")]
    Timeout(String),
}

#[derive(Debug, thiserror::Error)]
#[error("the model is written, but the checkpoints cannot be removed: {0}")]
struct ForgetError(std::io::Error);

#[derive(Debug, thiserror::Error)]
enum AddressError {
    #[error("--listen takes an address such as 127.0.0.1:7878, not `{0}`")]
    Unknown(String),
    #[error(
        "{0} can be reached from other machines and nothing is encrypted: give --tls-cert and --tls-key, \
         or say --insecure if the network is to be trusted"
    )]
    Open(SocketAddr),
}

/// Serves a run.
pub(crate) fn run(args: &ServerArgs, storage: &Arc<dyn Storage>) -> Result<(), Failure> {
    let mut run = Run::begin(&args.job, storage)?;
    let request = plan::config(&args.job, args.workers)?;
    plan::check_unscaled(&args.job)?;
    plan::check_cluster(&request)?;
    plan::use_threads(args.job.threads)?;
    let (label, names) = (args.job.label.as_deref(), args.job.names.as_deref());
    run.columns = Columns::of_remote(&**storage, &args.data, label, names)?;
    let request = run.columns.choose(&args.job, args.job.zero_based, request)?;
    let address = address(args).map_err(Failure::input)?;
    let faults = faults(&args.faults)?;
    let policy = checkpoint(&args.faults, storage)?;
    let find = |policy: &CheckpointPolicy| ddiht_server::find_checkpoint(policy, &request);
    let saved = policy.as_ref().map(find).transpose()?.flatten();
    let rounds = saved.as_ref().map(|saved| saved.checkpoint.rounds);
    let checkpoint = policy.clone();
    let security = args.security.open(args.workers)?;
    for location in &args.data {
        ddiht_store::check(Path::new(location)).map_err(Failure::input)?;
    }
    if let Some(weights) = &args.job.weights {
        ddiht_store::check(Path::new(weights)).map_err(Failure::input)?;
    }
    let data = args.data.clone();
    let config = ServerConfig { request, data, security, faults, checkpoint, saved };
    run.signals.defer();
    let console = run.console_after(rounds)?;
    let stop = run.signals.clone().wait();
    let served = super::block_on(async move {
        let listener = ddiht_server::bind(address).await?;
        if let Ok(bound) = listener.local_addr() {
            tracing::info!("listening on {bound} for {} workers", args.workers);
        }
        let (outcome, console) = ddiht_server::run(listener, config, stop, console).await;
        outcome.map(|trained| (trained, console))
    })?;
    let (trained, console) = served?;
    let console = match console {
        Some(console) => console,
        None => run.console_after(rounds)?,
    };
    run.conclude(&trained, console)?;
    // The model is written: there is nothing to go on with any more.
    match policy.as_ref().map(ddiht_server::forget_checkpoints) {
        Some(Err(error)) => Err(Failure::run(ForgetError(error))),
        _ => Ok(()),
    }
}

fn faults(args: &FaultArgs) -> Result<FaultPolicy, Failure> {
    if let Some(norm) = args.max_update_norm
        && !(norm > 0.0 && norm.is_finite())
    {
        return Err(Failure::input(FaultOption::Norm(norm)));
    }
    let heartbeat_timeout = plan::time("--heartbeat-timeout", &args.heartbeat_timeout)?;
    if heartbeat_timeout < SHORTEST_TIMEOUT {
        return Err(Failure::input(FaultOption::Timeout(args.heartbeat_timeout.clone())));
    }
    Ok(FaultPolicy {
        heartbeat_timeout,
        spares: args.spares,
        adopt_orphans: args.adopt_orphans,
        max_update_norm: args.max_update_norm,
    })
}

fn checkpoint(
    args: &FaultArgs,
    storage: &Arc<dyn Storage>,
) -> Result<Option<CheckpointPolicy>, Failure> {
    let every = plan::time("--checkpoint-every", &args.checkpoint_every)?;
    let policy = |directory| CheckpointPolicy { storage: storage.clone(), directory, every };
    Ok(args.checkpoint.clone().map(policy))
}

fn address(args: &ServerArgs) -> Result<SocketAddr, AddressError> {
    let unknown = || AddressError::Unknown(args.listen.clone());
    let mut found = args.listen.to_socket_addrs().map_err(|_| unknown())?;
    let address = found.next().ok_or_else(unknown)?;
    if !address.ip().is_loopback() && !args.security.may_be_reached() {
        return Err(AddressError::Open(address));
    }
    Ok(address)
}
