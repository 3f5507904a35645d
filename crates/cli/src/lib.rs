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
mod output;
mod plan;
mod plot;
mod predict;
mod progress;
mod shard;
mod shell;
mod summary;
mod synth;
mod train;

use std::{ffi::OsString, process::ExitCode};

use clap::Parser;

use args::{Cli, Command};
use config_file::Call;
use failure::Failure;

/// Runs the program with these arguments, the first of them its name.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let outcome =
        config_file::expand(arguments.into_iter().collect()).and_then(|call| match call {
            Call::Print(text) => output::print(&text),
            Call::Arguments(arguments) => run(&Cli::parse_from(arguments).command),
        });
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

fn run(command: &Command) -> Result<(), Failure> {
    match command {
        Command::Train(args) => train::run(args),
        Command::Predict(args) => predict::run(args),
        Command::Eval(args) => evaluation::run(args),
        Command::Inspect(args) => inspect::run(args),
        Command::Export(args) => export::run(args),
        Command::Synth(args) => synth::run(args),
        Command::Shard(args) => shard::run(args),
        Command::Plot(args) => plot::run(args).map_err(Failure::from),
        Command::Server(args) => cluster::server::run(args),
        Command::Worker(args) => cluster::worker::run(args),
        Command::Status(args) => cluster::control::status(args),
        Command::Stop(args) => cluster::control::stop(args),
        Command::Health(args) => cluster::control::health(args),
        Command::Completions(args) => shell::completions(args),
        Command::Man(args) => shell::man(args),
    }
}

/// Runs the program as `ddiht ROLE`, for programs that have one role only.
pub fn main_as(role: &str) -> ExitCode {
    let rest = std::env::args_os().skip(1);
    main(["ddiht", role].into_iter().map(OsString::from).chain(rest))
}
