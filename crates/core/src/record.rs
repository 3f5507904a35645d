//! Files that a run keeps for its own sake: checkpoints of the server, dual variables of a worker.
//!
//! A file is the bincode encoding of `(magic, kind, version, payload, checksum)`, as shard files are: little
//! endian, fixed-width integers, arrays behind a `u64` length. The payload is the bincode encoding of the
//! value, and the checksum the CRC-32 of all bytes before it. Files are written whole or not at all; one that
//! is torn, foreign or of another version is refused with a sentence.

use std::{
    io::{self, Read},
    path::{Path, PathBuf},
};

use wincode::{SchemaReadOwned, SchemaWrite, config::Configuration};

use crate::storage::{Storage, is_outage};

/// The first bytes of every record: no text starts like this, and a line-end conversion shows.
const MAGIC: [u8; 8] = *b"\x89DDREC\r\n";

/// The version of the layout and of what is in it.
const VERSION: u32 = 1;

/// Bytes that one array may claim before they are there. The largest arrays are those of a model.
const LARGEST_ARRAY: usize = 256 << 20;

/// bincode's default layout.
type Layout = Configuration<true, LARGEST_ARRAY>;

fn layout() -> Layout {
    Configuration::default().with_preallocation_size_limit::<LARGEST_ARRAY>()
}

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The state of a run, by its server.
    Checkpoint,
    /// The dual variables of a shard, by its worker.
    Alpha,
}

impl Kind {
    fn code(self) -> u32 {
        match self {
            Self::Checkpoint => 1,
            Self::Alpha => 2,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Checkpoint => "a checkpoint",
            Self::Alpha => "the state of a worker",
        }
    }
}

/// Why a file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// It cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is something else.
    #[error("{} is not {}", path.display(), kind.name())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What it should be.
        kind: Kind,
    },
    /// It was written by another version of the program.
    #[error("{} has version {found} of its layout, this program knows {VERSION}", path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
    },
    /// It is cut off or damaged.
    #[error("{} is torn or damaged: its checksum does not fit", path.display())]
    Torn {
        /// The file.
        path: PathBuf,
    },
    /// Its checksum fits, but it makes no sense.
    #[error("{} cannot be understood: {source}", path.display())]
    Decode {
        /// The file.
        path: PathBuf,
        /// Why.
        source: wincode::ReadError,
    },
}

impl RecordError {
    /// Whether the way to the file is to blame, and not the file.
    pub fn is_outage(&self) -> bool {
        matches!(self, Self::Read { source, .. } if is_outage(source))
    }
}

/// The bytes of a value alone.
///
/// # Errors
/// It cannot be encoded.
pub fn encode<T>(value: &T) -> Result<Vec<u8>, wincode::WriteError>
where
    T: SchemaWrite<Layout, Src = T> + ?Sized,
{
    wincode::config::serialize(value, layout())
}

/// The value of bytes that [`encode`] gave.
///
/// # Errors
/// They are no such value.
pub fn decode<T>(bytes: &[u8]) -> Result<T, wincode::ReadError>
where
    T: SchemaReadOwned<Layout, Dst = T>,
{
    wincode::config::deserialize_exact(bytes, layout())
}

/// Writes `value` to `path`, whole or not at all.
///
/// # Errors
/// The file cannot be written.
pub fn write<T>(storage: &dyn Storage, path: &Path, kind: Kind, value: &T) -> io::Result<()>
where
    T: SchemaWrite<Layout, Src = T> + ?Sized,
{
    let payload = encode(value).map_err(io::Error::other)?;
    let bytes = seal(kind, &payload);
    storage.write(path, &mut |out| out.write_all(&bytes))
}

/// The bytes of a file with this payload.
pub fn seal(kind: Kind, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(payload.len() + HEAD + 4);
    bytes.extend_from_slice(&MAGIC);
    bytes.extend_from_slice(&kind.code().to_le_bytes());
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    bytes.extend_from_slice(&(payload.len() as u64).to_le_bytes());
    bytes.extend_from_slice(payload);
    let checksum = crc32fast::hash(&bytes);
    bytes.extend_from_slice(&checksum.to_le_bytes());
    bytes
}

/// Bytes before the payload.
const HEAD: usize = 8 + 4 + 4 + 8;

/// Reads what [`write()`] wrote.
///
/// # Errors
/// The file is not there, torn, of another kind or version.
pub fn read<T>(storage: &dyn Storage, path: &Path, kind: Kind) -> Result<T, RecordError>
where
    T: SchemaReadOwned<Layout, Dst = T>,
{
    let name = storage.name(path);
    let mut bytes = Vec::new();
    storage
        .open(path)
        .and_then(|mut file| file.reader.read_to_end(&mut bytes))
        .map_err(|source| RecordError::Read { path: name.clone(), source })?;
    parse(&bytes, &name, kind)
}

/// As [`read`], of bytes that were read from `path`.
///
/// # Errors
/// They are torn, of another kind or version.
pub fn parse<T>(bytes: &[u8], path: &Path, kind: Kind) -> Result<T, RecordError>
where
    T: SchemaReadOwned<Layout, Dst = T>,
{
    let payload = open(bytes, path, kind)?;
    decode(payload).map_err(|source| RecordError::Decode { path: path.into(), source })
}

/// Whether the file begins as a record does.
pub fn is_record(start: &[u8]) -> bool {
    start.starts_with(&MAGIC)
}

/// The payload of a record of this kind.
fn open<'a>(bytes: &'a [u8], path: &Path, kind: Kind) -> Result<&'a [u8], RecordError> {
    let path = || path.to_path_buf();
    let torn = || RecordError::Torn { path: path() };
    if !bytes.starts_with(&MAGIC) {
        return Err(RecordError::Foreign { path: path(), kind });
    }
    let number = |at: usize| -> Option<u32> {
        Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
    };
    let version = number(12).ok_or_else(torn)?;
    if version != VERSION {
        return Err(RecordError::Version { path: path(), found: version });
    }
    if number(8) != Some(kind.code()) {
        return Err(RecordError::Foreign { path: path(), kind });
    }
    let end = bytes.len().checked_sub(4).filter(|&end| end >= HEAD).ok_or_else(torn)?;
    let length = bytes[HEAD - 8..HEAD].try_into().map(u64::from_le_bytes).map_err(|_| torn())?;
    let fits = length == (end - HEAD) as u64;
    if !fits || number(end) != Some(crc32fast::hash(&bytes[..end])) {
        return Err(torn());
    }
    Ok(&bytes[HEAD..end])
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::storage::Local;

    #[test]
    fn what_is_written_is_read_and_what_is_damaged_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        let value = (7u64, vec![0.5f64, f64::INFINITY], String::from("x"));
        write(&Local, &path, Kind::Alpha, &value).unwrap();
        assert_eq!(read::<(u64, Vec<f64>, String)>(&Local, &path, Kind::Alpha).unwrap(), value);
        let foreign = read::<(u64, Vec<f64>, String)>(&Local, &path, Kind::Checkpoint).unwrap_err();
        assert!(matches!(foreign, RecordError::Foreign { .. }), "{foreign}");
        let good = fs::read(&path).unwrap();
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 0x10;
            fs::write(&path, &bad).unwrap();
            assert!(
                read::<(u64, Vec<f64>, String)>(&Local, &path, Kind::Alpha).is_err(),
                "byte {at}"
            );
            fs::write(&path, &good[..at]).unwrap();
            let cut = read::<(u64, Vec<f64>, String)>(&Local, &path, Kind::Alpha).unwrap_err();
            assert!(matches!(cut, RecordError::Torn { .. } | RecordError::Foreign { .. }), "{cut}");
        }
        fs::write(&path, &good).unwrap();
        let other = read::<Vec<u64>>(&Local, &path, Kind::Alpha).unwrap_err();
        assert!(matches!(other, RecordError::Decode { .. }), "{other}");
    }

    /// Against the bytes that bincode 1.3 writes for the same tuple.
    #[test]
    fn the_layout_is_bincodes() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        write(&Local, &path, Kind::Checkpoint, &vec![1u32, 2]).unwrap();
        let mut expected = b"\x89DDREC\r\n\x01\0\0\0\x01\0\0\0\x10\0\0\0\0\0\0\0".to_vec();
        expected.extend(b"\x02\0\0\0\0\0\0\0\x01\0\0\0\x02\0\0\0");
        let checksum = crc32fast::hash(&expected);
        expected.extend(checksum.to_le_bytes());
        assert_eq!(fs::read(&path).unwrap(), expected);
    }
}
