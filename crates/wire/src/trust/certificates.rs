//! Certificates and keys in PEM files.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use rustls::{
    RootCertStore,
    crypto::{CryptoProvider, ring},
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};

use super::TrustError;

/// The one protocol that is spoken over TLS: HTTP/2.
pub const ALPN: &[u8] = b"h2";

/// The cryptography in use.
pub fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

/// The files of a certificate with its chain, and of its key.
#[derive(Debug, Clone)]
pub struct Identity {
    /// The certificate first, then those that lead to an authority.
    pub certificate: PathBuf,
    /// The key of the certificate.
    pub key: PathBuf,
}

impl Identity {
    /// Reads both.
    ///
    /// # Errors
    /// They cannot be read, or are not what they should be.
    pub fn read(
        &self,
    ) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), TrustError> {
        let chain = certificates(&self.certificate)?;
        let text = read(&self.key)?;
        let no_key = |_| TrustError::NoKey { file: self.key.clone() };
        Ok((chain, PrivateKeyDer::from_pem_slice(&text).map_err(no_key)?))
    }

    /// Why they do not go together.
    pub fn refused(&self, source: rustls::Error) -> TrustError {
        let (certificate, key) = (self.certificate.clone(), self.key.clone());
        TrustError::Identity { certificate, key, source }
    }
}

/// The authorities of `file`.
///
/// # Errors
/// It cannot be read, or a certificate in it cannot be used.
pub fn roots(file: &Path) -> Result<RootCertStore, TrustError> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(file)? {
        let refused = |source| TrustError::Authority { file: file.into(), source };
        roots.add(certificate).map_err(refused)?;
    }
    Ok(roots)
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, TrustError> {
    let text = read(file)?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    match found {
        Ok(certificates) if !certificates.is_empty() => Ok(certificates),
        _ => Err(TrustError::NoCertificates { file: file.into() }),
    }
}

fn read(file: &Path) -> Result<Vec<u8>, TrustError> {
    fs::read(file).map_err(|source| TrustError::Read { file: file.into(), source })
}
