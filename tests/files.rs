//! Files that are written: models, histories, shards, pictures.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;

use crate::util::{Place, ddiht, fails, json, number, ok, output, read_json, read_lines, stderr};

fn keys(object: &Value) -> BTreeSet<&str> {
    object.as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn the_model_has_its_fields() {
    let place = Place::new();
    let data = place.synth("a.svm", 300, 500);
    let (mut train, path) = place.train(&data, 20, "m.json");
    let summary = json(train.args(["--lambda", "1e-3", "--seed", "7"]));
    let model = read_json(&path);
    let expected = [
        "format",
        "version",
        "loss",
        "gamma",
        "k",
        "lambda",
        "features",
        "labels",
        "positive",
        "normalize",
        "class_weight",
        "zero_based",
        "intercept",
        "indices",
        "weights",
        "objective",
        "dual_bound",
        "rows",
        "seed",
        "settings",
    ];
    assert_eq!(keys(&model), BTreeSet::from(expected));
    assert_eq!(model["format"], "ddiht-model");
    assert_eq!(model["version"], 1);
    assert_eq!(model["loss"], "squared-hinge");
    assert_eq!(model["k"], 20);
    assert_eq!(model["rows"], 300);
    assert_eq!(model["seed"], 7);
    assert_eq!(number(&model, "lambda"), 1e-3);
    assert_eq!(number(&model, "gamma"), 0.25);
    assert!(model["positive"].is_null() && model["intercept"].is_number());
    assert_eq!(model["normalize"], "none");
    assert_eq!(model["zero_based"], false);
    for key in ["objective", "dual_bound", "features"] {
        assert_eq!(model[key], summary[key], "{key}");
    }

    let indices: Vec<u64> =
        model["indices"].as_array().unwrap().iter().map(|j| j.as_u64().unwrap()).collect();
    assert!(indices.windows(2).all(|pair| pair[0] < pair[1]), "{indices:?}");
    assert!(indices[0] >= 1 && *indices.last().unwrap() <= 500);
    assert_eq!(indices.len(), model["weights"].as_array().unwrap().len());
    assert_eq!(summary["nnz"], indices.len());
    // Nothing else was left in the directory: the file was renamed into place.
    let names = fs::read_dir(path.parent().unwrap()).unwrap().map(|e| e.unwrap().file_name());
    assert_eq!(names.count(), 2);
}

#[test]
fn the_history_is_json_lines_and_can_be_drawn() {
    let place = Place::new();
    let data = place.synth("a.svm", 300, 500);
    let history = place.path("h.jsonl");
    let (mut train, _) = place.train(&data, 20, "m.json");
    let summary = json(train.arg("--history").arg(&history).args(["--workers", "2"]));
    let lines = read_lines(&history);
    assert!(lines.len() > 5);
    for line in &lines {
        for key in [
            "round",
            "seconds",
            "objective",
            "dual_bound",
            "nnz",
            "support_changed",
            "step",
            "bytes",
        ] {
            assert!(line.get(key).is_some(), "{key} in {line}");
        }
        assert!(number(line, "nnz") <= 20.0);
        assert_eq!(line["worker_seconds"].as_array().unwrap().len(), 2);
    }
    for pair in lines.windows(2) {
        assert!(number(&pair[1], "round") >= number(&pair[0], "round"));
        assert!(number(&pair[1], "seconds") >= number(&pair[0], "seconds"));
        if let (Some(a), Some(b)) = (pair[0]["objective"].as_f64(), pair[1]["objective"].as_f64()) {
            assert!(b <= a, "the best objective rose from {a} to {b}");
        }
    }
    let last = lines.last().unwrap();
    assert_eq!(last["round"], summary["rounds"]);
    assert_eq!(last["dual_bound"], summary["dual_bound"]);

    let svg = place.path("h.svg");
    ok(ddiht().arg("plot").arg(&history).arg("-o").arg(&svg));
    assert!(fs::read_to_string(&svg).unwrap().starts_with("<svg"));
    let png = place.path("h.png");
    ok(ddiht().arg("plot").args([&history, &history]).args(["--x", "rounds", "-o"]).arg(&png));
    assert!(fs::read(&png).unwrap().starts_with(b"\x89PNG"));
    let bad = place.write("bad.jsonl", "{\"round\":1}\nnonsense\n");
    assert!(fails(ddiht().arg("plot").arg(&bad).arg("-o").arg(&svg), 2).contains("bad.jsonl:"));
    assert!(
        fails(ddiht().arg("plot").arg(&history).arg("-o").arg(place.path("h.gif")), 2)
            .contains(".svg")
    );
}

/// Shards of `data` in their order.
fn shards(place: &Place, data: &Path, count: usize) -> Vec<PathBuf> {
    let dir = place.path(&format!("shards-{count}"));
    ok(ddiht().arg("shard").arg(data).args(["-n", &count.to_string(), "-o"]).arg(&dir));
    let mut files: Vec<PathBuf> = fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    assert_eq!(files.len(), count);
    files
}

#[test]
fn a_shard_trains_the_same_model_as_the_text() {
    let place = Place::new();
    let data = place.synth("a.svm", 301, 500);
    for workers in ["1", "3"] {
        let (mut train, text_model) = place.train(&data, 20, "text.json");
        ok(train.args(["--workers", workers]));
        let file = shards(&place, &data, 1).remove(0);
        let (mut train, model) = place.train(&file, 20, "shard.json");
        ok(train.args(["--workers", workers]));
        assert!(fs::read(&model).unwrap() == fs::read(&text_model).unwrap(), "{workers} workers");
    }
}

#[test]
fn a_damaged_shard_is_refused() {
    let place = Place::new();
    let data = place.synth("a.svm", 100, 200);
    let shard = shards(&place, &data, 1).remove(0);
    let whole = fs::read(&shard).unwrap();
    let mut flipped = whole.clone();
    let middle = flipped.len() / 2;
    flipped[middle] ^= 0x10;
    let cut = whole[..whole.len() - 9].to_vec();
    for bytes in [flipped, cut] {
        let bad = place.write("bad.ddiht", &bytes);
        let (mut train, model) = place.train(&bad, 5, "m.json");
        let message = fails(&mut train, 2);
        assert!(message.contains("bad.ddiht") && !model.exists(), "{message}");
    }
}

#[test]
fn inspect_models_and_shards() {
    let place = Place::new();
    let data = place.synth("a.svm", 101, 200);
    let (mut train, model) = place.train(&data, 15, "m.json");
    ok(&mut train);
    assert_eq!(json(ddiht().arg("inspect").arg(&model).arg("--json")), read_json(&model));
    let text = ok(ddiht().arg("inspect").arg(&model).args(["--top", "3"]));
    assert!(text.contains("squared-hinge") && text.contains("of 200"), "{text}");
    let listed = text.lines().skip_while(|l| !l.starts_with("largest")).count() - 1;
    assert_eq!(listed, 3, "{text}");

    let files = shards(&place, &data, 2);
    let shard = json(ddiht().arg("inspect").arg(&files[1]).arg("--json"));
    assert_eq!(number(&shard, "rows"), 50.0);
    assert!(ok(ddiht().arg("inspect").arg(&files[0])).contains("51 of 101"));
    assert!(fails(ddiht().arg("inspect").arg(&data), 2).contains("a.svm"));
    assert!(fails(ddiht().arg("inspect").arg(place.path("none")), 2).contains("none"));
}

#[test]
fn synth_is_the_same_for_the_same_seed() {
    let place = Place::new();
    let make = |name: &str, seed: &str| {
        let path = place.path(name);
        let mut synth = ddiht();
        synth.args(["synth", "text", "--rows", "50", "--features", "100", "--nonzeros", "10"]);
        ok(synth.args(["--informative", "10", "--seed", seed, "-o"]).arg(&path));
        fs::read_to_string(path).unwrap()
    };
    let first = make("1.svm", "1");
    assert_eq!(first, make("1-again.svm", "1"));
    assert_ne!(first, make("2.svm", "2"));
    assert_eq!(first.lines().count(), 50);
    let mut synth = ddiht();
    synth.args(["synth", "text", "--rows", "50", "--features", "100", "--nonzeros", "10"]);
    assert_eq!(ok(synth.args(["--informative", "10", "--seed", "1", "-o", "-"])), first);
    let out = output(ddiht().args(["synth", "text", "-o"]).arg(place.path("no/dir/x.svm")));
    assert_eq!(out.status.code(), Some(2), "{}", stderr(&out));
}
