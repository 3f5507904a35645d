//! What can go wrong on the way to an object, in sentences. Whatever a service says about a request may quote
//! its address with a signature in it, so texts from outside are shown without queries.

use std::{
    error::Error,
    io::{self, ErrorKind},
};

use object_store::client::{HttpError, HttpErrorKind};
use url::Url;

use crate::location::{Location, Service};

/// Why an object cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StoreError {
    #[error("there is no such object")]
    Missing,
    #[error("there is no bucket {0}")]
    NoBucket(String),
    #[error("access is denied; credentials are taken from {0}")]
    Denied(&'static str),
    #[error("the server does not allow it")]
    Forbidden,
    #[error("there are no credentials; they are taken from {0}")]
    NoCredentials(&'static str),
    #[error("cannot connect to {endpoint}: {cause}")]
    Unreachable { endpoint: String, cause: String },
    #[error("{endpoint} does not answer in time, and was asked more than once")]
    TimedOut { endpoint: String },
    #[error("the connection to {endpoint} was lost")]
    Lost { endpoint: String },
    #[error("{endpoint} answers with status {status}")]
    Status { endpoint: String, status: u16 },
    #[error("{endpoint} is not encrypted, which only {variable}=true allows")]
    Plain { endpoint: String, variable: &'static str },
    #[error("the bucket is in another region than AWS_REGION names")]
    Region,
    #[error("the server cannot send a part of it")]
    NoRanges,
    #[error("it was changed while it was read")]
    Changed,
    #[error("what is on a web server can only be read")]
    ReadOnly,
    #[error("a web server cannot be asked what is in a directory: name the files")]
    Unlisted,
    #[error("{why}; credentials and settings are taken from {variables}")]
    Setup { why: Redacted, variables: &'static str },
    #[error("{0}")]
    Other(Redacted),
    #[error("reading was given up")]
    Cancelled,
    #[error("threads for the network cannot be started: {0}")]
    Runtime(io::Error),
}

/// A text from outside, without the queries of the addresses in it.
#[derive(Debug)]
pub(crate) struct Redacted(String);

impl std::fmt::Display for Redacted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl Redacted {
    /// An error and what caused it, without the words that only name the library's type.
    fn of(error: &object_store::Error) -> Self {
        let mut text = error.to_string();
        if let Some((_, said)) =
            text.split_once(" error: ").filter(|(t, _)| t.starts_with("Generic "))
        {
            text = said.to_owned();
        }
        let cause = chain(error).last().map(ToString::to_string).unwrap_or_default();
        if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
        Self::new(&text)
    }

    fn new(text: &str) -> Self {
        let words = text.split_whitespace().map(|word| match word.split_once('?') {
            Some((address, _)) if address.contains("://") => address,
            _ => word,
        });
        Self(words.collect::<Vec<_>>().join(" "))
    }
}

impl StoreError {
    /// Whether another attempt may go on where this one broke off.
    pub(crate) fn is_cut(&self) -> bool {
        matches!(self, Self::Lost { .. } | Self::TimedOut { .. } | Self::Other(_))
    }

    fn kind(&self) -> ErrorKind {
        match self {
            Self::Missing | Self::NoBucket(_) => ErrorKind::NotFound,
            Self::Denied(_) | Self::Forbidden | Self::NoCredentials(_) => {
                ErrorKind::PermissionDenied
            }
            Self::Unreachable { .. } => ErrorKind::NotConnected,
            Self::TimedOut { .. } => ErrorKind::TimedOut,
            Self::Lost { .. } | Self::Cancelled => ErrorKind::ConnectionAborted,
            Self::Status { status: 429 | 500.., .. } => ErrorKind::ResourceBusy,
            Self::Changed => ErrorKind::StaleNetworkFileHandle,
            Self::ReadOnly => ErrorKind::ReadOnlyFilesystem,
            Self::Unlisted | Self::NoRanges => ErrorKind::Unsupported,
            Self::Plain { .. } | Self::Region | Self::Setup { .. } => ErrorKind::InvalidInput,
            Self::Status { .. } | Self::Other(_) | Self::Runtime(_) => ErrorKind::Other,
        }
    }
}

impl From<StoreError> for io::Error {
    fn from(error: StoreError) -> Self {
        Self::new(error.kind(), error)
    }
}

/// Why there is no client for `location`.
pub(crate) fn explain_setup(error: &object_store::Error, location: &Location) -> StoreError {
    let why = Redacted::of(error);
    match location {
        Location::Bucket { service, .. } => {
            StoreError::Setup { why, variables: service.credentials() }
        }
        Location::Web(_) => StoreError::Other(why),
    }
}

/// What an error about `location` means.
pub(crate) fn explain(error: &object_store::Error, location: &Location) -> StoreError {
    let text = error.to_string();
    let credentials = match location {
        Location::Bucket { service, .. } => Some(service.credentials()),
        Location::Web(_) => None,
    };
    // Machines of a cloud are asked for their role at such addresses, which exist nowhere else.
    let asks_machine = ["169.254.169.254", "169.254.170.2", "metadata.google.internal"];
    if let Some(source) = credentials.filter(|_| asks_machine.iter().any(|a| text.contains(a))) {
        return StoreError::NoCredentials(source);
    }
    use object_store::Error as E;
    match error {
        E::NotFound { .. } => missing(&text, location),
        E::PermissionDenied { .. } | E::Unauthenticated { .. } => {
            credentials.map_or(StoreError::Forbidden, StoreError::Denied)
        }
        E::NotSupported { .. } => StoreError::NoRanges,
        _ => transport(error, &text, location),
    }
}

fn missing(text: &str, location: &Location) -> StoreError {
    let says = ["NoSuchBucket", "ContainerNotFound", "bucket does not exist"];
    match location {
        Location::Bucket { bucket, .. } if says.iter().any(|code| text.contains(code)) => {
            StoreError::NoBucket(bucket.clone())
        }
        _ => StoreError::Missing,
    }
}

fn transport(error: &object_store::Error, text: &str, location: &Location) -> StoreError {
    let endpoint = endpoint(text).unwrap_or_else(|| "the service".to_owned());
    if text.contains("redirect without LOCATION") {
        return StoreError::Region;
    }
    if let (true, Location::Bucket { service, .. }) =
        (chain(error).any(|e| e.to_string().contains("URL scheme is not allowed")), location)
    {
        let variable = Service::plain_variable(*service);
        return StoreError::Plain { endpoint, variable };
    }
    match status(text) {
        Some(404) => return missing(text, location),
        Some(status) => return StoreError::Status { endpoint, status },
        None => {}
    }
    let kind = chain(error).find_map(|e| e.downcast_ref::<HttpError>()).map(HttpError::kind);
    match kind {
        Some(HttpErrorKind::Connect) => {
            let cause = chain(error).last().map(ToString::to_string).unwrap_or_default();
            StoreError::Unreachable { endpoint, cause: Redacted::new(&cause).0 }
        }
        Some(HttpErrorKind::Timeout) => StoreError::TimedOut { endpoint },
        Some(HttpErrorKind::Request | HttpErrorKind::Interrupted | HttpErrorKind::Decode) => {
            StoreError::Lost { endpoint }
        }
        _ => StoreError::Other(Redacted::of(error)),
    }
}

/// An error and its causes.
fn chain<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&e| e.source())
}

/// Scheme, host and port of the first address in a text. The types that have them are not public.
fn endpoint(text: &str) -> Option<String> {
    let word = text.split_whitespace().find(|word| word.starts_with("http"))?;
    let url = Url::parse(word).ok()?;
    Some(url.origin().ascii_serialization())
}

/// The status that the text of an error names.
fn status(text: &str) -> Option<u16> {
    let (_, rest) = text.split_once("status code: ")?;
    rest.get(..3)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn generic(text: &str) -> object_store::Error {
        object_store::Error::Generic { store: "S3", source: text.to_owned().into() }
    }

    fn at(text: &str) -> Location {
        Location::parse(Path::new(text)).unwrap().unwrap()
    }

    #[test]
    fn texts_become_sentences() {
        let said = |text: &str| explain(&generic(text), &at("s3://b/x")).to_string();
        let status = "Error performing GET http://127.0.0.1:9/b/x in 1ms - Server returned non-2xx status \
                      code: 503 Service Unavailable: ";
        assert_eq!(said(status), "http://127.0.0.1:9 answers with status 503");
        let redirect = "Received redirect without LOCATION, this normally indicates";
        assert!(said(redirect).contains("AWS_REGION"));
        let machine =
            "Error performing PUT http://169.254.169.254/latest/api/token in 1s - HTTP error";
        assert!(said(machine).contains("no credentials") && said(machine).contains("AWS_SECRET"));
        let denied =
            object_store::Error::PermissionDenied { path: "x".into(), source: "no".into() };
        assert!(explain(&denied, &at("gs://b/x")).to_string().contains("GOOGLE_"));
        let web = at("https://h/x");
        assert_eq!(explain(&denied, &web).to_string(), StoreError::Forbidden.to_string());
        let missing = |text: &str| object_store::Error::NotFound {
            path: "x".into(),
            source: text.to_owned().into(),
        };
        let bucket = explain(&missing("<Code>NoSuchBucket</Code>"), &at("s3://b/x"));
        assert_eq!(bucket.to_string(), "there is no bucket b");
        assert!(matches!(explain(&missing("NoSuchKey"), &at("s3://b/x")), StoreError::Missing));
    }

    #[test]
    fn signatures_are_not_repeated() {
        let text = "Generic error at https://h/x?X-Amz-Signature=hunter2 : why? because";
        let shown = explain(&generic(text), &at("https://h/x?X-Amz-Signature=hunter2")).to_string();
        assert!(!shown.contains("hunter2") && shown.contains("why? because"), "{shown}");
    }

    #[test]
    fn outages_are_told_from_mistakes() {
        let outage = |error: StoreError| ddiht_core::storage::is_outage(&error.into());
        let endpoint = || "http://h".to_owned();
        assert!(outage(StoreError::TimedOut { endpoint: endpoint() }));
        assert!(outage(StoreError::Lost { endpoint: endpoint() }));
        assert!(outage(StoreError::Status { endpoint: endpoint(), status: 503 }));
        assert!(outage(StoreError::Changed));
        assert!(!outage(StoreError::Missing) && !outage(StoreError::Forbidden));
        assert!(!outage(StoreError::Status { endpoint: endpoint(), status: 400 }));
    }
}
