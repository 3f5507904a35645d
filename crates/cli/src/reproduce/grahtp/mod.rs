//! The experiments of "Gradient hard thresholding pursuit" (Yuan, Li and Zhang, ICML 2014).
//!
//! Its logistic loss is `log(1 + exp(-2m))`, so that our weights are twice as long and our lambda is a quarter of its own;
//! its L2-SVM has `1/(2n)`, so that our lambda is twice its own.

mod simulated;
mod text;

use ddiht_core::baseline::Baseline;

pub(super) use simulated::Simulated;
pub(super) use text::Text;

/// What is compared.
const METHODS: [&str; 5] = ["GraHTP", "FGraHTP", "GraSP", "FBS", "FoBa"];

fn baseline(method: &str) -> Baseline {
    match method {
        "GraHTP" => Baseline::Grahtp,
        "FGraHTP" => Baseline::Fgrahtp,
        "GraSP" => Baseline::Grasp,
        "FBS" => Baseline::Fbs,
        _ => Baseline::Foba,
    }
}
