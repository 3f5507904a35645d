//! Features that are always or never in the model, and columns that are scaled.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;

use crate::{
    processes::Cluster,
    util::{Place, ddiht, fails, json, number, ok, read_json},
};

fn indices(model: &Value) -> Vec<u64> {
    model["indices"].as_array().unwrap().iter().map(|j| j.as_u64().unwrap()).collect()
}

/// The features of `data` that are the least use: those that a model with a third of them leaves out.
fn left_out(place: &Place, data: &Path) -> Vec<u64> {
    let (mut train, model) = place.train(data, 20, "plain.json");
    json(train.args(["--lambda", "1e-2"]));
    let used = indices(&read_json(&model));
    (1..=60).filter(|j| !used.contains(j)).collect()
}

fn list(place: &Place, name: &str, features: &[u64]) -> String {
    let text: String = features.iter().map(|j| format!("{j}\n")).collect();
    place.write(name, text).to_str().unwrap().to_owned()
}

#[test]
fn kept_features_are_in_every_model_and_excluded_ones_in_none() {
    let place = Place::new();
    let data = place.synth("a.svm", 500, 60);
    let useless = left_out(&place, &data);
    let keep = list(&place, "keep.txt", &useless[..5]);
    let mut best = indices(&read_json(&place.path("plain.json")));
    best.truncate(3);
    let exclude = list(&place, "exclude.txt", &best);
    for (loss, more) in [
        ("squared-hinge", &["--workers", "3"][..]),
        ("logistic", &[]),
        ("hinge", &[]),
        ("squared", &[]),
        ("squared-hinge", &["--algorithm", "diht"]),
        ("squared-hinge", &["--algorithm", "sdiht", "--workers", "2"]),
    ] {
        let (mut train, model) = place.train(&data, 8, "model.json");
        train.args(["--lambda", "1e-2", "--loss", loss, "--quiet"]).args(more);
        let summary = json(train.args(["--keep", &keep, "--exclude", &exclude]));
        let file = read_json(&model);
        let used = indices(&file);
        assert!(used.is_sorted() && used.len() <= 8, "{used:?}");
        assert!(useless[..5].iter().all(|j| used.contains(j)), "{loss} {more:?}: {used:?}");
        assert!(best.iter().all(|j| !used.contains(j)), "{loss} {more:?}: {used:?}");
        assert_eq!(file["settings"]["keep"], serde_json::json!(&useless[..5]));
        assert!(number(&summary, "dual_bound") <= number(&summary, "objective"));
        let eval = json(ddiht().arg("eval").arg(&model).arg(&data).arg("--json"));
        let (a, b) = (number(&eval, "objective"), number(&summary, "objective"));
        assert!((a - b).abs() <= 1e-9 * b, "{a} and {b}");
    }
}

/// With k features kept there is nothing to choose: the bound must meet the objective of the ridge on them, and without
/// the three others the data need not have them at all.
#[test]
fn a_choice_is_what_it_says() {
    let place = Place::new();
    let data = place.synth("a.svm", 500, 60);
    let all: Vec<u64> = (1..=60).collect();
    let (chosen, rest) = (&all[10..20], [&all[..10], &all[20..]].concat());
    let keep = list(&place, "keep.txt", chosen);
    let exclude = list(&place, "exclude.txt", &rest);
    let train = |k: usize, more: &[&str]| {
        let (mut train, model) = place.train(&data, k, "model.json");
        train.args(["--lambda", "1e-2", "--gap", "1e-9", "--rounds", "3000", "--quiet"]);
        (json(train.args(more)), read_json(&model))
    };
    let (kept, model) = train(10, &["--keep", &keep]);
    assert_eq!(indices(&model), chosen);
    let (excluded, other) = train(60, &["--exclude", &exclude]);
    assert_eq!(indices(&other), chosen);
    let (a, b) = (number(&kept, "objective"), number(&excluded, "objective"));
    assert!((a - b).abs() <= 1e-7 * b, "{a} and {b}");
    assert!(number(&kept, "gap") <= 1e-7, "{kept}");
}

#[test]
fn a_cluster_keeps_and_excludes_too() {
    let place = Place::new();
    let data = place.synth("a.svm", 500, 60);
    let useless = left_out(&place, &data);
    let keep = list(&place, "keep.txt", &useless[..4]);
    let exclude = list(&place, "exclude.txt", &useless[4..7]);
    let options = ["-k", "9", "--lambda", "1e-2", "--keep", &keep, "--exclude", &exclude];
    let (mut train, model) = place.train(&data, 9, "here.json");
    json(train.args(["--workers", "3"]).args(&options[2..]));
    let mut cluster = Cluster::start(&place, "kept", &data, 3, &options);
    cluster.finish();
    assert_eq!(fs::read(&cluster.model).unwrap(), fs::read(model).unwrap());
}

#[test]
fn features_go_by_name_where_they_have_one() {
    let place = Place::new();
    let rows = (0..60).map(|r| {
        let sign = |m: usize| if r % m == 0 { 1 } else { -1 };
        format!("{},{},{},{}\n", i32::from(r % 2 == 0), sign(2), sign(3), sign(5))
    });
    let table =
        place.write("t.csv", "spam,length,links,7\n".to_owned() + &rows.collect::<String>());
    let keep = place.write("keep.txt", "links\n\n7\n");
    let (mut train, model) = place.train(&table, 2, "m.json");
    json(train.arg("--keep").arg(&keep));
    // A column called 7 is that one, not the seventh.
    assert_eq!(indices(&read_json(&model)), [2, 3]);
    let wrong = place.write("wrong.txt", "links\nlinsk\n");
    let mut call = ddiht();
    let said = fails(call.arg("train").arg(&table).args(["-k", "2", "--keep"]).arg(&wrong), 2);
    assert!(said.contains("wrong.txt:2") && said.contains("linsk"), "{said}");
}

#[test]
fn choices_that_cannot_be() {
    let place = Place::new();
    let data = place.synth("a.svm", 100, 60);
    let train = |more: &[&str]| {
        let mut call = ddiht();
        fails(call.arg("train").arg(&data).args(["-k", "2"]).args(more), 2)
    };
    let list = |features: &[u64]| list(&place, &format!("{features:?}.txt"), features);
    assert!(train(&["--keep", &list(&[1, 2, 3])]).contains("--keep names 3"));
    assert!(train(&["--keep", &list(&[4]), "--exclude", &list(&[4])]).contains("feature 4"));
    assert!(train(&["--keep", &list(&[61])]).contains("the last one of the data is 60"));
    assert!(train(&["--keep", &list(&[0])]).contains("no feature `0`"));
    assert!(train(&["--keep", "/nowhere"]).contains("/nowhere"));
    assert!(train(&["--scale", "minmax"]).contains("maxabs"));
    let grpc = train(&["--scale", "std", "--transport", "grpc"]);
    assert!(grpc.contains("--scale"), "{grpc}");
}

/// Columns of very different size.
fn uneven(place: &Place) -> PathBuf {
    let text = fs::read_to_string(place.synth("even.svm", 500, 60)).unwrap();
    let entry = |word: &str| match word.split_once(':') {
        Some((j, v)) => {
            let (j, v): (u32, f64) = (j.parse().unwrap(), v.parse().unwrap());
            format!("{j}:{}", (v * 10f64.powi(j as i32 % 7 - 3)) as f32)
        }
        None => word.to_owned(),
    };
    let line = |row: &str| row.split(' ').map(entry).collect::<Vec<_>>().join(" ") + "\n";
    place.write("uneven.svm", text.lines().map(line).collect::<String>())
}

/// The rows of `data` with every column divided as the rule says, by a program of our own.
fn scaled(place: &Place, data: &Path, rule: &str) -> PathBuf {
    let text = fs::read_to_string(data).unwrap();
    let parse = |word: &str| -> Option<(usize, f64)> {
        let (j, v) = word.split_once(':')?;
        Some((j.parse().ok()?, v.parse().ok()?))
    };
    let rows = text.lines().count() as f64;
    let mut columns: Vec<Vec<f64>> = vec![Vec::new(); 61];
    for (j, v) in text.split_whitespace().filter_map(parse) {
        columns[j].push(v);
    }
    let divisor = |values: &Vec<f64>| {
        let largest = values.iter().fold(0f64, |most, v| most.max(v.abs()));
        let mean = values.iter().sum::<f64>() / rows;
        let zeros = (rows - values.len() as f64) * mean * mean;
        let spread = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() + zeros;
        let s = if rule == "std" { (spread / rows).sqrt() } else { largest };
        if s > 0.0 { s } else { 1.0 }
    };
    let divisors: Vec<f64> = columns.iter().map(divisor).collect();
    let entry = |word: &str| match parse(word) {
        Some((j, v)) => format!("{j}:{}", (v / divisors[j]) as f32),
        None => word.to_owned(),
    };
    let line = |row: &str| row.split(' ').map(entry).collect::<Vec<_>>().join(" ") + "\n";
    place.write(&format!("{rule}.svm"), text.lines().map(line).collect::<String>())
}

#[test]
fn scaled_columns_are_those_of_data_scaled_beforehand() {
    let place = Place::new();
    let data = uneven(&place);
    let keep = list(&place, "keep.txt", &[7, 9]);
    for (rule, k) in [("std", 60), ("maxabs", 60), ("std", 12), ("maxabs", 12)] {
        let before = scaled(&place, &data, rule);
        let common = ["--lambda", "1e-3", "--loss", "logistic", "--keep", &keep];
        let (mut ours, model) = place.train(&data, k, "ours.json");
        let ours = json(ours.args(common).args(["--scale", rule]));
        let (mut theirs, other) = place.train(&before, k, "theirs.json");
        let theirs = json(theirs.args(common));
        let (a, b) = (number(&ours, "objective"), number(&theirs, "objective"));
        assert!((a - b).abs() <= 1e-6 * b, "{rule}: {a} and {b}");
        let predict = |model: &Path, data: &Path| -> Vec<f64> {
            let text = ok(ddiht().arg("predict").arg(model).arg(data).arg("--scores"));
            text.lines().map(|line| line.parse().unwrap()).collect()
        };
        for (a, b) in predict(&model, &data).iter().zip(predict(&other, &before)) {
            assert!((a - b).abs() <= 1e-6 * b.abs().max(1.0), "{rule} {k}: {a} and {b}");
        }
        let eval = json(ddiht().arg("eval").arg(&model).arg(&data).arg("--json"));
        let p = number(&eval, "objective");
        assert!((p - a).abs() <= 1e-9 * a, "{rule}: {p} and {a}");
    }
}

/// The path scales by the rows trained on, begins with models of other scales, and keeps what it is told to.
#[test]
fn paths_scale_and_keep() {
    let place = Place::new();
    let data = uneven(&place);
    let keep = list(&place, "keep.txt", &[7, 9]);
    let model = place.path("path.json");
    let common = ["--lambda", "1e-3", "--scale", "std", "--keep", &keep];
    let mut path = ddiht();
    path.arg("path").arg(&data).args(["-k", "3,6,12", "--folds", "3", "--json", "--model"]);
    json(path.arg(&model).args(common));
    let chosen = read_json(&model);
    assert!([7, 9].iter().all(|j| indices(&chosen).contains(j)));
    let (mut train, again) = place.train(&data, 12, "again.json");
    let first = json(train.args(common));
    let (mut train, _) = place.train(&data, 12, "third.json");
    let from = json(train.args(common).arg("--init").arg(&again));
    let (a, b) = (number(&from, "objective"), number(&first, "objective"));
    assert!(a <= b * (1.0 + 1e-9), "{a} and {b}");
}
