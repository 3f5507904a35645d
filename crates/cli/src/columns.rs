//! What columns are called: by the header of a table, or by a file with a name a line.

use std::{
    collections::HashMap,
    fs, io,
    path::{Path, PathBuf},
};

use ddiht_core::{
    config::ValidConfig,
    data::{
        FeatureChoice, LabelColumn,
        table::{self, Header},
    },
    model::Model,
    storage::Storage,
};

use crate::{args::JobArgs, failure::Failure};

#[derive(Debug, thiserror::Error)]
enum ColumnsError {
    #[error("{}: cannot read the names of the features: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{}: cannot read the features of {option}: {source}", path.display())]
    List { option: &'static str, path: PathBuf, source: io::Error },
    #[error("{}:{line}: there is no feature `{name}`", path.display())]
    NoFeature { path: PathBuf, line: usize, name: String },
    #[error("--names {}: the data are a table, whose header has the names", .0.display())]
    NamedTwice(PathBuf),
    #[error(
        "the data have the column `{found}` where the model has feature {feature}, `{expected}`: put the \
         columns into the order of the training data"
    )]
    Other { feature: u32, expected: String, found: String },
}

/// The columns of training data.
#[derive(Debug, Default)]
pub(crate) struct Columns {
    names: Option<Vec<String>>,
    label: Option<String>,
}

impl Columns {
    /// Of `data`, or as the file `names` says.
    pub(crate) fn of(
        storage: &dyn Storage,
        data: &[PathBuf],
        label: Option<&str>,
        names: Option<&Path>,
    ) -> Result<Self, Failure> {
        let header = table::header(storage, data, &LabelColumn::named(label))?;
        match (header, names) {
            (Some(_), Some(file)) => Err(Failure::input(ColumnsError::NamedTwice(file.into()))),
            (Some(header), None) => Ok(Self::of_header(&header)),
            (None, Some(file)) => Ok(Self { names: Some(read_names(file)?), label: None }),
            (None, None) => Ok(Self::default()),
        }
    }

    /// The same for data that may be out of reach here, as a server's can be.
    pub(crate) fn of_remote(
        storage: &dyn Storage,
        data: &[String],
        label: Option<&str>,
        names: Option<&Path>,
    ) -> Result<Self, Failure> {
        let data: Vec<PathBuf> = data.iter().map(PathBuf::from).collect();
        if names.is_some() {
            return Self::of(storage, &data[..0], label, names);
        }
        let header = table::header(storage, &data, &LabelColumn::named(label));
        Ok(match header {
            Ok(header) => header.as_ref().map(Self::of_header).unwrap_or_default(),
            Err(error) => {
                tracing::warn!("the model goes without the names of its features: {error}");
                Self::default()
            }
        })
    }

    fn of_header(header: &Header) -> Self {
        let names = header.names().map(str::to_owned).collect();
        Self { names: Some(names), label: header.label().map(str::to_owned) }
    }

    /// `config` with the features that --keep and --exclude name, in data that number theirs from 0 or not.
    pub(crate) fn choose(
        &self,
        args: &JobArgs,
        zero_based: bool,
        config: ValidConfig,
    ) -> Result<ValidConfig, Failure> {
        let list = |option, path: Option<&Path>| match path {
            Some(path) => self.listed(option, path, zero_based).map_err(Failure::input),
            None => Ok(Vec::new()),
        };
        let keep = list("--keep", args.keep.as_deref())?;
        let exclude = list("--exclude", args.exclude.as_deref())?;
        Ok(config.choosing(FeatureChoice::new(keep, exclude))?)
    }

    /// The columns of the features in a file, one a line: by name where names are known, or else by number.
    fn listed(
        &self,
        option: &'static str,
        path: &Path,
        zero_based: bool,
    ) -> Result<Vec<u32>, ColumnsError> {
        let text = fs::read_to_string(path).map_err(|source| ColumnsError::List {
            option,
            path: path.to_owned(),
            source,
        })?;
        let names = self.names.as_deref().unwrap_or_default();
        let numbers: HashMap<&str, u32> =
            names.iter().zip(1..).map(|(name, column)| (name.as_str(), column)).collect();
        let (first, last) = if zero_based { (0, u32::MAX - 1) } else { (1, u32::MAX) };
        let column = |name: &str| {
            let number = || name.parse().ok().filter(|number| (first..=last).contains(number));
            numbers.get(name).copied().or_else(|| number().map(|number| number + 1 - first))
        };
        let lines = text.lines().map(str::trim).zip(1..).filter(|(name, _)| !name.is_empty());
        lines
            .map(|(name, line)| {
                column(name).ok_or_else(|| {
                    let (path, name) = (path.to_owned(), shown(name));
                    ColumnsError::NoFeature { path, line, name }
                })
            })
            .collect()
    }

    /// Writes into models of the same data what their features are called.
    pub(crate) fn describe(&self, models: &mut [Model]) {
        if let Some(names) = &self.names {
            let (known, all) = (names.len(), models[0].features);
            if known < all {
                tracing::warn!("there are {known} names for {all} features: the last go without");
            }
            models.iter_mut().for_each(|model| model.set_names(names));
        }
        if let Some(label) = &self.label {
            models.iter_mut().for_each(|model| model.set_label_column(label));
        }
    }
}

/// The names in a file: line j has that of the j-th feature.
pub(crate) fn read_names(path: &Path) -> Result<Vec<String>, Failure> {
    let text = fs::read_to_string(path)
        .map_err(|source| Failure::input(ColumnsError::Read { path: path.to_owned(), source }))?;
    Ok(text.lines().map(|line| line.trim().to_owned()).collect())
}

/// Refuses tables whose columns are not those that `models` were trained on.
pub(crate) fn check(
    storage: &dyn Storage,
    models: &[Model],
    data: &[PathBuf],
    label: &LabelColumn,
) -> Result<(), Failure> {
    // Names without a label's are from a file, and may differ from a header by intention.
    let (Some(_), Some(_)) = (models[0].names(), models[0].label_column()) else { return Ok(()) };
    let Some(header) = table::header(storage, data, label)? else { return Ok(()) };
    let found: Vec<&str> = header.names().collect();
    models.iter().try_for_each(|model| check_names(model, &found))
}

fn check_names(model: &Model, found: &[&str]) -> Result<(), Failure> {
    let names = model.names().unwrap_or_default();
    let first = u32::from(!model.zero_based);
    for ((feature, _), name) in model.features().zip(names) {
        let there = found.get((feature - first) as usize).copied().unwrap_or("(none)");
        if there != name {
            let (expected, found) = (shown(name), shown(there));
            return Err(Failure::input(ColumnsError::Other { feature, expected, found }));
        }
    }
    Ok(())
}

/// A name from a file, without what a terminal might act on.
pub(crate) fn shown(name: &str) -> String {
    name.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}
