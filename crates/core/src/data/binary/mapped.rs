//! Shard files mapped into memory and used where they are.
//!
//! A file is opened by its header, its labels and the ends of its rows, and what is verified of it then is all that these
//! need: it takes milliseconds. Columns and values are verified when somebody wants them, all or none.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;

use super::super::columns::{ColumnCounts, Sums, row_parts};
use super::super::error::{DataError, ShardError};
use super::super::indices::Columns;
use super::super::sealed::Sealed;
use super::super::{csr::CsrMatrix, row::Row};
use super::Shard;
use super::contents::{Contents, check_labels};
use super::layout::{BLOCK, Header, Layout};
use super::sums;
use crate::storage::{Mapped, Mapping};

/// The columns and values of a mapped file, of which nothing is verified. They leave it as a matrix, when everything is.
#[derive(Debug)]
pub(in super::super) struct SealedEntries {
    /// For messages.
    name: PathBuf,
    mapping: Mapping,
    layout: Layout,
    /// The checksums of all blocks, which are verified themselves.
    sums: Vec<u32>,
    cols: u32,
    /// Verified.
    offsets: Mapped<usize>,
    indices: Mapped<u32>,
    values: Mapped<f32>,
}

/// The shard in a mapped file called `name`. Its entries stay in the file, sealed; the labels are copied.
pub(super) fn open(name: PathBuf, mapping: Mapping) -> Result<Shard<Sealed>, ShardError> {
    let bytes = mapping.bytes();
    let header = Header::read(&mut &*bytes, Some(bytes.len() as u64))?;
    let layout = header.layout()?;
    let (Some(labels), Some(offsets), Some(indices), Some(values)) = (
        mapping.array::<f64>(layout.labels.clone()),
        mapping.array::<usize>(layout.offsets.clone()),
        mapping.array::<u32>(layout.indices.clone()),
        mapping.array::<f32>(layout.values.clone()),
    ) else {
        return Err(ShardError::Truncated);
    };
    let sums = sums::unseal(&bytes[layout.sums.clone()])?;
    let cols = header.cols as u32;
    let entries = SealedEntries { name, mapping, layout, sums, cols, offsets, indices, values };
    // The block where the entries begin holds the end of what is before them.
    let before = entries.first_block() + 1;
    first_error(0..before.min(entries.sums.len()), |at| entries.check_sum(at))?;
    check_labels(&labels)?;
    entries.contents().check_rows()?;
    let labels = labels.to_vec();
    Ok(Shard { info: header.summary().info, x: Sealed::closed(entries), labels })
}

impl SealedEntries {
    pub(in super::super) fn rows(&self) -> usize {
        self.offsets.len() - 1
    }

    pub(in super::super) fn cols(&self) -> usize {
        self.cols as usize
    }

    pub(in super::super) fn nnz(&self) -> usize {
        self.indices.len()
    }

    /// The matrix, once all its entries are verified.
    pub(in super::super) fn unseal(self) -> Result<CsrMatrix, DataError> {
        let checked = Ledger::new(&self).check_rest();
        self.matrix_if(checked).map(|(x, ())| x)
    }

    /// The matrix, once all its entries are verified, and what is in its columns if it has `cols` of them, by one pass: what
    /// checksums have brought into the cache is counted there.
    pub(in super::super) fn unseal_counted(
        self,
        cols: usize,
    ) -> Result<(CsrMatrix, ColumnCounts), DataError> {
        let counted = self.check_counting(cols.max(self.cols()));
        self.matrix_if(counted)
    }

    /// The only way from sealed entries to a matrix.
    fn matrix_if<T>(self, checked: Result<T, ShardError>) -> Result<(CsrMatrix, T), DataError> {
        let Self { name, cols, offsets, indices, values, .. } = self;
        match checked {
            Ok(found) => {
                Ok((CsrMatrix::from_parts(offsets, indices, values, cols as usize), found))
            }
            Err(source) => Err(DataError::Shard { path: name, source }),
        }
    }

    fn check_counting(&self, cols: usize) -> Result<ColumnCounts, ShardError> {
        let ledger = Ledger::new(self);
        let parts = row_parts(self.rows(), cols, self.nnz());
        if parts.len() < rayon::current_num_threads() {
            // The parts of a count depend on the data, and are too few for these threads; blocks are not.
            ledger.check_rest()?;
        }
        let count = |part: Range<usize>| {
            let mut sums = Sums::new(cols);
            for rows in self.chunks(part) {
                ledger.check_rows(&rows)?;
                rows.for_each(|i| sums.add(self.row(i)));
            }
            Ok(sums)
        };
        // All parts to their end, so that of several errors it is always the same that is told.
        let counted: Vec<Result<Sums, ShardError>> = parts.into_par_iter().map(count).collect();
        let counted = counted.into_iter().collect::<Result<Vec<Sums>, ShardError>>()?;
        ledger.check_rest()?;
        Ok(ColumnCounts::total(&counted))
    }

    /// Rows cut into runs whose columns are in the same block, as far as whole rows can be.
    fn chunks(&self, rows: Range<usize>) -> impl Iterator<Item = Range<usize>> + '_ {
        let mut next = rows.start;
        std::iter::from_fn(move || {
            let from = next;
            let start = *self.offsets[..rows.end].get(from)?;
            let place = self.layout.indices.start + 4 * start;
            let room = (BLOCK - place % BLOCK) / 4;
            let ends = &self.offsets[from + 1..=rows.end];
            next += ends.partition_point(|&end| end <= start + room).max(1);
            Some(from..next)
        })
    }

    /// Row `i`. To be used only if its blocks are verified.
    fn row(&self, i: usize) -> Row<'_> {
        let span = self.offsets[i]..self.offsets[i + 1];
        Row { indices: Columns::unproved(&self.indices[span.clone()]), values: &self.values[span] }
    }

    fn contents(&self) -> Contents<'_> {
        let Self { cols, offsets, indices, values, .. } = self;
        Contents { cols: *cols, offsets, indices, values }
    }

    /// The block where the entries begin.
    fn first_block(&self) -> usize {
        self.layout.indices.start / BLOCK
    }

    /// The bytes of a block.
    fn block(&self, at: usize) -> Range<usize> {
        at * BLOCK..((at + 1) * BLOCK).min(self.layout.sums.start)
    }

    fn check_sum(&self, at: usize) -> Result<(), ShardError> {
        let found = crc32fast::hash(&self.mapping.bytes()[self.block(at)]);
        if self.sums.get(at) == Some(&found) { Ok(()) } else { Err(ShardError::Checksum) }
    }

    /// All of a block: the checksum, and then the contents that it has brought into the cache.
    fn check_block(&self, at: usize) -> Result<(), ShardError> {
        self.check_sum(at)?;
        let (block, contents) = (self.block(at), self.contents());
        contents.check_indices(elements(&self.layout.indices, &block))?;
        contents.check_values(elements(&self.layout.values, &block))
    }
}

/// Which blocks of entries are verified.
struct Ledger<'a> {
    entries: &'a SealedEntries,
    first: usize,
    verified: Vec<AtomicBool>,
}

impl<'a> Ledger<'a> {
    fn new(entries: &'a SealedEntries) -> Self {
        let first = entries.first_block();
        let verified = (first..entries.sums.len()).map(|_| AtomicBool::new(false)).collect();
        Self { entries, first, verified }
    }

    /// Verifies a block, unless that is done.
    fn check(&self, at: usize) -> Result<(), ShardError> {
        let verified = self.verified.get(at - self.first);
        if !verified.is_some_and(|verified| verified.load(Ordering::Acquire)) {
            self.entries.check_block(at)?;
            verified.inspect(|verified| verified.store(true, Ordering::Release));
        }
        Ok(())
    }

    /// Verifies the blocks that some rows are in.
    fn check_rows(&self, rows: &Range<usize>) -> Result<(), ShardError> {
        let SealedEntries { offsets, layout, .. } = self.entries;
        let (from, to) = (offsets[rows.start], offsets[rows.end]);
        for array in [&layout.indices, &layout.values] {
            let bytes = array.start + 4 * from..array.start + 4 * to;
            (bytes.start / BLOCK..bytes.end.div_ceil(BLOCK)).try_for_each(|at| self.check(at))?;
        }
        Ok(())
    }

    /// Verifies all that is left, by all threads.
    fn check_rest(&self) -> Result<(), ShardError> {
        first_error(self.first..self.entries.sums.len(), |at| self.check(at))
    }
}

fn first_error(
    range: Range<usize>,
    check: impl Fn(usize) -> Result<(), ShardError> + Sync,
) -> Result<(), ShardError> {
    let error = range.into_par_iter().find_map_first(|at| check(at).err());
    error.map_or(Ok(()), Err)
}

/// Which elements of an array, of four bytes each, are in a block.
fn elements(array: &Range<usize>, block: &Range<usize>) -> Range<usize> {
    let within = |at: usize| (at.clamp(array.start, array.end) - array.start) / 4;
    within(block.start)..within(block.end)
}
