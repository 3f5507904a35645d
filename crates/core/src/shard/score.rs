//! How good given models are on the rows of a shard.

use crate::{measures::Measures, round::Weights};

use super::Shard;

impl Shard {
    /// The sum of the losses of each model.
    pub(crate) fn losses(&self, models: &[Weights]) -> Vec<f64> {
        models.iter().map(|model| self.loss_sum(&self.scores(model))).collect()
    }

    /// All that is known of a model at the end of a run.
    pub(super) fn measure(&self, model: &Weights) -> Measures {
        let scores = self.scores(model);
        let loss = self.loss_sum(&scores);
        Measures::of(self.job.loss.is_classification(), loss, &scores, &self.y)
    }

    fn scores(&self, model: &Weights) -> Vec<f64> {
        self.design.scores(&model.to_dense(self.job.cols))
    }

    fn loss_sum(&self, scores: &[f64]) -> f64 {
        let rows = scores.iter().zip(&self.y).enumerate();
        rows.map(|(i, (&z, &y))| self.weight(i) * self.job.loss.value(z, y)).sum()
    }
}
