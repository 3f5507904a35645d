//! How good a model is on data: the objective P and the usual measures.

use serde::{Deserialize, Serialize};

use crate::{
    design::Design,
    loss::LossKind,
    metrics::{Classification, MetricsError, Regression},
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

impl Answers {
    /// Adds the rows of one shard.
    pub fn add(
        &mut self,
        loss: LossKind,
        design: &Design,
        y: &[f64],
        weights: Option<&[f32]>,
        w: &[f64],
    ) {
        let scores = design.scores(w);
        for (i, (&z, &y)) in scores.iter().zip(y).enumerate() {
            let c = weights.map_or(1.0, |c| f64::from(c[i]));
            self.loss_sum += c * loss.value(z, y);
        }
        self.scores.extend_from_slice(&scores);
        self.targets.extend_from_slice(y);
    }

    /// Of a model on rows.
    pub fn of(loss: LossKind, model: &Weights, rows: Rows) -> Self {
        let mut this = Self::default();
        let w = model.to_dense(rows.x.cols());
        // A model without an intercept has weight 0 there, so the constant feature changes nothing.
        let design = Design::new(rows.x, true);
        this.add(loss, &design, &rows.y, rows.weights.as_deref(), &w);
        this
    }

    /// `(1/N) sum l + (lambda/2) ||w||^2`.
    pub fn objective(&self, model: &Weights, lambda: f64) -> f64 {
        let norm_sq: f64 = model.values.iter().map(|v| v * v).sum();
        self.loss_sum / self.targets.len() as f64 + lambda / 2.0 * norm_sq
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
