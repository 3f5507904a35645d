//! Progress of a run: a line that updates itself on a terminal, log lines elsewhere.

use std::{
    io::{self, IsTerminal},
    process,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use ddiht_core::{
    coordinator::Tally,
    local::{Clock, Costs, Host, Observer, Traffic},
    one_vs_rest::{ClassHost, Turn},
    train::Trained,
};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::{history::History, output::percent};

/// Time between log lines where there is no terminal.
const LOG_EVERY: Duration = Duration::from_secs(2);

/// Time between looks for a signal.
const POLL_EVERY: Duration = Duration::from_millis(50);

/// What Ctrl-C and SIGTERM have asked for.
#[derive(Debug, Clone, Default)]
pub(crate) struct Signals {
    count: Arc<AtomicUsize>,
    training: Arc<AtomicBool>,
}

impl Signals {
    /// Listens from now on. Before training there is no model to keep and the process ends; then the first
    /// signal asks the run to end with its best model, and the second ends the process at once.
    pub(crate) fn listen() -> Self {
        let signals = Self::default();
        let Self { count, training } = signals.clone();
        let listening = ctrlc::set_handler(move || {
            if !training.load(Ordering::SeqCst) {
                eprintln!("ddiht: stopped before there was a model");
                process::exit(1);
            }
            if count.fetch_add(1, Ordering::SeqCst) > 0 {
                process::exit(130);
            }
            eprintln!("\nddiht: ending as soon as possible; once more to end at once");
        });
        if let Err(error) = listening {
            tracing::warn!("signals cannot be caught: {error}");
        }
        signals
    }

    /// From now on the first signal only asks.
    pub(crate) fn defer(&self) {
        self.training.store(true, Ordering::SeqCst);
    }

    /// Whether there was a signal.
    pub(crate) fn came(&self) -> bool {
        self.count.load(Ordering::SeqCst) > 0
    }

    /// Waits for a signal.
    pub(crate) async fn wait(self) {
        while !self.came() {
            tokio::time::sleep(POLL_EVERY).await;
        }
    }
}

/// The process around a run: its clock, its signals, and who wants to know.
pub(crate) struct Console {
    start: Instant,
    signals: Signals,
    bar: Option<ProgressBar>,
    quiet: bool,
    last_log: Duration,
    history: Option<History>,
    /// The class being trained, where there are several.
    turn: Option<Turn>,
    /// The first error of the history file; the run goes on without it.
    pub(crate) history_error: Option<io::Error>,
    /// Payload over the wire so far.
    pub(crate) traffic: Traffic,
}

impl Console {
    /// Starts the clock of training.
    pub(crate) fn start(quiet: bool, history: Option<History>, signals: Signals) -> Self {
        signals.defer();
        let show = !quiet && io::stderr().is_terminal();
        Self {
            start: Instant::now(),
            signals,
            bar: show.then(bar),
            quiet,
            last_log: Duration::ZERO,
            history,
            turn: None,
            history_error: None,
            traffic: Traffic::default(),
        }
    }

    /// The same with a clock that was started earlier.
    pub(crate) fn since(self, start: Instant) -> Self {
        Self { start, ..self }
    }

    /// When the clock was started.
    pub(crate) fn started(&self) -> Instant {
        self.start
    }

    /// Takes the progress line away.
    pub(crate) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    fn write_history(&mut self, tally: &Tally, costs: &Costs) {
        let class = self.turn.map(|turn| turn.label);
        let written =
            self.history.as_mut().map_or(Ok(()), |history| history.add(tally, costs, class));
        if let Err(error) = written {
            self.history = None;
            self.history_error = Some(error);
        }
    }
}

/// Progress through many small runs: how many are done, and how long the rest will take.
pub(crate) struct Meter {
    name: String,
    bar: Option<ProgressBar>,
    quiet: bool,
    start: Instant,
    count: Mutex<Count>,
}

/// Where a [`Meter`] is.
#[derive(Debug, Clone, Copy, Default)]
struct Count {
    /// Done before this call.
    before: usize,
    done: usize,
    all: usize,
    last_log: Duration,
}

impl Meter {
    /// Nothing is done yet.
    pub(crate) fn new(name: &str, quiet: bool) -> Self {
        let show = !quiet && io::stderr().is_terminal();
        Self {
            name: name.to_owned(),
            bar: show.then(bar),
            quiet,
            start: Instant::now(),
            count: Mutex::default(),
        }
    }

    /// There are `all` runs to do, as far as is known, and so many are done.
    pub(crate) fn plan(&self, done: usize, all: usize) {
        let mut count = self.count.lock().unwrap_or_else(PoisonError::into_inner);
        if count.all == 0 {
            count.before = done;
        }
        (count.done, count.all) = (done, all);
    }

    /// How many are done, of how many.
    pub(crate) fn state(&self) -> (usize, usize) {
        let count = self.count.lock().unwrap_or_else(PoisonError::into_inner);
        (count.done, count.all)
    }

    /// One more is done.
    pub(crate) fn step(&self, what: &str) {
        let mut count = self.count.lock().unwrap_or_else(PoisonError::into_inner);
        count.done += 1;
        let elapsed = self.start.elapsed();
        let Count { before, done, all, last_log } = *count;
        let left =
            elapsed.as_secs_f64() / (done - before).max(1) as f64 * (all - done.min(all)) as f64;
        let said = format!("{}: {done} of {all} cells  {what}  ETA {left:.0} s", self.name);
        match &self.bar {
            Some(bar) => bar.set_message(said),
            None if !self.quiet && elapsed >= last_log + LOG_EVERY => {
                count.last_log = elapsed;
                tracing::info!("{:6.1} s  {said}", elapsed.as_secs_f64());
            }
            None => {}
        }
    }

    /// Takes the progress line away.
    pub(crate) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn bar() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(120));
    bar
}

/// `class 3 of 20 (label 7)  `
fn class(Turn { class, classes, label }: Turn) -> String {
    format!("class {class} of {classes} (label {label})  ")
}

/// `round 120 dual  P 0.441331  bound 0.440027  gap 0.2955 %  ETA 3 s`
fn line(tally: &Tally) -> String {
    let objective = tally.objective();
    let number = |x: Option<f64>| x.map_or_else(|| "-".to_owned(), |x| format!("{x:.6}"));
    let eta = remaining(tally).map_or_else(String::new, |left| format!("  ETA {left:.0} s"));
    format!(
        "round {} {:<8}  P {}  bound {}  gap {}{eta}",
        tally.reported,
        tally.step.name(),
        number(objective.is_finite().then_some(objective)),
        number(tally.bound()),
        tally.gap().map_or_else(|| "-".to_owned(), percent),
    )
}

/// Seconds until a limit of the run, where it has one.
fn remaining(tally: &Tally) -> Option<f64> {
    let elapsed = tally.elapsed.as_secs_f64();
    let by_time = tally.limits().time.map(|limit| (limit.as_secs_f64() - elapsed).max(0.0));
    let by_rounds = tally.limits().rounds.filter(|_| tally.main_rounds > 0).map(|limit| {
        let left = limit.saturating_sub(tally.main_rounds) as f64;
        left * elapsed / tally.main_rounds as f64
    });
    match (by_time, by_rounds) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

impl Host for Console {
    fn clock(&self) -> Clock {
        let start = self.start;
        Arc::new(move || start.elapsed())
    }

    fn interrupted(&self) -> bool {
        self.signals.came()
    }
}

impl Observer for Console {
    fn report(&mut self, tally: &Tally, costs: &Costs) {
        self.traffic = costs.traffic;
        self.write_history(tally, costs);
        match &self.bar {
            Some(bar) => bar.set_message(self.turn.map(class).unwrap_or_default() + &line(tally)),
            None if !self.quiet && tally.elapsed >= self.last_log + LOG_EVERY => {
                self.last_log = tally.elapsed;
                let class = self.turn.map(class).unwrap_or_default();
                tracing::info!("{:6.1} s  {class}{}", tally.elapsed.as_secs_f64(), line(tally));
            }
            None => {}
        }
    }
}

impl ClassHost for Console {
    fn begin(&mut self, turn: Turn) {
        self.turn = Some(turn);
        self.last_log = Duration::ZERO;
    }

    fn end(&mut self, turn: Turn, trained: &Trained) {
        if self.quiet {
            return;
        }
        let seconds = trained.tally.elapsed.as_secs_f64();
        let said = format!("{seconds:6.1} s  {}{}", class(turn), line(&trained.tally));
        match &self.bar {
            Some(bar) => bar.suspend(|| tracing::info!("{said}")),
            None => tracing::info!("{said}"),
        }
    }
}
