//! `ddiht train`.

use std::time::Instant;

use ddiht_core::{
    data::{self, LabelColumn, RawData, ReadOptions},
    evaluate::Answers,
    model::Model,
    train::{Trained, TrainingSet, train},
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

/// Trains as `args` say.
pub(crate) fn run(args: &TrainArgs) -> Result<(), Failure> {
    let mut run = Run::begin(&args.job)?;
    let config = plan::config(&args.job, args.workers)?;
    plan::use_threads(args.job.threads)?;
    let (label, names) = (args.job.label.as_deref(), args.job.names.as_deref());
    run.columns = Columns::of(&args.data, label, names)?;
    let raw = load(args)?;
    if args.transport == TransportName::Grpc {
        return cluster::loopback::run(&run, config, raw);
    }
    let set = TrainingSet::prepare(&config, raw)?;
    for remark in set.launch().remarks(args.job.k) {
        tracing::info!("{remark}");
    }
    let mut console = run.console()?;
    let trained = train(&config, set, &mut console);
    run.conclude(&trained?, console)
}

/// A run of the program: where its results go, and when it began.
pub(crate) struct Run<'a> {
    args: &'a JobArgs,
    begin: Instant,
    pub(crate) signals: Signals,
    /// What is known of the features besides their numbers.
    pub(crate) columns: Columns,
}

impl<'a> Run<'a> {
    /// Checks all that can be checked before any time is spent.
    pub(crate) fn begin(args: &'a JobArgs) -> Result<Self, Failure> {
        let begin = Instant::now();
        output::start_log(args.quiet);
        plan::check_output("the model", args.model.as_deref())?;
        plan::check_output("the history", args.history.as_deref())?;
        if let Some(path) = &args.test
            && path.as_os_str() != "-"
        {
            data::source::Source::open(path)?;
        }
        Ok(Self { args, begin, signals: Signals::listen(), columns: Columns::default() })
    }

    /// Who shows the progress; its clock starts now.
    pub(crate) fn console(&self) -> Result<Console, Failure> {
        self.console_after(None)
    }

    /// The same for a run that goes on after `rounds`.
    pub(crate) fn console_after(&self, rounds: Option<u64>) -> Result<Console, Failure> {
        let history = open_history(self.args, rounds)?;
        Ok(Console::start(self.args.quiet, history, self.signals.clone()))
    }

    /// Writes the model and prints the summary.
    pub(crate) fn conclude(&self, trained: &Trained, mut console: Console) -> Result<(), Failure> {
        let args = self.args;
        console.finish();
        let mut model = trained.model.clone();
        self.columns.describe(&mut model);
        if let Some(path) = &args.model {
            model.save(path)?;
        }
        if let Some(source) = console.history_error.take() {
            return Err(Failure::run(history_error(args, source)));
        }
        let on_test = measure_test(args, &model)?;
        let (train, total) = (trained.tally.elapsed, self.begin.elapsed());
        let seconds = Seconds {
            load: (console.started() - self.begin).as_secs_f64(),
            train: train.as_secs_f64(),
            total: total.as_secs_f64(),
        };
        print_summary(args, &Summary::new(trained, seconds, on_test, console.traffic))
    }
}

fn load(args: &TrainArgs) -> Result<RawData, Failure> {
    let options = ReadOptions {
        zero_based: args.job.zero_based,
        label: LabelColumn::named(args.job.label.as_deref()),
        ..ReadOptions::default()
    };
    Ok(data::read(&args.data, &options)?)
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

fn measure_test(args: &JobArgs, model: &Model) -> Result<Option<Measures>, Failure> {
    let Some(path) = &args.test else { return Ok(None) };
    let rows = input::read_for(model, std::slice::from_ref(path), Labels::Needed, None)?;
    let loss = model.loss().map_err(Failure::input)?;
    let quality = Answers::of(loss, &model.columns(), rows).quality(loss)?;
    Ok(Some(Measures::from(&quality)))
}

fn print_summary(args: &JobArgs, summary: &Summary) -> Result<(), Failure> {
    if !args.json {
        return output::print(&summary.text());
    }
    let mut text = serde_json::to_string(summary).map_err(Failure::run)?;
    text.push('\n');
    output::print(&text)
}
