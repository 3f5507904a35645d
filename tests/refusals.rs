//! A worker that does not keep to the contract: each thing it may not do is refused with a code and a
//! sentence, and the run goes on to its model.

use std::time::Duration;

use ddiht_core::{
    round::{Reply, Slope},
    storage::Local,
};
use ddiht_wire::{
    Admission, Caller, Description, DirectiveDecoder, Joining, LifeId, SessionId, Turn, Verdict,
    WorkerId, describe, exchange, join,
    pb::{self, training_client::TrainingClient},
    restate,
};
use tonic::{Code, Status, transport::Channel};

use crate::{
    processes::Cluster,
    util::{Place, number},
};

/// A program that speaks for itself.
struct Impostor {
    client: TrainingClient<Channel>,
}

/// A place on a shard, and the open question.
struct Stay {
    caller: Caller,
    under_way: bool,
    turn: Option<Turn>,
}

fn joining(life: u64) -> Joining {
    Joining { worker: WorkerId(77), life: LifeId(life), build: "impostor".into(), wish: Some(1) }
}

impl Impostor {
    async fn connect(address: &str) -> Self {
        let endpoint = Channel::from_shared(format!("http://{address}")).unwrap();
        Self { client: TrainingClient::new(endpoint.connect().await.unwrap()) }
    }

    /// Joins, describes truly, restates nothing and hears its first question.
    async fn stay(&mut self, life: u64) -> Stay {
        let reply = self.client.join(join::encode_join(&joining(life))).await.unwrap();
        let Admission::Joined(joined) = join::decode_admission(reply.into_inner()).unwrap() else {
            panic!("the run is over");
        };
        let assignment = joined.assignment;
        let caller = Caller { session: joined.session, shard: assignment.shard };
        let raw = assignment.read(&Local, None).unwrap();
        let description = Description::Facts(assignment.preparation.describe(&raw));
        let request = describe::encode_description(caller, &description);
        let reply = self.client.describe(request).await.unwrap().into_inner();
        let verdict = describe::decode_verdict(reply, &assignment, &description).unwrap();
        let (launch, under_way) = match verdict {
            Verdict::Launch(launch) => (launch, false),
            Verdict::UnderWay(launch) => (launch, true),
            Verdict::End(ending) => panic!("{ending:?}"),
        };
        if under_way {
            for request in restate::encode_restatement(caller, &Default::default()) {
                self.client.restate(request).await.unwrap();
            }
        }
        let reply = self.client.exchange(exchange::encode_ready(caller)).await.unwrap();
        let turn = DirectiveDecoder::new(&launch.job).decode(reply.into_inner()).unwrap();
        Stay { caller, under_way, turn: Some(turn) }
    }

    async fn exchange(&mut self, request: pb::ExchangeRequest) -> Status {
        self.client.exchange(request).await.unwrap_err()
    }
}

fn slope(loss: f64) -> Reply {
    Reply::Gradient(Slope { loss, smoothed: loss, gradient: Vec::new(), visited: 1 })
}

fn answer(stay: &Stay, round: u64, reply: &Reply) -> pb::ExchangeRequest {
    exchange::encode_answer(stay.caller, round, Duration::ZERO, reply)
}

#[track_caller]
fn refused(status: &Status, code: Code, words: &str) {
    assert_eq!(status.code(), code, "{status}");
    assert!(status.message().contains(words), "{status}");
}

async fn misbehave(address: &str) {
    let mut impostor = Impostor::connect(address).await;
    let mut life = 0;
    let mut next_life = || {
        life += 1;
        life
    };

    // Another version, a shard that does not exist, a stay that never was.
    let request = pb::JoinRequest { protocol: 99, ..join::encode_join(&joining(0)) };
    let status = impostor.client.join(request).await.unwrap_err();
    refused(&status, Code::FailedPrecondition, "protocol 99");
    let stranger = |shard| Caller { session: SessionId(1), shard };
    let status = impostor.exchange(exchange::encode_ready(stranger(7))).await;
    refused(&status, Code::OutOfRange, "shard 7 does not exist");
    let status = impostor.exchange(exchange::encode_ready(stranger(0))).await;
    refused(&status, Code::Aborted, "has ended: join again");

    // A number that is none. The first question of a run is for the loss of the empty model.
    let stay = impostor.stay(next_life()).await;
    assert!(!stay.under_way);
    let Some(Turn::Ask { round, .. }) = &stay.turn else { panic!("no question") };
    let status = impostor.exchange(answer(&stay, *round, &slope(f64::NAN))).await;
    refused(&status, Code::InvalidArgument, "slope.loss");
    // Its place is gone with that.
    let status = impostor.exchange(answer(&stay, *round, &slope(1.0))).await;
    refused(&status, Code::Aborted, "has ended: join again");

    // A round that is not open: long over, or not yet.
    for wrong in [*round + 9, *round + 1000] {
        let stay = impostor.stay(next_life()).await;
        assert!(stay.under_way);
        let status = impostor.exchange(answer(&stay, wrong, &slope(1.0))).await;
        refused(&status, Code::FailedPrecondition, "is not open for shard 1: round 1 is");
    }

    // An answer of another kind.
    let stay = impostor.stay(next_life()).await;
    let status = impostor.exchange(answer(&stay, *round, &Reply::Losses(vec![1.0]))).await;
    refused(&status, Code::FailedPrecondition, "the answer is `losses`");

    // Other data than before, and rounds before a restatement.
    let reply = impostor.client.join(join::encode_join(&joining(next_life()))).await.unwrap();
    let Admission::Joined(joined) = join::decode_admission(reply.into_inner()).unwrap() else {
        panic!("the run is over");
    };
    let caller = Caller { session: joined.session, shard: joined.assignment.shard };
    let status = impostor.exchange(exchange::encode_ready(caller)).await;
    refused(&status, Code::FailedPrecondition, "must say what it holds");
    let reply = impostor.client.join(join::encode_join(&joining(next_life()))).await.unwrap();
    let Admission::Joined(joined) = join::decode_admission(reply.into_inner()).unwrap() else {
        panic!("the run is over");
    };
    let caller = Caller { session: joined.session, shard: joined.assignment.shard };
    let facts = Description::Facts(ddiht_core::enrol::ShardFacts { cols: 5, ..Default::default() });
    let request = describe::encode_description(caller, &facts);
    let status = impostor.client.describe(request).await.unwrap_err();
    refused(&status, Code::FailedPrecondition, "other data");
}

#[test]
fn what_is_refused_does_not_end_the_run() {
    let place = Place::new();
    let data = place.synth("a.svm", 300, 400);
    let options = ["-k", "20", "--rounds", "20", "--gap", "0"];
    let mut calm = Cluster::start(&place, "calm", &data, 2, &options);
    let calm = calm.finish();
    let mut cluster = Cluster::serve(&place, "run", &data, 2, &options);
    cluster.join(&[]);
    cluster.server.wait_for("has shard 0");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(misbehave(&cluster.address));
    cluster.join(&[]);
    let summary = cluster.finish();
    // Nothing of all that has left a trace in the model.
    assert_eq!(number(&summary, "objective"), number(&calm, "objective"));
    let log = cluster.server.log();
    assert!(log.matches("is turned out").count() >= 5, "{log}");
    assert!(log.contains("127.0.0.1:"), "who it was is in the log: {log}");
}

#[test]
fn an_update_that_is_too_large_is_turned_out() {
    let place = Place::new();
    let data = place.synth("a.svm", 300, 400);
    let options = ["-k", "20", "--rounds", "20", "--max-update-norm", "1e-9"];
    let mut cluster = Cluster::start(&place, "norm", &data, 1, &options);
    assert_eq!(cluster.workers[0].wait().code(), Some(1));
    let log = cluster.workers[0].log();
    assert!(log.contains("--max-update-norm allows"), "{log}");
    assert!(cluster.server.is_running());
    assert!(cluster.server.log().contains("shard 0"), "{}", cluster.server.log());
}
