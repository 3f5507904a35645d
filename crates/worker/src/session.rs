//! The order of calls: join, describe, exchange until the end.

use std::{
    hash::{BuildHasher, RandomState},
    time::Duration,
};

use ddiht_wire::{
    Caller, Description, DirectiveDecoder, Ending, Joined, Joining, Turn, Verdict, WorkerId,
    describe, exchange, join, limits,
};
use tokio::task::JoinHandle;

use crate::{WorkerConfig, WorkerError, compute::Compute, link::Link, state};

/// Time between signs of life.
const HEARTBEAT: Duration = Duration::from_secs(2);

/// A task that ends with its owner.
struct Attached(JoinHandle<()>);

impl Drop for Attached {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Works until the run is over.
pub(crate) async fn work(config: WorkerConfig) -> Result<(), WorkerError> {
    let mut link = Link::new(&config, limits::worker_receive_before_launch())?;
    let wish = config.state.as_deref().and_then(state::wished_shard);
    let Joined { session, assignment } = join_run(&link, wish).await?;
    let caller = Caller { session, shard: assignment.shard };
    tracing::info!("shard {} of {}", assignment.shard, assignment.shards);
    if let Some(directory) = &config.state {
        state::remember(directory, assignment.shard)?;
    }
    let _heartbeat = Attached(tokio::spawn(send_heartbeats(link.client.clone(), caller)));

    let compute = Compute::start(config.load, config.delay)?;
    let facts = match compute.load(assignment.clone()).await {
        Err(WorkerError::Data(error)) => {
            let problem = Description::Problem(error.to_string());
            tell(&link, caller, &problem).await?;
            return Err(error.into());
        }
        loaded => loaded?,
    };
    tracing::info!("{} rows, {} entries", facts.rows, facts.entries);
    let description = Description::Facts(facts);
    let verdict = tell(&link, caller, &description).await?;
    let launch = match describe::decode_verdict(verdict, &assignment, &description)? {
        Verdict::Launch(launch) => launch,
        Verdict::End(ending) => return end(ending),
    };
    link.receive_at_most(limits::worker_receive(&launch.job));
    compute.launch(launch).await?;
    let decoder = DirectiveDecoder::new(&launch.job);
    end(rounds(&link, caller, &compute, decoder).await?)
}

async fn join_run(link: &Link, wish: Option<usize>) -> Result<Joined, WorkerError> {
    let joining = Joining {
        worker: WorkerId(RandomState::new().hash_one(std::process::id())),
        build: format!("ddiht {}", env!("CARGO_PKG_VERSION")),
        wish,
    };
    let request = join::encode_join(&joining);
    let call = link.call(|mut client| {
        let request = request.clone();
        async move { client.join(request).await }
    });
    Ok(join::decode_joined(call.await?)?)
}

async fn tell(
    link: &Link,
    caller: Caller,
    description: &Description,
) -> Result<ddiht_wire::pb::DescribeReply, WorkerError> {
    let request = describe::encode_description(caller, description);
    let call = link.call(|mut client| {
        let request = request.clone();
        async move { client.describe(request).await }
    });
    call.await
}

/// Answers rounds until there are no more.
async fn rounds(
    link: &Link,
    caller: Caller,
    compute: &Compute,
    mut decoder: DirectiveDecoder,
) -> Result<Ending, WorkerError> {
    let mut request = exchange::encode_ready(caller);
    loop {
        let next = link.call(|mut client| {
            let request = request.clone();
            async move { client.exchange(request).await }
        });
        match decoder.decode(next.await?)? {
            Turn::End(ending) => return Ok(ending),
            Turn::Ask { round, directive } => {
                let computed = compute.answer(round, directive).await?;
                request = exchange::encode_answer(caller, round, computed.time, &computed.reply);
            }
        }
    }
}

fn end(ending: Ending) -> Result<(), WorkerError> {
    match ending {
        Ending::Finished => Ok(()),
        Ending::Failed(sentence) => Err(WorkerError::RunFailed(sentence)),
    }
}

/// Says now and then that the worker is alive; a call that fails is followed by the next.
async fn send_heartbeats(
    mut client: ddiht_wire::pb::training_client::TrainingClient<crate::Channel>,
    caller: Caller,
) {
    let mut clock = tokio::time::interval(HEARTBEAT);
    loop {
        clock.tick().await;
        if let Err(status) = client.heartbeat(exchange::encode_heartbeat(caller)).await {
            tracing::debug!("heartbeat: {}", status.message());
        }
    }
}
