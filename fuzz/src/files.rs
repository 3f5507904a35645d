//! Model files.

use std::path::Path;

use ddiht_core::{
    classes::{AnyModel, Classes},
    data::{RawData, ReadOptions, read},
    evaluate::Answers,
    loss::{LossKind, probability},
    metrics::log_loss,
    model::Model,
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
    with_file("txt", TEXT, |path| read(&Local, &[path.into()], &options))?.ok()
}

fn use_one(model: &Model, loss: LossKind, raw: RawData) {
    // Labels that are not the model's are an error for `eval`; scores are made of any.
    let rows = model.prepare(raw.clone(), true).or_else(|_| model.prepare(raw, false));
    let Ok(rows) = rows else { return };
    let weights = model.scaled_columns();
    let answers = Answers::of(loss, &weights, rows);
    let _ = (answers.objective(&weights, model.lambda), answers.quality(loss));
    if loss == LossKind::Logistic {
        let chances: Vec<f64> = answers.scores.iter().map(|&z| probability(z)).collect();
        let _ = log_loss(&chances, &answers.targets);
    }
}

fn use_classes(classes: &Classes, loss: LossKind, mut raw: RawData) {
    classes.models()[0].normalize.apply(&mut raw.x);
    let verdicts = Panel::new(classes.models(), raw.x.clone()).verdicts();
    if class_numbers(classes.labels(), &raw.labels).is_err() {
        // The text's classes are not the model's: those that it answers are.
        let known = |&class: &u32| classes.labels()[class as usize];
        raw.labels = verdicts.classes().iter().map(known).collect();
    }
    let _ = Judgement::of(classes, loss, raw);
}
