//! Inputs that the targets understand, made by the encoders of today.

use std::time::Duration;

use ddiht_core::{
    checkpoint::Checkpoint,
    classes::{AnyModel, Classes},
    config::Config,
    data::{LabelRule, ShardInfo, write_shard},
    enrol::{Assignment, Preparation},
    local::Traffic,
    model::Model,
    record::{self, Kind},
    round::Sparse,
    storage::Local,
    train::{TrainingSet, train},
};
use ddiht_wire::{
    Admission, Caller, Description, DirectiveEncoder, Ending, Joined, Joining, LifeId, Phase,
    RunStatus, SessionId, ShardPresence, ShardStatus, Verdict, WorkerId, control, describe,
    exchange, join, restate,
};
use prost::Message;

use super::{
    cluster::{Cluster, End},
    data::Patience,
    messages::frame,
    state::{ALPHA, CHECKPOINT, COORDINATOR, FILE, heading},
    tiny::{self, JOBS, Tiny},
};

/// An input for a target.
#[derive(Debug, Clone)]
pub struct Seed {
    /// The target.
    pub target: &'static str,
    /// What it is, as the name of a file.
    pub name: String,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// All of them. What cannot be made is left out, and its absence is for a test to notice.
pub fn all() -> Vec<Seed> {
    let mut seeds = Vec::new();
    let mut add = |target, name: String, bytes| seeds.push(Seed { target, name, bytes });
    for (name, bytes) in texts() {
        add("libsvm", name.to_owned(), bytes);
    }
    for (name, bytes) in tables() {
        add("table", name.to_owned(), bytes);
    }
    for how in [0u8, 1, 8, 16] {
        if let Some(file) = shard_file() {
            add("shard", format!("seed-{how}"), [&[how], file.as_slice()].concat());
        }
    }
    for job in 0..JOBS {
        for (name, bytes) in saved(job).unwrap_or_default() {
            add("record", format!("seed-{job}-{name}"), bytes);
        }
        for (name, bytes) in conversations(job).unwrap_or_default() {
            let target = if name.starts_with("answers") { "answers" } else { "questions" };
            add(target, format!("seed-{job}-{name}"), bytes);
        }
        if let Some(text) = trained_model(job) {
            add("model", format!("seed-{job}"), text);
        }
    }
    add("model", "seed-classes".to_owned(), trained_classes().unwrap_or_default());
    add("answers", "seed-enrolment".to_owned(), requests());
    add("questions", "seed-enrolment".to_owned(), replies().unwrap_or_default());
    add("control", "seed-status".to_owned(), status());
    add("control", "seed-model".to_owned(), model_chunks());
    seeds
}

/// Texts behind the two bytes that say how they are read and what is trained on them.
fn texts() -> Vec<(&'static str, Vec<u8>)> {
    let plain = b"1 1:0.5 3:-1.25\n-1 2:1e-3 4:7\n1 1:1 2:2 3:3 # three\n\n0 5:.5\r\n2 qid:3 9:1\n";
    let zero = b"+1 0:1 1:2\n-1 1:3\n1.5 0:-0.5 12:1e10\n";
    let large = b"1 1:3e38 2:-3e38\n-1 1:3e38 2:1e-45\n1 3:1\n-1 3:-3e38\n";
    let of = |how: u8, what: u8, text: &[u8]| [&[how, what], text].concat();
    vec![
        ("seed-plain", of(0, 0, plain)),
        ("seed-zero-based", of(1, 2, zero)),
        ("seed-one-of-three", of(2, 2, plain)),
        ("seed-few-features", of(4, 3, plain)),
        ("seed-small-batches", of(8, 4, plain)),
        ("seed-batches-of-16", of(16, 5, plain)),
        ("seed-large-values", of(0, 0, large)),
        ("seed-large-values-logistic", of(0, 7, large)),
        ("seed-large-values-squared", of(0, 2, large)),
    ]
}

fn tables() -> Vec<(&'static str, Vec<u8>)> {
    let plain = b"y,a,\"b, c\",d\n1,0.5,0,-1\n-1,1e-3,\"7\",2\r\n\n1, 3 ,0,0\n-1,1,2,3\n";
    let tabs = b"a\ty\tb\n1\t2\t3\n4\t5\t6\n";
    let of = |how: u8, what: u8, text: &[u8]| [&[how, what], text].concat();
    vec![
        ("seed-plain", of(0, 0, plain)),
        ("seed-tabs", of(9, 2, tabs)),
        ("seed-one-of-three", of(2, 2, plain)),
        ("seed-few-features", of(4, 3, plain)),
        ("seed-no-label", of(24, 2, plain)),
    ]
}

fn shard_file() -> Option<Vec<u8>> {
    let raw = tiny::rows();
    let directory = tempfile::tempdir().ok()?;
    let path = directory.path().join("a.ddiht");
    let (total_rows, zero_based) = (raw.total_rows as u64, false);
    let info = ShardInfo { shard: 0, of: 1, first_row: 0, stride: 1, total_rows, zero_based };
    write_shard(&Local, &path, &info, &raw.x, &raw.labels).ok()?;
    std::fs::read(path).ok()
}

/// The state of a run after some questions, and of its workers.
fn saved(job: u8) -> Option<Vec<(String, Vec<u8>)>> {
    let mut found = Vec::new();
    for questions in [0, 4, 9, 17, 30, 45, 70] {
        let Tiny { config, launch, mut shards } = Tiny::new(job)?;
        let mut cluster = Cluster::new(config.coordinator(launch.job), &mut shards);
        if cluster.run(questions) != End::Enough {
            break;
        }
        // Between two events there is nothing to poll.
        let _ = cluster.next_task();
        let coordinator = cluster.coordinator.save().ok()?;
        let tally = cluster.coordinator.tally();
        let checkpoint = Checkpoint {
            request: config.identity(),
            launch,
            elapsed: Duration::from_millis(questions as u64),
            traffic: Traffic::default(),
            rounds: tally.rounds,
            objective: tally.best().map(|best| best.objective),
            bound: tally.bound(),
            coordinator: coordinator.clone(),
        };
        let mut add = |what: u8, name: &str, body: &[u8]| {
            found.push((format!("{name}-{questions}"), [&[heading(what, job)], body].concat()));
        };
        add(COORDINATOR, "coordinator", &coordinator);
        if questions == 9 {
            let payload = record::encode(&checkpoint).ok()?;
            add(CHECKPOINT, "checkpoint", &payload);
            add(FILE, "file", &record::seal(Kind::Checkpoint, &payload));
            let alpha = record::encode(&shards[0].alpha()).ok()?;
            add(ALPHA, "alpha", &alpha);
        }
    }
    Some(found)
}

/// What the server of a job asks in its first rounds, and what the workers answer.
fn conversations(job: u8) -> Option<Vec<(String, Vec<u8>)>> {
    let mut found = Vec::new();
    for (number, honest) in [0u8, 5, 14, 28].into_iter().enumerate() {
        let Tiny { config, launch, mut shards } = Tiny::new(job)?;
        let mut cluster = Cluster::new(config.coordinator(launch.job), &mut shards);
        if cluster.run(honest.into()) != End::Enough {
            break;
        }
        let mut encoder = DirectiveEncoder::new();
        let (mut asked, mut answered) = (vec![job, 0], vec![job, honest]);
        for _ in 0..10 {
            let Ok(task) = cluster.next_task() else { break };
            let reply = cluster.honest(&task)?;
            let told = exchange::encode_answer(caller(), 1, Duration::ZERO, &reply);
            answered.extend(frame(&told.encode_to_vec()));
            if task.shard == 0 {
                let question = encoder.encode(u64::from(honest) + 1, &task.directive);
                asked.extend(frame(&question.encode_to_vec()));
            }
            cluster.answer(&task, reply);
        }
        found.push((format!("answers-{number}"), answered));
        found.push((format!("questions-{number}"), asked));
    }
    Some(found)
}

fn caller() -> Caller {
    Caller { session: SessionId(7), shard: 0 }
}

fn requests() -> Vec<u8> {
    let (worker, life) = (WorkerId(1), LifeId(2));
    let joining = Joining { worker, life, build: "ddiht 0.1.0".to_owned(), wish: Some(1) };
    let part = Sparse { indices: vec![0, 2, 5], values: vec![0.5, -0.25, 1.0] };
    let mut messages = vec![join::encode_join(&joining).encode_to_vec()];
    if let Some(config) = tiny::config(0) {
        let facts = Preparation::of(&config).describe(&tiny::rows());
        let told = describe::encode_description(caller(), &Description::Facts(facts));
        messages.push(told.encode_to_vec());
    }
    let problem = Description::Problem("no such file".to_owned());
    messages.push(describe::encode_description(caller(), &problem).encode_to_vec());
    messages
        .extend(restate::encode_restatement(caller(), &part).iter().map(Message::encode_to_vec));
    messages.push(exchange::encode_heartbeat(caller()).encode_to_vec());
    messages.push(exchange::encode_ready(caller()).encode_to_vec());
    [vec![0, 3], messages.iter().flat_map(|message| frame(message)).collect()].concat()
}

fn replies() -> Option<Vec<u8>> {
    let Tiny { config, launch, .. } = Tiny::new(0)?;
    let assignment = Assignment {
        shard: 1,
        shards: launch.job.shards,
        data: vec!["a.svm".to_owned()],
        preparation: Preparation::of(&config),
    };
    let heartbeat = Duration::from_millis(500);
    let joined = Admission::Joined(Joined { session: SessionId(3), assignment, heartbeat });
    let over = Ending::Failed("stopped".to_owned());
    let messages = [
        join::encode_admission(&joined).encode_to_vec(),
        join::encode_admission(&Admission::Over(over.clone())).encode_to_vec(),
        describe::encode_verdict(&Verdict::Launch(launch)).encode_to_vec(),
        describe::encode_verdict(&Verdict::UnderWay(launch)).encode_to_vec(),
        describe::encode_verdict(&Verdict::End(Ending::Finished)).encode_to_vec(),
        exchange::encode_heard(Some(1)).encode_to_vec(),
        exchange::encode_end(9, &over).encode_to_vec(),
    ];
    Some([vec![0, 1], messages.iter().flat_map(|message| frame(message)).collect()].concat())
}

fn trained_classes() -> Option<Vec<u8>> {
    let mut raw = tiny::rows();
    raw.labels.iter_mut().enumerate().for_each(|(row, label)| *label = (row % 3) as f64);
    let labels = vec![0.0, 1.0, 2.0];
    let member = |&label: &f64| {
        let positive = Some(LabelRule::OneOf(vec![label]));
        let config = Config { positive, ..tiny::config(7)?.get().clone() }.check().ok()?;
        let set = TrainingSet::prepare(&config, raw.clone()).ok()?;
        Some(train(&config, set, &mut Patience::new(40)).ok()?.model)
    };
    let models: Option<Vec<Model>> = labels.iter().map(member).collect();
    let model = AnyModel::Several(Classes::new(labels, models?));
    model.to_json().ok().map(String::into_bytes)
}

fn trained_model(job: u8) -> Option<Vec<u8>> {
    let config = tiny::config(job)?;
    let set = TrainingSet::prepare(&config, tiny::rows()).ok()?;
    let trained = train(&config, set, &mut Patience::new(40)).ok()?;
    Some(trained.model.to_json().ok()?.into_bytes())
}

fn status() -> Vec<u8> {
    let occupied = ShardPresence::Occupied { staleness: 1, silent_seconds: 0.25 };
    let shard = |presence| ShardStatus { rounds: 12, presence };
    let status = RunStatus {
        phase: Phase::Training,
        workers_joined: 1,
        workers_needed: 2,
        round: 13,
        seconds: 0.5,
        objective: Some(0.25),
        bound: Some(0.125),
        gap: Some(0.5),
        nnz: 3,
        k: 3,
        rows: 13,
        features: 9,
        bytes_up: 1000,
        bytes_down: 2000,
        step: "dual".to_owned(),
        shards: vec![shard(occupied), shard(ShardPresence::Vacant)],
        problem: None,
    };
    frame(&control::encode_status(&status).encode_to_vec())
}

fn model_chunks() -> Vec<u8> {
    let file = trained_model(0).unwrap_or_default();
    let pieces = file.chunks(100).flat_map(control::model_chunks);
    pieces.flat_map(|piece| frame(&piece.encode_to_vec())).collect()
}
