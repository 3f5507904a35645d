//! The `ddiht` program.

mod plot;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Debug, Parser)]
#[command(name = "ddiht", version, about)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Plot(plot::PlotArgs),
}

fn main() -> ExitCode {
    let Command::Plot(args) = Cli::parse().command;
    match plot::run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("ddiht: {error}");
            ExitCode::from(2)
        }
    }
}
