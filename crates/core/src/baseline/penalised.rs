//! P with an l1 penalty, by coordinate descent to a duality gap.
//!
//! min_w  P(w) + rho sum_{j>0} |w_j|,   P(w) = (1/N) sum_i c_i l(x_i'w, y_i) + (lambda/2) ||w||^2
//!
//! where   `S_t(v)` is v moved by t towards 0, and L the smoothness of the loss
//! Given   rho, a start, the gap that is good enough
//! Returns the weights and the relative gap reached
//! Step    `w_j <- S_{rho/h}(w_j - g_j/h)`, `h = (L/N) sum_i c_i x_ij^2 + lambda`: the minimiser of a parabola
//!         that is nowhere below the objective along j; for the squared loss it is the objective itself. Passes go
//!         over the columns that are not 0 until they stand still, then over all.
//! Gap     with `a_i = s l'(x_i'w)`, s in {1, the largest at which all |v_j| <= rho}, `v = (1/N) sum_i c_i a_i x_i`:
//!         `D = -(1/N) sum_i c_i l*(a_i) - (1/(2 lambda)) (sum_{j>0} max(|v_j| - rho, 0)^2 + v_0^2)`
//!
//! With lambda near 0 this is the Lasso, or l1-logistic regression; with lambda it is the elastic net.
//! See Friedman, Hastie and Tibshirani, "Regularization paths for generalized linear models", 2010.

use crate::loss::{Loss, with_loss};

use super::{
    columns::Columns,
    run::{Run, dot},
};

/// Passes over the columns in play before all are looked at again.
const INNER_PASSES: usize = 50;
/// Passes over all columns.
const OUTER_PASSES: usize = 500;
/// Columns in play stand still when no step gains more than this share of the gap that is asked for.
const STILL: f64 = 1e-3;

/// A point with its scores.
#[derive(Debug, Clone)]
pub(super) struct Point {
    pub(super) w: Vec<f64>,
    pub(super) scores: Vec<f64>,
}

/// Descends from `point` until the gap is at most `tolerance` times the objective; returns the gap reached.
pub(super) fn descend(
    run: &mut Run<'_>,
    columns: &Columns,
    penalty: f64,
    point: &mut Point,
    tolerance: f64,
) -> f64 {
    let mut gap = f64::INFINITY;
    let all: Vec<u32> = (0..point.w.len() as u32).collect();
    for _ in 0..OUTER_PASSES {
        let (objective, bound) = bracket(run, penalty, point);
        gap = (objective - bound) / objective.abs().max(f64::MIN_POSITIVE);
        if gap <= tolerance || run.cut_short().is_some() {
            break;
        }
        pass(run, columns, penalty, point, &all);
        let in_play: Vec<u32> =
            all.iter().copied().filter(|&j| j == 0 || point.w[j as usize] != 0.0).collect();
        let enough = STILL * tolerance * objective.abs();
        for _ in 0..INNER_PASSES {
            if pass(run, columns, penalty, point, &in_play) <= enough {
                break;
            }
        }
    }
    gap
}

/// A step on each of the columns; returns the largest decrease that the parabolas promise.
fn pass(
    run: &mut Run<'_>,
    columns: &Columns,
    penalty: f64,
    point: &mut Point,
    chosen: &[u32],
) -> f64 {
    let job = run.job();
    let (steepest, per_row) = (run.loss_smoothness(), 1.0 / job.total_rows as f64);
    let Point { w, scores } = point;
    let (mut largest, mut visited) = (0.0f64, 0);
    let (shard, squares, y) = (&*run.shard, run.squares(), run.shard.targets());
    with_loss!(job.loss, l => for &j in chosen {
        let at = j as usize;
        let slope_of = |i: usize, z: f64| shard.weight(i) * per_row * l.derivative(z, y[i]);
        let (slope, square) = if j > 0 {
            (columns.entries(j).map(|(i, x)| x * slope_of(i, scores[i])).sum::<f64>(), squares[at])
        } else if job.intercept {
            (scores.iter().enumerate().map(|(i, &z)| slope_of(i, z)).sum(), squares[0])
        } else {
            continue;
        };
        let h = steepest * square + job.lambda;
        let aim = w[at] - (slope + job.lambda * w[at]) / h;
        let next = if j > 0 { towards_zero(aim, penalty / h) } else { aim };
        let change = next - w[at];
        visited += columns.len(j);
        if change != 0.0 {
            w[at] = next;
            largest = largest.max(h * change * change);
            if j > 0 {
                columns.entries(j).for_each(|(i, x)| scores[i] += change * x);
            } else {
                scores.iter_mut().for_each(|z| *z += change);
            }
        }
    });
    run.tally.visited += 2.0 * visited as f64;
    largest
}

/// `S_t(v)`.
fn towards_zero(v: f64, t: f64) -> f64 {
    if v > t {
        v - t
    } else if v < -t {
        v + t
    } else {
        0.0
    }
}

/// The penalised objective at the point, and a lower bound of it everywhere. The scores are computed afresh.
pub(super) fn bracket(run: &mut Run<'_>, penalty: f64, point: &mut Point) -> (f64, f64) {
    let job = run.job();
    point.scores = run.design().scores(&point.w);
    let length: f64 = point.w.iter().skip(1).map(|w| w.abs()).sum();
    let objective = run.objective_at(&point.scores, dot(&point.w, &point.w)) + penalty * length;
    let mut v = vec![0.0; job.cols];
    run.design().scatter(&run.slopes(&point.scores), &mut v);
    run.tally.visited += 2.0 * job.entries as f64;
    let constant = if job.intercept { v[0] } else { 0.0 };
    let largest = v.iter().skip(1).map(|v| v.abs()).fold(0.0, f64::max);
    let scaled = if largest > penalty { penalty / largest } else { 1.0 };
    let bound = |s: f64| {
        let excess = |v: &f64| (s * v.abs() - penalty).max(0.0).powi(2);
        let squares: f64 = v.iter().skip(1).map(excess).sum();
        -conjugate(run, &point.scores, s) - (squares + (s * constant).powi(2)) / (2.0 * job.lambda)
    };
    (objective, bound(1.0).max(bound(scaled)))
}

/// `(1/N) sum_i c_i l*(s l'(z_i))`.
fn conjugate(run: &Run<'_>, scores: &[f64], s: f64) -> f64 {
    let (job, y) = (run.job(), run.shard.targets());
    let sum: f64 = with_loss!(job.loss, l => {
        let term = |i: usize| {
            let a = l.project(s * l.derivative(scores[i], y[i]), y[i]);
            run.shard.weight(i) * l.conjugate(a, y[i])
        };
        (0..y.len()).map(term).sum()
    });
    sum / job.total_rows as f64
}
