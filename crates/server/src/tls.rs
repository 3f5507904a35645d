//! Encryption, as the files of a server have it now.

use std::{path::PathBuf, sync::Arc};

use ddiht_wire::trust::{ALPN, Identity, TrustError, provider, roots};
use rustls::{
    ServerConfig,
    server::{NoServerSessionStorage, WebPkiClientVerifier},
    version::TLS13,
};

/// The files of TLS, by name.
#[derive(Debug, Clone)]
pub struct TlsFiles {
    /// What the server shows its clients.
    pub identity: Identity,
    /// If given, every client must show a certificate of one of these authorities.
    pub client_ca: Option<PathBuf>,
}

impl TlsFiles {
    /// All of them.
    pub(crate) fn paths(&self) -> Vec<PathBuf> {
        let identity = [self.identity.certificate.clone(), self.identity.key.clone()];
        identity.into_iter().chain(self.client_ca.clone()).collect()
    }

    /// Reads them.
    pub(crate) fn read(&self) -> Result<ServerConfig, TrustError> {
        let builder = ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&TLS13])
            .map_err(TrustError::Tls)?;
        let builder = match &self.client_ca {
            None => builder.with_no_client_auth(),
            Some(file) => {
                let roots = Arc::new(roots(file)?);
                let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider());
                let unusable = |source| TrustError::Verifier { file: file.clone(), source };
                builder.with_client_cert_verifier(verifier.build().map_err(unusable)?)
            }
        };
        let (chain, key) = self.identity.read()?;
        let mut config =
            builder.with_single_cert(chain, key).map_err(|source| self.identity.refused(source))?;
        config.alpn_protocols = vec![ALPN.to_vec()];
        // A resumed connection shows no certificate: one that has expired since, or whose authority was
        // removed, would still be let in. Connections are few and long, so nothing is lost.
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        Ok(config)
    }
}
