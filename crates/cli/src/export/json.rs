//! The model in a plain form: all that it takes to predict, in words that need no other document.

use std::io::{self, Write};

use ddiht_core::{
    coordinator::relative_gap,
    data::{LabelRule, Normalize},
    loss::LossKind,
    model::Model,
};
use serde::Serialize;

use super::{first_feature, has_probabilities};

#[derive(Debug, Serialize)]
struct Description<'a> {
    format: &'static str,
    version: u32,
    task: &'static str,
    loss: &'static str,
    /// How to use the rest.
    score: &'static str,
    answer: &'static str,
    probability: Option<&'static str>,
    normalize: Normalize,
    first_feature: u32,
    features: usize,
    labels: Option<Labels<'a>>,
    intercept: f64,
    weights: Vec<Weight<'a>>,
    certificate: Certificate,
}

#[derive(Debug, Serialize)]
struct Labels<'a> {
    negative: f64,
    positive: f64,
    /// Which labels of the data are the positive one, where that is not the label itself.
    rule: Option<&'a LabelRule>,
}

#[derive(Debug, Serialize)]
struct Weight<'a> {
    feature: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    weight: f64,
}

#[derive(Debug, Serialize)]
struct Certificate {
    objective: f64,
    bound: Option<f64>,
    gap: Option<f64>,
    k: usize,
    lambda: f64,
}

/// Writes the description.
pub(super) fn write(
    model: &Model,
    loss: LossKind,
    out: &mut (impl Write + ?Sized),
) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, &describe(model, loss))?;
    out.write_all(b"\n")
}

fn describe(model: &Model, loss: LossKind) -> Description<'_> {
    let name = |at: usize| model.names().map(|names| names[at].as_str());
    let classes = loss.is_classification();
    Description {
        format: "ddiht-export",
        version: 1,
        task: if classes { "classification" } else { "regression" },
        loss: loss.name(),
        score: match model.normalize {
            Normalize::None => "intercept + sum of weight * value",
            Normalize::L2 => {
                "intercept + sum of weight * value, values divided by the row's Euclidean length"
            }
        },
        answer: if classes {
            "labels.positive where score > 0, else labels.negative"
        } else {
            "score"
        },
        probability: has_probabilities(loss).then_some("1 / (1 + exp(-score)), of labels.positive"),
        normalize: model.normalize,
        first_feature: first_feature(model),
        features: model.features,
        labels: model.labels.map(|[negative, positive]| Labels {
            negative,
            positive,
            rule: model.positive.as_ref(),
        }),
        intercept: model.intercept.unwrap_or(0.0),
        weights: model
            .features()
            .enumerate()
            .map(|(at, (feature, weight))| Weight { feature, name: name(at), weight })
            .collect(),
        certificate: Certificate {
            objective: model.objective,
            bound: model.dual_bound,
            gap: model.dual_bound.map(|bound| relative_gap(model.objective, bound)),
            k: model.k,
            lambda: model.lambda,
        },
    }
}
