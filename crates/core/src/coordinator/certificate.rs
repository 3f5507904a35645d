//! The bound: from O(k) numbers of every shard to a value no k-sparse model can beat (M7, M8).

use crate::{
    round::{ConjugateSum, Evidence, Job, Weights, sum_of},
    threshold::{sum_of_largest, top_k_keeping},
};

use super::held::Held;

/// Relative slack for what the coordinator itself adds up: sums over shards and over k squares.
const OWN_ROUNDING: f64 = 1e-12;

/// The columns on which the shards are asked for exact `u`: the 2k largest of what is held.
pub(super) fn support_to_certify(u: &[f64], job: &Job) -> Vec<u32> {
    let mut support = top_k_keeping(u, job.k.saturating_mul(2), job.kept);
    if job.intercept {
        support.insert(0, 0);
    }
    support
}

/// A bound and the model it suggests.
pub(super) struct Certificate {
    pub(super) bound: f64,
    /// `H_k(u)` with the intercept.
    pub(super) model: Weights,
}

/// Bound and model from the evidence of all shards on `support`, with `held` what the coordinator has.
pub(super) fn certify(
    job: &Job,
    held: &Held,
    support: &[u32],
    evidence: &[Evidence],
) -> Certificate {
    let mut u = vec![0.0; support.len()];
    let mut conjugate = ConjugateSum::default();
    let (mut unsent, mut rounding) = (0.0, 0.0);
    for part in evidence {
        u.iter_mut().zip(&part.u).for_each(|(sum, v)| *sum += v);
        conjugate.add(&part.conjugate);
        unsent += part.unsent;
        rounding += part.rounding;
    }
    let outside = unsent + rounding + held.drift();
    let largest_squares = largest_norm_sq(job, held.u(), support, &u, outside, rounding);
    Certificate {
        bound: dual_bound(job, &conjugate, largest_squares),
        model: keep_k(job, support, &u),
    }
}

/// The same where all columns may be in the model and one shard has told all of `u`: then the model is `u`.
pub(super) fn certify_all(job: &Job, evidence: Evidence) -> Certificate {
    let bound = bound_of_all(job, &evidence);
    let mut model = Weights { indices: job.columns_in_play().collect(), values: evidence.u };
    model.drop_zeros();
    Certificate { bound, model }
}

/// The bound then.
pub(crate) fn bound_of_all(job: &Job, evidence: &Evidence) -> f64 {
    let norm_sq = sum_of(&evidence.u, |v| upper_square(v, evidence.rounding));
    dual_bound(job, &evidence.conjugate, norm_sq)
}

/// At least the square of what is known to be `v` up to `slack`.
fn upper_square(v: f64, slack: f64) -> f64 {
    ((v.abs() + slack) * (1.0 + OWN_ROUNDING)).powi(2)
}

/// At least `||H_k(u)||^2 + u_0^2`.
fn largest_norm_sq(
    job: &Job,
    held: &[f64],
    support: &[u32],
    u: &[f64],
    slack_outside: f64,
    slack_inside: f64,
) -> f64 {
    // Columns that are always chosen are sure to count; the others compete for the rest of the budget.
    let chosen = |j: usize| j <= job.kept && (j > 0 || job.intercept);
    let k = job.k.saturating_sub(job.kept);
    let (mut always, mut squares) = (0.0, Vec::with_capacity(support.len()));
    for (&j, &v) in support.iter().zip(u) {
        let square = upper_square(v, slack_inside);
        if chosen(j as usize) { always += square } else { squares.push(square) }
    }
    // Only an outsider above the k-th insider can matter.
    let enough = squares.len() >= k && k > 0;
    let mut sorted = squares.clone();
    let floor =
        if enough { *sorted.select_nth_unstable_by(k - 1, |a, b| b.total_cmp(a)).1 } else { 0.0 };
    let mut inside = support.iter().copied().peekable();
    for (j, &v) in held.iter().enumerate() {
        if inside.next_if(|&s| s as usize == j).is_some() {
            continue;
        }
        let square = upper_square(v, slack_outside);
        if chosen(j) {
            always += square;
        } else if j > 0 && square > floor {
            squares.push(square);
        }
    }
    sum_of_largest(&mut squares, k) + always
}

/// `D(s alpha)` at the best `s`, lowered by the rounding allowance. `norm_sq` must be at least
/// `||H_k(u)||^2 + u_0^2` (M8).
pub(crate) fn dual_bound(job: &Job, conjugate: &ConjugateSum, norm_sq: f64) -> f64 {
    let rows = job.total_rows as f64;
    let quadratic = conjugate.quadratic / rows + job.lambda / 2.0 * norm_sq;
    let linear = conjugate.linear / rows;
    let scale = if conjugate.other != 0.0 || quadratic <= 0.0 {
        1.0
    } else {
        let most = job.loss.dual_limit().map_or(f64::INFINITY, |limit| {
            limit / conjugate.largest.max(f64::MIN_POSITIVE) * (1.0 - OWN_ROUNDING)
        });
        // alpha itself is always in the domain, so the multiple 1 is too.
        (-linear / (2.0 * quadratic)).clamp(0.0, most.max(1.0))
    };
    let value = -conjugate.other / rows - scale * linear - scale * scale * quadratic;
    let magnitude =
        scale.max(1.0).powi(2) * (conjugate.magnitude / rows + job.lambda / 2.0 * norm_sq);
    let allowance = magnitude * ((rows + 64.0) * f64::EPSILON + OWN_ROUNDING);
    value - allowance
}

/// `H_k` of `u` given on `support`, as a model.
fn keep_k(job: &Job, support: &[u32], u: &[f64]) -> Weights {
    // Position 0 is never selected: give the intercept that place whether it is there or not.
    let features = usize::from(support.first() == Some(&0));
    let mut padded = vec![0.0];
    padded.extend_from_slice(&u[features..]);
    let kept = top_k_keeping(&padded, job.k, job.kept);
    let mut model = Weights::default();
    if features == 1 {
        model.indices.push(0);
        model.values.push(u[0]);
    }
    for position in kept {
        model.indices.push(support[position as usize - 1 + features]);
        model.values.push(padded[position as usize]);
    }
    model
}
