//! What can be typed. Nothing is decided here: [`crate::plan`] turns it into a checked request.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use ddiht_core::{
    data::{ClassWeight, LabelRule, Normalize},
    loss::LOSS_NAMES,
};

use crate::{
    cluster::security::{ClientSecurity, ServerSecurity},
    list::List,
    path::PathArgs,
    plot::PlotArgs,
};

/// Train linear models with at most k non-zero weights, with a proof of how good they are.
#[derive(Debug, Parser)]
#[command(name = "ddiht", version, about, max_term_width = 110, arg_required_else_help = true)]
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
    #[command(subcommand)]
    Synth(SynthCommand),
    Shard(ShardArgs),
    Plot(PlotArgs),
    Server(Box<ServerArgs>),
    Worker(WorkerArgs),
    Status(StatusArgs),
    /// End a run early, with the best model so far
    Stop(AddressArgs),
    /// Say whether a server answers: exit code 0 if it does
    Health(AddressArgs),
}

/// Train a model: read LIBSVM data, choose at most k features, print objective, bound and gap.
#[derive(Debug, Args)]
#[command(
    after_help = "Example: ddiht train news.svm.xz -k 1000 --test news.t.svm.xz --model news.json"
)]
pub(crate) struct TrainArgs {
    /// Training data: LIBSVM text (plain, .gz, .bz2, .xz, .zst) or shards, as paths or s3://, gs://, az://,
    /// http(s):// locations; `-` is stdin
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

    /// Strength of the ridge (lambda/2)||w||^2 [default: 1e-4]
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
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

    /// Labels of the positive class, as '>=7', '<=10' or '3,5,9'
    #[arg(long, value_name = "EXPR", allow_hyphen_values = true)]
    pub(crate) positive: Option<LabelRule>,

    /// How much rows of the classes +1 and -1 count: balanced (both classes alike), or as 5:1
    #[arg(long, value_name = "POS:NEG|balanced")]
    pub(crate) class_weight: Option<ClassWeight>,

    /// Feature numbers of text data start at 0
    #[arg(long)]
    pub(crate) zero_based: bool,

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

    /// Rows of a block of sdiht
    #[arg(long, value_name = "B", default_value_t = 3000)]
    pub(crate) batch_size: usize,

    /// Blocks a shard visits in a round of sdiht
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub(crate) local_steps: usize,

    /// Step of diht and sdiht: safe, paper, or a number
    #[arg(long, value_name = "safe|paper|X", default_value = "safe")]
    pub(crate) step: String,

    /// Threads [default: all cores]
    #[arg(long, value_name = "T")]
    pub(crate) threads: Option<usize>,

    /// Relative gap that is good enough; 0 runs to --rounds or --time
    #[arg(long, value_name = "G", default_value_t = 1e-3, allow_negative_numbers = true)]
    pub(crate) gap: f64,

    /// Most dual rounds
    #[arg(long, value_name = "R")]
    pub(crate) rounds: Option<u64>,

    /// Most training time, as 90s, 5m or 2h
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
pub(crate) enum AlgorithmName {
    /// The best there is: exact
    Auto,
    /// Dual phase with certificate, then refit and exchange of features
    Exact,
    /// Dual iterative hard thresholding, all rows at once
    Diht,
    /// Stochastic dual iterative hard thresholding, by blocks of rows
    Sdiht,
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
    /// Print x'w in place of labels
    #[arg(long, conflicts_with = "probabilities")]
    pub(crate) scores: bool,
    /// Print the probability of the positive class (logistic models)
    #[arg(long)]
    pub(crate) probabilities: bool,
}

/// Measure a model on data: objective, accuracy, AUC, F1 and more, or RMSE and R2.
#[derive(Debug, Args)]
#[command(after_help = "Example: ddiht eval model.json test.svm --json")]
pub(crate) struct EvalArgs {
    /// The model file, or its location
    pub(crate) model: PathBuf,
    #[command(flatten)]
    pub(crate) data: PreparedData,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Data for a model that knows how to prepare it.
#[derive(Debug, Args)]
pub(crate) struct PreparedData {
    /// LIBSVM text (plain or compressed) or shards, as paths or locations; `-` is stdin
    #[arg(required = true, value_name = "DATA")]
    pub(crate) data: Vec<PathBuf>,
    /// Must be the model's own, which is applied anyway
    #[arg(long)]
    pub(crate) normalize: Option<Normalize>,
    /// Must be the model's own, which is applied anyway
    #[arg(long, value_name = "EXPR", allow_hyphen_values = true)]
    pub(crate) positive: Option<LabelRule>,
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
}

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
    /// LIBSVM text (plain or compressed), as paths or locations; `-` is stdin
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
}

/// Run the server of a cluster: wait for workers, train over gRPC, print the summary.
#[derive(Debug, Args)]
#[command(
    after_help = "Example: ddiht server --listen 127.0.0.1:7878 --workers 8 --data news.svm.xz \
                        -k 1000 --model news.json"
)]
pub(crate) struct ServerArgs {
    /// Address to listen on
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:7878")]
    pub(crate) listen: String,

    /// Number of workers, each with one shard (row r goes to shard r mod M)
    #[arg(long, value_name = "M")]
    pub(crate) workers: usize,

    /// Where workers find the data: files of LIBSVM text or shards, or a directory of shards, as paths or
    /// s3://, gs://, az://, http(s):// locations
    #[arg(long, value_name = "LOCATION", required = true, num_args = 1..)]
    pub(crate) data: Vec<String>,

    #[command(flatten)]
    pub(crate) job: JobArgs,

    #[command(flatten)]
    pub(crate) faults: FaultArgs,

    #[command(flatten)]
    pub(crate) security: ServerSecurity,
}

/// What becomes of a run whose workers, or whose server, are lost.
#[derive(Debug, Args)]
#[command(next_help_heading = "Faults")]
pub(crate) struct FaultArgs {
    /// Directory for checkpoints, or its location: a server started again with the same command goes on from the last one
    #[arg(long, value_name = "DIR")]
    pub(crate) checkpoint: Option<PathBuf>,

    /// Time between checkpoints
    #[arg(long, value_name = "DURATION", default_value = "5s")]
    pub(crate) checkpoint_every: String,

    /// A worker that has not been heard for so long is given up, and its shard is free for another
    #[arg(long, value_name = "DURATION", default_value = "10s")]
    pub(crate) heartbeat_timeout: String,

    /// Workers beyond --workers that may wait for a shard to become free
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) spares: usize,

    /// Let a worker take a lost worker's shard on top of its own
    #[arg(long)]
    pub(crate) adopt_orphans: bool,

    /// Turn out a worker whose update has a larger Euclidean norm than this [default: any finite norm]
    #[arg(long, value_name = "X")]
    pub(crate) max_update_norm: Option<f64>,
}

/// Run a worker of a cluster: join a server, hold a shard, answer rounds until the run is over.
#[derive(Debug, Args)]
#[command(after_help = "Example: ddiht worker --server 10.0.0.1:7878")]
pub(crate) struct WorkerArgs {
    /// The server, as host:port
    #[arg(long, value_name = "ADDR")]
    pub(crate) server: String,

    /// Where the data are for this worker: paths or locations [default: where the server says]
    #[arg(long, value_name = "LOCATION", num_args = 1..)]
    pub(crate) data: Vec<PathBuf>,

    /// Directory in which to keep the shard's number and its dual variables, so that a restarted worker goes on
    /// where it was; each worker needs its own
    #[arg(long, value_name = "DIR")]
    pub(crate) state: Option<PathBuf>,

    /// How long the server may be out of reach, as 90s, 5m or 2h
    #[arg(long, value_name = "DURATION", default_value = "10m")]
    pub(crate) connect_timeout: String,

    /// Threads [default: all cores]
    #[arg(long, value_name = "T")]
    pub(crate) threads: Option<usize>,

    /// Give every answer this much later, to try out what a slow worker does to a run
    #[arg(long, value_name = "DURATION", default_value = "0s")]
    pub(crate) delay: String,

    #[command(flatten)]
    pub(crate) security: ClientSecurity,

    /// No notices
    #[arg(long)]
    pub(crate) quiet: bool,
}

/// Say how a run stands.
#[derive(Debug, Args)]
#[command(after_help = "Example: ddiht status 10.0.0.1:7878 --follow")]
pub(crate) struct StatusArgs {
    /// The server, as host:port
    #[arg(value_name = "ADDR")]
    pub(crate) address: String,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// Print a line at every change, until the run is over
    #[arg(long)]
    pub(crate) follow: bool,
    #[command(flatten)]
    pub(crate) security: ClientSecurity,
}

/// The server to talk to.
#[derive(Debug, Args)]
#[command(after_help = "Example: ddiht stop 10.0.0.1:7878")]
pub(crate) struct AddressArgs {
    /// The server, as host:port
    #[arg(value_name = "ADDR")]
    pub(crate) address: String,
    #[command(flatten)]
    pub(crate) security: ClientSecurity,
}
