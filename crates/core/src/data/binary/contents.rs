//! Whether the arrays of a shard are a matrix and its labels.
//!
//! All entries are looked at, so the loops over them are such as compilers make vector instructions of: they count, and the
//! counts are judged at the end.

use std::ops::Range;

use rayon::prelude::*;

use super::super::error::ShardError;

/// Entries that one task checks.
const ENTRIES: usize = 1 << 16;

/// Entries that are counted in a number of 32 bits: vectors hold as many of these as of columns.
const LANES: usize = 1 << 12;

/// The arrays as they are stored.
#[derive(Debug, Clone, Copy)]
pub(super) struct Contents<'a> {
    pub(super) cols: u32,
    pub(super) offsets: &'a [usize],
    /// As many as there are values.
    pub(super) indices: &'a [u32],
    pub(super) values: &'a [f32],
}

impl Contents<'_> {
    /// The rows and all entries.
    pub(super) fn check(&self) -> Result<(), ShardError> {
        self.check_rows()?;
        let check = |at: usize| {
            let part = at * ENTRIES..((at + 1) * ENTRIES).min(self.indices.len());
            self.check_indices(part.clone()).and_then(|()| self.check_values(part)).err()
        };
        let blocks = self.indices.len().div_ceil(ENTRIES);
        (0..blocks).into_par_iter().find_map_first(check).map_or(Ok(()), Err)
    }

    /// The ends of the rows. What follows relies on these.
    pub(super) fn check_rows(&self) -> Result<(), ShardError> {
        let ascending = self.offsets.first() == Some(&0) && self.offsets.is_sorted();
        if !ascending || self.offsets.last() != Some(&self.indices.len()) {
            return Err(ShardError::Invalid("its row offsets are not in order"));
        }
        Ok(())
    }

    /// The columns of some entries: ascending to the next one of their row, and within their limits at its ends.
    ///
    /// Where the columns of a row ascend, its first and its last are enough to know the limits of all. So a row is as it
    /// should be once all parts that it is in are.
    pub(super) fn check_indices(&self, part: Range<usize>) -> Result<(), ShardError> {
        if part.is_empty() {
            return Ok(());
        }
        let columns = &self.indices[part.clone()];
        let next = &self.indices[part.start + 1..self.indices.len().min(part.end + 1)];
        let rises: usize = columns
            .chunks(LANES)
            .zip(next.chunks(LANES))
            .map(|(j, next)| {
                j.iter().zip(next).map(|(j, next)| u32::from(j < next)).sum::<u32>() as usize
            })
            .sum();
        let starts = !self.is_first(part.start) || self.is_start(columns[0]);
        let ends = part.end < self.indices.len() || self.is_end(columns[columns.len() - 1]);
        if !starts || !ends || self.falls_between_rows(part) != Some(next.len() - rises) {
            return Err(ShardError::Invalid("the columns of a row are not in order"));
        }
        Ok(())
    }

    /// Whether a row starts with this entry.
    fn is_first(&self, entry: usize) -> bool {
        self.offsets.binary_search(&entry).is_ok()
    }

    /// Whether a row may start with this column: all but the reserved one.
    fn is_start(&self, column: u32) -> bool {
        column > 0
    }

    /// Whether a row may end with this column.
    fn is_end(&self, column: u32) -> bool {
        column < self.cols
    }

    /// How many of these entries are the last of their row and not below the first of the next: the falls that may be.
    /// `None` if a row starts or ends with a column out of its limits.
    fn falls_between_rows(&self, part: Range<usize>) -> Option<usize> {
        let from = self.offsets.partition_point(|&o| o <= part.start);
        let mut last = part.start;
        let mut falls = 0;
        for &start in &self.offsets[from..] {
            if start > part.end || start == self.indices.len() {
                break;
            }
            // Rows without entries start where the next one does.
            if start > last {
                let (end, first) = (self.indices[start - 1], self.indices[start]);
                if !self.is_end(end) || !self.is_start(first) {
                    return None;
                }
                falls += usize::from(end >= first);
                last = start;
            }
        }
        Some(falls)
    }

    /// Some of the values.
    pub(super) fn check_values(&self, part: Range<usize>) -> Result<(), ShardError> {
        const EXPONENT: u32 = 0x7F80_0000;
        let bad = |v: &f32| u32::from(v.to_bits() & EXPONENT == EXPONENT);
        if self.values[part].iter().fold(0, |any, v| any | bad(v)) > 0 {
            return Err(ShardError::Invalid("a value is not finite"));
        }
        Ok(())
    }
}

/// The labels.
pub(super) fn check_labels(labels: &[f64]) -> Result<(), ShardError> {
    if labels.iter().all(|label| label.is_finite()) {
        return Ok(());
    }
    Err(ShardError::Invalid("a label is not finite"))
}
