//! How good the models are: never behind the references, always with a valid bound, always the same.
//!
//! On generated data, and on small real sets where `DDIHT_DATA` names a directory that has them.

use std::{fs, path::Path, time::Duration};

use crate::{
    reference::{Data, References},
    util::{Place, data_dir, ddiht, json, number},
};

const LOSSES: [&str; 5] = ["hinge", "smoothed-hinge", "squared-hinge", "logistic", "squared"];

/// Bounds each reference; one that is cut short is only weaker.
const PATIENCE: Duration = Duration::from_secs(3);

/// Trains, checks everything that must hold of any run, and returns the objective.
fn train(place: &Place, data: &Path, loss: &str, lambda: f64, k: usize) -> f64 {
    let run = |threads: &str| {
        let (mut train, model) = place.train(data, k, &format!("{loss}-{k}-{threads}.json"));
        train.args(["--loss", loss, "--lambda", &lambda.to_string(), "--threads", threads]);
        let summary = json(train.args(["--no-intercept", "--quiet"]));
        (summary, model)
    };
    let (summary, model) = run("1");
    let what = format!("{}, {loss}, lambda {lambda}, k {k}", data.display());
    let (objective, bound) = (number(&summary, "objective"), number(&summary, "dual_bound"));
    assert!(number(&summary, "nnz") <= k as f64, "{what}: {summary}");
    assert!(bound <= objective, "{what}: bound {bound} above {objective}");
    let measured = json(ddiht().arg("eval").arg(&model).arg(data).arg("--json"));
    let difference = (number(&measured, "objective") - objective).abs();
    assert!(difference <= 1e-9 * objective, "{what}: eval differs by {difference}");
    let (_, again) = run("2");
    let same = fs::read(&model).unwrap() == fs::read(&again).unwrap();
    assert!(same, "{what}: another model with 2 threads");
    objective
}

/// No reference on `data` is better, for any k.
fn compare(place: &Place, path: &Path, loss: &str, lambda: f64) -> Vec<String> {
    let data = Data::load(path, loss, None, false);
    let refs = References::new(&data, loss, lambda, PATIENCE);
    let mut worse = Vec::new();
    for k in [10, 100, 1000] {
        let ours = train(place, path, loss, lambda, k);
        for reached in refs.run(k) {
            if ours > reached.objective * (1.0 + 1e-6) {
                worse.push(format!(
                    "{}, {loss}, lambda {lambda}, k {k}: {ours} but {reached:?}",
                    path.display()
                ));
            }
        }
    }
    worse
}

fn synthetic(loss: &str) {
    let place = Place::new();
    let data = place.synth("text.svm", 600, 2000);
    let lambdas = if loss == "squared-hinge" { &[1e-3, 1e-4, 1e-5][..] } else { &[1e-4] };
    let worse: Vec<_> = lambdas.iter().flat_map(|&l| compare(&place, &data, loss, l)).collect();
    assert!(worse.is_empty(), "a reference is better:\n{}", worse.join("\n"));
}

#[test]
fn generated_hinge() {
    synthetic("hinge");
}

#[test]
fn generated_smoothed_hinge() {
    synthetic("smoothed-hinge");
}

#[test]
fn generated_squared_hinge() {
    synthetic("squared-hinge");
}

#[test]
fn generated_logistic() {
    synthetic("logistic");
}

#[test]
fn generated_squared() {
    synthetic("squared");
}

/// A real set that takes seconds.
fn real(name: &str) {
    let Some(path) = data_dir().map(|dir| dir.join(name)) else {
        println!("skipped {name}: DDIHT_DATA is not set");
        return;
    };
    if !path.exists() {
        println!("skipped: there is no {}", path.display());
        return;
    }
    let worse: Vec<_> =
        LOSSES.iter().flat_map(|loss| compare(&Place::new(), &path, loss, 1e-4)).collect();
    assert!(worse.is_empty(), "a reference is better:\n{}", worse.join("\n"));
}

#[test]
fn real_colon() {
    real("skf_colon.svm.xz");
}

#[test]
fn real_rcv1() {
    real("rcv1_vw_small_train.svm.xz");
}

#[test]
fn real_basehock() {
    real("skf_BASEHOCK.svm.xz");
}
