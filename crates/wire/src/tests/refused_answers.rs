//! Every rule for answers, broken once.

use ddiht_core::{
    loss::LossKind,
    round::{Attest, Directive, Job, Probe, Reply, Weights},
};
use tonic::Code;

use super::{ROWS, assert_refused, job};
use crate::{
    AnswerBody, WireError, decode_reply, exchange,
    pb::{self, exchange_request::Answer},
};

fn open(round: u64, answer: Option<Answer>) -> Result<exchange::Answer, WireError> {
    let request = pb::ExchangeRequest { session: 1, shard: 0, round, compute_micros: 1, answer };
    exchange::open_answer(request)
}

fn decode_for(job: &Job, asked: &Directive, answer: Answer) -> Result<Reply, WireError> {
    match open(1, Some(answer))?.body {
        AnswerBody::Reply(sealed) => decode_reply(sealed, asked, job),
        AnswerBody::Ready => panic!("not an answer"),
    }
}

/// Asserts that `cases` are refused as answers to `asked`, and `good` is not.
#[track_caller]
fn check(asked: &Directive, good: Answer, cases: Vec<(Answer, Code, &str)>) {
    decode_for(&job(), asked, good).unwrap();
    for (answer, code, words) in cases {
        assert_refused(decode_for(&job(), asked, answer), code, words);
    }
}

fn model() -> Weights {
    Weights { indices: vec![0, 7], values: vec![0.5, 1.5] }
}

fn probe() -> Probe {
    Probe { model: model(), smoothing: None }
}

#[test]
fn envelopes() {
    assert_refused(open(1, None), Code::InvalidArgument, "answer");
    let ready = || Some(Answer::Ready(pb::Ready {}));
    assert!(open(0, ready()).is_ok());
    assert_refused(open(3, ready()), Code::FailedPrecondition, "`ready`");
    let losses = || Answer::Losses(pb::Losses { losses: vec![] });
    assert_refused(open(0, Some(losses())), Code::FailedPrecondition, "`losses`");
    let request = pb::ExchangeRequest {
        session: 1,
        shard: u32::MAX,
        round: 1,
        compute_micros: u64::MAX,
        answer: Some(losses()),
    };
    assert_refused(exchange::open_answer(request), Code::OutOfRange, "shard");
    let beat = pb::HeartbeatRequest { session: 1, shard: u32::MAX };
    assert_refused(exchange::decode_heartbeat(&beat), Code::OutOfRange, "shard");
}

#[test]
fn kinds() {
    let wrong = Answer::Losses(pb::Losses { losses: vec![] });
    let asked = Directive::Certify { support: vec![1] };
    let words = "the answer is `losses`, but the question was `certify`";
    assert_refused(decode_for(&job(), &asked, wrong), Code::FailedPrecondition, words);
    let wrong = Answer::Ascent(pb::Ascent::default());
    let asked = Directive::Gradient(Probe::default());
    assert_refused(decode_for(&job(), &asked, wrong), Code::FailedPrecondition, "`ascent`");
}

#[test]
fn ascents() {
    let ascent = |gaps: &[u32], values: &[f32]| {
        Answer::Ascent(pb::Ascent { gaps: gaps.to_vec(), values: values.to_vec() })
    };
    let cases = vec![
        (ascent(&[50], &[1.0]), Code::OutOfRange, "column 50"),
        (ascent(&[1, 0], &[1.0, 1.0]), Code::InvalidArgument, "ascent.gaps"),
        (ascent(&[u32::MAX, u32::MAX], &[1.0, 1.0]), Code::OutOfRange, "ascent.gaps"),
        (ascent(&[1], &[]), Code::InvalidArgument, "ascent.values"),
        (ascent(&[1], &[f32::NAN]), Code::InvalidArgument, "ascent.values"),
        // The uplink is 5 entries and the constant one.
        (ascent(&[1; 7], &[1.0; 7]), Code::ResourceExhausted, "at most 6"),
    ];
    check(&Directive::Flush, ascent(&[1; 6], &[1.0; 6]), cases);
}

#[test]
fn relaxations() {
    let relaxed = |visited: u64, gaps: &[u32], selectors: &[f32]| {
        let (gaps, selectors) = (gaps.to_vec(), selectors.to_vec());
        Answer::Relaxed(pb::Relaxed { visited, gaps, selectors })
    };
    let cases = vec![
        (relaxed(u64::MAX, &[], &[]), Code::OutOfRange, "relaxed.visited"),
        (relaxed(1, &[50], &[1.0]), Code::OutOfRange, "column 50"),
        (relaxed(1, &[0, 1], &[1.0, 1.0]), Code::OutOfRange, "relaxed.gaps"),
        (relaxed(1, &[1, 0], &[1.0, 1.0]), Code::InvalidArgument, "relaxed.gaps"),
        (relaxed(1, &[1], &[]), Code::InvalidArgument, "relaxed.selectors"),
        (relaxed(1, &[1], &[0.0]), Code::OutOfRange, "relaxed.selectors"),
        (relaxed(1, &[1], &[f32::NAN]), Code::OutOfRange, "relaxed.selectors"),
    ];
    check(&Directive::Relax { gap: 1e-3 }, relaxed(1, &[1, 3], &[1.0, 0.25]), cases);
}

#[test]
fn evidence() {
    let good = pb::Evidence {
        u: vec![1.0, -2.0],
        unsent: 0.0,
        rounding: 1e-9,
        conjugate: Some(pb::ConjugateSum::default()),
    };
    let with = |change: fn(&mut pb::Evidence)| {
        let mut evidence = good.clone();
        change(&mut evidence);
        Answer::Evidence(evidence)
    };
    let summed = |change: fn(&mut pb::ConjugateSum)| {
        let mut sum = pb::ConjugateSum::default();
        change(&mut sum);
        Answer::Evidence(pb::Evidence { conjugate: Some(sum), ..good.clone() })
    };
    let cases = vec![
        (with(|e| e.u.truncate(1)), Code::InvalidArgument, "evidence.u"),
        (with(|e| e.u[1] = f64::NAN), Code::InvalidArgument, "entry 1"),
        (with(|e| e.unsent = -1.0), Code::OutOfRange, "evidence.unsent"),
        (with(|e| e.unsent = f64::INFINITY), Code::InvalidArgument, "evidence.unsent"),
        (with(|e| e.rounding = -1e-300), Code::OutOfRange, "evidence.rounding"),
        (with(|e| e.rounding = f64::NAN), Code::InvalidArgument, "evidence.rounding"),
        (with(|e| e.conjugate = None), Code::InvalidArgument, "conjugate"),
        (summed(|c| c.linear = f64::NAN), Code::InvalidArgument, "conjugate.linear"),
        (summed(|c| c.quadratic = f64::INFINITY), Code::InvalidArgument, "conjugate.quadratic"),
        (summed(|c| c.other = f64::NEG_INFINITY), Code::InvalidArgument, "conjugate.other"),
        (summed(|c| c.magnitude = -1.0), Code::OutOfRange, "conjugate.magnitude"),
        (summed(|c| c.largest = -1.0), Code::OutOfRange, "conjugate.largest"),
    ];
    check(&Directive::Certify { support: vec![0, 7] }, Answer::Evidence(good.clone()), cases);
}

#[test]
fn updates_with_evidence() {
    let good = pb::Attested {
        ascent: Some(pb::Ascent { gaps: vec![1], values: vec![1.0] }),
        evidence: Some(pb::Evidence {
            u: vec![1.0, -2.0],
            conjugate: Some(pb::ConjugateSum::default()),
            ..pb::Evidence::default()
        }),
        loss: 1.0,
    };
    let with = |change: fn(&mut pb::Attested)| {
        let mut attested = good.clone();
        change(&mut attested);
        Answer::Attested(attested)
    };
    let cases = vec![
        (with(|a| a.ascent = None), Code::InvalidArgument, "attested.ascent"),
        (
            with(|a| a.ascent = Some(pb::Ascent { gaps: vec![50], values: vec![1.0] })),
            Code::OutOfRange,
            "ascent.gaps",
        ),
        (with(|a| a.evidence = None), Code::InvalidArgument, "attested.evidence"),
        (with(|a| a.evidence = Some(pb::Evidence::default())), Code::InvalidArgument, "evidence.u"),
        (with(|a| a.loss = -1.0), Code::OutOfRange, "attested.loss"),
        (with(|a| a.loss = f64::NAN), Code::InvalidArgument, "attested.loss"),
        (Answer::Ascent(pb::Ascent::default()), Code::FailedPrecondition, "`attest`"),
    ];
    let asked = Directive::Attest(Attest { support: vec![0, 7], ..Attest::default() });
    check(&asked, Answer::Attested(good.clone()), cases);
}

#[test]
fn where_a_shard_has_settled() {
    let evidence = |columns: usize| pb::Evidence {
        u: vec![1.0; columns],
        conjugate: Some(pb::ConjugateSum::default()),
        ..pb::Evidence::default()
    };
    let columns = job().columns_in_play().len();
    let good = pb::Settled { visited: 9, evidence: Some(evidence(columns)), loss: 1.0 };
    let with = |change: &dyn Fn(&mut pb::Settled)| {
        let mut settled = good.clone();
        change(&mut settled);
        Answer::Settled(settled)
    };
    let cases = vec![
        (with(&|s| s.visited = u64::MAX), Code::OutOfRange, "settled.visited"),
        (with(&|s| s.evidence = None), Code::InvalidArgument, "settled.evidence"),
        (with(&|s| s.evidence = Some(evidence(2))), Code::InvalidArgument, "evidence.u"),
        (with(&|s| s.loss = -1.0), Code::OutOfRange, "settled.loss"),
        (with(&|s| s.loss = f64::NAN), Code::InvalidArgument, "settled.loss"),
    ];
    check(&Directive::Settle { gap: 1e-3 }, Answer::Settled(good.clone()), cases);
}

fn numbers(values: &[f64]) -> Option<pb::Numbers> {
    Some(crate::numbers::encode_numbers(values))
}

#[test]
fn slopes() {
    let good =
        pb::Slope { loss: 1.0, smoothed: None, gradient: numbers(&[1.0, -1.0]), visited: 10 };
    let with = |change: fn(&mut pb::Slope)| {
        let mut slope = good.clone();
        change(&mut slope);
        Answer::Slope(slope)
    };
    let cases = vec![
        (with(|s| s.gradient = numbers(&[1.0; 3])), Code::InvalidArgument, "slope.gradient"),
        (with(|s| s.gradient = numbers(&[f64::NAN, 1.0])), Code::InvalidArgument, "slope.gradient"),
        (with(|s| s.loss = f64::INFINITY), Code::InvalidArgument, "slope.loss"),
        (with(|s| s.loss = -1.0), Code::OutOfRange, "slope.loss"),
        (with(|s| s.smoothed = Some(-1.0)), Code::OutOfRange, "slope.smoothed"),
        (with(|s| s.visited = u64::MAX), Code::OutOfRange, "slope.visited"),
    ];
    check(&Directive::Gradient(probe()), Answer::Slope(good.clone()), cases);
}

#[test]
fn nominations() {
    let nominees = |gaps: &[u32], gradient: &[f32], curvature: &[f32]| {
        let (gaps, gradient) = (gaps.to_vec(), gradient.to_vec());
        Answer::Nominees(pb::Nominees { gaps, gradient, curvature: curvature.to_vec() })
    };
    let cases = vec![
        (nominees(&[1; 3], &[1.0; 3], &[1.0; 3]), Code::ResourceExhausted, "at most 2"),
        (nominees(&[50], &[1.0], &[1.0]), Code::OutOfRange, "nominees.gaps"),
        (nominees(&[1], &[], &[1.0]), Code::InvalidArgument, "nominees.gradient"),
        (nominees(&[1], &[1.0], &[]), Code::InvalidArgument, "nominees.curvature"),
        (nominees(&[1], &[f32::NAN], &[1.0]), Code::InvalidArgument, "nominees.gradient"),
        (nominees(&[1], &[1.0], &[-1.0]), Code::OutOfRange, "nominees.curvature"),
    ];
    let asked = Directive::Nominate { probe: probe(), count: 2, hasty: false };
    check(&asked, nominees(&[1, 1], &[-1.0; 2], &[0.0; 2]), cases);
}

#[test]
fn surveys() {
    let findings = |gradient: &[f64], curvature: &[f32]| {
        let (gradient, curvature) = (numbers(gradient), curvature.to_vec());
        Answer::Findings(pb::Findings { gradient, curvature })
    };
    let cases = vec![
        (findings(&[1.0], &[1.0; 2]), Code::InvalidArgument, "findings.gradient"),
        (findings(&[1.0; 2], &[1.0; 3]), Code::InvalidArgument, "findings.curvature"),
        (findings(&[1.0, f64::NAN], &[1.0; 2]), Code::InvalidArgument, "findings.gradient"),
        (findings(&[1.0; 2], &[1.0, -1.0]), Code::OutOfRange, "findings.curvature"),
        (findings(&[1.0; 2], &[1.0, f32::NAN]), Code::InvalidArgument, "findings.curvature"),
    ];
    check(
        &Directive::Survey { columns: vec![0, 7], at: None },
        findings(&[-1.0; 2], &[0.0; 2]),
        cases,
    );
}

#[test]
fn local_models() {
    let good = pb::LocalModel {
        model: Some(crate::weights::encode_weights(&model())),
        losses: vec![1.0, 2.0],
        step: 0.1,
        norm_sq: 1.0,
        conjugate: Some(pb::ConjugateSum::default()),
        visited: 10,
    };
    let with = |change: fn(&mut pb::LocalModel)| {
        let mut local = good.clone();
        change(&mut local);
        Answer::LocalModel(local)
    };
    let long = |local: &mut pb::LocalModel| {
        let columns = Weights { indices: (0..7).collect(), values: vec![1.0; 7] };
        local.model = Some(crate::weights::encode_weights(&columns));
    };
    let cases = vec![
        (with(|l| l.model = None), Code::InvalidArgument, "local_model.model"),
        (with(long), Code::ResourceExhausted, "at most 6"),
        (with(|l| l.losses.truncate(1)), Code::InvalidArgument, "local_model.losses"),
        (with(|l| l.losses[1] = f64::INFINITY), Code::InvalidArgument, "local_model.losses"),
        (with(|l| l.losses[1] = -1.0), Code::OutOfRange, "local_model.losses"),
        (with(|l| l.step = f64::NAN), Code::OutOfRange, "local_model.step"),
        (with(|l| l.step = -1.0), Code::OutOfRange, "local_model.step"),
        (with(|l| l.norm_sq = -1.0), Code::OutOfRange, "local_model.norm_sq"),
        (with(|l| l.conjugate = None), Code::InvalidArgument, "conjugate"),
        (with(|l| l.visited = u64::MAX), Code::OutOfRange, "local_model.visited"),
    ];
    let asked = Directive::Sdiht { model: model(), unscored: vec![model()] };
    check(&asked, Answer::LocalModel(good.clone()), cases);
}

#[test]
fn losses() {
    let losses = |losses: &[f64]| Answer::Losses(pb::Losses { losses: losses.to_vec() });
    let cases = vec![
        (losses(&[1.0]), Code::InvalidArgument, "losses.losses"),
        (losses(&[1.0, f64::NAN]), Code::InvalidArgument, "entry 1"),
        (losses(&[1.0, -1.0]), Code::OutOfRange, "losses.losses"),
    ];
    check(&Directive::Score { candidates: vec![model(); 2] }, losses(&[1.0, 0.0]), cases);
}

#[test]
fn measures_of_classes() {
    let good = pb::ClassMeasures {
        true_positives: 3,
        false_positives: 1,
        true_negatives: 4,
        false_negatives: 2,
        score_gaps: vec![5, 65_530],
        positives: vec![1, 4],
        negatives: vec![5, 0],
    };
    let of = |classes| {
        let task = Some(pb::measures::Task::Classes(classes));
        Answer::Measures(pb::Measures { loss: 1.0, task })
    };
    let with = |change: fn(&mut pb::ClassMeasures)| {
        let mut classes = good.clone();
        change(&mut classes);
        of(classes)
    };
    let cases = vec![
        (Answer::Measures(pb::Measures::default()), Code::InvalidArgument, "measures.task"),
        (with(|c| c.true_positives = u64::MAX), Code::InvalidArgument, "job.total_rows"),
        (with(|c| c.true_negatives = ROWS as u64), Code::InvalidArgument, "job.total_rows"),
        (with(|c| c.score_gaps[1] = 65_531), Code::OutOfRange, "classes.score_gaps"),
        (with(|c| c.score_gaps[1] = 0), Code::InvalidArgument, "classes.score_gaps"),
        (with(|c| c.positives.truncate(1)), Code::InvalidArgument, "classes.positives"),
        (with(|c| c.negatives.push(0)), Code::InvalidArgument, "classes.negatives"),
        (with(|c| c.positives[0] = 2), Code::InvalidArgument, "classes.true_positives"),
        (with(|c| c.negatives[0] = 4), Code::InvalidArgument, "classes.true_negatives"),
        (with(|c| c.positives = vec![u64::MAX; 2]), Code::InvalidArgument, "classes.positives"),
    ];
    check(&Directive::Measure { model: model().into() }, of(good.clone()), cases);
    let negative = pb::Measures {
        loss: -1.0,
        task: Some(pb::measures::Task::Classes(pb::ClassMeasures::default())),
    };
    let asked = Directive::Measure { model: model().into() };
    let refused = decode_for(&job(), &asked, Answer::Measures(negative));
    assert_refused(refused, Code::OutOfRange, "measures.loss");
}

#[test]
fn measures_of_numbers() {
    let job = Job { loss: LossKind::Squared, ..job() };
    let asked = Directive::Measure { model: model().into() };
    let good = pb::NumberMeasures { rows: 9, mean: -1.0, spread: 2.0, squared_error: 1.0 };
    let of = |numbers| {
        let task = Some(pb::measures::Task::Numbers(numbers));
        Answer::Measures(pb::Measures { loss: 1.0, task })
    };
    decode_for(&job, &asked, of(good)).unwrap();
    let cases = [
        (pb::NumberMeasures { rows: 1001, ..good }, Code::OutOfRange, "numbers.rows"),
        (pb::NumberMeasures { mean: f64::NAN, ..good }, Code::InvalidArgument, "numbers.mean"),
        (pb::NumberMeasures { spread: -1.0, ..good }, Code::OutOfRange, "numbers.spread"),
        (pb::NumberMeasures { squared_error: -1.0, ..good }, Code::OutOfRange, "squared_error"),
    ];
    for (numbers, code, words) in cases {
        assert_refused(decode_for(&job, &asked, of(numbers)), code, words);
    }
    let classes = pb::measures::Task::Classes(pb::ClassMeasures::default());
    let wrong = Answer::Measures(pb::Measures { loss: 1.0, task: Some(classes) });
    assert_refused(decode_for(&job, &asked, wrong), Code::InvalidArgument, "job.loss");
}
