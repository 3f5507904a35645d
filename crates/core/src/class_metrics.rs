//! How good predictions of three or more classes are.

use serde::{Deserialize, Serialize};

/// What `eval` says about one of several classes, against all others.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ClassFigures {
    /// Its label.
    pub label: f64,
    /// Rows with this label.
    pub rows: u64,
    /// The share of rows predicted to have this label that have it.
    pub precision: f64,
    /// The share of rows with this label that are found.
    pub recall: f64,
    /// Harmonic mean of both.
    pub f1: f64,
    /// Area under the ROC curve of the scores of this class, or `None` when all rows have it, or none.
    pub auc: Option<f64>,
}

/// What `eval` says about a model of several classes. Means are over the classes that the rows or the predictions
/// have.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClassQuality {
    /// The share of right answers, which is also the F1 of all answers taken together.
    pub accuracy: f64,
    /// The mean of the classes' F1.
    pub macro_f1: f64,
    /// The mean of their precisions.
    pub macro_precision: f64,
    /// The mean of their recalls.
    pub macro_recall: f64,
    /// The mean of their areas under the ROC curve.
    pub auc: Option<f64>,
    /// Every class, in the order of the labels.
    pub classes: Vec<ClassFigures>,
    /// How many rows of each class (outer) were given to each class (inner).
    pub confusion: Vec<Vec<u64>>,
}

impl ClassQuality {
    /// Of rows of the classes `truth` that were given to the classes `answers`, both by their numbers in `labels`;
    /// `aucs` has an entry for every class.
    pub fn of(labels: &[f64], truth: &[u32], answers: &[u32], aucs: &[Option<f64>]) -> Self {
        let mut confusion = vec![vec![0; labels.len()]; labels.len()];
        for (&row, &answer) in truth.iter().zip(answers) {
            confusion[row as usize][answer as usize] += 1;
        }
        let given = |class: usize| confusion.iter().map(|row| row[class]).sum::<u64>();
        let figures = |class: usize| {
            let (right, rows) = (confusion[class][class], confusion[class].iter().sum());
            ClassFigures {
                label: labels[class],
                rows,
                precision: ratio(right, given(class)),
                recall: ratio(right, rows),
                f1: ratio(2 * right, rows + given(class)),
                auc: aucs[class],
            }
        };
        let classes: Vec<ClassFigures> = (0..labels.len()).map(figures).collect();
        let present: Vec<&ClassFigures> = (0..labels.len())
            .filter(|&class| classes[class].rows + given(class) > 0)
            .map(|class| &classes[class])
            .collect();
        let of_present = |figure: fn(&ClassFigures) -> f64| mean(present.iter().map(|c| figure(c)));
        let right: u64 = (0..labels.len()).map(|class| confusion[class][class]).sum();
        let known: Vec<f64> = aucs.iter().copied().flatten().collect();
        Self {
            accuracy: ratio(right, truth.len() as u64),
            macro_f1: of_present(|class| class.f1),
            macro_precision: of_present(|class| class.precision),
            macro_recall: of_present(|class| class.recall),
            auc: (!known.is_empty()).then(|| mean(known.into_iter())),
            classes,
            confusion,
        }
    }
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len().max(1);
    values.sum::<f64>() / count as f64
}

fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_worked_by_hand() {
        let labels = [1.0, 2.0, 7.0, 9.0];
        let (truth, answers) = ([0, 0, 0, 1, 1, 2], [0, 0, 1, 1, 2, 0]);
        let got = ClassQuality::of(&labels, &truth, &answers, &[Some(0.5), None, Some(1.0), None]);
        assert_eq!(got.confusion[0], [2, 1, 0, 0]);
        assert_eq!(got.confusion[2], [1, 0, 0, 0]);
        assert_eq!(got.accuracy, 0.5);
        // Class 1: 2 of 3 found, 2 of 3 right; class 2: 1 of 2 and 1 of 2; class 7: neither.
        let f1: Vec<f64> = got.classes.iter().map(|class| class.f1).collect();
        assert_eq!(f1, [4.0 / 6.0, 0.5, 0.0, 0.0]);
        // Label 9 is neither there nor predicted, and is in no mean.
        assert!((got.macro_f1 - (4.0 / 6.0 + 0.5) / 3.0).abs() < 1e-15);
        assert!((got.macro_recall - (2.0 / 3.0 + 0.5) / 3.0).abs() < 1e-15);
        assert_eq!(got.auc, Some(0.75));
    }
}
