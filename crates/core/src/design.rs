//! The design matrix of a shard: stored features plus the constant feature of the intercept.
//!
//! Sums over rows are cut into blocks by the data alone and added in block order, so the number of
//! threads never changes a result.

use rayon::prelude::*;

use crate::data::{ColumnCounts, CsrMatrix, Shortlist, columns::row_parts};

pub(crate) use crate::data::columns::row_blocks;

/// Rows of features; with `intercept`, each row also has the value 1 in column 0.
#[derive(Debug, Clone)]
pub struct Design {
    x: CsrMatrix,
    intercept: bool,
}

/// What is known of the columns without looking at targets.
#[derive(Debug, Clone)]
pub struct ColumnFacts {
    /// Stored entries of each column.
    pub counts: Vec<u32>,
    /// The largest number of entries in a column, intercept included.
    pub longest: usize,
    /// `max_j sum_i |x_ij|`, intercept included: with `max |alpha|` it bounds the rounding of `u` (M7).
    pub largest_sum: f64,
}

impl Design {
    /// A design of the rows of `x`.
    pub fn new(x: CsrMatrix, intercept: bool) -> Self {
        Self { x, intercept }
    }

    /// The stored features.
    pub fn matrix(&self) -> &CsrMatrix {
        &self.x
    }

    /// The stored features, for other use.
    pub fn into_matrix(self) -> CsrMatrix {
        self.x
    }

    /// Whether every row has the constant feature.
    pub fn has_intercept(&self) -> bool {
        self.intercept
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.x.rows()
    }

    /// Number of columns, the reserved column 0 included.
    pub fn cols(&self) -> usize {
        self.x.cols()
    }

    /// `x_i'w` for a dense `w`.
    #[inline]
    pub fn score(&self, i: usize, w: &[f64]) -> f64 {
        let constant = if self.intercept { w[0] } else { 0.0 };
        constant + self.x.row(i).dot(w)
    }

    /// All scores, in parallel.
    pub fn scores(&self, w: &[f64]) -> Vec<f64> {
        (0..self.rows()).into_par_iter().with_min_len(256).map(|i| self.score(i, w)).collect()
    }

    /// `out += sum_i coefficient_i x_i`; rows with coefficient 0 cost nothing.
    pub fn scatter(&self, coefficients: &[f64], out: &mut [f64]) {
        self.accumulate(out.as_chunks_mut().0, |i, sums: &mut [[f64; 1]]| {
            let a = coefficients[i];
            if a != 0.0 {
                if self.intercept {
                    sums[0][0] += a;
                }
                let row = self.x.row(i);
                for (&j, &v) in row.indices.iter().zip(row.values) {
                    sums[j as usize][0] += a * f64::from(v);
                }
            }
        });
    }

    /// `out += sum_i coefficient_i x_i^2`, squares entry by entry.
    pub fn scatter_squares(&self, coefficients: &[f64], out: &mut [f64]) {
        self.accumulate(out.as_chunks_mut().0, |i, sums: &mut [[f64; 1]]| {
            let a = coefficients[i];
            if a != 0.0 {
                if self.intercept {
                    sums[0][0] += a;
                }
                let row = self.x.row(i);
                for (&j, &v) in row.indices.iter().zip(row.values) {
                    sums[j as usize][0] += a * f64::from(v) * f64::from(v);
                }
            }
        });
    }

    /// `out_j += [sum_i a_i x_ij, sum_i b_i x_ij^2]` for coefficients `(a_i, b_i)`, by one pass.
    pub fn scatter_both(&self, coefficients: &[(f64, f64)], out: &mut [[f64; 2]]) {
        self.accumulate(out, |i, sums| {
            let (a, b) = coefficients[i];
            if a == 0.0 && b == 0.0 {
                return;
            }
            if self.intercept {
                sums[0][0] += a;
                sums[0][1] += b;
            }
            let row = self.x.row(i);
            for (&j, &v) in row.indices.iter().zip(row.values) {
                let (v, sum) = (f64::from(v), &mut sums[j as usize]);
                sum[0] += a * v;
                sum[1] += b * v * v;
            }
        });
    }

    /// `out += sum_i change_i(step x_ij) x_ij` with `change_i = changes(i)`, steps and sums for every column of `list`.
    pub fn scatter_changes<F: Fn(f64) -> f64>(
        &self,
        list: &Shortlist,
        steps: &[f64],
        changes: impl Fn(usize) -> F + Sync,
        out: &mut [f64],
    ) {
        let constant = if self.intercept { list.place(0) } else { None };
        self.accumulate(out.as_chunks_mut().0, |i, sums: &mut [[f64; 1]]| {
            let change = changes(i);
            if let Some(at) = constant {
                sums[at][0] += change(steps[at]);
            }
            let row = self.x.row(i);
            for (&j, &v) in row.indices.iter().zip(row.values) {
                if let Some(at) = list.place(j) {
                    let v = f64::from(v);
                    sums[at][0] += v * change(steps[at] * v);
                }
            }
        });
    }

    /// Facts about the columns, by one pass.
    pub fn column_facts(&self) -> ColumnFacts {
        self.facts_of(ColumnCounts::of(&self.x))
    }

    /// The same of stored entries that have been counted.
    pub(crate) fn facts_of(&self, counted: ColumnCounts) -> ColumnFacts {
        let ColumnCounts { counts, largest_sum } = counted;
        let constant = if self.intercept { self.rows() } else { 0 };
        let longest = counts.iter().copied().max().unwrap_or(0) as usize;
        ColumnFacts {
            counts,
            longest: longest.max(constant),
            largest_sum: largest_sum.max(constant as f64),
        }
    }

    /// Adds to `out` what `add(i, sums)` adds for every row. Each part of the rows has sums of its own.
    fn accumulate<const W: usize>(
        &self,
        out: &mut [[f64; W]],
        add: impl Fn(usize, &mut [[f64; W]]) + Sync,
    ) {
        let parts = row_parts(self.rows(), out.len(), self.x.nnz());
        if parts.len() == 1 {
            (0..self.rows()).for_each(|i| add(i, out));
            return;
        }
        let partial: Vec<Vec<[f64; W]>> = parts
            .into_par_iter()
            .map(|part| {
                let mut sums = vec![[0.0; W]; out.len()];
                part.for_each(|i| add(i, &mut sums));
                sums
            })
            .collect();
        out.par_iter_mut().enumerate().with_min_len(4096).for_each(|(j, o)| {
            for (at, o) in o.iter_mut().enumerate() {
                *o += partial.iter().map(|sums| sums[j][at]).sum::<f64>();
            }
        });
    }
}

/// What `of` says of blocks of rows, in order; the blocks are cut by the number of rows alone.
pub(crate) fn by_blocks<T: Send>(
    rows: usize,
    of: impl Fn(std::ops::Range<usize>) -> T + Sync + Send,
) -> Vec<T> {
    const FEW: usize = 4096;
    row_blocks(rows, (rows / FEW).clamp(1, 32)).into_par_iter().map(of).collect()
}
