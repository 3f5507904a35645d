//! How good the models are: never behind the references, always with a valid bound, always the same.
//!
//! On generated data, and on small real sets where `DDIHT_DATA` names a directory that has them.

use std::{path::Path, time::Duration};

use crate::{
    promises::Call,
    reference::{Data, References},
    util::{Place, data_dir},
};

const LOSSES: [&str; 5] = ["hinge", "smoothed-hinge", "squared-hinge", "logistic", "squared"];

/// Bounds each reference; one that is cut short is only weaker.
const PATIENCE: Duration = Duration::from_secs(3);

/// What does not hold, for any k: everything that must of any run, and that no reference is better.
fn compare(place: &Place, path: &Path, loss: &str, lambda: &str) -> Vec<String> {
    let data = Data::load(path, loss, None, false);
    let refs = References::new(&data, loss, lambda.parse().unwrap(), PATIENCE);
    let mut worse = Vec::new();
    for k in [10, 100, 1000] {
        let kept = Call { data: path, loss, lambda, k, more: &[] }.check(place);
        let ours = kept.objective;
        worse.extend(kept.broken);
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
    let lambdas = if loss == "squared-hinge" { &["1e-3", "1e-4", "1e-5"][..] } else { &["1e-4"] };
    let worse: Vec<_> = lambdas.iter().flat_map(|l| compare(&place, &data, loss, l)).collect();
    assert!(worse.is_empty(), "broken:\n{}", worse.join("\n"));
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
        LOSSES.iter().flat_map(|loss| compare(&Place::new(), &path, loss, "1e-4")).collect();
    assert!(worse.is_empty(), "broken:\n{}", worse.join("\n"));
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
