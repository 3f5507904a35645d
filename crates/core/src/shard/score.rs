//! How good given models are on the rows of a shard.

use std::borrow::Cow;

use crate::{
    design::by_blocks,
    loss::{Loss, with_loss},
    measures::Measures,
    round::Weights,
};

use super::Shard;

impl Shard {
    /// The sum of the losses of each model.
    pub(crate) fn losses(&self, models: &[Weights]) -> Vec<f64> {
        models.iter().map(|model| self.loss_sum(&self.scores(model))).collect()
    }

    /// All that is known of a model at the end of a run.
    pub(super) fn measure(&self, model: &Weights) -> Measures {
        let known = self.settled.as_ref().filter(|_| self.is_settled_on(model));
        let scores = known.map_or_else(|| Cow::Owned(self.scores(model)), Cow::Borrowed);
        let loss = self.loss_sum(&scores);
        Measures::of(self.job.loss.is_classification(), loss, &scores, &self.y)
    }

    /// Whether `model` is `u`.
    fn is_settled_on(&self, model: &Weights) -> bool {
        let constant = model.iter().next().filter(|&(j, _)| j == 0).map_or(0.0, |(_, w)| w);
        self.u.iter().skip(1).filter(|&&w| w != 0.0).count() == model.nnz()
            && (!self.job.intercept || constant == self.u[0])
            && model.iter().skip_while(|&(j, _)| j == 0).all(|(j, w)| self.u[j] == w)
    }

    fn scores(&self, model: &Weights) -> Vec<f64> {
        self.design.scores(&model.to_dense(self.job.cols))
    }

    pub(super) fn loss_sum(&self, scores: &[f64]) -> f64 {
        with_loss!(self.job.loss, l => {
            let value = |i: usize| self.weight(i) * l.value(scores[i], self.y[i]);
            by_blocks(scores.len(), |rows| rows.map(value).sum::<f64>()).iter().sum()
        })
    }
}
