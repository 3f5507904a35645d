//! Clusters of real processes: every aggregation, odd shards, late joiners, stragglers, bad input.

use std::{fs, path::Path, thread, time::Duration};

use serde_json::Value;

use crate::{
    processes::{Cluster, free_address},
    util::{Place, ddiht, fails, json, number, ok, read_json, read_lines, stderr},
};

/// The objective of a model on data, by `ddiht eval`.
fn evaluated(model: &Path, data: &Path) -> f64 {
    number(&json(ddiht().arg("eval").arg(model).arg(data).arg("--json")), "objective")
}

/// What must hold of every run.
fn check(summary: &Value, cluster: &Cluster<'_>, data: &Path, k: usize) {
    let (objective, bound) = (number(summary, "objective"), number(summary, "dual_bound"));
    assert!(bound <= objective, "{summary}");
    assert!(number(summary, "nnz") <= k as f64, "{summary}");
    let again = evaluated(&cluster.model, data);
    assert!((again / objective - 1.0).abs() < 1e-9, "{again} {objective}");
    for way in ["up", "down", "certificate"] {
        assert!(number(&summary["bytes"], way) > 0.0, "{summary}");
    }
    for log in cluster.workers.iter().map(|w| w.log()).chain([cluster.server.log()]) {
        assert!(!log.contains("panicked"), "{log}");
    }
}

#[test]
fn in_process_over_loopback_and_as_processes_the_model_is_the_same() {
    let place = Place::new();
    let data = place.synth("a.svm", 600, 900);
    for options in [
        &["--seed", "3"][..],
        &["--uplink", "full", "--loss", "logistic", "--no-intercept"],
        &["--aggregate", "average", "--rounds", "12", "--gap", "0", "--batch-size", "40"],
        &["--aggregate", "min", "--rounds", "8", "--gap", "0", "--algorithm", "diht"],
    ] {
        let with = |transport: &str| {
            let (mut train, model) = place.train(&data, 25, &format!("{transport}.json"));
            let summary =
                json(train.args(["--workers", "3", "--transport", transport]).args(options));
            (fs::read(model).unwrap(), summary)
        };
        let (memory, summary) = with("memory");
        assert_eq!(number(&summary["bytes"], "up"), 0.0);
        let (grpc, over_grpc) = with("grpc");
        assert!(memory == grpc, "{options:?}: {summary} {over_grpc}");
        let mut arguments = vec!["-k", "25"];
        arguments.extend_from_slice(options);
        let mut cluster = Cluster::start(&place, "processes", &data, 3, &arguments);
        let as_processes = cluster.finish();
        check(&as_processes, &cluster, &data, 25);
        assert!(memory == fs::read(&cluster.model).unwrap(), "{options:?}: {as_processes}");
        for key in ["rounds", "stopped", "selected", "nnz"] {
            assert_eq!(summary[key], as_processes[key], "{key}");
        }
        let accuracy = |summary: &Value| number(&summary["train"], "accuracy");
        assert_eq!(accuracy(&summary), accuracy(&as_processes));
        let auc = |summary: &Value| number(&summary["train"], "auc");
        assert!((auc(&summary) - auc(&as_processes)).abs() < 1e-3);
    }
}

#[test]
fn every_aggregation_ends_with_a_model_and_a_bound() {
    let place = Place::new();
    let data = place.synth("a.svm", 800, 1000);
    let mut reached = Vec::new();
    for (name, options) in [
        ("average", &["--aggregate", "average"][..]),
        ("min", &["--aggregate", "min"]),
        ("weighted", &["--aggregate", "weighted", "--power", "2"]),
        ("async", &["--aggregate", "average", "--async", "2"]),
        ("async-exact", &["--async", "2", "--max-staleness", "5"]),
        ("exact", &[]),
    ] {
        let mut arguments = vec!["-k", "30", "--lambda", "1e-3", "--rounds", "20", "--gap", "0"];
        arguments.extend_from_slice(options);
        let mut cluster = Cluster::start(&place, name, &data, 4, &arguments);
        let summary = cluster.finish();
        check(&summary, &cluster, &data, 30);
        assert_eq!(summary["stopped"], "rounds", "{name}");
        let selected = summary["selected"].as_array().map_or(0, Vec::len);
        assert_eq!(selected, if name == "min" { 20 } else { 0 }, "{name}");
        let stale = number(&summary["staleness"], "largest");
        assert!(if name.starts_with("async") { stale > 0.0 } else { stale == 0.0 }, "{name}");
        assert!(name != "async-exact" || stale <= 5.0, "{stale}");
        reached.push((number(&summary, "objective"), name));
    }
    let best = reached.iter().map(|r| r.0).fold(f64::INFINITY, f64::min);
    let exact = reached.last().unwrap().0;
    // Without a barrier the same model may be found, summed in another order.
    assert!(exact <= best * (1.0 + 1e-9), "exact is not the lowest: {reached:?}");
}

/// More workers than rows, a class that only one shard has, and shards of different size.
#[test]
fn odd_shards_train() {
    let place = Place::new();
    let few = place.write("few.svm", "+1 1:1 3:2\n-1 2:1\n+1 1:0.5\n");
    // Row 1 of 7 is the only negative one: two of three shards have one class.
    let one_class = "+1 1:1 2:0.1\n-1 2:1\n+1 1:2\n+1 1:1 3:1\n+1 3:0.3\n+1 1:1\n+1 2:0.2\n";
    let one_class = place.write("one-class.svm", one_class);
    for (name, data, workers) in [("few", &few, 5), ("one-class", &one_class, 3)] {
        let options = ["-k", "2", "--lambda", "1e-2"];
        let mut cluster = Cluster::start(&place, name, data, workers, &options);
        let summary = cluster.finish();
        check(&summary, &cluster, data, 2);
        let (mut train, _) = place.train(data, 2, "one.json");
        let one = json(train.args(["--lambda", "1e-2"]));
        let (ours, alone) = (number(&summary, "objective"), number(&one, "objective"));
        assert!((ours / alone - 1.0).abs() < 2e-3, "{name}: {ours} {alone}");
    }
}

#[test]
fn shards_on_disk_train_the_same_model_as_text() {
    let place = Place::new();
    let data = place.synth("a.svm", 300, 400);
    let options = ["-k", "15", "--rounds", "10", "--gap", "0"];
    let mut text = Cluster::start(&place, "text", &data, 4, &options);
    text.finish();
    // Cut for this number of workers, and for another.
    for count in ["4", "3"] {
        let dir = place.path(&format!("shards-{count}"));
        ok(ddiht().arg("shard").arg(&data).args(["-n", count, "-o"]).arg(&dir));
        let mut shards = Cluster::start(&place, &format!("shards{count}"), &dir, 4, &options);
        shards.finish();
        assert!(fs::read(&text.model).unwrap() == fs::read(&shards.model).unwrap(), "{count}");
    }
}

#[test]
fn workers_may_come_late_or_before_their_server() {
    let place = Place::new();
    let data = place.synth("a.svm", 300, 400);
    let options = ["-k", "15", "--rounds", "10", "--gap", "0"];
    let mut calm = Cluster::start(&place, "calm", &data, 3, &options);
    calm.finish();

    let mut late = Cluster::serve(&place, "late", &data, 3, &options);
    late.join(&[]);
    late.server.wait_for("worker 1 of 3");
    let status: Value = serde_json::from_str(&ok(late.ask("status").arg("--json"))).unwrap();
    assert_eq!(status["phase"], "gathering");
    assert_eq!((number(&status, "workers"), number(&status, "workers_needed")), (1.0, 3.0));
    assert_eq!(ok(&mut late.ask("health")), "serving\n");
    thread::sleep(Duration::from_millis(200));
    late.join(&[]);
    late.join(&[]);
    late.finish();
    assert!(fs::read(&calm.model).unwrap() == fs::read(&late.model).unwrap());

    let nowhere = free_address();
    let impatient = ["worker", "--server", &nowhere, "--connect-timeout", "1s"];
    let message = fails(ddiht().args(impatient), 1);
    assert!(message.contains(&nowhere), "{message}");
}

#[test]
fn a_slow_worker_does_not_hold_up_the_others() {
    let place = Place::new();
    let data = place.synth("a.svm", 4000, 2000);
    let history = place.path("h.jsonl");
    let file = history.display().to_string();
    let options = [
        "-k",
        "2000",
        "--rounds",
        "60",
        "--gap",
        "0",
        "--async",
        "2",
        "--history",
        &file,
        "--lambda",
        "1e-3",
    ];
    // With all features there is no search for some of them, in which all would wait for the slow one.
    let mut cluster = Cluster::serve(&place, "slow", &data, 3, &options);
    cluster.join(&["--delay", "30ms"]);
    cluster.join(&[]);
    cluster.join(&[]);
    let summary = cluster.finish();
    check(&summary, &cluster, &data, 2000);
    // With a barrier no answer is older than its round.
    assert!(number(&summary["staleness"], "largest") >= 2.0, "{summary}");
    let lines = read_lines(&history);
    assert_eq!(lines.len() as f64, number(&summary, "rounds"));
    assert!(lines.iter().all(|line| line["worker_seconds"].as_array().unwrap().len() == 3));
}

#[test]
fn stop_ends_a_run_with_its_best_model() {
    let place = Place::new();
    let data = place.synth("a.svm", 2000, 3000);
    let options = ["-k", "40", "--gap", "0", "--time", "10m"];
    let mut cluster = Cluster::start(&place, "stop", &data, 2, &options);
    cluster.server.wait_for("listening");
    let status =
        || -> Value { serde_json::from_str(&ok(cluster.ask("status").arg("--json"))).unwrap() };
    while status()["objective"].is_null() {
        thread::sleep(Duration::from_millis(20));
    }
    assert!(ok(&mut cluster.ask("status")).contains("training"));
    ok(&mut cluster.ask("stop"));
    let summary = cluster.finish();
    assert_eq!(summary["stopped"], "interrupted");
    check(&summary, &cluster, &data, 40);
}

#[test]
fn a_bad_line_ends_the_run_with_its_place() {
    let place = Place::new();
    let data = place.write("bad.svm", "+1 1:1\n-1 2:1\n+1 3:x\n-1 1:2\n");
    let mut cluster = Cluster::start(&place, "bad", &data, 2, &["-k", "1"]);
    assert_eq!(cluster.server.wait().code(), Some(2));
    assert!(cluster.server.log().contains("bad.svm:3:"), "{}", cluster.server.log());
    let mut codes: Vec<_> = cluster.workers.iter_mut().map(|w| w.wait().code()).collect();
    codes.sort_unstable();
    assert_eq!(codes, [Some(1), Some(2)]);
    assert!(!cluster.model.exists());

    let one_class = place.write("one.svm", "+1 1:1\n+1 2:1\n+1 3:1\n");
    let mut cluster = Cluster::start(&place, "one", &one_class, 2, &["-k", "1"]);
    assert_eq!(cluster.server.wait().code(), Some(2));
    assert!(cluster.server.log().contains("two classes"), "{}", cluster.server.log());
}

#[test]
fn wrong_calls_are_refused_with_a_sentence() {
    let place = Place::new();
    let data = place.synth("a.svm", 50, 60);
    let server = |options: &[&str]| {
        let mut command = ddiht();
        command.args(["server", "--data"]).arg(&data).args(["-k", "5"]).args(options);
        command
    };
    let open = ["--listen", "0.0.0.0:0", "--workers", "1"];
    assert!(fails(&mut server(&open), 2).contains("--insecure"));
    let crowded = ["--workers", "3", "--max-connections", "2"];
    assert!(fails(&mut server(&crowded), 2).contains("--max-connections"));
    assert!(fails(&mut server(&["--workers", "0"]), 2).contains("--workers"));
    assert!(fails(&mut server(&["--workers", "2", "--async", "3"]), 2).contains("--async"));
    assert!(
        fails(&mut server(&["--listen", "nonsense", "--workers", "1"]), 2).contains("nonsense")
    );
    let min = ["--workers", "2", "--async", "1", "--aggregate", "min"];
    assert!(fails(&mut server(&min), 2).contains("min"));
    let mixed = ["--workers", "2", "--aggregate", "exact", "--algorithm", "sdiht"];
    assert!(fails(&mut server(&mixed), 2).contains("--aggregate"));
    let nobody = free_address();
    for command in ["status", "stop", "health"] {
        assert!(fails(ddiht().args([command, &nobody]), 1).contains(&nobody));
    }
    let taken = Cluster::serve(&place, "taken", &data, 1, &["-k", "5"]);
    taken.server.wait_for("listening");
    let again = server(&["--listen", &taken.address, "--workers", "1"]).output().unwrap();
    assert_eq!(again.status.code(), Some(1));
    assert!(stderr(&again).contains(&taken.address), "{}", stderr(&again));
}

#[test]
fn a_worker_remembers_its_shard() {
    let place = Place::new();
    let data = place.synth("a.svm", 100, 60);
    let (first, second) = (place.path("s0"), place.path("s1"));
    let mut shards = Vec::new();
    for name in ["one", "two"] {
        let mut cluster = Cluster::serve(&place, name, &data, 2, &["-k", "5", "--rounds", "3"]);
        // In the second life they come in the other order.
        let mut order = [&first, &second];
        if name == "two" {
            order.reverse();
        }
        cluster.join(&["--state", order[0].to_str().unwrap()]);
        cluster.server.wait_for("worker 1 of 2");
        cluster.join(&["--state", order[1].to_str().unwrap()]);
        cluster.finish();
        shards.push([&first, &second].map(|dir| fs::read_to_string(dir.join("shard")).unwrap()));
    }
    assert_eq!(shards[0], ["0\n", "1\n"]);
    assert_eq!(shards[0], shards[1]);
}

#[test]
fn regression_and_tests_are_measured_by_a_cluster_too() {
    let place = Place::new();
    let text: String = (0..60).map(|i| format!("{} 1:{} 2:{}\n", 3 * i + 1, i, i % 7)).collect();
    let data = place.write("r.svm", text);
    let test = data.display().to_string();
    let options = ["-k", "2", "--loss", "squared", "--lambda", "1e-3", "--test", &test];
    let mut cluster = Cluster::start(&place, "r", &data, 3, &options);
    let summary = cluster.finish();
    let (train, test) = (&summary["train"], &summary["test"]);
    for key in ["rmse", "r2"] {
        let (a, b) = (number(train, key), number(test, key));
        assert!((a / b - 1.0).abs() < 1e-9, "{key}: {a} {b}");
    }
    assert!(number(train, "r2") > 0.99);
    assert_eq!(read_json(&cluster.model)["labels"], Value::Null);
}
