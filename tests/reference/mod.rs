//! Simple algorithms for the same problem, written independently of the solver that is tested: what a
//! careful person would do without it. None of them may find a better model.

mod loss;
mod problem;

use std::{
    collections::HashSet,
    path::Path,
    time::{Duration, Instant},
};

use ddiht_core::{
    data::{self, ClassWeight, CsrMatrix, LabelMap, Normalize, ReadOptions},
    enrol::Preparation,
    storage::Local,
};

use loss::Loss;
use problem::Problem;

/// Rows with their targets, prepared as for training without an intercept.
#[derive(Debug)]
pub(crate) struct Data {
    x: CsrMatrix,
    y: Vec<f64>,
}

/// The objective that an algorithm reached.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reached {
    pub(crate) by: &'static str,
    pub(crate) objective: f64,
}

impl Data {
    pub(crate) fn load(path: &Path, loss: &str, positive: Option<&str>, l2: bool) -> Self {
        let raw = data::read(&Local, &[path.to_owned()], &ReadOptions::default()).unwrap();
        let preparation = Preparation {
            classes: loss != "squared",
            positive: positive.map(|rule| rule.parse().unwrap()),
            normalize: if l2 { Normalize::L2 } else { Normalize::None },
            ..Preparation::default()
        };
        let counts = preparation.describe(&raw).labels;
        let map = preparation
            .classes
            .then(|| LabelMap::fix(&counts, preparation.positive.as_ref(), ClassWeight::Equal));
        let rows = preparation.rows(raw, map.transpose().unwrap().as_ref()).unwrap();
        Self { x: rows.x, y: rows.y }
    }
}

/// The references for one data set, loss and lambda; what does not depend on k is computed once.
#[derive(Debug)]
pub(crate) struct References<'a> {
    problem: Problem<'a>,
    hinge: bool,
    lipschitz: f64,
    ridge: Vec<f64>,
    patience: Duration,
}

impl<'a> References<'a> {
    /// `patience` bounds each single algorithm; one that is cut short is a weaker reference.
    pub(crate) fn new(data: &'a Data, loss: &str, lambda: f64, patience: Duration) -> Self {
        let problem = Problem { x: &data.x, y: &data.y, loss: Loss::named(loss), lambda };
        let lipschitz = problem.lipschitz();
        let ridge = problem.minimise(vec![0.0; data.x.cols()], Instant::now() + patience);
        Self { problem, hinge: loss == "hinge", lipschitz, ridge, patience }
    }

    /// All of them, the best first.
    pub(crate) fn run(&self, k: usize) -> Vec<Reached> {
        let mut all = vec![
            Reached { by: "l2-top-k-refit", objective: self.keep_and_refit(k) },
            Reached { by: "grahtp", objective: self.grahtp(k) },
            Reached { by: "iht", objective: self.iht(k) },
        ];
        all.sort_by(|a, b| a.objective.total_cmp(&b.objective));
        all
    }

    fn deadline(&self) -> Instant {
        Instant::now() + self.patience
    }

    /// `P` in the loss that was asked for.
    fn value(&self, w: &[f64]) -> f64 {
        let z = self.problem.scores(w);
        if !self.hinge {
            return self.problem.objective(&z, w);
        }
        let y = self.problem.y;
        let losses: f64 = z.iter().zip(y).map(|(z, y)| (1.0 - y * z).max(0.0)).sum();
        losses / y.len() as f64 + self.problem.lambda / 2.0 * problem::dot(w, w)
    }

    /// Ridge over all features, its k largest weights, refitted.
    fn keep_and_refit(&self, k: usize) -> f64 {
        self.value(&self.refit(&top(&self.ridge, k), &self.ridge, self.deadline()))
    }

    /// Projected gradient with a step found by backtracking.
    fn iht(&self, k: usize) -> f64 {
        let deadline = self.deadline();
        let p = &self.problem;
        let mut w = vec![0.0; p.x.cols()];
        let mut z = vec![0.0; p.y.len()];
        let (mut now, mut best) = (p.objective(&z, &w), self.value(&w));
        let mut eta = 1.0 / self.lipschitz;
        for _ in 0..500 {
            if Instant::now() >= deadline {
                break;
            }
            let g = p.gradient(&z, &w);
            eta *= 2.0;
            loop {
                let next = threshold(&step(&w, &g, eta), k);
                let move_: Vec<f64> = next.iter().zip(&w).map(|(a, b)| a - b).collect();
                let next_z = p.scores(&next);
                let next_p = p.objective(&next_z, &next);
                let model = problem::dot(&g, &move_) + problem::dot(&move_, &move_) / (2.0 * eta);
                if next_p <= now + model || eta < 1e-3 / self.lipschitz {
                    (w, z, now) = (next, next_z, next_p);
                    break;
                }
                eta /= 2.0;
            }
            best = best.min(if self.hinge { self.value(&w) } else { now });
        }
        best
    }

    /// GraHTP: a gradient step, its k largest entries, refitted, until the support repeats; the best of
    /// several steps.
    fn grahtp(&self, k: usize) -> f64 {
        let deadline = self.deadline();
        let p = &self.problem;
        let mut best = f64::INFINITY;
        for factor in [1.0, 0.3, 3.0, 10.0, 50.0] {
            let mut w = vec![0.0; p.x.cols()];
            let mut seen = HashSet::new();
            for _ in 0..40 {
                if Instant::now() >= deadline {
                    return best;
                }
                let g = p.gradient(&p.scores(&w), &w);
                let support = top(&step(&w, &g, factor / self.lipschitz), k);
                w = self.refit(&support, &w, deadline);
                best = best.min(self.value(&w));
                if !seen.insert(support) {
                    break;
                }
            }
        }
        best
    }

    /// The best weights on `support`, from those of `start`.
    fn refit(&self, support: &[u32], start: &[f64], deadline: Instant) -> Vec<f64> {
        let p = &self.problem;
        let mut place = vec![None; p.x.cols()];
        for (at, &j) in (0u32..).zip(support) {
            place[j as usize] = Some(at);
        }
        let mut x = CsrMatrix::new(support.len());
        p.x.iter().for_each(|row| x.push_renamed(row, |j| place[j as usize]));
        let part = Problem { x: &x, ..*p };
        let start = support.iter().map(|&j| start[j as usize]).collect();
        let mut w = vec![0.0; p.x.cols()];
        for (&j, v) in support.iter().zip(part.minimise(start, deadline)) {
            w[j as usize] = v;
        }
        w
    }
}

fn step(w: &[f64], g: &[f64], eta: f64) -> Vec<f64> {
    w.iter().zip(g).map(|(w, g)| w - eta * g).collect()
}

/// The places of the k largest entries, ascending; column 0 is no feature.
fn top(w: &[f64], k: usize) -> Vec<u32> {
    let mut order: Vec<u32> = (1..w.len() as u32).collect();
    if k < order.len() {
        let size = |j: u32| w[j as usize].abs();
        order.select_nth_unstable_by(k, |&a, &b| size(b).total_cmp(&size(a)).then(a.cmp(&b)));
        order.truncate(k);
        order.sort_unstable();
    }
    order
}

fn threshold(w: &[f64], k: usize) -> Vec<f64> {
    let mut out = vec![0.0; w.len()];
    for j in top(w, k) {
        out[j as usize] = w[j as usize];
    }
    out
}
