//! Who may use a server, and how much of it, as it is told when it starts.

use std::{path::PathBuf, sync::Arc};

use ddiht_wire::trust::{TrustError, Watched};

use crate::{tls::TlsFiles, tokens::TokenList};

/// Connections that a server has room for beside those of its workers, unless it is told otherwise.
pub const SPARE_CONNECTIONS: usize = 1024;

/// The files of secrets of a server, by name.
#[derive(Debug, Clone, Default)]
pub struct SecurityFiles {
    /// Lines of `TOKEN` or `ROLE TOKEN`; without it every caller has every right.
    pub tokens: Option<PathBuf>,
    /// Without them nothing is encrypted.
    pub tls: Option<TlsFiles>,
}

/// How a server protects itself. The default lets everybody do everything, over as many connections as a
/// server has room for.
#[derive(Debug, Clone, Default)]
pub struct Security {
    pub(crate) tokens: Option<Arc<Watched<TokenList>>>,
    pub(crate) tls: Option<Arc<Watched<rustls::ServerConfig>>>,
    max_connections: Option<usize>,
}

impl Security {
    /// Reads `files`, and again whenever they change.
    ///
    /// # Errors
    /// A file cannot be used.
    pub fn open(files: &SecurityFiles) -> Result<Self, TrustError> {
        let tokens = files.tokens.clone().map(|file| {
            Watched::open(vec![file.clone()], move || TokenList::read(&file)).map(Arc::new)
        });
        let tls = files
            .tls
            .clone()
            .map(|files| Watched::open(files.paths(), move || files.read()).map(Arc::new));
        Ok(Self { tokens: tokens.transpose()?, tls: tls.transpose()?, max_connections: None })
    }

    /// Sets how many connections there may be at once.
    pub fn with_max_connections(self, most: usize) -> Self {
        Self { max_connections: Some(most), ..self }
    }

    pub(crate) fn max_connections(&self, workers: usize) -> usize {
        self.max_connections.unwrap_or_else(|| workers.saturating_add(SPARE_CONNECTIONS))
    }
}
