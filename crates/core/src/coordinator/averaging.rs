//! DIHT, SDIHT and the server of D-DIHT (report, Alg. 2), synchronous.
//!
//! Given   the k-sparse models `w_m` of all shards
//! S2      `w^ = (beta/M) sum_m w_m`
//! S3      `w = H_k(w^)`, which goes to every shard
//! With one shard this is DIHT or SDIHT itself: the average of one model is that model.

use crate::{
    round::{Directive, LocalModel, Probe, Reply, Weights},
    threshold::top_k,
};

use super::{
    Next,
    certificate::dual_bound,
    exchange::{Mismatch, slopes},
    tally::{Stopped, Tally},
};

/// The averaging server.
#[derive(Debug, Clone)]
pub(super) struct Averaging {
    beta: f64,
    model: Weights,
    /// Why the rounds ended, while P of the last model is asked for.
    ending: Option<Stopped>,
}

impl Averaging {
    pub(super) fn new(beta: f64) -> Self {
        Self { beta, model: Weights::default(), ending: None }
    }

    pub(super) fn start(&self) -> Directive {
        Directive::Sdiht { model: self.model.clone(), unscored: Vec::new() }
    }

    pub(super) fn absorb(
        &mut self,
        replies: Vec<Reply>,
        tally: &mut Tally,
    ) -> Result<Next, Mismatch> {
        if let Some(why) = self.ending {
            let loss = slopes(replies)?.iter().map(|s| s.loss).sum();
            tally.offer(&self.model, loss);
            return Ok(Next::Done(if tally.gap_reached() { Stopped::Gap } else { why }));
        }
        let locals = local_models(replies)?;
        // A shard returns the loss of the model it was sent, so P is known one round late.
        tally.offer(&self.model, locals.iter().map(|l| l.losses.iter().sum::<f64>()).sum());
        if let [only] = locals.as_slice() {
            tally.offer_bound(dual_bound(tally.job(), &only.conjugate, only.norm_sq));
        }
        let before = std::mem::take(&mut self.model);
        self.model = self.combine(&locals, tally);
        tally.support_changed = super::dual::count_new(&before.indices, &self.model.indices);
        tally.main_rounds += 1;
        tally.mark();
        let why = if tally.gap_reached() {
            Some(Stopped::Gap)
        } else if tally.rounds_used() {
            Some(Stopped::Rounds)
        } else {
            tally.cut_short().or(tally.stalled().then_some(Stopped::Stalled))
        };
        self.ending = why;
        Ok(Next::Ask(match why {
            Some(_) => Directive::Gradient(Probe { model: self.model.clone(), smoothing: None }),
            None => Directive::Sdiht { model: self.model.clone(), unscored: Vec::new() },
        }))
    }

    /// S2 and S3.
    fn combine(&self, locals: &[LocalModel], tally: &Tally) -> Weights {
        let job = tally.job();
        let mut mean = vec![0.0; job.cols];
        let share = self.beta / locals.len() as f64;
        for local in locals {
            local.model.iter().for_each(|(j, w)| mean[j] += share * w);
        }
        let mut indices = top_k(&mean, job.k);
        if job.intercept {
            indices.insert(0, 0);
        }
        let values = indices.iter().map(|&j| mean[j as usize]).collect();
        Weights { indices, values }
    }
}

fn local_models(replies: Vec<Reply>) -> Result<Vec<LocalModel>, Mismatch> {
    replies
        .into_iter()
        .map(|reply| match reply {
            Reply::Sdiht(local) => Ok(local),
            _ => Err(Mismatch),
        })
        .collect()
}
