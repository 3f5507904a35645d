//! What a client shows its server, and what the server says when that is not enough.

use std::{path::PathBuf, sync::Arc};

use ddiht_wire::trust::{AUTHORIZATION, Token, TrustError, Watched};
use tonic::{Code, Request, Status, service::Interceptor};

/// The files of secrets of a client, by name.
#[derive(Debug, Clone, Default)]
pub struct CredentialFiles {
    /// Its first line is the token.
    pub token: Option<PathBuf>,
}

/// What a client shows its server. The default shows nothing.
#[derive(Debug, Clone, Default)]
pub struct Credentials {
    token: Option<Arc<Watched<Token>>>,
}

impl Credentials {
    /// Reads `files`, and again whenever they change.
    ///
    /// # Errors
    /// A file cannot be used.
    pub fn open(files: &CredentialFiles) -> Result<Self, TrustError> {
        let token = files.token.clone().map(|file| {
            Watched::open(vec![file.clone()], move || Token::read(&file)).map(Arc::new)
        });
        Ok(Self { token: token.transpose()? })
    }

    pub(crate) fn bearer(&self) -> Bearer {
        Bearer(self.token.clone())
    }
}

/// Shows the token with every call.
#[derive(Debug, Clone)]
pub struct Bearer(Option<Arc<Watched<Token>>>);

impl Interceptor for Bearer {
    fn call(&mut self, mut call: Request<()>) -> Result<Request<()>, Status> {
        if let Some(token) = &self.0 {
            call.metadata_mut().insert(AUTHORIZATION, token.current().header());
        }
        Ok(call)
    }
}

/// The server's word that the credentials are missing, wrong, or not for this. It does not change by asking
/// again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Denial {
    /// They are missing or wrong.
    #[error("the server refuses (UNAUTHENTICATED): {0}")]
    Unauthenticated(String),
    /// They are not for this.
    #[error("the server refuses (PERMISSION_DENIED): {0}")]
    PermissionDenied(String),
}

impl Denial {
    /// What `status` says of the credentials, if it does.
    pub fn of(status: &Status) -> Option<Self> {
        let sentence = || status.message().to_owned();
        match status.code() {
            Code::Unauthenticated => Some(Self::Unauthenticated(sentence())),
            Code::PermissionDenied => Some(Self::PermissionDenied(sentence())),
            _ => None,
        }
    }
}
