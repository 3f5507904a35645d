//! Status and model: round trips and refusals.

use tonic::Code;

use super::{Change, assert_refused, over_the_wire};
use crate::{
    FILE_DESCRIPTOR_SET, ModelAssembler, Phase, RunStatus, ShardPresence, ShardStatus,
    control::{CHUNK, decode_status, encode_status, model_chunks},
    pb,
};

fn status() -> RunStatus {
    let occupied = ShardPresence::Occupied { staleness: 2, silent_seconds: 0.25 };
    RunStatus {
        phase: Phase::Training,
        workers_joined: 1,
        workers_needed: 2,
        round: 40,
        seconds: 1.5,
        objective: Some(0.44),
        bound: Some(0.0),
        gap: None,
        nnz: 990,
        k: 1000,
        rows: 25_000,
        features: 90_000,
        bytes_up: 1 << 40,
        bytes_down: 12,
        step: "gradient".into(),
        shards: vec![
            ShardStatus { rounds: 40, presence: occupied },
            ShardStatus { rounds: 3, presence: ShardPresence::Vacant },
        ],
        problem: None,
    }
}

#[test]
fn status_comes_out_as_it_went_in() {
    let phases =
        [Phase::Gathering, Phase::Describing, Phase::Training, Phase::Finished, Phase::Failed];
    for phase in phases {
        let problem = (phase == Phase::Failed).then(|| "no rows".to_owned());
        let status = RunStatus { phase, problem, ..status() };
        assert_eq!(decode_status(over_the_wire(&encode_status(&status))).unwrap(), status);
        assert!(!phase.name().is_empty());
    }
}

#[test]
fn a_wrong_status_is_refused() {
    let cases: [(Change<pb::StatusReply>, Code, &str); 10] = [
        (|s| s.phase = 0, Code::InvalidArgument, "phase"),
        (|s| s.phase = 77, Code::InvalidArgument, "77"),
        (|s| s.workers_joined = 1 << 20, Code::OutOfRange, "workers_joined"),
        (|s| s.seconds = -1.0, Code::OutOfRange, "seconds"),
        (|s| s.seconds = f64::INFINITY, Code::InvalidArgument, "seconds"),
        (|s| s.objective = Some(f64::NAN), Code::InvalidArgument, "objective"),
        (|s| s.bound = Some(f64::INFINITY), Code::InvalidArgument, "bound"),
        (|s| s.step = "x".repeat(65), Code::ResourceExhausted, "step"),
        (|s| s.problem = "x".repeat(4097), Code::ResourceExhausted, "problem"),
        (|s| s.shards[1].presence = None, Code::InvalidArgument, "shards.presence"),
    ];
    for (change, code, words) in cases {
        let mut message = encode_status(&status());
        change(&mut message);
        assert_refused(decode_status(message), code, words);
    }
}

#[test]
fn a_model_goes_in_pieces() {
    for length in [0, 1, CHUNK, CHUNK + 1, 3 * CHUNK + 17] {
        let file: Vec<u8> = (0..length).map(|i| (i * 31 % 251) as u8).collect();
        let mut whole = ModelAssembler::new();
        for chunk in model_chunks(&file) {
            assert!(chunk.data.len() <= CHUNK);
            whole.push(over_the_wire(&chunk)).unwrap();
        }
        assert_eq!(whole.finish(), file);
    }
    let long = pb::ModelChunk { data: vec![0; CHUNK + 1] };
    assert_refused(ModelAssembler::new().push(long), Code::ResourceExhausted, "data");
}

#[test]
fn reflection_knows_both_services() {
    let text = String::from_utf8_lossy(FILE_DESCRIPTOR_SET);
    for name in ["ddiht.v1", "Training", "Control", "Exchange", "GetModel"] {
        assert!(text.contains(name), "{name}");
    }
}
