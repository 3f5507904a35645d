//! Workers and servers that die, sleep or come back, one at a time: what is asserted is the model.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::{
    processes::{Cluster, Process},
    util::{Place, ddiht, json, number, ok, read_json, read_lines},
};

/// A run that lasts, so that there is time for something to happen to it.
const LONG: [&str; 8] = ["-k", "40", "--gap", "0", "--time", "5s", "--heartbeat-timeout", "1s"];

/// A run that ends by itself, however long it takes: the same end whatever happened on the way.
const WHOLE: [&str; 8] =
    ["-k", "40", "--gap", "1e-4", "--rounds", "400", "--heartbeat-timeout", "1s"];

fn status(cluster: &Cluster<'_>) -> Option<Value> {
    let out = cluster.ask("status").arg("--json").output().unwrap();
    serde_json::from_slice(&out.stdout).ok()
}

/// Waits until the run has done `rounds` rounds.
fn wait_for_round(cluster: &Cluster<'_>, rounds: f64) {
    let start = Instant::now();
    while status(cluster).is_none_or(|s| s["round"].as_f64().is_none_or(|r| r < rounds)) {
        assert!(start.elapsed() < Duration::from_secs(60), "{}", cluster.server.log());
        thread::sleep(Duration::from_millis(10));
    }
}

/// What must hold of every run, and that nobody panicked.
fn check(summary: &Value, cluster: &Cluster<'_>, data: &Path) {
    let (objective, bound) = (number(summary, "objective"), number(summary, "dual_bound"));
    assert!(bound <= objective, "{summary}");
    let again = json(ddiht().arg("eval").arg(&cluster.model).arg(data).arg("--json"));
    assert!((number(&again, "objective") / objective - 1.0).abs() < 1e-9, "{summary} {again}");
    let logs = cluster.workers.iter().map(Process::log).chain([cluster.server.log()]);
    logs.for_each(|log| assert!(!log.contains("panicked"), "{log}"));
}

#[track_caller]
fn as_good_as(disturbed: &Value, calm: &Value) {
    let (ours, theirs) = (number(disturbed, "objective"), number(calm, "objective"));
    assert!(ours <= theirs * 1.001, "{ours} against {theirs}");
    assert!(number(disturbed, "dual_bound") <= ours.min(theirs), "{disturbed}");
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// One worker with state on disk and one without die in the middle of a run, in every aggregation.
#[test]
fn a_killed_worker_is_replaced() {
    let place = Place::new();
    let data = place.synth("a.svm", 1500, 2000);
    for (name, options) in [
        ("exact", &[][..]),
        ("async-exact", &["--async", "2"]),
        ("average", &["--aggregate", "average"]),
        ("async-average", &["--aggregate", "average", "--async", "2"]),
        ("min", &["--aggregate", "min"]),
        ("weighted", &["--aggregate", "weighted", "--power", "2"]),
    ] {
        let arguments = [&LONG[..], options].concat();
        let mut cluster = Cluster::serve(&place, name, &data, 3, &arguments);
        let state = place.path(&format!("{name}-state"));
        cluster.join(&["--state", text(&state)]);
        cluster.join(&[]);
        cluster.join(&[]);
        wait_for_round(&cluster, 5.0);
        cluster.workers[0].kill();
        cluster.workers[1].kill();
        thread::sleep(Duration::from_millis(200));
        cluster.restart_worker(0, &["--state", text(&state)]);
        cluster.restart_worker(1, &[]);
        let summary = cluster.finish();
        assert_eq!(summary["stopped"], "time", "{name}");
        check(&summary, &cluster, &data);
        // The one with a name of its own need not wait until its death is noticed.
        assert!(cluster.workers[1].log().contains("all 3 shards have a worker"), "{name}");
        assert!(!cluster.workers[0].log().contains("all 3 shards have a worker"), "{name}");
    }
}

#[test]
fn the_model_is_as_good_as_that_of_a_quiet_run() {
    let place = Place::new();
    let data = place.synth("a.svm", 1500, 2000);
    let mut calm = Cluster::start(&place, "calm", &data, 3, &WHOLE);
    let calm = calm.finish();
    let mut cluster = Cluster::serve(&place, "storm", &data, 3, &WHOLE);
    let states: Vec<PathBuf> = (0..3).map(|i| place.path(&format!("state{i}"))).collect();
    states.iter().for_each(|state| cluster.join(&["--state", text(state)]));
    let returns = |cluster: &Cluster<'_>| cluster.server.log().matches("goes on, with").count();
    for (round, number) in [(10.0, 0), (30.0, 1), (60.0, 0)] {
        wait_for_round(&cluster, round);
        let before = returns(&cluster);
        cluster.workers[number].kill();
        cluster.restart_worker(number, &["--state", text(&states[number])]);
        while returns(&cluster) == before {
            thread::sleep(Duration::from_millis(5));
        }
    }
    let summary = cluster.finish();
    check(&summary, &cluster, &data);
    as_good_as(&summary, &calm);
    assert!(returns(&cluster) >= 3, "{}", cluster.server.log());
}

#[test]
fn a_worker_that_sleeps_loses_its_place_and_finds_it_again() {
    let place = Place::new();
    let data = place.synth("a.svm", 1500, 2000);
    let mut cluster = Cluster::start(&place, "sleep", &data, 2, &LONG);
    wait_for_round(&cluster, 5.0);
    cluster.workers[1].signal("STOP");
    cluster.server.wait_for("silent");
    let told = ok(&mut cluster.ask("status"));
    assert!(told.contains("1 of 2"), "{told}");
    cluster.workers[1].signal("CONT");
    let summary = cluster.finish();
    check(&summary, &cluster, &data);
    assert!(cluster.workers[1].log().contains("has ended: join again"));
}

#[test]
fn a_spare_worker_takes_over() {
    let place = Place::new();
    let data = place.synth("a.svm", 1500, 2000);
    let options = [&LONG[..], &["--spares", "1"]].concat();
    let mut cluster = Cluster::start(&place, "spare", &data, 2, &options);
    wait_for_round(&cluster, 2.0);
    cluster.join(&[]);
    cluster.server.wait_for("a spare worker");
    cluster.workers[0].kill();
    cluster.server.wait_for("goes on, with");
    cluster.workers.remove(0);
    let summary = cluster.finish();
    check(&summary, &cluster, &data);

    // One that is never needed is sent home in peace.
    let options = ["-k", "10", "--rounds", "5", "--spares", "1"];
    let mut cluster = Cluster::serve(&place, "idle", &data, 1, &options);
    (0..2).for_each(|_| cluster.join(&[]));
    cluster.finish();
}

#[test]
fn a_live_worker_adopts_the_shard_of_a_dead_one() {
    let place = Place::new();
    let data = place.synth("a.svm", 1500, 2000);
    let options = [
        "-k",
        "40",
        "--gap",
        "0",
        "--time",
        "8s",
        "--heartbeat-timeout",
        "500ms",
        "--adopt-orphans",
    ];
    let mut cluster = Cluster::start(&place, "adopt", &data, 3, &options);
    wait_for_round(&cluster, 5.0);
    cluster.workers[2].kill();
    cluster.server.wait_for("is offered to the worker of shard");
    cluster.server.wait_for("goes on, with");
    cluster.workers.remove(2);
    let summary = cluster.finish();
    check(&summary, &cluster, &data);
    assert!(cluster.workers.iter().any(|w| w.log().contains("it is taken as well")));
}

/// The checkpoints of a directory, oldest first.
fn checkpoints(directory: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        files.filter(|p| p.extension().is_some_and(|e| e == "ddiht")).collect();
    files.sort();
    files
}

fn wait_for_checkpoint(cluster: &Cluster<'_>, directory: &Path, count: usize) {
    let start = Instant::now();
    while !directory.is_dir() || checkpoints(directory).len() < count {
        assert!(start.elapsed() < Duration::from_secs(60), "{}", cluster.server.log());
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_killed_server_goes_on_from_its_checkpoint() {
    let place = Place::new();
    let data = place.synth("a.svm", 1500, 2000);
    let mut calm = Cluster::start(&place, "calm", &data, 3, &WHOLE);
    let calm = calm.finish();
    let (directory, history) = (place.path("ck"), place.path("h.jsonl"));
    let kept = ["--checkpoint", text(&directory), "--checkpoint-every", "100ms"];
    let options = [&WHOLE[..], &kept, &["--history", text(&history)]].concat();
    let mut cluster = Cluster::start(&place, "killed", &data, 3, &options);
    for kills in 1..=2 {
        wait_for_checkpoint(&cluster, &directory, 2);
        wait_for_round(&cluster, 20.0 * f64::from(kills));
        // The best model is there at every moment.
        let best = read_json(&directory.join("best.json"));
        assert_eq!(best["format"], "ddiht-model");
        cluster.server.kill();
        cluster.restart_server();
        cluster.server.wait_for("going on from");
    }
    let summary = cluster.finish();
    check(&summary, &cluster, &data);
    as_good_as(&summary, &calm);
    assert!(cluster.server.log().matches("going on from").count() == 2);
    let rounds: Vec<f64> = read_lines(&history).iter().map(|line| number(line, "round")).collect();
    assert!(rounds.is_sorted_by(|a, b| a < b), "{rounds:?}");
    let seconds: Vec<f64> = read_lines(&history).iter().map(|l| number(l, "seconds")).collect();
    assert!(seconds.is_sorted(), "training time is carried on");
    assert!(checkpoints(&directory).is_empty(), "a run that is over leaves nothing to go on with");
}

#[test]
fn all_processes_die_and_the_run_goes_on() {
    let place = Place::new();
    let data = place.synth("a.svm", 1500, 2000);
    let directory = place.path("ck");
    let kept = ["--checkpoint", text(&directory), "--checkpoint-every", "100ms"];
    let options = [&LONG[..], &kept].concat();
    let mut cluster = Cluster::serve(&place, "all", &data, 2, &options);
    let states = [place.path("s0"), place.path("s1")];
    states.iter().for_each(|state| cluster.join(&["--state", text(state)]));
    wait_for_checkpoint(&cluster, &directory, 2);
    // Until the dual variables are on disk as well.
    while !states.iter().all(|state| state.join("alpha.ddiht").is_file()) {
        thread::sleep(Duration::from_millis(20));
    }
    cluster.server.kill();
    cluster.workers.iter_mut().for_each(Process::kill);
    cluster.restart_server();
    (0..2).for_each(|i| cluster.restart_worker(i, &["--state", text(&states[i])]));
    let summary = cluster.finish();
    check(&summary, &cluster, &data);
    for worker in &cluster.workers {
        assert!(worker.log().contains("of an earlier life are taken up"), "{}", worker.log());
    }
}

#[test]
fn checkpoints_that_cannot_be_used_are_refused_with_a_sentence() {
    let place = Place::new();
    let data = place.synth("a.svm", 800, 900);
    let directory = place.path("ck");
    let kept = ["--checkpoint", text(&directory), "--checkpoint-every", "50ms"];
    let options = [&LONG[..], &kept].concat();
    let mut cluster = Cluster::start(&place, "torn", &data, 2, &options);
    wait_for_checkpoint(&cluster, &directory, 2);
    cluster.server.kill();

    // What is in it.
    let newest = checkpoints(&directory).pop().unwrap();
    let told = ok(ddiht().arg("inspect").arg(&newest));
    assert!(told.contains("2 shards") && told.contains("-k 40"), "{told}");
    let told = json(ddiht().arg("inspect").arg(&newest).arg("--json"));
    assert_eq!(told["format"], "ddiht-checkpoint");
    assert!(number(&told, "rounds") > 0.0, "{told}");

    // Another job.
    let mut server = ddiht();
    server.args(["server", "--listen", "127.0.0.1:0", "--workers", "2", "--data"]).arg(&data);
    server.args(["-k", "41", "--checkpoint"]).arg(&directory);
    let message = crate::util::fails(&mut server, 2);
    assert!(message.contains("another job") && message.contains("-k is 40 there"), "{message}");

    // Another version of the layout.
    let good = fs::read(&newest).unwrap();
    let mut other = good.clone();
    other[12] = 9;
    fs::write(&newest, &other).unwrap();
    cluster.restart_server();
    assert_eq!(cluster.server.wait().code(), Some(2));
    assert!(cluster.server.log().contains("version 9"), "{}", cluster.server.log());

    // A torn one: the one before it is used.
    fs::write(&newest, &good[..good.len() / 2]).unwrap();
    cluster.restart_server();
    cluster.server.wait_for("is torn");
    cluster.server.wait_for("going on from");
    let summary = cluster.finish();
    check(&summary, &cluster, &data);

    // No directory at all.
    let file = place.write("file", "");
    let mut server = ddiht();
    server.args(["server", "--listen", "127.0.0.1:0", "--workers", "2", "--data"]).arg(&data);
    server.args(["-k", "41", "--checkpoint"]).arg(file.join("ck"));
    assert!(crate::util::fails(&mut server, 2).contains("cannot keep checkpoints in"));
}

#[test]
fn data_that_changed_are_noticed() {
    let place = Place::new();
    let data = place.synth("a.svm", 800, 900);
    let directory = place.path("ck");
    let kept = ["--checkpoint", text(&directory), "--checkpoint-every", "50ms"];
    let options = [&LONG[..], &kept].concat();
    let mut cluster = Cluster::start(&place, "changed", &data, 1, &options);
    wait_for_checkpoint(&cluster, &directory, 1);
    cluster.server.kill();
    cluster.workers[0].kill();
    fs::write(&data, "+1 1:1\n-1 2:1\n").unwrap();
    cluster.restart_server();
    cluster.restart_worker(0, &[]);
    assert_eq!(cluster.server.wait().code(), Some(2));
    assert!(cluster.server.log().contains("not those of the checkpoint"));
}

/// A disk that is full costs checkpoints, not the run.
#[test]
fn a_full_disk_is_said_and_survived() {
    let place = Place::new();
    let disk = place.path("disk");
    fs::create_dir(&disk).unwrap();
    let mut mount = Command::new("mount");
    mount.args(["-t", "tmpfs", "-o", "size=16k", "tmpfs"]).arg(&disk);
    if !mount.output().is_ok_and(|out| out.status.success()) {
        return println!("skipped: a small disk cannot be mounted here");
    }
    let data = place.synth("a.svm", 800, 2000);
    let kept = ["--checkpoint", text(&disk), "--checkpoint-every", "20ms"];
    let options = ["-k", "900", "--gap", "0", "--time", "2s"];
    let mut cluster = Cluster::start(&place, "full", &data, 2, &[&options[..], &kept].concat());
    let summary = cluster.finish();
    assert!(Command::new("umount").arg(&disk).status().unwrap().success());
    check(&summary, &cluster, &data);
    let log = cluster.server.log();
    assert!(log.contains("cannot write a checkpoint to"), "{log}");
    assert_eq!(log.matches("cannot write a checkpoint to").count(), 1, "said once: {log}");
}

#[test]
fn everybody_ends_soon_when_asked_to() {
    let place = Place::new();
    let data = place.synth("a.svm", 2000, 3000);
    let options = ["-k", "40", "--gap", "0", "--time", "10m"];
    let directory = place.path("state");
    for (name, lost) in [("TERM", false), ("INT", false), ("TERM", true)] {
        let mut cluster = Cluster::serve(&place, &format!("{name}{lost}"), &data, 2, &options);
        cluster.join(&["--state", text(&directory)]);
        cluster.join(&[]);
        wait_for_round(&cluster, 5.0);
        if lost {
            // One that never answers again must not keep the rest.
            cluster.workers[1].kill();
        }
        let start = Instant::now();
        cluster.server.signal(name);
        let code = cluster.server.wait().code();
        assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
        assert_eq!(code, Some(0), "{}", cluster.server.log());
        assert!(cluster.model.is_file());
        assert_eq!(cluster.workers[0].wait().code(), Some(0));
        assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
        assert!(lost || cluster.workers[1].wait().success());
    }
    // A worker alone: its server stays, and what it knew is on disk.
    let mut cluster = Cluster::serve(&place, "worker", &data, 1, &options);
    cluster.join(&["--state", text(&directory)]);
    wait_for_round(&cluster, 5.0);
    fs::remove_file(directory.join("alpha.ddiht")).unwrap();
    let start = Instant::now();
    cluster.workers[0].signal("TERM");
    assert_eq!(cluster.workers[0].wait().code(), Some(1));
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    assert!(directory.join("alpha.ddiht").is_file());
    assert!(cluster.server.is_running());
}

#[test]
fn two_workers_cannot_share_a_state() {
    let place = Place::new();
    let data = place.synth("a.svm", 100, 60);
    let state = place.path("state");
    let mut cluster = Cluster::serve(&place, "two", &data, 2, &["-k", "5", "--rounds", "3"]);
    cluster.join(&["--state", text(&state)]);
    cluster.server.wait_for("worker 1 of 2");
    cluster.join(&["--state", text(&state)]);
    assert_eq!(cluster.workers[1].wait().code(), Some(2));
    let log = cluster.workers[1].log();
    assert!(log.contains("another worker uses the state in"), "{log}");
    cluster.restart_worker(1, &[]);
    cluster.finish();
}
