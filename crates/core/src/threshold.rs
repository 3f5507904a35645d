//! `H_k`: the `k` entries of largest magnitude (used in every step of M3, M5 and M11).
//!
//! Ties go to the lower index, so the result does not depend on the selection algorithm. Selection is
//! quickselect over a list of candidates; a threshold remembered from the last call keeps that list near
//! `k` long when the vector changes slowly, so that a call costs one scan of the vector.

use std::cmp::Ordering;

/// Selects the `k` largest `|v_j|`, reusing its memory between calls.
#[derive(Debug, Clone, Default)]
pub struct TopK {
    /// Candidates as (magnitude, index).
    pool: Vec<(f64, u32)>,
    /// A magnitude that at least `k` entries reached last time, lowered a little.
    hint: f64,
}

/// Entries from which on a sample of one in `STRIDE` tells how large the largest are.
const MANY: usize = 1 << 14;
const STRIDE: usize = 61;

/// Larger magnitude first, then lower index.
fn by_rank(a: &(f64, u32), b: &(f64, u32)) -> Ordering {
    b.0.total_cmp(&a.0).then(a.1.cmp(&b.1))
}

impl TopK {
    /// A selector without memory.
    pub fn new() -> Self {
        Self::default()
    }

    /// The indices in `1..len` of the `k` largest non-zero `magnitude(j)`, ascending, in `out`.
    ///
    /// Column 0 (the intercept) is not a feature and is never selected. Entries that are zero are never
    /// selected, so fewer than `k` indices may come back. A NaN is treated as zero.
    pub fn select(
        &mut self,
        len: usize,
        k: usize,
        magnitude: impl Fn(usize) -> f64,
        out: &mut Vec<u32>,
    ) {
        let floor = if self.hint > 0.0 { self.hint } else { self.guess(len, k, &magnitude) };
        self.collect(len, floor, &magnitude);
        if self.pool.len() < k && floor > 0.0 {
            self.collect(len, 0.0, &magnitude);
        }
        let cut = self.cut(k);
        self.hint = if self.pool.len() > k { 0.8 * cut } else { 0.0 };
        out.clear();
        out.extend(self.pool.iter().take(k).map(|&(_, j)| j));
        // A pool that is taken whole is still in order.
        if self.pool.len() > k {
            out.sort_unstable();
        }
    }

    /// A magnitude that about twice `k` entries reach, by a sample of them; 0 where that would save nothing.
    fn guess(&mut self, len: usize, k: usize, magnitude: &impl Fn(usize) -> f64) -> f64 {
        if k.saturating_mul(8) > len || len < MANY {
            return 0.0;
        }
        self.pool.clear();
        let sample = (1..len).step_by(STRIDE).map(|j| (magnitude(j), 0));
        self.pool.extend(sample.filter(|entry| entry.0 > 0.0));
        let rank = 2 * k / STRIDE + 16;
        if self.pool.len() <= rank { 0.0 } else { self.cut(rank) }
    }

    /// Gathers the entries of at least `floor`, zeros excepted.
    fn collect(&mut self, len: usize, floor: f64, magnitude: &impl Fn(usize) -> f64) {
        self.pool.clear();
        for j in 1..len {
            let m = magnitude(j);
            if m > 0.0 && m >= floor {
                self.pool.push((m, j as u32));
            }
        }
    }

    /// Moves the `k` best of the pool to its front and returns the smallest magnitude among them.
    fn cut(&mut self, k: usize) -> f64 {
        if k == 0 {
            return f64::INFINITY;
        }
        if self.pool.len() > k {
            self.pool.select_nth_unstable_by(k - 1, by_rank);
        }
        self.pool.iter().take(k).map(|&(m, _)| m).fold(f64::INFINITY, f64::min)
    }
}

/// `|v_j|`, or infinity for the columns from 1 to `kept`, which then are always selected.
pub fn favouring(kept: usize, v: &[f64]) -> impl Fn(usize) -> f64 + '_ {
    move |j| if j <= kept { f64::INFINITY } else { v[j].abs() }
}

/// The indices of the `k` largest `|v_j|`, `j >= 1`, ascending: [`TopK::select`] for a single use.
pub fn top_k(v: &[f64], k: usize) -> Vec<u32> {
    top_k_keeping(v, k, 0)
}

/// The same, with the columns up to `kept` before all others.
pub fn top_k_keeping(v: &[f64], k: usize, kept: usize) -> Vec<u32> {
    let mut out = Vec::new();
    TopK::new().select(v.len(), k, favouring(kept, v), &mut out);
    out
}

/// The sum of the `k` largest of `values` (all non-negative); reorders them.
pub fn sum_of_largest(values: &mut [f64], k: usize) -> f64 {
    if k == 0 {
        return 0.0;
    }
    if values.len() <= k {
        return values.iter().sum();
    }
    values.select_nth_unstable_by(k - 1, |a, b| b.total_cmp(a));
    let kept = &mut values[..k];
    // Ascending order makes the sum independent of how the selection shuffled them.
    kept.sort_unstable_by(f64::total_cmp);
    kept.iter().sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The definition: a full stable sort by magnitude.
    fn by_sorting(v: &[f64], k: usize) -> Vec<u32> {
        let mut order: Vec<u32> = (1..v.len() as u32).filter(|&j| v[j as usize] != 0.0).collect();
        order.sort_by(|&a, &b| v[b as usize].abs().total_cmp(&v[a as usize].abs()));
        order.truncate(k);
        order.sort_unstable();
        order
    }

    fn vectors() -> impl Strategy<Value = Vec<f64>> {
        // Few distinct values, so that ties are common.
        prop::collection::vec((-4i8..=4).prop_map(|i| f64::from(i) / 2.0), 1..60)
    }

    proptest! {
        #[test]
        fn agrees_with_a_full_sort(v in vectors(), k in 0usize..70) {
            prop_assert_eq!(top_k(&v, k), by_sorting(&v, k));
        }

        #[test]
        fn kept_columns_come_first(v in vectors(), k in 0usize..70, kept in 0usize..10) {
            let kept = kept.min(v.len() - 1).min(k);
            let chosen = top_k_keeping(&v, k, kept);
            let (first, others) = chosen.split_at(kept);
            prop_assert!(first.iter().copied().eq(1..=kept as u32));
            let mut rest = v;
            rest[..=kept].fill(0.0);
            prop_assert_eq!(others, by_sorting(&rest, k - kept));
        }

        #[test]
        fn memory_of_earlier_calls_never_changes_the_result(
            vs in prop::collection::vec(vectors(), 1..6), k in 0usize..20,
        ) {
            let mut selector = TopK::new();
            let mut out = Vec::new();
            for v in &vs {
                selector.select(v.len(), k, |j| v[j].abs(), &mut out);
                prop_assert_eq!(&out, &by_sorting(v, k));
            }
        }

        #[test]
        fn sum_of_largest_agrees_with_a_full_sort(v in vectors(), k in 0usize..70) {
            let mut squares: Vec<f64> = v.iter().map(|x| x * x).collect();
            let mut sorted = squares.clone();
            sorted.sort_by(|a, b| b.total_cmp(a));
            let expected: f64 = sorted.iter().take(k).sum();
            prop_assert!((sum_of_largest(&mut squares, k) - expected).abs() < 1e-12);
        }
    }

    /// Long vectors are sampled first; magnitudes in rows, so that a sample is now too high and now too low.
    #[test]
    fn a_sample_never_changes_the_result() {
        for (period, k) in [(61, 900), (7, 2000), (1000, 30), (20_000, 100)] {
            let v: Vec<f64> = (0..40_000).map(|j| f64::from(j % period) - 3.0).collect();
            assert_eq!(top_k(&v, k), by_sorting(&v, k), "{period}");
        }
    }

    #[test]
    fn never_selects_the_intercept_or_zeros() {
        assert_eq!(top_k(&[9.0, 0.0, 2.0, -3.0], 3), vec![2, 3]);
        assert_eq!(top_k(&[9.0, f64::NAN, 2.0], 2), vec![2]);
    }
}
