//! Why a client and its server do not trust each other. None of it changes by asking again.

use std::{error::Error, net::IpAddr};

use rustls::{AlertDescription, CertificateError};
use tonic::{Code, Status};

use crate::connect::ConnectError;

/// Credentials that are missing, wrong, or not for this.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Denial {
    /// The server does not know us.
    #[error("the server refuses (UNAUTHENTICATED): {0}")]
    Unauthenticated(String),
    /// The server knows us, but this is not for us.
    #[error("the server refuses (PERMISSION_DENIED): {0}")]
    PermissionDenied(String),
    /// The token would be seen by whoever listens.
    #[error(
        "the token would go to {0} without encryption: give --tls-ca, or say --insecure if the network is to \
         be trusted"
    )]
    Exposed(IpAddr),
    /// No certificate can have the name of the server.
    #[error("`{0}` cannot be the name in a certificate: give --tls-domain")]
    Name(String),
    /// There is no encrypted connection.
    #[error("no encrypted connection to the server: {}", explain(.0))]
    Tls(rustls::Error),
}

impl Denial {
    /// What `status` says of the credentials, if it does.
    pub fn of(status: &Status) -> Option<Self> {
        let sentence = || status.message().to_owned();
        match status.code() {
            Code::Unauthenticated => return Some(Self::Unauthenticated(sentence())),
            Code::PermissionDenied => return Some(Self::PermissionDenied(sentence())),
            _ => {}
        }
        let mut cause: Option<&(dyn Error + 'static)> = status.source();
        while let Some(error) = cause {
            if let Some(ConnectError::Denied(denial)) = error.downcast_ref() {
                return Some(denial.clone());
            }
            cause = error.source();
        }
        None
    }

    /// Whether the call is to blame, and not the server.
    pub fn is_input(&self) -> bool {
        matches!(self, Self::Exposed(_) | Self::Name(_))
    }
}

/// What to do about it, where that is known.
fn explain(error: &rustls::Error) -> String {
    use CertificateError as Bad;
    use rustls::Error as Tls;
    match error {
        Tls::InvalidCertificate(Bad::UnknownIssuer | Bad::BadSignature) => {
            "its certificate is not of an authority in --tls-ca".to_owned()
        }
        Tls::InvalidCertificate(Bad::Expired | Bad::ExpiredContext { .. }) => {
            "its certificate has expired".to_owned()
        }
        Tls::InvalidCertificate(Bad::NotValidForName | Bad::NotValidForNameContext { .. }) => {
            "its certificate is for another name (--tls-domain)".to_owned()
        }
        Tls::InvalidMessage(_) => "it does not speak TLS".to_owned(),
        Tls::AlertReceived(AlertDescription::CertificateRequired) => {
            "it wants a certificate (--tls-cert, --tls-key)".to_owned()
        }
        Tls::AlertReceived(AlertDescription::CertificateExpired) => {
            "it says that our certificate has expired".to_owned()
        }
        Tls::AlertReceived(AlertDescription::UnknownCA | AlertDescription::DecryptError) => {
            "it says that our certificate is not of its authority".to_owned()
        }
        Tls::AlertReceived(alert) => format!("it says {alert:?}"),
        other => other.to_string(),
    }
}
