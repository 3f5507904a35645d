//! Rows judged by several models: the class whose model gives the largest score, and how good that is.

use crate::{
    class_metrics::ClassQuality,
    classes::Classes,
    data::{CsrMatrix, DataError, RawData},
    design::Design,
    evaluate::compact,
    loss::{LossKind, probability},
    metrics::{MetricsError, auc, log_loss},
    model::Model,
    round::Weights,
};

/// The class of every row as far as it is known: that of the largest score, of equal ones the first.
#[derive(Debug, Clone)]
pub struct Verdicts {
    best: Vec<f64>,
    classes: Vec<u32>,
}

impl Verdicts {
    /// Nothing heard yet.
    pub fn new(rows: usize) -> Self {
        Self { best: vec![f64::NEG_INFINITY; rows], classes: vec![0; rows] }
    }

    /// Takes the scores that the model of `class` gives; classes are heard in ascending order.
    pub fn hear(&mut self, class: usize, scores: &[f64]) {
        let rows = self.best.iter_mut().zip(&mut self.classes).zip(scores);
        for ((best, winner), &score) in rows {
            if score > *best {
                (*best, *winner) = (score, class as u32);
            }
        }
    }

    /// The number of each row's class.
    pub fn classes(&self) -> &[u32] {
        &self.classes
    }
}

/// Models before the same rows.
#[derive(Debug)]
pub struct Panel {
    design: Design,
    models: Vec<Weights>,
}

impl Panel {
    /// Of `models` and rows that were prepared for them.
    pub fn new(models: &[Model], x: CsrMatrix) -> Self {
        let (x, models) = compact(models.iter().map(Model::columns).collect(), x);
        // A model without an intercept has weight 0 there, so the constant feature changes nothing.
        Self { design: Design::new(x, true), models }
    }

    /// The scores `x'w` by the model of `class`.
    pub fn scores(&self, class: usize) -> Vec<f64> {
        self.design.scores(&self.models[class].to_dense(self.design.cols()))
    }

    /// The class of every row.
    pub fn verdicts(&self) -> Verdicts {
        let mut verdicts = Verdicts::new(self.design.rows());
        (0..self.models.len()).for_each(|class| verdicts.hear(class, &self.scores(class)));
        verdicts
    }
}

/// Probabilities of the classes of one row from the scores of their models, each a logistic model of one class against
/// the rest: their shares of the sum.
pub fn share_out(scores: &mut [f64]) {
    scores.iter_mut().for_each(|score| *score = probability(*score));
    let sum: f64 = scores.iter().sum();
    let even = 1.0 / scores.len() as f64;
    // Scores below -745 have the probability 0 in f64; where all have it, nothing is known.
    scores.iter_mut().for_each(|share| *share = if sum > 0.0 { *share / sum } else { even });
}

/// The number of the class of every label.
///
/// # Errors
/// A label that is none of `labels`, which ascend.
pub fn class_numbers(labels: &[f64], of_rows: &[f64]) -> Result<Vec<u32>, DataError> {
    let number = |(row, &label): (usize, &f64)| {
        // Adding 0 makes a -0 a 0.
        let place = labels.binary_search_by(|known| (known + 0.0).total_cmp(&(label + 0.0)));
        let unknown = |_| DataError::UnknownClass { row: row + 1, label, classes: labels.len() };
        place.map(|at| at as u32).map_err(unknown)
    };
    of_rows.iter().enumerate().map(number).collect()
}

/// The targets of a model of `class` against the rest, for rows of the classes `truth`.
pub fn targets(truth: &[u32], class: usize) -> Vec<f64> {
    truth.iter().map(|&row| if row as usize == class { 1.0 } else { -1.0 }).collect()
}

/// Why rows cannot be judged.
#[derive(Debug, thiserror::Error)]
pub enum JudgementError {
    /// A label is unknown.
    #[error(transparent)]
    Label(#[from] DataError),
    /// The measures of the answers make no sense.
    #[error(transparent)]
    Measures(#[from] MetricsError),
}

/// How good a model of several classes is on data.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// The mean of the classes' objectives.
    pub objective: f64,
    /// Mean negative logarithm of the probability of the right class, for logistic models.
    pub log_loss: Option<f64>,
    /// The usual measures.
    pub quality: ClassQuality,
}

impl Judgement {
    /// Of `model` on rows with labels, columns as they are.
    ///
    /// # Errors
    /// There are no rows, a label is unknown, or a score is not finite.
    pub fn of(model: &Classes, loss: LossKind, rows: RawData) -> Result<Self, JudgementError> {
        let truth = class_numbers(model.labels(), &rows.labels)?;
        let panel = Panel::new(model.models(), rows.x);
        let mut verdicts = Verdicts::new(truth.len());
        let mut aucs = Vec::with_capacity(model.labels().len());
        let mut objectives = 0.0;
        let (mut right, mut all) = (vec![0.0; truth.len()], vec![0.0; truth.len()]);
        for (class, member) in model.models().iter().enumerate() {
            let (scores, targets) = (panel.scores(class), targets(&truth, class));
            verdicts.hear(class, &scores);
            aucs.push(auc(&scores, &targets)?);
            objectives += objective(member, loss, &scores, &targets, rows.weights.as_deref());
            for (row, (&score, &target)) in scores.iter().zip(&targets).enumerate() {
                let chance = probability(score);
                all[row] += chance;
                if target > 0.0 {
                    right[row] = chance;
                }
            }
        }
        right.iter_mut().zip(&all).for_each(|(right, &all)| *right /= all.max(f64::MIN_POSITIVE));
        let is_logistic = loss == LossKind::Logistic;
        Ok(Self {
            objective: objectives / model.labels().len() as f64,
            log_loss: is_logistic.then(|| log_loss(&right, &vec![1.0; right.len()])).transpose()?,
            quality: ClassQuality::of(model.labels(), &truth, verdicts.classes(), &aucs),
        })
    }
}

/// P of one member on rows with these scores, targets and weights.
fn objective(
    model: &Model,
    loss: LossKind,
    scores: &[f64],
    targets: &[f64],
    of_rows: Option<&[f64]>,
) -> f64 {
    let [negative, positive] = model.class_weight;
    let weight = |y: f64| if y > 0.0 { positive } else { negative };
    let own = |row: usize| of_rows.map_or(1.0, |weights| weights[row]);
    let rows = scores.iter().zip(targets).enumerate();
    let losses = rows.map(|(row, (&z, &y))| own(row) * weight(y) * loss.value(z, y));
    let norm_sq: f64 = model.scaled_columns().values.iter().map(|w| w * w).sum();
    losses.sum::<f64>() / targets.len() as f64 + model.lambda / 2.0 * norm_sq
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_equal_scores_wins() {
        let mut verdicts = Verdicts::new(3);
        verdicts.hear(0, &[0.5, -1.0, -2.0]);
        verdicts.hear(1, &[0.5, -0.5, f64::NEG_INFINITY]);
        verdicts.hear(2, &[0.4, -0.5, -1.0]);
        assert_eq!(verdicts.classes(), [0, 1, 2]);
    }

    #[test]
    fn shares_add_up_to_one() {
        let mut scores = [0.0, 0.0, -800.0];
        share_out(&mut scores);
        assert_eq!(scores, [0.5, 0.5, 0.0]);
        let mut hopeless = [-800.0; 4];
        share_out(&mut hopeless);
        assert_eq!(hopeless, [0.25; 4]);
    }

    #[test]
    fn labels_have_numbers() {
        let labels = [-1.5, 0.0, 7.0];
        assert_eq!(class_numbers(&labels, &[7.0, -0.0, -1.5]).unwrap(), [2, 1, 0]);
        let error = class_numbers(&labels, &[7.0, 3.0]).unwrap_err().to_string();
        assert_eq!(error, "row 2: label 3 is none of the 3 labels that the model knows");
    }
}
