//! Messages of the gRPC contract, as bytes of protobuf.

use ddiht_core::{
    coordinator::Event,
    data::RawData,
    enrol::{Assignment, Launch, Preparation},
    model::Model,
    shard::Shard,
};
use ddiht_wire::{
    Admission, Description, DirectiveDecoder, ModelAssembler, Pieces, Turn, Verdict,
    control as wire, describe, encode_reply, exchange, join, pb, restate,
};
use prost::Message;

use super::{
    cluster::{Cluster, End},
    tiny::{self, Tiny},
};

/// Questions that a run may still ask when the messages of an input are used up.
const AFTERWARDS: usize = 30;
/// Steps that a shard is let do for a job of its server, which may ask for as many as it likes.
const MOST_STEPS: usize = 8;
const MOST_COLS: usize = 4096;

/// A message behind its length.
pub(crate) fn frame(message: &[u8]) -> Vec<u8> {
    let length = u16::try_from(message.len()).unwrap_or(u16::MAX);
    [&length.to_le_bytes(), message].concat()
}

/// The messages of an input, each behind its length; the last one may be cut short.
fn frames(mut rest: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let (length, tail) = rest.split_first_chunk()?;
        let length = usize::from(u16::from_le_bytes(*length)).min(tail.len());
        let (message, tail) = tail.split_at(length);
        rest = tail;
        Some(message)
    })
}

/// Messages from workers to a server. The first byte is the job, the second how many questions are
/// answered honestly before the messages come.
pub fn answers(data: &[u8]) -> bool {
    let &[choice, honest, ref messages @ ..] = data else { return false };
    let Some(mut tiny) = Tiny::new(choice) else { return false };
    let mut cluster = Cluster::new(tiny.config.coordinator(tiny.launch.job), &mut tiny.shards);
    if cluster.run(honest.into()) != End::Enough {
        return false;
    }
    let (mut pieces, mut all) = (Pieces::default(), true);
    for message in frames(messages) {
        let enrolled = enrolment(message, tiny.config.get().workers, choice);
        let restated = restatement(message, &mut pieces, &mut cluster);
        let Ok(task) = cluster.next_task() else { return all };
        let request = pb::ExchangeRequest::decode(message).ok();
        let told = request.and_then(|request| cluster.read(request, &task));
        all &= enrolled || restated || told.is_some();
        match told.or_else(|| cluster.honest(&task)) {
            Some(reply) => cluster.answer(&task, reply),
            None => return all,
        }
    }
    cluster.run(AFTERWARDS);
    all
}

/// `Join`, `Describe` and `Heartbeat`, as a server takes them.
fn enrolment(message: &[u8], shards: usize, choice: u8) -> bool {
    let joined = pb::JoinRequest::decode(message).ok();
    let joined = joined.is_some_and(|request| join::decode_join(request, shards).is_ok());
    let alive = pb::HeartbeatRequest::decode(message).ok();
    let alive = alive.is_some_and(|request| exchange::decode_heartbeat(&request).is_ok());
    let described = pb::DescribeRequest::decode(message).ok();
    let described = described.and_then(|request| describe::decode_description(request).ok());
    if let Some((_, Description::Facts(facts))) = &described
        && let Some(config) = tiny::config(choice)
    {
        let all = vec![facts.clone(); shards];
        match Launch::new(&config, &all) {
            Ok(launch) => drop(launch.remarks(3)),
            Err(error) => drop(error.to_string()),
        }
    }
    joined || alive || described.is_some()
}

/// `Restate`, as a server takes it.
fn restatement(message: &[u8], pieces: &mut Pieces, cluster: &mut Cluster<'_>) -> bool {
    let Ok(request) = pb::RestateRequest::decode(message) else { return false };
    let Ok(piece) = restate::open_restatement(request) else { return false };
    let shard = piece.caller.shard;
    match pieces.take(piece, &cluster.job()) {
        Ok(Some(part)) => cluster.handle(Event::Restated { shard, part }),
        Ok(None) => {}
        Err(_) => return false,
    }
    true
}

/// Messages from a server to a worker. The first byte is the job, the second the shard.
pub fn questions(data: &[u8]) -> bool {
    let &[choice, number, ref messages @ ..] = data else { return false };
    let Some(tiny) = Tiny::new(choice) else { return false };
    let (job, number) = (tiny.launch.job, usize::from(number) % tiny.shards.len());
    let Some(mut shard) = tiny.shards.into_iter().nth(number) else { return false };
    let preparation = Preparation::of(&tiny.config);
    let assignment = Assignment { shard: number, shards: job.shards, data: vec![], preparation };
    let mut decoder = DirectiveDecoder::new(&job);
    let mut all = true;
    for message in frames(messages) {
        let welcome = pb::JoinReply::decode(message).ok();
        let welcome = welcome.and_then(|reply| join::decode_admission(reply).ok());
        let heard = pb::HeartbeatReply::decode(message).ok();
        let heard = heard.is_some_and(|reply| exchange::decode_heard(&reply).is_ok());
        let launched = launch(message, &assignment);
        if let Some(Admission::Joined(joined)) = &welcome {
            launch(message, &joined.assignment);
        }
        let asked = pb::ExchangeReply::decode(message).ok();
        let asked = asked.and_then(|reply| decoder.decode(reply).ok());
        if let Some(Turn::Ask { round, directive }) = &asked {
            let reply = shard.handle(*round, directive);
            let _ = encode_reply(&reply);
        }
        all &= welcome.is_some() || heard || launched || asked.is_some();
    }
    all
}

/// The answer to `Describe`, and the first things a shard does in such a job.
fn launch(message: &[u8], assignment: &Assignment) -> bool {
    let Ok(reply) = pb::DescribeReply::decode(message) else { return false };
    let (raw, preparation) = (tiny::rows(), &assignment.preparation);
    let sent = Description::Facts(preparation.describe(&raw));
    let launch = match describe::decode_verdict(reply, assignment, &sent) {
        Ok(Verdict::Launch(launch) | Verdict::UnderWay(launch)) => launch,
        Ok(Verdict::End(_)) => return true,
        Err(_) => return false,
    };
    let job = launch.job;
    let steps = job.passes.max(job.sdiht.local_steps);
    if steps <= MOST_STEPS && job.cols <= MOST_COLS {
        let raw = RawData { labels: raw.labels, x: raw.x, ..RawData::default() };
        if let Ok(rows) = preparation.rows(raw, launch.labels.as_ref()) {
            let mut shard = Shard::new(assignment.shard, job, rows);
            shard.restate();
            try_questions(&mut shard, job);
        }
    }
    true
}

/// The first question of every kind that needs no model.
fn try_questions(shard: &mut Shard, job: ddiht_core::round::Job) {
    use ddiht_core::round::{Directive, ModelDelta, Probe, Weights};
    let mut delta = ModelDelta { caution: 1.0, ..ModelDelta::default() };
    delta.push(0, 0.5, 255);
    if job.cols > 1 {
        delta.push(1, 0.5, 128);
    }
    let asked = [
        Directive::Ascend(delta),
        Directive::Sdiht { model: Weights::default(), unscored: vec![] },
        Directive::Nominate { probe: Probe::default(), count: 2, hasty: false },
        Directive::Certify { support: vec![0] },
        Directive::Measure { model: Weights::default().into() },
    ];
    for (round, directive) in asked.iter().enumerate() {
        let reply = shard.handle(round as u64 + 1, directive);
        let _ = encode_reply(&reply);
    }
}

/// Messages from a server to `ddiht status` and the like.
pub fn control(data: &[u8]) -> bool {
    let mut file = ModelAssembler::new();
    let mut all = true;
    for message in frames(data) {
        let status = pb::StatusReply::decode(message).ok();
        let status = status.is_some_and(|reply| wire::decode_status(reply).is_ok());
        let chunk = pb::ModelChunk::decode(message).ok();
        let chunk = chunk.is_some_and(|chunk| file.push(chunk).is_ok());
        all &= status || chunk;
    }
    let _ = Model::parse(&file.finish(), std::path::Path::new("model.json"));
    all
}
