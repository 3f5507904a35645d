//! `ddiht server`.

use std::net::{SocketAddr, ToSocketAddrs};

use ddiht_server::ServerConfig;

use crate::{args::ServerArgs, failure::Failure, plan, train::Run};

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
pub(crate) fn run(args: &ServerArgs) -> Result<(), Failure> {
    let run = Run::begin(&args.job)?;
    let request = plan::config(&args.job, args.workers)?;
    plan::use_threads(args.job.threads)?;
    let address = address(args).map_err(Failure::input)?;
    let security = args.security.open(args.workers)?;
    let config = ServerConfig { request, data: args.data.clone(), security };
    run.signals.defer();
    let console = run.console()?;
    let stop = run.signals.clone().wait();
    let served = super::block_on(async move {
        let listener = ddiht_server::bind(address).await?;
        if let Ok(bound) = listener.local_addr() {
            tracing::info!("listening on {bound} for {} workers", args.workers);
        }
        let (outcome, console) = ddiht_server::run(listener, config, stop, console).await;
        outcome.map(|trained| (trained, console))
    })?;
    match served? {
        (trained, Some(console)) => run.conclude(&trained, console),
        (trained, None) => run.conclude(&trained, run.console()?),
    }
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
