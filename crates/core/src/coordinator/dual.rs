//! The dual phase of `exact`, the coordinator's side: Frank-Wolfe on selectors (M5).
//!
//! max_alpha min_theta  -(1/N) sum_i l*(alpha_i) - (lambda/2) sum_j theta_j u_j^2
//! s.t. 0 <= theta_j <= 1, sum_j theta_j <= k
//!
//! where   theta moves towards the k largest |u_j| by gamma = 2/(t+2), and the shards' alpha follow it on
//!         the columns with theta_j > 0
//! Given   what the shards hold of u, by error feedback (M11)
//! Returns in each round the k changes of w = theta u that matter most

use crate::{
    round::{Job, ModelDelta, Sparse},
    threshold::TopK,
};

/// Selectors below this are dropped.
const THETA_FLOOR: f64 = 0.01;

/// The coordinator's state in the dual phase.
#[derive(Debug, Clone)]
pub(super) struct Dual {
    k: usize,
    intercept: bool,
    /// Sum of what the shards have sent of their `u`.
    u: Vec<f64>,
    theta: Vec<f64>,
    /// Columns with `theta > 0` or a non-zero weight sent, ascending.
    touched: Vec<u32>,
    sent_weight: Vec<f32>,
    sent_theta: Vec<u8>,
    turn: u64,
    top: TopK,
    largest_changes: TopK,
    support: Vec<u32>,
}

impl Dual {
    pub(super) fn new(job: &Job) -> Self {
        let mut theta = vec![0.0; job.cols];
        if job.intercept {
            theta[0] = 1.0;
        }
        Self {
            k: job.k,
            intercept: job.intercept,
            u: vec![0.0; job.cols],
            theta,
            touched: Vec::new(),
            sent_weight: vec![0.0; job.cols],
            sent_theta: vec![0; job.cols],
            turn: 0,
            top: TopK::new(),
            largest_changes: TopK::new(),
            support: Vec::new(),
        }
    }

    /// S1 and S2: moves theta and names the changes of the model. Returns them with the number of columns
    /// that were not among the k largest before.
    pub(super) fn advance(&mut self) -> (ModelDelta, usize) {
        let mut support = Vec::new();
        let u = &self.u;
        self.top.select(u.len(), self.k, |j| u[j].abs(), &mut support);
        let entered = count_new(&self.support, &support);
        if !support.is_empty() {
            let gamma = 2.0 / (self.turn as f64 + 2.0);
            self.move_theta(gamma, &support);
            self.turn += 1;
        }
        self.support = support;
        (self.changes(), entered)
    }

    /// `theta <- (1 - gamma) theta + gamma 1_F`, small entries dropped.
    fn move_theta(&mut self, gamma: f64, support: &[u32]) {
        for &j in &self.touched {
            let theta = &mut self.theta[j as usize];
            *theta *= 1.0 - gamma;
            if *theta < THETA_FLOOR {
                *theta = 0.0;
            }
        }
        for &j in support {
            let theta = &mut self.theta[j as usize];
            *theta = (*theta + gamma).min(1.0);
        }
        self.touched.extend_from_slice(support);
        self.touched.sort_unstable();
        self.touched.dedup();
        let (theta, sent) = (&self.theta, &self.sent_weight);
        self.touched.retain(|&j| theta[j as usize] > 0.0 || sent[j as usize] != 0.0);
    }

    /// The k largest changes of `w = theta u` since what was sent.
    fn changes(&mut self) -> ModelDelta {
        let (u, theta, sent) = (&self.u, &self.theta, &self.sent_weight);
        let change = |j: u32| {
            let j = j as usize;
            (theta[j] * u[j] - f64::from(sent[j])).abs()
        };
        // The selector never picks position 0, which it takes for the intercept: shift by one.
        let mut picked = Vec::new();
        let touched = &self.touched;
        let at = |position: usize| change(touched[position - 1]);
        self.largest_changes.select(touched.len() + 1, self.k, at, &mut picked);
        let mut indices: Vec<u32> = picked.iter().map(|&p| touched[p as usize - 1]).collect();
        if self.intercept {
            indices.insert(0, 0);
        }
        let mut delta = ModelDelta::default();
        for &j in &indices {
            let (weight, theta) = quantised(self.theta[j as usize], self.u[j as usize]);
            self.sent_weight[j as usize] = weight;
            self.sent_theta[j as usize] = theta;
            delta.weights.push(weight);
            delta.theta.push(theta);
        }
        delta.indices = indices;
        delta
    }

    /// S5: `u += ` what a shard sent.
    pub(super) fn absorb(&mut self, update: &Sparse<f32>) {
        for (j, v) in update.iter() {
            self.u[j] += f64::from(v);
        }
    }

    /// What the coordinator holds of `u`.
    pub(super) fn u(&self) -> &[f64] {
        &self.u
    }

    /// The columns with theta > 0 and their weights `theta u`.
    pub(super) fn weights(&self) -> Sparse<f64> {
        let constant = self.intercept.then_some(0);
        let chosen = self.touched.iter().copied().filter(|&j| self.theta[j as usize] > 0.0);
        let indices: Vec<u32> = constant.into_iter().chain(chosen).collect();
        let values = indices.iter().map(|&j| self.theta[j as usize] * self.u[j as usize]).collect();
        Sparse { indices, values }
    }
}

/// Weight and selector as they are sent: a selector that is not 0 stays so.
fn quantised(theta: f64, u: f64) -> (f32, u8) {
    if theta == 0.0 {
        return (0.0, 0);
    }
    ((theta * u) as f32, (theta * 255.0).round().clamp(1.0, 255.0) as u8)
}

/// How many of the ascending `after` are not in the ascending `before`.
pub(super) fn count_new(before: &[u32], after: &[u32]) -> usize {
    after.iter().filter(|j| before.binary_search(j).is_err()).count()
}
