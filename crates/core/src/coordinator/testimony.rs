//! A certificate without a barrier: evidence of different times, put together (M7).
//!
//! Any alpha proves a bound, one with parts of different times too. What it takes is that everything known
//! of a shard is of one time: its evidence, and its part of the sum that stands for `u` elsewhere.

use crate::round::{Attest, Attested, Directive, Evidence, Job, ModelDelta, Sparse, Weights};

use super::{
    certificate::{Certificate, certify, support_to_certify},
    held::Held,
};

/// Evidence on its way in.
#[derive(Debug, Clone)]
pub(super) struct Testimony {
    /// The columns on which all shards are asked, whenever that is.
    support: Vec<u32>,
    /// The model whose objective is found out along with the bound, and its losses so far.
    model: Weights,
    loss: f64,
    /// `sum_m held_m`, the part of every shard as it was when that shard gave evidence.
    held: Held,
    witnesses: Vec<Witness>,
}

/// What a shard has to do with a certificate.
#[derive(Debug, Clone)]
enum Witness {
    Absent,
    Asked,
    Heard(Evidence),
}

/// What a complete certificate says.
pub(super) struct Verdict {
    pub(super) certificate: Certificate,
    /// The model that was scored, and the sum of its losses.
    pub(super) model: Weights,
    pub(super) loss: f64,
}

impl Testimony {
    /// Nobody heard yet; `held` is the sum as it stands.
    pub(super) fn new(job: &Job, held: &Held, model: Weights) -> Self {
        Self {
            support: support_to_certify(held.u(), job),
            model,
            loss: 0.0,
            held: held.clone(),
            witnesses: vec![Witness::Absent; job.shards],
        }
    }

    /// Whether `shard` has not been asked.
    pub(super) fn lacks(&self, shard: usize) -> bool {
        matches!(self.witnesses[shard], Witness::Absent)
    }

    /// Whether the evidence of `shard` is in.
    pub(super) fn has_heard(&self, shard: usize) -> bool {
        matches!(self.witnesses[shard], Witness::Heard(_))
    }

    /// The question to `shard`: the dual round of `delta`, and evidence.
    pub(super) fn ask(&mut self, shard: usize, delta: ModelDelta) -> Directive {
        self.witnesses[shard] = Witness::Asked;
        let (support, model) = (self.support.clone(), self.model.clone());
        Directive::Attest(Attest { delta, support, model })
    }

    /// Adds what `shard` sent, unless its part is that of its evidence already.
    pub(super) fn follow(&mut self, shard: usize, update: &Sparse<f32>) {
        if !self.has_heard(shard) {
            self.held.add(update);
        }
    }

    /// Takes the evidence of `shard`, which must be given for alpha and `held_m` after its update. An answer
    /// to another certificate's question is only an update.
    pub(super) fn take(&mut self, shard: usize, attested: &Attested) {
        self.follow(shard, &attested.update);
        if matches!(self.witnesses[shard], Witness::Asked) {
            self.loss += attested.loss;
            self.witnesses[shard] = Witness::Heard(attested.evidence.clone());
        }
    }

    /// The bound, once all have been heard.
    pub(super) fn verdict(&self, job: &Job) -> Option<Verdict> {
        let heard = self.witnesses.iter().map(|witness| match witness {
            Witness::Heard(evidence) => Some(evidence.clone()),
            Witness::Absent | Witness::Asked => None,
        });
        let evidence: Vec<Evidence> = heard.collect::<Option<_>>()?;
        let certificate = certify(job, &self.held, &self.support, &evidence);
        Some(Verdict { certificate, model: self.model.clone(), loss: self.loss })
    }
}
