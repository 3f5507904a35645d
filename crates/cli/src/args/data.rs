//! Commands that make data files.

use std::path::PathBuf;

use clap::Args;

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
