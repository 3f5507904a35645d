//! What a location says: which service, which bucket, which object.

use std::path::{Path, PathBuf};

use ddiht_core::storage::scheme;
use object_store::path::Path as Key;
use url::Url;

/// A service that keeps objects in buckets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Service {
    S3,
    Google,
    Azure,
}

impl Service {
    /// Where its credentials come from, for messages.
    pub(crate) fn credentials(self) -> &'static str {
        match self {
            Self::S3 => "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or the machine's role",
            Self::Google => "GOOGLE_APPLICATION_CREDENTIALS, or the machine's account",
            Self::Azure => "AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY",
        }
    }

    /// What allows a connection to it without encryption.
    pub(crate) fn plain_variable(self) -> &'static str {
        match self {
            Self::S3 => "AWS_ALLOW_HTTP",
            Self::Google => "GOOGLE_ALLOW_HTTP",
            Self::Azure => "AZURE_ALLOW_HTTP",
        }
    }
}

/// A place that is not on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Location {
    Bucket { service: Service, bucket: String, key: Key, directory: bool },
    Web(Url),
}

/// Text that names no place. None of it is shown where it may hold a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LocationError {
    /// Some other scheme.
    #[error(
        "{0}:// is not understood: a location is a path, s3://, gs://, az://, http:// or https://"
    )]
    Scheme(String),
    /// `user:password@`.
    #[error(
        "a {0}:// location must not carry a name or a password before an @: credentials are taken from the \
         environment"
    )]
    Credentials(String),
    /// `s3:///file`.
    #[error("{0}: there must be a bucket after ://")]
    NoBucket(String),
    /// `s3://bucket`, where a file is meant.
    #[error("{0}: it names no file")]
    NoFile(String),
    /// `s3://bucket/a//b`.
    #[error("{0}: the name of an object must have no empty parts, and neither . nor ..")]
    Key(String),
    /// No URL.
    #[error("{location}: not a web address: {source}")]
    Url {
        /// The text, without what may be secret.
        location: String,
        /// Why.
        source: url::ParseError,
    },
}

impl Location {
    /// What `text` names, or nothing if that is a path of this machine.
    pub(crate) fn parse(text: &Path) -> Result<Option<Self>, LocationError> {
        let (Some(scheme), Some(whole)) = (scheme(text), text.to_str()) else { return Ok(None) };
        let rest = &whole[scheme.len() + "://".len()..];
        let scheme = scheme.to_ascii_lowercase();
        let service = match scheme.as_str() {
            "s3" => Service::S3,
            "gs" => Service::Google,
            "az" => Service::Azure,
            "http" | "https" => return web(&scheme, whole, rest).map(Some),
            _ => return Err(LocationError::Scheme(scheme)),
        };
        refuse_credentials(&scheme, rest)?;
        let (bucket, key) = rest.split_once('/').unwrap_or((rest, ""));
        if bucket.is_empty() {
            return Err(LocationError::NoBucket(whole.to_owned()));
        }
        let directory = key.is_empty() || key.ends_with('/');
        let key = Key::parse(key).map_err(|_| LocationError::Key(whole.to_owned()))?;
        Ok(Some(Self::Bucket { service, bucket: bucket.to_owned(), key, directory }))
    }
}

fn web(scheme: &str, whole: &str, rest: &str) -> Result<Location, LocationError> {
    refuse_credentials(scheme, rest)?;
    let location = || shown(Path::new(whole)).display().to_string();
    let url =
        Url::parse(whole).map_err(|source| LocationError::Url { location: location(), source })?;
    Ok(Location::Web(url))
}

/// A password that is typed into a location ends up in logs and process lists.
fn refuse_credentials(scheme: &str, rest: &str) -> Result<(), LocationError> {
    let secret = authority(rest).contains('@');
    if secret { Err(LocationError::Credentials(scheme.to_owned())) } else { Ok(()) }
}

fn authority(rest: &str) -> &str {
    rest.split(['/', '?', '#']).next().unwrap_or_default()
}

/// The location as messages may show it: without name and password, and without the query of a web address,
/// which is where signatures are.
pub(crate) fn shown(location: &Path) -> PathBuf {
    let (Some(scheme), Some(whole)) = (scheme(location), location.to_str()) else {
        return location.into();
    };
    let start = scheme.len() + "://".len();
    let (head, mut rest) = whole.split_at(start);
    if matches!(scheme.to_ascii_lowercase().as_str(), "http" | "https") {
        rest = rest.split(['?', '#']).next().unwrap_or_default();
    }
    match authority(rest).rfind('@') {
        Some(at) => format!("{head}...{}", &rest[at..]).into(),
        None => format!("{head}{rest}").into(),
    }
}

/// Checks a location without looking for what is there.
///
/// # Errors
/// It names no place.
pub fn check(location: &Path) -> Result<(), LocationError> {
    Location::parse(location).map(drop)
}

/// The directory of a file that is not on this machine.
///
/// # Errors
/// It names no place, or a bucket and no file in it.
pub fn directory(file: &Path) -> Result<PathBuf, LocationError> {
    let no_file = || LocationError::NoFile(shown(file).display().to_string());
    match Location::parse(file)? {
        Some(Location::Bucket { directory: true, .. }) => Err(no_file()),
        // Nothing can be written there, whatever is called its directory.
        Some(Location::Web(_)) => Ok(file.into()),
        _ => file.parent().map(Path::to_owned).ok_or_else(no_file),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Option<Location>, LocationError> {
        Location::parse(Path::new(text))
    }

    fn bucket(service: Service, bucket: &str, key: &str, directory: bool) -> Location {
        let key = Key::parse(key).unwrap();
        Location::Bucket { service, bucket: bucket.to_owned(), key, directory }
    }

    #[test]
    fn locations_name_service_bucket_and_object() {
        let found = |text| parse(text).unwrap().unwrap();
        assert_eq!(found("s3://b/a/x.svm"), bucket(Service::S3, "b", "a/x.svm", false));
        assert_eq!(found("S3://b/shards/"), bucket(Service::S3, "b", "shards", true));
        assert_eq!(found("gs://b"), bucket(Service::Google, "b", "", true));
        assert_eq!(found("az://c/a b%20.svm"), bucket(Service::Azure, "c", "a b%20.svm", false));
        let url = Url::parse("https://host:9/x.gz?sig=1").unwrap();
        assert_eq!(found("https://host:9/x.gz?sig=1"), Location::Web(url));
        for path in ["data.svm", "/tmp/x", "-", "./s3://b/x"] {
            assert_eq!(parse(path).unwrap(), None, "{path}");
        }
    }

    #[test]
    fn what_names_no_place_is_refused() {
        assert!(matches!(parse("ftp://h/x"), Err(LocationError::Scheme(s)) if s == "ftp"));
        assert!(matches!(parse("s3:///x"), Err(LocationError::NoBucket(_))));
        assert!(matches!(parse("s3://b/a//x"), Err(LocationError::Key(_))));
        assert!(matches!(parse("s3://b/../x"), Err(LocationError::Key(_))));
        assert!(matches!(parse("http://"), Err(LocationError::Url { .. })));
        assert!(
            directory(Path::new("s3://b")).is_err() && directory(Path::new("s3://b/")).is_err()
        );
        assert_eq!(directory(Path::new("s3://b/m.json")).unwrap(), Path::new("s3://b"));
        assert_eq!(directory(Path::new("gs://b/a/m.json")).unwrap(), Path::new("gs://b/a"));
    }

    #[test]
    fn secrets_are_refused_and_never_shown() {
        for text in ["http://me:hunter2@host/x", "s3://key:hunter2@bucket/x", "az://me@c/hunter2"] {
            let error = parse(text).unwrap_err();
            assert!(
                matches!(error, LocationError::Credentials(_))
                    && !error.to_string().contains("hunter")
            );
        }
        let name = |text: &str| shown(Path::new(text)).display().to_string();
        assert_eq!(name("http://me:hunter2@host/x"), "http://...@host/x");
        assert_eq!(name("https://host/x.gz?X-Amz-Signature=hunter2#a"), "https://host/x.gz");
        assert_eq!(name("s3://bucket/a?b@c"), "s3://bucket/a?b@c");
        assert_eq!(name("dir/a?b"), "dir/a?b");
    }
}
