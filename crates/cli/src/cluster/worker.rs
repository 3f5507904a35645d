//! `ddiht worker`.

use std::sync::Arc;

use ddiht_core::storage::Storage;
use ddiht_worker::{Loader, WorkerConfig};

use crate::{args::WorkerArgs, failure::Failure, output, plan, progress::Signals};

/// Works for a server.
pub(crate) fn run(args: &WorkerArgs, storage: &Arc<dyn Storage>) -> Result<(), Failure> {
    output::start_log(args.quiet);
    plan::use_threads(args.threads)?;
    plan::check_local("the state", args.state.as_deref())?;
    for location in &args.data {
        ddiht_store::check(location).map_err(Failure::input)?;
    }
    let config = WorkerConfig {
        server: args.server.clone(),
        load: Loader::read(storage.clone(), args.data.clone()),
        state: args.state.clone(),
        credentials: args.security.open()?,
        connect_timeout: plan::time("--connect-timeout", &args.connect_timeout)?,
        delay: plan::time("--delay", &args.delay)?,
    };
    let signals = Signals::listen();
    signals.defer();
    super::block_on(ddiht_worker::run(config, signals.wait()))??;
    tracing::info!("the run is over");
    Ok(())
}
