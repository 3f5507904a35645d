//! The design by columns, for algorithms that move one weight at a time.

use crate::design::Design;

/// The stored features, compressed by columns. Column 0 has none: the intercept is a 1 in every row.
#[derive(Debug)]
pub(super) struct Columns {
    offsets: Vec<usize>,
    rows: Vec<u32>,
    values: Vec<f32>,
}

impl Columns {
    /// Those of `design`.
    pub(super) fn of(design: &Design) -> Self {
        let x = design.matrix();
        let mut offsets = vec![0usize; x.cols() + 1];
        for row in x.iter() {
            row.indices.iter().for_each(|&j| offsets[j as usize + 1] += 1);
        }
        for j in 0..x.cols() {
            offsets[j + 1] += offsets[j];
        }
        let mut next = offsets.clone();
        let (mut rows, mut values) = (vec![0; x.nnz()], vec![0.0; x.nnz()]);
        for (i, row) in (0u32..).zip(x.iter()) {
            for (&j, &v) in row.indices.iter().zip(row.values) {
                let at = &mut next[j as usize];
                (rows[*at], values[*at]) = (i, v);
                *at += 1;
            }
        }
        Self { offsets, rows, values }
    }

    /// Row and value of every entry of column `j`.
    #[inline]
    pub(super) fn entries(&self, j: u32) -> impl Iterator<Item = (usize, f64)> + '_ {
        let span = self.offsets[j as usize]..self.offsets[j as usize + 1];
        let rows = self.rows[span.clone()].iter().map(|&i| i as usize);
        rows.zip(self.values[span].iter().map(|&v| f64::from(v)))
    }

    /// Entries of column `j`.
    pub(super) fn len(&self, j: u32) -> usize {
        self.offsets[j as usize + 1] - self.offsets[j as usize]
    }
}
