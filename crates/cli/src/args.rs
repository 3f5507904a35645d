//! What can be typed. Nothing is decided here: [`crate::plan`] turns it into a checked request.

mod algorithm;
mod cluster;
mod data;
mod model;
mod reproduce;
mod shell;
mod synth;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use ddiht_core::{
    data::{ClassWeight, LabelRule, Normalize, Scale},
    loss::LOSS_NAMES,
};

pub(crate) use self::{
    algorithm::{AlgorithmName, BaselineArgs},
    cluster::{AddressArgs, FaultArgs, ServerArgs, StatusArgs, WorkerArgs},
    data::ShardArgs,
    model::{EvalArgs, ExportArgs, FormatName, InspectArgs, PredictArgs, PreparedData},
    reproduce::{ReproduceArgs, ScaleName},
    shell::{CompletionsArgs, ManArgs},
    synth::{DenseOutput, SynthCommand, SynthTextArgs},
};
use crate::{list::List, path::PathArgs, plot::PlotArgs};

/// Train linear models with at most k non-zero weights, with a proof of how good they are.
#[derive(Debug, Parser)]
#[command(name = "ddiht", version = env!("DDIHT_VERSION"), about, max_term_width = 110, arg_required_else_help = true)]
#[command(after_help = "Example: ddiht train data.svm -k 100 --model model.json")]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Train(Box<TrainArgs>),
    Path(Box<PathArgs>),
    Predict(PredictArgs),
    Eval(EvalArgs),
    Inspect(InspectArgs),
    Export(ExportArgs),
    #[command(subcommand)]
    Synth(SynthCommand),
    Shard(ShardArgs),
    Plot(PlotArgs),
    Reproduce(ReproduceArgs),
    Server(Box<ServerArgs>),
    Worker(WorkerArgs),
    Status(StatusArgs),
    /// End a run early, with the best model so far
    Stop(AddressArgs),
    /// Say whether a server answers: exit code 0 if it does
    Health(AddressArgs),
    Completions(CompletionsArgs),
    Man(ManArgs),
}

/// Train a model: read data, choose at most k features, print objective, bound and gap.
#[derive(Debug, Args)]
#[command(
    after_help = "Example: ddiht train news.svm.xz -k 1000 --test news.t.svm.xz --model news.json"
)]
pub(crate) struct TrainArgs {
    /// Training data: LIBSVM text or .csv and .tsv with a header (plain, .gz, .bz2, .xz, .zst), or shards, as paths or
    /// s3://, gs://, az://, http(s):// locations; `-` is stdin
    #[arg(required = true, value_name = "DATA")]
    pub(crate) data: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) job: JobArgs,

    /// Number of shards the rows are cut into (row r goes to shard r mod M)
    #[arg(long, value_name = "M", default_value_t = 1)]
    pub(crate) workers: usize,

    /// Begin the search with this model, of any k, on data with the same features
    #[arg(long, value_name = "MODEL")]
    pub(crate) init: Option<PathBuf>,

    /// How the workers of this process are reached: in memory, or by gRPC over loopback
    #[arg(long, value_enum, default_value_t = TransportName::Memory)]
    pub(crate) transport: TransportName,
}

/// What a training run is to do, wherever its workers are.
#[derive(Debug, Args)]
pub(crate) struct JobArgs {
    /// Most features the model may use
    #[arg(short, value_name = "K")]
    pub(crate) k: List<usize>,

    /// Loss to minimise
    #[arg(long, value_name = "L", default_value = "squared-hinge", value_parser = LOSS_NAMES)]
    pub(crate) loss: String,

    /// Width of the rounded corner of smoothed-hinge
    #[arg(long, value_name = "G", default_value_t = 0.25)]
    pub(crate) gamma: f64,

    /// Strength of the ridge (lambda/2)||w||^2
    #[arg(long, value_name = "X", default_value = "1e-4", allow_negative_numbers = true)]
    pub(crate) lambda: Option<List<f64>>,

    /// The same as LIBLINEAR's C: lambda = 1/(C N)
    #[arg(long = "C", value_name = "X", conflicts_with = "lambda", allow_negative_numbers = true)]
    pub(crate) c: Option<f64>,

    /// Algorithm; auto is exact
    #[arg(long, value_name = "A", value_enum, default_value_t = AlgorithmName::Auto)]
    pub(crate) algorithm: AlgorithmName,

    /// Data to measure the model on
    #[arg(long, value_name = "DATA")]
    pub(crate) test: Option<PathBuf>,

    /// Where to write the model: a path, or an s3://, gs:// or az:// location
    #[arg(long, value_name = "FILE")]
    pub(crate) model: Option<PathBuf>,

    /// Where to write one JSON line a round
    #[arg(long, value_name = "FILE")]
    pub(crate) history: Option<PathBuf>,

    /// Scale every row to length 1 (l2) or leave it (none)
    #[arg(long, default_value_t = Normalize::None)]
    pub(crate) normalize: Normalize,

    /// Divide every column by its largest magnitude (maxabs) or its standard deviation (std), or leave it (none); the
    /// weights in the model are those of columns as they were
    #[arg(long, default_value_t = Scale::None)]
    pub(crate) scale: Scale,

    /// Labels of the positive class, as '>=7', '<=10' or '3,5,9'; without it `train` takes each of three or more labels
    /// against the rest, with k features each
    #[arg(long, value_name = "EXPR", allow_hyphen_values = true)]
    pub(crate) positive: Option<LabelRule>,

    /// How much rows of the classes +1 and -1 count: balanced (both classes alike), or as 5:1; of several labels each is
    /// +1 in its turn
    #[arg(long, value_name = "POS:NEG|balanced")]
    pub(crate) class_weight: Option<ClassWeight>,

    /// File with how much each row counts: a number of 0 or more a line, in the order of the rows
    #[arg(long, value_name = "FILE")]
    pub(crate) weights: Option<String>,

    /// File with features that are always in the model, a name or number a line; they count in K
    #[arg(long, value_name = "FILE")]
    pub(crate) keep: Option<PathBuf>,

    /// File with features that are never in the model, a name or number a line
    #[arg(long, value_name = "FILE")]
    pub(crate) exclude: Option<PathBuf>,

    /// Feature numbers of text data start at 0
    #[arg(long)]
    pub(crate) zero_based: bool,

    /// Column of CSV or TSV data that is the label: its name, or its number from 1 [default: the first]
    #[arg(long, value_name = "COLUMN")]
    pub(crate) label: Option<String>,

    /// File with the features' names, one a line: they are kept in the model. Tables have them in their header
    #[arg(long, value_name = "FILE")]
    pub(crate) names: Option<PathBuf>,

    /// Do not add a constant feature
    #[arg(long)]
    pub(crate) no_intercept: bool,

    /// Entries a shard may send in a round; one shard alone sends all
    #[arg(long, value_enum, default_value_t = UplinkName::K)]
    pub(crate) uplink: UplinkName,

    /// How workers' models become one: exact, or one of the report's ways for sdiht (and diht)
    /// [default: exact; average for diht and sdiht]
    #[arg(long, value_enum)]
    pub(crate) aggregate: Option<AggregateName>,

    /// Power of --aggregate weighted: 0 is average, inf is min
    #[arg(long, value_name = "P", default_value_t = 1.0, allow_negative_numbers = true)]
    pub(crate) power: f64,

    /// Go on as soon as S workers have answered (exact and average)
    #[arg(long = "async", value_name = "S")]
    pub(crate) arrivals: Option<usize>,

    /// With --async, wait for a worker whose answer is this many rounds late
    #[arg(long, value_name = "T", requires = "arrivals")]
    pub(crate) max_staleness: Option<u64>,

    /// Factor of the averaged model (average and weighted)
    #[arg(long, value_name = "B", default_value_t = 1.0)]
    pub(crate) beta: f64,

    /// Rows of a block of sdiht and svr-ght
    #[arg(long, value_name = "B", default_value_t = 3000)]
    pub(crate) batch_size: usize,

    /// Blocks a shard visits in a round of sdiht
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub(crate) local_steps: usize,

    #[command(flatten)]
    pub(crate) baseline: BaselineArgs,

    /// Step: safe, a number, or for diht and sdiht paper
    #[arg(long, value_name = "safe|paper|X", default_value = "safe")]
    pub(crate) step: String,

    /// Threads [default: all cores]
    #[arg(long, value_name = "T")]
    pub(crate) threads: Option<usize>,

    /// Relative gap that is good enough; 0 runs to --rounds or --time
    #[arg(long, value_name = "G", default_value_t = 1e-3, allow_negative_numbers = true)]
    pub(crate) gap: f64,

    /// Most dual rounds; of other algorithms, most iterations
    #[arg(long, value_name = "R")]
    pub(crate) rounds: Option<u64>,

    /// Most training time, as 90s, 5m or 2h; of all classes together
    #[arg(long, value_name = "DURATION")]
    pub(crate) time: Option<String>,

    /// Seed of every random choice
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,

    /// Print the summary as one JSON object
    #[arg(long)]
    pub(crate) json: bool,

    /// No progress and no notices
    #[arg(long)]
    pub(crate) quiet: bool,

    /// TOML file of settings, named as these options; the command line wins over it
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// Print all settings in effect as TOML and exit
    #[arg(long)]
    pub(crate) print_config: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TransportName {
    /// In memory
    Memory,
    /// gRPC over loopback
    Grpc,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum AggregateName {
    /// Dual phase with certificate, then refit and exchange of features
    Exact,
    /// The mean of local models, thresholded
    Average,
    /// The local model with the least objective on all rows
    Min,
    /// A mean weighted by objective
    Weighted,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum UplinkName {
    /// k entries
    #[value(name = "k")]
    K,
    /// 4k entries
    #[value(name = "4k")]
    FourK,
    /// All entries
    Full,
}
