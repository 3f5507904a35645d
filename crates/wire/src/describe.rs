//! `Describe`: a worker tells what is in its shard, and is told the facts of the whole.

use ddiht_core::{
    data::{LabelCounts, LabelMap},
    enrol::{Assignment, Launch, ShardFacts},
};

use crate::{
    bounds::{MAX_COLS, MAX_ENTRIES, MAX_LABELS, MAX_ROWS},
    check::{
        self, MAX_TEXT, ascending, at_most, cut, finite, present, ranged, same_length, sentence,
    },
    error::WireError,
    exchange::{Caller, Ending, decode_ending, encode_ending},
    job::{decode_job, encode_job},
    pb::{self, describe_reply, describe_request},
};

/// What became of reading a shard.
#[derive(Debug, Clone, PartialEq)]
pub enum Description {
    /// It was read.
    Facts(ShardFacts),
    /// Why it cannot be used.
    Problem(String),
}

/// What follows from all descriptions.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// The first round may come.
    Launch(Launch),
    /// Rounds are under way, and the shard has to restate itself.
    UnderWay(Launch),
    /// There will be no rounds.
    End(Ending),
}

/// The request of a worker. A sentence that is too long is cut.
pub fn encode_description(caller: Caller, description: &Description) -> pb::DescribeRequest {
    use describe_request::Description as Member;
    let member = match description {
        Description::Facts(facts) => Member::Facts(encode_facts(facts)),
        Description::Problem(sentence) => {
            Member::Problem(pb::DataProblem { sentence: cut(sentence, MAX_TEXT) })
        }
    };
    let (session, shard) = caller.fields();
    pb::DescribeRequest { session, shard, description: Some(member) }
}

/// The request as the server takes it.
pub fn decode_description(
    request: pb::DescribeRequest,
) -> Result<(Caller, Description), WireError> {
    use describe_request::Description as Member;
    let caller = Caller::from_fields(request.session, request.shard)?;
    let description = match present("description", request.description)? {
        Member::Facts(facts) => Description::Facts(decode_facts(facts)?),
        Member::Problem(problem) => {
            Description::Problem(sentence("problem.sentence", problem.sentence, MAX_TEXT)?)
        }
    };
    Ok((caller, description))
}

/// The server's answer.
pub fn encode_verdict(verdict: &Verdict) -> pb::DescribeReply {
    use describe_reply::Verdict as Member;
    let member = match verdict {
        Verdict::Launch(launch) => Member::Launch(encode_launch(launch)),
        Verdict::UnderWay(launch) => Member::UnderWay(encode_launch(launch)),
        Verdict::End(ending) => Member::Ending(encode_ending(ending)),
    };
    pb::DescribeReply { verdict: Some(member) }
}

/// The answer as the worker with `assignment` takes it, which has `sent` this description.
pub fn decode_verdict(
    reply: pb::DescribeReply,
    assignment: &Assignment,
    sent: &Description,
) -> Result<Verdict, WireError> {
    use describe_reply::Verdict as Member;
    let (launch, verdict): (_, fn(Launch) -> Verdict) = match present("verdict", reply.verdict)? {
        Member::Ending(ending) => return Ok(Verdict::End(decode_ending(ending)?)),
        Member::Launch(launch) => (launch, Verdict::Launch),
        Member::UnderWay(launch) => (launch, Verdict::UnderWay),
    };
    let Description::Facts(facts) = sent else {
        return Err(WireError::Contradiction { field: "launch", other: "problem" });
    };
    let launch = decode_launch(launch)?;
    agree(&launch, assignment, facts)?;
    Ok(verdict(launch))
}

/// The whole cannot be smaller than its part, nor of another kind.
fn agree(launch: &Launch, assignment: &Assignment, facts: &ShardFacts) -> Result<(), WireError> {
    let job = &launch.job;
    let claims = [
        ("launch.job.shards", "assignment.shards", job.shards == assignment.shards),
        ("launch.job.cols", "facts.cols", job.cols as u64 >= facts.cols),
        ("launch.job.total_rows", "facts.rows", job.total_rows as u64 >= facts.rows),
        ("launch.job.entries", "facts.entries", job.entries as u64 >= facts.entries),
        (
            "launch.job.loss",
            "preparation.task",
            job.loss.is_classification() == assignment.preparation.classes,
        ),
    ];
    match claims.into_iter().find(|claim| !claim.2) {
        Some((field, other, _)) => Err(WireError::Contradiction { field, other }),
        None => Ok(()),
    }
}

fn encode_facts(facts: &ShardFacts) -> pb::ShardFacts {
    let (labels, rows) = facts.labels.counts().iter().copied().unzip();
    pb::ShardFacts {
        rows: facts.rows,
        cols: facts.cols,
        entries: facts.entries,
        labels: Some(pb::LabelCounts { labels, rows, others: facts.labels.others() }),
        zero_based: facts.zero_based,
    }
}

fn decode_facts(message: pb::ShardFacts) -> Result<ShardFacts, WireError> {
    let (rows, cols, entries) = (message.rows, message.cols, message.entries);
    ranged("facts.rows", rows, 0, MAX_ROWS)?;
    ranged("facts.cols", cols, 1, MAX_COLS)?;
    ranged("facts.entries", entries, 0, MAX_ENTRIES)?;
    if u128::from(entries) > u128::from(rows) * u128::from(cols) {
        let (field, other) = ("facts.entries", "facts.rows and facts.cols");
        return Err(WireError::Contradiction { field, other });
    }
    let labels = decode_counts(&message.labels.unwrap_or_default(), rows)?;
    Ok(ShardFacts { rows, cols, entries, labels, zero_based: message.zero_based })
}

fn decode_counts(message: &pb::LabelCounts, rows: u64) -> Result<LabelCounts, WireError> {
    at_most("facts.labels.labels", &message.labels, MAX_LABELS)?;
    ascending("facts.labels.labels", &message.labels)?;
    same_length("facts.labels.rows", &message.rows, message.labels.len())?;
    for &count in &message.rows {
        ranged("facts.labels.rows", count, 1, rows)?;
    }
    let listed: u128 = message.rows.iter().copied().map(u128::from).sum();
    if listed + u128::from(message.others) > u128::from(rows) {
        let (field, other) = ("facts.labels", "facts.rows");
        return Err(WireError::Contradiction { field, other });
    }
    let counts = message.labels.iter().copied().zip(message.rows.iter().copied());
    Ok(LabelCounts::from_counts(counts, message.others))
}

fn encode_launch(launch: &Launch) -> pb::Launch {
    let labels = launch.labels.map(|map| pb::LabelMap {
        negative: map.negative,
        positive: map.positive,
        negative_weight: map.weights[0],
        positive_weight: map.weights[1],
    });
    pb::Launch { job: Some(encode_job(&launch.job)), labels, zero_based: launch.zero_based }
}

fn decode_launch(message: pb::Launch) -> Result<Launch, WireError> {
    let job = decode_job(present("launch.job", message.job)?)?;
    if job.loss.is_classification() != message.labels.is_some() {
        let (field, other) = ("launch.labels", "launch.job.loss");
        return Err(WireError::Contradiction { field, other });
    }
    let labels = message.labels.map(|map| decode_map(&map)).transpose()?;
    Ok(Launch { job, labels, zero_based: message.zero_based })
}

fn decode_map(message: &pb::LabelMap) -> Result<LabelMap, WireError> {
    let negative = finite("launch.labels.negative", message.negative)?;
    let positive = finite("launch.labels.positive", message.positive)?;
    if negative == positive {
        let (field, other) = ("launch.labels.negative", "launch.labels.positive");
        return Err(WireError::Contradiction { field, other });
    }
    let weights = [
        check::positive("launch.labels.negative_weight", message.negative_weight)?,
        check::positive("launch.labels.positive_weight", message.positive_weight)?,
    ];
    Ok(LabelMap { negative, positive, weights })
}
