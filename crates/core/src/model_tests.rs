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
        divisors: None,
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
        divisors: None,
    };
    let model = Model::new(&config, &weights, &outcome);
    assert_eq!(model.features().collect::<Vec<_>>(), vec![(0, 2.0)]);
    assert_eq!(model.columns().indices, vec![0, 1]);
}

#[test]
fn names_go_with_the_features_that_were_chosen() {
    let mut model = sample();
    assert_eq!(model.names(), None);
    let all: Vec<String> = ["a", "b", "c", "d", "e", "f"].map(String::from).into();
    model.set_names(&all);
    assert_eq!(model.names().unwrap(), ["b", "e"]);
    model.set_label_column("y");
    let text = model.to_json().unwrap();
    let back = Model::parse(text.as_bytes(), Path::new("m")).unwrap();
    assert_eq!((back.names().unwrap()[1].as_str(), back.label_column()), ("e", Some("y")));
    model.set_names(&all[..3]);
    assert_eq!(model.names().unwrap(), ["b", ""]);
    let short = text.replace("[\"b\",\"e\"]", "[\"b\"]");
    let error = Model::parse(short.as_bytes(), Path::new("m")).unwrap_err().to_string();
    assert!(error.contains("`names`"), "{error}");
}

#[test]
fn models_of_earlier_releases_are_read() {
    let text = sample().to_json().unwrap();
    let early = format!("{}}}", text.split_once(",\"settings\"").unwrap().0);
    let model = Model::parse(early.as_bytes(), Path::new("m")).unwrap();
    assert_eq!((model.settings.as_ref(), model.names()), (None, None));
    assert_eq!(model.columns(), sample().columns());
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
