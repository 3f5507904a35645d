//! How runs end, and that the same call gives the same model.

use std::{
    fs,
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use crate::util::{Place, json, number, ok, read_json, read_lines};

#[test]
fn rounds_time_and_gap_are_named() {
    let place = Place::new();
    let data = place.synth("a.svm", 500, 800);
    let stopped = |k: usize, options: &[&str]| {
        let (mut train, model) = place.train(&data, k, "m.json");
        let summary = json(train.args(options));
        assert!(model.exists());
        summary
    };
    let by_rounds = stopped(20, &["--rounds", "3"]);
    assert_eq!(by_rounds["stopped"], "rounds");
    assert!(number(&by_rounds, "rounds") >= 3.0);
    assert_eq!(stopped(20, &["--gap", "0", "--rounds", "30"])["stopped"], "rounds");

    let by_time = stopped(20, &["--gap", "0", "--time", "1500ms"]);
    assert_eq!(by_time["stopped"], "time");
    let seconds = number(&by_time["seconds"], "train");
    assert!((1.4..10.0).contains(&seconds), "{seconds}");

    let by_gap = stopped(800, &["--gap", "1e-3"]);
    assert_eq!(by_gap["stopped"], "gap");
    assert!(number(&by_gap, "gap") <= 1e-3);
    let expected = 1.0 - number(&by_gap, "dual_bound") / number(&by_gap, "objective");
    assert!((number(&by_gap, "gap") - expected).abs() < 1e-12);
    // A loose k-sparse problem has a gap that no effort closes.
    assert_eq!(stopped(5, &["--lambda", "1e-6"])["stopped"], "stalled");
}

#[test]
fn c_is_the_other_name_of_lambda() {
    let place = Place::new();
    let data = place.synth("a.svm", 500, 400);
    let (mut train, by_c) = place.train(&data, 10, "c.json");
    ok(train.args(["--C", "2"]));
    let (mut train, by_lambda) = place.train(&data, 10, "l.json");
    ok(train.args(["--lambda", "1e-3"]));
    assert_eq!(number(&read_json(&by_c), "lambda"), 1e-3);
    assert_eq!(fs::read(by_c).unwrap(), fs::read(by_lambda).unwrap());
}

#[test]
fn the_same_call_gives_the_same_bytes() {
    let place = Place::new();
    let data = place.synth("a.svm", 800, 1500);
    for options in [
        &["--workers", "1"][..],
        &["--workers", "3"],
        &["--algorithm", "diht", "--rounds", "25"],
        &["--algorithm", "sdiht", "--rounds", "25", "--batch-size", "100"],
        &["--algorithm", "sdiht", "--rounds", "25", "--batch-size", "100", "--workers", "3"],
        &["--loss", "logistic", "--workers", "2"],
    ] {
        let bytes = ["1", "2", "3"].map(|threads| {
            let (mut train, model) = place.train(&data, 30, "m.json");
            ok(train.args(options).args(["--seed", "5", "--threads", threads]));
            fs::read(model).unwrap()
        });
        assert!(bytes[0] == bytes[1] && bytes[1] == bytes[2], "{options:?}");
    }
}

#[test]
fn workers_do_not_change_a_convex_problem() {
    let place = Place::new();
    let data = place.synth("a.svm", 500, 300);
    for loss in ["squared-hinge", "logistic", "hinge"] {
        let objectives = ["1", "3"].map(|workers| {
            let (mut train, _) = place.train(&data, 300, "m.json");
            train.args(["--workers", workers, "--gap", "1e-4", "--loss", loss, "--lambda", "1e-3"]);
            let summary = json(&mut train);
            assert!(number(&summary, "dual_bound") <= number(&summary, "objective"));
            assert!(number(&summary, "gap") <= 1e-4, "{loss}, {workers} workers: {summary}");
            number(&summary, "objective")
        });
        let difference = (objectives[0] - objectives[1]).abs() / objectives[0];
        assert!(difference <= 1e-4, "{loss}: {objectives:?}");
    }
}

#[test]
fn more_workers_than_rows_is_fine() {
    let place = Place::new();
    let data = place.write("a.svm", "+1 1:1\n-1 1:-1 2:1\n+1 2:0.5 3:1\n");
    let (mut train, _) = place.train(&data, 2, "m.json");
    let summary = json(train.args(["--workers", "5"]));
    assert_eq!(summary["rows"], 3);
    assert!(number(&summary, "dual_bound") <= number(&summary, "objective"));
}

#[test]
fn the_safe_step_does_not_diverge() {
    let place = Place::new();
    let data = place.synth("a.svm", 600, 1000);
    for algorithm in ["diht", "sdiht"] {
        for loss in ["hinge", "smoothed-hinge", "squared-hinge", "logistic", "squared"] {
            let (mut train, _) = place.train(&data, 30, "m.json");
            train.args(["--algorithm", algorithm, "--loss", loss, "--lambda", "1e-4"]);
            let summary = json(train.args(["--rounds", "60", "--batch-size", "150"]));
            let start = if loss == "logistic" { 2f64.ln() } else { 1.0 };
            let objective = number(&summary, "objective");
            assert!(objective <= start + 1e-9, "{algorithm}, {loss}: {objective}");
            assert!(number(&summary, "nnz") <= 30.0);
            if let Some(bound) = summary["dual_bound"].as_f64() {
                assert!(bound <= objective && bound >= -1e-9, "{algorithm}, {loss}: {bound}");
            }
        }
    }
    for algorithm in ["diht", "sdiht"] {
        let (mut train, _) = place.train(&data, 30, "m.json");
        train.args(["--algorithm", algorithm, "--step", "paper", "--rounds", "20"]);
        let summary = json(train.args(["--loss", "smoothed-hinge"]));
        assert!(number(&summary, "objective").is_finite());
    }
}

#[cfg(unix)]
fn interrupt(child: &Child) {
    // The shell's own `kill`: a separate program of that name is not everywhere.
    let line = format!("kill -INT {}", child.id());
    assert!(Command::new("sh").args(["-c", &line]).status().unwrap().success());
}

/// Waits until `done`, or fails after a generous time.
fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < Duration::from_secs(30), "waited too long until {what}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// A run that would take a minute, well under way.
#[cfg(unix)]
fn long_run(place: &Place, command: &mut Command, history: &Path) -> Child {
    command.arg("--history").arg(history).args(["--gap", "0", "--time", "60s"]);
    let child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = || fs::read_to_string(history).map_or(0, |text| text.lines().count());
    wait_until("there are rounds", || lines() > 10);
    assert!(place.path("a.svm").exists());
    child
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_writes_its_best_model() {
    let place = Place::new();
    let data = place.synth("a.svm", 4000, 6000);
    let (mut train, model) = place.train(&data, 100, "m.json");
    let history = place.path("h.jsonl");
    let child = long_run(&place, &mut train, &history);
    let asked = Instant::now();
    interrupt(&child);
    let out = child.wait_with_output().unwrap();
    assert!(asked.elapsed() < Duration::from_secs(10), "{:?}", asked.elapsed());
    assert_eq!(out.status.code(), Some(0), "{}", String::from_utf8_lossy(&out.stderr));
    let summary: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!(summary["stopped"], "interrupted");
    assert_eq!(read_json(&model)["objective"], summary["objective"]);
    assert!(number(&summary, "dual_bound") <= number(&summary, "objective"));
    assert!(!read_lines(&history).is_empty());
}

#[cfg(unix)]
#[test]
fn a_second_interrupt_ends_at_once() {
    let place = Place::new();
    let data = place.synth("a.svm", 4000, 6000);
    let (mut train, model) = place.train(&data, 100, "m.json");
    // The test data never come, so the process still waits when the second signal arrives.
    let mut child = long_run(&place, train.args(["--test", "-"]), &place.path("h.jsonl"));
    interrupt(&child);
    wait_until("the model is written", || model.exists());
    assert!(child.try_wait().unwrap().is_none());
    interrupt(&child);
    let mut code = None;
    wait_until("the process has ended", || {
        code = child.try_wait().unwrap();
        code.is_some()
    });
    assert_eq!(code.unwrap().code(), Some(130));
}
