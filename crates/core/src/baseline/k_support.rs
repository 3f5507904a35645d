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
//! R is above the best bound and D below it, so a small gap between them says what it is; it is found without
//! anything that the exact method uses. What a history calls `current` is R.
//! See Argyriou, Foygel and Srebro, "Sparse prediction with the k-support norm", NIPS 2012; Beck and Teboulle, 2009;
//! the restart is O'Donoghue and Candes', 2015.

use crate::{
    coordinator::{Stopped, certificate::dual_bound},
    loss::{Loss, with_loss},
    shard::conjugate_sum,
    threshold::{sum_of_largest, top_k},
};

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
        let (mut w, mut norm_sq) = prox(&q, self.step * job.lambda, job.k);
        w[0] = if job.intercept { q[0] / (1.0 + self.step * job.lambda) } else { 0.0 };
        norm_sq += w[0] * w[0];
        let scores = run.design().scores(&w);
        run.tally.visited += job.entries as f64;
        let value = run.objective_at(&scores, norm_sq);
        Point { w, scores, value }
    }
}

/// S2: `argmin_w ||w - q||^2 / 2 + (c/2) ||w||_k^2` and its `||w||_k^2`; place 0 is left out.
fn prox(q: &[f64], c: f64, k: usize) -> (Vec<f64>, f64) {
    let s = selector_slope(q, c, k);
    let (mut w, mut norm_sq) = (vec![0.0; q.len()], 0.0);
    for (w, &q) in w.iter_mut().zip(q).skip(1) {
        // With s infinite every entry that is not 0 is chosen.
        let theta = if q == 0.0 { 0.0 } else { (s * q.abs() - c).clamp(0.0, 1.0) };
        *w = q * theta / (theta + c);
        norm_sq += q * q * theta / ((theta + c) * (theta + c));
    }
    (w, norm_sq)
}

/// The s at which `sum_j min(1, max(0, s |q_j| - c)) = k`; infinite where k entries or fewer are not 0.
fn selector_slope(q: &[f64], c: f64, k: usize) -> f64 {
    let mut open: Vec<f64> = q.iter().skip(1).map(|q| q.abs()).filter(|q| *q > 0.0).collect();
    if open.len() <= k {
        return f64::INFINITY;
    }
    // At the k-th largest entry's own limit, k selectors are 1 already.
    let kth = *open.select_nth_unstable_by(k - 1, |a, b| b.total_cmp(a)).1;
    let (mut low, mut high, mut ones) = (0.0, (1.0 + c) / kth, 0usize);
    // What is decided for the whole interval leaves the list.
    while open.len() > 1 {
        let s = f64::midpoint(low, high);
        if s <= low || s >= high {
            break;
        }
        let sum: f64 = open.iter().map(|q| (s * q - c).clamp(0.0, 1.0)).sum();
        if ones as f64 + sum > k as f64 {
            high = s;
        } else {
            low = s;
        }
        let before = open.len();
        open.retain(|q| low * q - c < 1.0);
        ones += before - open.len();
        open.retain(|q| high * q - c > 0.0);
        let linear = open.iter().all(|q| low * q >= c && high * q <= 1.0 + c);
        if linear && !open.is_empty() {
            let size: f64 = open.iter().sum();
            return (k as f64 - ones as f64 + open.len() as f64 * c) / size;
        }
    }
    high
}

/// S4: D at `alpha_i = c_i l'(z_i)`, as a bound that holds.
fn certify(run: &mut Run<'_>, scores: &[f64]) -> f64 {
    let job = run.job();
    let shard = &mut *run.shard;
    let conjugate = with_loss!(job.loss, l => {
        for (i, &z) in scores.iter().enumerate() {
            let y = shard.targets()[i];
            shard.set_beta(i, l.project(l.derivative(z, y), y));
        }
        conjugate_sum(l, shard)
    });
    shard.rebuild();
    let (off, u) = (shard.rounding(), shard.dual().1);
    let upper = |j: usize| (u[j].abs() + off).powi(2);
    let mut squares: Vec<f64> = top_k(u, job.k).iter().map(|&j| upper(j as usize)).collect();
    let constant = if job.intercept { upper(0) } else { 0.0 };
    let norm_sq = sum_of_largest(&mut squares, job.k) + constant;
    run.tally.visited += job.entries as f64;
    dual_bound(&job, &conjugate, norm_sq)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prox_is_a_minimum() {
        let q = [0.0, 3.0, -2.5, 2.4, 0.3, -0.2, 1.0];
        for (c, k) in [(0.5, 2), (0.01, 3), (2.0, 1), (0.3, 6)] {
            let (w, norm_sq) = prox(&q, c, k);
            let s = selector_slope(&q, c, k);
            let sum: f64 = q[1..].iter().map(|q| (s * q.abs() - c).clamp(0.0, 1.0)).sum();
            assert!((sum - k as f64).abs() < 1e-9, "selectors add up to {sum} and not {k}");
            // Optimality: (q - w)/c is a subgradient u, so w'u = ||w||_k^2 = ||H_k(u)||^2.
            let u: Vec<f64> = q.iter().zip(&w).map(|(q, w)| (q - w) / c).collect();
            let mut squares: Vec<f64> = u[1..].iter().map(|u| u * u).collect();
            let dual = sum_of_largest(&mut squares, k);
            assert!((dot(&w, &u) - norm_sq).abs() < 1e-9 * norm_sq, "{c} {k}");
            assert!((dual - norm_sq).abs() < 1e-9 * norm_sq, "{dual} and not {norm_sq} ({c}, {k})");
        }
    }
}
