//! One run of one algorithm inside of an experiment, watched round by round.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use ddiht_core::{
    baseline::Baseline,
    config::{Algorithm, Config, Ridge},
    coordinator::{Limits, Tally},
    data::RawData,
    local::{Clock, Costs, Host, Observer},
    loss::LossKind,
    round::Weights,
    train::{TrainingSet, train},
};

use crate::{failure::Failure, progress::Signals};

/// What a run had reached after a round.
#[derive(Debug, Clone, Copy)]
pub(super) struct Point {
    pub(super) round: u64,
    pub(super) seconds: f64,
    /// Passes over the data.
    pub(super) passes: f64,
    /// P of the point it is at; not a number where that is not known.
    pub(super) current: f64,
    /// The least P so far.
    pub(super) best: f64,
    pub(super) bound: Option<f64>,
    /// Features that came into the support.
    pub(super) entered: usize,
}

/// When a run has done enough, beside the limits of its settings.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Until {
    /// Those limits decide.
    Done,
    /// P changes by at most this share of itself in a round.
    Settled(f64),
    /// P is at most this.
    Reached(f64),
}

/// What a run left.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) points: Vec<Point>,
    /// The best model, by column; column 0 is unused.
    pub(super) weights: Weights,
    pub(super) objective: f64,
    /// The whole run, its start included.
    pub(super) seconds: f64,
}

impl Outcome {
    /// The first point at which P is at most `level`.
    pub(super) fn reached(&self, level: f64) -> Option<&Point> {
        self.points.iter().find(|point| point.best <= level)
    }

    /// `||scale w - truth|| / ||truth||`.
    pub(super) fn error(&self, truth: &[(usize, f64)], scale: f64) -> f64 {
        let norm_sq: f64 = truth.iter().map(|(_, v)| v * v).sum();
        let mut rest: f64 = self.weights.iter().map(|(_, w)| (scale * w).powi(2)).sum();
        for &(j, v) in truth {
            let w = scale * self.weight(j);
            rest += (w - v).powi(2) - w * w;
        }
        (rest.max(0.0) / norm_sq).sqrt()
    }

    /// The weight of a column.
    pub(super) fn weight(&self, column: usize) -> f64 {
        let at = self.weights.indices.binary_search(&(column as u32));
        at.map_or(0.0, |at| self.weights.values[at])
    }

    /// How many features of the truth are in the model.
    pub(super) fn hits(&self, truth: &[(usize, f64)]) -> usize {
        truth.iter().filter(|(j, _)| self.weight(*j) != 0.0).count()
    }
}

/// A request with nothing that the papers do not have: no intercept, and limits that only count rounds.
pub(super) fn request(k: usize, loss: LossKind, lambda: f64, rounds: u64) -> Config {
    Config {
        loss,
        ridge: Ridge::Lambda(lambda),
        intercept: false,
        limits: Limits { gap: 0.0, rounds: Some(rounds), time: None },
        ..Config::new(k)
    }
}

/// The same request for a baseline.
pub(super) fn baseline(config: Config, baseline: Baseline) -> Config {
    Config { algorithm: Algorithm::Baseline(baseline), ..config }
}

/// Runs `config` on `raw`.
pub(super) fn run(
    config: Config,
    raw: &RawData,
    until: Until,
    signals: &Signals,
) -> Result<Outcome, Failure> {
    let config = config.check()?;
    let set = TrainingSet::prepare(&config, raw.clone())?;
    let mut watch =
        Watch { start: Instant::now(), until, signals, points: Vec::new(), enough: false };
    let trained = train(&config, set, &mut watch)?;
    Ok(Outcome {
        points: watch.points,
        objective: trained.tally.objective(),
        seconds: trained.tally.elapsed.as_secs_f64(),
        weights: trained.weights,
    })
}

/// Keeps the books of a run, and ends it.
struct Watch<'a> {
    start: Instant,
    until: Until,
    signals: &'a Signals,
    points: Vec<Point>,
    enough: bool,
}

impl Observer for Watch<'_> {
    fn report(&mut self, tally: &Tally, _: &Costs) {
        let point = Point {
            round: tally.reported,
            seconds: tally.elapsed.as_secs_f64(),
            passes: tally.passes(),
            current: tally.current.unwrap_or(f64::NAN),
            best: tally.objective(),
            bound: tally.bound(),
            entered: tally.support_changed,
        };
        self.enough |= match (self.until, self.points.last()) {
            (Until::Reached(level), _) => point.best <= level,
            (Until::Settled(share), Some(last)) => {
                (point.current - last.current).abs() <= share * point.current.abs()
            }
            _ => false,
        };
        self.points.push(point);
    }
}

impl Host for Watch<'_> {
    fn clock(&self) -> Clock {
        let start = self.start;
        Arc::new(move || -> Duration { start.elapsed() })
    }

    fn interrupted(&self) -> bool {
        self.enough || self.signals.came()
    }
}
