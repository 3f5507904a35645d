//! `ddiht train`.

use std::time::Instant;

use ddiht_core::{
    config::ValidConfig,
    data::{self, RawData, ReadOptions},
    evaluate::Answers,
    model::Model,
    train::{Trained, TrainingSet, train},
};

use crate::{
    args::TrainArgs,
    failure::Failure,
    history::History,
    input::{self, Labels},
    output, plan,
    progress::{Console, Signals},
    summary::{Measures, Seconds, Summary},
};

#[derive(Debug, thiserror::Error)]
#[error("cannot write the history {path}: {source}")]
struct HistoryError {
    path: String,
    source: std::io::Error,
}

/// Trains as `args` say.
pub(crate) fn run(args: &TrainArgs) -> Result<(), Failure> {
    let begin = Instant::now();
    output::start_log(args.job.quiet);
    let config = plan::config(&args.job, args.workers)?;
    plan::use_threads(args.job.threads)?;
    plan::check_output("the model", args.job.model.as_deref())?;
    plan::check_output("the history", args.job.history.as_deref())?;

    let signals = Signals::listen();
    let set = load(args, &config)?;
    let load_seconds = begin.elapsed().as_secs_f64();
    let mut console = Console::start(args.job.quiet, open_history(args)?, signals);
    let trained = run_training(&config, set, &mut console)?;
    let train_seconds = trained.tally.elapsed.as_secs_f64();
    if let Some(path) = &args.job.model {
        trained.model.save(path)?;
    }
    if let Some(source) = console.history_error.take() {
        return Err(Failure::run(history_error(args, source)));
    }

    let on_test = measure_test(args, &trained.model)?;
    let total = begin.elapsed().as_secs_f64();
    let seconds = Seconds { load: load_seconds, train: train_seconds, total };
    print_summary(args, &Summary::new(&trained, seconds, on_test, console.traffic))
}

fn run_training(
    config: &ValidConfig,
    set: TrainingSet,
    console: &mut Console,
) -> Result<Trained, Failure> {
    let trained = train(config, set, console);
    console.finish();
    Ok(trained?)
}

/// Reads and prepares the training data, and says what a user should know about it.
fn load(args: &TrainArgs, config: &ValidConfig) -> Result<TrainingSet, Failure> {
    // Test data that cannot be opened are refused before any time is spent on training.
    if let Some(path) = &args.job.test
        && path.as_os_str() != "-"
    {
        data::source::Source::open(path)?;
    }
    let options = ReadOptions { zero_based: args.job.zero_based, ..ReadOptions::default() };
    let raw: RawData = data::read(&args.data, &options)?;
    let nnz = raw.x.nnz();
    let set = TrainingSet::prepare(config, raw)?;
    tracing::info!("{} rows, {} features, {nnz} entries", set.rows(), set.features());
    if let Some(map) = set.labels()
        && (map.negative, map.positive) != (-1.0, 1.0)
    {
        tracing::info!(
            "label {} is the class -1 and label {} the class +1",
            map.negative,
            map.positive
        );
    }
    if args.job.k > set.features() {
        tracing::info!(
            "k = {} is more than there are features: {} is used",
            args.job.k,
            set.features()
        );
    }
    Ok(set)
}

fn open_history(args: &TrainArgs) -> Result<Option<History>, Failure> {
    let open = args.job.history.as_deref().map(History::create).transpose();
    open.map_err(|source| Failure::run(history_error(args, source)))
}

fn history_error(args: &TrainArgs, source: std::io::Error) -> HistoryError {
    let path = args.job.history.as_ref().map_or_else(String::new, |p| p.display().to_string());
    HistoryError { path, source }
}

fn measure_test(args: &TrainArgs, model: &Model) -> Result<Option<Measures>, Failure> {
    let Some(path) = &args.job.test else { return Ok(None) };
    let rows = input::read_for(model, std::slice::from_ref(path), Labels::Needed)?;
    let loss = model.loss().map_err(Failure::input)?;
    let quality = Answers::of(loss, &model.columns(), rows).quality(loss)?;
    Ok(Some(Measures::from(&quality)))
}

fn print_summary(args: &TrainArgs, summary: &Summary) -> Result<(), Failure> {
    if !args.job.json {
        return output::print(&summary.text());
    }
    let mut text = serde_json::to_string(summary).map_err(Failure::run)?;
    text.push('\n');
    output::print(&text)
}
