//! LIBLINEAR's model file: a few lines of facts, then a line with the weight of every feature.
//!
//! Of two labels the first is that of scores above 0, as the positive class is here. The intercept is the
//! weight of one more feature, whose value `bias` is 1.

use std::io::{self, Write};

use ddiht_core::{loss::LossKind, model::Model};

use super::{ExportError, first_feature};

/// The facts before the weights.
///
/// # Errors
/// The format has no words for this model.
pub(super) fn header(model: &Model, loss: LossKind) -> Result<String, ExportError> {
    if i32::try_from(model.features).is_err() {
        return Err(ExportError::TooWide(model.features));
    }
    let mut text = format!("solver_type {}\nnr_class 2\n", solver(loss));
    if let Some([negative, positive]) = model.labels {
        let whole = |label: f64| (f64::from(label as i32) == label).then_some(label as i32);
        let (Some(no), Some(yes)) = (whole(negative), whole(positive)) else {
            return Err(ExportError::Labels(negative, positive));
        };
        text.push_str(&format!("label {yes} {no}\n"));
    }
    let bias = if model.intercept.is_some() { 1 } else { -1 };
    text.push_str(&format!("nr_feature {}\nbias {bias}\nw\n", model.features));
    Ok(text)
}

/// The solver of LIBLINEAR that minimises the same loss. Its predictions depend on it only in that LR has
/// probabilities and SVR is a regression, so smoothed-hinge, which it does not have, may pass for L2 loss.
fn solver(loss: LossKind) -> &'static str {
    match loss {
        LossKind::Hinge => "L2R_L1LOSS_SVC_DUAL",
        LossKind::SquaredHinge | LossKind::SmoothedHinge { .. } => "L2R_L2LOSS_SVC",
        LossKind::Logistic => "L2R_LR",
        LossKind::Squared => "L2R_L2LOSS_SVR",
    }
}

/// Writes the whole file.
pub(super) fn write(
    model: &Model,
    header: &str,
    out: &mut (impl Write + ?Sized),
) -> io::Result<()> {
    out.write_all(header.as_bytes())?;
    let mut next = first_feature(model);
    for (feature, weight) in model.features() {
        for _ in next..feature {
            out.write_all(b"0\n")?;
        }
        // The shortest text that reads back as the same number.
        writeln!(out, "{weight:?}")?;
        next = feature + 1;
    }
    for _ in (next - first_feature(model)) as usize..model.features {
        out.write_all(b"0\n")?;
    }
    model.intercept.map_or(Ok(()), |intercept| writeln!(out, "{intercept:?}"))
}
