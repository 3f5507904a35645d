//! Rows of a matrix, and what passes do with them: products with weights, and sums over columns.

use std::ops::Range;

use super::indices::Columns;
use crate::fetch;

/// How many entries before its turn a weight is asked for.
const AHEAD: usize = 128;

/// One row of a [`super::CsrMatrix`].
#[derive(Debug, Clone, Copy)]
pub struct Row<'a> {
    /// Column numbers, strictly ascending.
    pub indices: Columns<'a>,
    /// The values in those columns.
    pub values: &'a [f32],
}

/// All rows of a [`super::CsrMatrix`]. Where its arrays are has been asked once: to ask for every row costs a tenth of a pass.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entries<'a> {
    pub(super) offsets: &'a [usize],
    pub(super) columns: Columns<'a>,
    pub(super) values: &'a [f32],
}

impl<'a> Entries<'a> {
    /// Row `i`.
    #[inline(always)]
    pub(crate) fn row(self, i: usize) -> Row<'a> {
        let span = self.offsets[i]..self.offsets[i + 1];
        Row { indices: self.columns.part(span.clone()), values: &self.values[span] }
    }

    /// The columns of row `i`.
    #[inline(always)]
    pub(crate) fn columns_of(self, i: usize) -> &'a [u32] {
        &self.columns.numbers()[self.offsets[i]..self.offsets[i + 1]]
    }

    /// Bytes of the arrays.
    pub(crate) fn bytes(self) -> usize {
        size_of_val(self.offsets) + size_of_val(&*self.columns) + size_of_val(self.values)
    }

    /// `x_i'w`, where rows are taken in order: they, and with `hints` the weights too, are asked for before their turn.
    #[inline(always)]
    pub(crate) fn dot_in_order(self, i: usize, w: &[f64], hints: bool) -> f64 {
        if hints {
            let ahead = |end: usize| (end + AHEAD).min(self.columns.len());
            let coming = ahead(self.offsets[i])..ahead(self.offsets[i + 1]);
            fetch::elements(w, &self.columns[coming]);
        }
        self.row(i).dot_in_order(w)
    }

    /// Asks memory for row `i`.
    #[inline]
    pub(crate) fn fetch_row(self, i: usize) {
        let row = self.row(i);
        fetch::all(&row.indices);
        fetch::all(row.values);
    }
}

impl Row<'_> {
    /// `x'w`, summed in f64.
    #[inline]
    pub fn dot(&self, w: &[f64]) -> f64 {
        let sums: [f64; 4] = self.indices.gather(self.values, w, |sum, v, w| *sum += v * w);
        (sums[0] + sums[2]) + (sums[1] + sums[3])
    }

    /// The same, where the rows after it are the next: they are asked for meanwhile.
    #[inline]
    pub(crate) fn dot_in_order(&self, w: &[f64]) -> f64 {
        let add = |sum: &mut f64, v: f64, w: f64| *sum += v * w;
        let sums: [f64; 4] = self.indices.gather_in_order(self.values, w, add);
        (sums[0] + sums[2]) + (sums[1] + sums[3])
    }

    /// `out += a x`.
    #[inline]
    pub fn axpy_into(&self, a: f64, out: &mut [f64]) {
        self.indices.scatter(self.values, out, |v| a * v, |sum, product| *sum += product);
    }

    /// The entries in a range of columns.
    #[inline]
    pub(crate) fn within(self, columns: &Range<usize>) -> Self {
        let before = |end: usize| match self.indices.last() {
            Some(&last) if last as usize >= end => {
                self.indices.partition_point(|&j| (j as usize) < end)
            }
            _ => self.indices.len(),
        };
        let first = if columns.start == 0 { 0 } else { before(columns.start) };
        let span = first..before(columns.end);
        Self { indices: self.indices.part(span.clone()), values: &self.values[span] }
    }

    /// `||x||^2`.
    #[inline]
    pub fn norm_sq(&self) -> f64 {
        let mut sums = [0.0; 4];
        self.indices.in_turn::<4, true>(self.values, |_, values| {
            for (sum, value) in sums.iter_mut().zip(values) {
                *sum += f64::from(value) * f64::from(value);
            }
        });
        (sums[0] + sums[2]) + (sums[1] + sums[3])
    }
}
