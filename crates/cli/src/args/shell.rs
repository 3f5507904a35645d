//! Commands for those who install the program.

use std::path::PathBuf;

use clap::Args;
use clap_complete::Shell;

/// Print the completions of a shell.
#[derive(Debug, Args)]
#[command(
    after_help = "Example: ddiht completions bash > ~/.local/share/bash-completion/completions/ddiht"
)]
pub(crate) struct CompletionsArgs {
    /// The shell
    pub(crate) shell: Shell,
}

/// Write a manual page for each command.
#[derive(Debug, Args)]
#[command(after_help = "Example: ddiht man ~/.local/share/man/man1")]
pub(crate) struct ManArgs {
    /// Directory to write to; it is made if need be
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
}
