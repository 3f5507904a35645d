//! How widely the corner of a loss is rounded in refits (M10).
//!
//! A kink is always rounded. The squared and the smoothed hinge have only jumps in their curvature, and are
//! refitted as they are while that works. Where k is near N and lambda is small nearly every row ends on a
//! jump, every step moves rows across it, and L-BFGS creeps: thousands of evaluations. Rounded, the same
//! fit takes some fifty. So a search rounds corners as soon as a refit does not converge, wider until refits
//! do; the last searches and refits follow the minimiser back to the true loss.

use crate::loss::LossKind;

use super::fit::Effort;

/// Width of a kink in the search.
const KINK: f64 = 0.1;
/// The narrowest and the widest corner, and the factor between two.
const NARROWEST: f64 = 0.004;
const WIDEST: f64 = 0.5;
const FACTOR: f64 = 5.0;
/// Corners narrower than this are as good as none.
const NEGLIGIBLE: f64 = 1e-6;

/// The last refit.
pub(super) const LAST: Effort =
    Effort { width: None, predicted: 1e-9, proven: 1e-6, evaluations: 4000 };

/// Where a search begins.
pub(super) fn initial(loss: LossKind) -> Option<f64> {
    loss.has_kink().then_some(KINK)
}

/// The next wider one, if there is any.
pub(super) fn wider(loss: LossKind, width: Option<f64>) -> Option<f64> {
    if !loss.has_corner() {
        return None;
    }
    let next = width.map_or(NARROWEST, |width| width * FACTOR);
    (next <= WIDEST * 1.01).then_some(next)
}

/// The next narrower one at which a search is worth while, if there is any.
pub(super) fn narrower(loss: LossKind, width: Option<f64>) -> Option<f64> {
    let next = width? / FACTOR;
    (!loss.has_kink() && next >= NARROWEST * 0.99).then_some(next)
}

/// The last refits after a search at `width`: less and less rounding, down to the true loss or nearly.
pub(super) fn polish(loss: LossKind, width: Option<f64>) -> Vec<Effort> {
    if loss.has_kink() {
        let stage =
            |width| Effort { width: Some(width), predicted: 1e-8, proven: 1e-3, evaluations: 1000 };
        let last = Effort { width: Some(4e-4), ..LAST };
        return vec![stage(0.05), stage(0.01), stage(2e-3), last];
    }
    let widths = std::iter::successors(width, |width| Some(width / FACTOR)).skip(1);
    let stage =
        |width| Effort { width: Some(width), predicted: 1e-6, proven: 1e-2, evaluations: 1000 };
    widths.take_while(|&width| width > NEGLIGIBLE).map(stage).chain([LAST]).collect()
}
