//! `Join`: a worker asks for a shard and is told which one, and how to read it.

use std::time::Duration;

use ddiht_core::{
    data::{FeatureChoice, LabelRule, Normalize},
    enrol::{Assignment, Preparation},
};

use crate::{
    PROTOCOL,
    bounds::{MAX_CHOICE, MAX_COLS, MAX_LOCATIONS, MAX_SHARDS},
    check::{
        MAX_TEXT, ascending, at_most, cut, finite, present, ranged, sentence, short, small_count,
    },
    columns::{from_gaps, to_gaps},
    error::WireError,
    exchange::{Ending, SessionId, decode_ending, encode_ending},
    pb::{self, join_reply::Outcome, label_rule::Rule},
};

/// Bytes of the name of a build.
const MAX_BUILD: usize = 256;
/// Milliseconds between signs of life: more often is noise, more seldom is silence.
const LEAST_HEARTBEAT: u64 = 10;
const MOST_HEARTBEAT: u64 = 3_600_000;
/// Labels in a rule for the positive class.
const MAX_RULE_LABELS: usize = MAX_LOCATIONS;

/// A worker, whatever process it is: a random number it keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkerId(pub u64);

/// An attempt of a worker to join: a random number it draws each time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LifeId(pub u64);

/// A worker that wants to join.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Joining {
    /// Who it is.
    pub worker: WorkerId,
    /// Which of its attempts this is.
    pub life: LifeId,
    /// Its program and version.
    pub build: String,
    /// The shard it would like.
    pub wish: Option<usize>,
}

/// A worker that has joined.
#[derive(Debug, Clone, PartialEq)]
pub struct Joined {
    /// Names this stay.
    pub session: SessionId,
    /// What to read.
    pub assignment: Assignment,
    /// Time between signs of life.
    pub heartbeat: Duration,
}

/// What became of a wish to join.
#[derive(Debug, Clone, PartialEq)]
pub enum Admission {
    /// There is a shard.
    Joined(Joined),
    /// The run was over first.
    Over(Ending),
}

/// The request of a worker.
pub fn encode_join(joining: &Joining) -> pb::JoinRequest {
    pb::JoinRequest {
        protocol: PROTOCOL,
        worker: joining.worker.0,
        life: joining.life.0,
        build: cut(&joining.build, MAX_BUILD),
        wished_shard: joining.wish.map(small_count),
    }
}

/// The request as the server of `shards` shards takes it. The version comes first: nothing else is sure to
/// mean the same in another one.
pub fn decode_join(request: pb::JoinRequest, shards: usize) -> Result<Joining, WireError> {
    if request.protocol != PROTOCOL {
        return Err(WireError::Protocol { theirs: request.protocol, ours: PROTOCOL });
    }
    // A wish from a run with more shards cannot be granted; that is no reason to turn the worker away.
    let wish = request.wished_shard.map(|shard| shard as usize).filter(|&shard| shard < shards);
    Ok(Joining {
        worker: WorkerId(request.worker),
        life: LifeId(request.life),
        build: sentence("build", request.build, MAX_BUILD)?,
        wish,
    })
}

/// The server's answer.
pub fn encode_admission(admission: &Admission) -> pb::JoinReply {
    let outcome = match admission {
        Admission::Joined(joined) => Outcome::Welcome(encode_welcome(joined)),
        Admission::Over(ending) => Outcome::Ending(encode_ending(ending)),
    };
    pb::JoinReply { outcome: Some(outcome) }
}

fn encode_welcome(joined: &Joined) -> pb::Welcome {
    let told = &joined.assignment;
    pb::Welcome {
        session: joined.session.0,
        assignment: Some(pb::Assignment {
            shard: small_count(told.shard),
            shards: small_count(told.shards),
            data: told.data.clone(),
            preparation: Some(encode_preparation(&told.preparation)),
        }),
        heartbeat_millis: u32::try_from(joined.heartbeat.as_millis()).unwrap_or(u32::MAX),
    }
}

/// The answer as a worker takes it.
pub fn decode_admission(reply: pb::JoinReply) -> Result<Admission, WireError> {
    Ok(match present("outcome", reply.outcome)? {
        Outcome::Welcome(welcome) => Admission::Joined(decode_welcome(welcome)?),
        Outcome::Ending(ending) => Admission::Over(decode_ending(ending)?),
    })
}

fn decode_welcome(reply: pb::Welcome) -> Result<Joined, WireError> {
    let told = present("assignment", reply.assignment)?;
    let shards = ranged("assignment.shards", told.shards.into(), 1, MAX_SHARDS as u64)?;
    at_most("assignment.data", &told.data, MAX_LOCATIONS)?;
    told.data.iter().try_for_each(|place| short("assignment.data", place, MAX_TEXT).map(drop))?;
    let assignment = Assignment {
        shard: ranged("assignment.shard", told.shard.into(), 0, shards as u64 - 1)?,
        shards,
        data: told.data,
        preparation: decode_preparation(present("assignment.preparation", told.preparation)?)?,
    };
    let millis = u64::from(reply.heartbeat_millis);
    ranged("heartbeat_millis", millis, LEAST_HEARTBEAT, MOST_HEARTBEAT)?;
    let heartbeat = Duration::from_millis(millis);
    Ok(Joined { session: SessionId(reply.session), assignment, heartbeat })
}

fn encode_preparation(preparation: &Preparation) -> pb::Preparation {
    let task = if preparation.classes { pb::Task::Classes } else { pb::Task::Numbers };
    let normalize = match preparation.normalize {
        Normalize::None => pb::Normalize::None,
        Normalize::L2 => pb::Normalize::L2,
    };
    pb::Preparation {
        zero_based: preparation.zero_based,
        task: task.into(),
        positive: preparation.positive.as_ref().map(encode_rule),
        normalize: normalize.into(),
        label: preparation.label.clone(),
        weights: preparation.weights.clone(),
        keep: to_gaps(preparation.choice.keep()),
        exclude: to_gaps(preparation.choice.exclude()),
    }
}

fn decode_preparation(message: pb::Preparation) -> Result<Preparation, WireError> {
    let unknown = |field, value| WireError::UnknownMember { field, value };
    let classes = match pb::Task::try_from(message.task) {
        Ok(pb::Task::Classes) => true,
        Ok(pb::Task::Numbers) => false,
        _ => return Err(unknown("preparation.task", message.task)),
    };
    let normalize = match pb::Normalize::try_from(message.normalize) {
        Ok(pb::Normalize::None) => Normalize::None,
        Ok(pb::Normalize::L2) => Normalize::L2,
        _ => return Err(unknown("preparation.normalize", message.normalize)),
    };
    if message.positive.is_some() && !classes {
        let (field, other) = ("preparation.positive", "preparation.task");
        return Err(WireError::Contradiction { field, other });
    }
    let columns = |field, gaps: &[u32]| from_gaps(field, gaps, MAX_COLS as usize, MAX_CHOICE);
    let keep = columns("preparation.keep", &message.keep)?;
    let exclude = columns("preparation.exclude", &message.exclude)?;
    let weights = message.weights;
    weights.iter().try_for_each(|place| short("preparation.weights", place, MAX_TEXT).map(drop))?;
    Ok(Preparation {
        zero_based: message.zero_based,
        classes,
        positive: message.positive.map(decode_rule).transpose()?,
        normalize,
        label: message.label,
        weights,
        choice: FeatureChoice::new(keep, exclude),
    })
}

fn encode_rule(rule: &LabelRule) -> pb::LabelRule {
    let rule = match rule {
        LabelRule::AtLeast(x) => Rule::AtLeast(*x),
        LabelRule::AtMost(x) => Rule::AtMost(*x),
        LabelRule::Above(x) => Rule::Above(*x),
        LabelRule::Below(x) => Rule::Below(*x),
        LabelRule::OneOf(list) => Rule::OneOf(pb::LabelList { labels: list.clone() }),
    };
    pb::LabelRule { rule: Some(rule) }
}

fn decode_rule(message: pb::LabelRule) -> Result<LabelRule, WireError> {
    let number = |x| finite("preparation.positive", x);
    Ok(match present("preparation.positive", message.rule)? {
        Rule::AtLeast(x) => LabelRule::AtLeast(number(x)?),
        Rule::AtMost(x) => LabelRule::AtMost(number(x)?),
        Rule::Above(x) => LabelRule::Above(number(x)?),
        Rule::Below(x) => LabelRule::Below(number(x)?),
        Rule::OneOf(list) => {
            let field = "preparation.positive.one_of";
            at_most(field, &list.labels, MAX_RULE_LABELS)?;
            ascending(field, &list.labels)?;
            if list.labels.is_empty() {
                return Err(WireError::Missing { field });
            }
            LabelRule::OneOf(list.labels)
        }
    })
}
