//! Binary shard files, in the layout of bincode 1.3's default configuration.
//!
//! A file is the bincode encoding of `(header, labels, offsets, indices, values, checksum)`: little endian,
//! fixed-width integers, every array behind a `u64` length. The checksum is the CRC-32 of all bytes before
//! it. Lengths are held against the header, and the header against the size of the file, before memory is
//! asked for; what a stream of unknown size claims is believed only as far as its bytes arrive.

use std::io::{self, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use wincode::config::{Configuration, DefaultConfig, PREALLOCATION_SIZE_LIMIT_DISABLED};
use wincode::io::std_read::ReadAdapter;
use wincode::io::std_write::WriteAdapter;
use wincode::{SchemaRead, SchemaReadOwned, SchemaWrite};

use super::csr::CsrMatrix;
use super::error::{DataError, ShardError};
use super::source::Source;
use crate::storage::Storage;

/// The first bytes of every shard file: no text starts like this, and a line-end conversion shows.
pub const MAGIC: [u8; 8] = *b"\x89DDIHT\r\n";

/// How the names of shard files end.
const EXTENSION: &str = "ddiht";

/// The version of the layout.
pub const VERSION: u32 = 1;

/// Bytes of the encoded header: magic, version, eight u64, one bool.
const HEADER_BYTES: usize = 8 + 4 + 8 * 8 + 1;

/// Elements read at a time.
const BLOCK: usize = 1 << 18;
/// Rows checked by one task.
const ROWS: usize = 1 << 14;

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

/// A shard in memory.
#[derive(Debug, Clone, PartialEq)]
pub struct Shard {
    /// Which part of the data set it is.
    pub info: ShardInfo,
    /// Its rows.
    pub x: CsrMatrix,
    /// Their labels, as they were written in the text.
    pub labels: Vec<f64>,
}

#[derive(Debug, Clone, PartialEq, SchemaRead, SchemaWrite)]
struct Header {
    magic: [u8; 8],
    version: u32,
    shard: u64,
    of: u64,
    first_row: u64,
    stride: u64,
    total_rows: u64,
    rows: u64,
    cols: u64,
    nnz: u64,
    zero_based: bool,
}

impl Header {
    fn new(info: &ShardInfo, x: &CsrMatrix) -> Self {
        Self {
            magic: MAGIC,
            version: VERSION,
            shard: info.shard,
            of: info.of,
            first_row: info.first_row,
            stride: info.stride,
            total_rows: info.total_rows,
            rows: x.rows() as u64,
            cols: x.cols() as u64,
            nnz: x.nnz() as u64,
            zero_based: info.zero_based,
        }
    }

    fn summary(&self) -> ShardSummary {
        ShardSummary {
            info: ShardInfo {
                shard: self.shard,
                of: self.of,
                first_row: self.first_row,
                stride: self.stride,
                total_rows: self.total_rows,
                zero_based: self.zero_based,
            },
            rows: self.rows,
            cols: self.cols,
            nnz: self.nnz,
        }
    }

    /// The size of the file that this header starts; it cannot overflow a `u128`.
    fn file_bytes(&self) -> u128 {
        let (rows, nnz) = (u128::from(self.rows), u128::from(self.nnz));
        HEADER_BYTES as u128 + (8 + 8 * rows) + (8 + 8 * (rows + 1)) + 2 * (8 + 4 * nnz) + 4
    }

    fn check(&self) -> Result<(), ShardError> {
        if self.shard >= self.of {
            return Err(ShardError::Invalid("its number is not below the number of shards"));
        }
        if self.rows > self.total_rows {
            return Err(ShardError::Invalid("it has more rows than the whole data set"));
        }
        let last = self.rows.saturating_sub(1);
        let last_row = u128::from(self.first_row) + u128::from(last) * u128::from(self.stride);
        if self.rows > 0 && last_row >= u128::from(self.total_rows) {
            return Err(ShardError::Invalid("its rows are not rows of the whole data set"));
        }
        if self.cols == 0 || self.cols > u64::from(u32::MAX) {
            return Err(ShardError::Invalid("its number of columns is out of range"));
        }
        Ok(())
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
        .write(path, &mut |mut out| encode(&mut out, info, x, labels))
        .map_err(|source| DataError::Write { path: storage.name(path), source })
}

fn encode(out: &mut impl Write, info: &ShardInfo, x: &CsrMatrix, labels: &[f64]) -> io::Result<()> {
    let mut out = Summed::new(out);
    let (offsets, indices, values) = x.parts();
    put(&mut out, &Header::new(info, x))?;
    put(&mut out, labels)?;
    put(&mut out, offsets)?;
    put(&mut out, indices)?;
    put(&mut out, values)?;
    let checksum = out.sum();
    put(&mut out, &checksum)
}

/// bincode's default layout, without wincode's own limit on the size of an array.
type Layout = Configuration<true, PREALLOCATION_SIZE_LIMIT_DISABLED>;

fn put<T>(out: &mut impl Write, value: &T) -> io::Result<()>
where
    T: SchemaWrite<Layout, Src = T> + ?Sized,
{
    let layout: Layout = Configuration::default().disable_preallocation_size_limit();
    wincode::config::serialize_into(WriteAdapter::new(out), value, layout).map_err(io::Error::other)
}

/// Reads a whole shard file.
pub fn read_shard(storage: &dyn Storage, path: &Path) -> Result<Shard, DataError> {
    read_from(Source::open(storage, path)?)
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

/// Reads a shard from an input that is open already.
pub(super) fn read_from(source: Source) -> Result<Shard, DataError> {
    let size = source.size();
    let mut input = BufReader::with_capacity(1 << 20, source);
    decode_shard(&mut input, size).map_err(|error| explain(input.get_ref(), error))
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
    let header = decode_header(&mut Summed::new(&mut source), size);
    header.map(|h| h.summary()).map_err(|error| explain(&source, error))
}

/// The shard in a stream, of `size` bytes where that is known beforehand.
///
/// # Errors
/// The stream is no shard file, or not a whole one.
pub fn decode_shard(input: &mut impl Read, size: Option<u64>) -> Result<Shard, ShardError> {
    let mut input = Summed::new(input);
    let header = decode_header(&mut input, size)?;
    // Memory is set aside only when the size of the file vouches for it.
    let trusted = size.is_some();
    let labels: Vec<f64> = get_array(&mut input, "labels", header.rows, trusted)?;
    let offsets: Vec<u64> =
        get_array(&mut input, "offsets", header.rows.saturating_add(1), trusted)?;
    let indices: Vec<u32> = get_array(&mut input, "indices", header.nnz, trusted)?;
    let values: Vec<f32> = get_array(&mut input, "values", header.nnz, trusted)?;
    let computed = input.sum();
    if get::<u32>(&mut input)? != computed {
        return Err(ShardError::Checksum);
    }
    if input.read(&mut [0]).map_err(ShardError::Io)? != 0 {
        return Err(ShardError::Invalid("bytes follow its end"));
    }
    let info = header.summary().info;
    let x = assemble(&header, offsets, indices, values)?;
    if !labels.iter().all(|l| l.is_finite()) {
        return Err(ShardError::Invalid("a label is not finite"));
    }
    Ok(Shard { info, x, labels })
}

fn decode_header(input: &mut impl Read, size: Option<u64>) -> Result<Header, ShardError> {
    let mut head = Vec::with_capacity(HEADER_BYTES);
    input.take(HEADER_BYTES as u64).read_to_end(&mut head).map_err(ShardError::Io)?;
    if !head.starts_with(&MAGIC) {
        return Err(ShardError::Foreign);
    }
    // The version decides what the rest means, so it comes before any complaint about the rest.
    if let Some(version) = head.get(MAGIC.len()..MAGIC.len() + 4) {
        let found = wincode::deserialize::<u32>(version).map_err(ShardError::Decode)?;
        if found != VERSION {
            return Err(ShardError::Version { found });
        }
    }
    if head.len() < HEADER_BYTES {
        return Err(ShardError::Truncated);
    }
    let header: Header = wincode::deserialize_exact(&head).map_err(ShardError::Decode)?;
    header.check()?;
    let expected = header.file_bytes();
    match size {
        Some(found) if u128::from(found) != expected => Err(ShardError::Size { found, expected }),
        _ => Ok(header),
    }
}

fn get<T>(input: &mut impl Read) -> Result<T, ShardError>
where
    T: SchemaReadOwned<DefaultConfig, Dst = T>,
{
    use wincode::error::ReadError;
    use wincode::io::ReadError as Stream;
    wincode::deserialize_from(ReadAdapter::new(input)).map_err(|e| match e {
        ReadError::Io(Stream::ReadSizeLimit(_)) => ShardError::Truncated,
        ReadError::Io(Stream::Io(e)) => ShardError::Io(e),
        other => ShardError::Decode(other),
    })
}

/// An array whose length must be `expected`, read block by block into its place: the layout is that of the memory of
/// little-endian machines, and is turned round on others.
fn get_array<T: Element>(
    input: &mut impl Read,
    field: &'static str,
    expected: u64,
    trusted: bool,
) -> Result<Vec<T>, ShardError> {
    let found: u64 = get(input)?;
    if found != expected {
        return Err(ShardError::Length { field, found, expected });
    }
    let Ok(length) = usize::try_from(expected) else {
        return Err(ShardError::Invalid("too large for this machine"));
    };
    let mut array = Vec::with_capacity(if trusted { length } else { 0 });
    while array.len() < length {
        let from = array.len();
        array.resize(from + BLOCK.min(length - from), T::zeroed());
        let bytes = bytemuck::cast_slice_mut(&mut array[from..]);
        input.read_exact(bytes).map_err(|e| match e.kind() {
            io::ErrorKind::UnexpectedEof => ShardError::Truncated,
            _ => ShardError::Io(e),
        })?;
        if cfg!(target_endian = "big") {
            array[from..].iter_mut().for_each(T::turn_round);
        }
    }
    Ok(array)
}

/// A number of a shard file.
trait Element: bytemuck::Pod {
    /// Swaps its bytes.
    fn turn_round(&mut self);
}

impl Element for u32 {
    fn turn_round(&mut self) {
        *self = self.swap_bytes();
    }
}

impl Element for u64 {
    fn turn_round(&mut self) {
        *self = self.swap_bytes();
    }
}

impl Element for f32 {
    fn turn_round(&mut self) {
        *self = Self::from_bits(self.to_bits().swap_bytes());
    }
}

impl Element for f64 {
    fn turn_round(&mut self) {
        *self = Self::from_bits(self.to_bits().swap_bytes());
    }
}

/// The matrix, once its arrays have been found to be one.
fn assemble(
    header: &Header,
    offsets: Vec<u64>,
    indices: Vec<u32>,
    values: Vec<f32>,
) -> Result<CsrMatrix, ShardError> {
    let ascending = offsets.is_sorted() && offsets.first() == Some(&0);
    if !ascending || offsets.last() != Some(&header.nnz) {
        return Err(ShardError::Invalid("its row offsets are not in order"));
    }
    // No offset exceeds the last one, which is the length of an array in memory.
    let offsets: Vec<usize> = offsets.into_iter().map(|o| o as usize).collect();
    let in_order = |pair: &[usize]| {
        let row = &indices[pair[0]..pair[1]];
        row.first().is_none_or(|&j| j > 0)
            && row.last().is_none_or(|&j| u64::from(j) < header.cols)
            && row.is_sorted_by(|a, b| a < b)
    };
    if !offsets.par_windows(2).with_min_len(ROWS).all(in_order) {
        return Err(ShardError::Invalid("the columns of a row are not in order"));
    }
    if !values.par_chunks(BLOCK).all(|block| block.iter().all(|v| v.is_finite())) {
        return Err(ShardError::Invalid("a value is not finite"));
    }
    let cols = header.cols as usize;
    Ok(CsrMatrix::from_parts(offsets, indices, values, cols))
}

/// A stream that keeps the CRC-32 of what passes through it.
struct Summed<S> {
    stream: S,
    hasher: crc32fast::Hasher,
}

impl<S> Summed<S> {
    fn new(stream: S) -> Self {
        Self { stream, hasher: crc32fast::Hasher::new() }
    }

    fn sum(&self) -> u32 {
        self.hasher.clone().finalize()
    }
}

impl<R: Read> Read for Summed<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let length = self.stream.read(buf)?;
        self.hasher.update(&buf[..length]);
        Ok(length)
    }
}

impl<W: Write> Write for Summed<W> {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let length = self.stream.write(buf)?;
        self.hasher.update(&buf[..length]);
        Ok(length)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

#[cfg(test)]
#[path = "binary_tests.rs"]
mod tests;
