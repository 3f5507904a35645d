//! Commands that make data files.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Generate data.
#[derive(Debug, Subcommand)]
#[command(after_help = "Example: ddiht synth text -o text.svm --rows 20000")]
pub(crate) enum SynthCommand {
    Text(SynthTextArgs),
}

/// Text-like data: Zipf-distributed words, tf-idf weights, rows of length 1, two classes.
#[derive(Debug, Args)]
#[command(after_help = "Example: ddiht synth text -o text.svm --rows 20000 --features 47236")]
pub(crate) struct SynthTextArgs {
    /// Where to write; `-` is stdout
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// Rows
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    pub(crate) rows: u64,
    /// Features
    #[arg(long, value_name = "D", default_value_t = 47_236)]
    pub(crate) features: usize,
    /// Average number of non-zeros in a row
    #[arg(long, value_name = "X", default_value_t = 75.0)]
    pub(crate) nonzeros: f64,
    /// Features that decide the label
    #[arg(long, value_name = "K", default_value_t = 1000)]
    pub(crate) informative: usize,
    /// Share of labels that are flipped
    #[arg(long, value_name = "P", default_value_t = 0.05)]
    pub(crate) noise: f64,
    /// Seed of every random choice
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
}

/// Cut data into binary shards that load in an instant.
#[derive(Debug, Args)]
#[command(after_help = "Example: ddiht shard data.svm.xz -n 8 -o shards")]
pub(crate) struct ShardArgs {
    /// LIBSVM text, .csv or .tsv (plain or compressed), as paths or locations; `-` is stdin
    #[arg(required = true, value_name = "DATA")]
    pub(crate) data: Vec<PathBuf>,
    /// Number of shards (row r goes to shard r mod M)
    #[arg(short = 'n', value_name = "M", default_value_t = 1)]
    pub(crate) count: usize,
    /// Directory to write to, or its s3://, gs:// or az:// location; it is made if need be
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: PathBuf,
    /// Feature numbers start at 0
    #[arg(long)]
    pub(crate) zero_based: bool,
    /// Column of CSV or TSV data that is the label: its name, or its number from 1 [default: the first]
    #[arg(long, value_name = "COLUMN")]
    pub(crate) label: Option<String>,
}
