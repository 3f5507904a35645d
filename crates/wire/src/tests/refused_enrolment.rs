//! Every rule for what is said before the first round, broken once.

use std::time::Duration;

use ddiht_core::{
    data::{LabelCounts, LabelMap, Normalize},
    enrol::{Assignment, Launch, Preparation, ShardFacts},
    round::Sparse,
};
use tonic::Code;

use super::{Change, ROWS, SHARDS, assert_refused, caller, job};
use crate::{
    Admission, Description, Joined, Joining, LifeId, Pieces, SessionId, Verdict, WireError,
    WorkerId,
    bounds::{MAX_COLS, MAX_ENTRIES, MAX_LABELS, MAX_LOCATIONS, MAX_ROWS},
    describe, join,
    pb::{
        self, describe_reply, describe_request, join_reply::Outcome, label_rule::Rule,
        sdiht_settings::Step,
    },
    restate,
};

fn assignment() -> Assignment {
    let preparation =
        Preparation { classes: true, normalize: Normalize::L2, ..Preparation::default() };
    Assignment { shard: 1, shards: SHARDS, data: vec!["a.svm".into()], preparation }
}

fn facts() -> ShardFacts {
    let labels = LabelCounts::from_counts([(-1.0, 100), (1.0, 200)], 0);
    ShardFacts { rows: 300, cols: 50, entries: 3000, labels, zero_based: false }
}

#[test]
fn joins() {
    let joining = Joining {
        worker: WorkerId(1),
        life: LifeId(2),
        build: "ddiht 0.1.0".into(),
        wish: Some(2),
    };
    let cases: [(Change<pb::JoinRequest>, Code, &str); 3] = [
        (|r| r.protocol = 0, Code::FailedPrecondition, "protocol 0, this build speaks 5"),
        (|r| r.protocol = 1, Code::FailedPrecondition, "protocol 1"),
        (|r| r.build = "x".repeat(257), Code::ResourceExhausted, "build"),
    ];
    for (change, code, words) in cases {
        let mut request = join::encode_join(&joining);
        change(&mut request);
        assert_refused(join::decode_join(request, SHARDS), code, words);
    }
    let mut forged = join::encode_join(&joining);
    forged.build = "ddiht\n INFO all is well\x1b[2J".to_owned();
    let build = join::decode_join(forged, SHARDS).unwrap().build;
    assert_eq!(build, "ddiht  INFO all is well [2J");
    // A wish for a shard that this run has not is no wish.
    let mut request = join::encode_join(&joining);
    request.wished_shard = Some(SHARDS as u32);
    assert_eq!(join::decode_join(request, SHARDS).unwrap().wish, None);
}

fn preparation(assignment: &mut pb::Assignment) -> &mut pb::Preparation {
    assignment.preparation.as_mut().unwrap()
}

fn set_rule(assignment: &mut pb::Assignment, rule: Option<Rule>) {
    preparation(assignment).positive = Some(pb::LabelRule { rule });
}

fn one_of(labels: &[f64]) -> Option<Rule> {
    Some(Rule::OneOf(pb::LabelList { labels: labels.to_vec() }))
}

#[test]
fn assignments() {
    let cases: [(Change<pb::Assignment>, Code, &str); 20] = [
        (|a| a.shards = 0, Code::OutOfRange, "assignment.shards"),
        (|a| a.shards = u32::MAX, Code::OutOfRange, "assignment.shards"),
        (|a| a.shard = 3, Code::OutOfRange, "assignment.shard"),
        (|a| a.data.push("x".repeat(4097)), Code::ResourceExhausted, "assignment.data"),
        (
            |a| a.data = vec![String::new(); MAX_LOCATIONS + 1],
            Code::ResourceExhausted,
            "assignment.data",
        ),
        (|a| a.preparation = None, Code::InvalidArgument, "assignment.preparation"),
        (|a| preparation(a).task = 0, Code::InvalidArgument, "preparation.task"),
        (|a| preparation(a).task = 9, Code::InvalidArgument, "preparation.task"),
        (|a| preparation(a).keep = vec![3, 0], Code::InvalidArgument, "preparation.keep"),
        (|a| preparation(a).exclude = vec![u32::MAX, 9], Code::OutOfRange, "preparation.exclude"),
        (
            |a| preparation(a).exclude = vec![1; (1 << 20) + 1],
            Code::ResourceExhausted,
            "preparation.exclude",
        ),
        (
            |a| preparation(a).weights = Some("x".repeat(4097)),
            Code::ResourceExhausted,
            "preparation.weights",
        ),
        (|a| preparation(a).normalize = 0, Code::InvalidArgument, "preparation.normalize"),
        (|a| set_rule(a, None), Code::InvalidArgument, "preparation.positive"),
        (|a| set_rule(a, Some(Rule::Above(f64::NAN))), Code::InvalidArgument, "positive"),
        (|a| set_rule(a, one_of(&[])), Code::InvalidArgument, "one_of is missing"),
        (|a| set_rule(a, one_of(&[2.0, 1.0])), Code::InvalidArgument, "ascending"),
        (|a| set_rule(a, one_of(&[f64::INFINITY])), Code::InvalidArgument, "inf"),
        (|a| set_rule(a, one_of(&[1.0; 4097])), Code::ResourceExhausted, "one_of"),
        (
            |a| {
                set_rule(a, Some(Rule::Above(1.0)));
                preparation(a).task = pb::Task::Numbers.into();
            },
            Code::InvalidArgument,
            "preparation.positive contradicts",
        ),
    ];
    for (change, code, words) in cases {
        let broken = admission(|welcome| change(welcome.assignment.as_mut().unwrap()));
        assert_refused(broken, code, words);
    }
    let nothing = admission(|welcome| welcome.assignment = None);
    assert_refused(nothing, Code::InvalidArgument, "assignment");
    for millis in [0, 9, u32::MAX] {
        let beat = admission(|welcome| welcome.heartbeat_millis = millis);
        assert_refused(beat, Code::OutOfRange, "heartbeat_millis");
    }
    let nothing = join::decode_admission(pb::JoinReply { outcome: None });
    assert_refused(nothing, Code::InvalidArgument, "outcome");
}

/// A welcome, broken by `change`, as a worker takes it.
fn admission(change: impl Fn(&mut pb::Welcome)) -> Result<Admission, WireError> {
    let heartbeat = Duration::from_secs(2);
    let joined = Joined { session: SessionId(3), assignment: assignment(), heartbeat };
    let mut reply = join::encode_admission(&Admission::Joined(joined));
    if let Some(Outcome::Welcome(welcome)) = &mut reply.outcome {
        change(welcome);
    }
    join::decode_admission(reply)
}

#[test]
fn restatements() {
    let part = Sparse { indices: (0..20).map(|j| 2 * j + 1).collect(), values: vec![0.5; 20] };
    let cases: [(Change<pb::RestateRequest>, Code, &str); 6] = [
        (|r| r.offset = 1, Code::OutOfRange, "restate.offset"),
        (|r| ascent(r).gaps[1] = 0, Code::InvalidArgument, "ascending"),
        (|r| ascent(r).gaps[1] = 99, Code::OutOfRange, "column 100"),
        (|r| ascent(r).values[3] = f32::NAN, Code::InvalidArgument, "restate.part.values"),
        (|r| ascent(r).values.truncate(3), Code::InvalidArgument, "restate.part.values"),
        (|r| ascent(r).gaps = vec![1; 8193], Code::ResourceExhausted, "restate.part.gaps"),
    ];
    let request = || restate::encode_restatement(caller(), &part).remove(0);
    for (change, code, words) in cases {
        let mut request = request();
        change(&mut request);
        let piece = restate::open_restatement(request).unwrap();
        assert_refused(Pieces::default().take(piece, &job()), code, words);
    }
    let nothing = pb::RestateRequest { part: None, ..request() };
    assert_refused(restate::open_restatement(nothing), Code::InvalidArgument, "part is missing");
    let foreign = pb::RestateRequest { shard: u32::MAX, ..request() };
    assert_refused(restate::open_restatement(foreign), Code::OutOfRange, "shard");
    // The second piece must lie behind the first.
    let mut pieces = Pieces::default();
    let first = pb::RestateRequest { last: false, ..request() };
    assert_eq!(pieces.take(restate::open_restatement(first).unwrap(), &job()).unwrap(), None);
    let second = pb::RestateRequest { offset: 20, ..request() };
    let piece = restate::open_restatement(second).unwrap();
    assert_refused(pieces.take(piece, &job()), Code::InvalidArgument, "ascending");
}

fn ascent(request: &mut pb::RestateRequest) -> &mut pb::Ascent {
    request.part.as_mut().unwrap()
}

fn labels(facts: &mut pb::ShardFacts) -> &mut pb::LabelCounts {
    facts.labels.as_mut().unwrap()
}

#[test]
fn facts_of_a_shard() {
    let cases: [(Change<pb::ShardFacts>, Code, &str); 14] = [
        (|f| f.rows = MAX_ROWS + 1, Code::OutOfRange, "facts.rows"),
        (|f| f.cols = MAX_COLS + 1, Code::OutOfRange, "facts.cols"),
        (|f| f.cols = 0, Code::OutOfRange, "facts.cols"),
        (|f| f.entries = MAX_ENTRIES + 1, Code::OutOfRange, "facts.entries"),
        (|f| f.entries = 300 * 50 + 1, Code::InvalidArgument, "facts.entries contradicts"),
        (|f| f.rows = 299, Code::InvalidArgument, "facts.labels contradicts facts.rows"),
        (|f| labels(f).others = 1, Code::InvalidArgument, "facts.labels contradicts"),
        (|f| labels(f).others = u64::MAX, Code::InvalidArgument, "facts.labels contradicts"),
        (|f| labels(f).rows[0] = u64::MAX, Code::OutOfRange, "facts.labels.rows"),
        (|f| labels(f).rows[0] = 0, Code::OutOfRange, "facts.labels.rows"),
        (|f| labels(f).rows.truncate(1), Code::InvalidArgument, "facts.labels.rows"),
        (|f| labels(f).labels[0] = f64::NAN, Code::InvalidArgument, "facts.labels.labels"),
        (|f| labels(f).labels[0] = 1.0, Code::InvalidArgument, "ascending"),
        (
            |f| labels(f).labels = vec![0.0; MAX_LABELS + 1],
            Code::ResourceExhausted,
            "facts.labels.labels",
        ),
    ];
    for (change, code, words) in cases {
        let mut request = describe::encode_description(caller(), &Description::Facts(facts()));
        let Some(describe_request::Description::Facts(facts)) = &mut request.description else {
            panic!("not facts")
        };
        change(facts);
        assert_refused(describe::decode_description(request), code, words);
    }
}

#[test]
fn other_descriptions() {
    let request = |description| pb::DescribeRequest { session: 1, shard: 1, description };
    let refused = describe::decode_description(request(None));
    assert_refused(refused, Code::InvalidArgument, "description");
    let problem = pb::DataProblem { sentence: "x".repeat(4097) };
    let problem = request(Some(describe_request::Description::Problem(problem)));
    let refused = describe::decode_description(problem.clone());
    assert_refused(refused, Code::ResourceExhausted, "problem.sentence");
    let far = pb::DescribeRequest { shard: u32::MAX, ..problem };
    assert_refused(describe::decode_description(far), Code::OutOfRange, "shard");
}

#[test]
fn as_many_labels_are_told_apart_as_core_counts() {
    let all: Vec<f64> = (0..100).map(f64::from).collect();
    assert_eq!(LabelCounts::of(&all).counts().len(), MAX_LABELS);
}

fn verdict(change: Change<pb::Launch>) -> Result<Verdict, WireError> {
    let labels = Some(LabelMap::new(0.0, 1.0));
    let launch = Launch { job: job(), labels, zero_based: false };
    let mut reply = describe::encode_verdict(&Verdict::Launch(launch));
    if let Some(describe_reply::Verdict::Launch(launch)) = &mut reply.verdict {
        change(launch);
    }
    describe::decode_verdict(reply, &assignment(), &Description::Facts(facts()))
}

fn map_of(launch: &mut pb::Launch) -> &mut pb::LabelMap {
    launch.labels.as_mut().unwrap()
}

fn job_of(launch: &mut pb::Launch) -> &mut pb::Job {
    launch.job.as_mut().unwrap()
}

fn set_step(launch: &mut pb::Launch, step: Option<Step>) {
    job_of(launch).sdiht.as_mut().unwrap().step = step;
}

fn set_loss(launch: &mut pb::Launch, kind: Option<pb::loss::Kind>) {
    job_of(launch).loss = Some(pb::Loss { kind });
}

#[test]
fn jobs() {
    use pb::loss::Kind;
    let cases: [(Change<pb::Launch>, Code, &str); 22] = [
        (|l| l.job = None, Code::InvalidArgument, "launch.job"),
        (|l| job_of(l).loss = None, Code::InvalidArgument, "job.loss"),
        (|l| set_loss(l, None), Code::InvalidArgument, "job.loss"),
        (
            |l| set_loss(l, Some(Kind::SmoothedHinge(pb::SmoothedHinge { gamma: 0.0 }))),
            Code::OutOfRange,
            "job.loss.gamma",
        ),
        (|l| job_of(l).lambda = 0.0, Code::OutOfRange, "job.lambda"),
        (|l| job_of(l).lambda = f64::NAN, Code::OutOfRange, "job.lambda"),
        (|l| job_of(l).k = 0, Code::OutOfRange, "job.k"),
        (|l| job_of(l).k = 51, Code::OutOfRange, "job.k"),
        (|l| job_of(l).kept = job_of(l).k + 1, Code::OutOfRange, "job.kept"),
        (|l| job_of(l).total_rows = 0, Code::OutOfRange, "job.total_rows"),
        (|l| job_of(l).total_rows = u64::MAX, Code::OutOfRange, "job.total_rows"),
        (|l| job_of(l).cols = 0, Code::OutOfRange, "job.cols"),
        (|l| job_of(l).cols = MAX_COLS + 1, Code::OutOfRange, "job.cols"),
        (|l| job_of(l).entries = ROWS as u64 * 50 + 1, Code::InvalidArgument, "job.entries"),
        (|l| job_of(l).shards = 0, Code::OutOfRange, "job.shards"),
        (|l| job_of(l).uplink = 0, Code::OutOfRange, "job.uplink"),
        (|l| job_of(l).passes = 0, Code::OutOfRange, "job.passes"),
        (|l| job_of(l).sdiht = None, Code::InvalidArgument, "job.sdiht"),
        (|l| set_step(l, None), Code::InvalidArgument, "job.sdiht.step"),
        (
            |l| set_step(l, Some(Step::Fixed(pb::FixedStep { eta: -1.0 }))),
            Code::OutOfRange,
            "job.sdiht.step.fixed",
        ),
        (
            |l| {
                set_loss(l, Some(Kind::Hinge(pb::Hinge {})));
                set_step(l, Some(Step::Paper(pb::PaperStep {})));
            },
            Code::InvalidArgument,
            "job.sdiht.step.paper contradicts job.loss",
        ),
        (
            |l| job_of(l).sdiht.as_mut().unwrap().local_steps = 0,
            Code::OutOfRange,
            "job.sdiht.local_steps",
        ),
    ];
    assert!(verdict(|_| ()).is_ok());
    for (change, code, words) in cases {
        assert_refused(verdict(change), code, words);
    }
}

#[test]
fn launches_that_contradict() {
    let cases: [(Change<pb::Launch>, &str); 9] = [
        (|l| job_of(l).shards = 4, "job.shards contradicts assignment.shards"),
        (|l| job_of(l).cols = 49, "job.cols contradicts facts.cols"),
        (|l| job_of(l).total_rows = 299, "job.total_rows contradicts facts.rows"),
        (|l| job_of(l).entries = 2999, "job.entries contradicts facts.entries"),
        (|l| l.labels = None, "launch.labels contradicts"),
        (|l| set_loss(l, Some(pb::loss::Kind::Squared(pb::Squared {}))), "launch.labels"),
        (
            |l| {
                set_loss(l, Some(pb::loss::Kind::Squared(pb::Squared {})));
                l.labels = None;
            },
            "job.loss contradicts preparation.task",
        ),
        (|l| map_of(l).negative = 1.0, "launch.labels.negative"),
        (|l| map_of(l).negative = f64::NAN, "launch.labels.negative"),
    ];
    for (change, words) in cases {
        assert_refused(verdict(change), Code::InvalidArgument, words);
    }
    let weightless = |l: &mut pb::Launch| map_of(l).negative_weight = 0.0;
    assert_refused(verdict(weightless), Code::OutOfRange, "launch.labels.negative_weight");
    let endless = |l: &mut pb::Launch| map_of(l).positive_weight = f64::INFINITY;
    assert!(verdict(endless).unwrap_err().to_string().contains("launch.labels.positive_weight"));
}

#[test]
fn verdicts_that_cannot_be() {
    let labels = Some(LabelMap::new(0.0, 1.0));
    let launch = Launch { job: job(), labels, zero_based: false };
    let reply = describe::encode_verdict(&Verdict::Launch(launch));
    let problem = Description::Problem("no".into());
    let refused = describe::decode_verdict(reply, &assignment(), &problem);
    assert_refused(refused, Code::InvalidArgument, "launch contradicts problem");
    let silent = pb::DescribeReply { verdict: None };
    let refused = describe::decode_verdict(silent, &assignment(), &problem);
    assert_refused(refused, Code::InvalidArgument, "verdict");
}
