//! Cross-validation: rows dealt out to folds, class by class.

use rand::seq::SliceRandom;

use crate::{
    data::{LabelRule, RawData},
    rng,
};

/// Number of the generator for folds: no shard has it.
const FOLDS: usize = usize::MAX - 1;

/// Which fold each row belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folds {
    of_row: Vec<usize>,
    count: usize,
}

impl Folds {
    /// Deals the rows out at random so that every fold has its share of every class, of targets that are `classes`, or else
    /// of all rows.
    pub fn deal(labels: &[f64], classes: bool, count: usize, seed: u64) -> Self {
        let mut order: Vec<usize> = (0..labels.len()).collect();
        order.shuffle(&mut rng::generator(seed, FOLDS, 0));
        if classes {
            // Stable: within a class rows stay shuffled.
            order.sort_by(|&a, &b| labels[a].total_cmp(&labels[b]));
        }
        let mut of_row = vec![0; labels.len()];
        order.iter().enumerate().for_each(|(place, &row)| of_row[row] = place % count);
        Self { of_row, count }
    }

    /// How many folds there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The rows outside `fold`, to train on, and those in it.
    pub fn split(&self, raw: &RawData, fold: usize) -> (RawData, RawData) {
        let part = |inside: bool| raw.select(|row| (self.of_row[row] == fold) == inside);
        (part(false), part(true))
    }
}

/// Labels as classes: what `rule` makes of them, or as they are.
pub fn classes(labels: &[f64], rule: Option<&LabelRule>) -> Vec<f64> {
    let mut labels = labels.to_vec();
    if let Some(rule) = rule {
        rule.apply(&mut labels);
    }
    labels
}

/// Scores of one setting over the folds; less is better.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// Their mean.
    pub mean: f64,
    /// The standard error of the mean.
    pub error: f64,
}

impl Spread {
    /// Of at least one score.
    pub fn of(scores: &[f64]) -> Self {
        let n = scores.len() as f64;
        let mean = scores.iter().sum::<f64>() / n;
        let squares: f64 = scores.iter().map(|s| (s - mean).powi(2)).sum();
        let error = if scores.len() > 1 { (squares / (n - 1.0) / n).sqrt() } else { 0.0 };
        Self { mean, error }
    }
}

/// The setting with the least mean, and the first one whose mean is within one standard error of it; `spreads` go from
/// the simplest setting to the most complex.
pub fn choose(spreads: &[Spread]) -> Option<(usize, usize)> {
    let best = (0..spreads.len()).min_by(|&a, &b| spreads[a].mean.total_cmp(&spreads[b].mean))?;
    let limit = spreads[best].mean + spreads[best].error;
    let simplest = spreads.iter().position(|s| s.mean <= limit)?;
    Some((best, simplest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fold_has_its_share_of_every_class() {
        let labels: Vec<f64> = (0..103).map(|i| if i < 31 { 1.0 } else { -1.0 }).collect();
        let folds = Folds::deal(&labels, true, 5, 3);
        for fold in 0..5 {
            let rows: Vec<usize> = (0..103).filter(|&r| folds.of_row[r] == fold).collect();
            let positive = rows.iter().filter(|&&r| labels[r] > 0.0).count();
            assert!((20..=21).contains(&rows.len()), "{}", rows.len());
            assert!((6..=7).contains(&positive), "{positive}");
        }
        assert_eq!(folds, Folds::deal(&labels, true, 5, 3));
        assert_ne!(folds, Folds::deal(&labels, true, 5, 4));
    }

    #[test]
    fn the_simplest_setting_within_an_error_is_named() {
        let spread = |mean, error| Spread { mean, error };
        let spreads =
            [spread(0.5, 0.01), spread(0.21, 0.01), spread(0.2, 0.02), spread(0.205, 0.0)];
        assert_eq!(choose(&spreads), Some((2, 1)));
        assert_eq!(choose(&[]), None);
        let of = Spread::of(&[1.0, 2.0, 3.0]);
        assert!((of.mean - 2.0).abs() < 1e-15 && (of.error - (1.0 / 3f64).sqrt()).abs() < 1e-15);
    }
}
