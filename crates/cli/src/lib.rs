//! The `ddiht` program: train, use and look at linear models with at most k non-zero weights.
//!
//! `args` is what can be typed (or, by `config_file`, written down), `plan` makes a checked request of it, and each command has a module.

mod args;
mod cluster;
mod columns;
mod config_file;
mod evaluation;
mod export;
mod failure;
mod history;
mod input;
mod inspect;
mod list;
mod memory;
mod output;
mod path;
mod plan;
mod plot;
mod predict;
mod progress;
mod reproduce;
mod shard;
mod shell;
mod summary;
mod synth;
mod train;

use std::{env, ffi::OsString, process::ExitCode, sync::Arc, time::Duration};

use clap::Parser;
use ddiht_core::storage::Storage;
use ddiht_store::Store;

use args::{Cli, Command};
use config_file::Call;
use failure::Failure;

/// How long a request to a distant store is tried again, unless the variable says otherwise.
const PATIENCE: Duration = Duration::from_secs(60);
const PATIENCE_VARIABLE: &str = "DDIHT_STORAGE_PATIENCE";

/// Runs the program with these arguments, the first of them its name.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    memory::keep_small_blocks();
    let outcome =
        config_file::expand(arguments.into_iter().collect()).and_then(|call| match call {
            Call::Print(text) => output::print(&text),
            Call::Arguments(arguments) => {
                let cli = Cli::parse_from(arguments);
                storage().and_then(|storage| run(&cli.command, &storage))
            }
        });
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

fn run(command: &Command, storage: &Arc<dyn Storage>) -> Result<(), Failure> {
    match command {
        Command::Train(args) => train::run(args, storage),
        Command::Path(args) => path::run(args, &**storage),
        Command::Predict(args) => predict::run(args, &**storage),
        Command::Eval(args) => evaluation::run(args, &**storage),
        Command::Inspect(args) => inspect::run(args, &**storage),
        Command::Export(args) => export::run(args, &**storage),
        Command::Synth(args) => synth::run(args),
        Command::Shard(args) => shard::run(args, &**storage),
        Command::Plot(args) => plot::run(args).map_err(Failure::from),
        Command::Reproduce(args) => reproduce::run(args, &**storage),
        Command::Server(args) => cluster::server::run(args, storage),
        Command::Worker(args) => cluster::worker::run(args, storage),
        Command::Status(args) => cluster::control::status(args),
        Command::Stop(args) => cluster::control::stop(args),
        Command::Health(args) => cluster::control::health(args),
        Command::Completions(args) => shell::completions(args),
        Command::Man(args) => shell::man(args),
    }
}

/// Where the files of a command are, on this machine or elsewhere.
fn storage() -> Result<Arc<dyn Storage>, Failure> {
    let patience = match env::var(PATIENCE_VARIABLE) {
        Ok(text) => plan::time(PATIENCE_VARIABLE, &text)?,
        Err(_) => PATIENCE,
    };
    Ok(Arc::new(Store::new(patience)))
}

/// Runs the program as `ddiht ROLE`, for programs that have one role only.
pub fn main_as(role: &str) -> ExitCode {
    let rest = env::args_os().skip(1);
    main(["ddiht", role].into_iter().map(OsString::from).chain(rest))
}
