//! The design matrix of a shard: stored features plus the constant feature of the intercept.
//!
//! Sums over rows are cut into blocks by the data alone and added in block order, so the number of
//! threads never changes a result.

use std::{
    ops::Range,
    sync::{Mutex, PoisonError},
};

use rayon::prelude::*;

use crate::{
    data::{ColumnCounts, CsrMatrix, Shortlist, columns::row_parts},
    fetch,
};

pub(crate) use crate::data::columns::row_blocks;

/// Entries from which on it pays to give each thread columns of its own.
const MANY_ENTRIES: usize = 1 << 18;
/// Rows that are worth a task, and columns; a multiple of how many are summed at once.
const BLOCK_ROWS: usize = 256;
const BLOCK_COLS: usize = 4096;
const FEW_COLS: usize = 64;

/// Rows of features; with `intercept`, each row also has the value 1 in column 0.
#[derive(Debug, Clone)]
pub struct Design {
    x: CsrMatrix,
    intercept: bool,
    spare: Spare,
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
    pub fn new(mut x: CsrMatrix, intercept: bool) -> Self {
        x.prove_columns();
        Self { x, intercept, spare: Spare::default() }
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

    /// `x_i'w` for a dense `w`, by number of the row; quickest if row `i + 1` is the next.
    #[inline(always)]
    pub(crate) fn score<'a>(&'a self, w: &'a [f64]) -> impl Fn(usize) -> f64 + Copy + 'a {
        let (rows, constant) = (self.x.entries(), if self.intercept { w[0] } else { 0.0 });
        let hints = fetch::come_late(w);
        move |i| constant + rows.dot_in_order(i, w, hints)
    }

    /// All scores, in parallel.
    pub fn scores(&self, w: &[f64]) -> Vec<f64> {
        let (mut scores, score) = (vec![0.0; self.rows()], self.score(w));
        scores.par_chunks_mut(BLOCK_ROWS).enumerate().for_each(|(block, scores)| {
            let rows = block * BLOCK_ROWS..;
            scores.iter_mut().zip(rows).for_each(|(out, i)| *out = score(i));
        });
        scores
    }

    /// `out += sum_i coefficient_i x_i`; rows with coefficient 0 cost nothing.
    pub fn scatter(&self, coefficients: &[f64], out: &mut [f64]) {
        self.add_terms(out.as_chunks_mut().0, |i| {
            let a = coefficients[i];
            (a != 0.0).then_some(move |v| [a * v])
        });
    }

    /// `out += sum_i coefficient_i x_i^2`, squares entry by entry.
    pub fn scatter_squares(&self, coefficients: &[f64], out: &mut [f64]) {
        self.add_terms(out.as_chunks_mut().0, |i| {
            let a = coefficients[i];
            (a != 0.0).then_some(move |v| [a * v * v])
        });
    }

    /// `out_j += [sum_i a_i x_ij, sum_i b_i x_ij^2]` for coefficients `(a_i, b_i)`, by one pass.
    pub fn scatter_both(&self, coefficients: &[(f64, f64)], out: &mut [[f64; 2]]) {
        self.add_terms(out, |i| {
            let (a, b) = coefficients[i];
            (a != 0.0 || b != 0.0).then_some(move |v| [a * v, b * v * v])
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
        let (rows, constant) =
            (self.x.entries(), if self.intercept { list.place(0) } else { None });
        let parts = row_parts(self.rows(), out.len(), self.x.nnz());
        self.accumulate(&parts, out.as_chunks_mut().0, |i, sums: &mut [[f64; 1]]| {
            let change = changes(i);
            if let Some(at) = constant {
                sums[at][0] += change(steps[at]);
            }
            let row = rows.row(i);
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

    /// Adds `terms(i)` of the entries of every row to the sums of their columns; rows without such a function add nothing.
    fn add_terms<const W: usize, F: Fn(f64) -> [f64; W]>(
        &self,
        out: &mut [[f64; W]],
        terms: impl Fn(usize) -> Option<F> + Sync,
    ) {
        let (rows, parts) = (self.x.entries(), row_parts(self.rows(), out.len(), self.x.nnz()));
        let add_row = |i: usize, columns: &Range<usize>, sums: &mut [[f64; W]]| {
            let Some(term) = terms(i) else { return };
            if self.intercept && columns.contains(&0) {
                add(&mut sums[0], term(1.0));
            }
            let row = rows.row(i).within(columns);
            if columns.start == 0 {
                return row.indices.scatter_in_order(row.values, sums, term, add);
            }
            for (&j, &v) in row.indices.iter().zip(row.values) {
                add(&mut sums[j as usize - columns.start], term(f64::from(v)));
            }
        };
        if parts.len() > 1 {
            let all = 0..out.len();
            return self.accumulate(&parts, out, |i, sums| add_row(i, &all, sums));
        }
        // Too many columns for sums of parts: each thread has columns of its own, and the sum of a column is the same
        // wherever they are cut. To find these in every row costs more than to add single numbers to them (twice the time of
        // one thread on ng20), and less than to add pairs.
        let threads = if W == 1 { 1 } else { rayon::current_num_threads() };
        let mut strips = Vec::new();
        let mut rest = out;
        for columns in self.strips(rest.len(), threads) {
            let (strip, after) = rest.split_at_mut(columns.len());
            strips.push((columns, strip));
            rest = after;
        }
        strips.into_par_iter().for_each(|(columns, sums)| {
            (0..self.rows()).for_each(|i| add_row(i, &columns, sums));
        });
    }

    /// Adds to `out` what `add_row(i, sums)` adds for every row. Each part of the rows has sums of its own.
    fn accumulate<const W: usize>(
        &self,
        parts: &[Range<usize>],
        out: &mut [[f64; W]],
        add_row: impl Fn(usize, &mut [[f64; W]]) + Sync,
    ) {
        if let [part] = parts {
            part.clone().for_each(|i| add_row(i, out));
            return;
        }
        let (cols, needed) = (out.len().max(1), parts.len() * out.len() * W);
        let mut memory = self.spare.take();
        if memory.len() < needed {
            memory.resize(needed, 0.0);
        }
        let sums = memory[..needed].as_chunks_mut::<W>().0;
        sums.par_chunks_mut(cols).zip(parts).for_each(|(sums, part)| {
            sums.fill([0.0; W]);
            part.clone().for_each(|i| add_row(i, sums));
        });
        out.par_chunks_mut(BLOCK_COLS).enumerate().for_each(|(block, out)| {
            // Part by part for some columns at a time: the sums of a part lie side by side.
            for (few, out) in out.chunks_mut(FEW_COLS).enumerate() {
                let first = block * BLOCK_COLS + few * FEW_COLS;
                let mut totals = [[0.0; W]; FEW_COLS];
                for part in sums.chunks_exact(cols) {
                    totals.iter_mut().zip(&part[first..]).for_each(|(total, &sum)| add(total, sum));
                }
                out.iter_mut().zip(totals).for_each(|(o, total)| add(o, total));
            }
        });
        self.spare.put_back(memory);
    }

    /// All columns in ranges, one for each of so many threads, with about as many entries in each as a few rows tell.
    fn strips(&self, cols: usize, threads: usize) -> Vec<Range<usize>> {
        let threads = if self.x.nnz() < MANY_ENTRIES { 1 } else { threads };
        let sample = (0..self.rows()).step_by((self.rows() / 64).max(1));
        let mut seen: Vec<u32> = Vec::new();
        if threads > 1 {
            sample.for_each(|i| seen.extend_from_slice(&self.x.row(i).indices));
            seen.sort_unstable();
        }
        let quantile =
            |part: usize| seen.get(seen.len() * part / threads).map_or(0, |&j| j as usize);
        let inner = (1..threads).map(quantile);
        let ends: Vec<usize> = [0].into_iter().chain(inner).chain([cols]).collect();
        ends.windows(2).map(|pair| pair[0]..pair[1]).collect()
    }
}

/// Memory for the sums of parts, kept from one time to the next: the system takes about as long to give it as it takes to sum.
#[derive(Debug, Default)]
struct Spare(Mutex<Vec<f64>>);

impl Spare {
    fn take(&self) -> Vec<f64> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn put_back(&self, memory: Vec<f64>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = memory;
    }
}

/// What is in spare memory means nothing.
impl Clone for Spare {
    fn clone(&self) -> Self {
        Self::default()
    }
}

#[inline(always)]
fn add<const W: usize>(sums: &mut [f64; W], terms: [f64; W]) {
    sums.iter_mut().zip(terms).for_each(|(sum, term)| *sum += term);
}

/// What `of` says of blocks of rows, in order; the blocks are cut by the number of rows alone.
pub(crate) fn by_blocks<T: Send>(
    rows: usize,
    of: impl Fn(Range<usize>) -> T + Sync + Send,
) -> Vec<T> {
    const FEW: usize = 4096;
    row_blocks(rows, (rows / FEW).clamp(1, 32)).into_par_iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng;
    use rand::RngExt;

    /// So many columns that sums of parts would take too much, and weights are not near.
    const COLS: usize = 200_000;
    const ROWS: usize = 400;

    fn wide() -> Design {
        let mut random = rng::generator(7, 0, 0);
        let mut x = CsrMatrix::new(COLS);
        for _ in 0..ROWS {
            let mut indices: Vec<u32> =
                (0..800).map(|_| random.random_range(1..COLS as u32)).collect();
            indices.sort_unstable();
            indices.dedup();
            let values: Vec<f32> = indices.iter().map(|_| random.random_range(-1.0..1.0)).collect();
            x.push_row(&indices, &values);
        }
        assert!(x.nnz() >= MANY_ENTRIES && row_parts(ROWS, COLS, x.nnz()).len() == 1);
        Design::new(x, true)
    }

    #[test]
    fn sums_of_very_many_columns_are_the_same_however_columns_are_cut() {
        let design = wide();
        let a: Vec<f64> = (0..ROWS).map(|i| (i % 5) as f64 - 2.0).collect();
        let both: Vec<(f64, f64)> = a.iter().map(|&a| (a, a * a)).collect();
        let mut expected = vec![[0.0; 2]; COLS];
        for (i, row) in design.matrix().iter().enumerate() {
            add(&mut expected[0], [a[i], a[i] * a[i]]);
            for (&j, &v) in row.indices.iter().zip(row.values) {
                let v = f64::from(v);
                add(&mut expected[j as usize], [a[i] * v, a[i] * a[i] * v * v]);
            }
        }
        for threads in [1, 2, 5] {
            let (mut sums, mut pairs) = (vec![0.0; COLS], vec![[0.0; 2]; COLS]);
            rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(|| {
                assert_eq!(design.strips(COLS, threads).len(), threads);
                design.scatter(&a, &mut sums);
                design.scatter_both(&both, &mut pairs);
            });
            assert!(sums.iter().zip(&expected).all(|(sum, e)| *sum == e[0]));
            assert_eq!(pairs, expected);
        }
    }

    #[test]
    fn sums_of_parts_are_added_for_every_column() {
        // More columns than are summed at once, and a rest.
        let cols = BLOCK_COLS + FEW_COLS + 7;
        let mut x = CsrMatrix::new(cols);
        for i in 0..200usize {
            let indices: Vec<u32> = (0..cols as u32).skip(1 + i % 3).step_by(3).collect();
            let values: Vec<f32> = indices.iter().map(|&j| (j % 8) as f32 + i as f32).collect();
            x.push_row(&indices, &values);
        }
        let design = Design::new(x, true);
        assert!(row_parts(200, cols, design.matrix().nnz()).len() > 1);
        let mut expected = vec![1.0; cols];
        expected[0] += 400.0;
        for row in design.matrix().iter() {
            row.axpy_into(2.0, &mut expected);
        }
        // All terms are whole numbers, so that sums are exact in any order.
        let mut sums = vec![1.0; cols];
        design.scatter(&[2.0; 200], &mut sums);
        assert_eq!(sums, expected);
    }

    #[test]
    fn far_weights_give_the_same_scores() {
        let design = wide();
        let w: Vec<f64> = (0..COLS).map(|j| 1.0 / (j + 1) as f64).collect();
        let expected: Vec<f64> = design.matrix().iter().map(|row| w[0] + row.dot(&w)).collect();
        assert_eq!(design.scores(&w), expected);
    }
}
