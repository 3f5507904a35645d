//! Limited-memory BFGS by question and answer: it names a point, the caller brings value and gradient.
//!
//! min_x f(x), f smooth and strongly convex. The first inverse Hessian is a given diagonal, rescaled by
//! the latest pair, from the second on. Steps are shortened until f falls enough, and lengthened while it still falls steeply:
//! in ill-conditioned valleys the first guess is often far too short.
//! See Liu and Nocedal, "On the limited memory BFGS method for large scale optimization", 1989.

use std::collections::VecDeque;

use wincode::{SchemaRead, SchemaWrite};

use crate::round::shortened;

/// Numbers kept for all pairs together.
const MEMORY: usize = 8_000_000;
/// Pairs kept at the most.
const PAIRS: usize = 200;
/// Share of the predicted decrease a step must reach.
const ARMIJO: f64 = 1e-4;
/// A step is too short while this share of the slope is left at its end.
const WOLFE: f64 = 0.5;

/// A minimisation under way.
#[derive(Debug, Clone, SchemaRead, SchemaWrite)]
pub struct Lbfgs {
    x: Vec<f64>,
    f: f64,
    g: Vec<f64>,
    /// Inverse of the diagonal of the Hessian.
    inverse: Vec<f64>,
    pairs: VecDeque<Pair>,
    direction: Vec<f64>,
    /// `g'direction`, negative.
    slope: f64,
    step: f64,
    /// The step that is tried first along the first direction, of which no pair tells the length; then the one that was taken.
    first: f64,
    /// A point on the line that is good already, while a longer step is tried.
    in_hand: Option<Point>,
    trial: Vec<f64>,
    target: Target,
    left: usize,
    started: bool,
}

/// When a point is good enough. Both must hold; each is relative to `f`.
#[derive(Debug, Clone, Copy, PartialEq, SchemaRead, SchemaWrite)]
pub struct Target {
    /// Most decrease that the quadratic model predicts. The model knows only directions it has been in.
    pub predicted: f64,
    /// Most distance from the minimum, by strong convexity: `||g||^2 / (2 convexity)`.
    pub proven: f64,
    /// A lower bound of the curvature of `f` in every direction.
    pub convexity: f64,
}

#[derive(Debug, Clone, SchemaRead, SchemaWrite)]
struct Point {
    x: Vec<f64>,
    f: f64,
    g: Vec<f64>,
}

#[derive(Debug, Clone, SchemaRead, SchemaWrite)]
struct Pair {
    s: Vec<f64>,
    y: Vec<f64>,
    sy: f64,
}

/// Whether to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// [`Lbfgs::point`] is to be evaluated next.
    Evaluate,
    /// [`Lbfgs::best`] is the answer.
    Done,
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

impl Lbfgs {
    /// Starts at `x` with the diagonal of the Hessian (positive); ends at `target`, or after `evaluations`.
    pub fn new(x: Vec<f64>, diagonal: &[f64], target: Target, evaluations: usize) -> Self {
        Self {
            trial: x.clone(),
            f: f64::INFINITY,
            g: Vec::new(),
            inverse: diagonal.iter().map(|h| 1.0 / h).collect(),
            pairs: VecDeque::new(),
            direction: Vec::new(),
            slope: 0.0,
            step: 1.0,
            first: 1.0,
            in_hand: None,
            x,
            target,
            left: evaluations,
            started: false,
        }
    }

    /// Whether all it remembers is of `n` variables, and what it may ask for is finite.
    pub(super) fn fits(&self, n: usize) -> bool {
        let known = |v: &[f64]| v.len() == n || (v.is_empty() && !self.started);
        let pair = |pair: &Pair| pair.s.len() == n && pair.y.len() == n;
        let in_hand = |point: &Point| point.x.len() == n && point.g.len() == n;
        let finite = |v: &[f64]| v.iter().all(|x| x.is_finite());
        self.trial.len() == n
            && self.x.len() == n
            && finite(&self.trial)
            && finite(&self.x)
            && finite(&self.direction)
            && self.inverse.len() == n
            && self.first.is_finite()
            && known(&self.g)
            && known(&self.direction)
            && self.pairs.iter().all(pair)
            && self.in_hand.as_ref().is_none_or(in_hand)
    }

    /// The same, with another length of the first step than that of the diagonal.
    pub fn stepping_first(self, first: f64) -> Self {
        Self { first, ..self }
    }

    /// The length of the first step, if there was one.
    pub fn first_step(&self) -> f64 {
        self.first
    }

    /// The point to evaluate.
    pub fn point(&self) -> &[f64] {
        &self.trial
    }

    /// The best point and its value.
    pub fn best(&self) -> (&[f64], f64) {
        (&self.x, self.f)
    }

    /// The decrease of `f` that the quadratic model predicts from the best point.
    pub fn predicted(&self) -> f64 {
        -self.slope / 2.0
    }

    /// Takes value and gradient at [`Lbfgs::point`].
    pub fn tell(&mut self, f: f64, g: Vec<f64>) -> Progress {
        self.left = self.left.saturating_sub(1);
        if !self.started {
            self.started = true;
            (self.f, self.g) = (f, g);
            return self.turn();
        }
        let needed = self.f + ARMIJO * self.step * self.slope;
        let good = f.is_finite() && f <= needed;
        if let Some(held) = self.in_hand.take() {
            // A longer step was tried: the better of the two counts.
            if !good || f > held.f {
                self.trial = held.x;
                return self.accept(held.f, held.g);
            }
        } else if !good {
            return self.shorten(f);
        }
        self.lengthen(f, g)
    }

    /// Goes further along the line while it still falls steeply, else accepts the trial.
    fn lengthen(&mut self, f: f64, g: Vec<f64>) -> Progress {
        let slope = dot(&g, &self.direction);
        if slope > WOLFE * self.slope || self.left == 0 {
            return self.accept(f, g);
        }
        // Where the slope would vanish if it went on changing as it did.
        let factor = (self.slope / (self.slope - slope)).clamp(2.0, 10.0);
        self.step *= if factor.is_finite() { factor } else { 10.0 };
        self.in_hand = Some(Point { x: std::mem::take(&mut self.trial), f, g });
        self.aim();
        Progress::Evaluate
    }

    fn accept(&mut self, f: f64, g: Vec<f64>) -> Progress {
        let s: Vec<f64> = self.trial.iter().zip(&self.x).map(|(t, x)| t - x).collect();
        let y: Vec<f64> = g.iter().zip(&self.g).map(|(a, b)| a - b).collect();
        if self.pairs.is_empty() {
            self.first = self.step;
        }
        self.remember(s, y);
        std::mem::swap(&mut self.x, &mut self.trial);
        (self.f, self.g) = (f, g);
        self.turn()
    }

    fn remember(&mut self, s: Vec<f64>, y: Vec<f64>) {
        let sy = dot(&s, &y);
        if sy > 1e-12 * (dot(&s, &s) * dot(&y, &y)).sqrt() {
            let room = (MEMORY / self.x.len().max(1)).clamp(4, PAIRS);
            if self.pairs.len() == room {
                self.pairs.pop_front();
            }
            self.pairs.push_back(Pair { s, y, sy });
        }
    }

    /// A shorter step, by the parabola through what is known.
    fn shorten(&mut self, f: f64) -> Progress {
        let curve = f - self.f - self.step * self.slope;
        let parabola = -self.slope * self.step / (2.0 * curve);
        let factor = if parabola.is_finite() { parabola.clamp(0.1, 0.5) } else { 0.1 };
        self.step *= factor;
        if self.left == 0 || self.step < 1e-10 {
            return Progress::Done;
        }
        self.aim();
        Progress::Evaluate
    }

    /// A new direction from the current point.
    fn turn(&mut self) -> Progress {
        self.direction = self.two_loop();
        self.slope = dot(&self.g, &self.direction);
        if self.slope >= 0.0 && !self.pairs.is_empty() {
            self.pairs.clear();
            self.direction = self.two_loop();
            self.slope = dot(&self.g, &self.direction);
        }
        if self.good_enough() || self.left == 0 || !self.slope.is_finite() {
            return Progress::Done;
        }
        self.step = if self.pairs.is_empty() { self.first } else { 1.0 };
        self.aim();
        Progress::Evaluate
    }

    fn good_enough(&self) -> bool {
        let Target { predicted, proven, convexity } = self.target;
        let distance = dot(&self.g, &self.g) / (2.0 * convexity);
        -self.slope / 2.0 <= predicted * self.f.abs() && distance <= proven * self.f.abs()
    }

    fn aim(&mut self) {
        let (x, d, step) = (&self.x, &self.direction, self.step);
        self.trial = x.iter().zip(d).map(|(x, d)| shortened(x + step * d)).collect();
    }

    /// `-H g` by the two-loop recursion.
    fn two_loop(&self) -> Vec<f64> {
        let mut q: Vec<f64> = self.g.iter().map(|g| -g).collect();
        let mut weights = Vec::with_capacity(self.pairs.len());
        for pair in self.pairs.iter().rev() {
            let a = dot(&pair.s, &q) / pair.sy;
            q.iter_mut().zip(&pair.y).for_each(|(q, y)| *q -= a * y);
            weights.push(a);
        }
        // The first pair is of no use for that: it lies along the diagonal's own direction, in which all variables push
        // together and f curves far more than elsewhere. The pair itself knows of that, and the others are not to be slowed.
        let latest = self.pairs.back().filter(|_| self.pairs.len() > 1);
        let rescale = latest.map_or(1.0, |last| {
            let scaled: f64 = last.y.iter().zip(&self.inverse).map(|(y, i)| y * y * i).sum();
            last.sy / scaled
        });
        q.iter_mut().zip(&self.inverse).for_each(|(q, i)| *q *= i * rescale);
        for (pair, a) in self.pairs.iter().zip(weights.iter().rev()) {
            let b = dot(&pair.y, &q) / pair.sy;
            q.iter_mut().zip(&pair.s).for_each(|(q, s)| *q += (a - b) * s);
        }
        q
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Minimises `sum_i h_i (x_i - c_i)^2 / 2 + (sum_i x_i)^2 / 2` and returns (x, evaluations).
    fn solve(h: &[f64], c: &[f64], diagonal: &[f64]) -> (Vec<f64>, usize) {
        let target = Target { predicted: 1e-14, proven: 1e-12, convexity: 0.01 };
        let mut solver = Lbfgs::new(vec![0.0; h.len()], diagonal, target, 2000);
        let mut evaluations = 0;
        loop {
            let x = solver.point().to_vec();
            let sum: f64 = x.iter().sum();
            let f = (0..h.len()).map(|i| h[i] * (x[i] - c[i]).powi(2) / 2.0).sum::<f64>();
            let g = (0..h.len()).map(|i| h[i] * (x[i] - c[i]) + sum).collect();
            evaluations += 1;
            // A constant keeps the relative tolerance meaningful where the minimum is near 0.
            if solver.tell(1.0 + f + sum * sum / 2.0, g) == Progress::Done {
                return (solver.best().0.to_vec(), evaluations);
            }
        }
    }

    #[test]
    fn solves_an_ill_conditioned_quadratic() {
        let h: Vec<f64> = (0..50).map(|i| 10f64.powf(f64::from(i) / 10.0 - 2.0)).collect();
        let c: Vec<f64> = (0..50).map(|i| f64::from(i % 7) - 3.0).collect();
        let diagonal: Vec<f64> = h.iter().map(|h| h + 1.0).collect();
        let (x, evaluations) = solve(&h, &c, &diagonal);
        // Optimality: h_i (x_i - c_i) + sum x = 0.
        let sum: f64 = x.iter().sum();
        for i in 0..50 {
            assert!((h[i] * (x[i] - c[i]) + sum).abs() < 1e-4, "coordinate {i}");
        }
        assert!(evaluations < 500, "{evaluations} evaluations");
    }

    #[test]
    fn ends_at_once_at_the_minimum() {
        let (x, evaluations) = solve(&[1.0, 2.0], &[0.0, 0.0], &[2.0, 3.0]);
        assert_eq!((x, evaluations), (vec![0.0, 0.0], 1));
    }
}
