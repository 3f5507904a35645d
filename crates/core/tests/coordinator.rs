//! The coordinator with shards in one process: bounds are bounds, and order does not matter.

#![allow(clippy::unwrap_used, reason = "a helper of a test that cannot unwrap has failed the test")]

use std::{sync::Arc, time::Duration};

use ddiht_core::{
    config::{Algorithm, Config, Ridge, Uplink},
    coordinator::{Combine, Command, Coordinator, Event, Limits, Pace, Stopped, Tally},
    data::CsrMatrix,
    evaluate::Answers,
    local::{self, Clock, Costs, Host, Observer},
    loss::LossKind,
    round::{Job, Weights},
    shard::{Rows, Shard},
    switchboard::Switchboard,
};
use proptest::prelude::*;

const LOSSES: [LossKind; 5] = [
    LossKind::Hinge,
    LossKind::SquaredHinge,
    LossKind::SmoothedHinge { gamma: 0.25 },
    LossKind::Logistic,
    LossKind::Squared,
];

/// No clock, no interruption.
struct Quiet;

impl Observer for Quiet {
    fn report(&mut self, _tally: &Tally, _costs: &Costs) {}
}

impl Host for Quiet {
    fn clock(&self) -> Clock {
        Arc::new(|| Duration::ZERO)
    }

    fn interrupted(&self) -> bool {
        false
    }
}

/// Rows as (label, entries); features are numbered from 1.
type Table = Vec<(bool, Vec<(u32, f32)>)>;

fn tables() -> impl Strategy<Value = Table> {
    let entry = (1u32..13, (-40i8..=40).prop_map(|v| f32::from(v) / 10.0));
    let row = (any::<bool>(), prop::collection::vec(entry, 0..6));
    prop::collection::vec(row, 2..25)
}

fn rows(table: &Table, loss: LossKind, shard: usize, of: usize) -> Rows {
    let mut out = Rows { x: CsrMatrix::new(13), y: Vec::new(), weights: None };
    for (positive, entries) in table.iter().skip(shard).step_by(of) {
        let mut entries = entries.clone();
        entries.sort_by_key(|e| e.0);
        entries.dedup_by_key(|e| e.0);
        let (indices, values): (Vec<u32>, Vec<f32>) = entries.into_iter().unzip();
        out.x.push_row(&indices, &values);
        let class = if *positive { 1.0 } else { -1.0 };
        out.y.push(if loss.is_classification() {
            class
        } else {
            3.0 * class + values.len() as f64
        });
    }
    out.x.set_cols(13);
    out
}

fn setup(table: &Table, config: &Config) -> (Job, Vec<Shard>, Coordinator) {
    let valid = config.clone().check().unwrap();
    let entries = table.iter().map(|r| r.1.len()).sum();
    let job = valid.job(table.len(), 13, entries);
    let parts = config.workers;
    let part = |p: usize| Shard::new(p, job, rows(table, config.loss, p, parts));
    (job, (0..parts).map(part).collect(), valid.coordinator(job))
}

fn limits(rounds: u64) -> Limits {
    Limits { gap: 0.0, rounds: Some(rounds), time: None }
}

fn objective(table: &Table, job: &Job, model: &Weights) -> f64 {
    let answers = Answers::of(job.loss, model, rows(table, job.loss, 0, 1));
    answers.objective(model, job.lambda)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, failure_persistence: None, ..ProptestConfig::default() })]

    /// Weak duality (M3): the bound is at most P of any k-sparse model, whatever the loss, the number of
    /// shards, the uplink, the scale of lambda, and how many answers close a round.
    #[test]
    fn no_sparse_model_is_below_the_bound(
        table in tables(), k in 1usize..5, workers in 1usize..4, intercept in any::<bool>(),
        log_lambda in -5i32..1, uplink in 0usize..3, arrivals in 0usize..4,
        supports in prop::collection::vec(prop::collection::vec((1u32..13, -3.0..3.0f64), 0..5), 12),
    ) {
        let pace = match arrivals {
            1.. if arrivals <= workers => Pace::Arrivals { count: arrivals, max_staleness: None },
            _ => Pace::Barrier,
        };
        // Without a barrier the first certificate begins after 20 rounds of all shards.
        let rounds = if pace == Pace::Barrier { 12 } else { 90 };
        for loss in LOSSES {
            let config = Config {
                loss, workers, intercept, pace, limits: limits(rounds), ridge: Ridge::Lambda(10f64.powi(log_lambda)),
                uplink: [Uplink::K, Uplink::FourK, Uplink::Full][uplink], ..Config::new(k)
            };
            let (job, mut shards, mut coordinator) = setup(&table, &config);
            local::run(&mut coordinator, &mut shards, &mut Quiet).unwrap();
            let tally = coordinator.tally();
            let (best, bound) = (tally.best().unwrap(), tally.bound().unwrap());
            prop_assert!(best.model.nnz() <= k);
            prop_assert!(bound <= best.objective, "{loss}: {bound} above {}", best.objective);
            let recomputed = objective(&table, &job, &best.model);
            prop_assert!((recomputed - best.objective).abs() <= 1e-9 * (1.0 + recomputed));
            for support in &supports {
                let mut entries = support.clone();
                entries.sort_by_key(|e| e.0);
                entries.dedup_by_key(|e| e.0);
                entries.truncate(k);
                let (indices, values) = entries.into_iter().unzip();
                let p = objective(&table, &job, &Weights { indices, values });
                prop_assert!(bound <= p, "{loss}: bound {bound} above {p}");
            }
        }
    }
}

/// Rows that are easy to tell apart by feature 1, among noise.
fn easy() -> Table {
    let noise = |i: u32| (2 + i % 11, ((i * 7919 % 13) as f32 - 6.0) / 6.0);
    (0..60)
        .map(|i| (i % 2 == 0, vec![(1, if i % 2 == 0 { 1.0 } else { -1.0 }), noise(i)]))
        .collect()
}

#[test]
fn with_all_features_the_gap_closes_for_every_loss_and_any_number_of_shards() {
    for loss in LOSSES {
        let mut reached = Vec::new();
        for workers in [1, 2, 5] {
            let limits = Limits { gap: 1e-4, rounds: None, time: None };
            let ridge = Ridge::Lambda(1e-2);
            let config = Config { loss, workers, limits, ridge, ..Config::new(12) };
            let (_, mut shards, mut coordinator) = setup(&easy(), &config);
            let why = local::run(&mut coordinator, &mut shards, &mut Quiet).unwrap();
            let tally = coordinator.tally();
            assert_eq!(why, Stopped::Gap, "{loss}, {workers} shards: gap {:?}", tally.gap());
            reached.push(tally.objective());
        }
        let (low, high) = (reached.iter().copied().fold(f64::MAX, f64::min), reached[0]);
        assert!(high - low <= 1e-4 * high, "{loss}: {reached:?}");
    }
}

#[test]
fn the_telling_feature_is_chosen() {
    for loss in LOSSES {
        let config = Config { loss, limits: limits(20), intercept: false, ..Config::new(1) };
        let (_, mut shards, mut coordinator) = setup(&easy(), &config);
        local::run(&mut coordinator, &mut shards, &mut Quiet).unwrap();
        assert_eq!(coordinator.tally().best().unwrap().model.indices, vec![1], "{loss}");
    }
}

#[test]
fn the_papers_algorithms_raise_the_bound_and_keep_the_best_model() {
    for algorithm in [Algorithm::Diht, Algorithm::Sdiht] {
        for loss in LOSSES {
            let ridge = Ridge::Lambda(1e-1);
            let config = Config {
                loss,
                algorithm,
                ridge,
                batch_size: 7,
                limits: limits(300),
                ..Config::new(3)
            };
            let (_, mut shards, mut coordinator) = setup(&easy(), &config);
            local::run(&mut coordinator, &mut shards, &mut Quiet).unwrap();
            let tally = coordinator.tally();
            let (objective, bound) = (tally.objective(), tally.bound().unwrap());
            assert!(bound <= objective && bound > 0.0, "{algorithm:?} {loss}: {bound} {objective}");
            assert!(tally.gap().unwrap() < 0.2, "{algorithm:?} {loss}: {bound} {objective}");
        }
    }
}

#[test]
fn an_unknown_shard_is_refused() {
    let (_, mut shards, mut coordinator) = setup(&easy(), &Config::new(3));
    let Some(Command::Send { round, directive, .. }) = coordinator.poll() else {
        panic!("no round")
    };
    let reply = shards[0].handle(round, &directive);
    coordinator.handle(Duration::ZERO, Event::Answer { shard: 7, round, reply });
    assert!(matches!(coordinator.poll(), Some(Command::Fail(_))));
}

#[test]
fn a_stop_ends_the_run_with_a_model() {
    let (_, mut shards, mut coordinator) = setup(&easy(), &Config::new(3));
    coordinator.handle(Duration::ZERO, Event::Stop);
    let why = local::run(&mut coordinator, &mut shards, &mut Quiet).unwrap();
    assert_eq!(why, Stopped::Interrupted);
    assert!(coordinator.tally().best().is_some());
}

/// Runs `config` on [`easy`] and gives its books.
fn books(config: &Config) -> Tally {
    let (_, mut shards, mut coordinator) = setup(&easy(), config);
    local::run(&mut coordinator, &mut shards, &mut Quiet).unwrap();
    coordinator.into_tally()
}

fn averaging(combine: Combine) -> Config {
    let (algorithm, ridge) = (Algorithm::Sdiht, Ridge::Lambda(1e-1));
    Config { algorithm, ridge, combine, workers: 4, limits: limits(40), ..Config::new(3) }
}

#[test]
fn every_combination_of_local_models_ends_with_a_model_a_bound_and_measures() {
    let powers = [0.0, 2.0, f64::INFINITY].map(|power| Combine::Weighted { power });
    for combine in [Combine::Mean, Combine::Min].into_iter().chain(powers) {
        for loss in LOSSES {
            let tally = books(&Config { loss, ..averaging(combine) });
            let (objective, bound) = (tally.objective(), tally.bound().unwrap());
            // A bound is scaled to its best multiple where the conjugate is quadratic.
            let least = if loss == LossKind::Logistic { 0.0 } else { 0.01 };
            assert!(
                bound >= least && bound <= objective,
                "{combine:?} {loss}: {bound} {objective}"
            );
            let measured = tally.final_objective().unwrap();
            assert!((measured / objective - 1.0).abs() < 1e-12, "{combine:?} {loss}");
            let chosen = matches!(combine, Combine::Min)
                || matches!(combine, Combine::Weighted { power } if power.is_infinite());
            assert_eq!(tally.selected.len(), if chosen { 40 } else { 0 }, "{combine:?}");
        }
    }
}

#[test]
fn weighted_is_average_at_power_0_and_min_at_infinity() {
    let weighted = |power| books(&averaging(Combine::Weighted { power }));
    assert_eq!(weighted(0.0).best(), books(&averaging(Combine::Mean)).best());
    let (infinite, min) = (weighted(f64::INFINITY), books(&averaging(Combine::Min)));
    assert_eq!(infinite.best(), min.best());
    assert_eq!(infinite.selected, min.selected);
    assert_ne!(weighted(3.0).best(), weighted(0.0).best());
}

#[test]
fn without_a_barrier_the_run_ends_as_well() {
    let pace = Pace::Arrivals { count: 2, max_staleness: Some(3) };
    for loss in LOSSES {
        let exact = Config { loss, workers: 4, ridge: Ridge::Lambda(1e-2), ..Config::new(12) };
        let calm = books(&exact);
        let tally = books(&Config { pace, ..exact });
        let (p, d) = (tally.objective(), tally.bound().unwrap());
        assert!(d <= p && (p / calm.objective() - 1.0).abs() < 2e-3, "{loss}: {p} {d}");
        let tally = books(&Config { loss, pace, ..averaging(Combine::Mean) });
        assert!(tally.bound().unwrap() <= tally.objective(), "{loss}");
        assert!(tally.staleness.largest <= 3, "{:?}", tally.staleness);
    }
}

/// Without a barrier a shard can be at rest: a worker that takes it over then must not be given the question that was
/// answered before, for the answer would be refused.
#[test]
fn a_shard_at_rest_is_asked_nothing_it_has_answered() {
    let table: Table =
        (0..24).map(|i| (i % 3 == 0, vec![(1 + i % 12, 1.0), (1 + i % 5, -0.5)])).collect();
    let pace = Pace::Arrivals { count: 1, max_staleness: None };
    let config = Config { workers: 3, pace, limits: limits(2000), ..Config::new(3) };
    let (_, mut shards, coordinator) = setup(&table, &config);
    let mut board = Switchboard::new(coordinator);
    let mut rests = 0;
    for step in 0..2000 {
        while board.poll().is_some() {}
        // Not at every step: an answer that waits for others is lost when its shard is taken over.
        for (shard, part) in shards.iter_mut().enumerate().filter(|_| step % 29 == 28) {
            if board.awaited(shard).is_none() {
                let part = part.restate();
                board.handle(Duration::ZERO, Event::Restated { shard, part });
                while board.poll().is_some() {}
                rests += usize::from(board.awaited(shard).is_none());
                assert!(board.awaited(shard).is_some() || board.next(shard, 0).is_none());
            }
        }
        // The second and the third answer seldom.
        let shard = [0, 0, 0, 1, 0, 0, 0, 2][step % 8];
        let Some(sent) = board.next(shard, 0).cloned() else { continue };
        let reply = shards[shard].handle(sent.round, &sent.directive);
        board.handle(Duration::ZERO, Event::Answer { shard, round: sent.round, reply });
    }
    assert!(rests > 0, "no shard was ever at rest");
}
