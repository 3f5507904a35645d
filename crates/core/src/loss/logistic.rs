//! Logistic: `l = log(1 + e^-m)`, `l* = (-b) log(-b) + (1+b) log(1+b)` on `b in [-1, 0]` (M2).

use super::Loss;

/// `log(1 + exp(-y z))`, logistic regression.
#[derive(Debug, Clone, Copy)]
pub struct Logistic;

/// A step of Newton's squares what was wrong, so that one as short as this is the last.
const NEWTON_IS_DONE: f64 = 1e-3;

/// The probability of the class +1 that a logistic model gives to a score.
pub fn probability(z: f64) -> f64 {
    sigmoid(z)
}

/// `e^-|t|`, and from it the larger and the smaller of `1 / (1 + e^-t)` and `1 / (1 + e^t)`.
#[inline]
fn tails(t: f64) -> (f64, f64, f64) {
    let e = (-t.abs()).exp();
    (e, 1.0 / (1.0 + e), e / (1.0 + e))
}

/// `1 / (1 + e^-t)`.
#[inline]
fn sigmoid(t: f64) -> f64 {
    let (_, larger, smaller) = tails(t);
    if t >= 0.0 { larger } else { smaller }
}

/// `log(1 + e)` for `e` from 0 to 1. The logarithm of a sum is several times as fast as the function made for it, and as good
/// where `e` has not lost its digits in the sum.
#[inline]
fn log_one_plus(e: f64) -> f64 {
    if e > 1e-3 { (1.0 + e).ln() } else { e.ln_1p() }
}

/// `x log x`, continued by 0 at 0.
#[inline]
fn entropy(x: f64) -> f64 {
    if x > 0.0 { x * x.ln() } else { 0.0 }
}

impl Loss for Logistic {
    #[inline]
    fn value(self, z: f64, y: f64) -> f64 {
        self.value_and_derivative(z, y).0
    }

    #[inline]
    fn derivative(self, z: f64, y: f64) -> f64 {
        -y * sigmoid(-y * z)
    }

    /// The exponential is most of the work of each.
    #[inline]
    fn value_and_derivative(self, z: f64, y: f64) -> (f64, f64) {
        let m = y * z;
        let (e, larger, smaller) = tails(m);
        let (value, wrong) =
            if m >= 0.0 { (log_one_plus(e), smaller) } else { (log_one_plus(e) - m, larger) };
        (value, -y * wrong)
    }

    /// By three terms of its series where steps are short: an exponential for every entry of the data takes long.
    #[inline]
    fn slope_change(self, z: f64, _y: f64) -> impl Fn(f64) -> f64 {
        let p = sigmoid(z);
        let first = p * (1.0 - p);
        let (second, third) = (first * (0.5 - p), first * (1.0 - 6.0 * first) / 6.0);
        move |step: f64| {
            if step.abs() <= 0.5 {
                step * (first + step * (second + step * third))
            } else {
                // The labels -1 and +1 differ by a constant slope.
                sigmoid(z + step) - p
            }
        }
    }

    #[inline]
    fn curvature(self, z: f64, _y: f64) -> f64 {
        let (_, larger, smaller) = tails(z);
        larger * smaller
    }

    /// The flattest parabola that touches the loss at a row that is wrong, and lies above it (M10).
    #[inline]
    fn model_curvature(self, z: f64, y: f64) -> f64 {
        let m = y * z;
        if m < -1e-3 { (m / 2.0).tanh() / (2.0 * m) } else { self.curvature(z, y) }
    }

    #[inline]
    fn conjugate(self, a: f64, y: f64) -> f64 {
        let b = y * a;
        if (-1.0..=0.0).contains(&b) { entropy(-b) + entropy(1.0 + b) } else { f64::INFINITY }
    }

    #[inline]
    fn conjugate_derivative(self, a: f64, y: f64) -> f64 {
        let b = y * a;
        y * ((1.0 + b) / -b).ln()
    }

    #[inline]
    fn project(self, a: f64, y: f64) -> f64 {
        y * (y * a).clamp(-1.0, 0.0)
    }

    /// Newton on `t = logit(-b)`, where the optimality condition `t + m + q (sigmoid(t) + b0) = 0` has a
    /// slope of at least 1, kept inside a bracket that always holds the root.
    #[inline]
    fn coordinate_step(self, a: f64, z: f64, q: f64, y: f64) -> f64 {
        let (m, b) = (y * z, y * a);
        let (mut low, mut high) = (-m - q * (1.0 + b), -m - q * b);
        let mut t = if b < 0.0 && b > -1.0 { (-b / (1.0 + b)).ln() } else { (low + high) / 2.0 };
        t = t.clamp(low, high);
        let mut last_move = high - low;
        for _ in 0..100 {
            let p = sigmoid(t);
            let f = t + m + q * (p + b);
            if f > 0.0 {
                high = t;
            } else {
                low = t;
            }
            let slope = p * (1.0 - p);
            let newton = -f / (1.0 + q * slope);
            // Newton may swing between the flat ends of the sigmoid; a step that does not at least halve
            // the last one is replaced by a bisection.
            let inside = t + newton > low && t + newton < high;
            if inside && newton.abs() <= NEWTON_IS_DONE {
                // Three terms of the sigmoid's series: what they lack is of the order of the step's cube.
                return -y * (p + slope * newton * (1.0 + newton * (0.5 - p))).clamp(0.0, 1.0);
            }
            let trusted = inside && newton.abs() <= 0.5 * last_move;
            let next = if trusted { t + newton } else { (low + high) / 2.0 };
            last_move = (next - t).abs();
            t = next;
            if last_move <= 1e-12 * (1.0 + t.abs()) {
                break;
            }
        }
        -y * sigmoid(t)
    }

    #[inline]
    fn conjugate_linear(self, _a: f64, _y: f64) -> Option<f64> {
        None
    }

    fn dual_limit(self) -> Option<f64> {
        Some(1.0)
    }

    fn conjugate_curvature_min(self) -> f64 {
        4.0
    }

    fn conjugate_curvature_max(self) -> Option<f64> {
        None
    }
}
