//! What is wrong with a file of secrets. No sentence quotes the file: it may be part of a secret.

use std::{io, path::PathBuf};

/// A file of tokens or certificates that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// It cannot be read.
    #[error("cannot read {}: {source}", file.display())]
    Read {
        /// The file.
        file: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// There is no token in it.
    #[error("there is no token in {}", file.display())]
    NoToken {
        /// The file.
        file: PathBuf,
    },
    /// A line is no token.
    #[error(
        "line {line} of {} is no token: that is 1 to {max} visible ASCII characters without blanks",
        file.display(),
        max = super::token::LONGEST
    )]
    BadToken {
        /// The file.
        file: PathBuf,
        /// The line, from 1.
        line: usize,
    },
    /// A line does not begin with a role.
    #[error(
        "line {line} of {} is neither TOKEN nor ROLE TOKEN with the role worker, observer or operator",
        file.display()
    )]
    BadRole {
        /// The file.
        file: PathBuf,
        /// The line, from 1.
        line: usize,
    },
    /// There are no certificates in it, or some that make no sense.
    #[error("{} has no certificates in PEM form", file.display())]
    NoCertificates {
        /// The file.
        file: PathBuf,
    },
    /// There is no key in it.
    #[error("{} has no private key in PEM form", file.display())]
    NoKey {
        /// The file.
        file: PathBuf,
    },
    /// A certificate and a key cannot be used together, or not at all.
    #[error("the certificate {} with the key {} cannot be used: {source}", certificate.display(), key.display())]
    Identity {
        /// The file of the certificate.
        certificate: PathBuf,
        /// The file of the key.
        key: PathBuf,
        /// Why.
        source: rustls::Error,
    },
    /// The certificates of an authority cannot be used.
    #[error("the authority of {} cannot be used: {source}", file.display())]
    Authority {
        /// The file.
        file: PathBuf,
        /// Why.
        source: rustls::Error,
    },
    /// No client can be checked against the certificates of an authority.
    #[error("the authority of {} cannot be used: {source}", file.display())]
    Verifier {
        /// The file.
        file: PathBuf,
        /// Why.
        source: rustls::server::VerifierBuilderError,
    },
    /// The library of TLS cannot do what is asked of it.
    #[error("TLS cannot be set up: {0}")]
    Tls(rustls::Error),
}
