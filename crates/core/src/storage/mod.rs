//! Where files are kept: opened, listed, written and removed through one small interface.
//!
//! A location is a path, or text such as `s3://bucket/file` that a [`Storage`] understands. [`Local`] is the
//! files of this machine. Whatever needs a network lives in another crate, which implements the trait; all
//! that reads or writes data, models and checkpoints is handed a storage and does not ask which one it is.

mod local;
mod mapping;

use std::{
    fmt,
    fs::File,
    io::{self, ErrorKind, Read, Write},
    path::{Path, PathBuf},
};

pub use local::Local;
pub(crate) use mapping::Mapped;
pub use mapping::Mapping;

/// A file that is open for reading.
pub struct Opened {
    /// Its bytes, from the first.
    pub reader: Box<dyn Read + Send>,
    /// How many there are, where that is known beforehand.
    pub size: Option<u64>,
    /// The file itself, where it is one of this machine and can be mapped into memory.
    pub file: Option<File>,
}

impl Opened {
    /// What only arrives as a stream, of `size` bytes if that is known.
    pub fn stream(reader: impl Read + Send + 'static, size: Option<u64>) -> Self {
        Self { reader: Box::new(reader), size, file: None }
    }
}

impl fmt::Debug for Opened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Opened").field("size", &self.size).finish_non_exhaustive()
    }
}

/// What puts the contents into a file that is being written.
pub type Fill<'a> = &'a mut dyn FnMut(&mut dyn Write) -> io::Result<()>;

/// A place for files. Calls wait until they are done, so none may be made on a thread of an async runtime.
pub trait Storage: fmt::Debug + Send + Sync {
    /// The location as messages may show it: without what must stay secret.
    fn name(&self, location: &Path) -> PathBuf {
        location.into()
    }

    /// Opens a file.
    ///
    /// # Errors
    /// It cannot be opened; [`ErrorKind::IsADirectory`] if it is a directory.
    fn open(&self, location: &Path) -> io::Result<Opened>;

    /// Whether a location is a directory.
    ///
    /// # Errors
    /// The storage cannot be asked. A location that is not there is no directory, and no error.
    fn is_directory(&self, location: &Path) -> io::Result<bool>;

    /// What is in a directory, directories in it left out, by name.
    ///
    /// # Errors
    /// It cannot be listed.
    fn list(&self, directory: &Path) -> io::Result<Vec<PathBuf>>;

    /// Writes a file: whoever reads it sees the old one or all of the new one.
    ///
    /// # Errors
    /// It cannot be written, or `fill` failed.
    fn write(&self, location: &Path, fill: Fill<'_>) -> io::Result<()>;

    /// Removes a file.
    ///
    /// # Errors
    /// It cannot be removed.
    fn remove(&self, location: &Path) -> io::Result<()>;

    /// Makes a directory ready for files, and finds out whether they can be written and removed: that should
    /// be known before any time is spent.
    ///
    /// # Errors
    /// It cannot be written to.
    fn prepare(&self, directory: &Path) -> io::Result<()>;
}

/// The kind of a location that is no path of this machine: the `s3` of `s3://bucket/file`.
pub fn scheme(location: &Path) -> Option<&str> {
    let (scheme, _) = location.to_str()?.split_once("://")?;
    let named = !scheme.is_empty() && scheme.bytes().all(|b| b.is_ascii_alphanumeric());
    named.then_some(scheme)
}

/// Whether the way to the storage is to blame, or the service behind it, and not what was asked of it.
pub fn is_outage(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::TimedOut
            | ErrorKind::NotConnected
            | ErrorKind::ConnectionRefused
            | ErrorKind::ConnectionReset
            | ErrorKind::ConnectionAborted
            | ErrorKind::HostUnreachable
            | ErrorKind::NetworkUnreachable
            | ErrorKind::NetworkDown
            | ErrorKind::ResourceBusy
            | ErrorKind::StaleNetworkFileHandle
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locations_have_a_scheme_and_paths_have_none() {
        let of = |text: &'static str| scheme(Path::new(text));
        assert_eq!(of("s3://bucket/file"), Some("s3"));
        assert_eq!(of("HTTPS://host/file?a=b"), Some("HTTPS"));
        for path in ["data.svm", "/a/b", "c:/a", "://a", "a b://c", "./s3://bucket"] {
            assert_eq!(of(path), None, "{path}");
        }
    }
}
