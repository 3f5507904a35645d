//! The one matrix type: compressed sparse rows, `u32` indices, `f32` values, `f64` sums.
//!
//! Column 0 is reserved for the intercept and holds no stored entry; feature `j` of a 1-based LIBSVM
//! file is column `j` (a 0-based one is column `j + 1`). The constant feature is applied by
//! [`crate::design::Design`], so that a file on disk never has to be rewritten for it.

use rayon::prelude::*;

use super::{
    array::Array,
    indices::Indices,
    row::{Entries, Row},
};

/// Rows that one task of [`CsrMatrix::par_rows_mut`] takes: enough to pay for the task.
const BLOCK_ROWS: usize = 4096;

/// A sparse matrix by rows. Within a row the indices ascend strictly.
#[derive(Debug, Clone, PartialEq)]
pub struct CsrMatrix {
    pub(super) offsets: Array<usize>,
    pub(super) indices: Indices,
    pub(super) values: Array<f32>,
    pub(super) cols: usize,
}

impl Default for CsrMatrix {
    /// No rows, and only the reserved column.
    fn default() -> Self {
        Self::new(1)
    }
}

impl CsrMatrix {
    /// An empty matrix with `cols` columns, to be filled by [`CsrMatrix::push_row`].
    pub fn new(cols: usize) -> Self {
        Self::with_capacity(cols, 0, 0)
    }

    /// An empty matrix with room for `rows` rows and `entries` entries.
    pub fn with_capacity(cols: usize, rows: usize, entries: usize) -> Self {
        let mut offsets = Vec::with_capacity(rows + 1);
        offsets.push(0);
        let (indices, values) = (Vec::with_capacity(entries), Vec::with_capacity(entries));
        Self::from_parts(offsets, indices, values, cols)
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Number of columns, the reserved column 0 included.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Number of stored entries.
    pub fn nnz(&self) -> usize {
        self.indices.len()
    }

    /// Bytes of the three arrays.
    pub fn bytes(&self) -> usize {
        self.offsets.len() * size_of::<usize>() + self.nnz() * (size_of::<u32>() + size_of::<f32>())
    }

    /// Row `i`.
    #[inline]
    pub fn row(&self, i: usize) -> Row<'_> {
        self.entries().row(i)
    }

    /// The arrays, looked up once for a loop over many rows.
    #[inline]
    pub(crate) fn entries(&self) -> Entries<'_> {
        let columns = self.indices.part(0..self.indices.len());
        Entries { offsets: &self.offsets, columns, values: &self.values }
    }

    /// Looks at all columns, so that passes need not ask at every entry whether its column is there.
    pub(crate) fn prove_columns(&mut self) {
        self.indices.prove();
    }

    /// All rows in order.
    pub fn iter(&self) -> impl Iterator<Item = Row<'_>> {
        let entries = self.entries();
        (0..self.rows()).map(move |i| entries.row(i))
    }

    /// The values of all rows.
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// Appends a row; the number of columns grows to hold its largest index.
    ///
    /// The indices must ascend strictly; the readers check this where the input is still known by line.
    pub fn push_row(&mut self, indices: &[u32], values: &[f32]) {
        debug_assert_eq!(indices.len(), values.len());
        debug_assert!(indices.windows(2).all(|p| p[0] < p[1]));
        self.indices.own().extend_from_slice(indices);
        self.values.own().extend_from_slice(values);
        self.offsets.own().push(self.indices.len());
        if let Some(&last) = indices.last() {
            self.cols = self.cols.max(last as usize + 1);
        }
    }

    /// Appends `rows` rows with nothing in them.
    pub fn push_empty(&mut self, rows: usize) {
        self.offsets.own().extend(std::iter::repeat_n(self.indices.len(), rows));
    }

    /// Appends those entries of `row` whose column has a new number, in a numbering that keeps order.
    pub fn push_renamed(&mut self, row: Row<'_>, name: impl Fn(u32) -> Option<u32>) {
        for (&j, &v) in row.indices.iter().zip(row.values) {
            if let Some(new) = name(j) {
                self.push_entry(new, v);
            }
        }
        self.end_row();
    }

    /// Appends all rows of `other`.
    pub fn append(&mut self, other: &Self) {
        let base = self.indices.len();
        self.indices.own().extend_from_slice(&other.indices);
        self.values.own().extend_from_slice(&other.values);
        self.offsets.own().extend(other.offsets[1..].iter().map(|o| o + base));
        self.cols = self.cols.max(other.cols);
    }

    /// Sets the number of columns to `cols`, which must hold every stored index.
    pub fn set_cols(&mut self, cols: usize) {
        debug_assert!(self.indices.iter().all(|&j| (j as usize) < cols));
        self.cols = cols;
    }

    /// Gives back memory that growth has reserved beyond the entries.
    pub fn shrink_to_fit(&mut self) {
        self.offsets.shrink_to_fit();
        self.indices.shrink_to_fit();
        self.values.shrink_to_fit();
    }

    /// Applies `f` to the values of every row, in parallel.
    ///
    /// Rows do not see each other, so the result is the same for any number of threads.
    pub fn par_rows_mut(&mut self, f: impl Fn(&mut [f32]) + Sync) {
        let mut rest = self.values.own().as_mut_slice();
        let mut blocks = Vec::with_capacity(self.offsets.len() / BLOCK_ROWS + 1);
        let mut first = 0;
        while first + 1 < self.offsets.len() {
            let last = (first + BLOCK_ROWS).min(self.offsets.len() - 1);
            let offsets = &self.offsets[first..=last];
            let (block, tail) = rest.split_at_mut(offsets[last - first] - offsets[0]);
            blocks.push((offsets, block));
            rest = tail;
            first = last;
        }
        blocks.into_par_iter().for_each(|(offsets, block)| {
            for pair in offsets.windows(2) {
                f(&mut block[pair[0] - offsets[0]..pair[1] - offsets[0]]);
            }
        });
    }

    /// Where the entries of the row being built are to be put: as many columns as values, the columns ascending.
    #[inline]
    pub(super) fn entries_mut(&mut self) -> (&mut Vec<u32>, &mut Vec<f32>) {
        (self.indices.own(), self.values.own())
    }

    /// Adds an entry to the row being built; `column` must be larger than the row's last one.
    #[inline]
    pub(super) fn push_entry(&mut self, column: u32, value: f32) {
        self.indices.own().push(column);
        self.values.own().push(value);
    }

    /// Ends the row being built.
    #[inline]
    pub(super) fn end_row(&mut self) {
        self.offsets.own().push(self.indices.len());
    }

    /// Makes `column` part of the matrix even when nothing is stored in it.
    #[inline]
    pub(super) fn cover(&mut self, column: u32) {
        self.cols = self.cols.max(column as usize + 1);
    }

    /// Forgets all rows and columns but keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.offsets.own().truncate(1);
        self.indices.own().clear();
        self.values.own().clear();
        self.cols = 1;
    }

    /// Drops the entries of columns that are not to be kept, without another copy.
    pub(super) fn retain(&mut self, keep: impl Fn(u32) -> bool) {
        let rows = self.rows();
        let offsets = self.offsets.own();
        let (indices, values) = (self.indices.own(), self.values.own());
        let mut kept = 0;
        for i in 0..rows {
            let span = offsets[i]..offsets[i + 1];
            offsets[i] = kept;
            for at in span {
                if keep(indices[at]) {
                    (indices[kept], values[kept]) = (indices[at], values[at]);
                    kept += 1;
                }
            }
        }
        if let Some(end) = offsets.last_mut() {
            *end = kept;
        }
        indices.truncate(kept);
        values.truncate(kept);
    }

    /// Puts the entries of columns that are `first` before all others of their row, and gives every column a new number:
    /// one that ascends in the new order, and is below the number of columns.
    pub(super) fn bring_forward(
        &mut self,
        first: impl Fn(u32) -> bool,
        rename: impl Fn(u32) -> u32,
    ) {
        let mut moved: Vec<(u32, f32)> = Vec::new();
        let (indices, values) = (self.indices.own(), self.values.own());
        for pair in self.offsets.windows(2) {
            let span = pair[0]..pair[1];
            moved.clear();
            let entries =
                indices[span.clone()].iter().copied().zip(values[span.clone()].iter().copied());
            moved.extend(entries.clone().filter(|entry| first(entry.0)));
            moved.extend(entries.filter(|entry| !first(entry.0)));
            for (at, &(column, value)) in span.zip(&moved) {
                (indices[at], values[at]) = (rename(column), value);
            }
        }
    }

    /// Divides every entry of column j by `divisor(j)`, in parallel; the quotient is rounded once, to f32.
    pub fn divide_columns(&mut self, divisor: impl Fn(u32) -> f64 + Sync) {
        const ENTRIES: usize = 1 << 14;
        let indices = self.indices.par_chunks(ENTRIES);
        self.values.own().par_chunks_mut(ENTRIES).zip(indices).for_each(|(values, indices)| {
            for (value, &j) in values.iter_mut().zip(indices) {
                *value = (f64::from(*value) / divisor(j)) as f32;
            }
        });
    }

    /// The arrays `(offsets, indices, values)`.
    pub(super) fn parts(&self) -> (&[usize], &[u32], &[f32]) {
        (&self.offsets, &self.indices, &self.values)
    }

    /// A matrix of arrays that the caller has checked.
    pub(super) fn from_parts(
        offsets: impl Into<Array<usize>>,
        indices: impl Into<Indices>,
        values: impl Into<Array<f32>>,
        cols: usize,
    ) -> Self {
        let (offsets, indices, values) = (offsets.into(), indices.into(), values.into());
        debug_assert_eq!(offsets.first(), Some(&0));
        debug_assert_eq!(offsets.last(), Some(&indices.len()));
        debug_assert_eq!(indices.len(), values.len());
        Self { offsets, indices, values, cols }
    }

    /// The values of row `i`, to be rescaled in place.
    pub fn row_values_mut(&mut self, i: usize) -> &mut [f32] {
        &mut self.values.own()[self.offsets[i]..self.offsets[i + 1]]
    }

    /// The rows `i` with `keep(i)`, in order, as a matrix with the same columns.
    pub fn select(&self, keep: impl Fn(usize) -> bool) -> Self {
        let mut out = Self::new(self.cols);
        for i in (0..self.rows()).filter(|&i| keep(i)) {
            let row = self.row(i);
            out.push_row(&row.indices, row.values);
        }
        out
    }
}
