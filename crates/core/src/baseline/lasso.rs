//! The Lasso (for classes: l1-logistic regression and its like), with its penalty searched to at most k features,
//! and a refit.
//!
//! min_w  P(w) + rho sum_{j>0} |w_j|
//!
//! Returns why it ended; the books have the best model
//! S1      `rho_max = max_j |grad_j P|` at the best intercept alone: there all weights are 0
//! S2      rho falls by a fixed factor, each fit from the one before, while there are at most k features
//! S3      then the interval between the last rho with at most k features and the first with more is halved (on a
//!         logarithmic scale) while that brings features
//! S4      for every rho with at most k features: `w = argmin { P(w) : supp(w) in the features }`
//! See Tibshirani, "Regression shrinkage and selection via the lasso", 1996. It is what people do today about a
//! budget of features. The ridge of P stays in: as lambda goes to 0 this is the Lasso itself.

use crate::coordinator::Stopped;

use super::{
    columns::Columns,
    line,
    penalised::{Point, descend},
    run::Run,
};

/// Factor between two penalties.
const FALL: f64 = 0.8;
/// The least penalty, relative to the largest.
const LEAST: f64 = 1e-6;
/// Halvings of the last interval.
const HALVINGS: usize = 12;
/// Gap of each fit: the features are known long before.
const TOLERANCE: f64 = 1e-4;

/// Runs it.
pub(super) fn solve(run: &mut Run<'_>) -> Stopped {
    let k = run.job().k;
    let columns = Columns::of(run.design());
    // S1
    let mut good = Point { w: vec![0.0; run.job().cols], scores: vec![0.0; run.design().rows()] };
    line::settle_intercept(run, &mut good.w, &mut good.scores);
    let largest = run.look(&good.w).gradient.iter().skip(1).map(|g| g.abs()).fold(0.0, f64::max);
    let (mut above, mut below) = (largest, None);
    for _ in 0.. {
        // S2, S3
        let penalty = below.map_or(above * FALL, |below: f64| (above * below).sqrt());
        let mut point = good.clone();
        descend(run, &columns, penalty, &mut point, TOLERANCE);
        let features = count(&point);
        let mut objective = f64::INFINITY;
        if features <= k {
            let news = features > count(&good) || below.is_none();
            (above, good) = (penalty, point);
            if news {
                objective = refit(run, &good);
            }
        } else {
            below = Some(penalty);
        }
        let current = if objective.is_finite() { objective } else { run.tally.objective() };
        if let Some(why) = run.close(&good.w, current)
            && why != Stopped::Stalled
        {
            return why;
        }
        let narrow =
            below.is_some_and(|below| above / below < FALL.powf(-1.0 / f64::from(1 << HALVINGS)));
        if count(&good) == k || narrow || above <= LEAST * largest {
            break;
        }
    }
    Stopped::Stalled
}

fn count(point: &Point) -> usize {
    point.w.iter().skip(1).filter(|w| **w != 0.0).count()
}

/// S4
fn refit(run: &mut Run<'_>, point: &Point) -> f64 {
    let support: Vec<u32> =
        (1..point.w.len() as u32).filter(|&j| point.w[j as usize] != 0.0).collect();
    let support = run.with_intercept(support);
    run.refit(&support, &point.w).objective
}
