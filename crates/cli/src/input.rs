//! Data for a trained model: read, prepared the way the model was trained.

use std::{
    path::{Path, PathBuf},
    slice,
};

use ddiht_core::{
    classes::{AnyModel, Classes},
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
    #[error("the model has {classes} classes, and `{asked}` would make two of them")]
    Classes { classes: usize, asked: String },
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
pub(crate) fn load_model(
    storage: &dyn Storage,
    path: &Path,
) -> Result<(AnyModel, LossKind), Failure> {
    let model = AnyModel::load(storage, path)?;
    let loss = model.loss().map_err(Failure::input)?;
    Ok((model, loss))
}

/// Refuses a call that says something else about the preparation of `data` than `model` does.
pub(crate) fn check(model: &AnyModel, data: &PreparedData) -> Result<(), Failure> {
    let own = model.first();
    if let Some(asked) = data.normalize.filter(|&n| n != own.normalize) {
        return Err(Failure::input(Mismatch::Normalize { model: own.normalize, asked }));
    }
    let Some(asked) = &data.positive else { return Ok(()) };
    match model {
        AnyModel::Several(classes) => {
            let (classes, asked) = (classes.labels().len(), asked.to_string());
            Err(Failure::input(Mismatch::Classes { classes, asked }))
        }
        AnyModel::One(model) if model.positive.as_ref() != Some(asked) => {
            let own = model.positive.as_ref();
            let model = own.map_or_else(|| "its label".to_owned(), |rule| format!("`{rule}`"));
            Err(Failure::input(Mismatch::Positive { model, asked: asked.to_string() }))
        }
        AnyModel::One(_) => Ok(()),
    }
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
    let raw = read_raw(storage, slice::from_ref(model), paths, labels, label, None)?;
    Ok(model.prepare(raw, labels == Labels::Needed)?)
}

/// Reads rows for models that were trained on the same data, as they are written; features that those data did not have
/// are dropped and counted.
pub(crate) fn read_raw(
    storage: &dyn Storage,
    models: &[Model],
    paths: &[PathBuf],
    labels: Labels,
    label: Option<&str>,
    weights: Option<&Path>,
) -> Result<RawData, Failure> {
    let first = &models[0];
    let label = label_column(first, labels, label);
    columns::check(storage, models, paths, &label)?;
    let options = ReadOptions {
        zero_based: first.zero_based,
        shard: None,
        max_feature: Some(first.features as u32),
        label,
        weights: weights.map(Path::to_owned),
    };
    let raw = data::read(storage, paths, &options)?;
    if raw.dropped > 0 {
        let features = first.features;
        tracing::warn!("{} entries beyond feature {features} were dropped", raw.dropped);
    }
    Ok(raw)
}

/// Reads rows for a model of several classes. Columns stay as they are, and so do the weights for them.
pub(crate) fn read_for_classes(
    storage: &dyn Storage,
    model: &Classes,
    paths: &[PathBuf],
    labels: Labels,
    label: Option<&str>,
    weights: Option<&Path>,
) -> Result<RawData, Failure> {
    let mut raw = read_raw(storage, model.models(), paths, labels, label, weights)?;
    model.models()[0].normalize.apply(&mut raw.x);
    Ok(raw)
}
