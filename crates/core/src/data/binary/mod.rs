//! Binary shard files: mapped into memory where that is possible, read as streams elsewhere.
//!
//! A file is a header in the layout of bincode 1.3's default configuration and, each at a multiple of 64 bytes, the
//! labels (f64), the ends of the rows (u64, one more than there are rows), the columns (u32) and the values (f32), all
//! little endian and with zeros between them. Then come the CRC-32 of every 256 KiB of the file before, and the CRC-32 of
//! these.
//!
//! A mapped file is open when its header, its labels and its rows are verified; its entries are a [`Sealed`] matrix, verified
//! on their first use. A stream passes once, and is verified as a whole. The header is held against the size of the file before memory is asked for; what a stream of unknown size
//! claims is believed only as far as its bytes arrive.

mod contents;
mod layout;
mod mapped;
mod stream;
mod sums;

use std::io::BufReader;
use std::path::{Path, PathBuf};

use super::csr::CsrMatrix;
use super::error::{DataError, ShardError};
use super::sealed::Sealed;
use super::source::Source;
use crate::storage::Storage;
use layout::Header;
pub(super) use mapped::SealedEntries;
pub use stream::decode_shard;

/// The first bytes of every shard file: no text starts like this, and a line-end conversion shows.
pub const MAGIC: [u8; 8] = *b"\x89DDIHT\r\n";

/// How the names of shard files end.
const EXTENSION: &str = "ddiht";

/// The version of the layout.
pub const VERSION: u32 = 2;

/// Which part of a data set a shard is. Its row `i` is row `first_row + i * stride` of the whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShardInfo {
    /// The number of this shard, from 0.
    pub shard: u64,
    /// How many shards the data set was cut into.
    pub of: u64,
    /// Number, in the whole data set, of the shard's first row.
    pub first_row: u64,
    /// Distance between its rows: `of` where rows are dealt out in turn, 1 for contiguous ranges.
    pub stride: u64,
    /// Rows of the whole data set.
    pub total_rows: u64,
    /// Whether the text it came from numbered features from 0.
    pub zero_based: bool,
}

impl ShardInfo {
    /// The number that row `i` has in the data set the file was cut from.
    pub fn row(&self, i: usize) -> u64 {
        self.first_row + i as u64 * self.stride
    }
}

/// The head of a shard file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShardSummary {
    /// Which part of the data set it is.
    pub info: ShardInfo,
    /// Rows in the shard.
    pub rows: u64,
    /// Columns, the reserved column 0 included.
    pub cols: u64,
    /// Stored entries.
    pub nnz: u64,
}

/// A shard in memory, its entries ready for use or [`Sealed`].
#[derive(Debug, Clone, PartialEq)]
pub struct Shard<X = CsrMatrix> {
    /// Which part of the data set it is.
    pub info: ShardInfo,
    /// Its rows.
    pub x: X,
    /// Their labels, as they were written in the text.
    pub labels: Vec<f64>,
}

impl Shard<Sealed> {
    /// Verifies the entries.
    ///
    /// # Errors
    /// They are not those that were written, or no matrix.
    pub fn unseal(self) -> Result<Shard, DataError> {
        Ok(Shard { info: self.info, x: self.x.unseal()?, labels: self.labels })
    }
}

/// Writes a shard: `path` then holds all of it, or is as it was before.
pub fn write_shard(
    storage: &dyn Storage,
    path: &Path,
    info: &ShardInfo,
    x: &CsrMatrix,
    labels: &[f64],
) -> Result<(), DataError> {
    debug_assert_eq!(x.rows(), labels.len());
    storage
        .write(path, &mut |mut out| stream::encode(&mut out, info, x, labels))
        .map_err(|source| DataError::Write { path: storage.name(path), source })
}

/// Reads a whole shard file.
pub fn read_shard(storage: &dyn Storage, path: &Path) -> Result<Shard, DataError> {
    open_shard(storage, path)?.unseal()
}

/// Opens a shard file. If it can be mapped, its entries are not looked at yet.
pub fn open_shard(storage: &dyn Storage, path: &Path) -> Result<Shard<Sealed>, DataError> {
    open_from(Source::open(storage, path)?)
}

/// The name of a shard's file in a directory.
pub fn shard_path(directory: &Path, shard: usize, shards: usize) -> PathBuf {
    directory.join(format!("shard-{shard:05}-of-{shards:05}.{EXTENSION}"))
}

/// The shard files of a directory, by name.
pub(super) fn files_in(storage: &dyn Storage, directory: &Path) -> Result<Vec<PathBuf>, DataError> {
    let failed = |source| DataError::Open { path: storage.name(directory), source };
    let mut files = storage.list(directory).map_err(failed)?;
    files.retain(|path| path.extension().is_some_and(|extension| extension == EXTENSION));
    if files.is_empty() { Err(DataError::Directory(storage.name(directory))) } else { Ok(files) }
}

/// The same for an input that is open already.
pub(super) fn open_from(source: Source) -> Result<Shard<Sealed>, DataError> {
    if let Some(mapping) = source.map() {
        let shard = mapped::open(source.name().to_owned(), mapping);
        return shard.map_err(|error| explain(&source, error));
    }
    let size = source.size();
    let mut input = BufReader::with_capacity(1 << 20, source);
    let shard = decode_shard(&mut input, size);
    let Shard { info, x, labels } = shard.map_err(|error| explain(input.get_ref(), error))?;
    Ok(Shard { info, x: x.into(), labels })
}

fn explain(input: &Source, error: ShardError) -> DataError {
    match error {
        // The input knows best what an error of its own means: a damaged archive, say.
        ShardError::Io(e) => input.error(e),
        source => DataError::Shard { path: input.name().into(), source },
    }
}

/// Reads only the head of a shard file.
pub fn inspect_shard(storage: &dyn Storage, path: &Path) -> Result<ShardSummary, DataError> {
    let mut source = Source::open(storage, path)?;
    let size = source.size();
    let header = Header::read(&mut source, size);
    header.map(|h| h.summary()).map_err(|error| explain(&source, error))
}

#[cfg(test)]
mod sealed_tests;
#[cfg(test)]
mod tests;
