//! What goes in comes out, through the bytes of the wire.

use std::time::Duration;

use ddiht_core::{
    enrol::{Assignment, Preparation, ShardFacts},
    loss::LossKind,
    round::{Directive, Job, Reply, Sparse},
};
use proptest::prelude::*;

use super::{caller, job, over_the_wire, values};
use crate::{
    Admission, AnswerBody, Description, DirectiveDecoder, DirectiveEncoder, Ending, Joined,
    Joining, LifeId, Pieces, SessionId, Turn, Verdict, WorkerId, decode_reply, describe, exchange,
    join, restate,
};

fn reply_over_the_wire(reply: &Reply, asked: &Directive, job: &Job) -> Reply {
    let sent = exchange::encode_answer(caller(), 4, Duration::from_micros(1234), reply);
    let answer = exchange::open_answer(over_the_wire(&sent)).unwrap();
    assert_eq!((answer.caller, answer.round), (caller(), 4));
    assert_eq!(answer.compute, Duration::from_micros(1234));
    let AnswerBody::Reply(sealed) = answer.body else { panic!("not a reply") };
    decode_reply(sealed, asked, job).unwrap()
}

proptest! {
    #[test]
    fn questions(directives in prop::collection::vec((values::directive(), 1usize..3), 1..12)) {
        let (mut encoder, mut decoder) = (DirectiveEncoder::new(), DirectiveDecoder::new(&job()));
        for (before, (directive, times)) in directives.into_iter().enumerate() {
            let round = before as u64 + 1;
            let sent = encoder.encode(round, &directive);
            // The message itself is sent again when the connection broke, and says the same.
            for _ in 0..times {
                let turn = decoder.decode(over_the_wire(&sent)).unwrap();
                prop_assert_eq!(turn, Turn::Ask { round, directive: directive.clone() });
            }
        }
    }

    #[test]
    fn answers((asked, reply) in values::question_and_answer()) {
        prop_assert_eq!(reply_over_the_wire(&reply, &asked, &job()), reply);
    }

    #[test]
    fn measures_of_a_regression(measures in values::measures(false)) {
        let job = Job { loss: LossKind::Squared, ..job() };
        let asked = Directive::Measure { model: Default::default() };
        let reply = Reply::Measures(measures);
        prop_assert_eq!(reply_over_the_wire(&reply, &asked, &job), reply);
    }

    #[test]
    fn joins(
        worker in any::<u64>(), life in any::<u64>(), build in "\\PC{0,60}",
        wish in prop::option::of(0usize..3),
    ) {
        let joining = Joining { worker: WorkerId(worker), life: LifeId(life), build, wish };
        let sent = over_the_wire(&join::encode_join(&joining));
        prop_assert_eq!(join::decode_join(sent, 3).unwrap(), joining);
    }

    #[test]
    fn assignments(session in any::<u64>(), assignment in values::assignment()) {
        let heartbeat = Duration::from_millis(700);
        let joined = Joined { session: SessionId(session), assignment, heartbeat };
        let admission = Admission::Joined(joined);
        let sent = over_the_wire(&join::encode_admission(&admission));
        prop_assert_eq!(join::decode_admission(sent).unwrap(), admission);
    }

    #[test]
    fn facts(facts in values::facts()) {
        let description = Description::Facts(facts);
        let sent = over_the_wire(&describe::encode_description(caller(), &description));
        prop_assert_eq!(describe::decode_description(sent).unwrap(), (caller(), description));
    }

    #[test]
    fn launches(launch in values::launch()) {
        let preparation = Preparation {
            classes: launch.job.loss.is_classification(),
            ..Preparation::default()
        };
        let shards = launch.job.shards;
        let assignment = Assignment { shard: 0, shards, data: Vec::new(), preparation };
        let facts = Description::Facts(ShardFacts { cols: 1, ..ShardFacts::default() });
        for verdict in [Verdict::Launch(launch), Verdict::UnderWay(launch)] {
            let sent = over_the_wire(&describe::encode_verdict(&verdict));
            let told = describe::decode_verdict(sent, &assignment, &facts).unwrap();
            prop_assert_eq!(told, verdict);
        }
    }
}

#[test]
fn the_first_word_and_the_signs_of_life() {
    let answer = exchange::open_answer(over_the_wire(&exchange::encode_ready(caller()))).unwrap();
    assert_eq!((answer.caller, answer.round), (caller(), 0));
    assert!(matches!(answer.body, AnswerBody::Ready));
    let beat = over_the_wire(&exchange::encode_heartbeat(caller()));
    assert_eq!(exchange::decode_heartbeat(&beat).unwrap(), caller());
    for orphan in [None, Some(2)] {
        let heard = over_the_wire(&exchange::encode_heard(orphan));
        assert_eq!(exchange::decode_heard(&heard).unwrap(), orphan);
    }
}

/// In any number of pieces, each of them sent once or more often.
#[test]
fn restatements() {
    let job = Job { cols: 100_000, ..job() };
    for count in [0, 1, 8191, 8192, 8193, 50_000] {
        let indices: Vec<u32> = (0..count).map(|i| 2 * i + 1).collect();
        let part = Sparse { values: indices.iter().map(|&j| j as f32).collect(), indices };
        let (mut pieces, mut whole) = (Pieces::default(), None);
        for request in restate::encode_restatement(caller(), &part) {
            assert_eq!(whole, None);
            let times = if request.last { 1 } else { 2 };
            for _ in 0..times {
                let piece = restate::open_restatement(over_the_wire(&request)).unwrap();
                assert_eq!(piece.caller, caller());
                whole = pieces.take(piece, &job).unwrap();
            }
        }
        assert_eq!(whole, Some(part));
    }
}

#[test]
fn endings_and_problems() {
    let mut decoder = DirectiveDecoder::new(&job());
    for ending in [Ending::Finished, Ending::Failed("a.svm:3:1: no label".into())] {
        let over = Admission::Over(ending.clone());
        let sent = over_the_wire(&join::encode_admission(&over));
        assert_eq!(join::decode_admission(sent).unwrap(), over);
        let sent = over_the_wire(&exchange::encode_end(9, &ending));
        assert_eq!(decoder.decode(sent).unwrap(), Turn::End(ending));
    }
    let problem = Description::Problem("a.svm:3:1: no label".into());
    let sent = over_the_wire(&describe::encode_description(caller(), &problem));
    assert_eq!(describe::decode_description(sent).unwrap(), (caller(), problem));
}

#[test]
fn a_long_sentence_is_cut_between_characters() {
    let sent = exchange::encode_end(1, &Ending::Failed("é".repeat(5000) + "x"));
    let turn = DirectiveDecoder::new(&job()).decode(over_the_wire(&sent)).unwrap();
    assert_eq!(turn, Turn::End(Ending::Failed("é".repeat(2048))));
    let sent = exchange::encode_end(1, &Ending::Failed("x".to_owned() + &"é".repeat(5000)));
    let turn = DirectiveDecoder::new(&job()).decode(over_the_wire(&sent)).unwrap();
    assert_eq!(turn, Turn::End(Ending::Failed("x".to_owned() + &"é".repeat(2047))));
}
