//! Clusters over TLS: who trusts whom, and certificates that change while a server runs.

use std::{
    fs,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use crate::{
    certificates::{Authority, Signed},
    processes::{Cluster, Process, free_address},
    util::{Place, ddiht, fails, number, ok, output, stderr},
};

const TOKEN: &str = "a-secret-of-the-tests-0123456789";
/// Distrust is final: nobody waits for it to change.
const AT_ONCE: Duration = Duration::from_secs(5);
/// Between looks whether a change of a file has been seen, and how long that may take.
const PAUSE: Duration = Duration::from_millis(70);
const PATIENCE: Duration = Duration::from_secs(20);
const JOB: [&str; 6] = ["-k", "10", "--rounds", "10", "--gap", "0"];

/// Runs a command that must fail at once, with this in the message.
fn refused(command: &mut Command, expected: &str) {
    let start = Instant::now();
    let message = fails(command, 1);
    assert!(start.elapsed() < AT_ONCE, "it took {:?} to say: {message}", start.elapsed());
    assert!(message.contains(expected), "no `{expected}` in: {message}");
}

/// The same once files that have changed are noticed, however busy the machine is.
fn refused_by_and_by(command: impl Fn() -> Command, expected: &str) {
    let start = Instant::now();
    loop {
        let out = output(&mut command());
        let message = stderr(&out);
        if out.status.code() == Some(1) && message.contains(expected) {
            return;
        }
        assert!(start.elapsed() < PATIENCE, "no `{expected}` in the end: {message}");
        thread::sleep(PAUSE);
    }
}

fn ask_health(cluster: &Cluster<'_>, options: &[&str]) -> Command {
    let mut command = cluster.ask("health");
    command.args(options);
    command
}

fn worker(cluster: &Cluster<'_>, options: &[&str]) -> Command {
    let mut command = ddiht();
    command.args(["worker", "--quiet", "--server", &cluster.address]).args(options);
    command
}

/// A run ends with a model whatever was tried before.
fn finishes(cluster: &mut Cluster<'_>) {
    let summary = cluster.finish();
    assert!(number(&summary, "dual_bound") <= number(&summary, "objective"), "{summary}");
    assert!(cluster.model.exists());
}

#[test]
fn a_client_trusts_only_certificates_of_its_authority() {
    let place = Place::new();
    let data = place.synth("a.svm", 200, 300);
    let (ours, other) = (Authority::new(&place, "ours"), Authority::new(&place, "other"));
    let shown = ours.sign("server", &["127.0.0.1", "cluster.example"]);
    let options = [&JOB[..], &shown.options()].concat();
    let mut cluster = Cluster::serve(&place, "trust", &data, 2, &options);
    cluster.join(&["--tls-ca", &ours.file]);
    cluster.server.wait_for("worker 1 of 2");

    refused(&mut worker(&cluster, &["--tls-ca", &other.file]), "not of an authority in --tls-ca");
    let elsewhere = ["--tls-ca", &ours.file, "--tls-domain", "elsewhere.example"];
    refused(&mut worker(&cluster, &elsewhere), "for another name (--tls-domain)");
    for command in ["status", "stop", "health"] {
        let mut call = cluster.ask(command);
        refused(call.args(["--tls-ca", &other.file]), "not of an authority in --tls-ca");
    }
    // Without TLS there is no answer to be had, and no certificate to be wrong about.
    assert!(fails(&mut cluster.ask("status"), 1).contains(&cluster.address));
    let status = ok(cluster.ask("status").args(["--tls-ca", &ours.file]));
    assert!(status.contains("1 of 2"), "{status}");
    let named = ["--tls-ca", &ours.file, "--tls-domain", "cluster.example"];
    assert_eq!(ok(cluster.ask("health").args(named)), "serving\n");

    cluster.join(&named);
    finishes(&mut cluster);
}

#[test]
fn a_server_trusts_only_certificates_of_its_authority() {
    let place = Place::new();
    let data = place.synth("a.svm", 200, 300);
    let (ours, other) = (Authority::new(&place, "ours"), Authority::new(&place, "other"));
    let shown = ours.sign("server", &["127.0.0.1"]);
    let options = [&JOB[..], &shown.options(), &["--tls-client-ca", &ours.file]].concat();
    let mut cluster = Cluster::serve(&place, "mutual", &data, 2, &options);
    let of = |signed: &Signed| -> Vec<String> {
        let options = ["--tls-ca", &ours.file];
        options.iter().chain(&signed.options()).map(|&option| option.to_owned()).collect()
    };
    let good = of(&ours.sign("good", &["worker"]));
    let good: Vec<&str> = good.iter().map(String::as_str).collect();
    cluster.join(&good);
    cluster.server.wait_for("worker 1 of 2");

    let trust = ["--tls-ca", &ours.file];
    refused(&mut worker(&cluster, &trust), "it wants a certificate");
    refused(cluster.ask("stop").args(trust), "it wants a certificate");
    refused(cluster.ask("health").args(trust), "it wants a certificate");
    let expired = of(&ours.sign_expired("expired", &["worker"]));
    refused(worker(&cluster, &[]).args(&expired), "our certificate has expired");
    let foreign = of(&other.sign("foreign", &["worker"]));
    refused(worker(&cluster, &[]).args(&foreign), "our certificate is not of its authority");
    // A certificate is enough: there is no file of tokens.
    assert!(ok(cluster.ask("status").args(&good)).contains("1 of 2"));

    cluster.join(&good);
    finishes(&mut cluster);
    let log = cluster.server.log();
    assert!(log.contains("no TLS with 127.0.0.1"), "{log}");
}

#[test]
fn a_server_with_an_expired_certificate_is_not_trusted() {
    let place = Place::new();
    let data = place.synth("a.svm", 100, 60);
    let ours = Authority::new(&place, "ours");
    let expired = ours.sign_expired("expired", &["127.0.0.1"]);
    let options = [&JOB[..], &expired.options()].concat();
    let mut cluster = Cluster::serve(&place, "expired", &data, 1, &options);
    cluster.server.wait_for("listening");
    refused(&mut worker(&cluster, &["--tls-ca", &ours.file]), "its certificate has expired");
    // The server goes on; with a certificate that is good it is trusted.
    let good = ours.sign("good", &["127.0.0.1"]);
    fs::rename(good.key, expired.key).unwrap();
    fs::rename(good.certificate, expired.certificate).unwrap();
    let start = Instant::now();
    while !output(&mut ask_health(&cluster, &["--tls-ca", &ours.file])).status.success() {
        assert!(start.elapsed() < PATIENCE, "the new certificate is not shown");
        thread::sleep(PAUSE);
    }
    cluster.join(&["--tls-ca", &ours.file]);
    finishes(&mut cluster);
}

#[test]
fn certificates_change_while_connections_go_on() {
    let place = Place::new();
    let data = place.synth("a.svm", 200, 300);
    let (old, new) = (Authority::new(&place, "old"), Authority::new(&place, "new"));
    let shown = old.sign("server", &["127.0.0.1"]);
    let client_ca = place.write("clients.pem", fs::read(&old.file).unwrap()).display().to_string();
    let options = [&JOB[..], &shown.options(), &["--tls-client-ca", &client_ca]].concat();
    let mut cluster = Cluster::serve(&place, "rotate", &data, 2, &options);
    let (old_client, new_client) = (old.sign("old", &["w"]), new.sign("new", &["w"]));
    let with_old = [&["--tls-ca", &old.file][..], &old_client.options()].concat();
    let with_new = [&["--tls-ca", &new.file][..], &new_client.options()].concat();
    cluster.server.wait_for("listening");
    cluster.join(&with_old);
    cluster.server.wait_for("worker 1 of 2");
    refused(cluster.ask("health").args(&with_new), "not of an authority");

    let next = new.sign("next", &["127.0.0.1"]);
    fs::rename(next.key, &shown.key).unwrap();
    fs::rename(next.certificate, &shown.certificate).unwrap();
    fs::copy(&new.file, place.path("clients.new")).unwrap();
    fs::rename(place.path("clients.new"), &client_ca).unwrap();
    refused_by_and_by(|| ask_health(&cluster, &with_old), "not of an authority");
    let mixed = [&["--tls-ca", &new.file][..], &old_client.options()].concat();
    refused_by_and_by(|| ask_health(&cluster, &mixed), "our certificate is not of its authority");

    // The first worker is still connected as it was.
    cluster.join(&with_new);
    finishes(&mut cluster);
    let first = cluster.workers[0].log();
    assert!(!first.contains("waiting for the server"), "{first}");
}

#[test]
fn tokens_and_certificates_go_together() {
    let place = Place::new();
    let data = place.synth("a.svm", 100, 60);
    let ours = Authority::new(&place, "ours");
    let shown = ours.sign("server", &["127.0.0.1"]);
    let tokens = place.write("tokens", format!("worker {TOKEN}\n")).display().to_string();
    let token = place.write("token", TOKEN).display().to_string();
    let options = [&JOB[..], &shown.options(), &["--token-file", &tokens]].concat();
    let mut cluster = Cluster::serve(&place, "both", &data, 1, &options);
    cluster.server.wait_for("listening");
    refused(&mut worker(&cluster, &["--tls-ca", &ours.file]), "UNAUTHENTICATED");
    cluster.join(&["--tls-ca", &ours.file, "--token-file", &token]);
    finishes(&mut cluster);
}

#[test]
fn neither_end_is_careless_with_other_machines() {
    let place = Place::new();
    let data = place.synth("a.svm", 100, 60);
    let ours = Authority::new(&place, "ours");
    let shown = ours.sign("server", &["127.0.0.1"]);
    let serve = |options: &[&str]| {
        let mut command = ddiht();
        command.args(["server", "--listen", "0.0.0.0:0", "--workers", "1", "-k", "5", "--data"]);
        command.arg(&data).args(options);
        command
    };
    let message = fails(&mut serve(&[]), 2);
    assert!(message.contains("--tls-cert") && message.contains("--insecure"), "{message}");
    let mut command = serve(&shown.options());
    let server = Process::start(command.stdout(Stdio::null()), place.path("open.log"));
    server.wait_for("listening on 0.0.0.0");

    // A client looks at where its token would go, not at how that is spelled.
    let Some(outside) = outside_address() else { return };
    let listener = std::net::TcpListener::bind((outside.as_str(), 0)).unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let token = place.write("token", TOKEN).display().to_string();
    for command in ["status", "stop", "health"] {
        let message = fails(ddiht().args([command, &address, "--token-file", &token]), 2);
        assert!(message.contains("without encryption"), "{message}");
    }
    let call = ["worker", "--quiet", "--server", &address, "--token-file", &token];
    assert!(fails(ddiht().args(call), 2).contains("--insecure"));
    listener.set_nonblocking(true).unwrap();
    while let Ok((mut stream, _)) = listener.accept() {
        let mut sent = Vec::new();
        std::io::Read::read_to_end(&mut stream, &mut sent).unwrap();
        assert!(sent.is_empty(), "something was sent before it was refused");
    }
}

/// An address of this machine that is not on loopback, if it has one.
fn outside_address() -> Option<String> {
    // No packet is sent: connecting a datagram socket only chooses a way.
    let socket = std::net::UdpSocket::bind("0.0.0.0:0").ok()?;
    socket.connect("192.0.2.1:9").ok()?;
    let address = socket.local_addr().ok()?.ip();
    (!address.is_loopback() && !address.is_unspecified()).then(|| address.to_string())
}

#[test]
fn certificates_that_make_no_sense_are_refused_before_anything_starts() {
    let place = Place::new();
    let data = place.synth("a.svm", 50, 60);
    let ours = Authority::new(&place, "ours");
    let (one, two) = (ours.sign("one", &["a"]), ours.sign("two", &["b"]));
    let empty = place.write("empty.pem", "nothing\n").display().to_string();
    let serve = |options: &[&str]| {
        let mut command = ddiht();
        command.args(["server", "--listen", &free_address(), "--workers", "1", "-k", "5"]);
        command.arg("--data").arg(&data).args(options);
        command
    };
    let mismatch = ["--tls-cert", &one.certificate, "--tls-key", &two.key];
    assert!(fails(&mut serve(&mismatch), 2).contains("cannot be used"));
    let no_key = ["--tls-cert", &one.certificate, "--tls-key", &empty];
    assert!(fails(&mut serve(&no_key), 2).contains("no private key"));
    let no_certificate = ["--tls-cert", &empty, "--tls-key", &one.key];
    assert!(fails(&mut serve(&no_certificate), 2).contains("no certificates"));
    let no_ca = [&one.options()[..], &["--tls-client-ca", &empty]].concat();
    assert!(fails(&mut serve(&no_ca), 2).contains("no certificates"));
    assert!(fails(&mut serve(&["--tls-cert", &one.certificate]), 2).contains("--tls-key"));
    let mut call = ddiht();
    call.args(["worker", "--server", &free_address(), "--tls-ca", &empty]);
    assert!(fails(&mut call, 2).contains("no certificates"));
}
