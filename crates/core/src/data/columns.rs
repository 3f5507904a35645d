//! How many entries each column has, and how large they are in sum.
//!
//! Sums over rows are cut into parts by the data alone and added in their order, so the number of threads never changes a
//! result.

use std::{hint::black_box, ops::Range};

use rayon::prelude::*;

use super::{csr::CsrMatrix, error::DataError, row::Row};

/// What a run of the default method keeps for every column, about: 53 bytes were counted with one shard, and 20 more for each
/// other one.
const COLUMN_BYTES: usize = 48;

/// What is known of the stored entries of each column.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnCounts {
    /// Stored entries of each column.
    pub counts: Vec<u32>,
    /// `max_j sum_i |x_ij|`.
    pub largest_sum: f64,
}

impl ColumnCounts {
    /// Of `x`, by one pass.
    pub fn of(x: &CsrMatrix) -> Self {
        let count = |part: Range<usize>| {
            let (mut sums, rows) = (Sums::new(x.cols()), x.entries());
            part.for_each(|i| sums.add(rows.row(i)));
            sums
        };
        let parts = row_parts(x.rows(), x.cols(), x.nnz());
        Self::total(&parts.into_par_iter().map(count).collect::<Vec<Sums>>())
    }

    /// Of the sums of all parts, in their order.
    pub(super) fn total(parts: &[Sums]) -> Self {
        let cols = parts.first().map_or(0, |sums| sums.0.len());
        let columns = || (0..cols).into_par_iter().with_min_len(4096);
        let total = |at: usize, j: usize| parts.iter().map(|sums| sums.0[j][at]).sum::<f64>();
        Self {
            counts: columns().map(|j| total(0, j) as u32).collect(),
            largest_sum: columns().map(|j| total(1, j)).reduce(|| 0.0, f64::max),
        }
    }
}

/// Number and sum of the entries of each column in some rows. Numbers up to 2^53 are exact.
#[derive(Debug)]
pub(super) struct Sums(Vec<[f64; 2]>);

impl Sums {
    pub(super) fn new(cols: usize) -> Self {
        Self(vec![[0.0; 2]; cols])
    }

    #[inline]
    pub(super) fn add(&mut self, row: Row<'_>) {
        for (&j, &v) in row.indices.iter().zip(row.values) {
            let [count, sum] = &mut self.0[j as usize];
            *count += 1.0;
            *sum += f64::from(v).abs();
        }
    }
}

/// Rows in parts that are summed apart: as many as the entries can pay for, so that the sums of all columns in each part
/// take at most an eighth of the matrix.
pub(crate) fn row_parts(rows: usize, cols: usize, nnz: usize) -> Vec<Range<usize>> {
    row_blocks(rows, (nnz / (8 * cols.max(1))).clamp(1, 8))
}

/// `rows` cut into `blocks` nearly equal ranges, in order.
pub(crate) fn row_blocks(rows: usize, blocks: usize) -> Vec<Range<usize>> {
    (0..blocks).map(|b| rows * b / blocks..rows * (b + 1) / blocks).collect()
}

/// Whether there is memory for vectors of `cols` columns. Their number is that of the largest feature, so one wrong figure in a
/// file can ask for any amount; an allocation that is refused in the middle of a run would end the process.
///
/// # Errors
/// There is not.
pub(crate) fn make_room(cols: usize) -> Result<(), DataError> {
    let bytes = cols.saturating_mul(COLUMN_BYTES);
    let mut room = Vec::<u8>::new();
    let refused = room.try_reserve_exact(bytes).is_err();
    // Memory that nobody looks at need not be asked for.
    black_box(&room);
    if refused { Err(DataError::Wide { features: cols.saturating_sub(1), bytes }) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_is_counted_once_in_any_number_of_parts() {
        for rows in [0, 1, 9, 400] {
            let mut x = CsrMatrix::new(4);
            for i in 0..rows {
                x.push_row(&[1, 3], &[-2.0, i as f32]);
            }
            let found = ColumnCounts::of(&x);
            assert_eq!(found.counts, [0, rows, 0, rows]);
            let largest = f64::from(2 * rows).max(f64::from(rows) * (f64::from(rows) - 1.0) / 2.0);
            assert_eq!(found.largest_sum, largest);
        }
    }

    #[test]
    fn columns_that_no_memory_can_hold_are_refused() {
        assert!(make_room(0).is_ok());
        assert!(make_room(1 << 20).is_ok());
        for cols in [1 << 58, usize::MAX] {
            let refused = make_room(cols).unwrap_err();
            assert!(matches!(refused, DataError::Wide { features, .. } if features == cols - 1));
        }
    }
}
