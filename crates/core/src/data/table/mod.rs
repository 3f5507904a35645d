//! Dense data with a header: CSV and TSV, known by their extension, plain or compressed.
//!
//! One column is the label; the others are features 1, 2, ... in their order. Zeros are not stored.

mod fields;

use std::path::{Path, PathBuf};

use thiserror::Error;

use self::fields::{Field, Fields, Place};
use super::csr::CsrMatrix;
use super::error::DataError;
use super::libsvm::{MAX_INDEX, shorten};
use super::reader::{ReadOptions, keeps};
use super::source::{Compression, Source};
use crate::storage::Storage;

/// Which column of a table is the label.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum LabelColumn {
    /// The first.
    #[default]
    First,
    /// The one of this name, or else of this number, counted from 1.
    Called(String),
    /// The one of this name; without one all columns are features. For data to predict on.
    IfThere(String),
    /// None: all columns are features.
    Absent,
}

impl LabelColumn {
    /// The column that an option names; the first without one.
    pub fn named(option: Option<&str>) -> Self {
        option.map_or(Self::First, |name| Self::Called(name.to_owned()))
    }

    fn find(&self, columns: &[String]) -> Result<Option<usize>, TableFlaw> {
        let called = |name: &String| columns.iter().position(|column| column == name);
        match self {
            Self::First => Ok(Some(0)),
            Self::Absent => Ok(None),
            Self::IfThere(name) => Ok(called(name)),
            Self::Called(name) => {
                let number = || name.parse::<usize>().ok()?.checked_sub(1);
                let numbered = || number().filter(|&at| at < columns.len());
                let found = called(name).or_else(numbered);
                let missing =
                    || TableFlaw::NoLabel { label: shown(name), columns: some_of(columns) };
                found.map(Some).ok_or_else(missing)
            }
        }
    }
}

/// What the first line of a table says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    columns: Vec<String>,
    label: Option<usize>,
}

impl Header {
    /// The features' names: feature j is number j - 1 of them.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let columns = self.columns.iter().enumerate();
        columns.filter(|&(at, _)| Some(at) != self.label).map(|(_, name)| name.as_str())
    }

    /// The name of the label's column.
    pub fn label(&self) -> Option<&str> {
        self.label.map(|at| self.columns[at].as_str())
    }
}

/// What can be wrong with a table. Texts are shortened and escaped.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TableFlaw {
    /// The file is empty.
    #[error("there is no header: the first line must have the names of the columns")]
    Empty,
    /// The first line is a row.
    #[error("the first line has numbers only, where the names of the columns are expected")]
    NoHeader,
    /// More columns than can be numbered.
    #[error("more than {MAX_INDEX} columns")]
    TooManyColumns,
    /// The label's column is not there.
    #[error("there is no column `{label}` for the label; the columns are {columns}")]
    NoLabel {
        /// What was asked for.
        label: String,
        /// What there is.
        columns: String,
    },
    /// Another file of the same data has other columns.
    #[error("its columns are not those of the files before it")]
    OtherHeader,
    /// A row that is too short or too long.
    #[error("a row of {found} fields where the header has {expected}")]
    Fields {
        /// Fields of the row.
        found: usize,
        /// Fields of the header.
        expected: usize,
    },
    /// A field without text.
    #[error("column `{0}` is empty here: fill it in, or leave out the row")]
    Missing(String),
    /// A feature that is no number.
    #[error(
        "column `{column}` has '{text}', which is not a number: make numbers of it (a column of 0 and 1 for \
         each of its values), or leave out the column"
    )]
    NotANumber {
        /// The column.
        column: String,
        /// What is there.
        text: String,
    },
    /// A label that is no number.
    #[error(
        "the label `{column}` is '{text}', which is not a number: write the classes as 0 and 1, or name the \
         label's column with --label"
    )]
    BadLabel {
        /// The column.
        column: String,
        /// What is there.
        text: String,
    },
    /// A number that is not finite, or not as an f32.
    #[error("column `{column}` has '{text}', which is not a finite 32-bit number")]
    NotFinite {
        /// The column.
        column: String,
        /// What is there.
        text: String,
    },
}

/// The delimiter of a table, if `path` is one by its name.
pub fn delimiter(path: &Path) -> Option<u8> {
    let inner = if Compression::of(path).is_some() { path.with_extension("") } else { path.into() };
    match inner.extension()?.to_str()?.to_ascii_lowercase().as_str() {
        "csv" => Some(b','),
        "tsv" => Some(b'\t'),
        _ => None,
    }
}

/// The header of the first table among `inputs`; nothing if there is none.
///
/// # Errors
/// The file cannot be read, or is no table.
pub fn header(
    storage: &dyn Storage,
    inputs: &[PathBuf],
    label: &LabelColumn,
) -> Result<Option<Header>, DataError> {
    // The name of a location that is signed has no signature at its end.
    let table =
        |path: &PathBuf| delimiter(&storage.name(path)).map(|delimiter| (path.clone(), delimiter));
    let Some((path, delimiter)) = inputs.iter().find_map(table) else { return Ok(None) };
    let source = Source::open(storage, &path)?;
    Ok(Some(TableReader::open(source, delimiter, label)?.header))
}

/// What was read of a table.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) header: Header,
    pub(super) x: CsrMatrix,
    pub(super) labels: Vec<f64>,
    /// Rows seen, kept or not.
    pub(super) rows: usize,
    pub(super) dropped: u64,
}

/// Reads a table whose first row has the number `first_row`.
pub(super) fn read(
    source: Source,
    delimiter: u8,
    options: &ReadOptions,
    first_row: usize,
) -> Result<Table, DataError> {
    let mut reader = TableReader::open(source, delimiter, &options.label)?;
    let features = reader.header.names().count() as u32;
    let kept = options.max_feature.map_or(features, |max| max.min(features));
    let (mut x, mut labels) = (CsrMatrix::new(kept as usize + 1), Vec::new());
    let (mut rows, mut dropped) = (0, 0);
    loop {
        let found = if keeps(options, first_row + rows) {
            reader.row(kept, &mut x, &mut dropped)?.map(|label| labels.push(label)).is_some()
        } else {
            reader.skip_row()?
        };
        if !found {
            return Ok(Table { header: reader.header, x, labels, rows, dropped });
        }
        rows += 1;
    }
}

struct TableReader {
    name: PathBuf,
    fields: Fields<Source>,
    header: Header,
}

impl TableReader {
    fn open(source: Source, delimiter: u8, label: &LabelColumn) -> Result<Self, DataError> {
        let name = source.name().to_owned();
        let mut fields = Fields::new(source, delimiter);
        let flaw = |place, flaw| DataError::Table { path: name.clone(), place, flaw };
        let start = |flaw_found| flaw((1, 1), flaw_found);
        let (mut columns, mut numbers) = (Vec::new(), 0);
        loop {
            let next = fields.next().map_err(|error| fields.get_ref().error(error))?;
            let Some(field) = next else { return Err(start(TableFlaw::Empty)) };
            let text = fields.text().trim_ascii();
            numbers += usize::from(fast_float2::parse::<f64, _>(text).is_ok());
            columns.push(String::from_utf8_lossy(text).into_owned());
            if columns.len() as u64 > u64::from(MAX_INDEX) {
                return Err(start(TableFlaw::TooManyColumns));
            }
            if field.last {
                break;
            }
        }
        if numbers == columns.len() {
            return Err(start(TableFlaw::NoHeader));
        }
        let label = label.find(&columns).map_err(start)?;
        Ok(Self { name, fields, header: Header { columns, label } })
    }

    /// Adds a row to `x` and returns its label (0 where there is none); nothing at the end.
    fn row(
        &mut self,
        kept: u32,
        x: &mut CsrMatrix,
        dropped: &mut u64,
    ) -> Result<Option<f64>, DataError> {
        let (mut at, mut feature, mut label) = (0, 0, 0.0);
        loop {
            let Some(field) = self.next()? else { return Ok(None) };
            if at >= self.header.columns.len() || field.last && at + 1 < self.header.columns.len() {
                return Err(self.wrong_length(field, at + 1));
            }
            if Some(at) == self.header.label {
                label = self.label(field.place, at)?;
            } else {
                feature += 1;
                let value = self.value(field.place, at)?;
                if value != 0.0 && feature > kept {
                    *dropped += 1;
                } else if value != 0.0 {
                    x.push_entry(feature, value);
                }
            }
            at += 1;
            if field.last {
                x.end_row();
                return Ok(Some(label));
            }
        }
    }

    fn skip_row(&mut self) -> Result<bool, DataError> {
        while let Some(field) = self.next()? {
            if field.last {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn next(&mut self) -> Result<Option<Field>, DataError> {
        self.fields.next().map_err(|error| self.fields.get_ref().error(error))
    }

    fn value(&self, place: Place, at: usize) -> Result<f32, DataError> {
        match fast_float2::parse::<f32, _>(self.fields.text().trim_ascii()) {
            Ok(value) if value.is_finite() => Ok(value),
            Ok(_) => Err(self.bad(place, at, |column, text| TableFlaw::NotFinite { column, text })),
            Err(_) => {
                Err(self.bad(place, at, |column, text| TableFlaw::NotANumber { column, text }))
            }
        }
    }

    fn label(&self, place: Place, at: usize) -> Result<f64, DataError> {
        match fast_float2::parse::<f64, _>(self.fields.text().trim_ascii()) {
            Ok(label) if label.is_finite() => Ok(label),
            _ => Err(self.bad(place, at, |column, text| TableFlaw::BadLabel { column, text })),
        }
    }

    #[cold]
    fn bad(
        &self,
        place: Place,
        at: usize,
        flaw: impl FnOnce(String, String) -> TableFlaw,
    ) -> DataError {
        let column = self.header.columns.get(at).map_or_else(String::new, |name| shown(name));
        let text = self.fields.text().trim_ascii();
        let flaw =
            if text.is_empty() { TableFlaw::Missing(column) } else { flaw(column, shorten(text)) };
        self.flawed(place, flaw)
    }

    /// Counts the fields of the row to its end, of which `found` were read.
    #[cold]
    fn wrong_length(&mut self, field: Field, mut found: usize) -> DataError {
        let mut last = field.last;
        while !last {
            match self.next() {
                Ok(Some(field)) => last = field.last,
                Ok(None) => break,
                Err(error) => return error,
            }
            found += 1;
        }
        let expected = self.header.columns.len();
        self.flawed(field.place, TableFlaw::Fields { found, expected })
    }

    fn flawed(&self, Place { line, column }: Place, flaw: TableFlaw) -> DataError {
        DataError::Table { path: self.name.clone(), place: (line, column), flaw }
    }
}

/// A name from a file, as a message may show it.
fn shown(name: &str) -> String {
    shorten(name.as_bytes())
}

fn some_of(columns: &[String]) -> String {
    let some: Vec<String> = columns.iter().take(8).map(|name| shown(name)).collect();
    format!("{}{}", some.join(", "), if columns.len() > some.len() { ", ..." } else { "" })
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
