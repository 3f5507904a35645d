//! Bytes that nobody meant: whatever comes, a decoder answers, and never panics.

use ddiht_core::round::{Attest, Directive, Probe, Weights};
use proptest::{collection::vec, prelude::*};
use prost::Message;

use super::{caller, job, values};
use crate::{
    Admission, AnswerBody, Description, DirectiveDecoder, DirectiveEncoder, ModelAssembler, Pieces,
    control, decode_reply, describe, exchange, join, pb, restate,
};

fn questions() -> Vec<Directive> {
    let model = Weights { indices: vec![0, 3], values: vec![0.5, 1.0] };
    let probe = Probe { model: model.clone(), smoothing: None };
    vec![
        Directive::Flush,
        Directive::Settle { gap: 1e-3 },
        Directive::Relax { gap: 1e-3 },
        Directive::Certify { support: vec![0, 3] },
        Directive::Attest(Attest { support: vec![0, 3], ..Attest::default() }),
        Directive::Gradient(probe.clone()),
        Directive::Nominate { probe, count: 2, hasty: false },
        Directive::Survey { columns: vec![0, 3], at: None },
        Directive::Sdiht { model: model.clone(), unscored: Vec::new() },
        Directive::Score { candidates: vec![model.clone()] },
        Directive::Measure { model: model.into() },
    ]
}

fn take_answer(bytes: &[u8]) {
    for asked in &questions() {
        let Ok(request) = pb::ExchangeRequest::decode(bytes) else { return };
        if let Ok(answer) = exchange::open_answer(request)
            && let AnswerBody::Reply(sealed) = answer.body
        {
            let _ = decode_reply(sealed, asked, &job());
        }
    }
}

fn take_question(bytes: &[u8]) {
    if let Ok(reply) = pb::ExchangeReply::decode(bytes) {
        let _ = DirectiveDecoder::new(&job()).decode(reply);
    }
}

fn take_enrolment(bytes: &[u8]) {
    if let Ok(request) = pb::JoinRequest::decode(bytes) {
        let _ = join::decode_join(request, 3);
    }
    if let Ok(reply) = pb::JoinReply::decode(bytes)
        && let Ok(Admission::Joined(joined)) = join::decode_admission(reply)
        && let Ok(verdict) = pb::DescribeReply::decode(bytes)
    {
        let sent = Description::Facts(Default::default());
        let _ = describe::decode_verdict(verdict, &joined.assignment, &sent);
    }
    if let Ok(request) = pb::DescribeRequest::decode(bytes) {
        let _ = describe::decode_description(request);
    }
    if let Ok(launch) = pb::Job::decode(bytes) {
        let _ = crate::job::decode_job(launch);
    }
    if let Ok(beat) = pb::HeartbeatRequest::decode(bytes) {
        let _ = exchange::decode_heartbeat(&beat);
    }
    if let Ok(heard) = pb::HeartbeatReply::decode(bytes) {
        let _ = exchange::decode_heard(&heard);
    }
    if let Ok(request) = pb::RestateRequest::decode(bytes)
        && let Ok(piece) = restate::open_restatement(request)
    {
        let _ = Pieces::default().take(piece, &job());
    }
}

fn take_control(bytes: &[u8]) {
    if let Ok(reply) = pb::StatusReply::decode(bytes) {
        let _ = control::decode_status(reply);
    }
    if let Ok(chunk) = pb::ModelChunk::decode(bytes) {
        let _ = ModelAssembler::new().push(chunk);
    }
}

fn take(bytes: &[u8]) {
    take_answer(bytes);
    take_question(bytes);
    take_enrolment(bytes);
    take_control(bytes);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn random_bytes(bytes in vec(any::<u8>(), 0..200)) {
        take(&bytes);
    }

    /// Bytes that begin like a message and go astray are believed for longer.
    #[test]
    fn damaged_questions(
        directive in values::directive(), at in any::<prop::sample::Index>(), byte in any::<u8>(),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = DirectiveEncoder::new().encode(3, &directive).encode_to_vec();
        let place = at.index(bytes.len());
        bytes[place] = byte;
        take(&bytes);
        take(&bytes[..cut.index(bytes.len())]);
    }

    #[test]
    fn damaged_answers(
        (_, reply) in values::question_and_answer(), at in any::<prop::sample::Index>(),
        byte in any::<u8>(), cut in any::<prop::sample::Index>(),
    ) {
        let sent = exchange::encode_answer(caller(), 3, Default::default(), &reply);
        let mut bytes = sent.encode_to_vec();
        let place = at.index(bytes.len());
        bytes[place] = byte;
        take(&bytes);
        take(&bytes[..cut.index(bytes.len())]);
    }

    /// Messages whose fields are all well formed, and mean nothing.
    #[test]
    fn random_gaps_and_values(
        gaps in vec(any::<u32>(), 0..9), values in vec(any::<f32>(), 0..9), round in 0u64..3,
    ) {
        let ascent = pb::Ascent { gaps: gaps.clone(), values: values.clone() };
        let answer = Some(pb::exchange_request::Answer::Ascent(ascent));
        let request = pb::ExchangeRequest { session: 1, shard: 0, round, compute_micros: 0, answer };
        take_answer(&request.encode_to_vec());
        let ascend = pb::Ascend { gaps, theta: vec![1; values.len()], weights: values, caution: 1.0, whole: false };
        let next = Some(pb::exchange_reply::Next::Ascend(ascend));
        take_question(&pb::ExchangeReply { round, next }.encode_to_vec());
    }
}
