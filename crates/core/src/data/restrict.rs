//! A matrix of some columns of another one.

use std::ops::Range;

use rayon::prelude::*;

use super::{csr::CsrMatrix, shortlist::Shortlist};

/// Rows that are worth a task, and words of marks.
const BLOCK_ROWS: usize = 1024;
const BLOCK_WORDS: usize = 1024;

impl CsrMatrix {
    /// Becomes the rows of `x` with the columns in `list` alone, which ascends; their places there are their new numbers.
    ///
    /// Which entries these are cannot be foreseen by a processor, so they are marked first, without a branch. The marks tell
    /// how many each row has, hence where every block of rows goes, and threads need not put pieces together afterwards.
    /// What memory there is is used again, also that of `marks`.
    pub fn restrict(&mut self, x: &Self, list: &Shortlist, marks: &mut Vec<u64>) {
        mark(&x.indices, list, marks);
        self.count_marked(x, marks);
        self.fill_marked(x, marks, list);
        self.cols = list.columns().len();
    }

    /// The ends of the rows.
    fn count_marked(&mut self, x: &Self, marks: &[u64]) {
        let ends = self.offsets.own();
        ends.clear();
        ends.resize(x.rows() + 1, 0);
        ends[1..].par_chunks_mut(BLOCK_ROWS).enumerate().for_each(|(block, counts)| {
            for (count, i) in counts.iter_mut().zip(block * BLOCK_ROWS..) {
                let words = words_of(marks, x.offsets[i]..x.offsets[i + 1]);
                *count = words.map(|(_, word)| word.count_ones() as usize).sum();
            }
        });
        let mut end = 0;
        for count in ends {
            end += *count;
            *count = end;
        }
    }

    /// The entries, where the ends of the rows are known.
    fn fill_marked(&mut self, x: &Self, marks: &[u64], list: &Shortlist) {
        let (ends, indices, values) = (&self.offsets, self.indices.own(), self.values.own());
        let entries = ends.last().copied().unwrap_or(0);
        indices.resize(entries, 0);
        values.resize(entries, 0.0);
        let (mut indices, mut values) = (&mut indices[..], &mut values[..]);
        let mut blocks = Vec::new();
        for first in (0..x.rows()).step_by(BLOCK_ROWS) {
            let last = (first + BLOCK_ROWS).min(x.rows());
            let entries = ends[last] - ends[first];
            let (columns, more) = indices.split_at_mut(entries);
            let (numbers, rest) = values.split_at_mut(entries);
            blocks.push((x.offsets[first]..x.offsets[last], columns, numbers));
            (indices, values) = (more, rest);
        }
        blocks.into_par_iter().for_each(|(span, columns, numbers)| {
            let mut places = columns.iter_mut().zip(numbers);
            for (first, mut word) in words_of(marks, span) {
                while word != 0 {
                    let at = first + word.trailing_zeros() as usize;
                    if let Some((column, number)) = places.next() {
                        (*column, *number) = (list.at(x.indices[at]), x.values[at]);
                    }
                    word &= word - 1;
                }
            }
        });
    }
}

/// A bit for every entry: whether its column is listed.
fn mark(indices: &[u32], list: &Shortlist, marks: &mut Vec<u64>) {
    let word = |entries: &[u32]| {
        entries.iter().rev().fold(0, |word, &j| word << 1 | u64::from(list.has(j)))
    };
    indices.par_chunks(64).with_min_len(BLOCK_WORDS).map(word).collect_into_vec(marks);
}

/// The words with marks of the entries in `span`, each with the number of its first entry, and without those of others.
fn words_of(marks: &[u64], span: Range<usize>) -> impl Iterator<Item = (usize, u64)> + '_ {
    let Range { start, end } = span;
    let words = if start < end { start / 64..end.div_ceil(64) } else { 0..0 };
    words.map(move |at| {
        let first = at * 64;
        let above = u64::MAX << start.saturating_sub(first).min(63);
        let below = u64::MAX >> (first + 64).saturating_sub(end).min(63);
        (first, marks[at] & above & below)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn keeps_what_a_filter_keeps(
            rows in prop::collection::vec(prop::collection::btree_map(1u32..200, -9.0f32..9.0, 0..150), 0..40),
            columns in prop::collection::btree_set(0u32..200, 0..200),
            before in 0usize..3,
        ) {
            let mut x = CsrMatrix::new(200);
            for row in &rows {
                let (indices, values): (Vec<u32>, Vec<f32>) = row.iter().map(|(&j, &v)| (j, v)).unzip();
                x.push_row(&indices, &values);
            }
            let columns: Vec<u32> = columns.into_iter().collect();
            let list = Shortlist::of(columns.iter().copied(), 200);
            let mut expected = CsrMatrix::new(columns.len());
            for row in &rows {
                let kept = row.iter().filter_map(|(&j, &v)| Some((list.place(j)? as u32, v)));
                let (indices, values): (Vec<u32>, Vec<f32>) = kept.unzip();
                expected.push_row(&indices, &values);
            }
            // What was there before is no part of the result.
            let mut found = CsrMatrix::new(7);
            (0..before).for_each(|_| found.push_row(&[1, 3], &[1.0, 2.0]));
            found.restrict(&x, &list, &mut vec![7; before]);
            prop_assert_eq!(found, expected);
        }
    }
}
