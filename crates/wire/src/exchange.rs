//! `Exchange`: the envelope of a round, and how a run ends.
//!
//! Who answers which round is read first ([`open_answer`]). The answer itself stays sealed until the
//! question is known that it must fit.

use std::time::Duration;

use crate::{
    bounds::MAX_SHARDS,
    check::{MAX_TEXT, cut, present, ranged, sentence, small_count},
    error::WireError,
    pb::{self, ending::How, exchange_reply::Next, exchange_request},
};
use ddiht_core::round::{Directive, Reply};

/// A stay of a worker on a shard. A new one shuts out the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(pub u64);

/// Who calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Caller {
    /// Its stay.
    pub session: SessionId,
    /// Its shard.
    pub shard: usize,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// There is a model.
    Finished,
    /// There is none, and why.
    Failed(String),
}

/// What a worker sends in a round.
#[derive(Debug)]
pub struct Answer {
    /// Who answers.
    pub caller: Caller,
    /// The round; 0 if none has been answered yet.
    pub round: u64,
    /// How long the worker computed.
    pub compute: Duration,
    /// What it says.
    pub body: AnswerBody,
}

/// What a worker says in a round.
#[derive(Debug)]
pub enum AnswerBody {
    /// It waits for its first question.
    Ready,
    /// An answer, to be read by [`crate::decode_reply`].
    Reply(SealedReply),
}

/// An answer that nothing is known of yet but who gave it.
#[derive(Debug)]
pub struct SealedReply(pub(crate) exchange_request::Answer);

/// What the server says next.
#[derive(Debug, Clone, PartialEq)]
pub enum Turn {
    /// A question.
    Ask {
        /// The round it opens.
        round: u64,
        /// The question.
        directive: Directive,
    },
    /// The run is over.
    End(Ending),
}

impl Caller {
    pub(crate) fn fields(self) -> (u64, u32) {
        (self.session.0, small_count(self.shard))
    }

    pub(crate) fn from_fields(session: u64, shard: u32) -> Result<Self, WireError> {
        let shard = ranged("shard", shard.into(), 0, MAX_SHARDS as u64 - 1)?;
        Ok(Self { session: SessionId(session), shard })
    }
}

/// The request of a worker that waits for its first question.
pub fn encode_ready(caller: Caller) -> pb::ExchangeRequest {
    envelope(caller, 0, Duration::ZERO, exchange_request::Answer::Ready(pb::Ready {}))
}

/// The request of a worker that answers `round` after computing for `compute`.
pub fn encode_answer(
    caller: Caller,
    round: u64,
    compute: Duration,
    reply: &Reply,
) -> pb::ExchangeRequest {
    envelope(caller, round, compute, crate::encode_reply(reply))
}

fn envelope(
    caller: Caller,
    round: u64,
    compute: Duration,
    answer: exchange_request::Answer,
) -> pb::ExchangeRequest {
    let (session, shard) = caller.fields();
    let compute_micros = u64::try_from(compute.as_micros()).unwrap_or(u64::MAX);
    pb::ExchangeRequest { session, shard, round, compute_micros, answer: Some(answer) }
}

/// The request as the server takes it, the answer still sealed.
pub fn open_answer(request: pb::ExchangeRequest) -> Result<Answer, WireError> {
    let answer = present("answer", request.answer)?;
    let ready = matches!(answer, exchange_request::Answer::Ready(_));
    if ready != (request.round == 0) {
        let kind = crate::reply::kind(&answer);
        return Err(WireError::WrongRound { kind, round: request.round });
    }
    Ok(Answer {
        caller: Caller::from_fields(request.session, request.shard)?,
        round: request.round,
        compute: Duration::from_micros(request.compute_micros),
        body: if ready { AnswerBody::Ready } else { AnswerBody::Reply(SealedReply(answer)) },
    })
}

/// The server's answer once the run is over.
pub fn encode_end(round: u64, ending: &Ending) -> pb::ExchangeReply {
    pb::ExchangeReply { round, next: Some(Next::Ending(encode_ending(ending))) }
}

/// The sign of life of a worker.
pub fn encode_heartbeat(caller: Caller) -> pb::HeartbeatRequest {
    let (session, shard) = caller.fields();
    pb::HeartbeatRequest { session, shard }
}

/// The sign of life as the server takes it.
pub fn decode_heartbeat(request: &pb::HeartbeatRequest) -> Result<Caller, WireError> {
    Caller::from_fields(request.session, request.shard)
}

/// The server's answer to a sign of life, which may name a shard that nobody has.
pub fn encode_heard(orphan: Option<usize>) -> pb::HeartbeatReply {
    pb::HeartbeatReply { orphan: orphan.map(small_count) }
}

/// The answer as a worker takes it.
pub fn decode_heard(reply: &pb::HeartbeatReply) -> Result<Option<usize>, WireError> {
    let shard = |orphan: u32| ranged("orphan", orphan.into(), 0, MAX_SHARDS as u64 - 1);
    reply.orphan.map(shard).transpose()
}

pub(crate) fn encode_ending(ending: &Ending) -> pb::Ending {
    let how = match ending {
        Ending::Finished => How::Finished(pb::Finished {}),
        Ending::Failed(sentence) => How::Failed(pb::Failed { sentence: cut(sentence, MAX_TEXT) }),
    };
    pb::Ending { how: Some(how) }
}

pub(crate) fn decode_ending(message: pb::Ending) -> Result<Ending, WireError> {
    Ok(match present("ending", message.how)? {
        How::Finished(_) => Ending::Finished,
        How::Failed(failed) => {
            Ending::Failed(sentence("ending.failed.sentence", failed.sentence, MAX_TEXT)?)
        }
    })
}
