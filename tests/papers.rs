//! The baselines and the designs of the papers, as users call them.
//!
//! The relaxation against our bound on real data, with its figures:
//!
//! ```text
//! DDIHT_DATA=<directory> cargo test --release --test tests -- --nocapture papers::the_relaxation
//! ```

use std::{fs, path::Path};

use crate::util::{Place, data_dir, ddiht, fails, json, number, ok, read_json, read_lines};

const BASELINES: [&str; 18] = [
    "iht",
    "niht",
    "htp",
    "grahtp",
    "fgrahtp",
    "svr-ght",
    "acc-iht",
    "grasp",
    "foba",
    "fbs",
    "oblivious",
    "forward",
    "omp",
    "lasso",
    "fw",
    "pairwise-fw",
    "away-fw",
    "k-support",
];

#[test]
fn every_baseline_keeps_to_its_budget_and_to_its_figures() {
    let place = Place::new();
    let data = place.synth("text.svm", 300, 800);
    for loss in ["squared-hinge", "squared"] {
        for algorithm in BASELINES {
            let run = |threads: &str| {
                let (mut train, model) = place.train(&data, 12, &format!("{threads}.json"));
                train.args(["--algorithm", algorithm, "--loss", loss, "--lambda", "1e-3"]);
                (json(train.args(["--threads", threads, "--rounds", "60", "--quiet"])), model)
            };
            let (summary, model) = run("1");
            let name = format!("{algorithm} with {loss}");
            assert!(number(&summary, "nnz") <= 12.0, "{name}");
            assert!(number(&summary, "rounds") >= 1.0, "{name}");
            let bounded = summary["dual_bound"].is_number();
            assert_eq!(bounded, algorithm == "k-support", "{name}");
            let objective = number(&summary, "objective");
            let measured = json(ddiht().arg("eval").arg(&model).arg(&data).arg("--json"));
            let difference = (number(&measured, "objective") - objective).abs();
            assert!(difference <= 1e-9 * objective, "{name}: eval differs by {difference}");
            let (_, again) = run("2");
            assert!(fs::read(&model).unwrap() == fs::read(&again).unwrap(), "{name}: threads");
            assert_eq!(read_json(&model)["settings"]["algorithm"], algorithm);
        }
    }
}

#[test]
fn a_history_has_a_line_for_every_iteration() {
    let place = Place::new();
    let data = place.synth("text.svm", 200, 500);
    let history = place.path("history.jsonl");
    let (mut train, _) = place.train(&data, 8, "model.json");
    train.args(["--algorithm", "omp", "--quiet", "--history"]).arg(&history);
    let summary = json(&mut train);
    let lines = read_lines(&history);
    assert_eq!(lines.len(), 8);
    assert_eq!(lines.len() as f64, number(&summary, "rounds"));
    let falls =
        lines.windows(2).all(|pair| number(&pair[0], "current") > number(&pair[1], "current"));
    assert!(falls, "every feature lowers the objective");
    assert!(lines.iter().all(|line| line["step"] == "iterate" && line["support_changed"] == 1));
}

#[test]
fn what_baselines_cannot_do_is_said() {
    let place = Place::new();
    let data = place.synth("text.svm", 50, 100);
    let groups = place.write("groups.txt", "a\na\n\n");
    let refused = |more: &[&str]| {
        let (mut train, _) = place.train(&data, 5, "model.json");
        fails(train.args(more), 2)
    };
    for (more, words) in [
        (&["--algorithm", "iht", "--loss", "hinge"][..], "smoothed-hinge"),
        (&["--algorithm", "iht", "--workers", "2"], "one process"),
        (&["--algorithm", "iht", "--transport", "grpc"], "one process"),
        (&["--algorithm", "iht", "--aggregate", "average"], "--aggregate"),
        (&["--algorithm", "omp", "--step", "0.1"], "--step"),
        (&["--algorithm", "acc-iht", "--momentum", "2"], "--momentum"),
        (&["--algorithm", "fw", "--radius", "-3"], "--radius"),
        (&["--debias"], "--debias"),
        (&["--algorithm", "acc-iht", "--groups", groups.to_str().unwrap()], "line 3"),
        (&["--algorithm", "acc-iht", "--groups", "nowhere.txt"], "nowhere.txt"),
    ] {
        let message = refused(more);
        assert!(message.contains(words), "{more:?}: {message}");
    }
    let mut server = ddiht();
    server.args(["server", "--workers", "1", "-k", "5", "--algorithm", "iht", "--data"]).arg(&data);
    assert!(fails(&mut server, 2).contains("one process"));
}

#[test]
fn groups_come_in_whole() {
    let place = Place::new();
    let data = place.path("data.svm");
    let synth = ["--rows", "100", "--features", "30", "--informative", "6"];
    ok(ddiht().args(["synth", "correlated", "-o"]).arg(&data).args(synth));
    let names: String = (0..30).map(|j| format!("{}\n", j / 3)).collect();
    let groups = place.write("groups.txt", names);
    let (mut train, model) = place.train(&data, 6, "model.json");
    train.args(["--algorithm", "acc-iht", "--momentum", "adaptive", "--debias"]);
    json(train.args(["--loss", "squared", "--quiet", "--groups"]).arg(&groups));
    let model = read_json(&model);
    let features: Vec<u64> =
        model["indices"].as_array().unwrap().iter().map(|j| j.as_u64().unwrap()).collect();
    assert_eq!(features.len(), 6);
    for group in features.chunks(3) {
        assert!(group[0] % 3 == 1 && group[2] == group[0] + 2, "{features:?}");
    }
}

#[test]
fn designs_of_the_papers_have_their_shapes_and_their_truth() {
    let place = Place::new();
    for (kind, rows, features, k) in [
        ("correlated", 100, 500, 100),
        ("logistic", 1000, 1000, 100),
        ("gaussian", 500, 2000, 50),
        ("ar1", 800, 200, 20),
    ] {
        let (data, truth) = (place.path(kind), place.path("truth.json"));
        ok(ddiht().args(["synth", kind, "-o"]).arg(&data).arg("--truth").arg(&truth));
        let text = fs::read_to_string(&data).unwrap();
        assert_eq!(text.lines().count(), rows, "{kind}");
        let first = text.lines().next().unwrap();
        assert_eq!(first.split(' ').count(), features + 1, "{kind}");
        let truth = read_json(&truth);
        assert_eq!(truth["indices"].as_array().unwrap().len(), k, "{kind}");
        assert_eq!(truth["weights"].as_array().unwrap().len(), k, "{kind}");
    }
}

#[test]
fn compressed_sensing_finds_the_truth() {
    let place = Place::new();
    let (data, truth) = (place.path("data.svm"), place.path("truth.json"));
    let synth = ["--rows", "150", "--features", "400", "--informative", "10", "--seed", "2"];
    ok(ddiht()
        .args(["synth", "gaussian"])
        .args(synth)
        .arg("-o")
        .arg(&data)
        .arg("--truth")
        .arg(&truth));
    let truth = read_json(&truth);
    for algorithm in ["htp", "grahtp", "niht", "acc-iht", "grasp", "foba", "omp", "lasso", "exact"]
    {
        let (mut train, model) = place.train(&data, 10, "model.json");
        train.args(["--loss", "squared", "--lambda", "1e-6", "--algorithm", algorithm]);
        json(train.args(["--no-intercept", "--quiet", "--time", "20s"]));
        assert_eq!(read_json(&model)["indices"], truth["indices"], "{algorithm}");
    }
}

/// Data, options, k.
const CHECKED: [(&str, &str, &str); 6] = [
    ("reuters21578_acq_train.svm.xz", "none", "1000"),
    ("reuters21578_acq_train.svm.xz", "none", "100"),
    ("madelon.svm.xz", "l2", "10"),
    ("madelon.svm.xz", "l2", "100"),
    ("dorothea_train.svm.xz", "l2", "100"),
    ("dorothea_train.svm.xz", "l2", "10"),
];

/// How far the bound of `exact` may be below the value of the relaxation, which is the best bound there is.
const BELOW: f64 = 1e-4;

/// The bound of `exact`, and bound and value of the relaxation, of a command line without an algorithm.
fn bounds(place: &Place, data: &Path, more: &[&str]) -> (f64, f64, f64) {
    let history = place.path("history.jsonl");
    let train = |algorithm: &str| {
        let mut train = ddiht();
        train.arg("train").arg(data).args(["--json", "--quiet", "--time", "120s"]).args(more);
        json(train.args(["--algorithm", algorithm, "--history"]).arg(&history))
    };
    let exact = number(&train("exact"), "dual_bound");
    let relaxed = number(&train("k-support"), "dual_bound");
    (exact, relaxed, number(read_lines(&history).last().unwrap(), "current"))
}

/// Weak duality: no bound is above the relaxation, whoever found it. And it is closed, from both sides.
fn agree((exact, relaxed, value): (f64, f64, f64)) -> bool {
    exact <= value * (1.0 + 1e-9)
        && relaxed <= value
        && value - relaxed <= BELOW * value
        && value - exact <= BELOW * value
}

#[test]
fn the_bound_is_the_best_there_is() {
    let place = Place::new();
    let data = place.synth("text.svm", 400, 1500);
    let keep = place.write("keep.txt", "3\n70\n");
    for more in [
        &["--loss", "squared-hinge"][..],
        &["--loss", "squared-hinge", "--no-intercept", "--class-weight", "balanced"],
        &["--loss", "smoothed-hinge"],
        &["--loss", "logistic"],
        &["--loss", "squared"],
    ] {
        let more = [&["-k", "15", "--lambda", "1e-3", "--gap", "1e-4"], more].concat();
        let found = bounds(&place, &data, &more);
        assert!(agree(found), "{more:?}: {found:?}");
    }
    // Features that are always in: k-support does not know them, but no bound may be above the model that has them.
    let (mut train, _) = place.train(&data, 15, "model.json");
    let summary = json(train.args(["--quiet", "--lambda", "1e-3", "--keep"]).arg(&keep));
    let (bound, objective) = (number(&summary, "dual_bound"), number(&summary, "objective"));
    assert!(bound > 0.9 * objective && bound <= objective, "{bound} {objective}");
}

#[test]
fn the_relaxation_confirms_the_bound() {
    let Some(dir) = data_dir() else {
        println!("skipped: DDIHT_DATA is not set");
        return;
    };
    let place = Place::new();
    let mut wrong = Vec::new();
    println!(
        "data k: bound of exact; bound and value of the relaxation; how far exact is below the value"
    );
    for (file, normalize, k) in CHECKED {
        let more = ["-k", k, "--normalize", normalize, "--no-intercept", "--gap", "1e-6"];
        let found = bounds(&place, &dir.join(file), &more);
        let (exact, relaxed, value) = found;
        let below = (value - exact) / value;
        println!("{file} {normalize} k={k}: {exact:.9}; {relaxed:.9} {value:.9}; {below:.2e}");
        if !agree(found) {
            wrong.push(format!("{file} k={k}: {exact} {relaxed} {value}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}
