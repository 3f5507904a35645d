use std::fs;

use super::*;
use crate::config::Config;
use crate::storage::Local;

fn sample() -> Model {
    let config = Config { positive: Some(">=7".parse().unwrap()), ..Config::new(3) };
    let weights =
        Weights { indices: vec![0, 2, 5, 6], values: vec![0.1, 1.0 / 3.0, -2.5e-17, 0.0] };
    let labels = Some(LabelMap::new(-1.0, 1.0));
    let outcome = Outcome {
        objective: 0.5,
        dual_bound: Some(0.4),
        rows: 7,
        features: 6,
        labels,
        zero_based: false,
    };
    Model::new(&config.check().unwrap(), &weights, &outcome)
}

#[test]
fn round_trips_exactly_and_drops_zeros() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("m.json");
    let model = sample();
    model.save(&Local, &path).unwrap();
    let back = Model::load(&Local, &path).unwrap();
    assert_eq!(back, model);
    assert_eq!(back.nnz(), 2);
    assert_eq!(back.columns().indices, vec![0, 2, 5]);
    assert_eq!(back.columns().values[1].to_bits(), (1.0f64 / 3.0).to_bits());
}

#[test]
fn zero_based_files_keep_their_own_numbers() {
    let config = Config::new(3).check().unwrap();
    let weights = Weights { indices: vec![0, 1], values: vec![0.0, 2.0] };
    let outcome = Outcome {
        objective: 0.5,
        dual_bound: None,
        rows: 7,
        features: 6,
        labels: None,
        zero_based: true,
    };
    let model = Model::new(&config, &weights, &outcome);
    assert_eq!(model.features().collect::<Vec<_>>(), vec![(0, 2.0)]);
    assert_eq!(model.columns().indices, vec![0, 1]);
}

#[test]
fn bad_files_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("m.json");
    let good = sample().to_json().unwrap();
    let cases = [
        ("junk \u{0}", "is not a ddiht model"),
        (&good[..good.len() / 2], "is damaged"),
        (&good.replace("\"version\":1", "\"version\":9"), "version is 9"),
        (&good.replace("[2,5]", "[5,2]"), "do not ascend"),
        (&good.replace("[2,5]", "[2,9]"), "larger than `features`"),
        (&good.replace("[2,5]", "[2]"), "differ in length"),
        (&good.replace("squared-hinge", "huh"), "unknown loss"),
        (&good.replace("\"k\":3", "\"k\":1"), "more than k"),
        (&good.replace("\"features\":", "\"features\":4294967296"), "`features` is larger"),
        (&good.replace("squared-hinge", "smoothed-hinge").replace("0.25", "0.0"), "gamma is 0"),
    ];
    for (text, expected) in cases {
        fs::write(&path, text).unwrap();
        let error = Model::load(&Local, &path).unwrap_err().to_string();
        assert!(error.contains(expected) && error.contains("m.json"), "{error}");
    }
    assert!(matches!(Model::load(&Local, dir.path()), Err(ModelError::Open { .. })));
}
