//! `ddiht status`, `ddiht stop` and `ddiht health`.

use std::{future::Future, time::Duration};

use ddiht_wire::{
    Phase, RunStatus, ShardPresence, WireError,
    bounds::MAX_SHARDS,
    control::decode_status,
    limits,
    pb::{self, control_client::ControlClient},
};
use ddiht_worker::{Channel, Denial};
use serde::Serialize;
use tokio_stream::StreamExt;
use tonic::{Response, Status};
use tonic_health::pb::{
    HealthCheckRequest, health_check_response::ServingStatus, health_client::HealthClient,
};

use super::security::ClientSecurity;
use crate::{
    args::{AddressArgs, StatusArgs},
    failure::Failure,
    output::{self, percent, table},
};

/// How long a server may take to answer.
const TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Debug, thiserror::Error)]
enum ControlError {
    #[error("{address} is no address of a server: {source}")]
    Address { address: String, source: tonic::transport::Error },
    #[error("the server {address} does not answer: {status}")]
    NoAnswer { address: String, status: String },
    #[error("the server {address} breaks the protocol: {source}")]
    Protocol { address: String, source: WireError },
    #[error("the server {0} is not serving")]
    NotServing(String),
}

/// Says how a run stands.
pub(crate) fn status(args: &StatusArgs) -> Result<(), Failure> {
    super::block_on(async {
        if args.follow {
            return follow(args).await;
        }
        let mut client = control(&args.address, &args.security)?;
        let reply = call(&args.address, client.status(pb::StatusRequest {})).await?;
        show(args, reply)
    })?
}

async fn follow(args: &StatusArgs) -> Result<(), Failure> {
    let mut client = control(&args.address, &args.security)?;
    let mut states = call(&args.address, client.watch(pb::WatchRequest {})).await?;
    while let Some(reply) = states.next().await {
        let reply = reply.map_err(|status| no_answer(&args.address, &status))?;
        show(args, reply)?;
    }
    Ok(())
}

/// Asks for an early end.
pub(crate) fn stop(args: &AddressArgs) -> Result<(), Failure> {
    super::block_on(async {
        let mut client = control(&args.address, &args.security)?;
        call(&args.address, client.stop(pb::StopRequest {})).await?;
        output::print(&format!("{} ends with the best model so far\n", args.address))
    })?
}

/// Says whether a server answers.
pub(crate) fn health(args: &AddressArgs) -> Result<(), Failure> {
    super::block_on(async {
        let mut client = HealthClient::new(channel(&args.address, &args.security)?);
        let request = HealthCheckRequest { service: String::new() };
        let reply = call(&args.address, client.check(request)).await?;
        if reply.status() != ServingStatus::Serving {
            return Err(Failure::run(ControlError::NotServing(args.address.clone())));
        }
        output::print("serving\n")
    })?
}

fn channel(address: &str, security: &ClientSecurity) -> Result<Channel, Failure> {
    ddiht_worker::channel(address, &security.open()?).map_err(|source| {
        Failure::input(ControlError::Address { address: address.to_owned(), source })
    })
}

fn control(address: &str, security: &ClientSecurity) -> Result<ControlClient<Channel>, Failure> {
    let receive = limits::control_receive(MAX_SHARDS);
    Ok(ControlClient::new(channel(address, security)?).max_decoding_message_size(receive))
}

async fn call<T>(
    address: &str,
    call: impl Future<Output = Result<Response<T>, Status>>,
) -> Result<T, Failure> {
    let timeout = || Status::deadline_exceeded(format!("nothing for {} s", TIMEOUT.as_secs()));
    let answer = tokio::time::timeout(TIMEOUT, call).await.unwrap_or_else(|_| Err(timeout()));
    Ok(answer.map_err(|status| no_answer(address, &status))?.into_inner())
}

fn no_answer(address: &str, status: &Status) -> Failure {
    if let Some(denial) = Denial::of(status) {
        return if denial.is_input() { Failure::input(denial) } else { Failure::run(denial) };
    }
    let (address, status) = (address.to_owned(), status.message().to_owned());
    Failure::run(ControlError::NoAnswer { address, status })
}

/// The status as `--json` prints it.
#[derive(Debug, Serialize)]
struct Facts {
    phase: &'static str,
    workers: usize,
    workers_needed: usize,
    rows: u64,
    features: u64,
    round: u64,
    step: String,
    seconds: f64,
    objective: Option<f64>,
    dual_bound: Option<f64>,
    gap: Option<f64>,
    nnz: u64,
    k: u64,
    bytes_up: u64,
    bytes_down: u64,
    problem: Option<String>,
    shards: Vec<ShardFacts>,
}

#[derive(Debug, Serialize)]
struct ShardFacts {
    rounds: u64,
    staleness: Option<u64>,
    silent_seconds: Option<f64>,
}

fn show(args: &StatusArgs, reply: pb::StatusReply) -> Result<(), Failure> {
    let status = decode_status(reply).map_err(|source| {
        Failure::run(ControlError::Protocol { address: args.address.clone(), source })
    })?;
    if args.json {
        let text = serde_json::to_string(&facts(status)).map_err(Failure::run)?;
        return output::print(&format!("{text}\n"));
    }
    output::print(&if args.follow { line(&status) } else { text(&status) })
}

fn facts(status: RunStatus) -> Facts {
    let shard = |shard: &ddiht_wire::ShardStatus| {
        let (staleness, silent_seconds) = match shard.presence {
            ShardPresence::Vacant => (None, None),
            ShardPresence::Occupied { staleness, silent_seconds } => {
                (Some(staleness), Some(silent_seconds))
            }
        };
        ShardFacts { rounds: shard.rounds, staleness, silent_seconds }
    };
    Facts {
        phase: status.phase.name(),
        workers: status.workers_joined,
        workers_needed: status.workers_needed,
        rows: status.rows,
        features: status.features,
        round: status.round,
        seconds: status.seconds,
        objective: status.objective,
        dual_bound: status.bound,
        gap: status.gap,
        nnz: status.nnz,
        k: status.k,
        bytes_up: status.bytes_up,
        bytes_down: status.bytes_down,
        shards: status.shards.iter().map(shard).collect(),
        step: status.step,
        problem: status.problem,
    }
}

fn number(x: Option<f64>) -> String {
    x.map_or_else(|| "-".to_owned(), |x| format!("{x:.8}"))
}

/// `training  round 120 dual  12.3 s  P 0.44133100  bound 0.44002700  gap 0.2955 %`
fn line(status: &RunStatus) -> String {
    format!(
        "{}  round {} {}  {:.1} s  P {}  bound {}  gap {}\n",
        status.phase.name(),
        status.round,
        status.step,
        status.seconds,
        number(status.objective),
        number(status.bound),
        status.gap.map_or_else(|| "-".to_owned(), percent),
    )
}

fn text(status: &RunStatus) -> String {
    let silent = |shard: &ddiht_wire::ShardStatus| match shard.presence {
        ShardPresence::Vacant => 0.0,
        ShardPresence::Occupied { silent_seconds, .. } => silent_seconds,
    };
    let longest = status.shards.iter().map(silent).fold(0.0, f64::max);
    let mut facts = vec![
        ("phase", status.phase.name().to_owned()),
        ("workers", format!("{} of {}", status.workers_joined, status.workers_needed)),
    ];
    if let Some(problem) = &status.problem {
        facts.push(("problem", problem.clone()));
    }
    if matches!(status.phase, Phase::Training | Phase::Finished) {
        facts.extend([
            ("data", format!("{} rows, {} features", status.rows, status.features)),
            ("round", format!("{} ({}), {:.1} s", status.round, status.step, status.seconds)),
            ("objective", number(status.objective)),
            ("bound", number(status.bound)),
            ("gap", status.gap.map_or_else(|| "-".to_owned(), percent)),
            ("features", format!("{} of at most {}", status.nnz, status.k)),
            ("bytes", format!("{} up, {} down", status.bytes_up, status.bytes_down)),
            ("silent", format!("{longest:.1} s at most")),
        ]);
    }
    table(&facts)
}
