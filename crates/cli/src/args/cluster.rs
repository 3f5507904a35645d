//! Commands of a cluster.

use std::path::PathBuf;

use clap::Args;

use super::JobArgs;
use crate::cluster::security::{ClientSecurity, ServerSecurity};

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

    /// Where workers find the data: files of LIBSVM text, CSV, TSV or shards, or a directory of shards, as paths or
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
