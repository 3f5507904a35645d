//! The models of an averaging server whose objective is not known yet.
//!
//! A shard tells the loss of a model when it is sent one, so an objective is complete when every shard has
//! been sent that model. With a barrier that is one round later. Without, a shard is sent those of the
//! latest models that it has missed along with its next one; models that are older by then stay unknown.

use std::collections::VecDeque;

use wincode::{SchemaRead, SchemaWrite};

use crate::round::{Job, Weights};

use super::{
    exchange::Mismatch,
    resume::{MOST, is_model},
};

#[derive(Debug, SchemaRead, SchemaWrite)]
struct Version {
    number: u64,
    model: Weights,
    loss: f64,
    told: usize,
}

/// Models and the losses told so far.
#[derive(Debug, SchemaRead, SchemaWrite)]
pub(super) struct Versions {
    /// The model of the server.
    current: Weights,
    /// Those that are waited for, ascending by number; the last one is the model of the server.
    recent: VecDeque<Version>,
    /// For each shard, the numbers in its last directive, oldest first.
    sent: Vec<Vec<u64>>,
    /// For each shard, the first number it has not been sent.
    unsent: Vec<u64>,
    /// Most models that are waited for.
    most: usize,
}

impl Versions {
    /// The empty model, which has the number 0.
    pub(super) fn new(shards: usize, most: usize) -> Self {
        let first = Version { number: 0, model: Weights::default(), loss: 0.0, told: 0 };
        let recent = VecDeque::from([first]);
        let current = Weights::default();
        Self { current, recent, sent: vec![Vec::new(); shards], unsent: vec![0; shards], most }
    }

    /// Whether these are models of a run on `job` that waits for at most `most`.
    pub(super) fn fit(&self, job: &Job, most: usize) -> bool {
        let sound = |version: &Version| {
            is_model(&version.model, job.cols)
                && version.number <= MOST
                && version.told <= job.shards
        };
        self.sent.len() == job.shards
            && self.unsent.len() == job.shards
            && self.most == most
            && (1..=most).contains(&self.recent.len())
            && is_model(&self.current, job.cols)
            && self.recent.iter().all(sound)
            && self.recent.iter().is_sorted_by(|a, b| a.number < b.number)
    }

    /// The model of the server.
    pub(super) fn current(&self) -> &Weights {
        &self.current
    }

    /// The next model of the server.
    pub(super) fn push(&mut self, model: Weights) {
        let number = self.recent.back().map_or(0, |last| last.number + 1);
        self.current = model.clone();
        self.recent.push_back(Version { number, model, loss: 0.0, told: 0 });
        while self.recent.len() > self.most {
            self.recent.pop_front();
        }
    }

    /// What `shard` is sent: the models it has missed, oldest first, the last of them the current one.
    pub(super) fn ask(&mut self, shard: usize) -> Vec<Weights> {
        let last = self.recent.back().map_or(0, |version| version.number);
        let first = self.unsent[shard].min(last);
        let due = self.recent.iter().filter(|version| version.number >= first);
        let (numbers, models) = due.map(|v| (v.number, v.model.clone())).unzip();
        self.sent[shard] = numbers;
        self.unsent[shard] = last + 1;
        models
    }

    /// Takes the losses of what `shard` was sent; returns the models that are complete by that, with the
    /// sums of their losses.
    pub(super) fn tell(
        &mut self,
        shard: usize,
        losses: &[f64],
    ) -> Result<Vec<(Weights, f64)>, Mismatch> {
        let shards = self.sent.len();
        let numbers = std::mem::take(&mut self.sent[shard]);
        if numbers.len() != losses.len() {
            return Err(Mismatch);
        }
        let mut complete = Vec::new();
        for (number, loss) in numbers.into_iter().zip(losses) {
            let Some(version) = self.recent.iter_mut().find(|v| v.number == number) else {
                continue;
            };
            version.loss += loss;
            version.told += 1;
            if version.told == shards {
                complete.push((version.model.clone(), version.loss));
            }
        }
        Ok(complete)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(weight: f64) -> Weights {
        Weights { indices: vec![1], values: vec![weight] }
    }

    #[test]
    fn a_model_is_complete_when_every_shard_has_told_its_loss() {
        let mut versions = Versions::new(2, 4);
        assert_eq!(versions.ask(0).len(), 1);
        assert_eq!(versions.ask(1).len(), 1);
        assert!(versions.tell(0, &[1.0]).unwrap().is_empty());
        versions.push(model(1.0));
        assert_eq!(versions.ask(0), [model(1.0)]);
        assert!(versions.tell(0, &[5.0]).unwrap().is_empty());
        assert_eq!(versions.tell(1, &[2.0]).unwrap(), [(Weights::default(), 3.0)]);
        versions.push(model(2.0));
        assert_eq!(versions.ask(1), [model(1.0), model(2.0)]);
        assert_eq!(versions.tell(1, &[7.0, 8.0]).unwrap(), [(model(1.0), 12.0)]);
    }

    #[test]
    fn old_models_are_given_up_and_a_wrong_number_of_losses_is_refused() {
        let mut versions = Versions::new(2, 2);
        versions.ask(0);
        for step in 1..9 {
            versions.push(model(f64::from(step)));
        }
        assert_eq!(versions.ask(1), [model(7.0), model(8.0)]);
        assert!(versions.tell(1, &[1.0]).is_err());
        assert!(versions.tell(0, &[1.0]).unwrap().is_empty());
    }
}
