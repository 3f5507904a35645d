//! How good a model is on rows that no single process holds: sums of every shard, added up.
//!
//! Losses and counts add exactly. The area under the ROC curve needs the order of all scores; shards send
//! counts of scores rounded to 8 significant bits instead, so that an answer has a fixed size whatever the
//! number of rows, and rows whose rounded scores are equal count as ties.

use crate::{
    evaluate::Quality,
    metrics::{Classification, Confusion, Regression},
};

/// What the rows of a shard, or of several, say about a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Measures {
    /// Sum of the losses, sample weights applied.
    pub loss: f64,
    /// What depends on the kind of task.
    pub task: TaskMeasures,
}

/// The sums of a kind of task.
#[derive(Debug, Clone, PartialEq)]
pub enum TaskMeasures {
    /// Two classes.
    Classes {
        /// How often each kind of answer was given.
        confusion: Confusion,
        /// Rows by rounded score, ascending.
        scores: Vec<ScoreCount>,
    },
    /// Real targets.
    Numbers(Moments),
}

/// Rows of one rounded score.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScoreCount {
    /// The rounded score, as [`score_key`] orders it.
    pub key: u16,
    /// Positive rows.
    pub positives: u64,
    /// Negative rows.
    pub negatives: u64,
}

/// Mean and spread of targets, and the error of predictions.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Moments {
    /// Rows.
    pub rows: u64,
    /// Mean of the targets.
    pub mean: f64,
    /// Sum of squared deviations from the mean.
    pub spread: f64,
    /// Sum of squared errors.
    pub squared_error: f64,
}

/// The upper half of the bits of a score as f32, in an order that is the order of the scores.
pub fn score_key(score: f64) -> u16 {
    // Adding 0 makes a -0 a 0.
    let bits = (score as f32 + 0.0).to_bits();
    let ordered = if bits >> 31 == 1 { !bits } else { bits | 1 << 31 };
    (ordered >> 16) as u16
}

impl Measures {
    /// Of rows with these scores and targets, whose losses add up to `loss`.
    pub fn of(classes: bool, loss: f64, scores: &[f64], targets: &[f64]) -> Self {
        let task = if classes {
            TaskMeasures::Classes {
                confusion: Confusion::of(scores, targets),
                scores: count_scores(scores, targets),
            }
        } else {
            TaskMeasures::Numbers(Moments::of(scores, targets))
        };
        Self { loss, task }
    }

    /// Those of all shards; `None` if they are not of one kind, or there are none.
    pub fn sum(parts: &[Self]) -> Option<Self> {
        let (first, rest) = parts.split_first()?;
        let mut total = first.clone();
        for part in rest {
            total.loss += part.loss;
            match (&mut total.task, &part.task) {
                (
                    TaskMeasures::Classes { confusion, scores },
                    TaskMeasures::Classes { confusion: c, scores: s },
                ) => {
                    confusion.add(c);
                    *scores = merge(scores, s);
                }
                (TaskMeasures::Numbers(a), TaskMeasures::Numbers(b)) => a.add(b),
                _ => return None,
            }
        }
        Some(total)
    }

    /// The usual measures.
    pub fn quality(&self) -> Quality {
        match &self.task {
            TaskMeasures::Classes { confusion, scores } => {
                let groups = scores.iter().map(|s| (s.positives, s.negatives));
                Quality::Classes(Classification::from_groups(*confusion, groups))
            }
            TaskMeasures::Numbers(moments) => Quality::Numbers(moments.regression()),
        }
    }
}

fn count_scores(scores: &[f64], targets: &[f64]) -> Vec<ScoreCount> {
    // The key above, and in the last bit whether the row is positive.
    let entry = |(&z, &y): (&f64, &f64)| u32::from(score_key(z)) << 1 | u32::from(y > 0.0);
    let mut rows: Vec<u32> = scores.iter().zip(targets).map(entry).collect();
    let mut other = vec![0; rows.len()];
    sort_by_byte(&rows, &mut other, 1);
    sort_by_byte(&other, &mut rows, 9);
    rows.chunk_by(|a, b| a >> 1 == b >> 1)
        .map(|same| {
            let positives = same.iter().map(|row| u64::from(row & 1)).sum();
            let key = (same[0] >> 1) as u16;
            ScoreCount { key, positives, negatives: same.len() as u64 - positives }
        })
        .collect()
}

/// `from` in the order of the byte `shift` bits up; those with the same byte stay in theirs. (Keys have two bytes. To compare them
/// took 3 % of the instructions of a run of 7,000 rows.)
fn sort_by_byte(from: &[u32], to: &mut [u32], shift: u32) {
    let byte = |row: u32| (row >> shift) as usize & 0xff;
    let mut places = [0; 256];
    from.iter().for_each(|&row| places[byte(row)] += 1);
    let mut before = 0;
    for place in &mut places {
        (*place, before) = (before, before + *place);
    }
    for &row in from {
        let place = &mut places[byte(row)];
        to[*place] = row;
        *place += 1;
    }
}

fn merge(a: &[ScoreCount], b: &[ScoreCount]) -> Vec<ScoreCount> {
    let mut all = [a, b].concat();
    all.sort_by_key(|count| count.key);
    all.chunk_by(|a, b| a.key == b.key)
        .map(|same| ScoreCount {
            key: same[0].key,
            positives: same.iter().map(|s| s.positives).sum(),
            negatives: same.iter().map(|s| s.negatives).sum(),
        })
        .collect()
}

impl Moments {
    fn of(predictions: &[f64], targets: &[f64]) -> Self {
        let rows = targets.len() as u64;
        let mean = targets.iter().sum::<f64>() / (rows as f64).max(1.0);
        Self {
            rows,
            mean,
            spread: targets.iter().map(|t| (t - mean).powi(2)).sum(),
            squared_error: predictions.iter().zip(targets).map(|(p, t)| (p - t).powi(2)).sum(),
        }
    }

    /// Spreads about two means become one about the common mean.
    fn add(&mut self, other: &Self) {
        let rows = self.rows + other.rows;
        let share = other.rows as f64 / (rows as f64).max(1.0);
        let apart = other.mean - self.mean;
        self.spread += other.spread + apart * apart * share * self.rows as f64;
        self.mean += apart * share;
        self.squared_error += other.squared_error;
        self.rows = rows;
    }

    fn regression(&self) -> Regression {
        let rows = (self.rows as f64).max(1.0);
        // Equal targets whose mean is rounded have a tiny spread that is not variance.
        let rounding = rows * (rows * f64::EPSILON * self.mean).powi(2);
        let varies = self.spread > rounding;
        Regression {
            rmse: (self.squared_error / rows).sqrt(),
            r2: varies.then(|| 1.0 - self.squared_error / self.spread),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(count: usize) -> (Vec<f64>, Vec<f64>) {
        let score = |i: usize| ((i * 7919 % 1009) as f64 / 1009.0 - 0.4) * 3.0;
        let scores: Vec<f64> = (0..count).map(score).collect();
        let target =
            |i: usize| if (i * 31 % 17) as f64 > 6.0 - 2.0 * scores[i] { 1.0 } else { -1.0 };
        let targets = (0..count).map(target).collect();
        (scores, targets)
    }

    fn in_parts(classes: bool, scores: &[f64], targets: &[f64]) -> Measures {
        let cut = [0, 13, 13, 400, scores.len()];
        let parts: Vec<Measures> = cut
            .windows(2)
            .map(|w| Measures::of(classes, 1.0, &scores[w[0]..w[1]], &targets[w[0]..w[1]]))
            .collect();
        Measures::sum(&parts).unwrap()
    }

    #[test]
    fn scores_are_counted_in_the_order_of_their_keys() {
        let (mut scores, targets) = rows(3000);
        scores[..6].copy_from_slice(&[0.0, -0.0, 1e30, -1e30, 1e-30, -1e-30]);
        let mut expected = std::collections::BTreeMap::new();
        for (&z, &y) in scores.iter().zip(&targets) {
            let (positives, negatives) = expected.entry(score_key(z)).or_insert((0, 0));
            *(if y > 0.0 { positives } else { negatives }) += 1;
        }
        let expected: Vec<ScoreCount> = expected
            .into_iter()
            .map(|(key, (positives, negatives))| ScoreCount { key, positives, negatives })
            .collect();
        assert_eq!(count_scores(&scores, &targets), expected);
        assert_eq!(count_scores(&[], &[]), []);
    }

    #[test]
    fn classes_add_up_to_what_one_process_measures() {
        let (scores, targets) = rows(1000);
        let Quality::Classes(parts) = in_parts(true, &scores, &targets).quality() else {
            panic!("not classes")
        };
        let whole = Classification::of(&scores, &targets).unwrap();
        assert_eq!(parts.confusion, whole.confusion);
        assert_eq!(parts.accuracy, whole.accuracy);
        let (rounded, exact) = (parts.auc.unwrap(), whole.auc.unwrap());
        assert!(exact > 0.55 && exact < 0.99, "{exact} would not show a mistake");
        assert!((rounded - exact).abs() < 1e-3, "{rounded} {exact}");
    }

    #[test]
    fn numbers_add_up_to_what_one_process_measures() {
        let (scores, targets) = rows(1000);
        let targets: Vec<f64> = targets.iter().zip(&scores).map(|(t, s)| 1e3 + t + s).collect();
        let Quality::Numbers(parts) = in_parts(false, &scores, &targets).quality() else {
            panic!("not numbers")
        };
        let whole = Regression::of(&scores, &targets).unwrap();
        assert!((parts.rmse / whole.rmse - 1.0).abs() < 1e-12);
        assert!((parts.r2.unwrap() / whole.r2.unwrap() - 1.0).abs() < 1e-9);
        let equal = Measures::of(false, 0.0, &scores, &[0.1; 1000]);
        let Quality::Numbers(equal) = equal.quality() else { panic!("not numbers") };
        assert_eq!(equal.r2, None);
    }

    #[test]
    fn keys_are_in_the_order_of_scores() {
        let scores = [f64::NEG_INFINITY, -3.0, -1e-30, -0.0, 0.0, 1e-30, 0.5, 2.0, f64::INFINITY];
        assert!(scores.windows(2).all(|w| score_key(w[0]) <= score_key(w[1])));
        assert_eq!(score_key(-0.0), score_key(0.0));
        assert!(score_key(0.5) < score_key(0.51));
    }
}
