//! `ddiht worker`.

use ddiht_worker::{Loader, WorkerConfig};

use crate::{args::WorkerArgs, failure::Failure, output, plan, progress::Signals};

#[derive(Debug, thiserror::Error)]
#[error("--handicap must be a number of at least 1, not {0}")]
struct BadHandicap(f64);

/// Works for a server.
pub(crate) fn run(args: &WorkerArgs) -> Result<(), Failure> {
    output::start_log(args.quiet);
    plan::use_threads(args.threads)?;
    if !(args.handicap >= 1.0 && args.handicap.is_finite()) {
        return Err(Failure::input(BadHandicap(args.handicap)));
    }
    let config = WorkerConfig {
        server: args.server.clone(),
        load: Loader::read(args.data.clone()),
        state: args.state.clone(),
        connect_timeout: plan::time("--connect-timeout", &args.connect_timeout)?,
        handicap: args.handicap,
    };
    let signals = Signals::listen();
    signals.defer();
    super::block_on(ddiht_worker::run(config, signals.wait()))??;
    tracing::info!("the run is over");
    Ok(())
}
