//! Labels of a classification task: which class of the file is -1 and which is +1.
//!
//! A shard may hold one class only, so the decision is made on the counts of all shards: each shard counts
//! ([`LabelCounts`]), the counts are merged, the map is fixed once ([`LabelMap`]) and applied everywhere.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use wincode::{SchemaRead, SchemaWrite};

use super::{class_weight::ClassWeight, error::DataError};

/// Distinct labels that are counted; a set with more is no classification task.
pub(crate) const MAX_DISTINCT: usize = 64;

/// Labels that a message shows.
const SHOWN: usize = 8;

/// `--positive EXPR`: which labels are the positive class. All others are the negative one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum LabelRule {
    /// `>=x`
    AtLeast(f64),
    /// `<=x`
    AtMost(f64),
    /// `>x`
    Above(f64),
    /// `<x`
    Below(f64),
    /// `x,y,...` (or `=x`): one of these, ascending.
    OneOf(Vec<f64>),
}

/// A text that is no [`LabelRule`].
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "'{0}' is no rule for labels: write '>=7', '<=10', '>3', '<3', '=1' or a list such as '3,5,9'"
)]
pub struct RuleError(pub String);

impl LabelRule {
    /// Whether `label` is in the positive class.
    pub fn is_positive(&self, label: f64) -> bool {
        match self {
            Self::AtLeast(x) => label >= *x,
            Self::AtMost(x) => label <= *x,
            Self::Above(x) => label > *x,
            Self::Below(x) => label < *x,
            Self::OneOf(list) => list.contains(&label),
        }
    }

    /// Turns every label into -1 or +1.
    pub fn apply(&self, labels: &mut [f64]) {
        for label in labels {
            *label = if self.is_positive(*label) { 1.0 } else { -1.0 };
        }
    }
}

impl FromStr for LabelRule {
    type Err = RuleError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let number = |part: &str| match part.trim().parse::<f64>() {
            // Adding 0 makes a -0 a 0.
            Ok(x) if x.is_finite() => Ok(x + 0.0),
            _ => Err(RuleError(text.to_owned())),
        };
        let rule = text.trim();
        // The longer operators first: `>` is a prefix of `>=`.
        if let Some(rest) = rule.strip_prefix(">=") {
            return number(rest).map(Self::AtLeast);
        }
        if let Some(rest) = rule.strip_prefix("<=") {
            return number(rest).map(Self::AtMost);
        }
        if let Some(rest) = rule.strip_prefix('>') {
            return number(rest).map(Self::Above);
        }
        if let Some(rest) = rule.strip_prefix('<') {
            return number(rest).map(Self::Below);
        }
        let list = rule.strip_prefix("==").or(rule.strip_prefix('='));
        let parts = list.unwrap_or(rule).split(',');
        let mut list = parts.map(number).collect::<Result<Vec<_>, _>>()?;
        list.sort_by(f64::total_cmp);
        list.dedup();
        Ok(Self::OneOf(list))
    }
}

impl fmt::Display for LabelRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtLeast(x) => write!(f, ">={x}"),
            Self::AtMost(x) => write!(f, "<={x}"),
            Self::Above(x) => write!(f, ">{x}"),
            Self::Below(x) => write!(f, "<{x}"),
            Self::OneOf(list) => {
                let texts: Vec<_> = list.iter().map(f64::to_string).collect();
                f.write_str(&texts.join(","))
            }
        }
    }
}

impl TryFrom<String> for LabelRule {
    type Error = RuleError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<LabelRule> for String {
    fn from(rule: LabelRule) -> Self {
        rule.to_string()
    }
}

/// How often each label occurs. Beyond 64 distinct labels only the rows are counted.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LabelCounts {
    /// Ascending by label.
    counts: Vec<(f64, u64)>,
    /// Rows whose labels are not among `counts`.
    others: u64,
}

impl LabelCounts {
    /// Counts `labels`.
    pub fn of(labels: &[f64]) -> Self {
        let mut counts = Self::default();
        counts.add_all(labels);
        counts
    }

    /// These counts, and `others` rows with labels that are not among them.
    pub fn from_counts(counts: impl IntoIterator<Item = (f64, u64)>, others: u64) -> Self {
        let mut this = Self { others, ..Self::default() };
        counts.into_iter().for_each(|(label, rows)| this.add(label, rows));
        this
    }

    /// Adds `rows` rows with this label.
    pub fn add(&mut self, label: f64, rows: u64) {
        let label = label + 0.0;
        let place = self.counts.binary_search_by(|(l, _)| l.total_cmp(&label));
        match place {
            Ok(at) => self.counts[at].1 += rows,
            Err(at) if self.counts.len() < MAX_DISTINCT => self.counts.insert(at, (label, rows)),
            Err(_) => self.others += rows,
        }
    }

    /// Adds one row for each of `labels`.
    pub fn add_all(&mut self, labels: &[f64]) {
        // Two labels are the rule, and counting them takes no search.
        let Some(&one) = labels.first() else { return };
        let other = labels.iter().copied().find(|&l| l != one);
        let count = |label| labels.iter().filter(|&&l| l == label).count();
        let counts = [(one, count(one)), other.map_or((one, 0), |other| (other, count(other)))];
        if counts[0].1 + counts[1].1 < labels.len() {
            return labels.iter().for_each(|&label| self.add(label, 1));
        }
        for (label, rows) in counts.into_iter().filter(|count| count.1 > 0) {
            self.add(label, rows as u64);
        }
    }

    /// Adds the counts of another shard.
    pub fn merge(&mut self, other: &Self) {
        for &(label, rows) in &other.counts {
            self.add(label, rows);
        }
        self.others += other.others;
    }

    /// The labels, ascending, each with its number of rows.
    pub fn counts(&self) -> &[(f64, u64)] {
        &self.counts
    }

    /// Rows whose labels are not listed because there are too many.
    pub fn others(&self) -> u64 {
        self.others
    }

    fn not_binary(&self) -> DataError {
        DataError::NotBinary {
            found: self.counts.iter().take(SHOWN).map(|c| c.0).collect(),
            more: self.counts.len() > SHOWN || self.others > 0,
        }
    }
}

/// The labels of the file that stand for -1 and +1, and how much their rows count.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, SchemaRead, SchemaWrite)]
pub struct LabelMap {
    /// What the file calls the negative class.
    pub negative: f64,
    /// What the file calls the positive class.
    pub positive: f64,
    /// The weights of a row of the negative class and of one of the positive class.
    pub weights: [f64; 2],
}

impl LabelMap {
    /// A map of classes that count alike.
    pub fn new(negative: f64, positive: f64) -> Self {
        Self { negative, positive, weights: [1.0, 1.0] }
    }

    /// The map of the whole training set, from its counts as `rule` leaves them: labels must be -1/+1, 0/1
    /// or 1/2, and both present.
    pub fn fix(
        counts: &LabelCounts,
        rule: Option<&LabelRule>,
        class_weight: ClassWeight,
    ) -> Result<Self, DataError> {
        match counts.counts() {
            [] => Err(DataError::NoLabels),
            &[(label, rows)] => Err(match rule {
                Some(rule) => DataError::OneSided { rule: rule.clone(), positive: label > 0.0 },
                None => DataError::OneClass { label, rows },
            }),
            &[(negative, below), (positive, above)]
                if matches!((negative, positive), (-1.0, 1.0) | (0.0, 1.0) | (1.0, 2.0)) =>
            {
                Ok(Self { negative, positive, weights: class_weight.weights(below, above) })
            }
            _ => Err(counts.not_binary()),
        }
    }

    /// Turns the file's labels into -1 and +1; a label that is neither is an error.
    pub fn apply(&self, labels: &mut [f64]) -> Result<(), DataError> {
        let known = |label: f64| (label == self.positive) | (label == self.negative);
        // Which class a row has cannot be foreseen, so no step depends on it: first are all known, then which is which.
        if !labels.iter().fold(true, |all, &label| all & known(label)) {
            let unknown = labels.iter().position(|&label| !known(label)).unwrap_or_default();
            return Err(DataError::UnknownLabel {
                row: unknown + 1,
                label: labels[unknown],
                negative: self.negative,
                positive: self.positive,
            });
        }
        for label in labels {
            *label = if *label == self.positive { 1.0 } else { -1.0 };
        }
        Ok(())
    }

    /// The weights of rows with targets `y`, each that of its class times its `own`; none if all are 1.
    pub fn row_weights(&self, y: &[f64], own: Option<Vec<f64>>) -> Option<Vec<f64>> {
        let [negative, positive] = self.weights;
        if self.weights == [1.0, 1.0] {
            return own;
        }
        let of_class = |y: f64| if y > 0.0 { positive } else { negative };
        Some(match own {
            None => y.iter().map(|&y| of_class(y)).collect(),
            Some(own) => y.iter().zip(own).map(|(&y, c)| c * of_class(y)).collect(),
        })
    }
}

/// Makes labels -1 and +1 once the classes are fixed: those of a shard, or of other data in the way of a
/// trained model.
pub fn apply_labels(
    labels: &mut [f64],
    map: &LabelMap,
    rule: Option<&LabelRule>,
) -> Result<(), DataError> {
    if let Some(rule) = rule {
        rule.apply(labels);
    }
    map.apply(labels)
}

#[cfg(test)]
#[path = "labels_tests.rs"]
mod tests;
