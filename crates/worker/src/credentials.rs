//! What a client shows its server, and what it wants to see of it.

use std::{path::PathBuf, sync::Arc};

use ddiht_wire::trust::{
    ALPN, AUTHORIZATION, Identity, Token, TrustError, Watched, provider, roots,
};
use rustls::{ClientConfig, client::Resumption, pki_types::ServerName, version::TLS13};
use tonic::{Request, Status, service::Interceptor};

use crate::Denial;

/// The files of secrets of a client, by name.
#[derive(Debug, Clone, Default)]
pub struct CredentialFiles {
    /// Its first line is the token.
    pub token: Option<PathBuf>,
    /// Without them nothing is encrypted.
    pub tls: Option<ClientTlsFiles>,
}

/// The files of TLS of a client.
#[derive(Debug, Clone)]
pub struct ClientTlsFiles {
    /// The authority of the server's certificate.
    pub ca: PathBuf,
    /// What the client shows, if the server wants to see something.
    pub identity: Option<Identity>,
    /// The name in the server's certificate, if it is not that of its address.
    pub domain: Option<String>,
}

/// What a client shows its server. The default shows nothing and encrypts nothing.
#[derive(Debug, Clone, Default)]
pub struct Credentials {
    token: Option<Arc<Watched<Token>>>,
    pub(crate) tls: Option<ClientTls>,
    trust_the_network: bool,
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
        let tls = files.tls.clone().map(ClientTls::open);
        let (token, tls) = (token.transpose()?, tls.transpose()?);
        Ok(Self { token, tls, trust_the_network: false })
    }

    /// Allows the token to go to another machine without encryption.
    pub fn trusting_the_network(self) -> Self {
        Self { trust_the_network: true, ..self }
    }

    /// Whether a connection without encryption would give the token away.
    pub(crate) fn would_show_the_token(&self) -> bool {
        self.token.is_some() && self.tls.is_none() && !self.trust_the_network
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

/// How connections are encrypted, as the files have it now.
#[derive(Debug, Clone)]
pub(crate) struct ClientTls {
    config: Arc<Watched<ClientConfig>>,
    domain: Option<String>,
}

impl ClientTls {
    fn open(files: ClientTlsFiles) -> Result<Self, TrustError> {
        let domain = files.domain.clone();
        let identity = files.identity.iter().flat_map(|i| [i.certificate.clone(), i.key.clone()]);
        let paths = identity.chain([files.ca.clone()]).collect();
        let config = Watched::open(paths, move || read(&files))?;
        Ok(Self { config: Arc::new(config), domain })
    }

    pub(crate) fn config(&self) -> Arc<ClientConfig> {
        self.config.current()
    }

    /// The name that the certificate of the server at `host` must have.
    pub(crate) fn name(&self, host: &str) -> Result<ServerName<'static>, Denial> {
        let name = self.domain.as_deref().unwrap_or(host);
        ServerName::try_from(name.to_owned()).map_err(|_| Denial::Name(name.to_owned()))
    }
}

fn read(files: &ClientTlsFiles) -> Result<ClientConfig, TrustError> {
    let builder = ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&TLS13])
        .map_err(TrustError::Tls)?
        .with_root_certificates(roots(&files.ca)?);
    let mut config = match &files.identity {
        None => builder.with_no_client_auth(),
        Some(identity) => {
            let (chain, key) = identity.read()?;
            let built = builder.with_client_auth_cert(chain, key);
            built.map_err(|source| identity.refused(source))?
        }
    };
    config.alpn_protocols = vec![ALPN.to_vec()];
    // The server gives no tickets.
    config.resumption = Resumption::disabled();
    Ok(config)
}
