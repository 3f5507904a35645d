//! `--keep` and `--exclude`: features that are always in the model, and features that never are.
//!
//! Inside a run the kept features are the first columns, so that "is it kept" is one comparison wherever features are
//! chosen; all others follow in their order. [`FeatureChoice::inner`] and [`FeatureChoice::outer`] are the two ways
//! between this numbering and that of the input.

use serde::{Deserialize, Serialize};

use super::csr::CsrMatrix;

/// Columns that are chosen, or not, by the user.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FeatureChoice {
    keep: Vec<u32>,
    exclude: Vec<u32>,
}

impl FeatureChoice {
    /// Of columns in any order. Column 0, the intercept, is no feature and is passed over.
    pub fn new(keep: Vec<u32>, exclude: Vec<u32>) -> Self {
        let tidy = |mut columns: Vec<u32>| {
            columns.retain(|&column| column > 0);
            columns.sort_unstable();
            columns.dedup();
            columns
        };
        Self { keep: tidy(keep), exclude: tidy(exclude) }
    }

    /// The columns that are always in the model, ascending.
    pub fn keep(&self) -> &[u32] {
        &self.keep
    }

    /// The columns that never are, ascending.
    pub fn exclude(&self) -> &[u32] {
        &self.exclude
    }

    /// A column that is in both lists.
    pub fn contradiction(&self) -> Option<u32> {
        self.keep.iter().copied().find(|column| self.exclude.binary_search(column).is_ok())
    }

    /// The place inside a run of a column of the input.
    pub fn inner(&self, column: u32) -> u32 {
        match self.keep.binary_search(&column) {
            _ if column == 0 => 0,
            Ok(at) => at as u32 + 1,
            Err(before) => column + (self.keep.len() - before) as u32,
        }
    }

    /// The column of the input at a place inside a run.
    pub fn outer(&self, place: u32) -> u32 {
        let kept = self.keep.len() as u32;
        if place == 0 || kept == 0 {
            return place;
        }
        if place <= kept {
            return self.keep[place as usize - 1];
        }
        let mut column = place - kept;
        for &keep in &self.keep {
            if keep > column {
                break;
            }
            column += 1;
        }
        column
    }

    /// Drops what is excluded and puts the columns into the order of a run.
    pub fn apply(&self, x: &mut CsrMatrix) {
        if !self.exclude.is_empty() {
            x.retain(|column| self.exclude.binary_search(&column).is_err());
        }
        if let Some(&last) = self.keep.last() {
            x.cover(last);
            x.bring_forward(
                |column| self.keep.binary_search(&column).is_ok(),
                |column| self.inner(column),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn both_ways_between_the_numberings_agree(
            keep in prop::collection::vec(1u32..40, 0..10),
        ) {
            let choice = FeatureChoice::new(keep, Vec::new());
            let mut places: Vec<u32> = (0..40).map(|column| choice.inner(column)).collect();
            for column in 0..40 {
                prop_assert_eq!(choice.outer(choice.inner(column)), column);
            }
            for &column in choice.keep() {
                prop_assert!(choice.inner(column) as usize <= choice.keep().len());
            }
            places.sort_unstable();
            prop_assert!(places.into_iter().eq(0..40));
        }
    }

    #[test]
    fn rows_follow() {
        let mut x = CsrMatrix::new(8);
        x.push_row(&[1, 3, 5, 7], &[1.0, 3.0, 5.0, 7.0]);
        x.push_row(&[2], &[2.0]);
        x.push_row(&[4, 5], &[4.0, 5.0]);
        let choice = FeatureChoice::new(vec![5, 3, 3], vec![7, 0]);
        assert_eq!((choice.keep(), choice.exclude()), ([3, 5].as_slice(), [7].as_slice()));
        choice.apply(&mut x);
        let rows: Vec<_> =
            x.iter().map(|row| (row.indices.to_vec(), row.values.to_vec())).collect();
        assert_eq!(rows[0], (vec![1, 2, 3], vec![3.0, 5.0, 1.0]));
        assert_eq!(rows[1], (vec![4], vec![2.0]));
        assert_eq!(rows[2], (vec![2, 5], vec![5.0, 4.0]));
        assert_eq!(FeatureChoice::new(vec![2, 9], vec![4, 9]).contradiction(), Some(9));
    }
}
