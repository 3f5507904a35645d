//! Clusters that trust nobody without credentials: tokens.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Stdio,
    thread,
    time::{Duration, Instant},
};

use crate::{
    processes::{Cluster, Process, free_address},
    util::{Place, ddiht, fails, number, ok},
};

const EVERYTHING: &str = "everything-0123456789abcdef";
const WORKER: &str = "worker-only-0123456789abcdef";
const OBSERVER: &str = "observer-only-0123456789abcdef";
const OPERATOR: &str = "operator-only-0123456789abcdef";
const WRONG: &str = "nobody-0123456789abcdef";
/// A refusal is final: nobody waits for it to change.
const AT_ONCE: Duration = Duration::from_secs(5);

/// A path as an argument.
fn text(path: &Path) -> String {
    path.display().to_string()
}

/// The server's file of tokens.
fn tokens(place: &Place) -> String {
    let lines = format!(
        "# tokens of a test\n{EVERYTHING}\nworker {WORKER}\nobserver {OBSERVER}\noperator {OPERATOR}\n"
    );
    text(&place.write("tokens", lines))
}

/// A file with one token.
fn token(place: &Place, token: &str) -> String {
    let name = token.split('-').next().unwrap();
    text(&place.write(name, format!("  {token} \nanother line\n")))
}

/// Runs a command that the server must refuse at once, with this in the message.
fn refused(command: &mut std::process::Command, expected: &[&str]) {
    let start = Instant::now();
    let message = fails(command, 1);
    assert!(start.elapsed() < AT_ONCE, "it took {:?} to say: {message}", start.elapsed());
    for text in expected {
        assert!(message.contains(text), "no `{text}` in: {message}");
    }
    for secret in [EVERYTHING, WORKER, OBSERVER, OPERATOR, WRONG] {
        assert!(!message.contains(secret), "{message}");
    }
}

/// A run ends with a model whatever was tried before.
fn finishes(cluster: &mut Cluster<'_>) {
    let summary = cluster.finish();
    assert!(number(&summary, "dual_bound") <= number(&summary, "objective"), "{summary}");
    assert!(cluster.model.exists());
}

#[test]
fn a_call_needs_a_token_with_the_right_role() {
    let place = Place::new();
    let data = place.synth("a.svm", 200, 300);
    let file = tokens(&place);
    let options = ["-k", "10", "--rounds", "10", "--gap", "0", "--token-file", &file];
    let mut cluster = Cluster::serve(&place, "roles", &data, 2, &options);
    let [everything, worker, observer, operator, wrong] =
        [EVERYTHING, WORKER, OBSERVER, OPERATOR, WRONG].map(|secret| token(&place, secret));
    cluster.join(&["--token-file", &worker]);
    cluster.server.wait_for("worker 1 of 2");

    let join = || {
        let mut command = ddiht();
        command.args(["worker", "--quiet", "--server", &cluster.address]);
        command
    };
    let with = |command: &str, file: &str| {
        let mut call = cluster.ask(command);
        call.args(["--token-file", file]);
        call
    };
    refused(&mut join(), &["UNAUTHENTICATED", "wants a token"]);
    refused(join().args(["--token-file", &wrong]), &["UNAUTHENTICATED", "none of this server's"]);
    for role in [&observer, &operator] {
        refused(join().args(["--token-file", role]), &["PERMISSION_DENIED", "the role worker"]);
    }
    refused(&mut cluster.ask("status"), &["UNAUTHENTICATED", "wants a token"]);
    refused(with("status", &worker).arg("--follow"), &["PERMISSION_DENIED", "the role observer"]);
    refused(&mut with("stop", &wrong), &["UNAUTHENTICATED", "none of this server's"]);
    for role in [&worker, &observer] {
        refused(&mut with("stop", role), &["PERMISSION_DENIED", "the role operator"]);
    }
    for role in [&observer, &operator, &everything] {
        assert!(ok(&mut with("status", role)).contains("1 of 2"));
    }
    // Health is everybody's business.
    assert_eq!(ok(&mut cluster.ask("health")), "serving\n");
    assert_eq!(ok(&mut with("health", &wrong)), "serving\n");

    cluster.join(&["--token-file", &everything]);
    finishes(&mut cluster);
}

#[test]
fn an_operator_may_end_a_run() {
    let place = Place::new();
    let data = place.synth("a.svm", 2000, 3000);
    let file = tokens(&place);
    let options = ["-k", "40", "--gap", "0", "--time", "10m", "--token-file", &file];
    let mut cluster = Cluster::serve(&place, "operator", &data, 1, &options);
    cluster.join(&["--token-file", &token(&place, WORKER)]);
    let operator = token(&place, OPERATOR);
    let ask = |command: &str| ok(cluster.ask(command).args(["--token-file", &operator]));
    cluster.server.wait_for("worker 1 of 1");
    while !ask("status").contains("training") {
        thread::sleep(Duration::from_millis(20));
    }
    ask("stop");
    finishes(&mut cluster);
}

#[test]
fn new_tokens_are_read_while_a_server_runs() {
    let place = Place::new();
    let data = place.synth("a.svm", 100, 60);
    let file = place.write("tokens", format!("{EVERYTHING}\n"));
    let options = ["-k", "5", "--rounds", "5", "--gap", "0", "--token-file", &text(&file)];
    let mut cluster = Cluster::serve(&place, "reread", &data, 1, &options);
    cluster.server.wait_for("listening");
    let (old, new) = (token(&place, EVERYTHING), token(&place, WORKER));
    refused(cluster.ask("status").args(["--token-file", &new]), &["UNAUTHENTICATED"]);

    // As it should be done: a reader never sees half a file.
    let replace = |content: &str| {
        fs::rename(place.write("tokens.new", content), &file).unwrap();
        thread::sleep(Duration::from_millis(700));
    };
    replace(&format!("{WORKER}\n"));
    refused(cluster.ask("status").args(["--token-file", &old]), &["UNAUTHENTICATED"]);
    ok(cluster.ask("status").args(["--token-file", &new]));
    // A file that makes no sense locks nobody out, and lets nobody in.
    replace("emperor something\n");
    ok(cluster.ask("status").args(["--token-file", &new]));
    assert!(cluster.server.log().contains("line 1 of"), "{}", cluster.server.log());
    assert!(!cluster.server.log().contains("something"));

    cluster.join(&["--token-file", &new]);
    finishes(&mut cluster);
}

#[test]
fn no_secret_is_ever_logged() {
    let place = Place::new();
    let data = place.synth("a.svm", 100, 60);
    let (address, file) = (free_address(), tokens(&place));
    let start = |arguments: &[&str], log: &str| {
        let mut command = ddiht();
        command.args(arguments).env("RUST_LOG", "trace").stdout(Stdio::null());
        Process::start(&mut command, place.path(log))
    };
    let data = text(&data);
    let listen = ["server", "--listen", &address, "--workers", "1", "--token-file", &file];
    // Few rounds: a call is many lines at this level.
    let job = ["--data", &data, "-k", "5", "--rounds", "3", "--aggregate", "average"];
    let mut server = start(&[&listen[..], &job].concat(), "server.log");
    let join = |secret: &str| {
        let arguments = ["worker", "--server", &address, "--token-file", &token(&place, secret)];
        let mut worker = start(&arguments, &format!("{}.log", &secret[..6]));
        (worker.wait(), worker)
    };
    let (refused, intruder) = join(WRONG);
    assert_eq!(refused.code(), Some(1), "{}", intruder.log());
    let (done, worker) = join(WORKER);
    assert!(done.success(), "{}", worker.log());
    assert!(server.wait().success(), "{}", server.log());
    for process in [&server, &intruder, &worker] {
        let log = process.log();
        assert!(log.contains("TRACE") && log.contains("HEADERS"), "not at this level: {log}");
        for secret in [EVERYTHING, WORKER, OBSERVER, OPERATOR, WRONG] {
            assert!(!log.contains(secret), "{log}");
        }
    }
}

#[test]
fn files_that_make_no_sense_are_refused_before_anything_starts() {
    let place = Place::new();
    let data = place.synth("a.svm", 50, 60);
    let server = |file: &PathBuf| {
        let mut command = ddiht();
        command.args(["server", "--listen", &free_address(), "--workers", "1", "-k", "5"]);
        command.arg("--data").arg(&data).arg("--token-file").arg(file);
        command
    };
    let worker = |file: &PathBuf| {
        let mut command = ddiht();
        command.args(["worker", "--server", &free_address(), "--token-file"]).arg(file);
        command
    };
    let missing = place.path("missing");
    let empty = place.write("empty", "\n# nothing\n");
    let reversed = place.write("reversed", format!("{WORKER} worker\n"));
    assert!(fails(&mut server(&missing), 2).contains("missing"));
    assert!(fails(&mut server(&empty), 2).contains("no token"));
    let message = fails(&mut server(&reversed), 2);
    assert!(message.contains("line 1") && !message.contains(WORKER), "{message}");
    assert!(fails(&mut worker(&missing), 2).contains("missing"));
    assert!(fails(&mut worker(&empty), 2).contains("no token"));
    let message = fails(&mut worker(&reversed), 2);
    assert!(message.contains("line 1") && !message.contains(WORKER), "{message}");
}
