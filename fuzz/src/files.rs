//! Model files.

use std::path::Path;

use ddiht_core::{
    data::{ReadOptions, read},
    evaluate::Answers,
    loss::{LossKind, probability},
    metrics::log_loss,
    model::Model,
    storage::Local,
};

use super::data::with_file;

/// Data for the model, with feature numbers of every size.
const TEXT: &[u8] = b"1 1:0.5 2:-1 9:2 4294967292:3\n-1 2:1e30 3:-1e-30\n2 7:1\n1\n";

/// A model file, and what `ddiht predict` and `ddiht eval` do with it.
pub fn model(data: &[u8]) -> bool {
    let model = match Model::parse(data, Path::new("model.json")) {
        Ok(model) => model,
        Err(error) => {
            let _ = error.to_string();
            return false;
        }
    };
    let Ok(loss) = model.loss() else { return false };
    let options = ReadOptions {
        zero_based: model.zero_based,
        shard: None,
        max_feature: Some(model.features as u32),
        ..ReadOptions::default()
    };
    let read = with_file("txt", TEXT, |path| read(&Local, &[path.into()], &options));
    let Some(Ok(raw)) = read else { return false };
    // Labels that are not the model's are an error for `eval`; scores are made of any.
    let rows = model.prepare(raw.clone(), true).or_else(|_| model.prepare(raw, false));
    let Ok(rows) = rows else { return false };
    let weights = model.scaled_columns();
    let answers = Answers::of(loss, &weights, rows);
    let _ = (answers.objective(&weights, model.lambda), answers.quality(loss));
    if loss == LossKind::Logistic {
        let chances: Vec<f64> = answers.scores.iter().map(|&z| probability(z)).collect();
        let _ = log_loss(&chances, &answers.targets);
    }
    let Ok(text) = model.to_json() else { return false };
    assert_eq!(
        Model::parse(text.as_bytes(), Path::new("again.json")).ok().as_ref(),
        Some(&model),
        "what was read and written is read again"
    );
    true
}
