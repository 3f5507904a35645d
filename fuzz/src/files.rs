//! Model files.

use std::path::Path;

use ddiht_core::{
    classes::{AnyModel, Classes},
    data::{RawData, ReadOptions, apply_labels, read},
    evaluate::Answers,
    loss::{LossKind, probability},
    metrics::log_loss,
    model::Model,
    shard::Rows,
    storage::Local,
    verdict::{Judgement, Panel, class_numbers},
};

use super::data::with_file;

/// Data for the model, with feature numbers of every size.
const TEXT: &[u8] = b"1 1:0.5 2:-1 9:2 4294967292:3\n-1 2:1e30 3:-1e-30\n2 7:1\n1\n";

/// A model file of either kind, and what `ddiht predict` and `ddiht eval` do with it.
pub fn model(data: &[u8]) -> bool {
    let model = match AnyModel::parse(data, Path::new("model.json")) {
        Ok(model) => model,
        Err(error) => {
            let _ = error.to_string();
            return false;
        }
    };
    let Some(raw) = rows_for(model.first()) else { return false };
    let Ok(loss) = model.loss() else { return false };
    match &model {
        AnyModel::One(model) => use_one(model, loss, raw),
        AnyModel::Several(classes) => use_classes(classes, loss, raw),
    }
    let Ok(text) = model.to_json() else { return false };
    assert_eq!(
        AnyModel::parse(text.as_bytes(), Path::new("again.json")).ok().as_ref(),
        Some(&model),
        "what was read and written is read again"
    );
    true
}

fn rows_for(model: &Model) -> Option<RawData> {
    let options = ReadOptions {
        zero_based: model.zero_based,
        shard: None,
        max_feature: Some(model.features as u32),
        ..ReadOptions::default()
    };
    let mut raw = with_file("txt", TEXT, |path| read(&Local, &[path.into()], &options))?.ok()?;
    model.normalize.apply(&mut raw.x);
    Some(raw)
}

fn use_one(model: &Model, loss: LossKind, mut raw: RawData) {
    if let Some(map) = model.label_map() {
        // Labels that are not the model's are an error for `eval`; scores are made of any.
        let _ = apply_labels(&mut raw.labels, &map, model.positive.as_ref());
    }
    let weights = model.columns();
    let rows = Rows { x: raw.x, y: raw.labels, weights: None };
    let answers = Answers::of(loss, &weights, rows);
    let _ = (answers.objective(&weights, model.lambda), answers.quality(loss));
    if loss == LossKind::Logistic {
        let chances: Vec<f64> = answers.scores.iter().map(|&z| probability(z)).collect();
        let _ = log_loss(&chances, &answers.targets);
    }
}

fn use_classes(classes: &Classes, loss: LossKind, raw: RawData) {
    let verdicts = Panel::new(classes.models(), raw.x.clone()).verdicts();
    // Rows of classes that the model knows, where the text's own are others.
    let truth = class_numbers(classes.labels(), &raw.labels)
        .unwrap_or_else(|_| verdicts.classes().to_vec());
    let _ = Judgement::of(classes, loss, raw.x, &truth);
}
