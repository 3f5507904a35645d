use std::fs;

use super::*;
use crate::{
    config::Config,
    data::{LabelMap, Normalize},
    model::Outcome,
    round::Weights,
    storage::Local,
};

fn member(label: f64) -> Model {
    let positive = Some(LabelRule::OneOf(vec![label]));
    let config = Config { positive, normalize: Normalize::L2, ..Config::new(3) };
    let weights = Weights { indices: vec![0, 2], values: vec![0.1, label / 3.0] };
    let outcome = Outcome {
        objective: 0.5,
        dual_bound: Some(0.4),
        rows: 7,
        features: 6,
        labels: Some(LabelMap::new(-1.0, 1.0)),
        zero_based: false,
        divisors: None,
    };
    Model::new(&config.check().unwrap(), &weights, &outcome)
}

fn sample() -> AnyModel {
    let labels = vec![-2.0, 1.0, 3.5];
    let models = labels.iter().map(|&label| member(label)).collect();
    AnyModel::Several(Classes::new(labels, models))
}

#[test]
fn both_kinds_are_read_by_one_function() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("m.json");
    for model in [sample(), AnyModel::One(Box::new(member(1.0)))] {
        model.save(&Local, &path).unwrap();
        assert_eq!(AnyModel::load(&Local, &path).unwrap(), model);
    }
    // Whatever another program did to its spaces.
    let value: serde_json::Value = serde_json::from_str(&sample().to_json().unwrap()).unwrap();
    let pretty = serde_json::to_string_pretty(&value).unwrap();
    assert_eq!(AnyModel::parse(pretty.as_bytes(), &path).unwrap(), sample());
}

#[test]
fn members_are_changed_alike() {
    let mut model = sample();
    let names: Vec<String> = ["a", "b", "c", "d", "e", "f"].map(String::from).into();
    model.members_mut().iter_mut().for_each(|member| member.set_names(&names));
    assert!(model.members().iter().all(|member| member.names().unwrap() == ["b"]));
}

#[test]
fn bad_files_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("m.json");
    let good = sample().to_json().unwrap();
    let changed = |from: &str, to: &str| {
        assert!(good.contains(from), "{from}");
        good.replacen(from, to, 1)
    };
    let last = |from: &str, to: &str| {
        let (before, after) = good.rsplit_once(from).unwrap();
        format!("{before}{to}{after}")
    };
    let cases = [
        (good[..good.len() / 2].to_owned(), "is damaged"),
        (changed("classes\",\"version\":1", "classes\",\"version\":2"), "version is 2"),
        (changed("[-2.0,1.0,3.5]", "[-2.0,1.0]"), "differ in length"),
        (changed("[-2.0,1.0,3.5]", "[-2.0,3.5,1.0]"), "do not ascend"),
        (changed("[-2.0,1.0,3.5]", "[-2.0,1.0,1.0]"), "do not ascend"),
        (changed("[-2.0,1.0,3.5]", "[-2.0,1.0,4.0]"), "label 4 is not one of that label"),
        (changed("model\",\"version\":1", "model\",\"version\":9"), "label -2: its version is 9"),
        (
            last("\"features\":6", "\"features\":7"),
            "label 3.5 differs from the first in `features`",
        ),
        (last("\"zero_based\":false", "\"zero_based\":true"), "in `zero_based`"),
        (last("\"normalize\":\"l2\",\"class", "\"normalize\":\"none\",\"class"), "in `normalize`"),
        (last("\"loss\":\"squared-hinge\",\"gamma", "\"loss\":\"hinge\",\"gamma"), "in `loss`"),
    ];
    for (text, expected) in cases {
        fs::write(&path, text).unwrap();
        let error = AnyModel::load(&Local, &path).unwrap_err();
        let said = error.to_string();
        assert!(said.contains(expected) && said.contains("m.json") && error.is_input(), "{said}");
    }
    for count in [2, 65] {
        let labels: Vec<f64> = (0..count).map(f64::from).collect();
        let models = labels.iter().map(|&label| member(label)).collect();
        let text = AnyModel::Several(Classes::new(labels, models)).to_json().unwrap();
        let error = AnyModel::parse(text.as_bytes(), &path).unwrap_err().to_string();
        assert!(error.contains(&format!("{count} classes")), "{error}");
    }
    assert!(matches!(AnyModel::parse(b"junk", &path), Err(ModelError::Foreign { .. })));
}
