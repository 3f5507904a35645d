//! Logistic: `l = log(1 + e^-m)`, `l* = (-b) log(-b) + (1+b) log(1+b)` on `b in [-1, 0]` (M2).

use super::Loss;

/// `log(1 + exp(-y z))`, logistic regression.
#[derive(Debug, Clone, Copy)]
pub struct Logistic;

/// What a coordinate step may lose of D to being the last step of a series (M4).
const NEGLIGIBLE: f64 = 1e-10;

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

/// How much the sigmoid rises in a short `step` from where it is `p` and its slope is `slope`: three terms of its series.
#[inline]
fn rise(p: f64, slope: f64, step: f64) -> f64 {
    slope * step * (1.0 + step * ((0.5 - p) + step * ((1.0 - 6.0 * slope) / 6.0)))
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
        move |step: f64| {
            if step.abs() <= 0.5 {
                rise(p, first, step)
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

    /// Halley's method on `t = logit(-b)`, where the optimality condition `t + m + q (sigmoid(t) + b0) = 0` has a
    /// slope of at least 1, kept inside a bracket that always holds the root (M4).
    #[inline]
    fn coordinate_step(self, a: f64, z: f64, q: f64, y: f64) -> f64 {
        let (m, b) = (y * z, y * a);
        let (mut low, mut high) = (-m - q * (1.0 + b), -m - q * b);
        let inner = b < 0.0 && b > -1.0;
        let start = if inner { (-b / (1.0 + b)).ln() } else { (low + high) / 2.0 };
        let mut t = start.clamp(low, high);
        let mut p = if inner && t == start { -b } else { sigmoid(t) };
        let mut last_move = high - low;
        for _ in 0..100 {
            let f = t + m + q * (p + b);
            if f > 0.0 {
                high = t;
            } else {
                low = t;
            }
            let slope = p * (1.0 - p);
            let (first, second) = (1.0 + q * slope, q * slope * (1.0 - 2.0 * p));
            let halley = -f * first / (first * first - f * second / 2.0);
            // It may swing between the flat ends of the sigmoid; a step that does not at least halve the last one is
            // replaced by a bisection.
            let inside = t + halley > low && t + halley < high;
            if inside && halley.abs() <= 0.5 && slope * first * halley.powi(6) <= 18.0 * NEGLIGIBLE
            {
                return -y * (p + rise(p, slope, halley)).clamp(0.0, 1.0);
            }
            let trusted = inside && halley.abs() <= 0.5 * last_move;
            let next = if trusted { t + halley } else { (low + high) / 2.0 };
            last_move = (next - t).abs();
            t = next;
            p = sigmoid(t);
            if last_move <= 1e-12 * (1.0 + t.abs()) {
                break;
            }
        }
        -y * p
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
