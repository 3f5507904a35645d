//! The options of secrets, and what they name.

use std::path::PathBuf;

use clap::Args;
use ddiht_server::{Security, SecurityFiles};
use ddiht_worker::{CredentialFiles, Credentials};

use crate::failure::Failure;

/// Who may use a server.
#[derive(Debug, Args)]
#[command(next_help_heading = "Security (docs/security.md)")]
pub(crate) struct ServerSecurity {
    /// Tokens that are accepted: lines of TOKEN or ROLE TOKEN; ROLE is worker, observer or operator
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,

    /// Allow an address that other machines can reach, without encryption
    #[arg(long)]
    pub(crate) insecure: bool,
}

impl ServerSecurity {
    /// Reads the files.
    pub(crate) fn open(&self) -> Result<Security, Failure> {
        let files = SecurityFiles { tokens: self.token_file.clone() };
        Security::open(&files).map_err(Failure::input)
    }
}

/// What a client shows its server.
#[derive(Debug, Args)]
#[command(next_help_heading = "Security (docs/security.md)")]
pub(crate) struct ClientSecurity {
    /// File whose first line is the token to show
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
}

impl ClientSecurity {
    /// Reads the files.
    pub(crate) fn open(&self) -> Result<Credentials, Failure> {
        let files = CredentialFiles { token: self.token_file.clone() };
        Credentials::open(&files).map_err(Failure::input)
    }
}
