//! The model file of three or more classes: a binary model for each label, in one JSON object.
//!
//! Every member is a complete [`Model`] of its label against all others, so each has a bound of its own.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::{
    data::{LabelRule, labels::MAX_DISTINCT},
    loss::{LossKind, UnknownLoss},
    model::{Flaw, Model, ModelError, read_file, write_file},
    storage::Storage,
};

/// What the first field of such a file says.
const FORMAT: &str = "ddiht-classes";
/// How such a file begins, when it is as it was written.
const BEGINNING: &[u8] = b"{\"format\":\"ddiht-classes\"";
/// The version this build writes and reads.
const VERSION: u32 = 1;
/// Fewer classes are the task of one model.
const FEWEST: usize = 3;
/// More are not told apart in training data.
const MOST: usize = MAX_DISTINCT;

/// Models that stand against each other: a row has the label whose model gives the largest score.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Classes {
    format: String,
    version: u32,
    labels: Vec<f64>,
    models: Vec<Model>,
}

impl Classes {
    /// Of the models of these labels, in ascending order of the labels.
    pub fn new(labels: Vec<f64>, models: Vec<Model>) -> Self {
        Self { format: FORMAT.to_owned(), version: VERSION, labels, models }
    }

    /// The labels, ascending.
    pub fn labels(&self) -> &[f64] {
        &self.labels
    }

    /// A model for every label, in the order of the labels.
    pub fn models(&self) -> &[Model] {
        &self.models
    }

    fn validate(&self) -> Result<(), ClassesFlaw> {
        if self.version != VERSION {
            return Err(ClassesFlaw::Version(self.version));
        }
        if self.labels.len() != self.models.len() {
            return Err(ClassesFlaw::Lengths);
        }
        if !(FEWEST..=MOST).contains(&self.models.len()) {
            return Err(ClassesFlaw::Count(self.models.len()));
        }
        let ascend = self.labels.windows(2).all(|pair| pair[0] < pair[1]);
        if !ascend || !self.labels.iter().all(|label| label.is_finite()) {
            return Err(ClassesFlaw::Order);
        }
        for (&label, model) in self.labels.iter().zip(&self.models) {
            model.validate().map_err(|why| ClassesFlaw::Member { label, why })?;
            if model.positive != Some(LabelRule::OneOf(vec![label])) || model.labels.is_none() {
                return Err(ClassesFlaw::Positive(label));
            }
            if let Some(what) = difference(&self.models[0], model) {
                return Err(ClassesFlaw::Differ { label, what });
            }
        }
        Ok(())
    }
}

/// What two models that judge the same rows must have in common, and have not.
fn difference(a: &Model, b: &Model) -> Option<&'static str> {
    let same = [
        ("features", a.features == b.features),
        ("zero_based", a.zero_based == b.zero_based),
        ("normalize", a.normalize == b.normalize),
        ("scale", a.scale == b.scale),
        ("loss", a.loss() == b.loss()),
    ];
    same.into_iter().find(|(_, same)| !same).map(|(what, _)| what)
}

/// What is wrong with the contents of a file of several classes.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ClassesFlaw {
    /// Another version.
    #[error("its version is {0}, and this build reads version {VERSION}")]
    Version(u32),
    /// Not a model for every label.
    #[error("`labels` and `models` differ in length")]
    Lengths,
    /// Too few or too many for the format.
    #[error("it has {0} classes, and must have from {FEWEST} to {MOST}")]
    Count(usize),
    /// Labels out of order.
    #[error("`labels` do not ascend")]
    Order,
    /// A member that is no model.
    #[error("the model of label {label}: {why}")]
    Member {
        /// Its label.
        label: f64,
        /// What is wrong with it.
        why: Flaw,
    },
    /// A member of another task.
    #[error("the model of label {0} is not one of that label against the others")]
    Positive(f64),
    /// Members for different data.
    #[error("the model of label {label} differs from the first in `{what}`")]
    Differ {
        /// Its label.
        label: f64,
        /// In what.
        what: &'static str,
    },
}

/// A model file of either kind.
#[derive(Debug, Clone, PartialEq)]
pub enum AnyModel {
    /// Two classes, or a regression.
    One(Box<Model>),
    /// Three or more classes.
    Several(Classes),
}

/// As much of a model file as tells which kind it is.
#[derive(Deserialize)]
struct Kind {
    format: String,
}

impl AnyModel {
    /// Reads and checks a file.
    pub fn load(storage: &dyn Storage, path: &Path) -> Result<Self, ModelError> {
        let bytes = read_file(storage, path)?;
        Self::parse(&bytes, &storage.name(path))
    }

    /// As [`AnyModel::load`], of bytes that were read from `path`.
    ///
    /// # Errors
    /// They are no model, or one that makes no sense.
    pub fn parse(bytes: &[u8], path: &Path) -> Result<Self, ModelError> {
        let several = match serde_json::from_slice::<Kind>(bytes) {
            Ok(kind) => kind.format == FORMAT,
            Err(_) => bytes.starts_with(BEGINNING),
        };
        if !several {
            return Model::parse(bytes, path).map(Box::new).map(Self::One);
        }
        let classes: Classes = serde_json::from_slice(bytes)
            .map_err(|source| ModelError::Damaged { path: path.to_owned(), source })?;
        match classes.validate() {
            Ok(()) => Ok(Self::Several(classes)),
            Err(why) => Err(ModelError::InvalidClasses { path: path.to_owned(), why }),
        }
    }

    /// The models in it.
    pub fn members(&self) -> &[Model] {
        match self {
            Self::One(model) => std::slice::from_ref(model),
            Self::Several(classes) => &classes.models,
        }
    }

    /// A model that says what all of them have in common: features, preparation and loss.
    pub fn first(&self) -> &Model {
        &self.members()[0]
    }

    /// The loss they were trained for.
    pub fn loss(&self) -> Result<LossKind, UnknownLoss> {
        self.first().loss()
    }

    /// The same, to be changed alike.
    pub fn members_mut(&mut self) -> &mut [Model] {
        match self {
            Self::One(model) => std::slice::from_mut(model),
            Self::Several(classes) => &mut classes.models,
        }
    }

    /// The file as text.
    pub fn to_json(&self) -> Result<String, ModelError> {
        let text = match self {
            Self::One(model) => return model.to_json(),
            Self::Several(classes) => serde_json::to_string(classes),
        };
        text.map(|text| text + "\n").map_err(|source| ModelError::Encode { source })
    }

    /// Writes the file whole or not at all.
    pub fn save(&self, storage: &dyn Storage, path: &Path) -> Result<(), ModelError> {
        write_file(storage, path, &self.to_json()?)
    }
}

#[cfg(test)]
#[path = "classes_tests.rs"]
mod tests;
