//! Commands that take a trained model.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use ddiht_core::data::{LabelRule, Normalize};

/// Predict with a model: one line a row, the label (or score, or probability).
#[derive(Debug, Args)]
#[command(after_help = "Example: ddiht predict model.json new.svm -o answers.txt")]
pub(crate) struct PredictArgs {
    /// The model file, or its location
    pub(crate) model: PathBuf,
    #[command(flatten)]
    pub(crate) data: PreparedData,
    /// Where to write [default: stdout]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Print x'w in place of labels; of several classes a number for each, in the order of their labels
    #[arg(long, conflicts_with = "probabilities")]
    pub(crate) scores: bool,
    /// Print the probability of the positive class, or of each of several (logistic models)
    #[arg(long)]
    pub(crate) probabilities: bool,
    /// The table has no label column: all of its columns are features
    #[arg(long, conflicts_with = "label")]
    pub(crate) no_label: bool,
}

/// Measure a model on data: objective, accuracy, AUC, F1 and more, or RMSE and R2.
#[derive(Debug, Args)]
#[command(after_help = "Example: ddiht eval model.json test.svm --json")]
pub(crate) struct EvalArgs {
    /// The model file, or its location
    pub(crate) model: PathBuf,
    #[command(flatten)]
    pub(crate) data: PreparedData,
    /// File with how much each row counts in the objective: a number of 0 or more a line
    #[arg(long, value_name = "FILE")]
    pub(crate) weights: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Data for a model that knows how to prepare it.
#[derive(Debug, Args)]
pub(crate) struct PreparedData {
    /// LIBSVM text, .csv or .tsv (plain or compressed), or shards, as paths or locations; `-` is stdin
    #[arg(required = true, value_name = "DATA")]
    pub(crate) data: Vec<PathBuf>,
    /// Must be the model's own, which is applied anyway
    #[arg(long)]
    pub(crate) normalize: Option<Normalize>,
    /// Must be the model's own, which is applied anyway
    #[arg(long, value_name = "EXPR", allow_hyphen_values = true)]
    pub(crate) positive: Option<LabelRule>,
    /// Column of CSV or TSV data that is the label: its name, or its number from 1 [default: the model's]
    #[arg(long, value_name = "COLUMN")]
    pub(crate) label: Option<String>,
}

/// Say what is in a model, a shard or a checkpoint.
#[derive(Debug, Args)]
#[command(after_help = "Example: ddiht inspect model.json --top 20")]
pub(crate) struct InspectArgs {
    /// A model, a shard file or a checkpoint, as a path or a location
    pub(crate) file: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// Weights to show, largest first
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) top: usize,
    /// File with the features' names, one a line
    #[arg(long, value_name = "FILE")]
    pub(crate) names: Option<PathBuf>,
}

/// Write a model for other programs: LIBLINEAR, ONNX runtimes, or anything that reads JSON.
#[derive(Debug, Args)]
#[command(after_help = "Example: ddiht export model.json --format onnx -o model.onnx")]
pub(crate) struct ExportArgs {
    /// The model file, or its location
    pub(crate) model: PathBuf,
    /// What to write
    #[arg(long, value_enum)]
    pub(crate) format: FormatName,
    /// Where to write
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// File with the features' names, one a line
    #[arg(long, value_name = "FILE")]
    pub(crate) names: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FormatName {
    /// The model file of LIBLINEAR's own programs
    Liblinear,
    /// A plain description: what each feature weighs, and what to do with the sum
    Json,
    /// A graph that takes rows of floats and gives scores and labels
    Onnx,
}
