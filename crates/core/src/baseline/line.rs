//! Minima along a line, where P is convex and one number is unknown.

use crate::loss::{Loss, with_loss};

use super::{columns::Columns, run::Run};

/// Most Newton steps and halvings.
const MOST_STEPS: usize = 100;
/// A slope this much smaller than at the start is none.
const FLAT: f64 = 1e-13;

/// The minimiser over `[0, most]` of a convex function, from its slope and curvature: Newton steps that stay in a
/// bracket.
pub(super) fn minimise(at: impl Fn(f64) -> (f64, f64), most: f64) -> f64 {
    let (slope, bend) = at(0.0);
    if slope >= 0.0 || most <= 0.0 {
        return 0.0;
    }
    let flat = FLAT * slope.abs();
    let (mut low, mut high) = (0.0, if bend > 0.0 { -slope / bend } else { 1.0 }.min(most));
    for _ in 0..MOST_STEPS {
        if at(high).0 >= 0.0 {
            break;
        }
        if high >= most {
            return most;
        }
        (low, high) = (high, (2.0 * high).min(most));
    }
    let mut x = high;
    for _ in 0..MOST_STEPS {
        let (slope, bend) = at(x);
        if slope.abs() <= flat || high - low <= f64::EPSILON * high {
            break;
        }
        if slope < 0.0 {
            low = x;
        } else {
            high = x;
        }
        let newton = x - slope / bend;
        x = if newton > low && newton < high { newton } else { f64::midpoint(low, high) };
    }
    x
}

/// The best share in `[0, most]` of a move by `d`: `along` are the scores of `d`, `wd = w'd`, `dd = d'd`.
pub(super) fn share(
    run: &Run<'_>,
    scores: &[f64],
    along: &[f64],
    (wd, dd): (f64, f64),
    most: f64,
) -> f64 {
    let lambda = run.job().lambda;
    let at = |share: f64| {
        let moved: Vec<f64> = scores.iter().zip(along).map(|(z, a)| z + share * a).collect();
        let slope: f64 = run.slopes(&moved).iter().zip(along).map(|(s, a)| s * a).sum();
        let bend: f64 = run.curvatures(&moved).iter().zip(along).map(|(h, a)| h * a * a).sum();
        (slope + lambda * (wd + share * dd), bend + lambda * dd)
    };
    minimise(at, most)
}

/// How far P can fall along column `j`, where its weight is `w_j`.
pub(super) fn fall_along(
    run: &mut Run<'_>,
    columns: &Columns,
    j: u32,
    w_j: f64,
    scores: &[f64],
) -> f64 {
    let (job, y) = (run.job(), run.shard.targets());
    let per_row = 1.0 / job.total_rows as f64;
    with_loss!(job.loss, l => {
        let slope_and_bend = |v: f64| {
            let (mut slope, mut bend) = (job.lambda * (w_j + v), job.lambda);
            for (i, x) in columns.entries(j) {
                let (z, c) = (scores[i] + v * x, run.shard.weight(i) * per_row);
                slope += c * x * l.derivative(z, y[i]);
                bend += c * x * x * l.curvature(z, y[i]);
            }
            (slope, bend)
        };
        let sign = if slope_and_bend(0.0).0 > 0.0 { -1.0 } else { 1.0 };
        let mirrored = |v: f64| {
            let (slope, bend) = slope_and_bend(sign * v);
            (sign * slope, bend)
        };
        let v = sign * minimise(mirrored, f64::INFINITY);
        let fall: f64 = columns
            .entries(j)
            .map(|(i, x)| {
                let (before, after) = (scores[i], scores[i] + v * x);
                run.shard.weight(i) * per_row * (l.value(before, y[i]) - l.value(after, y[i]))
            })
            .sum();
        let ridge = job.lambda / 2.0 * (w_j * w_j - (w_j + v) * (w_j + v));
        run.tally.visited += 4.0 * columns.len(j) as f64;
        fall + ridge
    })
}

/// Sets the weight of the constant feature to its best value; the scores follow.
pub(super) fn settle_intercept(run: &Run<'_>, w: &mut [f64], scores: &mut [f64]) {
    if !run.job().intercept {
        return;
    }
    let slope: f64 = run.slopes(scores).iter().sum::<f64>() + run.job().lambda * w[0];
    let sign = if slope > 0.0 { -1.0 } else { 1.0 };
    let along = vec![sign; scores.len()];
    let v = sign * share(run, scores, &along, (sign * w[0], 1.0), f64::INFINITY);
    w[0] += v;
    scores.iter_mut().for_each(|z| *z += v);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_minimum_is_found_inside_and_at_the_end() {
        let parabola = |x: f64| (2.0 * (x - 3.0), 2.0);
        assert!((minimise(parabola, f64::INFINITY) - 3.0).abs() < 1e-12);
        assert_eq!(minimise(parabola, 2.0), 2.0);
        assert_eq!(minimise(|x| (x + 1.0, 1.0), 5.0), 0.0);
        // Straight, then steep: the first guess is far off.
        let hinge = |x: f64| if x < 40.0 { (-1.0, 0.0) } else { (-1.0 + 7.0 * (x - 40.0), 7.0) };
        assert!((minimise(hinge, f64::INFINITY) - (40.0 + 1.0 / 7.0)).abs() < 1e-9);
    }
}
