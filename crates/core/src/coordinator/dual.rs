//! The dual phase of `exact`, the coordinator's side: Frank-Wolfe on selectors (M5).
//!
//! max_alpha min_theta  -(1/N) sum_i l*(alpha_i) - (lambda/2) sum_j theta_j u_j^2
//! s.t. 0 <= theta_j <= 1, sum_j theta_j <= k
//!
//! where   theta moves towards the k largest |u_j| by gamma = 2/(t+2), and the shards' alpha follow it on
//!         the columns with theta_j > 0
//! Given   what the shards hold of u, by error feedback (M11)
//! Returns in each round the k changes of w = theta u that matter most

use wincode::{SchemaRead, SchemaWrite};

use crate::{
    round::{Job, ModelDelta, Sparse, narrowed},
    threshold::{TopK, favouring},
};

use super::{held::Held, mirror::Mirror, resume::are_features};

/// Selectors below this are dropped.
const THETA_FLOOR: f64 = 0.01;

/// The coordinator's state in the dual phase.
#[derive(Debug, Clone, SchemaRead, SchemaWrite)]
pub(super) struct Dual {
    k: usize,
    kept: usize,
    intercept: bool,
    /// Not saved: shards that come back tell what they hold.
    #[wincode(skip)]
    held: Held,
    /// Columns with theta > 0, the intercept excepted, whose theta is always 1.
    theta: Sparse<f64>,
    /// What the shards were sent: one copy where all get the same, else one for each.
    mirrors: Vec<Mirror>,
    #[wincode(skip)]
    top: TopK,
    support: Vec<u32>,
}

impl Dual {
    /// Nothing known; `mirrors` is 1 if all shards will always be told the same, else their number.
    pub(super) fn new(job: &Job, mirrors: usize) -> Self {
        Self {
            k: job.k,
            kept: job.kept,
            intercept: job.intercept,
            held: Held::new(job.cols, job.shards),
            theta: Sparse::default(),
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
        self.top.select(u.len(), self.k, favouring(self.kept, u), &mut support);
        let entered = count_new(&self.support, &support);
        if !support.is_empty() {
            // Nothing is known in round 0, so round 1 is the first that counts.
            let gamma =
                if self.theta.indices.is_empty() { 1.0 } else { share * 2.0 / (turn + 1.0) };
            self.move_theta(gamma.min(1.0), &support);
        }
        self.support = support;
        entered
    }

    /// Sets theta to what a shard has found (M14). Returns the number of columns that were not among the chosen before.
    pub(super) fn select(&mut self, selectors: &Sparse<f32>) -> usize {
        let entered = count_new(&self.support, &selectors.indices);
        self.support.clone_from(&selectors.indices);
        self.theta.indices.clone_from(&selectors.indices);
        self.theta.values =
            selectors.values.iter().map(|&theta| f64::from(theta).min(1.0)).collect();
        entered
    }

    /// `theta <- (1 - gamma) theta + gamma 1_F`, small entries dropped.
    fn move_theta(&mut self, gamma: f64, support: &[u32]) {
        let old = std::mem::take(&mut self.theta);
        let mut entering = support.iter().copied().peekable();
        let mut keep = |column: u32, theta: f64| {
            if theta > 0.0 {
                self.theta.indices.push(column);
                self.theta.values.push(theta);
            }
        };
        for (column, theta) in old.indices.into_iter().zip(old.values) {
            while let Some(new) = entering.next_if(|&new| new < column) {
                keep(new, gamma);
            }
            let faded = theta * (1.0 - gamma);
            let faded = if faded < THETA_FLOOR { 0.0 } else { faded };
            let chosen = entering.next_if_eq(&column).is_some();
            keep(column, if chosen { (faded + gamma).min(1.0) } else { faded });
        }
        entering.for_each(|new| keep(new, gamma));
    }

    /// The selector of a column.
    fn theta(&self, column: u32) -> f64 {
        match self.theta.indices.binary_search(&column) {
            Ok(at) => self.theta.values[at],
            Err(_) => f64::from(u8::from(self.intercept && column == 0)),
        }
    }

    /// S2: the k changes of `w = theta u` that matter most to who was sent `mirror`, which follows.
    pub(super) fn changes(&mut self, mirror: usize) -> ModelDelta {
        let mut sent_to = std::mem::take(&mut self.mirrors[mirror]);
        let u = self.held.u();
        let weight = |j: u32| self.theta(j) * u[j as usize];
        let changed = sent_to.largest_changes(&self.theta.indices, self.k, weight);
        let mut delta = ModelDelta::default();
        for j in self.intercept.then_some(0).into_iter().chain(changed) {
            let (weight, selector) = quantised(self.theta(j), u[j as usize]);
            delta.push(j, weight, selector);
        }
        sent_to.follow(&delta);
        self.mirrors[mirror] = sent_to;
        delta
    }

    /// All that was sent by [`Dual::changes`].
    pub(super) fn whole(&self, mirror: usize) -> ModelDelta {
        self.mirrors[mirror].whole()
    }

    /// S5: `u += ` what `shard` sent.
    pub(super) fn absorb(&mut self, shard: usize, update: &Sparse<f32>) {
        self.held.add(shard, update);
    }

    /// What `shard` has sent is `part` from now on.
    pub(super) fn restate(&mut self, shard: usize, part: &Sparse<f32>) {
        self.held.replace(shard, part);
    }

    /// Makes what was saved ready to go on; whether it is that of the run that `fresh` would begin.
    pub(super) fn resume(&mut self, fresh: Self) -> bool {
        let cols = fresh.held.u().len();
        self.held = fresh.held;
        self.k == fresh.k
            && self.kept == fresh.kept
            && self.intercept == fresh.intercept
            && self.mirrors.len() == fresh.mirrors.len()
            && self.mirrors.iter().all(|mirror| mirror.fits(cols))
            && self.theta.indices.len() == self.theta.values.len()
            && self.theta.values.iter().all(|&theta| theta > 0.0 && theta <= 1.0)
            && are_features(&self.theta.indices, cols)
            && are_features(&self.support, cols)
    }

    /// What the coordinator holds of `u`.
    pub(super) fn held(&self) -> &Held {
        &self.held
    }

    /// The columns with theta > 0 and their weights `theta u`.
    pub(super) fn weights(&self) -> Sparse<f64> {
        let constant = self.intercept.then_some(0);
        let chosen = self.theta.indices.iter().copied();
        let indices: Vec<u32> = constant.into_iter().chain(chosen).collect();
        let weight = |&j: &u32| self.theta(j) * self.held.u()[j as usize];
        let values = indices.iter().map(weight).collect();
        Sparse { indices, values }
    }
}

/// Weight and selector as they are sent: a selector that is not 0 stays so.
fn quantised(theta: f64, u: f64) -> (f32, u8) {
    if theta == 0.0 {
        return (0.0, 0);
    }
    (narrowed(theta * u), (theta * 255.0).round().clamp(1.0, 255.0) as u8)
}

/// How many of the ascending `after` are not in the ascending `before`.
pub(super) fn count_new(before: &[u32], after: &[u32]) -> usize {
    after.iter().filter(|j| before.binary_search(j).is_err()).count()
}
