//! The model in a plain form: all that it takes to predict, in words that need no other document.

use std::io::{self, Write};

use ddiht_core::{
    classes::{AnyModel, Classes},
    coordinator::relative_gap,
    data::{LabelRule, Normalize},
    loss::LossKind,
    model::Model,
};
use serde::Serialize;

use super::{first_feature, has_probabilities};

const FORMAT: &str = "ddiht-export";
const VERSION: u32 = 1;
const CLASSIFICATION: &str = "classification";

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

/// The same of several classes.
#[derive(Debug, Serialize)]
struct ClassesDescription<'a> {
    format: &'static str,
    version: u32,
    task: &'static str,
    loss: &'static str,
    score: &'static str,
    answer: &'static str,
    probability: Option<&'static str>,
    normalize: Normalize,
    first_feature: u32,
    features: usize,
    classes: Vec<Class<'a>>,
}

#[derive(Debug, Serialize)]
struct Class<'a> {
    label: f64,
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
    model: &AnyModel,
    loss: LossKind,
    out: &mut (impl Write + ?Sized),
) -> io::Result<()> {
    match model {
        AnyModel::One(model) => serde_json::to_writer_pretty(&mut *out, &describe(model, loss))?,
        AnyModel::Several(classes) => {
            serde_json::to_writer_pretty(&mut *out, &describe_classes(classes, loss))?;
        }
    }
    out.write_all(b"\n")
}

fn describe(model: &Model, loss: LossKind) -> Description<'_> {
    let classes = loss.is_classification();
    Description {
        format: FORMAT,
        version: VERSION,
        task: if classes { CLASSIFICATION } else { "regression" },
        loss: loss.name(),
        score: score(model.normalize),
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
        weights: weights(model),
        certificate: certificate(model),
    }
}

fn describe_classes(classes: &Classes, loss: LossKind) -> ClassesDescription<'_> {
    let first = &classes.models()[0];
    ClassesDescription {
        format: FORMAT,
        version: VERSION,
        task: CLASSIFICATION,
        loss: loss.name(),
        score: score(first.normalize),
        answer: "the label of the class with the largest score, of equal ones the first",
        probability: has_probabilities(loss)
            .then_some("1 / (1 + exp(-score)), divided by the sum of the same of all classes"),
        normalize: first.normalize,
        first_feature: first_feature(first),
        features: first.features,
        classes: classes
            .labels()
            .iter()
            .zip(classes.models())
            .map(|(&label, model)| Class {
                label,
                intercept: model.intercept.unwrap_or(0.0),
                weights: weights(model),
                certificate: certificate(model),
            })
            .collect(),
    }
}

/// How a score is made.
fn score(normalize: Normalize) -> &'static str {
    match normalize {
        Normalize::None => "intercept + sum of weight * value",
        Normalize::L2 => {
            "intercept + sum of weight * value, values divided by the row's Euclidean length"
        }
    }
}

fn weights(model: &Model) -> Vec<Weight<'_>> {
    let name = |at: usize| model.names().map(|names| names[at].as_str());
    let weights = model.features().enumerate();
    weights.map(|(at, (feature, weight))| Weight { feature, name: name(at), weight }).collect()
}

fn certificate(model: &Model) -> Certificate {
    Certificate {
        objective: model.objective,
        bound: model.dual_bound,
        gap: model.dual_bound.map(|bound| relative_gap(model.objective, bound)),
        k: model.k,
        lambda: model.lambda,
    }
}
