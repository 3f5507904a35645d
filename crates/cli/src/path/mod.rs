//! `ddiht path`: models for several k and lambda, each from where the one before ended; cross-validation to choose one.

mod chart;
mod report;
mod validate;

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use clap::{Args, ValueEnum};
use ddiht_core::{
    config::{Algorithm, ValidConfig},
    coordinator::Search,
    data::{self, LabelColumn, RawData, ReadOptions, Sealed},
    storage::Storage,
    train::{Series, Trained, TrainingSet},
};

use crate::{
    args::JobArgs,
    columns::Columns,
    failure::Failure,
    output, plan,
    progress::{Console, Signals},
};
use report::{Report, Setting};

/// Train for several k (and lambda), each from where the one before ended; --folds chooses one.
#[derive(Debug, Args)]
#[command(
    after_help = "Example: ddiht path news.svm.xz -k 10,30,100,300,1000 --folds 5 -o path.svg --model news.json"
)]
pub(crate) struct PathArgs {
    /// Training data: LIBSVM text (plain, .gz, .bz2, .xz, .zst) or shards; `-` is stdin
    #[arg(required = true, value_name = "DATA")]
    data: Vec<PathBuf>,

    #[command(flatten)]
    job: JobArgs,

    /// Cross-validate with this many folds: stratified by class, dealt out by --seed
    #[arg(long, value_name = "F")]
    folds: Option<usize>,

    /// What to compare settings by on held-out rows [default: error, or rmse with --loss squared]
    #[arg(long, value_name = "SCORE", value_enum)]
    score: Option<Score>,

    /// Data to compare settings on, in place of folds; the path ends early when it has not helped for 3 values of k
    #[arg(long, value_name = "DATA", conflicts_with = "folds")]
    valid: Option<PathBuf>,

    /// Which setting --model writes: the best one, or the smallest k within one standard error of it
    #[arg(long, value_name = "WHICH", value_enum, default_value_t = Choice::Best)]
    choose: Choice,

    /// A picture of the path; its ending, .svg or .png, says the format
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// How good a model is on held-out rows; less is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Score {
    /// Share of rows in the wrong class
    Error,
    /// 1 - AUC
    Auc,
    /// Mean loss
    Loss,
    /// Root of the mean squared error
    Rmse,
}

impl Score {
    fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Auc => "1 - AUC",
            Self::Loss => "loss",
            Self::Rmse => "RMSE",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Choice {
    /// The best one
    Best,
    /// The smallest k within one standard error of it
    #[value(name = "1se")]
    OneStandardError,
}

#[derive(Debug, thiserror::Error)]
enum PathError {
    #[error("--folds must be at least 2 and at most the number of rows, {rows}; not {folds}")]
    Folds { folds: usize, rows: usize },
    #[error("--score {0} does not go with this loss")]
    Score(&'static str),
    #[error("path trains by --algorithm exact")]
    Algorithm,
    #[error("--model needs a way to choose: give --folds or --valid, or one value of k and lambda")]
    NoChoice,
}

/// Values of k without an improvement on --valid after which larger ones are not tried.
const PATIENCE: usize = 3;

/// Trains along the path as `args` say.
pub(crate) fn run(args: &PathArgs, storage: &dyn Storage) -> Result<(), Failure> {
    let begin = Instant::now();
    output::start_log(args.job.quiet);
    plan::check_model(storage, args.job.model.as_deref())?;
    plan::check_output("the picture", args.output.as_deref())?;
    if let Some(path) = &args.output {
        chart::check_name(path)?;
    }
    let configs = plan::configs(&args.job, 1)?;
    let score = score_of(args, &configs)?;
    plan::use_threads(args.job.threads)?;
    let signals = Signals::listen();
    let (label, names) = (args.job.label.as_deref(), args.job.names.as_deref());
    let columns = Columns::of(storage, &args.data, label, names)?;
    let options = ReadOptions {
        zero_based: args.job.zero_based,
        label: LabelColumn::named(label),
        weights: args.job.weights.as_ref().map(PathBuf::from),
        ..ReadOptions::default()
    };
    let raw = data::open(storage, &args.data, &options)?;
    let with_choice = |config| columns.choose(&args.job, raw.zero_based, config);
    let configs = configs.into_iter().map(with_choice).collect::<Result<Vec<_>, _>>()?;
    let walk = |raw: RawData<Sealed>| walk(args, storage, &configs, raw, score, &signals);
    let (spreads, walked) = match folds(args, &raw)? {
        None => (Vec::new(), walk(raw)),
        Some(count) => {
            let raw = raw.unseal()?;
            let whole = raw.clone();
            validate::all_folds(&configs, &raw, count, score, &signals, || walk(whole.into()))?
        }
    };
    let Walked { mut settings, mut series, mut console } = walked?;
    settings.iter_mut().zip(&spreads).for_each(|(setting, spread)| setting.judge(spread));
    report::share_bounds(&mut settings);
    let chosen = choose(args, &settings);
    if let Some(path) = &args.job.model {
        let at = chosen.ok_or_else(|| Failure::input(PathError::NoChoice))?;
        let mut model = refit(&configs[at], &mut series, &mut console)?.model;
        columns.describe(std::slice::from_mut(&mut model));
        model.save(storage, path)?;
    }
    let report = Report::new(settings, score.name(), begin.elapsed());
    if let Some(path) = &args.output {
        chart::write(path, &report)?;
    }
    report.print(args.job.json)
}

/// How settings are compared, after all that can be checked before data are read.
fn score_of(args: &PathArgs, configs: &[ValidConfig]) -> Result<Score, Failure> {
    let settings = configs[0].get();
    if settings.algorithm != Algorithm::Exact {
        return Err(Failure::input(PathError::Algorithm));
    }
    if args.job.model.is_some() && args.folds.is_none() && args.valid.is_none() && configs.len() > 1
    {
        return Err(Failure::input(PathError::NoChoice));
    }
    let classes = settings.loss.is_classification();
    let score = args.score.unwrap_or(if classes { Score::Error } else { Score::Rmse });
    let fits = match score {
        Score::Error | Score::Auc => classes,
        Score::Rmse => !classes,
        Score::Loss => true,
    };
    if fits { Ok(score) } else { Err(Failure::input(PathError::Score(score.name()))) }
}

/// The number of folds, if there are to be any.
fn folds(args: &PathArgs, raw: &RawData<Sealed>) -> Result<Option<usize>, Failure> {
    let rows = raw.labels.len();
    match args.folds {
        Some(folds) if folds < 2 || folds > rows => {
            Err(Failure::input(PathError::Folds { folds, rows }))
        }
        folds => Ok(folds),
    }
}

/// The path on all rows.
struct Walked {
    settings: Vec<Setting>,
    series: Series,
    console: Console,
}

/// Trains every setting on all rows, each from where the one before ended.
fn walk(
    args: &PathArgs,
    storage: &dyn Storage,
    configs: &[ValidConfig],
    raw: RawData<Sealed>,
    score: Score,
    signals: &Signals,
) -> Result<Walked, Failure> {
    let set = TrainingSet::prepare(&configs[0], raw)?;
    set.launch().remarks(0).iter().for_each(|remark| tracing::info!("{remark}"));
    let mut series = Series::new(set)?;
    let mut console = Console::start(true, None, signals.clone());
    let mut judge = args.valid.as_deref().map(|data| validate::Judge::new(data, score));
    let mut settings: Vec<Setting> = Vec::new();
    let mut trained_for = Duration::ZERO;
    for config in configs {
        let trained = series.run(config, Search::Near, &mut console)?;
        let mut setting = Setting::new(config, &trained, trained_for);
        trained_for = trained.tally.elapsed;
        if let Some(judge) = &mut judge {
            setting.judge(&judge.score(storage, &series, &trained)?);
        }
        tracing::info!("{}", setting.line());
        settings.push(setting);
        if signals.came() || judge.as_ref().is_some_and(|judge| judge.has_seen_enough(PATIENCE)) {
            break;
        }
    }
    Ok(Walked { settings, series, console })
}

/// The setting that --model writes.
fn choose(args: &PathArgs, settings: &[Setting]) -> Option<usize> {
    if let [_] = settings {
        return Some(0);
    }
    let (best, simplest) = report::choices(settings)?;
    Some(match args.choose {
        Choice::Best => best,
        Choice::OneStandardError => simplest,
    })
}

/// The whole search for one setting, from where the path ended.
fn refit(
    config: &ValidConfig,
    series: &mut Series,
    console: &mut Console,
) -> Result<Trained, Failure> {
    tracing::info!("the chosen setting is searched to the end");
    Ok(series.run(config, Search::Whole, console)?)
}
