//! How good a model is on data: the objective P and the usual measures.

use serde::{Deserialize, Serialize};

use crate::{
    data::CsrMatrix,
    design::Design,
    loss::LossKind,
    metrics::{Classification, Confusion, MetricsError, Regression},
    round::Weights,
    shard::Rows,
};

/// Measures of a model on a data set.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Quality {
    /// Of a classifier.
    Classes(Classification),
    /// Of a regression.
    Numbers(Regression),
}

impl Quality {
    /// How often each kind of answer was given, by a classifier.
    pub fn confusion(&self) -> Option<&Confusion> {
        match self {
            Self::Classes(measures) => Some(&measures.confusion),
            Self::Numbers(_) => None,
        }
    }
}

/// A model's answers on a data set.
#[derive(Debug, Clone, Default)]
pub struct Answers {
    /// Scores `x'w`.
    pub scores: Vec<f64>,
    /// Targets.
    pub targets: Vec<f64>,
    /// Sum of the losses, sample weights applied.
    pub loss_sum: f64,
}

/// Columns for which a dense vector costs nothing worth saving.
const FEW_COLUMNS: usize = 1 << 20;

/// Rows of the columns of `models` alone, and the models, renumbered alike; as they are where columns are few. What
/// a model file says of the number of features then asks for no memory.
pub(crate) fn compact(mut models: Vec<Weights>, x: CsrMatrix) -> (CsrMatrix, Vec<Weights>) {
    if x.cols() <= FEW_COLUMNS.max(x.nnz()) {
        return (x, models);
    }
    // Column 0 is the intercept, and keeps its place.
    let used = models.iter().flat_map(|model| model.indices.iter().copied());
    let mut columns: Vec<u32> = std::iter::once(0).chain(used).collect();
    columns.sort_unstable();
    columns.dedup();
    let place = |j: u32| columns.binary_search(&j).ok().map(|at| at as u32);
    let mut kept = CsrMatrix::new(columns.len());
    x.iter().for_each(|row| kept.push_renamed(row, place));
    for index in models.iter_mut().flat_map(|model| &mut model.indices) {
        *index = place(*index).unwrap_or(0);
    }
    (kept, models)
}

impl Answers {
    /// Adds the rows of one shard.
    pub fn add(
        &mut self,
        loss: LossKind,
        design: &Design,
        y: &[f64],
        weights: Option<&[f64]>,
        w: &[f64],
    ) {
        let scores = design.scores(w);
        for (i, (&z, &y)) in scores.iter().zip(y).enumerate() {
            let c = weights.map_or(1.0, |c| c[i]);
            self.loss_sum += c * loss.value(z, y);
        }
        self.scores.extend_from_slice(&scores);
        self.targets.extend_from_slice(y);
    }

    /// Of a model on rows.
    pub fn of(loss: LossKind, model: &Weights, rows: Rows) -> Self {
        let mut this = Self::default();
        let (x, models) = compact(vec![model.clone()], rows.x);
        let w = models[0].to_dense(x.cols());
        // A model without an intercept has weight 0 there, so the constant feature changes nothing.
        let design = Design::new(x, true);
        this.add(loss, &design, &rows.y, rows.weights.as_deref(), &w);
        this
    }

    /// `(1/N) sum l + (lambda/2) ||w||^2`.
    pub fn objective(&self, model: &Weights, lambda: f64) -> f64 {
        self.loss_sum / self.targets.len() as f64 + lambda / 2.0 * model.norm_sq()
    }

    /// The usual measures.
    pub fn quality(&self, loss: LossKind) -> Result<Quality, MetricsError> {
        Ok(if loss.is_classification() {
            Quality::Classes(Classification::of(&self.scores, &self.targets)?)
        } else {
            Quality::Numbers(Regression::of(&self.scores, &self.targets)?)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_columns_do_not_change_the_answers() {
        let mut x = CsrMatrix::new(10);
        x.push_row(&[1, 4, 9], &[0.5, -2.0, 3.0]);
        x.push_row(&[], &[]);
        x.push_row(&[4, 8], &[0.1, 7.0]);
        let y = vec![1.0, -1.0, 1.0];
        for indices in [vec![0, 4, 9], vec![1, 4], vec![]] {
            let values = [0.3, -1.7, 0.9][..indices.len()].to_vec();
            let model = Weights { indices, values };
            let scores = |cols: usize| {
                let mut x = x.clone();
                x.set_cols(cols);
                let rows = Rows { x, y: y.clone(), weights: None };
                Answers::of(LossKind::Logistic, &model, rows).scores
            };
            // As many as numbers of 32 bits allow: a dense vector of them would be 32 GiB.
            assert_eq!(scores(10), scores(u32::MAX as usize));
        }
    }
}
