//! Who may use a server, as it is told when it starts.

use std::{path::PathBuf, sync::Arc};

use ddiht_wire::trust::{TrustError, Watched};

use crate::tokens::TokenList;

/// The files of secrets of a server, by name.
#[derive(Debug, Clone, Default)]
pub struct SecurityFiles {
    /// Lines of `TOKEN` or `ROLE TOKEN`; without it every caller has every right.
    pub tokens: Option<PathBuf>,
}

/// How a server protects itself. The default lets everybody do everything.
#[derive(Debug, Clone, Default)]
pub struct Security {
    pub(crate) tokens: Option<Arc<Watched<TokenList>>>,
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
        Ok(Self { tokens: tokens.transpose()? })
    }
}
