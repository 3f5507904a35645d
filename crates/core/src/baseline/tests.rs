//! Every baseline on problems whose answer is known.

use std::{sync::Arc, time::Duration};

use ndarray::{Array1, Array2};

use super::{
    atoms::over_ball,
    away_fw::away_or_toward,
    columns::Columns,
    frank_wolfe::toward,
    pairwise_fw::swap,
    penalised::{Point, descend},
    *,
};
use crate::{
    config::{Algorithm, Config, Ridge},
    coordinator::Limits,
    data::{CsrMatrix, RawData},
    local::{Clock, Costs, Observer},
    loss::LossKind,
    round::Weights,
    shard::Rows,
    synth::{DenseData, DenseKind, DenseOptions},
    train::{Trained, TrainingSet, train},
};

/// A clock that stands still, and nobody who interrupts.
struct Quiet;

impl Observer for Quiet {
    fn report(&mut self, _: &Tally, _: &Costs) {}
}

impl Host for Quiet {
    fn clock(&self) -> Clock {
        Arc::new(|| Duration::ZERO)
    }

    fn interrupted(&self) -> bool {
        false
    }
}

const SMOOTH: [LossKind; 4] = [
    LossKind::Squared,
    LossKind::SquaredHinge,
    LossKind::SmoothedHinge { gamma: 0.25 },
    LossKind::Logistic,
];

const LAMBDA: f64 = 1e-2;

/// 200 measurements of 5 of 60 features: any sensible algorithm finds them.
fn easy(kind: DenseKind) -> DenseData {
    let options = DenseOptions { kind, rows: 200, features: 60, informative: 5, seed: 4 };
    let mut data = DenseData::new(&options).unwrap();
    if kind == DenseKind::Gaussian {
        // No weight so small that a feature is as good as none.
        data.weights.mapv_inplace(|w| if w == 0.0 { 0.0 } else { w + w.signum() });
        data.y = data.x.dot(&data.weights);
    }
    data
}

fn matrix(data: &DenseData) -> CsrMatrix {
    let columns: Vec<u32> = (1..=data.x.ncols() as u32).collect();
    let mut x = CsrMatrix::new(1 + data.x.ncols());
    for row in data.x.rows() {
        let values: Vec<f32> = row.iter().map(|&v| v as f32).collect();
        x.push_row(&columns, &values);
    }
    x
}

fn request(baseline: Baseline, loss: LossKind) -> Config {
    Config {
        algorithm: Algorithm::Baseline(baseline),
        loss,
        ridge: Ridge::Lambda(LAMBDA),
        baseline: BaselineSettings { debias: true, ..BaselineSettings::default() },
        ..Config::new(5)
    }
}

fn trained(config: Config, data: &DenseData) -> Trained {
    let config = config.check().unwrap();
    let labels = data.y.to_vec();
    let raw = RawData { x: matrix(data), labels, ..RawData::default() };
    let set = TrainingSet::prepare(&config, raw).unwrap();
    train(&config, set, &mut Quiet).unwrap()
}

/// Runs `with` on the data with `loss`, a budget of all features, and no intercept.
fn on_all<T>(
    data: &DenseData,
    loss: LossKind,
    lambda: f64,
    with: impl FnOnce(&mut Run<'_>) -> T,
) -> T {
    let config = Config { loss, ridge: Ridge::Lambda(lambda), intercept: false, ..Config::new(60) };
    let x = matrix(data);
    let job = config.check().unwrap().job(x.rows(), x.cols(), x.nnz());
    let mut shard = Shard::new(0, job, Rows { x, y: data.y.to_vec(), weights: None });
    let limits = Limits { gap: 0.0, rounds: Some(20_000), time: None };
    with(&mut Run::new(&mut shard, limits, &mut Quiet))
}

/// `argmin ||y - Xw||^2 / N + (lambda/2) ||w||^2` on the true support, by elimination.
fn ridge(data: &DenseData, support: &[usize]) -> Vec<f64> {
    let rows = data.x.nrows() as f64;
    // The program reads f32.
    let x = data.x.mapv(|v| f64::from(v as f32));
    let part = x.select(ndarray::Axis(1), support);
    let mut a: Array2<f64> =
        part.t().dot(&part) * (2.0 / rows) + Array2::<f64>::eye(support.len()) * LAMBDA;
    let mut b: Array1<f64> = part.t().dot(&data.y) * (2.0 / rows);
    let n = support.len();
    for i in 0..n {
        for r in i + 1..n {
            let factor = a[[r, i]] / a[[i, i]];
            for c in i..n {
                a[[r, c]] -= factor * a[[i, c]];
            }
            b[r] -= factor * b[i];
        }
    }
    for i in (0..n).rev() {
        let known: f64 = (i + 1..n).map(|c| a[[i, c]] * b[c]).sum();
        b[i] = (b[i] - known) / a[[i, i]];
    }
    b.to_vec()
}

#[test]
fn every_baseline_finds_the_true_support_and_the_ridge_on_it() {
    let data = easy(DenseKind::Gaussian);
    let (truth, _): (Vec<usize>, Vec<f64>) = data.truth().unzip();
    let support: Vec<usize> = truth.iter().map(|j| j - 1).collect();
    let expected = ridge(&data, &support);
    for baseline in Baseline::ALL {
        let config = Config { intercept: false, ..request(baseline, LossKind::Squared) };
        let Weights { indices, values } = trained(config, &data).model.columns();
        let found: Vec<usize> = indices.iter().map(|&j| j as usize).collect();
        assert_eq!(found, truth, "{}", baseline.name());
        for (found, expected) in values.iter().zip(&expected) {
            // Refits end at a gradient that is 1e-9 of P in squared length over lambda.
            assert!(
                (found - expected).abs() < 1e-5,
                "{}: {values:?} {expected:?}",
                baseline.name()
            );
        }
    }
}

#[test]
fn every_baseline_works_with_every_smooth_loss_and_an_intercept() {
    for loss in SMOOTH {
        let kind = if loss.is_classification() { DenseKind::Logistic } else { DenseKind::Gaussian };
        let data = easy(kind);
        let exact = trained(Config { loss, ridge: Ridge::Lambda(LAMBDA), ..Config::new(5) }, &data);
        for baseline in Baseline::ALL {
            let found = trained(request(baseline, loss), &data);
            let name = format!("{} with {loss}", baseline.name());
            assert!(found.model.nnz() <= 5, "{name}");
            let (ours, theirs) = (exact.model.objective, found.model.objective);
            assert!(theirs >= exact.model.dual_bound.unwrap() - 1e-9, "{name}: below the bound");
            // Nothing is far off on so easy a problem; the oblivious one is the worst.
            assert!(theirs <= 1.3 * ours, "{name}: {theirs} against {ours}");
            if baseline != Baseline::KSupport {
                assert_eq!(found.model.dual_bound, None);
            }
        }
    }
}

#[test]
fn penalised_fits_reach_their_duality_gap() {
    for loss in SMOOTH {
        let kind = if loss.is_classification() { DenseKind::Logistic } else { DenseKind::Gaussian };
        let data = easy(kind);
        let gap = on_all(&data, loss, LAMBDA, |run| {
            let columns = Columns::of(run.design());
            let mut point = Point { w: vec![0.0; 61], scores: vec![0.0; 200] };
            descend(run, &columns, 0.02, &mut point, 1e-6)
        });
        assert!(gap <= 1e-6, "{loss}: {gap}");
    }
}

#[test]
fn frank_wolfe_reaches_its_gap() {
    for loss in SMOOTH {
        let kind = if loss.is_classification() { DenseKind::Logistic } else { DenseKind::Gaussian };
        let data = easy(kind);
        // On the border of a small ball only the variants converge quickly; within a large one all do.
        for (radius, plain) in [(1.0, 1e-3), (30.0, 1e-6)] {
            let gap_of = |choose: fn(&atoms::Outlook<'_>) -> atoms::Move| {
                on_all(&data, loss, 0.1, |run| over_ball(run, radius, choose).2)
            };
            let gaps = [gap_of(toward), gap_of(swap), gap_of(away_or_toward)];
            for (gap, most) in gaps.iter().zip([plain, 1e-6, 1e-6]) {
                assert!(*gap <= most, "{loss}, radius {radius}: {gaps:?}");
            }
        }
    }
}

#[test]
fn the_relaxation_is_closed_and_above_every_bound() {
    for loss in SMOOTH {
        let kind = if loss.is_classification() { DenseKind::Logistic } else { DenseKind::Gaussian };
        let data = easy(kind);
        let limits = Limits { gap: 1e-7, rounds: None, time: None };
        let relaxed = trained(Config { limits, ..request(Baseline::KSupport, loss) }, &data);
        let (bound, value) = (relaxed.model.dual_bound.unwrap(), relaxed.tally.current.unwrap());
        assert!(bound <= value && value - bound <= 1e-4 * value, "{loss}: {bound} {value}");
        let config = Config { loss, ridge: Ridge::Lambda(LAMBDA), ..Config::new(5) };
        let exact = trained(Config { limits, ..config }, &data).model.dual_bound.unwrap();
        // The relaxation is above every bound, and a bound is below every model.
        let objective = relaxed.model.objective;
        assert!(exact <= value * (1.0 + 1e-9), "{loss}: {exact} above {value}");
        assert!(bound <= objective, "{loss}: {bound} above {objective}");
    }
}

#[test]
fn whole_groups_are_found() {
    // Groups of 3; the weights are on two of them.
    let mut data = easy(DenseKind::Gaussian);
    data.weights.fill(0.0);
    for j in [6, 7, 8, 30, 31, 32] {
        data.weights[j] = 0.1 + j as f64 / 50.0;
    }
    data.y = data.x.dot(&data.weights);
    let names: String = (0..60).map(|j| format!("group {}\n", j / 3)).collect();
    for momentum in [Momentum::Constant(0.25), Momentum::Constant(0.0), Momentum::Adaptive] {
        let groups = Some(Groups::parse(&names).unwrap());
        let own = BaselineSettings { momentum, groups, ..BaselineSettings::default() };
        let config = Config { k: 6, baseline: own, ..request(Baseline::AccIht, LossKind::Squared) };
        let mut found = trained(config, &data).model.columns().indices;
        found.retain(|&j| j > 0);
        assert_eq!(found, [7, 8, 9, 31, 32, 33], "{momentum:?}");
    }
}

#[test]
fn what_a_baseline_cannot_do_is_refused() {
    let good = request(Baseline::Iht, LossKind::Squared);
    let group = || Some(Groups::parse("a\na").unwrap());
    let own = BaselineSettings::default;
    let bad = [
        (Config { loss: LossKind::Hinge, ..good.clone() }, "smoothed-hinge"),
        (Config { workers: 2, ..good.clone() }, "--workers 1"),
        (Config { algorithm: Algorithm::Exact, ..good.clone() }, "--debias"),
        (Config { step: StepRule::Paper, ..good.clone() }, "--step"),
        (
            Config { baseline: BaselineSettings { groups: group(), ..own() }, ..good.clone() },
            "--groups",
        ),
        (
            Config { baseline: BaselineSettings { radius: Some(-1.0), ..own() }, ..good.clone() },
            "--radius",
        ),
        (
            Config {
                baseline: BaselineSettings { momentum: Momentum::Constant(f64::NAN), ..own() },
                ..good
            },
            "--momentum",
        ),
    ];
    for (config, word) in bad {
        let error = config.check().unwrap_err().to_string();
        assert!(error.contains(word), "{error}");
    }
}
