//! The k-support-norm relaxation, whose optimum is the best bound there is.
//!
//! min_w  R(w) = (1/N) sum_i c_i l(x_i'w, y_i) + (lambda/2) (||w||_k^2 + w_0^2)  =  max_alpha D(alpha)  <=  min P
//!
//! where   `||w||_k^2 = min { sum_j w_j^2 / theta_j : theta in [0,1]^d, sum theta <= k }`: the squared k-support norm,
//!         whose dual is `||H_k(u)||^2` (M6)
//! Returns why it ended; the books have the best bound, and the refit on the k largest weights
//! S1      a gradient step on the losses from v, length t, to q
//! S2      prox: `theta_j = min(1, max(0, s |q_j| - c))`, `c = t lambda`, s such that `sum theta = k`;
//!         `w_j = q_j theta_j / (theta_j + c)`
//! S3      `v = w + (tau_old - 1)/tau (w - w_old)`, forgotten when it leads uphill
//! S4      after a number of steps: the bound `D(alpha)`, `alpha_i = l'(x_i'w)`, by the code that certifies ours, and
//!         the refit
//!
//! R is above the best bound and D below it, so a small gap between them says what it is, whatever the exact method
//! found; the two have the prox in common, and nothing else. What a history calls `current` is R.
//! See Argyriou, Foygel and Srebro, "Sparse prediction with the k-support norm", NIPS 2012; Beck and Teboulle, 2009;
//! the restart is O'Donoghue and Candes', 2015.

use crate::{coordinator::Stopped, support_norm::prox};

use super::run::{Run, difference, dot};

/// Steps between two bounds.
const STEPS: usize = 50;
/// Relative distance of R and D at which nothing is left to do.
const TOLERANCE: f64 = 1e-7;
/// The step is tried this much longer each time.
const LONGER: f64 = 1.05;

/// A point of the relaxation.
#[derive(Debug, Clone)]
struct Point {
    w: Vec<f64>,
    scores: Vec<f64>,
    /// R.
    value: f64,
}

/// Runs it.
pub(super) fn solve(run: &mut Run<'_>) -> Stopped {
    let job = run.job();
    let mut descent = Descent {
        step: 1.0 / run.smoothness(),
        tau: 1.0,
        v: vec![0.0; job.cols],
        point: start(run),
    };
    loop {
        for _ in 0..STEPS {
            descent.advance(run);
            if run.cut_short().is_some() {
                break;
            }
        }
        let value = descent.point.value;
        let bound = certify(run, &descent.point.scores);
        run.tally.offer_bound(bound);
        let support = run.support_of(&descent.point.w, job.k);
        let fitted = run.refit(&support, &descent.point.w);
        if let Some(why) = run.close(&fitted.w, value) {
            return why;
        }
        let best = run.tally.bound().unwrap_or(f64::NEG_INFINITY);
        if value - best <= TOLERANCE * value.abs() {
            return Stopped::Stalled;
        }
    }
}

fn start(run: &Run<'_>) -> Point {
    let scores = vec![0.0; run.design().rows()];
    let value = run.objective_at(&scores, 0.0);
    Point { w: vec![0.0; run.job().cols], scores, value }
}

/// The accelerated proximal descent.
struct Descent {
    /// t.
    step: f64,
    tau: f64,
    v: Vec<f64>,
    point: Point,
}

impl Descent {
    fn advance(&mut self, run: &mut Run<'_>) {
        let scores = run.design().scores(&self.v);
        let losses = run.objective_at(&scores, 0.0);
        let mut gradient = vec![0.0; self.v.len()];
        run.design().scatter(&run.slopes(&scores), &mut gradient);
        run.tally.visited += 2.0 * run.job().entries as f64;
        self.step *= LONGER;
        let next = loop {
            // S1, S2
            let next = self.trial(run, &gradient);
            let change = difference(&next.w, &self.v);
            let model =
                losses + dot(&gradient, &change) + dot(&change, &change) / (2.0 * self.step);
            let reached = run.objective_at(&next.scores, 0.0);
            if reached <= model + 1e-13 * losses.abs() {
                break next;
            }
            self.step /= 2.0;
        };
        // S3
        let change = difference(&next.w, &self.point.w);
        let uphill = dot(&difference(&self.v, &next.w), &change) > 0.0;
        let (before, tau) =
            (self.tau, f64::midpoint(1.0, (1.0 + 4.0 * self.tau * self.tau).sqrt()));
        self.tau = if uphill { 1.0 } else { tau };
        let momentum = if uphill { 0.0 } else { (before - 1.0) / tau };
        self.v = next.w.iter().zip(&change).map(|(w, d)| w + momentum * d).collect();
        self.point = next;
    }

    fn trial(&self, run: &mut Run<'_>, gradient: &[f64]) -> Point {
        let job = run.job();
        let q: Vec<f64> = self.v.iter().zip(gradient).map(|(v, g)| v - self.step * g).collect();
        let c = self.step * job.lambda;
        let features = prox(&q[1..], &vec![c; q.len() - 1], job.k);
        let constant = if job.intercept { q[0] / (1.0 + c) } else { 0.0 };
        let norm_sq = features.norm_sq + constant * constant;
        let w: Vec<f64> = std::iter::once(constant).chain(features.w).collect();
        let scores = run.design().scores(&w);
        run.tally.visited += job.entries as f64;
        let value = run.objective_at(&scores, norm_sq);
        Point { w, scores, value }
    }
}

/// S4: D at `alpha_i = c_i l'(z_i)`, as a bound that holds.
fn certify(run: &mut Run<'_>, scores: &[f64]) -> f64 {
    run.tally.visited += run.job().entries as f64;
    run.shard.follow_scores(scores);
    run.shard.own_bound()
}
