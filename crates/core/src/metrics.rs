//! How good predictions are: from scores `x'w` and targets, on any data set.
//!
//! Counts are integers and every sum runs in a fixed order, so the same scores give the same bits.

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Why a metric could not be computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum MetricsError {
    /// As many predictions as targets are needed.
    #[error("{predictions} predictions for {targets} targets")]
    Lengths {
        /// How many predictions were given.
        predictions: usize,
        /// How many targets were given.
        targets: usize,
    },
    /// There is nothing to measure.
    #[error("no rows to measure")]
    Empty,
    /// A prediction or a target is NaN or infinite.
    #[error("prediction or target {row} is not a finite number")]
    NotFinite {
        /// The row, counted from 0.
        row: usize,
    },
}

/// How often each kind of answer was given.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confusion {
    /// Positive rows predicted positive.
    pub tp: u64,
    /// Negative rows predicted positive.
    pub fp: u64,
    /// Negative rows predicted negative.
    pub tn: u64,
    /// Positive rows predicted negative.
    #[serde(rename = "fn")]
    pub fn_: u64,
}

impl Confusion {
    /// Counts the answers; a row is predicted positive when its score is above 0, and is positive
    /// when its target is.
    #[must_use]
    pub fn of(scores: &[f64], targets: &[f64]) -> Self {
        let mut counts = Self::default();
        for (&score, &target) in scores.iter().zip(targets) {
            match (score > 0.0, target > 0.0) {
                (true, true) => counts.tp += 1,
                (true, false) => counts.fp += 1,
                (false, false) => counts.tn += 1,
                (false, true) => counts.fn_ += 1,
            }
        }
        counts
    }

    /// Adds the counts of other rows.
    pub fn add(&mut self, other: &Self) {
        self.tp += other.tp;
        self.fp += other.fp;
        self.tn += other.tn;
        self.fn_ += other.fn_;
    }

    /// The share of right answers; 0 when there is no row.
    #[must_use]
    pub fn accuracy(&self) -> f64 {
        ratio(self.tp + self.tn, self.tp + self.tn + self.fp + self.fn_)
    }

    /// The share of predicted positives that are positive; 0 when none is predicted.
    #[must_use]
    pub fn precision(&self) -> f64 {
        ratio(self.tp, self.tp + self.fp)
    }

    /// The share of positives that are found; 0 when there is none.
    #[must_use]
    pub fn recall(&self) -> f64 {
        ratio(self.tp, self.tp + self.fn_)
    }

    /// The harmonic mean of precision and recall; 0 when both are.
    #[must_use]
    pub fn f1(&self) -> f64 {
        ratio(2 * self.tp, 2 * self.tp + self.fp + self.fn_)
    }
}

/// What `eval` says about a two-class model.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Classification {
    /// The share of right answers.
    pub accuracy: f64,
    /// Area under the ROC curve, or `None` when the rows have one class.
    pub auc: Option<f64>,
    /// Harmonic mean of precision and recall.
    pub f1: f64,
    /// The share of predicted positives that are positive.
    pub precision: f64,
    /// The share of positives that are found.
    pub recall: f64,
    /// Average precision, or `None` when no row is positive.
    pub pr_auc: Option<f64>,
    /// How often each kind of answer was given.
    pub confusion: Confusion,
}

impl Classification {
    /// Measures scores `x'w` against targets, where a target above 0 is positive.
    pub fn of(scores: &[f64], targets: &[f64]) -> Result<Self, MetricsError> {
        check(scores, targets)?;
        let rows = by_score(scores, targets);
        Ok(Self::from(Confusion::of(scores, targets), || groups(&rows)))
    }

    /// From the numbers of positive and negative rows of each score, lowest score first.
    pub fn from_groups(confusion: Confusion, groups: impl IntoIterator<Item = (u64, u64)>) -> Self {
        let group = |(positives, negatives)| Group { positives, negatives };
        let groups: Vec<Group> = groups.into_iter().map(group).collect();
        Self::from(confusion, || groups.iter().copied())
    }

    fn from<G: DoubleEndedIterator<Item = Group>>(
        confusion: Confusion,
        groups: impl Fn() -> G,
    ) -> Self {
        Self {
            accuracy: confusion.accuracy(),
            auc: auc_of(groups()),
            f1: confusion.f1(),
            precision: confusion.precision(),
            recall: confusion.recall(),
            pr_auc: average_precision_of(groups().rev()),
            confusion,
        }
    }
}

/// What `eval` says about a regression model.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Regression {
    /// Root of the mean squared error.
    pub rmse: f64,
    /// The share of the targets' variance that is explained, or `None` when they have none.
    pub r2: Option<f64>,
}

impl Regression {
    /// Measures predictions against real targets.
    pub fn of(predictions: &[f64], targets: &[f64]) -> Result<Self, MetricsError> {
        check(predictions, targets)?;
        let n = targets.len() as f64;
        let mean = targets.iter().sum::<f64>() / n;
        let errors = predictions.iter().zip(targets).map(|(p, t)| (p - t).powi(2)).sum::<f64>();
        let spread = targets.iter().map(|t| (t - mean).powi(2)).sum::<f64>();
        // Equal targets whose mean is rounded have a tiny spread that is not variance.
        let varies = targets.iter().any(|&t| t != targets[0]);
        Ok(Self { rmse: (errors / n).sqrt(), r2: varies.then(|| 1.0 - errors / spread) })
    }
}

/// Area under the ROC curve: the chance that a positive row scores above a negative one, ties
/// counted as half. `None` when the rows have one class.
pub fn auc(scores: &[f64], targets: &[f64]) -> Result<Option<f64>, MetricsError> {
    check(scores, targets)?;
    Ok(auc_of(groups(&by_score(scores, targets))))
}

/// Average precision, the step-wise area under the precision-recall curve. `None` when no row is
/// positive.
pub fn average_precision(scores: &[f64], targets: &[f64]) -> Result<Option<f64>, MetricsError> {
    check(scores, targets)?;
    Ok(average_precision_of(groups(&by_score(scores, targets)).rev()))
}

/// Mean negative log-likelihood of the targets under `probabilities` of the positive class.
///
/// Probabilities are clipped away from 0 and 1, so one sure and wrong row costs about 36, not
/// infinity.
pub fn log_loss(probabilities: &[f64], targets: &[f64]) -> Result<f64, MetricsError> {
    check(probabilities, targets)?;
    let sum = probabilities
        .iter()
        .zip(targets)
        .map(|(&p, &t)| {
            let p = p.clamp(f64::EPSILON, 1.0 - f64::EPSILON);
            if t > 0.0 { -p.ln() } else { -(-p).ln_1p() }
        })
        .sum::<f64>();
    Ok(sum / targets.len() as f64)
}

/// Rows of one score.
#[derive(Clone, Copy)]
struct Group {
    positives: u64,
    negatives: u64,
}

/// Scores, lowest first, and whether their rows are positive.
fn by_score(scores: &[f64], targets: &[f64]) -> Vec<(f64, bool)> {
    let mut rows: Vec<(f64, bool)> =
        scores.iter().zip(targets).map(|(&score, &target)| (score, target > 0.0)).collect();
    rows.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    rows
}

/// The class counts of every distinct score, lowest score first. Most scores are distinct, so they are never all kept.
fn groups(rows: &[(f64, bool)]) -> impl DoubleEndedIterator<Item = Group> {
    // `==` and not the sort's order decides a tie: -0 and +0 are the same score.
    rows.chunk_by(|a, b| a.0 == b.0).map(|tied| {
        let positives = tied.iter().filter(|row| row.1).count() as u64;
        Group { positives, negatives: tied.len() as u64 - positives }
    })
}

/// The rank-sum form, in half pairs: exact integers up to the last division.
fn auc_of(groups: impl Iterator<Item = Group>) -> Option<f64> {
    let (mut half_pairs, mut positives, mut below) = (0_u128, 0_u64, 0_u64);
    for group in groups {
        half_pairs += u128::from(group.positives) * u128::from(2 * below + group.negatives);
        positives += group.positives;
        below += group.negatives;
    }
    let pairs = u128::from(positives) * u128::from(below);
    (pairs > 0).then(|| half_pairs as f64 / (2 * pairs) as f64)
}

/// From the highest score down.
fn average_precision_of(groups: impl Iterator<Item = Group>) -> Option<f64> {
    let (mut area, mut found, mut taken) = (0.0, 0_u64, 0_u64);
    for group in groups {
        found += group.positives;
        taken += group.positives + group.negatives;
        area += group.positives as f64 * ratio(found, taken);
    }
    (found > 0).then(|| area / found as f64)
}

fn check(predictions: &[f64], targets: &[f64]) -> Result<(), MetricsError> {
    if predictions.len() != targets.len() {
        let (predictions, targets) = (predictions.len(), targets.len());
        return Err(MetricsError::Lengths { predictions, targets });
    }
    if targets.is_empty() {
        return Err(MetricsError::Empty);
    }
    let bad = predictions.iter().zip(targets).position(|(p, t)| !(p.is_finite() && t.is_finite()));
    bad.map_or(Ok(()), |row| Err(MetricsError::NotFinite { row }))
}

fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SCORES: [f64; 6] = [2.0, 1.0, 1.0, 0.0, -1.0, -3.0];
    const TARGETS: [f64; 6] = [1.0, 1.0, -1.0, 1.0, -1.0, -1.0];

    fn close(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-12, "{a} is not {b}");
    }

    #[test]
    fn a_case_worked_by_hand() {
        let got = Classification::of(&SCORES, &TARGETS).unwrap();
        assert_eq!(got.confusion, Confusion { tp: 2, fp: 1, tn: 2, fn_: 1 });
        close(got.accuracy, 4.0 / 6.0);
        close(got.precision, 2.0 / 3.0);
        close(got.recall, 2.0 / 3.0);
        close(got.f1, 2.0 / 3.0);
        // Pairs won: the 2 wins 3, the 1 wins 2 and ties 1, the 0 wins 2.
        close(got.auc.unwrap(), 7.5 / 9.0);
        // Precision 1 at the first positive, 2/3 at the tied one, 3/4 at the last.
        close(got.pr_auc.unwrap(), (1.0 + 2.0 / 3.0 + 0.75) / 3.0);
    }

    #[test]
    fn a_score_of_zero_is_a_negative_answer_of_either_sign() {
        let got = Classification::of(&[0.0, -0.0], &[1.0, -1.0]).unwrap();
        assert_eq!(got.confusion, Confusion { tp: 0, fp: 0, tn: 1, fn_: 1 });
        close(got.auc.unwrap(), 0.5);
        close(got.precision, 0.0);
        close(got.f1, 0.0);
    }

    #[test]
    fn one_class_has_no_auc() {
        let only_negative = Classification::of(&[1.0, -1.0], &[-1.0, -1.0]).unwrap();
        assert_eq!((only_negative.auc, only_negative.pr_auc), (None, None));
        let only_positive = Classification::of(&[1.0, -1.0], &[1.0, 1.0]).unwrap();
        assert_eq!((only_positive.auc, only_positive.pr_auc), (None, Some(1.0)));
    }

    #[test]
    fn log_loss_is_clipped() {
        close(log_loss(&[0.5, 0.25], &[1.0, -1.0]).unwrap(), -(0.5_f64.ln() + 0.75_f64.ln()) / 2.0);
        let sure_and_wrong = log_loss(&[0.0, 1.0], &[1.0, -1.0]).unwrap();
        assert!(sure_and_wrong.is_finite() && sure_and_wrong > 30.0);
    }

    #[test]
    fn regression_by_hand() {
        let got = Regression::of(&[1.0, 2.0, 5.0], &[1.0, 3.0, 5.0]).unwrap();
        close(got.rmse, (1.0_f64 / 3.0).sqrt());
        close(got.r2.unwrap(), 1.0 - 1.0 / 8.0);
        assert_eq!(Regression::of(&[0.0; 3], &[0.1; 3]).unwrap().r2, None);
    }

    #[test]
    fn bad_input_is_an_error() {
        let lengths = MetricsError::Lengths { predictions: 1, targets: 2 };
        assert_eq!(auc(&[1.0], &[1.0, 1.0]), Err(lengths));
        assert_eq!(Regression::of(&[], &[]), Err(MetricsError::Empty));
        assert_eq!(log_loss(&[0.1, f64::NAN], &[1.0; 2]), Err(MetricsError::NotFinite { row: 1 }));
    }

    #[test]
    fn serialises_with_the_names_users_read() {
        let json = serde_json::to_value(Classification::of(&SCORES, &TARGETS).unwrap()).unwrap();
        assert_eq!(json["confusion"]["fn"], 1);
        let back: Classification = serde_json::from_value(json).unwrap();
        assert_eq!(back, Classification::of(&SCORES, &TARGETS).unwrap());
    }

    /// The definition: over all pairs of a positive and a negative row.
    fn auc_by_pairs(scores: &[f64], targets: &[f64]) -> Option<f64> {
        let side = |positive| {
            let rows = scores.iter().zip(targets).filter(move |row| (*row.1 > 0.0) == positive);
            rows.map(|row| *row.0).collect::<Vec<_>>()
        };
        let (positive, negative) = (side(true), side(false));
        let won: f64 = positive
            .iter()
            .flat_map(|p| negative.iter().map(move |n| p.partial_cmp(n)))
            .map(|order| match order {
                Some(std::cmp::Ordering::Greater) => 1.0,
                Some(std::cmp::Ordering::Equal) => 0.5,
                _ => 0.0,
            })
            .sum();
        let pairs = positive.len() * negative.len();
        (pairs > 0).then(|| won / pairs as f64)
    }

    proptest! {
        #[test]
        fn auc_is_the_share_of_pairs_won(rows in prop::collection::vec((-4_i8..4, any::<bool>()), 1..60)) {
            let scores: Vec<f64> = rows.iter().map(|row| f64::from(row.0) / 2.0).collect();
            let targets: Vec<f64> = rows.iter().map(|row| if row.1 { 1.0 } else { -1.0 }).collect();
            let (got, want) = (auc(&scores, &targets).unwrap(), auc_by_pairs(&scores, &targets));
            prop_assert_eq!(got.is_some(), want.is_some());
            if let (Some(got), Some(want)) = (got, want) {
                prop_assert!((got - want).abs() < 1e-12);
            }
        }
    }
}
