//! From what was typed to a checked request.

use std::{path::Path, time::Duration};

use ddiht_core::{
    baseline::{BaselineSettings, Groups, GroupsError, Momentum},
    config::{Algorithm, Config, ConfigError, Ridge, Uplink, ValidConfig},
    coordinator::{Combine, Limits, Pace},
    data::{FeatureChoice, Scale},
    loss::{LossKind, UnknownLoss},
    model::ModelError,
    solver::StepRule,
    storage::{Storage, is_outage, scheme},
};

use crate::{
    args::{AggregateName, AlgorithmName, JobArgs, UplinkName},
    failure::Failure,
};

/// An option whose text makes no sense.
#[derive(Debug, thiserror::Error)]
enum BadOption {
    #[error("{option} takes a number with a unit, as 90s, 5m or 2h, not `{text}`")]
    Duration { option: &'static str, text: String },
    #[error("--step takes safe, paper or a positive number, not `{0}`")]
    Step(String),
    #[error("--momentum must be at least 0 and less than 1, or `adaptive`, not {0}")]
    Momentum(f64),
    #[error(transparent)]
    Loss(#[from] UnknownLoss),
    #[error(
        "--aggregate exact goes with --algorithm exact; average, min and weighted with sdiht or diht"
    )]
    Aggregate,
    #[error(
        "--scale needs all rows in one process: use `ddiht train` without --transport grpc, or scale the data beforehand"
    )]
    Scale,
    #[error("cannot read the groups {path}: {source}")]
    ReadGroups { path: String, source: std::io::Error },
    #[error("the groups {path}: {source}")]
    Groups { path: String, source: GroupsError },
    #[error("--threads must be at least 1")]
    Threads,
    #[error("cannot write {what} to {path}: there is no directory {directory}")]
    NoDirectory { what: &'static str, path: String, directory: String },
    #[error("cannot write {what} to {path}: it is there and is not a regular file")]
    NotAFile { what: &'static str, path: String },
    // Only the scheme is named: the rest may hold a secret.
    #[error("{what} can only be written to a file on this machine, not to {scheme}://")]
    NotLocal { what: &'static str, scheme: String },
    #[error("the threads could not be started: {0}")]
    Pool(#[from] rayon::ThreadPoolBuildError),
}

/// The request of a training run with this many workers.
pub(crate) fn config(args: &JobArgs, workers: usize) -> Result<ValidConfig, Failure> {
    let lambda = args.lambda.as_ref().map(|list| list.only("--lambda")).transpose()?;
    config_of(args, workers, args.k.only("-k")?, lambda)
}

/// The requests of a path: from the largest lambda to the smallest, and from the smallest k to the largest.
pub(crate) fn configs(args: &JobArgs, workers: usize) -> Result<Vec<ValidConfig>, Failure> {
    let mut ks = args.k.values().to_vec();
    ks.sort_unstable();
    ks.dedup();
    let mut lambdas: Vec<Option<f64>> = match &args.lambda {
        Some(list) => list.values().iter().copied().map(Some).collect(),
        None => vec![None],
    };
    lambdas.sort_by(|a, b| b.partial_cmp(a).unwrap_or(std::cmp::Ordering::Equal));
    lambdas.dedup();
    let pairs = lambdas.iter().flat_map(|&lambda| ks.iter().map(move |&k| (k, lambda)));
    pairs.map(|(k, lambda)| config_of(args, workers, k, lambda)).collect()
}

/// Refuses --scale where no process sees all rows.
pub(crate) fn check_unscaled(args: &JobArgs) -> Result<(), Failure> {
    if args.scale == Scale::None { Ok(()) } else { Err(Failure::input(BadOption::Scale)) }
}

fn config_of(
    args: &JobArgs,
    workers: usize,
    k: usize,
    lambda: Option<f64>,
) -> Result<ValidConfig, Failure> {
    let own = &args.baseline;
    let time = args.time.as_deref().map(|text| time("--time", text)).transpose()?;
    let config = Config {
        k,
        loss: LossKind::from_name(&args.loss, args.gamma).map_err(Failure::input)?,
        ridge: match (lambda, args.c) {
            (_, Some(c)) => Ridge::C(c),
            (lambda, None) => Ridge::Lambda(lambda.unwrap_or(1e-4)),
        },
        algorithm: algorithm(args).map_err(Failure::input)?,
        combine: match args.aggregate {
            None | Some(AggregateName::Exact | AggregateName::Average) => Combine::Mean,
            Some(AggregateName::Min) => Combine::Min,
            Some(AggregateName::Weighted) => Combine::Weighted { power: args.power },
        },
        pace: args.arrivals.map_or(Pace::Barrier, |count| Pace::Arrivals {
            count,
            max_staleness: args.max_staleness,
        }),
        workers,
        uplink: match args.uplink {
            UplinkName::K => Uplink::K,
            UplinkName::FourK => Uplink::FourK,
            UplinkName::Full => Uplink::Full,
        },
        beta: args.beta,
        batch_size: args.batch_size,
        local_steps: args.local_steps,
        step: step(&args.step).map_err(Failure::input)?,
        baseline: BaselineSettings {
            momentum: momentum(own.momentum).map_err(Failure::input)?,
            debias: own.debias,
            radius: own.radius,
            groups: own.groups.as_deref().map(groups).transpose()?,
        },
        limits: Limits { gap: args.gap, rounds: args.rounds, time },
        seed: args.seed,
        intercept: !args.no_intercept,
        normalize: args.normalize,
        positive: args.positive.clone(),
        class_weight: args.class_weight.unwrap_or_default(),
        zero_based: args.zero_based,
        label: args.label.clone(),
        weights: args.weights.clone(),
        scale: args.scale,
        choice: FeatureChoice::default(),
    };
    Ok(config.check()?)
}

/// What `--algorithm` and `--aggregate` say together: the report's server combines sdiht or diht.
fn algorithm(args: &JobArgs) -> Result<Algorithm, BadOption> {
    let exact = matches!(args.aggregate, None | Some(AggregateName::Exact));
    match args.algorithm {
        AlgorithmName::Auto if exact => Ok(Algorithm::Exact),
        AlgorithmName::Auto => Ok(Algorithm::Sdiht),
        AlgorithmName::Exact if exact => Ok(Algorithm::Exact),
        AlgorithmName::Diht | AlgorithmName::Sdiht
            if args.aggregate != Some(AggregateName::Exact) =>
        {
            Ok(args.algorithm.algorithm())
        }
        AlgorithmName::Exact | AlgorithmName::Diht | AlgorithmName::Sdiht => {
            Err(BadOption::Aggregate)
        }
        baseline if args.aggregate.is_none() => Ok(baseline.algorithm()),
        _ => Err(BadOption::Aggregate),
    }
}

/// The share of the last move; outside of [0, 1) it leads away from any model.
fn momentum(asked: Option<Momentum>) -> Result<Momentum, BadOption> {
    match asked {
        Some(Momentum::Constant(share)) if !(0.0..1.0).contains(&share) => {
            Err(BadOption::Momentum(share))
        }
        asked => Ok(asked.unwrap_or(BaselineSettings::default().momentum)),
    }
}

/// The groups of features in a file.
fn groups(path: &Path) -> Result<Groups, Failure> {
    let name = || path.display().to_string();
    let text = std::fs::read_to_string(path)
        .map_err(|source| Failure::input(BadOption::ReadGroups { path: name(), source }))?;
    Groups::parse(&text)
        .map_err(|source| Failure::input(BadOption::Groups { path: name(), source }))
}

/// Refuses an algorithm that works on one shard in one process where there is a cluster.
pub(crate) fn check_cluster(config: &ValidConfig) -> Result<(), Failure> {
    match config.get().algorithm {
        Algorithm::Baseline(baseline) => Err(ConfigError::BaselineAlone(baseline.name()).into()),
        _ => Ok(()),
    }
}

fn step(text: &str) -> Result<StepRule, BadOption> {
    match text {
        "safe" => Ok(StepRule::Safe),
        "paper" => Ok(StepRule::Paper),
        number => {
            number.parse().map(StepRule::Fixed).map_err(|_| BadOption::Step(number.to_owned()))
        }
    }
}

/// The value of an option that takes a time.
pub(crate) fn time(option: &'static str, text: &str) -> Result<Duration, Failure> {
    duration(option, text).map_err(Failure::input)
}

/// `90s`, `5m`, `2h`, `1.5h`, `500ms`; a bare number is seconds.
fn duration(option: &'static str, text: &str) -> Result<Duration, BadOption> {
    let bad = || BadOption::Duration { option, text: text.to_owned() };
    let unit_at = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(unit_at);
    let seconds = match unit {
        "ms" => 1e-3,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        "d" => 86400.0,
        _ => return Err(bad()),
    };
    let value: f64 = number.trim().parse().map_err(|_| bad())?;
    Duration::try_from_secs_f64(value * seconds).map_err(|_| bad())
}

/// Starts the threads every parallel loop uses.
pub(crate) fn use_threads(threads: Option<usize>) -> Result<(), Failure> {
    let Some(threads) = threads else { return Ok(()) };
    if threads == 0 {
        return Err(Failure::input(BadOption::Threads));
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build_global();
    pool.map_err(|error| Failure::run(BadOption::Pool(error)))
}

/// Refuses a model that cannot be written, wherever it is to go, before any time is spent on it.
pub(crate) fn check_model(storage: &dyn Storage, location: Option<&Path>) -> Result<(), Failure> {
    let Some(remote) = location.filter(|location| scheme(location).is_some()) else {
        return check_output("the model", location);
    };
    let directory = ddiht_store::directory(remote).map_err(Failure::input)?;
    storage.prepare(&directory).map_err(|source| {
        let outage = is_outage(&source);
        let error = ModelError::Write { path: storage.name(remote), source };
        if outage { Failure::run(error) } else { Failure::input(error) }
    })
}

/// Refuses a location that is not on this machine, where only files of this machine will do.
pub(crate) fn check_local(what: &'static str, path: Option<&Path>) -> Result<(), Failure> {
    let Some(scheme) = path.and_then(scheme) else { return Ok(()) };
    Err(Failure::input(BadOption::NotLocal { what, scheme: scheme.to_owned() }))
}

/// Refuses an output file that cannot be written before any time is spent on it.
pub(crate) fn check_output(what: &'static str, path: Option<&Path>) -> Result<(), Failure> {
    check_local(what, path)?;
    let Some(path) = path else { return Ok(()) };
    let name = path.display().to_string();
    // A file is renamed into place, and that would replace a device or a pipe for good.
    if path.exists() && !path.is_file() {
        return Err(Failure::input(BadOption::NotAFile { what, path: name }));
    }
    match path.parent() {
        Some(directory) if directory != Path::new("") && !directory.is_dir() => {
            let directory = directory.display().to_string();
            Err(Failure::input(BadOption::NoDirectory { what, path: name, directory }))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        assert_eq!(duration("--time", "90s").unwrap(), Duration::from_secs(90));
        assert_eq!(duration("--time", "1.5h").unwrap(), Duration::from_secs(5400));
        assert_eq!(duration("--time", "250ms").unwrap(), Duration::from_millis(250));
        assert_eq!(duration("--time", "7").unwrap(), Duration::from_secs(7));
        for bad in ["", "s", "-5s", "5 fortnights", "1e400s", "nan"] {
            assert!(duration("--time", bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn steps() {
        assert_eq!(step("safe").unwrap(), StepRule::Safe);
        assert_eq!(step("0.5").unwrap(), StepRule::Fixed(0.5));
        assert!(step("fast").is_err());
    }
}
