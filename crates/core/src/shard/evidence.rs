//! What a shard contributes to a bound (M7, M8): `u` rebuilt from alpha, and the sums of the conjugates.

use std::ops::Range;

use rayon::prelude::*;

use crate::{
    coordinator::certificate::dual_bound,
    design::by_blocks,
    loss::{Loss, with_loss},
    round::{Attest, Attested, ConjugateSum, Evidence},
    threshold::{sum_of_largest, top_k_keeping},
};

use super::{Shard, clear};

impl Shard {
    /// A dual round, then evidence for where it led, and the loss of a model.
    pub(super) fn attest(&mut self, round: u64, attest: &Attest) -> Attested {
        let update = self.ascend(round, &attest.delta);
        let evidence = self.evidence(&attest.support);
        let loss = self.losses(std::slice::from_ref(&attest.model)).iter().sum();
        Attested { update, evidence, loss }
    }

    /// Evidence with exact `u` on `support`.
    pub(super) fn evidence(&mut self, support: &[u32]) -> Evidence {
        self.rebuild();
        let u = support.iter().map(|&j| self.u[j as usize]).collect();
        let conjugate = with_loss!(self.job.loss, l => conjugate_sum(l, self));
        Evidence {
            u,
            unsent: self.largest_gap_outside(support),
            rounding: self.rounding(),
            conjugate,
        }
    }

    /// Sets `alpha_i = c_i l'(z_i)`, and `u` with it.
    pub(crate) fn follow_scores(&mut self, scores: &[f64]) {
        with_loss!(self.job.loss, l => {
            let rows = self.beta.par_iter_mut().zip(scores).zip(&self.y).with_min_len(1024);
            rows.for_each(|((beta, &z), &y)| *beta = l.project(l.derivative(z, y), y));
        });
        self.rebuild();
    }

    /// The bound that alpha proves, where this shard has all rows and `u` was just rebuilt.
    pub(crate) fn own_bound(&self) -> f64 {
        let (job, off) = (&self.job, self.rounding());
        let conjugate = with_loss!(job.loss, l => conjugate_sum(l, self));
        let upper = |j: usize| (self.u[j].abs() + off).powi(2);
        let chosen = top_k_keeping(&self.u, job.k, job.kept);
        let mut squares: Vec<f64> = chosen.iter().map(|&j| upper(j as usize)).collect();
        let constant = if job.intercept { upper(0) } else { 0.0 };
        dual_bound(job, &conjugate, sum_of_largest(&mut squares, job.k) + constant)
    }

    /// Sets `u` to `-(1/(lambda N)) sum_i alpha_i x_i`, summed afresh: a running sum drifts, and a bound
    /// that owes anything to drift is not a proof.
    pub(crate) fn rebuild(&mut self) {
        let scale = self.scale();
        let coefficients: Vec<f64> =
            (0..self.beta.len()).map(|i| -scale * self.weight(i) * self.beta[i]).collect();
        clear(&mut self.u);
        self.design.scatter(&coefficients, &mut self.u);
    }

    /// How far any entry of a rebuilt `u` can be from its true value: a sum of n terms is off by at most
    /// `n eps sum |terms|`, and `sum |terms| <= max |alpha| max_j sum_i |x_ij| / (lambda N)`.
    pub(crate) fn rounding(&self) -> f64 {
        let largest =
            (0..self.beta.len()).map(|i| self.weight(i) * self.beta[i].abs()).fold(0.0, f64::max);
        let facts = &self.facts;
        let terms = (facts.longest + 16) as f64;
        terms * f64::EPSILON * largest * facts.largest_sum * self.scale()
    }

    /// `max |u - held|` over the columns outside `support`.
    fn largest_gap_outside(&self, support: &[u32]) -> f64 {
        let mut inside = support.iter().copied().peekable();
        let mut largest = 0.0f64;
        for (j, (&u, &held)) in self.u.iter().zip(&self.held).enumerate() {
            if inside.peek().is_some_and(|&s| s as usize == j) {
                inside.next();
            } else {
                largest = largest.max((u - held).abs());
            }
        }
        largest
    }
}

/// The sums of the conjugates over the rows of a shard.
pub(crate) fn conjugate_sum<L: Loss>(loss: L, shard: &Shard) -> ConjugateSum {
    let mut sum = ConjugateSum::default();
    for part in by_blocks(shard.beta.len(), |rows| block_sum(loss, shard, rows)) {
        sum.add(&part);
    }
    sum
}

fn block_sum<L: Loss>(loss: L, shard: &Shard, rows: Range<usize>) -> ConjugateSum {
    let mut sum = ConjugateSum::default();
    for i in rows {
        let (b, y, c) = (shard.beta[i], shard.y[i], shard.weight(i));
        let whole = loss.conjugate(b, y);
        match loss.conjugate_linear(b, y) {
            Some(linear) => {
                sum.linear += c * linear;
                sum.quadratic += c * (whole - linear);
            }
            None => sum.other += c * whole,
        }
        sum.magnitude += c * (1.0 + b.abs() * (1.0 + y.abs()) + whole.abs());
        sum.largest = sum.largest.max(b.abs());
    }
    sum
}
