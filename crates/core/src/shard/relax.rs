//! The best bound of a single shard: accelerated proximal steps on the k-support relaxation (M6, M14).
//!
//! min_w  R(w) = (1/N) sum_i c_i l(x_i'w, y_i) + (lambda/2) (||w||_k^2 + w_0^2)  =  max_alpha D(alpha)
//!
//! Given   the relative distance of R and D at which nothing is left to do; at first, `w = theta u` of the dual rounds
//! S1      q = v minus a gradient step on the losses, in the metric `b h_j`, `h_j` the root of the curvature of column j
//! S2      w = the prox of `lambda ||.||_k^2 / 2` at q in that metric; b is doubled until the metric is above the losses
//! S3      v = w + momentum, which is forgotten when it leads uphill
//! S4      after a few steps on the columns that can matter: `alpha_i = c_i l'(x_i'w)`, kept if it proves more than the best
//! Returns its cost, and the selectors theta of w, with which the finish begins. Evidence is asked for by a directive of its
//!         own, as everywhere
//!
//! See Beck and Teboulle, 2009; the restart is O'Donoghue and Candes', 2015.

use rayon::prelude::*;

use crate::{
    coordinator::WIDE,
    design::Design,
    loss::{Loss, with_loss},
    round::{Reply, Sparse, narrowed},
    support_norm::{Prox, prox},
    threshold::{TopK, favouring},
};

use super::Shard;

/// Steps for one directive: somebody may want to know how far the run is, or end it.
const STEPS: usize = 10;
/// Steps are tried this much longer each time.
const LONGER: f64 = 1.05;
/// Least `h_j` of the largest.
const FLATTEST: f64 = 1e-6;

/// How far it has come. Vectors are by column, unless it says otherwise.
#[derive(Debug)]
pub(super) struct Relaxation {
    metric: Vec<f64>,
    w: Vec<f64>,
    v: Vec<f64>,
    path: Path,
    /// The largest selectors of w.
    selectors: Sparse<f32>,
    /// The columns of the next steps.
    columns: Vec<u32>,
    /// The best D so far, whose alpha is that of the shard.
    bound: f64,
}

/// What does not depend on the columns in play.
#[derive(Debug)]
struct Path {
    /// `b`.
    bend: f64,
    tau: f64,
    /// `x_i'w` and `x_i'v` of every row.
    scores: Vec<f64>,
    ahead: Vec<f64>,
    /// R at w.
    value: f64,
}

/// Steps on some columns, by their place in the view.
struct Local<'a> {
    shard: &'a Shard,
    design: &'a Design,
    metric: Vec<f64>,
    w: Vec<f64>,
    v: Vec<f64>,
    /// Those of w.
    theta: Vec<f64>,
}

impl Relaxation {
    /// Whether R and D are this near each other. A value that is not a number will not become one; before the first step
    /// there is none.
    fn is_closed(&self, gap: f64) -> bool {
        let value = self.path.value;
        let apart = value - self.bound > gap * value.abs();
        !apart && value != f64::INFINITY
    }
}

impl Shard {
    pub(super) fn relax(&mut self, gap: f64) -> Reply {
        let mut visited = 0;
        let mut state = self.relaxation.take().unwrap_or_else(|| {
            visited += 4 * self.design.matrix().nnz();
            self.begin_relaxation()
        });
        if !state.is_closed(gap) {
            visited += self.descend(&mut state) + 2 * self.design.matrix().nnz();
            self.look_back(&mut state);
        }
        let selectors = state.selectors.clone();
        self.relaxation = Some(state);
        Reply::Relaxed { visited: visited as u64, selectors }
    }

    fn begin_relaxation(&mut self) -> Relaxation {
        let job = self.job;
        let steepest = 1.0 / job.loss.conjugate_curvature_min().max(f64::MIN_POSITIVE);
        let per_row: Vec<f64> =
            (0..self.y.len()).map(|i| self.weight(i) * steepest / job.total_rows as f64).collect();
        let mut metric = vec![0.0; job.cols];
        self.design.scatter_squares(&per_row, &mut metric);
        let bend = metric.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        metric.iter_mut().for_each(|h| *h = (*h / bend).sqrt().max(FLATTEST));
        self.rebuild();
        let mut w = vec![0.0; job.cols];
        for &j in &self.active {
            w[j as usize] = f64::from(self.theta[j as usize]) / 255.0 * self.u[j as usize];
        }
        let scores = self.design.scores(&w);
        let path = Path { bend, tau: 1.0, ahead: scores.clone(), scores, value: f64::INFINITY };
        let (v, bound) = (w.clone(), self.own_bound());
        let (selectors, columns) = (Sparse::default(), Vec::new());
        let mut state = Relaxation { metric, w, v, path, selectors, columns, bound };
        self.look_back(&mut state);
        state
    }

    /// S4: D where the steps have led, and the columns of the next ones: those in play, and the largest of |u| beside them.
    fn look_back(&mut self, state: &mut Relaxation) {
        let best = (self.beta.clone(), std::mem::replace(&mut self.u, vec![0.0; self.job.cols]));
        self.follow_scores(&state.path.scores);
        let bound = self.own_bound();
        let (u, kept) = (&self.u, self.job.kept);
        let in_play = |j: usize| j <= kept || state.w[j] != 0.0 || state.v[j] != 0.0;
        let used = (1..u.len()).filter(|&j| in_play(j)).count();
        let rank = |j: usize| if in_play(j) { f64::INFINITY } else { u[j].abs() };
        let count = used + used / 2 + 64;
        TopK::new().select(u.len(), count, rank, &mut state.columns);
        if bound > state.bound {
            state.bound = bound;
        } else {
            (self.beta, self.u) = best;
        }
    }

    /// Steps on the columns of `state`; the entries they visited.
    fn descend(&mut self, state: &mut Relaxation) -> usize {
        self.restrict(&state.columns);
        let columns = self.view.columns();
        let here = |of: &[f64]| columns.iter().map(|&j| of[j as usize]).collect::<Vec<f64>>();
        let mut local = Local {
            shard: self,
            design: self.view.design(&self.design),
            metric: here(&state.metric),
            w: here(&state.w),
            v: here(&state.v),
            theta: Vec::new(),
        };
        let looks: usize = (0..STEPS).map(|_| local.advance(&mut state.path)).sum();
        for (place, &j) in columns.iter().enumerate() {
            state.w[j as usize] = local.w[place];
            state.v[j as usize] = local.v[place];
        }
        let visited = looks * local.design.matrix().nnz();
        state.selectors = self.largest_selectors(&columns, &local.theta);
        visited
    }

    /// The selectors of `columns` that matter most, the intercept's left out: as many as a start of the finish can have.
    fn largest_selectors(&self, columns: &[u32], theta: &[f64]) -> Sparse<f32> {
        let most = self.job.k.saturating_mul(WIDE);
        let mut places = Vec::new();
        TopK::new().select(theta.len(), most, favouring(self.job.kept, theta), &mut places);
        // What is too small for f32 is as good as 0.
        let entries = places.iter().map(|&p| (columns[p as usize], narrowed(theta[p as usize])));
        let (indices, values) = entries.filter(|entry| entry.1 > 0.0).unzip();
        Sparse { indices, values }
    }
}

impl Local<'_> {
    /// One step; how often it looked at the data.
    fn advance(&mut self, path: &mut Path) -> usize {
        let losses = self.losses(&path.ahead);
        let mut gradient = vec![0.0; self.w.len()];
        self.design.scatter(&self.slopes(&path.ahead), &mut gradient);
        path.bend /= LONGER;
        let mut looks = 1;
        let (w, scores, value) = loop {
            looks += 1;
            let Prox { w, theta, norm_sq } = self.trial(&gradient, path.bend);
            let scores = self.design.scores(&w);
            let reached = self.losses(&scores);
            let model: f64 = (0..w.len())
                .map(|j| {
                    let change = w[j] - self.v[j];
                    change * (gradient[j] + path.bend * self.metric[j] * change / 2.0)
                })
                .sum();
            // Sums that are not finite would never fit.
            if reached <= losses + model + 1e-13 * losses.abs() || !path.bend.is_finite() {
                self.theta = theta;
                break (w, scores, reached + self.shard.job.lambda / 2.0 * norm_sq);
            }
            path.bend *= 2.0;
        };
        path.value = value;
        self.follow(w, scores, path);
        looks
    }

    /// S1, S2: the minimiser of the model. The constant and what is kept have the selector 1.
    fn trial(&self, gradient: &[f64], bend: f64) -> Prox {
        let job = &self.shard.job;
        let q: Vec<f64> =
            (0..self.v.len()).map(|j| self.v[j] - gradient[j] / (bend * self.metric[j])).collect();
        let c: Vec<f64> = self.metric.iter().map(|h| job.lambda / (bend * h)).collect();
        let sure = (job.kept + 1).min(q.len());
        let sure_w: Vec<f64> = q.iter().zip(&c).take(sure).map(|(q, c)| q / (1.0 + c)).collect();
        let chosen = prox(&q[sure..], &c[sure..], job.k.saturating_sub(job.kept));
        let norm_sq = sure_w.iter().map(|w| w * w).sum::<f64>() + chosen.norm_sq;
        let w = [sure_w, chosen.w].concat();
        Prox { w, theta: [vec![1.0; sure], chosen.theta].concat(), norm_sq }
    }

    /// S3. Scores are linear in the weights, so those of v need no look at the data.
    fn follow(&mut self, w: Vec<f64>, scores: Vec<f64>, path: &mut Path) {
        let uphill = (0..w.len())
            .map(|j| self.metric[j] * (self.v[j] - w[j]) * (w[j] - self.w[j]))
            .sum::<f64>()
            > 0.0;
        let tau = f64::midpoint(1.0, (1.0 + 4.0 * path.tau * path.tau).sqrt());
        let momentum = if uphill { 0.0 } else { (path.tau - 1.0) / tau };
        path.tau = if uphill { 1.0 } else { tau };
        let beyond = |now: &[f64], before: &[f64]| -> Vec<f64> {
            now.iter().zip(before).map(|(n, b)| n + momentum * (n - b)).collect()
        };
        self.v = beyond(&w, &self.w);
        path.ahead = beyond(&scores, &path.scores);
        (self.w, path.scores) = (w, scores);
    }

    /// `(1/N) sum_i c_i l(z_i)`.
    fn losses(&self, scores: &[f64]) -> f64 {
        self.shard.loss_sum(scores) / self.shard.job.total_rows as f64
    }

    /// `c_i l'(z_i) / N` of every row.
    fn slopes(&self, scores: &[f64]) -> Vec<f64> {
        let (shard, per_row) = (self.shard, 1.0 / self.shard.job.total_rows as f64);
        with_loss!(shard.job.loss, l => {
            let slope = |i: usize| shard.weight(i) * per_row * l.derivative(scores[i], shard.y[i]);
            (0..scores.len()).into_par_iter().with_min_len(1024).map(slope).collect()
        })
    }
}
