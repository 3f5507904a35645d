//! What can be wrong with an input. Every variant names the file, or the line and column, or the label.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use super::labels::LabelRule;
use super::libsvm::LineError;
use super::source::Compression;
use super::table::TableFlaw;
use crate::storage::is_outage;

/// An input that cannot be used: the user's to mend, or the network's, never a bug of ours.
#[derive(Debug, Error)]
pub enum DataError {
    /// The file does not exist or may not be read.
    #[error("{}: cannot open: {source}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A directory without shard files was named.
    #[error("{}: is a directory without shards (*.ddiht), name its files", .0.display())]
    Directory(PathBuf),
    /// Reading failed half-way.
    #[error("{}: cannot read: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A compressed file ends before its end mark.
    #[error("{}: truncated {format} file", path.display())]
    Truncated {
        /// The file.
        path: PathBuf,
        /// How it is compressed.
        format: Compression,
    },
    /// A compressed file that does not decompress.
    #[error("{}: corrupt {format} file: {source}", path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// How it is compressed.
        format: Compression,
        /// What the decoder says.
        source: io::Error,
    },
    /// A line that is not LIBSVM text.
    #[error("{}:{line}:{}: {}", path.display(), error.column, error.kind)]
    Line {
        /// The file.
        path: PathBuf,
        /// 1-based line.
        line: u64,
        /// What is wrong, and in which column.
        error: LineError,
    },
    /// A table with a flaw.
    #[error("{}:{}:{}: {flaw}", path.display(), place.0, place.1)]
    Table {
        /// The file.
        path: PathBuf,
        /// 1-based line and column.
        place: (u64, u64),
        /// What is wrong there.
        flaw: TableFlaw,
    },
    /// A line that is no weight of a row.
    #[error("{}:{line}: `{text}` is no weight: a number of 0 or more is", path.display())]
    Weight {
        /// The file.
        path: PathBuf,
        /// 1-based line.
        line: u64,
        /// What is there.
        text: String,
    },
    /// Weights that are all 0, or none at all.
    #[error("{}: no row has a weight above 0", .0.display())]
    NoWeight(PathBuf),
    /// Not one weight for each row.
    #[error("{}: {found} weights for {rows} rows", path.display())]
    WeightCount {
        /// The file.
        path: PathBuf,
        /// Weights in it.
        found: usize,
        /// Rows of the data.
        rows: usize,
    },
    /// A feature that is to be kept and is not there.
    #[error("--keep names feature {feature}, and the last one of the data is {last}")]
    KeepBeyond {
        /// The feature.
        feature: u32,
        /// The largest feature there is.
        last: u32,
    },
    /// More columns than memory has room for.
    #[error(
        "the data have {features} features, by the largest number of one: a run keeps some figures for each, and there are no \
         {} GB of memory for them; is that number right?",
        bytes.div_ceil(1 << 30)
    )]
    Wide {
        /// How many there would be.
        features: usize,
        /// What a run needs, about.
        bytes: usize,
    },
    /// No rows in any of the inputs.
    #[error("no rows in {}", list(.0))]
    Empty(Vec<PathBuf>),
    /// Text and shards, or shards among themselves, number features from different bases.
    #[error("{}: its features are numbered from {}, those before it from {}",
        path.display(), u8::from(!zero_based), u8::from(*zero_based))]
    MixedBase {
        /// The file that differs from those before it.
        path: PathBuf,
        /// Its base.
        zero_based: bool,
    },
    /// A binary shard that cannot be used.
    #[error("{}: {source}", path.display())]
    Shard {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: ShardError,
    },
    /// A file could not be written.
    #[error("{}: cannot write: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Every row has the same label.
    #[error("all {rows} rows have the label {label}: a classifier needs two classes")]
    OneClass {
        /// The label.
        label: f64,
        /// How many rows have it.
        rows: u64,
    },
    /// `--positive` puts all rows on one side.
    #[error(
        "--positive '{rule}' makes every row {}: a classifier needs two classes",
        if *positive { "positive" } else { "negative" }
    )]
    OneSided {
        /// The rule.
        rule: LabelRule,
        /// On which side all rows are.
        positive: bool,
    },
    /// Labels that are no binary task.
    #[error("{}", not_binary(found, *more))]
    NotBinary {
        /// The first labels found, ascending.
        found: Vec<f64>,
        /// Whether there are others.
        more: bool,
    },
    /// No rows to take labels from.
    #[error("no rows, so no labels")]
    NoLabels,
    /// A label that the model's training data did not have.
    #[error("row {row}: label {label} is unknown, the model knows {negative} and {positive}")]
    UnknownLabel {
        /// 1-based row.
        row: usize,
        /// Its label.
        label: f64,
        /// The model's negative label.
        negative: f64,
        /// The model's positive label.
        positive: f64,
    },
    /// A label that is none of several classes.
    #[error("row {row}: label {label} is none of the {classes} labels that the model knows")]
    UnknownClass {
        /// 1-based row.
        row: usize,
        /// Its label.
        label: f64,
        /// How many classes the model has.
        classes: usize,
    },
}

impl DataError {
    /// Whether the way to the input is to blame, and not the input.
    pub fn is_outage(&self) -> bool {
        match self {
            Self::Open { source, .. } | Self::Read { source, .. } => is_outage(source),
            _ => false,
        }
    }
}

/// What is wrong with a binary shard file.
#[derive(Debug, Error)]
pub enum ShardError {
    /// Some other kind of file.
    #[error("not a ddiht shard file")]
    Foreign,
    /// Written by another release.
    #[error(
        "shard format version {found}, this build reads version {}: write it again with `ddiht shard`",
        super::binary::VERSION
    )]
    Version {
        /// The file's version.
        found: u32,
    },
    /// The file ends early.
    #[error("truncated shard file")]
    Truncated,
    /// The file is longer or shorter than its header says.
    #[error("the shard file has {found} bytes where its header calls for {expected}")]
    Size {
        /// Bytes in the file.
        found: u64,
        /// Bytes the header asks for.
        expected: u128,
    },
    /// The bytes are not those that were written.
    #[error("checksum mismatch: the shard file is damaged")]
    Checksum,
    /// The checksum holds but the contents make no sense.
    #[error("invalid shard: {0}")]
    Invalid(&'static str),
    /// Encoding or decoding failed.
    #[error("cannot decode: {0}")]
    Decode(wincode::ReadError),
    /// Reading failed.
    #[error("cannot read: {0}")]
    Io(io::Error),
}

fn list(paths: &[PathBuf]) -> String {
    if paths.is_empty() {
        return "the input: no file was named".into();
    }
    let names: Vec<_> = paths.iter().map(|p| p.display().to_string()).collect();
    names.join(", ")
}

fn not_binary(found: &[f64], more: bool) -> String {
    let names: Vec<_> = found.iter().map(f64::to_string).collect();
    let dots = if more { ", ..." } else { "" };
    format!(
        "the labels are {}{dots}: neither -1/+1, 0/1 nor 1/2; say which are positive with --positive \
         (such as --positive '>={}') or use --loss squared",
        names.join(", "),
        found.last().copied().unwrap_or(1.0),
    )
}
