//! Three or more classes: one against the rest, in one run.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::{
    exports::{dense, exported, rows},
    onnx::Graph,
    util::{
        Place, data_dir, ddiht, fails, json, number, ok, output, read_json, read_lines, stderr,
    },
};

const LABELS: [f64; 4] = [-2.0, 1.0, 3.0, 10.0];

/// Rows of four classes: each has features of its own, and shares others.
fn generated(place: &Place, name: &str, rows: usize, seed: u64) -> PathBuf {
    let mut state = seed;
    let mut below = |bound: usize| {
        // A multiplicative generator: the upper bits are good enough for data.
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as usize % bound
    };
    let mut text = String::new();
    for _ in 0..rows {
        let class = below(4);
        let mut features: Vec<usize> = (0..6).map(|_| 1 + class * 20 + below(20)).collect();
        features.extend((0..12).map(|_| 1 + below(120)));
        features.sort_unstable();
        features.dedup();
        text.push_str(&LABELS[class].to_string());
        for feature in features {
            text.push_str(&format!(" {feature}:{}", 1 + below(8)));
        }
        text.push('\n');
    }
    place.write(name, text)
}

fn numbers(text: &str) -> Vec<Vec<f64>> {
    let line = |line: &str| line.split(' ').map(|word| word.parse().unwrap()).collect();
    text.lines().map(line).collect()
}

fn predict(model: &Path, data: &Path, options: &[&str]) -> Vec<Vec<f64>> {
    numbers(&ok(ddiht().arg("predict").arg(model).arg(data).args(options)))
}

fn largest(scores: &[f64]) -> usize {
    (0..scores.len()).fold(0, |best, at| if scores[at] > scores[best] { at } else { best })
}

#[test]
fn every_class_has_the_model_of_its_own_run() {
    let place = Place::new();
    let data = generated(&place, "a.svm", 400, 1);
    let weights: String = (0..400).map(|row| format!("{}\n", 1 + row % 3)).collect();
    let weights = place.write("weights.txt", weights).to_str().unwrap().to_owned();
    let keep = place.write("keep.txt", "5\n100\n").to_str().unwrap().to_owned();
    let cases: [&[&str]; 5] = [
        &[],
        &["--weights", &weights, "--keep", &keep, "--scale", "std", "--workers", "2"],
        &["--loss", "logistic", "--class-weight", "balanced", "--normalize", "l2"],
        &["--workers", "3", "--no-intercept", "--C", "0.5"],
        &["--algorithm", "sdiht", "--rounds", "20", "--batch-size", "50"],
    ];
    for options in cases {
        let (mut train, path) = place.train(&data, 8, "all.json");
        let summary = json(train.args(options));
        let file = read_json(&path);
        assert_eq!(file["format"], "ddiht-classes");
        assert_eq!(file["labels"], serde_json::json!(LABELS));
        let mut objectives = 0.0;
        for (at, label) in LABELS.iter().enumerate() {
            let (mut train, alone) = place.train(&data, 8, "alone.json");
            let alone_summary = json(train.args(options).arg(format!("--positive={label}")));
            assert_eq!(file["models"][at], read_json(&alone), "{options:?}, label {label}");
            let class = &summary["classes"][at];
            assert_eq!(number(class, "label"), *label);
            for key in ["objective", "dual_bound", "gap", "nnz", "stopped"] {
                assert_eq!(class[key], alone_summary[key], "{options:?}, {key}");
            }
            objectives += number(class, "objective") / 4.0;
        }
        assert!((objectives - number(&summary, "objective")).abs() < 1e-12);
    }
}

#[test]
fn predictions_are_the_labels_of_the_data() {
    let place = Place::new();
    let (data, test) = (generated(&place, "a.svm", 400, 1), generated(&place, "t.svm", 150, 2));
    let (mut train, model) = place.train(&data, 15, "m.json");
    let summary = json(train.args(["--loss", "logistic", "--test"]).arg(&test));
    let scores = predict(&model, &test, &["--scores"]);
    let answers: Vec<f64> = predict(&model, &test, &[]).concat();
    let best: Vec<f64> = scores.iter().map(|scores| LABELS[largest(scores)]).collect();
    assert_eq!(answers, best);
    let truth: Vec<f64> = fs::read_to_string(&test)
        .unwrap()
        .lines()
        .map(|line| line.split(' ').next().unwrap().parse().unwrap())
        .collect();
    let right = answers.iter().zip(&truth).filter(|(a, b)| a == b).count();
    let accuracy = right as f64 / truth.len() as f64;
    assert!(accuracy > 0.7, "{accuracy}");
    assert_eq!(number(&summary["test"], "accuracy"), accuracy);

    let shares = predict(&model, &test, &["--probabilities"]);
    for (scores, shares) in scores.iter().zip(&shares) {
        let chance = |z: f64| 1.0 / (1.0 + (-z).exp());
        let sum: f64 = scores.iter().map(|&z| chance(z)).sum();
        for (&z, share) in scores.iter().zip(shares) {
            assert!((chance(z) / sum - share).abs() < 1e-14);
        }
    }
    let report = json(ddiht().arg("eval").arg(&model).arg(&test).arg("--json"));
    assert_eq!(number(&report, "accuracy"), accuracy);
    let confusion = report["confusion"].as_array().unwrap();
    for (class, row) in confusion.iter().enumerate() {
        for (answer, count) in row.as_array().unwrap().iter().enumerate() {
            let rows = truth.iter().zip(&answers);
            let expected = rows.filter(|row| row == &(&LABELS[class], &LABELS[answer])).count();
            assert_eq!(count.as_u64(), Some(expected as u64));
        }
    }
    let wrong: f64 = (0..truth.len())
        .map(|row| -shares[row][LABELS.iter().position(|l| l == &truth[row]).unwrap()].ln())
        .sum();
    assert!((number(&report, "log_loss") - wrong / truth.len() as f64).abs() < 1e-12);
    let again = json(ddiht().arg("eval").arg(&model).arg(&data).arg("--json"));
    assert!((number(&again, "objective") - number(&summary, "objective")).abs() < 1e-12);
    assert_eq!(again["accuracy"], summary["train"]["accuracy"]);
    assert_eq!(again["auc"], summary["train"]["auc"]);
}

#[test]
fn people_can_read_it() {
    let place = Place::new();
    let data = generated(&place, "a.svm", 300, 3);
    let (mut train, model) = place.train(&data, 6, "m.json");
    let names: String = (1..=120).map(|j| format!("word{j}\n")).collect();
    train.arg("--names").arg(place.write("names.txt", names));
    let out = output(&mut train);
    let said = stderr(&out);
    assert!(said.contains("4 classes") && said.contains("--positive"), "{said}");
    assert!(said.contains("class 3 of 4 (label 3)"), "{said}");
    let text = ok(ddiht().arg("inspect").arg(&model).args(["--top", "2"]));
    assert!(text.contains("4, each trained against the rest"), "{text}");
    assert_eq!(text.matches("word").count(), 8, "{text}");
    assert_eq!(json(ddiht().arg("inspect").arg(&model).arg("--json")), read_json(&model));
    let text = ok(ddiht().arg("eval").arg(&model).arg(&data));
    assert!(text.contains("macro F1") && text.contains("confusion"), "{text}");
    let mut table = ddiht();
    let text = ok(table.arg("train").arg(&data).args(["-k", "6", "--quiet"]));
    assert!(text.contains("for each of 4 classes"), "{text}");
}

#[test]
fn the_same_call_gives_the_same_bytes() {
    let place = Place::new();
    let data = generated(&place, "a.svm", 400, 4);
    for workers in ["1", "2"] {
        let bytes = ["1", "2"].map(|threads| {
            let (mut train, model) = place.train(&data, 9, "m.json");
            ok(train.args(["--seed", "7", "--threads", threads, "--workers", workers]));
            fs::read(model).unwrap()
        });
        assert!(bytes[0] == bytes[1]);
    }
}

#[test]
fn what_cannot_be_trained_so_is_said() {
    let place = Place::new();
    let data = generated(&place, "a.svm", 100, 5);
    let refused = |data: &Path, options: &[&str]| {
        let mut call = ddiht();
        let message =
            fails(call.arg("train").arg(data).args(["-k", "3", "--quiet"]).args(options), 2);
        assert!(message.contains("--positive"), "{options:?}: {message}");
        message
    };
    refused(&data, &["--transport", "grpc"]);
    refused(&place.write("two.svm", "3 1:1\n5 2:1\n"), &[]);
    let many: String = (0..65).map(|label| format!("{label} 1:1\n")).collect();
    refused(&place.write("many.svm", many), &[]);
    let mut path = ddiht();
    assert!(fails(path.arg("path").arg(&data).args(["-k", "3,5"]), 2).contains("--positive"));

    let (mut train, model) = place.train(&data, 3, "m.json");
    ok(&mut train);
    refused(&data, &["--init", model.to_str().unwrap()]);
    let mut one = ddiht();
    one.arg("train").arg(&data).args(["-k", "3", "--positive", "=1", "--init"]).arg(&model);
    assert!(fails(&mut one, 2).contains("several classes"));
    let with = |command: &str, data: &Path, options: &[&str]| {
        fails(ddiht().arg(command).arg(&model).arg(data).args(options), 2)
    };
    assert!(with("predict", &data, &["--positive", "=1"]).contains("4 classes"));
    assert!(with("predict", &data, &["--normalize", "l2"]).contains("--normalize none"));
    assert!(with("predict", &data, &["--probabilities"]).contains("logistic"));
    let strange = place.write("strange.svm", "1 1:1\n2 1:1\n");
    assert!(with("eval", &strange, &[]).contains("row 2: label 2 is none of the 4 labels"));
    let text = fs::read_to_string(&model).unwrap();
    let damaged = place.write("damaged.json", text.replacen("[-2.0,1.0,", "[1.0,-2.0,", 1));
    let message = fails(ddiht().arg("predict").arg(damaged).arg(&data), 2);
    assert!(message.contains("do not ascend"), "{message}");
}

/// What LIBLINEAR's `predict` does with a model of several classes.
fn liblinear(text: &str, data: &Path) -> Vec<f64> {
    let (head, weights) = text.split_once("w\n").unwrap();
    let fact = |name: &str| {
        let line = head.lines().find(|line| line.starts_with(name)).unwrap();
        line.split(' ').skip(1).map(str::to_owned).collect::<Vec<String>>()
    };
    let labels: Vec<f64> = fact("label").iter().map(|label| label.parse().unwrap()).collect();
    assert_eq!(fact("nr_class"), [labels.len().to_string()]);
    let weights = numbers(weights);
    assert!(weights.iter().all(|line| line.len() == labels.len()));
    assert_eq!(fact("nr_feature"), ["120"]);
    assert_eq!((fact("bias"), weights.len()), (vec!["1".to_owned()], 121));
    let answer = |row: &Vec<(usize, f32)>| {
        let score = |class: usize| {
            let product = |&(j, v): &(usize, f32)| weights[j - 1][class] * f64::from(v);
            row.iter().map(product).sum::<f64>() + weights[120][class]
        };
        labels[largest(&(0..labels.len()).map(score).collect::<Vec<f64>>())]
    };
    rows(data).iter().map(answer).collect()
}

#[test]
fn exports_predict_the_same() {
    let place = Place::new();
    let data = generated(&place, "a.svm", 300, 6);
    for options in [&["--loss", "logistic"][..], &["--normalize", "l2"]] {
        let (mut train, model) = place.train(&data, 10, "m.json");
        ok(train.args(options));
        let ours = predict(&model, &data, &[]).concat();
        let scores = predict(&model, &data, &["--scores"]).concat();
        if options[0] == "--loss" {
            let text = String::from_utf8(exported(&place, &model, "liblinear").0).unwrap();
            assert_eq!(liblinear(&text, &data), ours);
        }
        let graph = Graph::read(&exported(&place, &model, "onnx").0);
        let outputs = graph.run(&dense(&data, graph.columns()));
        assert_eq!(outputs["label"].numbers(), ours);
        let close = |a: &[f64], b: &[f64]| {
            assert_eq!(a.len(), b.len());
            // The order of a sum may change its last bits; scores are of order 1.
            assert!(a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-12), "{options:?}");
        };
        close(&outputs["score"].numbers(), &scores);
        if options[0] == "--loss" {
            let shares = predict(&model, &data, &["--probabilities"]).concat();
            close(&outputs["probability"].numbers(), &shares);
        }
        let told: Value = serde_json::from_slice(&exported(&place, &model, "json").0).unwrap();
        let file = read_json(&model);
        for (at, class) in told["classes"].as_array().unwrap().iter().enumerate() {
            assert_eq!(number(class, "label"), LABELS[at]);
            let weights: Vec<f64> =
                class["weights"].as_array().unwrap().iter().map(|w| number(w, "weight")).collect();
            assert_eq!(serde_json::json!(weights), file["models"][at]["weights"]);
            assert_eq!(class["certificate"]["bound"], file["models"][at]["dual_bound"]);
        }
    }
    let halves = fs::read_to_string(&data).unwrap().replace("\n10 ", "\n9.5 ");
    let halves = place.write("halves.svm", halves);
    let (mut train, model) = place.train(&halves, 3, "m.json");
    ok(&mut train);
    let mut export = ddiht();
    export.arg("export").arg(&model).args(["--format", "liblinear", "-o"]);
    assert!(fails(export.arg(place.path("never")), 2).contains("9.5"));
}

#[test]
fn a_history_of_classes_can_be_drawn() {
    let place = Place::new();
    let data = generated(&place, "a.svm", 200, 7);
    let (mut train, _) = place.train(&data, 5, "m.json");
    let history = place.path("h.jsonl");
    let summary = json(train.arg("--history").arg(&history));
    let lines = read_lines(&history);
    assert_eq!(lines.len() as f64, number(&summary, "rounds"));
    let classes: Vec<f64> = lines.iter().map(|line| number(line, "class")).collect();
    assert!(classes.is_sorted() && LABELS.iter().all(|label| classes.contains(label)));
    let picture = place.path("h.svg");
    ok(ddiht().arg("plot").arg(&history).arg("-o").arg(&picture));
    assert!(fs::read_to_string(picture).unwrap().contains("h, class 10"));
}

#[test]
fn the_time_is_that_of_all_classes() {
    let place = Place::new();
    let data = generated(&place, "a.svm", 400, 8);
    let (mut train, _) = place.train(&data, 8, "m.json");
    let summary = json(train.args(["--gap", "0", "--time", "2s"]));
    assert_eq!(summary["stopped"], "time");
    let seconds = number(&summary["seconds"], "train");
    assert!((1.8..10.0).contains(&seconds), "{seconds}");
    for class in summary["classes"].as_array().unwrap() {
        assert_eq!((class["stopped"].as_str(), number(class, "nnz")), (Some("time"), 8.0));
    }
}

#[test]
fn classes_that_had_no_time_are_named() {
    let place = Place::new();
    let data = generated(&place, "a.svm", 8000, 10);
    let (mut train, model) = place.train(&data, 8, "m.json");
    let out = output(train.args(["--time", "1ms"]));
    assert!(out.status.success());
    for (at, label) in LABELS.iter().enumerate() {
        let empty = read_json(&model)["models"][at]["indices"] == serde_json::json!([]);
        let said = stderr(&out).contains(&format!("label {label} has no weights"));
        // The intercept alone is something to say.
        assert!(said <= empty, "label {label}");
    }
    assert!(stderr(&out).contains("has no weights"));
}

/// Interrupts a run of four classes, each of which would take 10 s, in the class with this label.
#[cfg(unix)]
fn interrupted_in(place: &Place, label: f64, time: &str) -> std::process::Output {
    let data = generated(place, "a.svm", 400, 9);
    let (mut train, _) = place.train(&data, 8, "m.json");
    let history = place.path("h.jsonl");
    train.arg("--history").arg(&history).args(["--gap", "0", "--time", time]);
    let mut child = train.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let (start, mark) = (Instant::now(), format!("\"class\":{label:?}"));
    while !fs::read_to_string(&history).is_ok_and(|text| text.matches(&mark).count() > 5) {
        assert!(start.elapsed() < Duration::from_secs(60) && child.try_wait().unwrap().is_none());
        thread::sleep(Duration::from_millis(20));
    }
    let line = format!("kill -INT {}", child.id());
    assert!(Command::new("sh").args(["-c", &line]).status().unwrap().success());
    child.wait_with_output().unwrap()
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_needs_a_model_of_every_class() {
    let place = Place::new();
    let out = interrupted_in(&place, LABELS[0], "40s");
    assert_eq!(out.status.code(), Some(1));
    let said = stderr(&out);
    assert!(said.contains("class 1 of 4") && said.contains("--time"), "{said}");
    assert!(!place.path("m.json").exists());

    let out = interrupted_in(&place, LABELS[3], "4s");
    assert_eq!(out.status.code(), Some(0), "{}", stderr(&out));
    let summary: Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!(summary["stopped"], "interrupted");
    assert_eq!(summary["classes"][0]["stopped"], "time");
    assert_eq!(read_json(&place.path("m.json"))["labels"], serde_json::json!(LABELS));
}

#[test]
fn twenty_classes_of_real_text() {
    let Some(dir) = data_dir() else {
        println!("skipped: DDIHT_DATA names no directory with data sets");
        return;
    };
    let place = Place::new();
    let data = dir.join("news20_multiclass.svm.xz");
    let (mut train, model) = place.train(&data, 20, "m.json");
    // How good it is, `benchmarks/classes.py` says: that takes minutes.
    let summary = json(train.args(["--normalize", "l2", "--time", "10s", "--quiet"]));
    assert_eq!(summary["classes"].as_array().unwrap().len(), 20);
    assert!(number(&summary, "dual_bound") <= number(&summary, "objective"));
    let answers = predict(&model, &data, &[]).concat();
    assert!(answers.iter().all(|label| (1.0..=20.0).contains(label) && label.fract() == 0.0));
}
