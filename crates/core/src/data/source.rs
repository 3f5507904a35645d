//! Opening an input: a path or `-` for stdin, decompressed according to its extension.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::error::DataError;

/// How a file is compressed, judged by its extension alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// `.gz`
    Gzip,
    /// `.bz2`
    Bzip2,
    /// `.xz`
    Xz,
    /// `.zst`
    Zstd,
}

impl Compression {
    /// The compression that the extension of `path` stands for.
    pub fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "gz" => Some(Self::Gzip),
            "bz2" => Some(Self::Bzip2),
            "xz" => Some(Self::Xz),
            "zst" => Some(Self::Zstd),
            _ => None,
        }
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Gzip => "gzip",
            Self::Bzip2 => "bzip2",
            Self::Xz => "xz",
            Self::Zstd => "zstd",
        })
    }
}

/// An open input: its bytes after decompression, and its name for messages.
pub struct Source {
    name: PathBuf,
    compression: Option<Compression>,
    size: Option<u64>,
    reader: Box<dyn Read + Send>,
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source")
            .field("name", &self.name)
            .field("compression", &self.compression)
            .finish_non_exhaustive()
    }
}

impl Source {
    /// Opens `path`; `-` is stdin, which is never decompressed.
    pub fn open(path: &Path) -> Result<Self, DataError> {
        if path == Path::new("-") {
            return Ok(Self {
                name: "<stdin>".into(),
                compression: None,
                size: None,
                reader: Box::new(io::stdin()),
            });
        }
        if let Some(location) = remote(path) {
            return Err(DataError::Remote(location));
        }
        Self::open_file(path).map_err(|source| match source.kind() {
            io::ErrorKind::IsADirectory => DataError::Directory(path.into()),
            _ => DataError::Open { path: path.into(), source },
        })
    }

    fn open_file(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let meta = file.metadata()?;
        if meta.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        let compression = Compression::of(path);
        let reader: Box<dyn Read + Send> = match compression {
            None => Box::new(file),
            Some(Compression::Gzip) => Box::new(flate2::read::MultiGzDecoder::new(file)),
            Some(Compression::Bzip2) => Box::new(bzip2::read::MultiBzDecoder::new(file)),
            Some(Compression::Xz) => Box::new(liblzma::read::XzDecoder::new_multi_decoder(file)),
            Some(Compression::Zstd) => Box::new(zstd::Decoder::new(file)?),
        };
        Ok(Self {
            name: path.into(),
            compression,
            // A pipe has a length of 0 that means nothing.
            size: (compression.is_none() && meta.is_file()).then_some(meta.len()),
            reader,
        })
    }

    /// The name to use in messages.
    pub fn name(&self) -> &Path {
        &self.name
    }

    /// Bytes that will be read in all, where that is known beforehand.
    pub fn size(&self) -> Option<u64> {
        self.size
    }

    /// Looks at the first bytes without consuming them; fewer than asked for if the input is shorter.
    pub fn peek(&mut self, bytes: u64) -> Result<Vec<u8>, DataError> {
        let mut head = Vec::new();
        let read = (&mut self.reader).take(bytes).read_to_end(&mut head);
        read.map_err(|e| self.error(e))?;
        let rest = std::mem::replace(&mut self.reader, Box::new(io::empty()));
        self.reader = Box::new(io::Cursor::new(head.clone()).chain(rest));
        Ok(head)
    }

    /// Turns what went wrong while reading into an error that names the file.
    pub fn error(&self, source: io::Error) -> DataError {
        let path = self.name.clone();
        // The operating system's errors have a code; a decoder's own do not.
        let decoder = source.raw_os_error().is_none();
        match self.compression {
            Some(format) if decoder && source.kind() == io::ErrorKind::UnexpectedEof => {
                DataError::Truncated { path, format }
            }
            Some(format) if decoder => DataError::Corrupt { path, format, source },
            _ => DataError::Read { path, source },
        }
    }
}

impl Read for Source {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.reader.read(buf)
    }
}

/// The text of a path that is a location of some other kind, such as `s3://bucket/file`.
fn remote(path: &Path) -> Option<String> {
    let text = path.to_str()?;
    let (scheme, _) = text.split_once("://")?;
    let named = !scheme.is_empty() && scheme.bytes().all(|b| b.is_ascii_alphanumeric());
    named.then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remote_locations_are_refused_by_name() {
        for location in ["s3://b/x.gz", "http://h/x", "https://h/x", "gs://b/x"] {
            let error = Source::open(Path::new(location)).unwrap_err();
            assert!(matches!(&error, DataError::Remote(l) if l == location));
            assert!(error.to_string().contains("not supported by this build"));
        }
    }

    #[test]
    fn missing_files_and_directories_are_named() {
        let dir = tempfile::tempdir().unwrap();
        let missing = dir.path().join("none.txt");
        let error = Source::open(&missing).unwrap_err();
        assert!(matches!(error, DataError::Open { .. }));
        assert!(error.to_string().contains("none.txt"));
        let error = Source::open(dir.path()).unwrap_err();
        assert!(matches!(error, DataError::Directory(_)));
    }

    #[test]
    fn peeking_consumes_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.txt");
        std::fs::write(&path, b"abcdef").unwrap();
        let mut source = Source::open(&path).unwrap();
        assert_eq!(source.peek(4).unwrap(), b"abcd");
        assert_eq!(source.peek(9).unwrap(), b"abcdef");
        let mut all = Vec::new();
        source.read_to_end(&mut all).unwrap();
        assert_eq!(all, b"abcdef");
        assert_eq!(source.size(), Some(6));
    }
}
