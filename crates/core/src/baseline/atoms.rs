//! The scaled l1 ball as a convex hull, and the moves of the Frank-Wolfe family in it.
//!
//! min f(w) = P(w)  s.t.  sum_{j>0} |w_j| <= R: the hull of the corners `+-R e_j`.
//!
//! A point is kept as weights of corners that add up to 1. The intercept is outside of the ball and always at its
//! best value, so f is what is left of P when it is minimised over it. While k features are in play no other comes
//! in, so models stay k-sparse; with k = d the ball is all there is.

use std::collections::BTreeMap;

use crate::coordinator::Stopped;

use super::{
    line, oblivious,
    run::{Look, Run, dot},
};

/// Gap, relative to f, at which the ball has nothing better.
const TOLERANCE: f64 = 1e-8;
/// A corner with less weight is none.
const NOTHING: f64 = 1e-12;

/// `R e_j`, or its opposite.
pub(super) type Corner = (u32, bool);

/// Where to go.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Move {
    /// Towards a corner.
    Toward(Corner),
    /// Away from one.
    Away(Corner),
    /// Weight goes from one to another.
    Swap {
        /// From this one.
        from: Corner,
        /// To this one.
        to: Corner,
    },
}

/// How fast f falls.
#[derive(Debug, Default)]
struct Pace {
    iterations: usize,
    before: Option<f64>,
}

/// Iterations over which f must fall.
const LOOK_BACK: usize = 20;

impl Pace {
    /// Whether f has fallen by less than gap/100, relative, in the last iterations.
    fn stands_still(&mut self, objective: f64, gap: f64) -> bool {
        self.iterations += 1;
        if !self.iterations.is_multiple_of(LOOK_BACK) {
            return false;
        }
        let before = self.before.replace(objective);
        before.is_some_and(|before| before - objective < gap / 100.0 * objective.abs())
    }
}

/// The corners in play, with their weights.
#[derive(Debug)]
pub(super) struct Atoms {
    radius: f64,
    weights: BTreeMap<Corner, f64>,
}

/// What an iteration knows.
pub(super) struct Outlook<'a> {
    pub(super) atoms: &'a Atoms,
    /// `-<grad f, s - w>` for the best corner s: the gap.
    pub(super) toward: f64,
    /// The best corner.
    pub(super) best: Corner,
    /// `-<grad f, w - v>` for the worst corner v in play.
    pub(super) away: f64,
    /// The worst corner in play.
    pub(super) worst: Corner,
}

impl Atoms {
    /// w = 0, as the middle between two opposite corners.
    fn new(radius: f64, first: u32) -> Self {
        Self { radius, weights: BTreeMap::from([((first, false), 0.5), ((first, true), 0.5)]) }
    }

    fn value(&self, corner: Corner) -> f64 {
        if corner.1 { -self.radius } else { self.radius }
    }

    /// The weight of a corner.
    pub(super) fn weight(&self, corner: Corner) -> f64 {
        self.weights.get(&corner).copied().unwrap_or(0.0)
    }

    /// The point, the intercept's place left at 0.
    fn point(&self, cols: usize) -> Vec<f64> {
        let mut w = vec![0.0; cols];
        for (&corner, &weight) in &self.weights {
            w[corner.0 as usize] += weight * self.value(corner);
        }
        w
    }

    /// The direction of a move from `w`.
    fn direction(&self, step: Move, w: &[f64]) -> Vec<f64> {
        let (mut d, corner, sign) = match step {
            Move::Toward(to) => (w.iter().map(|w| -w).collect::<Vec<_>>(), to, 1.0),
            Move::Away(from) => (w.to_vec(), from, -1.0),
            Move::Swap { from, to } => {
                let mut d = vec![0.0; w.len()];
                d[from.0 as usize] -= self.value(from);
                (d, to, 1.0)
            }
        };
        d[0] = 0.0;
        d[corner.0 as usize] += sign * self.value(corner);
        d
    }

    /// The longest share of a move that stays in the ball.
    fn longest(&self, step: Move) -> f64 {
        match step {
            Move::Toward(_) => 1.0,
            Move::Away(from) => self.weight(from) / (1.0 - self.weight(from)),
            Move::Swap { from, .. } => self.weight(from),
        }
    }

    /// Makes a share of a move.
    fn go(&mut self, step: Move, share: f64) {
        let factor = match step {
            Move::Toward(_) => 1.0 - share,
            Move::Away(_) => 1.0 + share,
            Move::Swap { .. } => 1.0,
        };
        self.weights.values_mut().for_each(|weight| *weight *= factor);
        let mut add =
            |corner: Corner, share: f64| *self.weights.entry(corner).or_insert(0.0) += share;
        match step {
            Move::Toward(to) => add(to, share),
            Move::Away(from) => add(from, -share),
            Move::Swap { from, to } => {
                add(from, -share);
                add(to, share);
            }
        }
        self.weights.retain(|_, weight| *weight > NOTHING);
        let sum: f64 = self.weights.values().sum();
        self.weights.values_mut().for_each(|weight| *weight /= sum);
    }

    /// Features with a corner in play, ascending.
    fn features(&self) -> Vec<u32> {
        let mut features: Vec<u32> = self.weights.keys().map(|corner| corner.0).collect();
        features.dedup();
        features
    }

    /// The best corner to go to and the worst in play.
    fn outlook(&self, look: &Look, w: &[f64], k: usize) -> Outlook<'_> {
        let features = self.features();
        let full = features.len() >= k;
        let mut steepest = (0.0, (features[0], false));
        let mut see = |j: u32| {
            let g = look.gradient[j as usize];
            if g.abs() > steepest.0 {
                steepest = (g.abs(), (j, g > 0.0));
            }
        };
        if full {
            features.iter().for_each(|&j| see(j));
        } else {
            (1..w.len() as u32).for_each(see);
        }
        let rate = |corner: Corner| look.gradient[corner.0 as usize] * self.value(corner);
        let worst = self.weights.keys().copied().max_by(|&a, &b| rate(a).total_cmp(&rate(b)));
        let worst = worst.unwrap_or(steepest.1);
        let here = dot(&look.gradient[1..], &w[1..]);
        Outlook {
            atoms: self,
            toward: here - rate(steepest.1),
            best: steepest.1,
            away: rate(worst) - here,
            worst,
        }
    }
}

/// Descends over the ball by the moves that `choose` names; ends with a refit on the features in play.
pub(super) fn pursue(
    run: &mut Run<'_>,
    radius: Option<f64>,
    choose: impl Fn(&Outlook<'_>) -> Move,
) -> Stopped {
    let radius = radius.unwrap_or_else(|| {
        let first = oblivious::fit(run);
        first.w.iter().skip(1).map(|w| w.abs()).sum::<f64>()
    });
    let (stopped, w, _) = over_ball(run, radius.max(f64::MIN_POSITIVE), choose);
    let features: Vec<u32> = (1..w.len() as u32).filter(|&j| w[j as usize] != 0.0).collect();
    let support = run.with_intercept(features);
    run.refit(&support, &w);
    stopped
}

/// Descends; returns why it ended, where, and the relative gap there.
pub(super) fn over_ball(
    run: &mut Run<'_>,
    radius: f64,
    choose: impl Fn(&Outlook<'_>) -> Move,
) -> (Stopped, Vec<f64>, f64) {
    let job = run.job();
    let mut w = vec![0.0; job.cols];
    let mut scores = vec![0.0; run.design().rows()];
    line::settle_intercept(run, &mut w, &mut scores);
    let mut look = run.look_at(&w, scores);
    let Some(first) = super::greedy::largest_outside(
        &look.gradient.iter().map(|g| g.abs()).collect::<Vec<_>>(),
        &[],
    ) else {
        return (Stopped::Stalled, w, 0.0);
    };
    let (mut atoms, mut pace) = (Atoms::new(radius, first), Pace::default());
    loop {
        let outlook = atoms.outlook(&look, &w, job.k);
        let gap = outlook.toward / look.objective.abs().max(f64::MIN_POSITIVE);
        let step = choose(&outlook);
        let d = atoms.direction(step, &w);
        let along = run.design().scores(&d);
        run.tally.visited += job.entries as f64;
        let sums = (dot(&w, &d), dot(&d, &d));
        let share = line::share(run, &look.scores, &along, sums, atoms.longest(step));
        atoms.go(step, share);
        let constant = w[0];
        w = atoms.point(job.cols);
        w[0] = constant;
        let mut scores = run.design().scores(&w);
        line::settle_intercept(run, &mut w, &mut scores);
        look = run.look_at(&w, scores);
        let objective = run.offer(&w);
        // The books know better models than these points: only what is reached here says whether it goes on.
        if let Some(why) = run.close(&w, objective).filter(|why| *why != Stopped::Stalled) {
            return (why, w, gap);
        }
        if gap <= TOLERANCE || pace.stands_still(objective, run.tally.limits().gap) {
            return (Stopped::Stalled, w, gap);
        }
    }
}
