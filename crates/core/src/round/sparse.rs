//! Sparse vectors as they are exchanged, and models among them.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use wincode::{SchemaRead, SchemaWrite};

/// Entries of a sparse vector: ascending columns and a value for each.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, SchemaRead, SchemaWrite)]
pub struct Sparse<T> {
    /// Columns, strictly ascending.
    pub indices: Vec<u32>,
    /// The values in those columns.
    pub values: Vec<T>,
}

/// A k-sparse model at full precision.
pub type Weights = Sparse<f64>;

impl<T: Copy> Sparse<T> {
    /// Pairs of column and value.
    pub fn iter(&self) -> impl Iterator<Item = (usize, T)> + '_ {
        self.indices.iter().map(|&j| j as usize).zip(self.values.iter().copied())
    }
}

impl Weights {
    /// The dense vector of length `cols`.
    pub fn to_dense(&self, cols: usize) -> Vec<f64> {
        let mut out = vec![0.0; cols];
        for (j, v) in self.iter() {
            out[j] = v;
        }
        out
    }

    /// Drops the entries that are 0. Every entry is copied: nobody can guess which of a million are, and a wrong guess costs
    /// more than a copy.
    pub fn drop_zeros(&mut self) {
        let mut kept = 0;
        for at in 0..self.values.len() {
            let (index, value) = (self.indices[at], self.values[at]);
            (self.indices[kept], self.values[kept]) = (index, value);
            kept += usize::from(value != 0.0);
        }
        self.indices.truncate(kept);
        self.values.truncate(kept);
    }

    /// Drops all but the `count` features of largest weight, those up to column `kept` before all others; the intercept
    /// stays.
    pub fn keep_largest(&mut self, count: usize, kept: usize) {
        if self.indices.len() <= count {
            return;
        }
        let constant = usize::from(self.indices.first() == Some(&0));
        let mut order: Vec<usize> = (constant..self.indices.len()).collect();
        let size = |i: usize| {
            if self.indices[i] as usize <= kept { f64::INFINITY } else { self.values[i].abs() }
        };
        order.sort_by(|&a, &b| size(b).total_cmp(&size(a)).then(a.cmp(&b)));
        order.truncate(count);
        order.extend(0..constant);
        order.sort_unstable();
        self.indices = order.iter().map(|&i| self.indices[i]).collect();
        self.values = order.iter().map(|&i| self.values[i]).collect();
    }

    /// Gives the columns from 1 to `kept` a place: with weight 0 where they have none.
    pub fn make_room(&mut self, kept: usize) {
        let all = 1..=kept as u32;
        let missing: Vec<u32> = all.filter(|j| self.indices.binary_search(j).is_err()).collect();
        if missing.is_empty() {
            return;
        }
        let mut entries: Vec<(u32, f64)> =
            self.indices.iter().copied().zip(self.values.iter().copied()).collect();
        entries.extend(missing.into_iter().map(|j| (j, 0.0)));
        entries.sort_unstable_by_key(|entry| entry.0);
        (self.indices, self.values) = entries.into_iter().unzip();
    }

    /// `||w||^2`, the intercept included.
    pub fn norm_sq(&self) -> f64 {
        sum_of(&self.values, |v| v * v)
    }

    /// Non-zero weights, the intercept (column 0) not counted.
    pub fn nnz(&self) -> usize {
        self.iter().filter(|&(j, v)| j > 0 && v != 0.0).count()
    }
}

/// The sum of `f` over many numbers, by blocks of a fixed length, which threads share.
pub(crate) fn sum_of(numbers: &[f64], f: impl Fn(f64) -> f64 + Sync) -> f64 {
    const BLOCK: usize = 1 << 15;
    if numbers.len() <= BLOCK {
        return sum_side_by_side(numbers, f);
    }
    let blocks = numbers.par_chunks(BLOCK).map(|block| sum_side_by_side(block, &f));
    blocks.collect::<Vec<f64>>().iter().sum()
}

/// Several sums side by side, for one alone waits for every addition before.
#[inline]
fn sum_side_by_side(numbers: &[f64], f: impl Fn(f64) -> f64) -> f64 {
    let (chunks, rest) = numbers.as_chunks::<8>();
    let mut sums = [0.0; 8];
    for chunk in chunks {
        sums.iter_mut().zip(chunk).for_each(|(sum, &v)| *sum += f(v));
    }
    sums.iter().sum::<f64>() + rest.iter().map(|&v| f(v)).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_are_dropped_and_nothing_else() {
        let mut model =
            Weights { indices: vec![0, 2, 3, 7, 9], values: vec![0.0, -1.5, 0.0, -0.0, 4.0] };
        model.drop_zeros();
        assert_eq!(model, Weights { indices: vec![2, 9], values: vec![-1.5, 4.0] });
    }

    #[test]
    fn a_sum_over_many_numbers_is_right_and_the_same_on_any_number_of_threads() {
        let numbers: Vec<f64> = (0..100_003).map(|i| f64::from(i % 1000) - 300.0).collect();
        let expected: f64 = numbers.iter().map(|v| v * v).sum();
        for threads in [1, 3] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            // Squares of whole numbers: every order of additions is exact.
            assert_eq!(pool.install(|| sum_of(&numbers, |v| v * v)), expected);
        }
    }
}
