//! Answers, from a worker up. The question decides what an answer must look like.

use ddiht_core::round::{
    Attested, ConjugateSum, Directive, Evidence, Job, LocalModel, Reply, Slope, Sparse,
};

use crate::{
    bounds::{Bounds, MAX_ENTRIES},
    check::{
        all_finite, all_magnitudes, finite, magnitude, not_negative, positive, present, ranged,
        same_length,
    },
    columns::{from_gaps, to_gaps},
    error::WireError,
    exchange::SealedReply,
    measures::{decode_measures, encode_measures},
    numbers::{decode_numbers, encode_numbers},
    pb::{self, exchange_request::Answer},
    weights::{decode_weights, encode_weights},
};

/// The message of `reply`.
pub fn encode_reply(reply: &Reply) -> Answer {
    match reply {
        Reply::Ascend(part) => Answer::Ascent(encode_ascent(part)),
        Reply::Settled { visited, selectors } => Answer::Settled(pb::Settled {
            visited: *visited,
            gaps: to_gaps(&selectors.indices),
            selectors: selectors.values.clone(),
        }),
        Reply::Attested(attested) => Answer::Attested(pb::Attested {
            ascent: Some(encode_ascent(&attested.update)),
            evidence: Some(encode_evidence(&attested.evidence)),
            loss: attested.loss,
        }),
        Reply::Evidence(evidence) => Answer::Evidence(encode_evidence(evidence)),
        Reply::Gradient(slope) => Answer::Slope(pb::Slope {
            loss: slope.loss,
            smoothed: (slope.smoothed != slope.loss).then_some(slope.smoothed),
            gradient: Some(encode_numbers(&slope.gradient)),
            visited: slope.visited,
        }),
        Reply::Nominees { gradient, curvature } => Answer::Nominees(pb::Nominees {
            gaps: to_gaps(&gradient.indices),
            gradient: gradient.values.clone(),
            curvature: curvature.clone(),
        }),
        Reply::Survey { gradient, curvature } => Answer::Findings(pb::Findings {
            gradient: Some(encode_numbers(gradient)),
            curvature: curvature.clone(),
        }),
        Reply::Sdiht(local) => Answer::LocalModel(pb::LocalModel {
            model: Some(encode_weights(&local.model)),
            losses: local.losses.clone(),
            step: local.step,
            norm_sq: local.norm_sq,
            conjugate: Some(encode_conjugate(&local.conjugate)),
            visited: local.visited,
        }),
        Reply::Losses(losses) => Answer::Losses(pb::Losses { losses: losses.clone() }),
        Reply::Measures(measures) => Answer::Measures(encode_measures(measures)),
    }
}

/// The answer of a shard of `job` to the question `asked`.
pub fn decode_reply(sealed: SealedReply, asked: &Directive, job: &Job) -> Result<Reply, WireError> {
    let bounds = Bounds::of(job);
    match (asked, sealed.0) {
        (Directive::Ascend(_) | Directive::Flush, Answer::Ascent(ascent)) => {
            decode_ascent(ascent, &bounds).map(Reply::Ascend)
        }
        (Directive::Settle { .. }, Answer::Settled(settled)) => decode_settled(settled, &bounds),
        (Directive::Certify { support }, Answer::Evidence(evidence)) => {
            decode_evidence(evidence, support.len()).map(Reply::Evidence)
        }
        (Directive::Attest(attest), Answer::Attested(attested)) => {
            decode_attested(attested, attest.support.len(), &bounds)
        }
        (Directive::Gradient(probe), Answer::Slope(slope)) => {
            decode_slope(slope, probe.model.indices.len())
        }
        (Directive::Nominate { count, .. }, Answer::Nominees(nominees)) => {
            decode_nominees(nominees, *count, &bounds)
        }
        (Directive::Survey { columns, .. }, Answer::Findings(findings)) => {
            decode_findings(findings, columns.len())
        }
        (Directive::Sdiht { unscored, .. }, Answer::LocalModel(local)) => {
            decode_local_model(local, unscored.len() + 1, &bounds)
        }
        (Directive::Score { candidates }, Answer::Losses(losses)) => {
            decode_losses("losses.losses", losses.losses, candidates.len()).map(Reply::Losses)
        }
        (Directive::Measure { .. }, Answer::Measures(measures)) => {
            decode_measures(measures, &bounds).map(Reply::Measures)
        }
        (asked, answer) => {
            Err(WireError::WrongReply { asked: question(asked), found: kind(&answer) })
        }
    }
}

fn encode_ascent(part: &Sparse<f32>) -> pb::Ascent {
    pb::Ascent { gaps: to_gaps(&part.indices), values: part.values.clone() }
}

fn decode_settled(message: pb::Settled, bounds: &Bounds) -> Result<Reply, WireError> {
    let visited = message.visited;
    ranged("settled.visited", visited, 0, MAX_ENTRIES)?;
    let indices = from_gaps("settled.gaps", &message.gaps, bounds.cols, bounds.support())?;
    if let Some(&first) = indices.first() {
        // The constant is no feature, and never chosen.
        ranged("settled.gaps", u64::from(first), 1, bounds.cols as u64)?;
    }
    same_length("settled.selectors", &message.selectors, indices.len())?;
    for &selector in &message.selectors {
        positive("settled.selectors", f64::from(selector))?;
    }
    Ok(Reply::Settled { visited, selectors: Sparse { indices, values: message.selectors } })
}

fn encode_evidence(evidence: &Evidence) -> pb::Evidence {
    pb::Evidence {
        u: evidence.u.clone(),
        unsent: evidence.unsent,
        rounding: evidence.rounding,
        conjugate: Some(encode_conjugate(&evidence.conjugate)),
    }
}

fn decode_attested(
    message: pb::Attested,
    asked: usize,
    bounds: &Bounds,
) -> Result<Reply, WireError> {
    Ok(Reply::Attested(Attested {
        update: decode_ascent(present("attested.ascent", message.ascent)?, bounds)?,
        evidence: decode_evidence(present("attested.evidence", message.evidence)?, asked)?,
        loss: magnitude("attested.loss", message.loss)?,
    }))
}

fn decode_ascent(message: pb::Ascent, bounds: &Bounds) -> Result<Sparse<f32>, WireError> {
    let indices = from_gaps("ascent.gaps", &message.gaps, bounds.cols, bounds.ascent())?;
    same_length("ascent.values", &message.values, indices.len())?;
    all_finite("ascent.values", &message.values)?;
    Ok(Sparse { indices, values: message.values })
}

fn decode_evidence(message: pb::Evidence, asked: usize) -> Result<Evidence, WireError> {
    same_length("evidence.u", &message.u, asked)?;
    all_finite("evidence.u", &message.u)?;
    Ok(Evidence {
        u: message.u,
        unsent: magnitude("evidence.unsent", message.unsent)?,
        rounding: magnitude("evidence.rounding", message.rounding)?,
        conjugate: decode_conjugate(message.conjugate)?,
    })
}

fn decode_slope(message: pb::Slope, asked: usize) -> Result<Reply, WireError> {
    let gradient = decode_numbers("slope.gradient", message.gradient, asked)?;
    ranged("slope.visited", message.visited, 0, MAX_ENTRIES)?;
    let loss = magnitude("slope.loss", message.loss)?;
    Ok(Reply::Gradient(Slope {
        loss,
        smoothed: magnitude("slope.smoothed", message.smoothed.unwrap_or(loss))?,
        gradient,
        visited: message.visited,
    }))
}

fn decode_nominees(
    message: pb::Nominees,
    count: usize,
    bounds: &Bounds,
) -> Result<Reply, WireError> {
    let indices = from_gaps("nominees.gaps", &message.gaps, bounds.cols, count)?;
    same_length("nominees.gradient", &message.gradient, indices.len())?;
    same_length("nominees.curvature", &message.curvature, indices.len())?;
    all_finite("nominees.gradient", &message.gradient)?;
    all_magnitudes("nominees.curvature", &message.curvature)?;
    let gradient = Sparse { indices, values: message.gradient };
    Ok(Reply::Nominees { gradient, curvature: message.curvature })
}

fn decode_findings(message: pb::Findings, asked: usize) -> Result<Reply, WireError> {
    same_length("findings.curvature", &message.curvature, asked)?;
    let gradient = decode_numbers("findings.gradient", message.gradient, asked)?;
    all_magnitudes("findings.curvature", &message.curvature)?;
    Ok(Reply::Survey { gradient, curvature: message.curvature })
}

fn decode_local_model(
    message: pb::LocalModel,
    losses: usize,
    bounds: &Bounds,
) -> Result<Reply, WireError> {
    let (field, most) = ("local_model.model", bounds.model());
    ranged("local_model.visited", message.visited, 0, MAX_ENTRIES)?;
    Ok(Reply::Sdiht(LocalModel {
        model: decode_weights(field, message.model, bounds.cols, most)?,
        losses: decode_losses("local_model.losses", message.losses, losses)?,
        // A shard without curvature has a step without limit.
        step: not_negative("local_model.step", 0, message.step)?,
        norm_sq: magnitude("local_model.norm_sq", message.norm_sq)?,
        conjugate: decode_conjugate(message.conjugate)?,
        visited: message.visited,
    }))
}

fn decode_losses(
    field: &'static str,
    losses: Vec<f64>,
    asked: usize,
) -> Result<Vec<f64>, WireError> {
    same_length(field, &losses, asked)?;
    all_magnitudes(field, &losses)?;
    Ok(losses)
}

fn encode_conjugate(sum: &ConjugateSum) -> pb::ConjugateSum {
    pb::ConjugateSum {
        linear: sum.linear,
        quadratic: sum.quadratic,
        other: sum.other,
        magnitude: sum.magnitude,
        largest: sum.largest,
    }
}

fn decode_conjugate(message: Option<pb::ConjugateSum>) -> Result<ConjugateSum, WireError> {
    let message = present("conjugate", message)?;
    Ok(ConjugateSum {
        linear: finite("conjugate.linear", message.linear)?,
        quadratic: finite("conjugate.quadratic", message.quadratic)?,
        other: finite("conjugate.other", message.other)?,
        magnitude: magnitude("conjugate.magnitude", message.magnitude)?,
        largest: magnitude("conjugate.largest", message.largest)?,
    })
}

/// The name of an answer in the contract.
pub(crate) fn kind(answer: &Answer) -> &'static str {
    match answer {
        Answer::Ready(_) => "ready",
        Answer::Ascent(_) => "ascent",
        Answer::Attested(_) => "attested",
        Answer::Evidence(_) => "evidence",
        Answer::Slope(_) => "slope",
        Answer::Nominees(_) => "nominees",
        Answer::Findings(_) => "findings",
        Answer::LocalModel(_) => "local_model",
        Answer::Losses(_) => "losses",
        Answer::Measures(_) => "measures",
        Answer::Settled(_) => "settled",
    }
}

/// The name of a question in the contract.
fn question(directive: &Directive) -> &'static str {
    match directive {
        Directive::Ascend(_) => "ascend",
        Directive::Attest(_) => "attest",
        Directive::Certify { .. } => "certify",
        Directive::Gradient(_) => "gradient",
        Directive::Nominate { .. } => "nominate",
        Directive::Survey { .. } => "survey",
        Directive::Settle { .. } => "settle",
        Directive::Flush => "flush",
        Directive::Sdiht { .. } => "sdiht",
        Directive::Score { .. } => "score",
        Directive::Measure { .. } => "measure",
    }
}
