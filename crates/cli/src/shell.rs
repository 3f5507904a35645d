//! `ddiht completions` and `ddiht man`: what shells and manuals know of the options.

use std::{fs, io, path::PathBuf};

use clap::CommandFactory;

use crate::{
    args::{Cli, CompletionsArgs, ManArgs},
    failure::Failure,
    output,
};

#[derive(Debug, thiserror::Error)]
#[error("cannot write manual pages to {}: {source}", path.display())]
struct ManError {
    path: PathBuf,
    source: io::Error,
}

/// Prints the completions of a shell.
pub(crate) fn completions(args: &CompletionsArgs) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "ddiht", &mut script);
    output::print(&String::from_utf8_lossy(&script))
}

/// Writes a manual page for each command.
pub(crate) fn man(args: &ManArgs) -> Result<(), Failure> {
    let write = || {
        fs::create_dir_all(&args.directory)?;
        clap_mangen::generate_to(Cli::command(), &args.directory)
    };
    write().map_err(|source| Failure::run(ManError { path: args.directory.clone(), source }))
}
