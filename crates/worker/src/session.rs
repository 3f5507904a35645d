//! The order of calls: join, describe, restate if rounds are under way, exchange until the end. A stay that
//! the server does not know any more is followed by another, with the shard that is in memory.

use std::time::Duration;

use ddiht_core::enrol::Assignment;
use ddiht_wire::{
    Admission, Caller, Description, DirectiveDecoder, Ending, Joined, Joining, LifeId, Turn,
    Verdict, WorkerId, describe, exchange, join, limits,
    pb::{self, training_client::TrainingClient},
    restate,
};
use tokio::{
    sync::{mpsc, oneshot},
    task::JoinHandle,
    time::MissedTickBehavior,
};

use crate::{Channel, WorkerConfig, WorkerError, compute::Compute, link::Link, state};

/// Time before a worker that has lost its place asks for another.
const REJOIN_PAUSE: Duration = Duration::from_millis(100);

/// A task that ends with its owner.
struct Attached(JoinHandle<()>);

impl Drop for Attached {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A shard that nobody has, and that the server asks us to take as well.
pub(crate) type Orphans = mpsc::UnboundedSender<usize>;

/// A worker on one shard at a time.
pub(crate) struct Session {
    link: Link,
    compute: Compute,
    state: Option<state::State>,
    worker: WorkerId,
    wish: Option<usize>,
    orphans: Orphans,
}

impl Session {
    /// With nothing done yet; `wish` is the shard it would like. The receiver ends with the thread of the
    /// shard, when all is written.
    pub(crate) fn new(
        config: &WorkerConfig,
        wish: Option<usize>,
        orphans: Orphans,
    ) -> Result<(Self, oneshot::Receiver<()>), WorkerError> {
        let state = config.state.as_deref().map(state::State::open).transpose()?;
        let worker = state.as_ref().map_or_else(|| WorkerId(state::draw()), |state| state.worker);
        let known = state.as_ref().and_then(state::State::wished_shard);
        let alpha = state.as_ref().map(state::State::alpha_file);
        let (compute, ended) = Compute::start(config.load.clone(), config.delay, alpha)?;
        let link = Link::new(config, limits::worker_receive_before_launch())?;
        let wish = wish.or(known);
        Ok((Self { link, compute, state, worker, wish, orphans }, ended))
    }

    /// Works until the run is over.
    pub(crate) async fn work(mut self) -> Result<(), WorkerError> {
        loop {
            match self.stay().await {
                Err(WorkerError::StayEnded(sentence)) => {
                    tracing::info!("{sentence}");
                    // Two that take a place from each other must not do so without end and without pause.
                    tokio::time::sleep(REJOIN_PAUSE).await;
                }
                Ok(Ending::Finished) => return Ok(()),
                Ok(Ending::Failed(sentence)) => return Err(WorkerError::RunFailed(sentence)),
                Err(error) => return Err(error),
            }
        }
    }

    /// One stay on a shard, from joining to the end.
    async fn stay(&mut self) -> Result<Ending, WorkerError> {
        let joined = match self.join().await? {
            Admission::Joined(joined) => joined,
            Admission::Over(ending) => return Ok(ending),
        };
        let Joined { session, assignment, heartbeat } = joined;
        let caller = Caller { session, shard: assignment.shard };
        tracing::info!("shard {} of {}", assignment.shard, assignment.shards);
        self.wish = Some(assignment.shard);
        if let Some(state) = &self.state {
            state.remember(assignment.shard)?;
        }
        let (client, orphans) = (self.link.client.clone(), self.orphans.clone());
        let _heartbeat =
            Attached(tokio::spawn(send_heartbeats(client, caller, heartbeat, orphans)));
        let description = self.load(caller, &assignment).await?;
        let verdict = self.tell(caller, &description).await?;
        let (launch, under_way) =
            match describe::decode_verdict(verdict, &assignment, &description)? {
                Verdict::End(ending) => return Ok(ending),
                Verdict::Launch(launch) => (launch, false),
                Verdict::UnderWay(launch) => (launch, true),
            };
        self.compute.launch(launch, under_way).await?;
        if under_way {
            self.restate(caller).await?;
        }
        self.link.receive_at_most(limits::worker_receive(&launch.job));
        self.rounds(caller, DirectiveDecoder::new(&launch.job)).await
    }

    async fn join(&self) -> Result<Admission, WorkerError> {
        let joining = Joining {
            worker: self.worker,
            life: LifeId(state::draw()),
            build: format!("ddiht {}", env!("CARGO_PKG_VERSION")),
            wish: self.wish,
        };
        let request = join::encode_join(&joining);
        let call = self.link.call(|mut client| {
            let request = request.clone();
            async move { client.join(request).await }
        });
        Ok(join::decode_admission(call.await?)?)
    }

    /// Reads the shard. If that cannot be done the server is told why.
    async fn load(
        &self,
        caller: Caller,
        assignment: &Assignment,
    ) -> Result<Description, WorkerError> {
        match self.compute.load(assignment.clone()).await {
            Err(WorkerError::Data(error)) => {
                self.tell(caller, &Description::Problem(error.to_string())).await?;
                Err(error.into())
            }
            loaded => {
                let facts = loaded?;
                tracing::info!("{} rows, {} entries", facts.rows, facts.entries);
                Ok(Description::Facts(facts))
            }
        }
    }

    async fn tell(
        &self,
        caller: Caller,
        description: &Description,
    ) -> Result<pb::DescribeReply, WorkerError> {
        let request = describe::encode_description(caller, description);
        let call = self.link.call(|mut client| {
            let request = request.clone();
            async move { client.describe(request).await }
        });
        call.await
    }

    /// Tells the server what the shard holds.
    async fn restate(&self, caller: Caller) -> Result<(), WorkerError> {
        let part = self.compute.restate().await?;
        for request in restate::encode_restatement(caller, &part) {
            let call = self.link.call(|mut client| {
                let request = request.clone();
                async move { client.restate(request).await }
            });
            call.await?;
        }
        Ok(())
    }

    /// Answers rounds until there are no more.
    async fn rounds(
        &self,
        caller: Caller,
        mut decoder: DirectiveDecoder,
    ) -> Result<Ending, WorkerError> {
        let mut request = exchange::encode_ready(caller);
        loop {
            let next = self.link.call(|mut client| {
                let request = request.clone();
                async move { client.exchange(request).await }
            });
            match decoder.decode(next.await?)? {
                Turn::End(ending) => return Ok(ending),
                Turn::Ask { round, directive } => {
                    let computed = self.compute.answer(round, directive).await?;
                    request =
                        exchange::encode_answer(caller, round, computed.time, &computed.reply);
                }
            }
        }
    }
}

/// Says now and then that the worker is alive; a call that fails is followed by the next.
async fn send_heartbeats(
    mut client: TrainingClient<Channel>,
    caller: Caller,
    every: Duration,
    orphans: Orphans,
) {
    let mut clock = tokio::time::interval(every);
    clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        clock.tick().await;
        let heard = client.heartbeat(exchange::encode_heartbeat(caller)).await;
        match heard.map(|reply| exchange::decode_heard(reply.get_ref())) {
            // Whoever would take an orphan is gone only when the worker ends.
            Ok(Ok(Some(orphan))) => drop(orphans.send(orphan)),
            Ok(Ok(None)) => {}
            Ok(Err(error)) => tracing::debug!("heartbeat: {error}"),
            Err(status) => tracing::debug!("heartbeat: {}", status.message()),
        }
    }
}
