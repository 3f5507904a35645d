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

/// What every description begins with.
#[derive(Debug, Serialize)]
struct Head {
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
}

/// The numbers of one model.
#[derive(Debug, Serialize)]
struct Numbers<'a> {
    intercept: f64,
    weights: Vec<Weight<'a>>,
    certificate: Certificate,
}

#[derive(Debug, Serialize)]
struct Description<'a> {
    #[serde(flatten)]
    head: Head,
    labels: Option<Labels<'a>>,
    #[serde(flatten)]
    numbers: Numbers<'a>,
}

/// The same of several classes.
#[derive(Debug, Serialize)]
struct ClassesDescription<'a> {
    #[serde(flatten)]
    head: Head,
    classes: Vec<Class<'a>>,
}

#[derive(Debug, Serialize)]
struct Class<'a> {
    label: f64,
    #[serde(flatten)]
    numbers: Numbers<'a>,
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
    let (task, answer) = if loss.is_classification() {
        (CLASSIFICATION, "labels.positive where score > 0, else labels.negative")
    } else {
        ("regression", "score")
    };
    let probability = "1 / (1 + exp(-score)), of labels.positive";
    Description {
        head: head(model, loss, task, answer, probability),
        labels: model.labels.map(|[negative, positive]| Labels {
            negative,
            positive,
            rule: model.positive.as_ref(),
        }),
        numbers: numbers(model),
    }
}

fn describe_classes(classes: &Classes, loss: LossKind) -> ClassesDescription<'_> {
    let answer = "the label of the class with the largest score, of equal ones the first";
    let probability = "1 / (1 + exp(-score)), divided by the sum of the same of all classes";
    let class = |(&label, model)| Class { label, numbers: numbers(model) };
    ClassesDescription {
        head: head(&classes.models()[0], loss, CLASSIFICATION, answer, probability),
        classes: classes.labels().iter().zip(classes.models()).map(class).collect(),
    }
}

/// The head of a description; `probability` is said where there are probabilities.
fn head(
    model: &Model,
    loss: LossKind,
    task: &'static str,
    answer: &'static str,
    probability: &'static str,
) -> Head {
    Head {
        format: FORMAT,
        version: VERSION,
        task,
        loss: loss.name(),
        score: score(model.normalize),
        answer,
        probability: has_probabilities(loss).then_some(probability),
        normalize: model.normalize,
        first_feature: first_feature(model),
        features: model.features,
    }
}

fn numbers(model: &Model) -> Numbers<'_> {
    Numbers {
        intercept: model.intercept.unwrap_or(0.0),
        weights: weights(model),
        certificate: certificate(model),
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
