//! The model file: JSON, self-describing, exact.

mod error;

use std::{
    io::{self, Read},
    path::Path,
};

use serde::{Deserialize, Serialize};

use crate::{
    config::ValidConfig,
    data::{CsrMatrix, DataError, LabelMap, LabelRule, Normalize, RawData, Scale, apply_labels},
    loss::{LossKind, UnknownLoss},
    round::Weights,
    settings::{LABEL_SETTING, Settings},
    shard::Rows,
    storage::{Opened, Storage},
};

pub use error::{Flaw, ModelError};

/// What the first field of a model file says.
const FORMAT: &str = "ddiht-model";
/// The version this build writes and reads.
const VERSION: u32 = 1;
/// The most features a model can have: their columns, and column 0, are numbered in 32 bits.
const MOST_FEATURES: usize = u32::MAX as usize - 1;
/// A model file larger than this is not one: it would have more weights than there are feature numbers.
const MOST_BYTES: u64 = 1 << 38;
/// Bytes that are looked at before the rest is read.
const BEGINNING: u64 = 4096;

/// A trained model and how its data were prepared. `indices` are the feature numbers of the input file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Model {
    format: String,
    version: u32,
    loss: String,
    gamma: f64,
    /// The feature budget it was trained with.
    pub k: usize,
    /// The ridge strength.
    pub lambda: f64,
    /// Features of the training data.
    pub features: usize,
    /// The labels for the classes -1 and +1; null for regression.
    pub labels: Option<[f64; 2]>,
    /// Which labels are the positive class.
    pub positive: Option<LabelRule>,
    /// Scaling of rows.
    pub normalize: Normalize,
    /// Scaling of columns in training; the weights are those of columns as they are.
    #[serde(default, skip_serializing_if = "is_none")]
    pub scale: Scale,
    /// Weights of the classes -1 and +1 in training.
    pub class_weight: [f64; 2],
    /// Whether text numbers its features from 0.
    pub zero_based: bool,
    /// The weight of the constant feature; null without one.
    pub intercept: Option<f64>,
    indices: Vec<u32>,
    weights: Vec<f64>,
    /// What the columns of `indices` were divided by in training.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    divisors: Option<Vec<f64>>,
    /// P on the training data.
    pub objective: f64,
    /// The best bound, if the algorithm has one.
    pub dual_bound: Option<f64>,
    /// Rows of the training data.
    pub rows: usize,
    /// The seed.
    pub seed: u64,
    /// The names of the features in `indices`, where they are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    names: Option<Vec<String>>,
    /// What the training run was asked for, by the names of the options.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<Settings>,
}

/// What training found out, besides the weights.
#[derive(Debug, Clone, Copy)]
pub struct Outcome<'a> {
    /// P on the training data.
    pub objective: f64,
    /// The best bound.
    pub dual_bound: Option<f64>,
    /// Rows of the training data.
    pub rows: usize,
    /// Features of the training data.
    pub features: usize,
    /// The classes of the training data; none for regression.
    pub labels: Option<LabelMap>,
    /// Whether the training data number their features from 0.
    pub zero_based: bool,
    /// What every column was divided by, if columns were scaled.
    pub divisors: Option<&'a [f64]>,
}

/// Whether columns were left as they are.
fn is_none(scale: &Scale) -> bool {
    *scale == Scale::None
}

impl Model {
    /// The model with these weights (column 0 is the intercept, columns as inside of a run), as trained by `config`.
    pub fn new(config: &ValidConfig, weights: &Weights, outcome: &Outcome<'_>) -> Self {
        let settings = config.get();
        let features = numbered_features(config, weights, outcome);
        let constant = weights.iter().find(|&(j, _)| j == 0).map_or(0.0, |(_, w)| w);
        let gamma =
            if let LossKind::SmoothedHinge { gamma } = settings.loss { gamma } else { 0.25 };
        Self {
            format: FORMAT.to_owned(),
            version: VERSION,
            loss: settings.loss.name().to_owned(),
            gamma,
            k: settings.k.min(outcome.features),
            lambda: config.lambda(outcome.rows),
            features: outcome.features,
            labels: outcome.labels.map(|map| [map.negative, map.positive]),
            positive: settings.positive.clone(),
            normalize: settings.normalize,
            scale: settings.scale,
            class_weight: outcome.labels.map_or([1.0, 1.0], |map| map.weights),
            zero_based: outcome.zero_based,
            intercept: settings.intercept.then_some(constant),
            indices: features.iter().map(|feature| feature.number).collect(),
            weights: features.iter().map(|feature| feature.weight / feature.divisor).collect(),
            divisors: outcome
                .divisors
                .map(|_| features.iter().map(|feature| feature.divisor).collect()),
            objective: outcome.objective,
            dual_bound: outcome.dual_bound,
            rows: outcome.rows,
            seed: settings.seed,
            names: None,
            settings: Some(config.settings(outcome.rows)),
        }
    }

    /// Takes the names of its features from those of all features, in the order of their numbers. A feature
    /// beyond their end has an empty name.
    pub fn set_names(&mut self, all: &[String]) {
        let first = u32::from(!self.zero_based);
        let name = |&index: &u32| all.get((index - first) as usize).cloned().unwrap_or_default();
        self.names = Some(self.indices.iter().map(name).collect());
    }

    /// The names of its features, in the order of [`Model::features`].
    pub fn names(&self) -> Option<&[String]> {
        self.names.as_deref()
    }

    /// The name of the column that was the label, where the training data were a table.
    pub fn label_column(&self) -> Option<&str> {
        self.settings.as_ref()?.get(LABEL_SETTING)?.as_str()
    }

    /// Says which column was the label.
    pub fn set_label_column(&mut self, name: &str) {
        let settings = self.settings.get_or_insert_default();
        settings.insert(LABEL_SETTING.to_owned(), name.into());
    }

    /// The loss it was trained for.
    pub fn loss(&self) -> Result<LossKind, UnknownLoss> {
        LossKind::from_name(&self.loss, self.gamma)
    }

    /// The classes, for a classification model.
    pub fn label_map(&self) -> Option<LabelMap> {
        let weights = self.class_weight;
        self.labels.map(|[negative, positive]| LabelMap { negative, positive, weights })
    }

    /// Feature numbers as in the input file, with their weights.
    pub fn features(&self) -> impl Iterator<Item = (u32, f64)> + '_ {
        self.indices.iter().copied().zip(self.weights.iter().copied())
    }

    /// The weights by column of the input; column 0 is the intercept.
    pub fn columns(&self) -> Weights {
        let shift = u32::from(self.zero_based);
        let constant = self.intercept.map(|b| (0, b));
        let entries = constant.into_iter().chain(self.features().map(|(j, w)| (j + shift, w)));
        let (indices, values) = entries.unzip();
        Weights { indices, values }
    }

    /// The weights of columns scaled as in training, for rows that [`Model::prepare`] made: those that the ridge was on.
    pub fn scaled_columns(&self) -> Weights {
        let mut weights = self.columns();
        if let Some(divisors) = &self.divisors {
            let first = usize::from(self.intercept.is_some());
            let features = weights.values[first..].iter_mut();
            features.zip(divisors).for_each(|(weight, divisor)| *weight *= divisor);
        }
        weights
    }

    /// Rows as they were prepared in training; with `labels`, targets too.
    ///
    /// # Errors
    /// A label is unknown to the model.
    pub fn prepare(&self, mut raw: RawData, labels: bool) -> Result<Rows, DataError> {
        let map = self.label_map().filter(|_| labels);
        if let Some(map) = &map {
            apply_labels(&mut raw.labels, map, self.positive.as_ref())?;
        }
        self.normalize.apply(&mut raw.x);
        self.scale_columns(&mut raw.x);
        let weights = match map {
            Some(map) => map.row_weights(&raw.labels, raw.weights),
            None => raw.weights,
        };
        Ok(Rows { x: raw.x, y: raw.labels, weights })
    }

    /// Divides the columns of its features as in training.
    fn scale_columns(&self, x: &mut CsrMatrix) {
        let Some(divisors) = &self.divisors else { return };
        let shift = u32::from(self.zero_based);
        let divisor = |column: u32| {
            self.indices.binary_search(&(column - shift)).map_or(1.0, |at| divisors[at])
        };
        x.divide_columns(divisor);
    }

    /// Non-zero weights, the intercept not counted.
    pub fn nnz(&self) -> usize {
        self.indices.len()
    }

    /// The file as text.
    pub fn to_json(&self) -> Result<String, ModelError> {
        let mut text =
            serde_json::to_string(self).map_err(|source| ModelError::Encode { source })?;
        text.push('\n');
        Ok(text)
    }

    /// Writes the file whole or not at all.
    pub fn save(&self, storage: &dyn Storage, path: &Path) -> Result<(), ModelError> {
        write_file(storage, path, &self.to_json()?)
    }

    /// Reads and checks a file.
    pub fn load(storage: &dyn Storage, path: &Path) -> Result<Self, ModelError> {
        let bytes = read_file(storage, path)?;
        Self::parse(&bytes, &storage.name(path))
    }

    /// As [`Model::load`], of bytes that were read from `path`.
    ///
    /// # Errors
    /// They are no model, or one that makes no sense.
    pub fn parse(bytes: &[u8], path: &Path) -> Result<Self, ModelError> {
        let model: Self = serde_json::from_slice(bytes).map_err(|source| {
            if bytes.starts_with(b"{\"format\":\"ddiht-model\"") {
                ModelError::Damaged { path: path.to_owned(), source }
            } else {
                ModelError::Foreign { path: path.to_owned() }
            }
        })?;
        model.validate().map_err(|why| ModelError::Invalid { path: path.to_owned(), why })?;
        Ok(model)
    }

    pub(crate) fn validate(&self) -> Result<(), Flaw> {
        let finite = |x: f64| x.is_finite();
        if self.format != FORMAT {
            return Err(Flaw::Format(self.format.clone()));
        }
        if self.version != VERSION {
            return Err(Flaw::Version(self.version));
        }
        let loss = self.loss()?;
        if loss.is_classification() != self.labels.is_some() {
            return Err(Flaw::Labels);
        }
        if self.features > MOST_FEATURES {
            return Err(Flaw::Features);
        }
        if matches!(loss, LossKind::SmoothedHinge { gamma } if !(gamma > 0.0 && finite(gamma))) {
            return Err(Flaw::Gamma(self.gamma));
        }
        if self.indices.len() != self.weights.len() || self.indices.len() > self.k {
            return Err(Flaw::Lengths);
        }
        if self.divisors.is_some() != (self.scale != Scale::None) {
            return Err(Flaw::Scale);
        }
        if let Some(divisors) = &self.divisors
            && !(divisors.len() == self.indices.len()
                && divisors.iter().all(|&s| s.is_normal() && s > 0.0))
        {
            return Err(Flaw::Scale);
        }
        if self.names.as_ref().is_some_and(|names| names.len() != self.indices.len()) {
            return Err(Flaw::Names);
        }
        if !self.indices.windows(2).all(|p| p[0] < p[1]) {
            return Err(Flaw::Order);
        }
        let (first, last) =
            if self.zero_based { (0, self.features) } else { (1, self.features + 1) };
        if !self.indices.iter().all(|&j| (first..last).contains(&(j as usize))) {
            return Err(Flaw::Range);
        }
        if !self.weights.iter().copied().chain(self.intercept).all(finite) || !finite(self.lambda) {
            return Err(Flaw::NotFinite);
        }
        Ok(())
    }
}

/// A weight, as it is inside of a run, of a feature of the input.
struct Numbered {
    number: u32,
    weight: f64,
    divisor: f64,
}

/// The features of a model by their numbers in the input: those with a weight, and those to be kept.
fn numbered_features(
    config: &ValidConfig,
    weights: &Weights,
    outcome: &Outcome<'_>,
) -> Vec<Numbered> {
    let choice = &config.get().choice;
    let mut weights = weights.clone();
    weights.make_room(choice.keep().len());
    let there = |&(j, w): &(usize, f64)| j > 0 && (w != 0.0 || j <= choice.keep().len());
    let numbered = |(j, weight): (usize, f64)| Numbered {
        number: choice.outer(j as u32) - u32::from(outcome.zero_based),
        weight,
        divisor: outcome.divisors.map_or(1.0, |divisors| divisors[j]),
    };
    let mut features: Vec<Numbered> = weights.iter().filter(there).map(numbered).collect();
    features.sort_unstable_by_key(|feature| feature.number);
    features
}

/// Writes a model file whole or not at all.
pub(crate) fn write_file(storage: &dyn Storage, path: &Path, text: &str) -> Result<(), ModelError> {
    storage
        .write(path, &mut |out| out.write_all(text.as_bytes()))
        .map_err(|source| ModelError::Write { path: storage.name(path), source })
}

/// The bytes of what may be a model file.
pub(crate) fn read_file(storage: &dyn Storage, path: &Path) -> Result<Vec<u8>, ModelError> {
    let name = storage.name(path);
    match storage.open(path).and_then(read_object) {
        Ok(Some(bytes)) => Ok(bytes),
        Ok(None) => Err(ModelError::Foreign { path: name }),
        Err(source) => Err(ModelError::Open { path: name, source }),
    }
}

/// The bytes of a file, unless its size or its beginning shows that it is no JSON object: what a user named by
/// mistake may be a large file far away.
fn read_object(mut file: Opened) -> io::Result<Option<Vec<u8>>> {
    if file.size.is_some_and(|size| size > MOST_BYTES) {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    (&mut file.reader).take(BEGINNING).read_to_end(&mut bytes)?;
    if bytes.trim_ascii_start().first().is_some_and(|&byte| byte != b'{') {
        return Ok(None);
    }
    file.reader.read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

#[cfg(test)]
#[path = "model_tests.rs"]
mod tests;
