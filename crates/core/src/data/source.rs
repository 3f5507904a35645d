//! Opening an input: a location or `-` for stdin, decompressed according to its extension.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::error::DataError;
use crate::storage::{Mapping, Opened, Storage};

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
    /// The file that holds just these bytes, if there is one.
    file: Option<File>,
    /// Whether it was the storage that failed, and not a decoder.
    broken: Arc<AtomicBool>,
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
    /// Opens `path` in `storage`; `-` is stdin, which is never decompressed.
    pub fn open(storage: &dyn Storage, path: &Path) -> Result<Self, DataError> {
        if path == Path::new("-") {
            return Ok(Self {
                name: "<stdin>".into(),
                compression: None,
                size: None,
                reader: Box::new(io::stdin()),
                file: None,
                broken: Arc::default(),
            });
        }
        let name = storage.name(path);
        let opened = storage.open(path);
        match opened.and_then(|opened| Self::decompress(opened, name.clone())) {
            Ok(source) => Ok(source),
            Err(source) if source.kind() == io::ErrorKind::IsADirectory => {
                Err(DataError::Directory(name))
            }
            Err(source) => Err(DataError::Open { path: name, source }),
        }
    }

    fn decompress(opened: Opened, name: PathBuf) -> io::Result<Self> {
        let broken = Arc::new(AtomicBool::new(false));
        let stored = Stored { reader: opened.reader, broken: broken.clone() };
        let compression = Compression::of(&name);
        let reader: Box<dyn Read + Send> = match compression {
            None => Box::new(stored),
            Some(Compression::Gzip) => Box::new(flate2::read::MultiGzDecoder::new(stored)),
            Some(Compression::Bzip2) => Box::new(bzip2::read::MultiBzDecoder::new(stored)),
            Some(Compression::Xz) => Box::new(liblzma::read::XzDecoder::new_multi_decoder(stored)),
            Some(Compression::Zstd) => Box::new(zstd::Decoder::new(stored)?),
        };
        let size = opened.size.filter(|_| compression.is_none());
        let file = opened.file.filter(|_| compression.is_none());
        Ok(Self { name, compression, size, reader, file, broken })
    }

    /// The name to use in messages.
    pub fn name(&self) -> &Path {
        &self.name
    }

    /// Bytes that will be read in all, where that is known beforehand.
    pub fn size(&self) -> Option<u64> {
        self.size
    }

    /// All bytes of the input, mapped into memory; `None` where they can only be read.
    pub(super) fn map(&self) -> Option<Mapping> {
        self.file.as_ref().and_then(|file| Mapping::of(file).ok())
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
        let decoder = !self.broken.load(Ordering::Relaxed);
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

/// What a storage has, before it is decompressed. Decoders hand on errors that are not their own, and only
/// here can the two be told apart.
struct Stored {
    reader: Box<dyn Read + Send>,
    broken: Arc<AtomicBool>,
}

impl Read for Stored {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(buf);
        let failed = read.as_ref().is_err_and(|e| e.kind() != io::ErrorKind::Interrupted);
        self.broken.fetch_or(failed, Ordering::Relaxed);
        read
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::Local;

    /// A storage whose files break off with an error after `good` bytes.
    #[derive(Debug)]
    struct Brittle {
        bytes: Vec<u8>,
        good: usize,
    }

    impl Read for Brittle {
        fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
            if self.good == 0 {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "nobody answers"));
            }
            let length = buf.len().min(self.good).min(100);
            buf[..length].copy_from_slice(&self.bytes[..length]);
            self.bytes.drain(..length);
            self.good -= length;
            Ok(length)
        }
    }

    /// A connection that is lost is no damage to the archive, whatever the decoder makes of it.
    #[test]
    fn failures_of_the_storage_are_not_blamed_on_the_archive() {
        let mut text = Vec::new();
        for i in 0..20_000u32 {
            text.extend(i.wrapping_mul(2_654_435_761).to_le_bytes());
        }
        let mut gzip = flate2::read::GzEncoder::new(text.as_slice(), flate2::Compression::fast());
        let mut bytes = Vec::new();
        gzip.read_to_end(&mut bytes).unwrap();
        let read = |reader: Box<dyn Read + Send>| {
            let opened = Opened { reader, size: None, file: None };
            let mut source = Source::decompress(opened, "far.gz".into()).unwrap();
            let error = source.read_to_end(&mut Vec::new()).unwrap_err();
            source.error(error)
        };
        let lost = read(Box::new(Brittle { bytes: bytes.clone(), good: 5000 }));
        assert!(matches!(&lost, DataError::Read { .. }), "{lost}");
        assert!(lost.to_string().contains("nobody answers") && lost.is_outage(), "{lost}");
        let cut = read(Box::new(io::Cursor::new(bytes[..5000].to_vec())));
        assert!(matches!(cut, DataError::Truncated { .. }) && !cut.is_outage(), "{cut}");
    }

    #[test]
    fn missing_files_and_directories_are_named() {
        let dir = tempfile::tempdir().unwrap();
        let missing = dir.path().join("none.txt");
        let error = Source::open(&Local, &missing).unwrap_err();
        assert!(matches!(error, DataError::Open { .. }));
        assert!(error.to_string().contains("none.txt"));
        let error = Source::open(&Local, dir.path()).unwrap_err();
        assert!(matches!(error, DataError::Directory(_)));
    }

    #[test]
    fn peeking_consumes_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.txt");
        std::fs::write(&path, b"abcdef").unwrap();
        let mut source = Source::open(&Local, &path).unwrap();
        assert_eq!(source.peek(4).unwrap(), b"abcd");
        assert_eq!(source.peek(9).unwrap(), b"abcdef");
        let mut all = Vec::new();
        source.read_to_end(&mut all).unwrap();
        assert_eq!(all, b"abcdef");
        assert_eq!(source.size(), Some(6));
    }
}
