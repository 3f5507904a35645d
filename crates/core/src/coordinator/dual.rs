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

use super::{held::Held, mirror::Mirror};

/// Selectors below this are dropped.
const THETA_FLOOR: f64 = 0.01;

/// The coordinator's state in the dual phase.
#[derive(Debug, Clone)]
pub(super) struct Dual {
    k: usize,
    intercept: bool,
    held: Held,
    theta: Vec<f64>,
    /// Columns with `theta > 0`, ascending, the intercept excepted.
    active: Vec<u32>,
    /// What the shards were sent: one copy where all get the same, else one for each.
    mirrors: Vec<Mirror>,
    top: TopK,
    support: Vec<u32>,
}

impl Dual {
    /// Nothing known; `mirrors` is 1 if all shards will always be told the same, else their number.
    pub(super) fn new(job: &Job, mirrors: usize) -> Self {
        let mut theta = vec![0.0; job.cols];
        if job.intercept {
            theta[0] = 1.0;
        }
        Self {
            k: job.k,
            intercept: job.intercept,
            held: Held::new(job.cols),
            theta,
            active: Vec::new(),
            mirrors: vec![Mirror::default(); mirrors],
            top: TopK::new(),
            support: Vec::new(),
        }
    }

    /// S1: moves theta in the dual round `turn`, from 0, by as much as the `share` of the shards that have
    /// answered. Returns the number of columns that were not among the k largest before.
    pub(super) fn advance(&mut self, share: f64, turn: f64) -> usize {
        let mut support = Vec::new();
        let u = self.held.u();
        self.top.select(u.len(), self.k, |j| u[j].abs(), &mut support);
        let entered = count_new(&self.support, &support);
        if !support.is_empty() {
            // Nothing is known in round 0, so round 1 is the first that counts.
            let gamma = if self.active.is_empty() { 1.0 } else { share * 2.0 / (turn + 1.0) };
            self.move_theta(gamma.min(1.0), &support);
        }
        self.support = support;
        entered
    }

    /// `theta <- (1 - gamma) theta + gamma 1_F`, small entries dropped.
    fn move_theta(&mut self, gamma: f64, support: &[u32]) {
        for &j in &self.active {
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
        self.active.extend_from_slice(support);
        self.active.sort_unstable();
        self.active.dedup();
        let theta = &self.theta;
        self.active.retain(|&j| theta[j as usize] > 0.0);
    }

    /// S2: the k changes of `w = theta u` that matter most to who was sent `mirror`, which follows.
    pub(super) fn changes(&mut self, mirror: usize) -> ModelDelta {
        let (u, theta) = (self.held.u(), &self.theta);
        let target = |j: u32| quantised(theta[j as usize], u[j as usize]);
        let exact = |j: u32| theta[j as usize] * u[j as usize];
        let mut delta = ModelDelta::default();
        if self.intercept {
            let (weight, selector) = target(0);
            delta.push(0, weight, selector);
        }
        for j in self.mirrors[mirror].largest_changes(&self.active, self.k, exact) {
            let (weight, selector) = target(j);
            delta.push(j, weight, selector);
        }
        let features = usize::from(self.intercept);
        self.mirrors[mirror].follow(&delta, features);
        delta
    }

    /// S5: `u += ` what a shard sent.
    pub(super) fn absorb(&mut self, update: &Sparse<f32>) {
        self.held.add(update);
    }

    /// What the coordinator holds of `u`.
    pub(super) fn held(&self) -> &Held {
        &self.held
    }

    /// The columns with theta > 0 and their weights `theta u`.
    pub(super) fn weights(&self) -> Sparse<f64> {
        let constant = self.intercept.then_some(0);
        let chosen = self.active.iter().copied();
        let indices: Vec<u32> = constant.into_iter().chain(chosen).collect();
        let values =
            indices.iter().map(|&j| self.theta[j as usize] * self.held.u()[j as usize]).collect();
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
