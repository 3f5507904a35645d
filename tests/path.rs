//! Choosing k and lambda.

use std::fs;

use serde_json::Value;

use crate::util::{Place, ddiht, fails, json, number, ok, read_json};

fn settings(report: &Value) -> &[Value] {
    report["path"].as_array().unwrap()
}

#[test]
fn every_setting_has_its_certificate_and_is_near_a_run_of_its_own() {
    let place = Place::new();
    let data = place.synth("a.svm", 800, 1000);
    let mut call = ddiht();
    call.arg("path").arg(&data).args(["-k", "40,5,20", "--lambda", "1e-3,1e-2", "--json"]);
    let report = json(&mut call);
    let ks: Vec<u64> = settings(&report).iter().map(|s| s["k"].as_u64().unwrap()).collect();
    assert_eq!(ks, [5, 20, 40, 5, 20, 40]);
    for setting in settings(&report) {
        let (k, lambda) = (setting["k"].to_string(), setting["lambda"].to_string());
        let mut alone = ddiht();
        alone.arg("train").arg(&data).args(["-k", &k, "--lambda", &lambda, "--json"]);
        let alone = json(&mut alone);
        let (p, bound) = (number(setting, "objective"), number(setting, "dual_bound"));
        assert!(bound <= p && bound <= number(&alone, "objective"), "{setting} {alone}");
        assert!(number(&alone, "dual_bound") <= p, "{setting} {alone}");
        assert!(p <= 1.03 * number(&alone, "objective"), "{setting} {alone}");
    }
    assert!(report["best"].is_null());
    // A bound for more features and a weaker ridge is one for fewer and a stronger one.
    let bound = |at: usize| number(&settings(&report)[at], "dual_bound");
    assert!(bound(0) >= bound(1) && bound(1) >= bound(2), "{report}");
    assert!((0..3).all(|at| bound(at) >= bound(at + 3)), "{report}");
}

/// Drops all that tells how long it took.
fn without_seconds(report: &mut Value) {
    match report {
        Value::Object(fields) => {
            fields.remove("seconds");
            fields.values_mut().for_each(without_seconds);
        }
        Value::Array(list) => list.iter_mut().for_each(without_seconds),
        _ => {}
    }
}

#[test]
fn folds_choose_and_the_chosen_model_is_written() {
    let place = Place::new();
    let data = place.synth("a.svm", 1500, 300);
    let run = |threads: &str, choose: &str| {
        let model = place.path(&format!("m{threads}{choose}.json"));
        let mut call = ddiht();
        call.arg("path").arg(&data).args(["-k", "2,10,60", "--lambda", "1e-3", "--folds", "3"]);
        call.args(["--threads", threads, "--choose", choose, "--json", "--model"]).arg(&model);
        let mut report = json(&mut call);
        without_seconds(&mut report);
        (report, model)
    };
    let (report, best) = run("1", "best");
    let (same, again) = run("2", "best");
    // Whatever the number of threads, and of folds at once.
    assert_eq!(report, same);
    assert_eq!(fs::read(&best).unwrap(), fs::read(again).unwrap());
    assert_eq!(report["score"], "error");
    let scores: Vec<f64> = settings(&report).iter().map(|s| number(s, "score")).collect();
    let least = scores.iter().copied().fold(f64::INFINITY, f64::min);
    assert_eq!(number(&report["best"], "score"), least);
    assert_eq!(read_json(&best)["k"], report["best"]["k"]);
    let (_, simple) = run("1", "1se");
    assert_eq!(read_json(&simple)["k"], report["one_standard_error"]["k"]);
    assert!(
        report["one_standard_error"]["k"].as_u64().unwrap()
            <= report["best"]["k"].as_u64().unwrap()
    );
    // It is a model like any other, at least as good as that of the path.
    let chosen = read_json(&best);
    assert!(number(&chosen, "objective") <= number(&report["best"], "objective") * (1.0 + 1e-9));
    ok(ddiht().arg("eval").arg(&best).arg(&data));
}

#[test]
fn a_path_can_be_read_and_seen() {
    let place = Place::new();
    let data = place.synth("a.svm", 400, 200);
    for picture in ["p.svg", "p.png"] {
        let picture = place.path(picture);
        let mut call = ddiht();
        call.arg("path").arg(&data).args(["-k", "2,8", "--folds", "2", "--score", "loss", "-o"]);
        let text = ok(call.arg(&picture));
        assert!(text.contains("objective") && text.contains("best: k "), "{text}");
        assert!(text.lines().count() >= 5, "{text}");
        assert!(fs::metadata(&picture).unwrap().len() > 1000);
    }
}

#[test]
fn validation_data_end_a_path_that_no_longer_helps() {
    let place = Place::new();
    let data = place.synth("a.svm", 300, 400);
    // The same rows with the other labels: the better the fit, the worse the score.
    let text = fs::read_to_string(&data).unwrap();
    let other = |line: &str| match line.strip_prefix('+') {
        Some(rest) => format!("-{rest}\n"),
        None => format!("+{}\n", &line[1..]),
    };
    let valid = place.write("valid.svm", text.lines().map(other).collect::<String>());
    let mut call = ddiht();
    call.arg("path").arg(&data).args(["-k", "1,2,4,8,16,32,64,128", "--json", "--valid"]);
    let report = json(call.arg(&valid));
    // The best, and three that were no better.
    assert_eq!(settings(&report).len(), 4, "{report}");
    assert_eq!(report["best"]["k"], 1);
}

#[test]
fn regression_is_judged_by_its_error() {
    let place = Place::new();
    let data = place.synth("a.svm", 300, 100);
    let mut call = ddiht();
    call.arg("path").arg(&data).args(["-k", "2,20", "--loss", "squared", "--folds", "3"]);
    assert_eq!(json(call.arg("--json"))["score"], "RMSE");
}

#[test]
fn paths_that_make_no_sense() {
    let place = Place::new();
    let data = place.synth("a.svm", 60, 70);
    let path = |more: &[&str]| {
        let mut call = ddiht();
        fails(call.arg("path").arg(&data).args(more), 2)
    };
    assert!(path(&["-k", "5,6", "--folds", "1"]).contains("--folds"));
    assert!(path(&["-k", "5,6", "--folds", "61"]).contains("60"));
    assert!(path(&["-k", "5,x"]).contains("invalid"));
    assert!(path(&["-k", "0,5"]).contains("-k"));
    assert!(path(&["-k", "5", "--folds", "2", "--score", "rmse"]).contains("--score"));
    assert!(path(&["-k", "5,6", "--algorithm", "sdiht"]).contains("exact"));
    let model = place.path("m.json").display().to_string();
    assert!(path(&["-k", "5,6", "--model", &model]).contains("--folds"));
    assert!(path(&["-k", "5,6", "-o", "x.gif"]).contains(".svg"));
    let mut train = ddiht();
    let message = fails(train.arg("train").arg(&data).args(["-k", "5,6"]), 2);
    assert!(message.contains("ddiht path"), "{message}");
}

#[test]
fn a_run_may_begin_with_a_model() {
    let place = Place::new();
    let data = place.synth("a.svm", 600, 900);
    let (mut cold, known) = place.train(&data, 30, "cold.json");
    let cold = json(cold.args(["--lambda", "1e-3"]));
    let (mut warm, _) = place.train(&data, 30, "warm.json");
    let warm = json(warm.args(["--lambda", "1e-3", "--init"]).arg(&known));
    assert!(number(&warm, "objective") <= number(&cold, "objective") * (1.0 + 1e-6));
    let small = place.synth("small.svm", 100, 70);
    let (mut call, _) = place.train(&small, 5, "small.json");
    assert!(fails(call.arg("--init").arg(&known), 2).contains("feature"));
    let (mut call, _) = place.train(&data, 5, "grpc.json");
    let grpc = ["--workers", "2", "--transport", "grpc", "--init"];
    assert!(fails(call.args(grpc).arg(&known), 2).contains("--transport"));
}
