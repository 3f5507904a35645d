//! What is typed and what is printed: help, exit codes, labels, predictions, measures.

use std::fs;

use crate::util::{
    Place, ddiht, fails, json, number, ok, output, output_with_stdin, read_json, stderr, stdout,
};

/// Four rows of two classes that feature 1 separates.
fn tiny(negative: &str, positive: &str) -> String {
    format!(
        "{positive} 1:1 2:0.5\n{negative} 1:-1 3:0.25\n{positive} 1:2 3:1\n{negative} 1:-0.5 2:1\n"
    )
}

#[test]
fn help_says_what_it_does_and_gives_an_example() {
    let commands: [&[&str]; 11] = [
        &[],
        &["train"],
        &["predict"],
        &["eval"],
        &["inspect"],
        &["synth", "text"],
        &["shard"],
        &["plot"],
        &["export"],
        &["completions"],
        &["man"],
    ];
    for command in commands {
        let help = ok(ddiht().args(command).arg("--help"));
        let first = help.lines().next().unwrap();
        assert!(first.len() > 10 && !first.starts_with("Usage"), "{command:?}: {first}");
        assert!(help.contains("Example: ddiht "), "{command:?} has no example:\n{help}");
    }
    let version = ok(ddiht().arg("--version"));
    assert!(
        version.starts_with(concat!("ddiht ", env!("CARGO_PKG_VERSION"), " (commit ")),
        "{version}"
    );
    assert!(version.contains("features: "), "{version}");
}

#[test]
fn a_wrong_call_is_exit_code_2() {
    let place = Place::new();
    let data = place.write("a.svm", tiny("-1", "1"));
    let data = data.to_str().unwrap();
    let calls: [&[&str]; 14] = [
        &[],
        &["fly"],
        &["train"],
        &["train", data],
        &["train", data, "-k", "0"],
        &["train", data, "-k", "-3"],
        &["train", data, "-k", "2", "--lambda", "0"],
        &["train", data, "-k", "2", "--lambda", "nan"],
        &["train", data, "-k", "2", "--loss", "cubic"],
        &["train", data, "-k", "2", "--time", "soon"],
        &["train", data, "-k", "2", "--positive", "around 7"],
        &["train", data, "-k", "2", "--gap", "0"],
        &["train", data, "-k", "2", "--threads", "0"],
        &["train", "/no/such/file", "-k", "2"],
    ];
    for call in calls {
        let message = fails(ddiht().args(call), 2);
        assert!(!message.contains("panicked"), "{call:?}: {message}");
        assert!(!message.is_empty(), "{call:?}");
    }
    let message = fails(ddiht().args(["train", "/no/such/file", "-k", "2"]), 2);
    assert!(message.contains("/no/such/file"), "{message}");
}

#[test]
fn paper_step_is_refused_for_the_hinge() {
    let place = Place::new();
    let data = place.write("a.svm", tiny("-1", "1"));
    for algorithm in ["diht", "sdiht"] {
        let (mut train, model) = place.train(&data, 2, "m.json");
        train.args(["--algorithm", algorithm, "--loss", "hinge", "--step", "paper"]);
        let message = fails(&mut train, 2);
        assert!(message.contains("--step") && message.contains("hinge"), "{message}");
        assert!(!model.exists());
    }
}

#[test]
fn a_missing_directory_is_refused_before_training() {
    let place = Place::new();
    let data = place.synth("a.svm", 3000, 3000);
    let (mut train, _) = place.train(&data, 10, "no/such/dir/m.json");
    let message = fails(train.args(["--gap", "0", "--time", "60s"]), 2);
    assert!(message.contains("no/such/dir"), "{message}");
    let (mut train, _) = place.train(&data, 10, "m.json");
    train.arg("--history").arg(place.path("nowhere/h.jsonl")).args(["--gap", "0", "--time", "60s"]);
    assert!(fails(&mut train, 2).contains("nowhere"));
}

#[test]
fn labels_are_mapped_and_predicted_as_in_the_file() {
    let place = Place::new();
    for (negative, positive) in [("-1", "+1"), ("0", "1"), ("1", "2")] {
        let data = place.write("a.svm", tiny(negative, positive));
        let (mut train, model) = place.train(&data, 2, "m.json");
        let out = output(&mut train);
        assert!(out.status.success(), "{}", stderr(&out));
        let said = stderr(&out).contains("class");
        assert_eq!(said, negative != "-1", "{}", stderr(&out));
        let labels = read_json(&model)["labels"].clone();
        let expected: Vec<f64> = [negative, positive].map(|l| l.parse().unwrap()).to_vec();
        assert_eq!(labels, serde_json::json!(expected));
        let predicted = ok(ddiht().arg("predict").arg(&model).arg(&data));
        let (n, p) = (expected[0].to_string(), expected[1].to_string());
        assert_eq!(predicted, format!("{p}\n{n}\n{p}\n{n}\n"));
        assert_eq!(
            number(&json(ddiht().arg("eval").arg(&model).arg(&data).arg("--json")), "accuracy"),
            1.0
        );
    }
}

#[test]
fn positive_makes_a_task_of_other_labels() {
    let place = Place::new();
    let data = place.write("a.svm", "10 1:1\n3 1:-1\n7 1:2\n1 1:-0.5\n");
    for rule in [">=7", "7,10", ">3", "7,8,9,10"] {
        let (mut train, model) = place.train(&data, 1, "m.json");
        ok(train.args(["--positive", rule]));
        assert_eq!(read_json(&model)["labels"], serde_json::json!([-1.0, 1.0]));
        assert!(read_json(&model)["positive"].is_string());
        let measured = json(ddiht().arg("eval").arg(&model).arg(&data).arg("--json"));
        assert_eq!(number(&measured, "accuracy"), 1.0, "{rule}");
        assert_eq!(ok(ddiht().arg("predict").arg(&model).arg(&data)), "1\n-1\n1\n-1\n");
        // The model knows its own rule; another is refused.
        let mut other = ddiht();
        other.arg("eval").arg(&model).arg(&data).args(["--positive", "<2"]);
        assert!(fails(&mut other, 2).contains("positive"));
    }
    // Three or more labels are classes of their own (`classes.rs`); two must be told which is which.
    let two = place.write("two.svm", "3 1:1\n7 1:-1\n");
    let (mut train, model) = place.train(&two, 1, "none.json");
    let message = fails(&mut train, 2);
    assert!(message.contains("--positive") && !model.exists(), "{message}");
    let (mut train, model) = place.train(&data, 1, "none.json");
    let message = fails(train.args(["--positive", ">=100"]), 2);
    assert!(message.contains(">=100") && !model.exists(), "{message}");
}

#[test]
fn normalize_is_the_models_own() {
    let place = Place::new();
    let data = place.write("a.svm", "1 1:30 2:40\n-1 1:-3 3:4\n1 1:2\n-1 1:-0.5 2:1\n");
    let (mut train, model) = place.train(&data, 3, "m.json");
    ok(train.args(["--normalize", "l2", "--no-intercept", "--lambda", "1"]));
    let file = read_json(&model);
    assert_eq!(file["normalize"], "l2");
    assert!(file["intercept"].is_null());
    let scores = ok(ddiht().arg("predict").arg(&model).arg(&data).arg("--scores"));
    let first: f64 = scores.lines().next().unwrap().parse().unwrap();
    let w: Vec<f64> =
        file["weights"].as_array().unwrap().iter().map(|w| w.as_f64().unwrap()).collect();
    assert_eq!(file["indices"], serde_json::json!([1, 2, 3]));
    assert!((first - (0.6 * w[0] + 0.8 * w[1])).abs() < 1e-6, "{first} {w:?}");
    let mut other = ddiht();
    other.arg("eval").arg(&model).arg(&data).args(["--normalize", "none"]);
    assert!(fails(&mut other, 2).contains("normalize"));
}

#[test]
fn one_class_is_refused() {
    let place = Place::new();
    for text in ["1 1:1\n1 2:1\n", "-1 1:1\n", "0 1:1\n0 1:2\n"] {
        let data = place.write("a.svm", text);
        let (mut train, model) = place.train(&data, 1, "m.json");
        let message = fails(&mut train, 2);
        assert!(message.contains("two classes"), "{message}");
        assert!(!model.exists());
    }
}

#[test]
fn test_indices_beyond_the_dimension_are_dropped_and_said() {
    let place = Place::new();
    let data = place.write("a.svm", tiny("-1", "1"));
    let test = place.write("t.svm", "1 1:1 4:100 9:7\n-1 1:-1 1000000:5\n");
    let (mut train, model) = place.train(&data, 2, "m.json");
    let out = output(train.arg("--test").arg(&test));
    assert!(out.status.success(), "{}", stderr(&out));
    assert!(stderr(&out).contains('3') && stderr(&out).contains("dropped"), "{}", stderr(&out));
    let summary: serde_json::Value = serde_json::from_str(&stdout(&out)).unwrap();
    assert_eq!(summary["test"]["accuracy"], 1.0);
    assert_eq!(summary["features"], 3);
    let out = output(ddiht().arg("predict").arg(&model).arg(&test));
    assert_eq!(stdout(&out), "1\n-1\n");
    assert!(stderr(&out).contains("3 entries"), "{}", stderr(&out));
}

#[test]
fn k_above_the_dimension_is_the_dimension_and_said() {
    let place = Place::new();
    let data = place.write("a.svm", tiny("-1", "1"));
    let (mut train, model) = place.train(&data, 99, "m.json");
    let out = output(&mut train);
    assert!(out.status.success());
    assert!(stderr(&out).contains("99") && stderr(&out).contains('3'), "{}", stderr(&out));
    assert_eq!(read_json(&model)["k"], 3);
}

#[test]
fn predict_scores_and_probabilities() {
    let place = Place::new();
    let data = place.write("a.svm", tiny("0", "1"));
    let (mut train, model) = place.train(&data, 2, "m.json");
    ok(train.args(["--loss", "logistic"]));
    let numbers = |option: &str| -> Vec<f64> {
        let text = ok(ddiht().arg("predict").arg(&model).arg(&data).arg(option));
        text.lines().map(|line| line.parse().unwrap()).collect()
    };
    for (score, chance) in numbers("--scores").into_iter().zip(numbers("--probabilities")) {
        assert!((chance - 1.0 / (1.0 + (-score).exp())).abs() < 1e-12, "{score} {chance}");
    }
    let answers = place.path("answers.txt");
    assert_eq!(ok(ddiht().arg("predict").arg(&model).arg(&data).arg("-o").arg(&answers)), "");
    assert_eq!(fs::read_to_string(&answers).unwrap(), "1\n0\n1\n0\n");

    let (mut train, hinge) = place.train(&data, 2, "hinge.json");
    ok(train.args(["--loss", "hinge"]));
    let message = fails(ddiht().arg("predict").arg(&hinge).arg(&data).arg("--probabilities"), 2);
    assert!(message.contains("logistic"), "{message}");
}

#[test]
fn predict_takes_rows_of_any_label_and_stdin() {
    let place = Place::new();
    let data = place.write("a.svm", tiny("-1", "1"));
    let (mut train, model) = place.train(&data, 2, "m.json");
    ok(&mut train);
    let mut predict = ddiht();
    predict.arg("predict").arg(&model).arg("-");
    let out = output_with_stdin(&mut predict, "0 1:3\n17 1:-3\n");
    assert_eq!(stdout(&out), "1\n-1\n", "{}", stderr(&out));
}

#[test]
fn eval_reports_the_measures() {
    let place = Place::new();
    let data = place.write("a.svm", tiny("-1", "1"));
    let (mut train, model) = place.train(&data, 2, "m.json");
    let summary = json(train.args(["--loss", "logistic"]));
    let measured = json(ddiht().arg("eval").arg(&model).arg(&data).arg("--json"));
    for key in ["objective", "accuracy", "auc", "f1", "log_loss"] {
        assert!(measured[key].is_number(), "{key} in {measured}");
    }
    assert!(measured["confusion"].is_object(), "{measured}");
    assert!((number(&measured, "objective") - number(&summary, "objective")).abs() < 1e-9);
    let text = ok(ddiht().arg("eval").arg(&model).arg(&data));
    assert!(text.contains("objective") && text.contains("accuracy"), "{text}");
    let lines: Vec<Vec<&str>> = text.lines().map(|l| l.split_whitespace().collect()).collect();
    let at = lines.iter().position(|words| words.first() == Some(&"confusion")).unwrap();
    assert_eq!(lines[at], ["confusion", "predicted", "-1", "predicted", "1"]);
    let confusion = &measured["confusion"];
    let counts = |a: &str, b: &str| [confusion[a].to_string(), confusion[b].to_string()];
    assert_eq!(lines[at + 1][2..], counts("tn", "fp"));
    assert_eq!(lines[at + 2][2..], counts("fn", "tp"));

    let numbers = place.write("r.svm", "1.5 1:1\n-2 1:-1 2:1\n3.25 1:2\n");
    let (mut train, model) = place.train(&numbers, 2, "r.json");
    let summary = json(train.args(["--loss", "squared"]));
    let measured = json(ddiht().arg("eval").arg(&model).arg(&numbers).arg("--json"));
    assert!(measured["rmse"].is_number() && measured["r2"].is_number(), "{measured}");
    assert_eq!(measured["rmse"], summary["train"]["rmse"]);
    let predicted = ok(ddiht().arg("predict").arg(&model).arg(&numbers));
    assert!(predicted.lines().all(|line| line.parse::<f64>().is_ok()), "{predicted}");
}

#[test]
fn the_summary_has_its_fields() {
    let place = Place::new();
    let data = place.write("a.svm", tiny("-1", "1"));
    let (mut train, _) = place.train(&data, 2, "m.json");
    let summary = json(&mut train);
    let mut keys: Vec<&str> = summary.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    let expected = [
        "bytes",
        "dual_bound",
        "features",
        "gap",
        "nnz",
        "objective",
        "passes",
        "rounds",
        "rows",
        "seconds",
        "selected",
        "staleness",
        "stopped",
        "test",
        "train",
    ];
    assert_eq!(keys, expected);
    for key in ["load", "train", "total"] {
        assert!(summary["seconds"][key].is_number());
    }
    assert_eq!(summary["bytes"], serde_json::json!({"up": 0, "down": 0, "certificate": 0}));
    assert!(summary["train"]["accuracy"].is_number() && summary["test"].is_null());
    let table = ok(ddiht().arg("train").arg(&data).args(["-k", "2", "--quiet"]));
    for word in ["objective", "bound", "gap", "features", "rounds", "seconds", "stopped"] {
        assert!(table.contains(word), "{word} in\n{table}");
    }
}

#[test]
fn quiet_says_nothing() {
    let place = Place::new();
    let data = place.write("a.svm", tiny("0", "1"));
    let (mut train, _) = place.train(&data, 99, "m.json");
    assert_eq!(stderr(&output(train.arg("--quiet"))), "");
}
