//! The `ddiht` program: train, use and look at linear models with at most k non-zero weights.

mod args;
mod evaluation;
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
mod summary;
mod synth;
mod train;

use std::process::ExitCode;

use clap::Parser;

use args::{Cli, Command};
use failure::Failure;

fn main() -> ExitCode {
    let cli = Cli::parse();
    match run(&cli.command) {
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
        Command::Synth(args) => synth::run(args),
        Command::Shard(args) => shard::run(args),
        Command::Plot(args) => plot::run(args).map_err(Failure::from),
    }
}
