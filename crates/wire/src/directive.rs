//! Questions, from the server down.
//!
//! A refit asks for the gradient at many models on one support. Its columns are sent once: the encoder
//! remembers what it named in which round, and later probes refer to that round. One encoder serves one
//! session, and a session has one decoder, so a worker that joins anew starts with nothing assumed.
//!
//! To send a question again the server keeps the encoded message and sends that; it must not encode it
//! again. A message encoded but never delivered would leave the decoder behind, which it notices: the
//! round referred to is not the one it knows, and it says so ([`WireError::UnknownSupport`]).

use ddiht_core::round::{Attest, Directive, Job, ModelDelta, Probe, Weights};

use crate::{
    bounds::Bounds,
    check::{all_finite, at_most, magnitude, positive, present, ranged, same_length},
    columns::{from_gaps, to_gaps},
    error::WireError,
    exchange::{Turn, decode_ending},
    numbers::{decode_numbers, encode_numbers},
    pb::{self, exchange_reply::Next, probe::Support},
    weights::{decode_weights, encode_weights},
};

/// The columns of a probe and the round they were named in.
#[derive(Debug, Clone)]
struct Named {
    round: u64,
    columns: Vec<u32>,
}

/// The server's side of a session: makes questions into messages.
#[derive(Debug, Default)]
pub struct DirectiveEncoder {
    named: Option<Named>,
}

/// The worker's side of a session: makes messages into questions.
#[derive(Debug)]
pub struct DirectiveDecoder {
    bounds: Bounds,
    named: Option<Named>,
}

impl DirectiveEncoder {
    /// For a new session.
    pub fn new() -> Self {
        Self::default()
    }

    /// The message that opens `round`. Keep it until it has been answered, and send it again as it is.
    pub fn encode(&mut self, round: u64, directive: &Directive) -> pb::ExchangeReply {
        let next = match directive {
            Directive::Ascend(delta) => Next::Ascend(encode_delta(delta)),
            Directive::Attest(attest) => Next::Attest(pb::Attest {
                ascend: Some(encode_delta(&attest.delta)),
                certify: Some(pb::Certify { gaps: to_gaps(&attest.support) }),
                model: Some(encode_weights(&attest.model)),
            }),
            Directive::Certify { support } => Next::Certify(pb::Certify { gaps: to_gaps(support) }),
            Directive::Gradient(probe) => Next::Gradient(self.probe(round, probe)),
            Directive::Nominate { probe, count, hasty } => Next::Nominate(pb::Nominate {
                probe: Some(self.probe(round, probe)),
                count: *count as u64,
                hasty: *hasty,
            }),
            Directive::Survey { columns, at } => Next::Survey(pb::Survey {
                gaps: to_gaps(columns),
                at: at.as_ref().map(|probe| self.probe(round, probe)),
            }),
            Directive::Settle { gap } => Next::Settle(pb::Settle { gap: *gap }),
            Directive::Relax { gap } => Next::Relax(pb::Relax { gap: *gap }),
            Directive::Flush => Next::Flush(pb::Flush {}),
            Directive::Sdiht { model, unscored } => Next::Sdiht(pb::Sdiht {
                model: Some(encode_weights(model)),
                unscored: unscored.iter().map(encode_weights).collect(),
            }),
            Directive::Score { candidates } => {
                let candidates = candidates.iter().map(encode_weights).collect();
                Next::Score(pb::Score { candidates })
            }
            Directive::Measure { model } => {
                Next::Measure(pb::Measure { model: Some(encode_weights(model)) })
            }
        };
        pb::ExchangeReply { round, next: Some(next) }
    }

    fn probe(&mut self, round: u64, probe: &Probe) -> pb::Probe {
        let columns = &probe.model.indices;
        let support = match &self.named {
            Some(named) if named.columns == *columns => {
                Support::Same(pb::SameSupport { round: named.round })
            }
            _ => {
                self.named = Some(Named { round, columns: columns.clone() });
                Support::Columns(pb::Columns { gaps: to_gaps(columns) })
            }
        };
        pb::Probe {
            support: Some(support),
            values: Some(encode_numbers(&probe.model.values)),
            smoothing: probe.smoothing,
        }
    }
}

impl DirectiveDecoder {
    /// For a new session on `job`.
    pub fn new(job: &Job) -> Self {
        Self { bounds: Bounds::of(job), named: None }
    }

    /// What the server says. A message that is decoded twice says the same twice; one that is refused
    /// leaves no trace.
    pub fn decode(&mut self, message: pb::ExchangeReply) -> Result<Turn, WireError> {
        let next = match present("next", message.next)? {
            Next::Ending(ending) => return Ok(Turn::End(decode_ending(ending)?)),
            question => question,
        };
        let round = message.round;
        if round == 0 {
            return Err(WireError::WrongRound { kind: kind(&next), round });
        }
        Ok(Turn::Ask { round, directive: self.directive(round, next)? })
    }

    fn directive(&mut self, round: u64, next: Next) -> Result<Directive, WireError> {
        let columns =
            |field, gaps: &[u32]| from_gaps(field, gaps, self.bounds.cols, self.bounds.support());
        Ok(match next {
            Next::Ascend(ascend) => Directive::Ascend(self.delta(ascend)?),
            Next::Attest(attest) => {
                let certify = present("attest.certify", attest.certify)?;
                Directive::Attest(Attest {
                    delta: self.delta(present("attest.ascend", attest.ascend)?)?,
                    support: columns("attest.certify.gaps", &certify.gaps)?,
                    model: self.model("attest.model", attest.model, self.bounds.model())?,
                })
            }
            Next::Certify(certify) => {
                Directive::Certify { support: columns("certify.gaps", &certify.gaps)? }
            }
            Next::Gradient(probe) => Directive::Gradient(self.probe(round, probe)?),
            Next::Nominate(nominate) => {
                let most = self.bounds.nominees() as u64;
                let count = ranged("nominate.count", nominate.count, 0, most)?;
                let probe = present("nominate.probe", nominate.probe)?;
                let hasty = nominate.hasty;
                Directive::Nominate { probe: self.probe(round, probe)?, count, hasty }
            }
            Next::Survey(survey) => Directive::Survey {
                columns: columns("survey.gaps", &survey.gaps)?,
                at: survey.at.map(|probe| self.probe(round, probe)).transpose()?,
            },
            Next::Settle(settle) => Directive::Settle { gap: magnitude("settle.gap", settle.gap)? },
            Next::Relax(relax) => Directive::Relax { gap: magnitude("relax.gap", relax.gap)? },
            Next::Flush(_) => Directive::Flush,
            Next::Sdiht(sdiht) => Directive::Sdiht {
                model: self.model("sdiht.model", sdiht.model, self.bounds.model())?,
                unscored: self.models("sdiht.unscored", sdiht.unscored)?,
            },
            Next::Score(score) => {
                Directive::Score { candidates: self.models("score.candidates", score.candidates)? }
            }
            Next::Measure(measure) => Directive::Measure {
                model: self.model("measure.model", measure.model, self.bounds.support())?.into(),
            },
            Next::Ending(_) => return Err(WireError::WrongRound { kind: "ending", round }),
        })
    }

    fn delta(&self, message: pb::Ascend) -> Result<ModelDelta, WireError> {
        let most = if message.whole { self.bounds.cols } else { self.bounds.support() };
        let indices = from_gaps("ascend.gaps", &message.gaps, self.bounds.cols, most)?;
        same_length("ascend.weights", &message.weights, indices.len())?;
        same_length("ascend.theta", &message.theta, indices.len())?;
        all_finite("ascend.weights", &message.weights)?;
        if !(message.caution > 0.0 && message.caution.is_finite()) {
            let value = f64::from(message.caution);
            return Err(WireError::NotPositive { field: "ascend.caution", value });
        }
        let (weights, theta) = (message.weights, message.theta);
        Ok(ModelDelta { indices, weights, theta, caution: message.caution, whole: message.whole })
    }

    fn probe(&mut self, round: u64, message: pb::Probe) -> Result<Probe, WireError> {
        let (columns, named_here) = match present("probe.support", message.support)? {
            Support::Columns(columns) => {
                let most = self.bounds.support();
                let gaps = &columns.gaps;
                (from_gaps("probe.columns.gaps", gaps, self.bounds.cols, most)?, true)
            }
            Support::Same(same) => (self.support_of(same.round)?.to_vec(), false),
        };
        let values = decode_numbers("probe.values", message.values, columns.len())?;
        let smoothing = message.smoothing.map(|width| positive("probe.smoothing", width));
        let smoothing = smoothing.transpose()?;
        if named_here {
            self.named = Some(Named { round, columns: columns.clone() });
        }
        let model = Weights { indices: columns, values };
        Ok(Probe { model, smoothing })
    }

    fn support_of(&self, round: u64) -> Result<&[u32], WireError> {
        match &self.named {
            Some(named) if named.round == round => Ok(&named.columns),
            other => {
                let known = other.as_ref().map(|named| named.round);
                Err(WireError::UnknownSupport { round, known })
            }
        }
    }

    fn model(
        &self,
        field: &'static str,
        message: Option<pb::Weights>,
        most: usize,
    ) -> Result<Weights, WireError> {
        decode_weights(field, message, self.bounds.cols, most)
    }

    fn models(
        &self,
        field: &'static str,
        messages: Vec<pb::Weights>,
    ) -> Result<Vec<Weights>, WireError> {
        at_most(field, &messages, self.bounds.models())?;
        let model = |message| self.model(field, Some(message), self.bounds.model());
        messages.into_iter().map(model).collect()
    }
}

fn encode_delta(delta: &ModelDelta) -> pb::Ascend {
    pb::Ascend {
        gaps: to_gaps(&delta.indices),
        weights: delta.weights.clone(),
        theta: delta.theta.clone(),
        caution: delta.caution,
        whole: delta.whole,
    }
}

/// The name of a question in the contract.
fn kind(next: &Next) -> &'static str {
    match next {
        Next::Ascend(_) => "ascend",
        Next::Attest(_) => "attest",
        Next::Certify(_) => "certify",
        Next::Gradient(_) => "gradient",
        Next::Nominate(_) => "nominate",
        Next::Survey(_) => "survey",
        Next::Settle(_) => "settle",
        Next::Relax(_) => "relax",
        Next::Flush(_) => "flush",
        Next::Sdiht(_) => "sdiht",
        Next::Score(_) => "score",
        Next::Measure(_) => "measure",
        Next::Ending(_) => "ending",
    }
}
