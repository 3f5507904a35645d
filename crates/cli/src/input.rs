//! Data for a trained model: read, prepared the way the model was trained.

use std::path::{Path, PathBuf};

use ddiht_core::{
    data::{self, LabelColumn, Normalize, RawData, ReadOptions},
    loss::LossKind,
    model::Model,
    shard::Rows,
    storage::Storage,
};

use crate::{args::PreparedData, columns, failure::Failure};

/// A preparation that is not the model's.
#[derive(Debug, thiserror::Error)]
enum Mismatch {
    #[error(
        "the model was trained with --normalize {model}, which is applied by itself; {asked} was asked for"
    )]
    Normalize { model: Normalize, asked: Normalize },
    #[error(
        "the model's positive class is {model}, which is applied by itself; `{asked}` was asked for"
    )]
    Positive { model: String, asked: String },
}

/// What to do with the labels of the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Labels {
    /// They must be the model's.
    Needed,
    /// They may be anything.
    Ignored,
    /// A table has none.
    Absent,
}

/// A model file and its loss.
pub(crate) fn load_model(storage: &dyn Storage, path: &Path) -> Result<(Model, LossKind), Failure> {
    let model = Model::load(storage, path)?;
    let loss = model.loss().map_err(Failure::input)?;
    Ok((model, loss))
}

/// Reads `data` for `model`, and checks what the call says about its preparation.
pub(crate) fn prepared(
    storage: &dyn Storage,
    model: &Model,
    data: &PreparedData,
    weights: Option<&Path>,
    labels: Labels,
) -> Result<Rows, Failure> {
    if let Some(asked) = data.normalize.filter(|&n| n != model.normalize) {
        return Err(Failure::input(Mismatch::Normalize { model: model.normalize, asked }));
    }
    if let Some(asked) = data.positive.as_ref().filter(|&p| Some(p) != model.positive.as_ref()) {
        let own = model.positive.as_ref();
        let model = own.map_or_else(|| "its label".to_owned(), |rule| format!("`{rule}`"));
        return Err(Failure::input(Mismatch::Positive { model, asked: asked.to_string() }));
    }
    let raw = read_raw(storage, model, &data.data, labels, data.label.as_deref(), weights)?;
    Ok(model.prepare(raw, labels == Labels::Needed)?)
}

/// Where the labels of a table are: where the call says, or else where they were in training.
fn label_column(model: &Model, labels: Labels, asked: Option<&str>) -> LabelColumn {
    let name = |name: &str| name.to_owned();
    match (labels, asked, model.label_column()) {
        (Labels::Absent, ..) => LabelColumn::Absent,
        (_, Some(asked), _) => LabelColumn::Called(name(asked)),
        (Labels::Needed, None, Some(own)) => LabelColumn::Called(name(own)),
        (Labels::Ignored, None, Some(own)) => LabelColumn::IfThere(name(own)),
        (_, None, None) => LabelColumn::First,
    }
}

/// Reads rows for `model`, prepared as in training.
pub(crate) fn read_for(
    storage: &dyn Storage,
    model: &Model,
    paths: &[PathBuf],
    labels: Labels,
    label: Option<&str>,
) -> Result<Rows, Failure> {
    let raw = read_raw(storage, model, paths, labels, label, None)?;
    Ok(model.prepare(raw, labels == Labels::Needed)?)
}

/// Reads rows for `model` as they are; features it does not know are dropped and counted.
pub(crate) fn read_raw(
    storage: &dyn Storage,
    model: &Model,
    paths: &[PathBuf],
    labels: Labels,
    label: Option<&str>,
    weights: Option<&Path>,
) -> Result<RawData, Failure> {
    let label = label_column(model, labels, label);
    columns::check(storage, model, paths, &label)?;
    let options = ReadOptions {
        zero_based: model.zero_based,
        shard: None,
        max_feature: Some(model.features as u32),
        label,
        weights: weights.map(Path::to_owned),
    };
    let raw = data::read(storage, paths, &options)?;
    if raw.dropped > 0 {
        let features = model.features;
        tracing::warn!("{} entries beyond feature {features} were dropped", raw.dropped);
    }
    Ok(raw)
}
