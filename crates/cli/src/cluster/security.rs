//! The options of secrets, and what they name.

use std::{num::NonZeroUsize, path::PathBuf};

use clap::Args;
use ddiht_server::{Security, SecurityFiles, TlsFiles};
use ddiht_wire::trust::Identity;
use ddiht_worker::{ClientTlsFiles, CredentialFiles, Credentials};

use crate::failure::Failure;

#[derive(Debug, thiserror::Error)]
#[error("--max-connections {most} has no room for {workers} workers")]
struct NoRoom {
    most: NonZeroUsize,
    workers: usize,
}

/// Who may use a server.
#[derive(Debug, Args)]
#[command(next_help_heading = "Security (docs/security.md)")]
pub(crate) struct ServerSecurity {
    /// Tokens that are accepted: lines of TOKEN or ROLE TOKEN; ROLE is worker, observer or operator
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,

    /// Certificate of the server and its chain, in PEM form: encrypts every connection
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,

    /// Key of --tls-cert, in PEM form
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,

    /// Authority whose certificates clients must show, in PEM form
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_client_ca: Option<PathBuf>,

    /// Most connections at once [default: 1024 and one for every worker]
    #[arg(long, value_name = "N")]
    max_connections: Option<NonZeroUsize>,

    /// Allow an address that other machines can reach, without encryption
    #[arg(long)]
    insecure: bool,
}

impl ServerSecurity {
    /// Reads the files, for a server of this many workers.
    pub(crate) fn open(&self, workers: usize) -> Result<Security, Failure> {
        if let Some(most) = self.max_connections.filter(|most| most.get() < workers) {
            return Err(Failure::input(NoRoom { most, workers }));
        }
        let identity = identity(self.tls_cert.as_ref(), self.tls_key.as_ref());
        let client_ca = self.tls_client_ca.clone();
        let tls = identity.map(|identity| TlsFiles { identity, client_ca });
        let files = SecurityFiles { tokens: self.token_file.clone(), tls };
        let security = Security::open(&files).map_err(Failure::input)?;
        Ok(match self.max_connections {
            Some(most) => security.with_max_connections(most.get()),
            None => security,
        })
    }

    /// Whether other machines may reach the server.
    pub(crate) fn may_be_reached(&self) -> bool {
        self.insecure || self.tls_cert.is_some()
    }
}

/// What a client shows its server, and what it wants to see.
#[derive(Debug, Args)]
#[command(next_help_heading = "Security (docs/security.md)")]
pub(crate) struct ClientSecurity {
    /// File whose first line is the token to show
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,

    /// Authority of the server's certificate, in PEM form: encrypts the connection
    #[arg(long, value_name = "FILE")]
    tls_ca: Option<PathBuf>,

    /// Certificate to show, and its chain, in PEM form
    #[arg(long, value_name = "FILE", requires_all = ["tls_key", "tls_ca"])]
    tls_cert: Option<PathBuf>,

    /// Key of --tls-cert, in PEM form
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,

    /// Name the server's certificate must have [default: the host of its address]
    #[arg(long, value_name = "NAME", requires = "tls_ca")]
    tls_domain: Option<String>,

    /// Allow the token to go to another machine without encryption
    #[arg(long)]
    insecure: bool,
}

impl ClientSecurity {
    /// Reads the files.
    pub(crate) fn open(&self) -> Result<Credentials, Failure> {
        let tls = self.tls_ca.clone().map(|ca| ClientTlsFiles {
            ca,
            identity: identity(self.tls_cert.as_ref(), self.tls_key.as_ref()),
            domain: self.tls_domain.clone(),
        });
        let files = CredentialFiles { token: self.token_file.clone(), tls };
        let credentials = Credentials::open(&files).map_err(Failure::input)?;
        Ok(if self.insecure { credentials.trusting_the_network() } else { credentials })
    }
}

fn identity(certificate: Option<&PathBuf>, key: Option<&PathBuf>) -> Option<Identity> {
    Some(Identity { certificate: certificate?.clone(), key: key?.clone() })
}
