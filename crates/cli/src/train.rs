//! `ddiht train`.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use ddiht_core::{
    classes::AnyModel,
    config::{Algorithm, ValidConfig},
    coordinator::Search,
    data::{self, LabelColumn, RawData, ReadOptions, Sealed},
    evaluate::Answers,
    local::Traffic,
    one_vs_rest::{ClassSet, OneVsRest, has_several_classes},
    round::Weights,
    storage::Storage,
    train::{Series, Trained, TrainingSet},
    verdict::Judgement,
};

use crate::{
    args::{JobArgs, TrainArgs, TransportName},
    cluster,
    columns::Columns,
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

#[derive(Debug, thiserror::Error)]
enum InitError {
    #[error("--init {path}: the model has feature {last}, the data have only {features}")]
    Wide { path: String, last: u32, features: usize },
    #[error("--init goes with --algorithm exact and --transport memory")]
    Elsewhere,
    #[error("--init {0}: this is a model of several classes, and a search begins with that of one")]
    Several(String),
    #[error(
        "--init is one model, and the data have three or more classes: name one with --positive"
    )]
    Classes,
}

/// Trains as `args` say.
pub(crate) fn run(args: &TrainArgs, storage: &Arc<dyn Storage>) -> Result<(), Failure> {
    let mut run = Run::begin(&args.job, storage)?;
    let config = plan::config(&args.job, args.workers)?;
    let exact = config.get().algorithm == Algorithm::Exact;
    if args.init.is_some() && !(exact && args.transport == TransportName::Memory) {
        return Err(Failure::input(InitError::Elsewhere));
    }
    if args.transport == TransportName::Grpc {
        plan::check_cluster(&config)?;
    }
    plan::use_threads(args.job.threads)?;
    let (label, names) = (args.job.label.as_deref(), args.job.names.as_deref());
    run.columns = Columns::of(&**storage, &args.data, label, names)?;
    let raw = load(args, &**storage)?;
    let config = run.columns.choose(&args.job, raw.zero_based, config)?;
    if args.transport == TransportName::Grpc {
        plan::check_unscaled(&args.job)?;
        return cluster::loopback::run(&run, config, raw.unseal()?);
    }
    if has_several_classes(&config, &raw) {
        return train_classes(args, &run, &config, raw);
    }
    let set = TrainingSet::prepare(&config, raw)?;
    for remark in set.launch().remarks(config.get().k) {
        tracing::info!("{remark}");
    }
    let known = |path: &PathBuf| known_weights(&**storage, path, set.launch().job.cols);
    let init = args.init.as_ref().map(known).transpose()?;
    let loaded = Instant::now();
    let mut series = Series::new(set)?;
    if let Some(weights) = &init {
        series.begin_with(weights);
    }
    let mut console = run.console_since(loaded)?;
    let trained = series.run(&config, Search::Whole, &mut console);
    run.conclude(&trained?, console)
}

/// Trains every class of the data against the rest.
fn train_classes(
    args: &TrainArgs,
    run: &Run<'_>,
    config: &ValidConfig,
    raw: RawData<Sealed>,
) -> Result<(), Failure> {
    if args.init.is_some() {
        return Err(Failure::input(InitError::Classes));
    }
    let set = ClassSet::prepare(config, raw)?;
    for remark in set.remarks(config.get().k) {
        tracing::info!("{remark}");
    }
    let loaded = Instant::now();
    let mut all = OneVsRest::new(set)?;
    let mut console = run.console_since(loaded)?;
    let trained = all.train(config, &mut console)?;
    // What is left to do needs the models alone.
    drop(all);
    for label in trained.without_weights() {
        tracing::warn!(
            "label {label} has no weights, so its score is 0 for every row: rows that score below 0 everywhere else get it; \
             give it more time"
        );
    }
    let model = AnyModel::Several(trained.model());
    let elapsed = trained.runs.iter().map(|run| run.tally.elapsed).sum();
    run.deliver(model, elapsed, console, |seconds, test, _| {
        Summary::of_classes(&trained, seconds, test)
    })
}

/// The weights of a model to begin with, by column; the data have `cols` columns.
fn known_weights(storage: &dyn Storage, path: &Path, cols: usize) -> Result<Weights, Failure> {
    let AnyModel::One(model) = AnyModel::load(storage, path)? else {
        return Err(Failure::input(InitError::Several(path.display().to_string())));
    };
    let weights = model.columns();
    match weights.indices.last() {
        Some(&last) if last as usize >= cols => {
            let path = path.display().to_string();
            Err(Failure::input(InitError::Wide { path, last, features: cols - 1 }))
        }
        _ => Ok(weights),
    }
}

/// A run of the program: where its results go, and when it began.
pub(crate) struct Run<'a> {
    args: &'a JobArgs,
    storage: Arc<dyn Storage>,
    begin: Instant,
    pub(crate) signals: Signals,
    /// What is known of the features besides their numbers.
    pub(crate) columns: Columns,
}

impl<'a> Run<'a> {
    /// Checks all that can be checked before any time is spent.
    pub(crate) fn begin(args: &'a JobArgs, storage: &Arc<dyn Storage>) -> Result<Self, Failure> {
        let begin = Instant::now();
        output::start_log(args.quiet);
        plan::check_model(&**storage, args.model.as_deref())?;
        plan::check_output("the history", args.history.as_deref())?;
        if let Some(path) = &args.test
            && path.as_os_str() != "-"
        {
            data::source::Source::open(&**storage, path)?;
        }
        let (storage, columns) = (storage.clone(), Columns::default());
        Ok(Self { args, storage, begin, signals: Signals::listen(), columns })
    }

    /// Who shows the progress; its clock starts now.
    pub(crate) fn console(&self) -> Result<Console, Failure> {
        self.console_after(None)
    }

    /// The same for a run whose first look at the rows, which counts as training, began at `start`: only when that is done
    /// is it known that there will be a run, and a history to write.
    fn console_since(&self, start: Instant) -> Result<Console, Failure> {
        Ok(self.console()?.since(start))
    }

    /// The same for a run that goes on after `rounds`.
    pub(crate) fn console_after(&self, rounds: Option<u64>) -> Result<Console, Failure> {
        let history = open_history(self.args, rounds)?;
        Ok(Console::start(self.args.quiet, history, self.signals.clone()))
    }

    /// Writes the model and prints the summary.
    pub(crate) fn conclude(&self, trained: &Trained, console: Console) -> Result<(), Failure> {
        let model = AnyModel::One(Box::new(trained.model.clone()));
        self.deliver(model, trained.tally.elapsed, console, |seconds, test, traffic| {
            Summary::new(trained, seconds, test, traffic)
        })
    }

    /// The same for a model of any kind that took `trained` to train.
    fn deliver(
        &self,
        mut model: AnyModel,
        trained: Duration,
        mut console: Console,
        summary: impl FnOnce(Seconds, Option<Measures>, Traffic) -> Summary,
    ) -> Result<(), Failure> {
        let args = self.args;
        console.finish();
        self.columns.describe(model.members_mut());
        if let Some(path) = &args.model {
            model.save(&*self.storage, path)?;
        }
        if let Some(source) = console.history_error.take() {
            return Err(Failure::run(history_error(args, source)));
        }
        let on_test = measure_test(args, &*self.storage, &model)?;
        let seconds = Seconds {
            load: (console.started() - self.begin).as_secs_f64(),
            train: trained.as_secs_f64(),
            total: self.begin.elapsed().as_secs_f64(),
        };
        print_summary(args, &summary(seconds, on_test, console.traffic))
    }
}

fn load(args: &TrainArgs, storage: &dyn Storage) -> Result<RawData<Sealed>, Failure> {
    let options = ReadOptions {
        zero_based: args.job.zero_based,
        label: LabelColumn::named(args.job.label.as_deref()),
        weights: args.job.weights.as_ref().map(PathBuf::from),
        ..ReadOptions::default()
    };
    Ok(data::open(storage, &args.data, &options)?)
}

fn open_history(args: &JobArgs, after: Option<u64>) -> Result<Option<History>, Failure> {
    let open = |path| match after {
        None => History::create(path),
        Some(rounds) => History::resume(path, rounds),
    };
    let open = args.history.as_deref().map(open).transpose();
    open.map_err(|source| Failure::run(history_error(args, source)))
}

fn history_error(args: &JobArgs, source: std::io::Error) -> HistoryError {
    let path = args.history.as_ref().map_or_else(String::new, |p| p.display().to_string());
    HistoryError { path, source }
}

fn measure_test(
    args: &JobArgs,
    storage: &dyn Storage,
    model: &AnyModel,
) -> Result<Option<Measures>, Failure> {
    let Some(path) = &args.test else { return Ok(None) };
    let paths = std::slice::from_ref(path);
    let loss = model.loss().map_err(Failure::input)?;
    Ok(Some(match model {
        AnyModel::One(model) => {
            let rows = input::read_for(storage, model, paths, Labels::Needed, None)?;
            Measures::from(&Answers::of(loss, &model.scaled_columns(), rows).quality(loss)?)
        }
        AnyModel::Several(classes) => {
            let raw = input::read_for_classes(storage, classes, paths, Labels::Needed, None, None)?;
            Measures::from(&Judgement::of(classes, loss, raw)?.quality)
        }
    }))
}

fn print_summary(args: &JobArgs, summary: &Summary) -> Result<(), Failure> {
    if !args.json {
        return output::print(&summary.text());
    }
    let mut text = serde_json::to_string(summary).map_err(Failure::run)?;
    text.push('\n');
    output::print(&text)
}
