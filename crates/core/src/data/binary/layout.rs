//! What is where in a shard file.

use std::io::Read;
use std::ops::Range;

use wincode::{SchemaRead, SchemaWrite};

use super::super::csr::CsrMatrix;
use super::super::error::ShardError;
use super::{MAGIC, ShardInfo, ShardSummary, VERSION};

/// Bytes of the encoded header: magic, version, eight u64, one bool.
pub(super) const HEADER_BYTES: usize = 8 + 4 + 8 * 8 + 1;

/// Every array begins at a multiple of this, so that it can be used where it is.
const ALIGNMENT: u128 = 64;

/// Bytes with a checksum of their own: few enough to be in a core's cache when their contents are looked at.
pub(super) const BLOCK: usize = 1 << 18;

/// The head of the file, in bincode's layout: little endian, integers of fixed width, no padding.
#[derive(Debug, Clone, PartialEq, SchemaRead, SchemaWrite)]
pub(super) struct Header {
    magic: [u8; 8],
    version: u32,
    shard: u64,
    of: u64,
    first_row: u64,
    stride: u64,
    total_rows: u64,
    pub(super) rows: u64,
    pub(super) cols: u64,
    pub(super) nnz: u64,
    zero_based: bool,
}

/// Where the parts of the file begin and end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Layout<N = usize> {
    pub(super) labels: Range<N>,
    pub(super) offsets: Range<N>,
    pub(super) indices: Range<N>,
    pub(super) values: Range<N>,
    /// The checksums of all blocks before them, and one of these.
    pub(super) sums: Range<N>,
}

impl Header {
    pub(super) fn new(info: &ShardInfo, x: &CsrMatrix) -> Self {
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

    /// Reads and checks the header of a file of `size` bytes, where that is known.
    pub(super) fn read(input: &mut impl Read, size: Option<u64>) -> Result<Self, ShardError> {
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
        let header: Self = wincode::deserialize_exact(&head).map_err(ShardError::Decode)?;
        header.check()?;
        let expected = header.places().sums.end;
        match size {
            Some(found) if u128::from(found) != expected => {
                Err(ShardError::Size { found, expected })
            }
            _ => Ok(header),
        }
    }

    pub(super) fn summary(&self) -> ShardSummary {
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

    /// The places in the file that this header starts.
    ///
    /// # Errors
    /// They are beyond what this machine can count.
    pub(super) fn layout(&self) -> Result<Layout, ShardError> {
        let places = self.places();
        if usize::try_from(places.sums.end).is_err() {
            return Err(ShardError::Invalid("too large for this machine"));
        }
        // The end is the largest of them.
        let cut = |range: Range<u128>| range.start as usize..range.end as usize;
        Ok(Layout {
            labels: cut(places.labels),
            offsets: cut(places.offsets),
            indices: cut(places.indices),
            values: cut(places.values),
            sums: cut(places.sums),
        })
    }

    /// The same as numbers that no header can make overflow.
    fn places(&self) -> Layout<u128> {
        let (rows, nnz) = (u128::from(self.rows), u128::from(self.nnz));
        let after = |before: u128, bytes: u128| {
            let start = before.next_multiple_of(ALIGNMENT);
            start..start + bytes
        };
        let labels = after(HEADER_BYTES as u128, 8 * rows);
        let offsets = after(labels.end, 8 * (rows + 1));
        let indices = after(offsets.end, 4 * nnz);
        let values = after(indices.end, 4 * nnz);
        let mut sums = after(values.end, 0);
        sums.end += 4 * (sums.start.div_ceil(BLOCK as u128) + 1);
        Layout { labels, offsets, indices, values, sums }
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
