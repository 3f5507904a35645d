//! LIBLINEAR's model file: a few lines of facts, then a line with the weight of every feature.
//!
//! Of two labels the first is that of scores above 0, as the positive class is here. Of more labels each has a
//! column of weights, and the answer is the first label of the largest score, as ours. The intercept is the weight of
//! one more feature, whose value `bias` is 1.

use std::io::{self, Write};

use ddiht_core::{classes::AnyModel, loss::LossKind, model::Model};

use super::{ExportError, first_feature};

/// The facts before the weights.
///
/// # Errors
/// The format has no words for this model.
pub(super) fn header(model: &AnyModel, loss: LossKind) -> Result<String, ExportError> {
    let features = model.first().features;
    if i32::try_from(features).is_err() {
        return Err(ExportError::TooWide(features));
    }
    let labels = match model {
        AnyModel::One(model) => model.labels.map(|[negative, positive]| vec![positive, negative]),
        AnyModel::Several(classes) => Some(classes.labels().to_vec()),
    };
    let count = labels.as_ref().map_or(2, Vec::len);
    let mut text = format!("solver_type {}\nnr_class {count}\n", solver(loss));
    if let Some(labels) = labels {
        text.push_str(&format!("label {}\n", whole_numbers(&labels)?));
    }
    let bias = if has_bias(model.members()) { 1 } else { -1 };
    text.push_str(&format!("nr_feature {features}\nbias {bias}\nw\n"));
    Ok(text)
}

/// Labels as LIBLINEAR has them.
fn whole_numbers(labels: &[f64]) -> Result<String, ExportError> {
    let is_whole = |label: f64| f64::from(label as i32) == label;
    let texts = |labels: &mut dyn Iterator<Item = f64>| -> Vec<String> {
        labels.map(|label| label.to_string()).collect()
    };
    let others = texts(&mut labels.iter().copied().filter(|&label| !is_whole(label)));
    if !others.is_empty() {
        return Err(ExportError::Labels(others.join(", ")));
    }
    Ok(texts(&mut labels.iter().copied()).join(" "))
}

/// Whether any of the models has an intercept; where others have none, its weight is 0.
fn has_bias(models: &[Model]) -> bool {
    models.iter().any(|model| model.intercept.is_some())
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

/// Writes the whole file: a line for every feature, a column for every model.
pub(super) fn write(
    models: &[Model],
    header: &str,
    out: &mut (impl Write + ?Sized),
) -> io::Result<()> {
    out.write_all(header.as_bytes())?;
    let first = first_feature(&models[0]);
    let mut ahead: Vec<_> = models.iter().map(|model| model.features().peekable()).collect();
    for feature in (first..).take(models[0].features) {
        let weight = |weights: &mut std::iter::Peekable<_>| {
            weights.next_if(|&(j, _): &(u32, f64)| j == feature).map_or(0.0, |(_, weight)| weight)
        };
        write_line(ahead.iter_mut().map(weight), out)?;
    }
    if has_bias(models) {
        write_line(models.iter().map(|model| model.intercept.unwrap_or(0.0)), out)?;
    }
    Ok(())
}

fn write_line(
    weights: impl Iterator<Item = f64>,
    out: &mut (impl Write + ?Sized),
) -> io::Result<()> {
    for (column, weight) in weights.enumerate() {
        if column > 0 {
            out.write_all(b" ")?;
        }
        if weight == 0.0 {
            out.write_all(b"0")?;
        } else {
            // The shortest text that reads back as the same number.
            write!(out, "{weight:?}")?;
        }
    }
    out.write_all(b"\n")
}
