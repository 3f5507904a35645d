//! Every rule for questions, broken once.

use ddiht_core::round::{Directive, Probe, Weights};
use tonic::Code;

use super::{COLS, K, SHARDS, assert_refused, job};
use crate::{
    DirectiveDecoder, DirectiveEncoder, Turn,
    pb::{self, exchange_reply::Next},
};

fn decode(round: u64, next: Option<Next>) -> Result<Turn, crate::WireError> {
    DirectiveDecoder::new(&job()).decode(pb::ExchangeReply { round, next })
}

fn ascend(gaps: &[u32], weights: &[f32], theta: &[u8]) -> Next {
    let (gaps, weights, theta) = (gaps.to_vec(), weights.to_vec(), theta.to_vec());
    Next::Ascend(pb::Ascend { gaps, weights, theta, caution: 1.0, whole: false })
}

fn doubles(gaps: &[u32], values: &[f64]) -> pb::Weights {
    let values = pb::weights::Values::Doubles(pb::Doubles { values: values.to_vec() });
    pb::Weights { gaps: gaps.to_vec(), values: Some(values) }
}

fn probe(gaps: &[u32], values: &[f64], smoothing: Option<f64>) -> pb::Probe {
    let columns = pb::Columns { gaps: gaps.to_vec() };
    let support = Some(pb::probe::Support::Columns(columns));
    pb::Probe { support, values: Some(crate::numbers::encode_numbers(values)), smoothing }
}

#[test]
fn columns_that_cannot_be() {
    // Of the job of the tests: 50 columns, 5 features, 3 shards.
    let last = COLS as u32 - 1;
    assert!(decode(1, Some(ascend(&[last], &[1.0], &[9]))).is_ok());
    let two = [1.0, 1.0];
    let cases = [
        (ascend(&[last + 1], &[1.0], &[9]), Code::OutOfRange, "column 50"),
        (ascend(&[last, 1], &two, &[9, 9]), Code::OutOfRange, "column 50"),
        (ascend(&[1, u32::MAX], &two, &[9, 9]), Code::OutOfRange, "column 4294967296"),
        (ascend(&[3, 0], &two, &[9, 9]), Code::InvalidArgument, "ascending at entry 1"),
        (Next::Certify(pb::Certify { gaps: vec![50] }), Code::OutOfRange, "certify.gaps"),
        (Next::Survey(pb::Survey { gaps: vec![50], at: None }), Code::OutOfRange, "survey.gaps"),
        (Next::Certify(pb::Certify { gaps: vec![1; 47] }), Code::ResourceExhausted, "46"),
    ];
    for (next, code, words) in cases {
        assert_refused(decode(1, Some(next)), code, words);
    }
}

#[test]
fn changes_of_the_model_that_cannot_be() {
    let cases = [
        (ascend(&[1, 1], &[1.0], &[9, 9]), Code::InvalidArgument, "ascend.weights"),
        (ascend(&[1, 1], &[1.0, 1.0], &[9]), Code::InvalidArgument, "ascend.theta"),
        (ascend(&[1, 1], &[1.0, f32::NAN], &[9, 9]), Code::InvalidArgument, "entry 1"),
        (ascend(&[1], &[f32::INFINITY], &[9]), Code::InvalidArgument, "inf"),
    ];
    for (next, code, words) in cases {
        assert_refused(decode(1, Some(next)), code, words);
    }
    for caution in [0.0, -1.0, f32::NAN, f32::INFINITY] {
        let reckless = pb::Ascend { caution, ..pb::Ascend::default() };
        assert_refused(decode(1, Some(Next::Ascend(reckless))), Code::OutOfRange, "ascend.caution");
    }
}

#[test]
fn dual_rounds_with_evidence_that_cannot_be() {
    let good = || pb::Attest {
        ascend: Some(pb::Ascend { caution: 1.0, ..pb::Ascend::default() }),
        certify: Some(pb::Certify { gaps: vec![1] }),
        model: Some(doubles(&[1], &[1.0])),
    };
    assert!(decode(1, Some(Next::Attest(good()))).is_ok());
    let with = |change: fn(&mut pb::Attest)| {
        let mut attest = good();
        change(&mut attest);
        Next::Attest(attest)
    };
    let cases = [
        (with(|a| a.ascend = None), Code::InvalidArgument, "attest.ascend"),
        (with(|a| a.ascend = Some(pb::Ascend::default())), Code::OutOfRange, "ascend.caution"),
        (with(|a| a.certify = None), Code::InvalidArgument, "attest.certify"),
        (
            with(|a| a.certify = Some(pb::Certify { gaps: vec![50] })),
            Code::OutOfRange,
            "attest.certify.gaps",
        ),
        (with(|a| a.model = None), Code::InvalidArgument, "attest.model"),
        (
            with(|a| a.model = Some(doubles(&[1; K + 2], &[1.0; K + 2]))),
            Code::ResourceExhausted,
            "attest.model",
        ),
    ];
    for (next, code, words) in cases {
        assert_refused(decode(1, Some(next)), code, words);
    }
}

#[test]
fn probes_that_cannot_be() {
    let nominate = |probe, count| Next::Nominate(pb::Nominate { probe, count, hasty: false });
    let good = || probe(&[1], &[1.0], None);
    let nowhere = pb::Probe { support: None, ..good() };
    let cases = [
        (Next::Gradient(nowhere), Code::InvalidArgument, "probe.support"),
        (Next::Gradient(probe(&[50], &[1.0], None)), Code::OutOfRange, "probe.columns.gaps"),
        (Next::Gradient(probe(&[1], &[], None)), Code::InvalidArgument, "probe.values"),
        (Next::Gradient(probe(&[1], &[f64::NAN], None)), Code::InvalidArgument, "NaN"),
        (Next::Gradient(probe(&[1], &[1.0], Some(0.0))), Code::OutOfRange, "probe.smoothing"),
        (Next::Gradient(probe(&[1], &[1.0], Some(f64::NAN))), Code::OutOfRange, "smoothing"),
        (nominate(None, 1), Code::InvalidArgument, "nominate.probe"),
        (nominate(Some(good()), 9 * K as u64 + 2), Code::OutOfRange, "nominate.count"),
    ];
    for (next, code, words) in cases {
        assert_refused(decode(1, Some(next)), code, words);
    }
}

#[test]
fn models_that_cannot_be() {
    let sdiht = |model, unscored| Next::Sdiht(pb::Sdiht { model, unscored });
    let score = |candidates| Next::Score(pb::Score { candidates });
    let measure = |model| Next::Measure(pb::Measure { model });
    let good = || doubles(&[1], &[1.0]);
    let empty = pb::Weights { gaps: Vec::new(), values: None };
    let long = doubles(&[1; K + 2], &[1.0; K + 2]);
    let many = vec![good(); 2 * SHARDS + 3];
    let cases = [
        (sdiht(None, vec![]), Code::InvalidArgument, "sdiht.model is missing"),
        (sdiht(Some(empty), vec![]), Code::InvalidArgument, "sdiht.model is missing"),
        (sdiht(Some(long.clone()), vec![]), Code::ResourceExhausted, "sdiht.model"),
        (sdiht(Some(good()), many.clone()), Code::ResourceExhausted, "sdiht.unscored"),
        (sdiht(Some(good()), vec![doubles(&[1], &[])]), Code::InvalidArgument, "unscored"),
        (score(many), Code::ResourceExhausted, "score.candidates"),
        (score(vec![long]), Code::ResourceExhausted, "score.candidates"),
        (measure(Some(doubles(&[50], &[1.0]))), Code::OutOfRange, "measure.model"),
        (measure(Some(doubles(&[1], &[f64::INFINITY]))), Code::InvalidArgument, "inf"),
    ];
    for (next, code, words) in cases {
        assert_refused(decode(1, Some(next)), code, words);
    }
}

#[test]
fn questions_without_a_kind_or_a_round() {
    assert_refused(decode(1, None), Code::InvalidArgument, "next");
    let flush = || Some(Next::Flush(pb::Flush {}));
    assert_refused(decode(0, flush()), Code::FailedPrecondition, "`flush`");
    let ending = Next::Ending(pb::Ending { how: None });
    assert_refused(decode(1, Some(ending)), Code::InvalidArgument, "ending");
    let failed = pb::Failed { sentence: "x".repeat(4097) };
    let ending = Next::Ending(pb::Ending { how: Some(pb::ending::How::Failed(failed)) });
    assert_refused(decode(1, Some(ending)), Code::ResourceExhausted, "sentence");
}

fn gradient(columns: &[u32]) -> Directive {
    let model = Weights { indices: columns.to_vec(), values: vec![0.5; columns.len()] };
    Directive::Gradient(Probe { model, smoothing: None })
}

#[test]
fn a_support_is_named_once_and_never_guessed() {
    let mut encoder = DirectiveEncoder::new();
    let named = encoder.encode(3, &gradient(&[1, 2]));
    let same = encoder.encode(4, &gradient(&[1, 2]));
    let other = encoder.encode(5, &gradient(&[1, 3]));
    let mut decoder = DirectiveDecoder::new(&job());
    // A worker that missed the naming.
    let missed = decoder.decode(same.clone());
    assert_refused(missed, Code::FailedPrecondition, "round 3 is referred to, but none");
    decoder.decode(named.clone()).unwrap();
    let expected = Turn::Ask { round: 4, directive: gradient(&[1, 2]) };
    assert_eq!(decoder.decode(same.clone()).unwrap(), expected);
    decoder.decode(other).unwrap();
    // A message that was overtaken.
    let late = decoder.decode(same.clone());
    assert_refused(late, Code::FailedPrecondition, "only that of round 5");
    // The message that names it can come again.
    decoder.decode(named).unwrap();
    assert_eq!(decoder.decode(same).unwrap(), expected);
}

#[test]
fn a_refused_probe_leaves_no_trace() {
    let mut encoder = DirectiveEncoder::new();
    let mut decoder = DirectiveDecoder::new(&job());
    decoder.decode(encoder.encode(1, &gradient(&[1, 2]))).unwrap();
    let bad = Next::Gradient(probe(&[7], &[f64::NAN], None));
    assert!(decoder.decode(pb::ExchangeReply { round: 2, next: Some(bad) }).is_err());
    let turn = decoder.decode(encoder.encode(3, &gradient(&[1, 2]))).unwrap();
    assert_eq!(turn, Turn::Ask { round: 3, directive: gradient(&[1, 2]) });
}
