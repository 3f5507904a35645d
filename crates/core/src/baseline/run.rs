//! What all baselines have in common: P, its gradient, the refit on a support, and the books.

use rayon::prelude::*;

use crate::{
    coordinator::{
        Limits, Stopped, Tally,
        fit::{Effort, Refit},
    },
    design::Design,
    local::{Clock, Costs, Host},
    loss::{Loss, with_loss},
    round::{Directive, Job, Reply, RoundKind, Weights},
    shard::Shard,
    threshold::top_k,
};

/// How well a support is refitted: far below what differs between supports.
const REFIT: Effort = Effort { width: None, predicted: 1e-13, proven: 1e-9, evaluations: 400 };
/// Width over which refits round the kink of the hinge: P is off by at most half of it, and supports differ by more.
const KINK: f64 = 1e-2;
/// Steps of the power iteration for the smoothness of P. It approaches its value from below, so that is raised by
/// a margin.
const POWER_STEPS: usize = 40;
const POWER_MARGIN: f64 = 1.02;

/// P and its gradient at a point.
#[derive(Debug, Clone)]
pub(super) struct Look {
    /// `x_i'w` of every row.
    pub(super) scores: Vec<f64>,
    /// P.
    pub(super) objective: f64,
    /// The gradient of P, of every column.
    pub(super) gradient: Vec<f64>,
}

/// Weights that minimise P on a support.
#[derive(Debug, Clone)]
pub(super) struct Fitted {
    pub(super) w: Vec<f64>,
    pub(super) objective: f64,
}

/// A run under way. Points are dense vectors by column.
pub(super) struct Run<'a> {
    pub(super) shard: &'a mut Shard,
    pub(super) tally: Tally,
    host: &'a mut dyn Host,
    clock: Clock,
    costs: Costs,
    /// `(1/N) sum_i c_i x_ij^2` of every column.
    squares: Vec<f64>,
    /// The features of the last round's point.
    support: Vec<u32>,
}

impl<'a> Run<'a> {
    /// A run that has the model w = 0, so that it can end at any time.
    pub(super) fn new(shard: &'a mut Shard, limits: Limits, host: &'a mut dyn Host) -> Self {
        let (job, clock) = (*shard.job(), host.clock());
        let per_row: Vec<f64> =
            (0..shard.design().rows()).map(|i| shard.weight(i) / job.total_rows as f64).collect();
        let mut squares = vec![0.0; job.cols];
        shard.design().scatter_squares(&per_row, &mut squares);
        let tally = Tally::new(job, limits);
        let mut run =
            Self { shard, tally, host, clock, costs: Costs::new(1), squares, support: Vec::new() };
        run.offer(&vec![0.0; job.cols]);
        run
    }

    pub(super) fn job(&self) -> Job {
        *self.shard.job()
    }

    pub(super) fn design(&self) -> &Design {
        self.shard.design()
    }

    /// `(1/N) sum_i c_i x_ij^2` of every column.
    pub(super) fn squares(&self) -> &[f64] {
        &self.squares
    }

    /// The most that the slope of the loss changes with the score.
    ///
    /// The hinge is the one of refits, with its kink rounded.
    pub(super) fn loss_smoothness(&self) -> f64 {
        1.0 / self.job().loss.smoothed(KINK).conjugate_curvature_min()
    }

    /// P at `w`; the books keep it if it is the best k-sparse model so far.
    pub(super) fn offer(&mut self, w: &[f64]) -> f64 {
        let model = sparse(w);
        let loss = self.shard.losses(std::slice::from_ref(&model)).iter().sum();
        self.tally.visited += self.job().entries as f64;
        self.tally.offer(&model, loss)
    }

    /// P where the scores are `z` and the squared length of the weights is `norm_sq`.
    pub(super) fn objective_at(&self, scores: &[f64], norm_sq: f64) -> f64 {
        let (job, y) = (self.job(), self.shard.targets());
        let sum: f64 = with_loss!(job.loss, l => {
            (0..y.len()).map(|i| self.shard.weight(i) * l.value(scores[i], y[i])).sum()
        });
        sum / job.total_rows as f64 + job.lambda / 2.0 * norm_sq
    }

    /// `c_i l'(z_i) / N` of every row.
    pub(super) fn slopes(&self, scores: &[f64]) -> Vec<f64> {
        let (job, y) = (self.job(), self.shard.targets());
        let per_row = 1.0 / job.total_rows as f64;
        with_loss!(job.loss, l => {
            let slope = |i: usize| self.shard.weight(i) * per_row * l.derivative(scores[i], y[i]);
            (0..y.len()).into_par_iter().with_min_len(1024).map(slope).collect()
        })
    }

    /// `c_i l''(z_i) / N` of every row.
    pub(super) fn curvatures(&self, scores: &[f64]) -> Vec<f64> {
        let (job, y) = (self.job(), self.shard.targets());
        let per_row = 1.0 / job.total_rows as f64;
        with_loss!(job.loss, l => {
            let bend = |i: usize| self.shard.weight(i) * per_row * l.curvature(scores[i], y[i]);
            (0..y.len()).into_par_iter().with_min_len(1024).map(bend).collect()
        })
    }

    /// P and its gradient at `w`.
    pub(super) fn look(&mut self, w: &[f64]) -> Look {
        let scores = self.design().scores(w);
        self.look_at(w, scores)
    }

    /// The same where the scores are known.
    pub(super) fn look_at(&mut self, w: &[f64], scores: Vec<f64>) -> Look {
        let job = self.job();
        let objective = self.objective_at(&scores, dot(w, w));
        let mut gradient: Vec<f64> = w.iter().map(|w| job.lambda * w).collect();
        self.design().scatter(&self.slopes(&scores), &mut gradient);
        if !job.intercept {
            gradient[0] = 0.0;
        }
        self.tally.visited += 2.0 * job.entries as f64;
        Look { scores, objective, gradient }
    }

    /// `d'Hd`, with H the Hessian of P at these scores.
    pub(super) fn bend_along(&mut self, scores: &[f64], d: &[f64]) -> f64 {
        let along = self.design().scores(d);
        self.tally.visited += self.job().entries as f64;
        let rows = self.curvatures(scores);
        let loss: f64 = rows.iter().zip(&along).map(|(h, a)| h * a * a).sum();
        loss + self.job().lambda * dot(d, d)
    }

    /// The smoothness of P: the largest eigenvalue of `X'CX / (mu N) + lambda I`, or a little more.
    pub(super) fn smoothness(&mut self) -> f64 {
        let job = self.job();
        let scale = self.loss_smoothness() / job.total_rows as f64;
        let rows = self.design().rows();
        let mut v: Vec<f64> = vec![1.0; rows];
        let mut largest = 0.0;
        for _ in 0..POWER_STEPS {
            let length = dot(&v, &v).sqrt();
            if length == 0.0 {
                break;
            }
            v.iter_mut().for_each(|v| *v /= length);
            // C^(1/2) X X' C^(1/2) has the same largest eigenvalue as X'CX, and is a vector of rows.
            let roots: Vec<f64> = (0..rows).map(|i| self.shard.weight(i).sqrt()).collect();
            let weighted: Vec<f64> = v.iter().zip(&roots).map(|(v, r)| v * r).collect();
            let mut across = vec![0.0; job.cols];
            self.design().scatter(&weighted, &mut across);
            largest = dot(&across, &across);
            v = self.design().scores(&across);
            v.iter_mut().zip(&roots).for_each(|(v, r)| *v *= r);
        }
        self.tally.visited += 2.0 * (POWER_STEPS * job.entries) as f64;
        POWER_MARGIN * largest * scale + job.lambda
    }

    /// The columns of the `count` largest entries of `v`, and the intercept's.
    pub(super) fn support_of(&self, v: &[f64], count: usize) -> Vec<u32> {
        self.with_intercept(top_k(v, count))
    }

    /// The same columns with the intercept's, if there is one.
    pub(super) fn with_intercept(&self, mut features: Vec<u32>) -> Vec<u32> {
        if self.job().intercept && features.first() != Some(&0) {
            features.insert(0, 0);
        }
        features
    }

    /// The minimiser of P on `support` (ascending), from the weights that `start` has there. What it passes
    /// on the way is offered to the books.
    pub(super) fn refit(&mut self, support: &[u32], start: &[f64]) -> Fitted {
        let job = self.job();
        let steepest = self.loss_smoothness();
        let values = support.iter().map(|&j| start[j as usize]).collect();
        let bend: Vec<f64> = support.iter().map(|&j| steepest * self.squares[j as usize]).collect();
        let first = Weights { indices: support.to_vec(), values };
        let effort = Effort { width: job.loss.has_kink().then_some(KINK), ..REFIT };
        let mut refit = Refit::new(&job, first, &bend, effort, f64::INFINITY);
        loop {
            let Directive::Gradient(probe) = refit.ask() else {
                unreachable!("a refit asks for gradients")
            };
            let slope = self.shard.slope(&probe);
            self.tally.visited += slope.visited as f64;
            let done = refit.tell(std::slice::from_ref(&slope), &mut self.tally);
            let fit = done.or_else(|| self.cut_short().map(|_| refit.best()));
            if let Some(fit) = fit {
                return Fitted { w: fit.model.to_dense(job.cols), objective: fit.objective };
            }
        }
    }

    /// Refits the best model.
    pub(super) fn refit_best(&mut self) {
        let Some(best) = self.tally.best() else { return };
        let (mut support, w) = (best.model.indices.clone(), best.model.to_dense(self.job().cols));
        support.retain(|&j| j > 0);
        let support = self.with_intercept(support);
        self.refit(&support, &w);
    }

    /// Whether an order or the clock ends the run now.
    pub(super) fn cut_short(&mut self) -> Option<Stopped> {
        self.tally.elapsed = (self.clock)();
        self.tally.interrupted |= self.host.interrupted();
        self.tally.cut_short()
    }

    /// Ends an outer iteration at the point `w`, where P is `objective`. Whether the run ends, and why.
    pub(super) fn close(&mut self, w: &[f64], objective: f64) -> Option<Stopped> {
        let support: Vec<u32> = (1..w.len() as u32).filter(|&j| w[j as usize] != 0.0).collect();
        let tally = &mut self.tally;
        tally.support_changed =
            support.iter().filter(|j| self.support.binary_search(j).is_err()).count();
        self.support = support;
        tally.rounds += 1;
        tally.reported += 1;
        tally.main_rounds += 1;
        tally.current = Some(objective);
        tally.step = RoundKind::Iterate;
        tally.mark();
        let before = self.tally.elapsed;
        let cut = self.cut_short();
        self.costs.spend(0, self.tally.elapsed.saturating_sub(before));
        self.host.report(&self.tally, &self.costs);
        self.costs.close_round();
        let tally = &self.tally;
        let used = tally.rounds_used().then_some(Stopped::Rounds);
        let reached = || tally.gap_reached().then_some(Stopped::Gap);
        let still = || tally.stalled().then_some(Stopped::Stalled);
        cut.or(used).or_else(reached).or_else(still)
    }

    /// The books, with the best model measured afresh.
    pub(super) fn finish(mut self) -> Tally {
        if let Some(best) = self.tally.best() {
            let measure = Directive::Measure { model: best.model.clone() };
            if let Reply::Measures(measures) = self.shard.handle(self.tally.rounds, &measure) {
                self.tally.measures = Some(measures);
            }
        }
        self.tally.elapsed = (self.clock)();
        self.tally
    }
}

pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// `a - b`.
pub(super) fn difference(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(x, y)| x - y).collect()
}

/// `w - eta g`.
pub(super) fn descend(w: &[f64], gradient: &[f64], eta: f64) -> Vec<f64> {
    w.iter().zip(gradient).map(|(w, g)| w - eta * g).collect()
}

/// `v` on `support`, 0 elsewhere.
pub(super) fn restrict(v: &[f64], support: &[u32]) -> Vec<f64> {
    let mut out = vec![0.0; v.len()];
    support.iter().for_each(|&j| out[j as usize] = v[j as usize]);
    out
}

/// The entries that are not 0.
pub(super) fn sparse(w: &[f64]) -> Weights {
    let kept = w.iter().enumerate().filter(|(_, v)| **v != 0.0);
    let (indices, values) = kept.map(|(j, &v)| (j as u32, v)).unzip();
    Weights { indices, values }
}
