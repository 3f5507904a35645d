//! Data, shards, checkpoints and models that are not on this machine: in a bucket of a real S3 server, and on
//! a web server.

#[path = "../crates/store/src/tests/web.rs"]
#[allow(dead_code, reason = "some of it is for the tests of the store alone")]
mod web;

use std::{
    fs::{self, File},
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::{
    bucket::{Bucket, Proxy, SECRET, ddiht_at},
    processes::{Process, free_address},
    util::{Place, ddiht, fails, json, number, ok, output, read_json, stderr},
};
use web::{Reply, Web};

/// A program that ends at once where it would try again.
fn impatient(mut command: Command) -> Command {
    command.env("DDIHT_STORAGE_PATIENCE", "0s");
    command
}

fn gzip(place: &Place, data: &Path) -> PathBuf {
    let path = place.path("packed.svm.gz");
    let file = File::create(&path).unwrap();
    let mut out = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
    out.write_all(&fs::read(data).unwrap()).unwrap();
    out.finish().unwrap();
    path
}

/// Every command that takes a location gives what it gives for local files, byte for byte.
#[test]
fn shards_and_models_go_through_a_bucket_unchanged() {
    let place = Place::new();
    let Some(bucket) = Bucket::start(&place) else { return };
    let data = place.synth("a.svm", 400, 600);
    let (mut train, model) = place.train(&data, 20, "local.json");
    let summary = json(train.args(["--workers", "3", "--test"]).arg(&data));

    bucket.upload("a.svm", &data);
    bucket.upload("a.svm.gz", &gzip(&place, &data));
    ok(ddiht().arg("shard").arg(&data).args(["-n", "3", "-o"]).arg(place.path("shards")));
    ok(bucket.ddiht().args(["shard", "s3://bkt/a.svm", "-n", "3", "-o", "s3://bkt/shards"]));
    for shard in 0..3 {
        let name = format!("shards/shard-{shard:05}-of-00003.ddiht");
        assert!(bucket.get(&name) == fs::read(place.path(&name)).unwrap(), "{name}");
        let here = ok(ddiht().args(["inspect", "--json"]).arg(place.path(&name)));
        let far = ok(bucket.ddiht().args(["inspect", "--json", &format!("s3://bkt/{name}")]));
        assert_eq!(far, here);
    }

    for input in ["s3://bkt/a.svm", "s3://bkt/a.svm.gz", "s3://bkt/shards", "s3://bkt/shards/"] {
        let mut train = bucket.ddiht();
        train.args(["train", input, "-k", "20", "--workers", "3", "--json"]);
        let far =
            json(train.args(["--test", "s3://bkt/a.svm.gz", "--model", "s3://bkt/out/m.json"]));
        assert!(bucket.get("out/m.json") == fs::read(&model).unwrap(), "{input}");
        assert_eq!(far["test"], summary["test"], "{input}");
    }

    let predictions = ok(ddiht().arg("predict").arg(&model).arg(&data));
    let mut predict = bucket.ddiht();
    assert_eq!(ok(predict.args(["predict", "s3://bkt/out/m.json", "s3://bkt/a.svm"])), predictions);
    let measured = ok(ddiht().arg("eval").arg(&model).arg(&data));
    let mut eval = bucket.ddiht();
    assert_eq!(ok(eval.args(["eval", "s3://bkt/out/m.json", "s3://bkt/shards"])), measured);
    let text = ok(bucket.ddiht().args(["inspect", "s3://bkt/out/m.json"]));
    assert_eq!(text, ok(ddiht().arg("inspect").arg(&model)));
    let left = bucket.keys();
    assert!(left.iter().all(|key| !key.contains("probe")), "{left:?}");
}

/// A cluster of processes, each of which reaches the bucket in its own way.
struct Far<'a> {
    place: &'a Place,
    address: String,
    server: Process,
    command: Command,
    workers: Vec<Process>,
}

impl<'a> Far<'a> {
    fn serve(place: &'a Place, bucket: &Bucket, workers: usize, options: &[&str]) -> Self {
        let address = free_address();
        let mut command = bucket.ddiht();
        command.args(["server", "--listen", &address, "--workers", &workers.to_string()]);
        let summary = File::create(place.path("summary.json")).unwrap();
        command.args(options).arg("--json").stdout(Stdio::from(summary));
        let server = Process::start(&mut command, place.path("server.log"));
        Self { place, address, server, command, workers: Vec::new() }
    }

    fn join(&mut self, s3: &str) {
        let mut command = ddiht_at(s3);
        command.args(["worker", "--server", &self.address]).stdout(Stdio::null());
        let log = self.place.path(&format!("worker{}.log", self.workers.len()));
        self.workers.push(Process::start(&mut command, log));
    }

    fn finish(&mut self) -> Value {
        let status = self.server.wait();
        assert!(status.success(), "the server ended with {status}: {}", self.server.log());
        for worker in &mut self.workers {
            let status = worker.wait();
            assert!(status.success(), "a worker ended with {status}: {}", worker.log());
        }
        read_json(&self.place.path("summary.json"))
    }
}

/// A worker takes its own shard and nothing else: at most 1/8 of the data and a megabyte.
#[test]
fn a_worker_transfers_only_its_shard() {
    let place = Place::new();
    let Some(bucket) = Bucket::start(&place) else { return };
    let data = place.synth("a.svm", 60_000, 20_000);
    ok(bucket.ddiht().arg("shard").arg(&data).args(["-n", "8", "-o", "s3://bkt/shards"]));
    let size = |shard| bucket.get(&format!("shards/shard-{shard:05}-of-00008.ddiht")).len() as u64;
    let total: u64 = (0..8).map(size).sum();
    assert!(total > 10 << 20, "{total} bytes are too few to tell a shard from all of them");

    let options =
        ["--data", "s3://bkt/shards", "-k", "10", "--rounds", "2", "--model", "s3://bkt/m.json"];
    let mut cluster = Far::serve(&place, &bucket, 8, &options);
    let proxies: Vec<Proxy> = (0..8).map(|_| Proxy::start(&bucket.address)).collect();
    proxies.iter().for_each(|proxy| cluster.join(&proxy.address));
    let summary = cluster.finish();
    assert_eq!(number(&summary, "rows"), 60_000.0);
    let received: Vec<u64> = proxies.iter().map(Proxy::received).collect();
    println!("{total} bytes in 8 shards; the workers received {received:?}");
    for bytes in received {
        assert!(bytes > total / 16 && bytes <= total / 8 + (1 << 20), "{bytes} of {total}");
    }

    let proxy = Proxy::start(&bucket.address);
    let mut inspect = ddiht_at(&proxy.address);
    ok(inspect.args(["inspect", "s3://bkt/shards/shard-00003-of-00008.ddiht"]));
    assert!(proxy.received() < 200 << 10, "the head alone took {} bytes", proxy.received());
}

/// The server of a run whose state is in a bucket is killed and goes on.
#[test]
fn a_run_goes_on_from_a_checkpoint_in_a_bucket() {
    let place = Place::new();
    let Some(bucket) = Bucket::start(&place) else { return };
    let data = place.synth("a.svm", 1500, 2000);
    bucket.upload("a.svm", &data);
    let kept = ["--checkpoint", "s3://bkt/run", "--checkpoint-every", "100ms"];
    let run = ["--data", "s3://bkt/a.svm", "-k", "40", "--gap", "0", "--time", "6s"];
    let options = [&kept[..], &run, &["--heartbeat-timeout", "2s", "--model", "s3://bkt/m.json"]];
    let mut cluster = Far::serve(&place, &bucket, 2, &options.concat());
    cluster.join(&bucket.address);
    cluster.join(&bucket.address);
    let checkpoints = || bucket.keys().into_iter().filter(|key| key.contains("checkpoint-"));
    let start = Instant::now();
    while checkpoints().count() < 2 || !bucket.keys().contains(&"run/best.json".to_owned()) {
        assert!(start.elapsed() < Duration::from_secs(60), "{}", cluster.server.log());
        thread::sleep(Duration::from_millis(50));
    }
    cluster.server.kill();
    let kept: Vec<String> = checkpoints().collect();
    assert!(kept.len() <= 3, "the last two are kept, and one may be on its way out: {kept:?}");
    let newest = format!("s3://bkt/{}", kept.last().unwrap());
    let told = json(bucket.ddiht().args(["inspect", "--json", &newest]));
    assert_eq!(told["format"], "ddiht-checkpoint");

    cluster.server = Process::start(&mut cluster.command, place.path("server.log"));
    let summary = cluster.finish();
    assert!(cluster.server.log().contains("going on from s3://bkt/run/checkpoint-"));
    assert_eq!(checkpoints().count(), 0, "a run that is over leaves nothing to go on with");
    let model = place.write("m.json", bucket.get("m.json"));
    let again = json(ddiht().arg("eval").arg(&model).arg(&data).arg("--json"));
    assert!((number(&again, "objective") / number(&summary, "objective") - 1.0).abs() < 1e-9);
}

#[test]
fn what_is_wrong_with_a_bucket_is_said_in_a_sentence() {
    let place = Place::new();
    let Some(bucket) = Bucket::start(&place) else { return };
    let data = place.synth("a.svm", 50, 60);
    bucket.upload("a.svm", &data);
    bucket.ask("PUT", "/bkt/bad.svm", b"+1 1:1\n-1 2:x\n");
    let train = |data: &str, options: &[&str]| {
        let mut command = impatient(bucket.ddiht());
        command.args(["train", data, "-k", "5"]).args(options).current_dir(place.path("."));
        command
    };
    let said = |data: &str, options: &[&str]| {
        let message = fails(&mut train(data, options), 2);
        let sentence = message.lines().last().unwrap().to_owned();
        assert!(sentence.starts_with("ddiht: ") && !message.contains(SECRET), "{message}");
        sentence
    };
    assert!(
        said("s3://bkt/none.svm", &[]).contains("s3://bkt/none.svm: cannot open: there is no such")
    );
    assert!(said("s3://nobody/a.svm", &[]).contains("no bucket nobody"));
    assert!(said("s3://bkt/bad.svm", &[]).contains("s3://bkt/bad.svm:2:"));
    assert!(said("s3://me:hunter2hunter2@bkt/a.svm", &[]).contains("credentials"));
    assert!(said("ftp://b/a.svm", &[]).contains("ftp://"));
    assert!(
        said("s3://bkt/a.svm", &["--model", "s3://nobody/m.json"]).contains("no bucket nobody")
    );
    assert!(said("s3://bkt/a.svm", &["--model", "s3://bkt"]).contains("names no file"));
    assert!(said("s3://bkt/a.svm", &["--test", "s3://bkt/none"]).contains("s3://bkt/none"));
    let mut server = impatient(bucket.ddiht());
    server.args(["server", "--workers", "1", "--data", "s3://bkt/a.svm", "-k", "5"]);
    let message = fails(server.args(["--checkpoint", "s3://nobody/run"]), 2);
    assert!(message.contains("cannot keep checkpoints in s3://nobody/run: there is no bucket"));
    assert!(!place.path("s3:").exists());
}

/// Neither these need a server: nobody listens, or nothing is asked.
#[test]
fn what_cannot_be_reached_or_written_is_said_in_a_sentence() {
    let place = Place::new();
    let data = place.synth("a.svm", 50, 60);
    let nobody = free_address();
    let start = Instant::now();
    let mut train = impatient(ddiht_at(&nobody));
    let message = fails(train.args(["train", "s3://bkt/a.svm", "-k", "5"]), 1);
    assert!(message.contains("s3://bkt/a.svm: cannot open: cannot connect to"), "{message}");
    assert!(message.contains(&nobody) && !message.contains(SECRET), "{message}");
    let mut train = impatient(ddiht_at(&nobody));
    train.env_remove("AWS_ALLOW_HTTP").args(["train", "s3://bkt/a.svm", "-k", "5"]);
    let message = fails(&mut train, 2);
    assert!(message.contains("AWS_ALLOW_HTTP"), "{message}");

    let refused = |options: &[&str]| {
        let mut command = impatient(ddiht_at(&nobody));
        command.arg("train").arg(&data).args(["-k", "5"]).args(options);
        fails(command.current_dir(place.path(".")), 2)
    };
    assert!(refused(&["--model", "http://h/m.json"]).contains("can only be read"));
    let message = refused(&["--history", "http://me:pw@h/h.jsonl"]);
    assert!(message.contains("a file on this machine") && !message.contains("pw@"), "{message}");
    let elsewhere = |arguments: &[&str]| {
        let mut command = impatient(ddiht_at(&nobody));
        fails(command.args(arguments).current_dir(place.path(".")), 2)
    };
    let worker = ["worker", "--server", "127.0.0.1:1", "--state", "s3://bkt/state"];
    assert!(elsewhere(&worker).contains("on this machine"));
    assert!(elsewhere(&["synth", "text", "-o", "s3://bkt/a.svm"]).contains("on this machine"));
    assert!(elsewhere(&["plot", "h.jsonl", "-o", "s3://bkt/p.svg"]).contains("on this machine"));
    let shard = ["shard", "a.svm", "-o", "https://h/shards"];
    assert!(
        elsewhere(&shard).contains("https://h/shards: what is on a web server can only be read")
    );
    let server = ["server", "--workers", "1", "-k", "5", "--data", "http://me:pw@h/a.svm"];
    let message = elsewhere(&server);
    assert!(message.contains("must not carry") && !message.contains("pw@"), "{message}");
    assert!(!place.path("s3:").exists() && !place.path("http:").exists());
    assert!(start.elapsed() < Duration::from_secs(30), "without patience nothing is waited for");
}

/// Over http too, from a server that breaks off half of its answers.
#[test]
fn data_from_a_web_server_train_the_same_model() {
    let place = Place::new();
    let data = place.synth("a.svm", 3000, 600);
    let (mut train, model) = place.train(&data, 20, "local.json");
    ok(&mut train);
    let packed = gzip(&place, &data);
    let (plain, packed) = (fs::read(&data).unwrap(), fs::read(packed).unwrap());
    assert!(plain.len() > 200_000, "more than one request is needed");
    let server = Web::start(move |n, request| {
        let file = if request.line.contains(".gz") { &packed } else { &plain };
        let reply = Reply::part(file, request);
        if n % 2 == 0 { reply.cut(50_000) } else { reply }
    });
    for name in ["a.svm", "a.svm.gz", "a.svm.gz?X-Amz-Signature=1"] {
        let mut train = ddiht();
        train.args(["train", &format!("{}/{name}", server.address), "-k", "20", "--model"]);
        let far = place.path("far.json");
        ok(train.arg(&far));
        assert!(fs::read(&far).unwrap() == fs::read(&model).unwrap(), "{name}");
    }
    let out =
        output(impatient(ddiht()).args(["inspect", &format!("{}/a.svm?k=s", server.address)]));
    let message = stderr(&out);
    assert_eq!(out.status.code(), Some(2));
    assert!(
        message.contains("a.svm is not a ddiht model") && !message.contains("k=s"),
        "{message}"
    );
}
