//! Calls that are tried again while the server is out of reach.

use std::{
    future::Future,
    hash::{BuildHasher, RandomState},
    time::{Duration, Instant},
};

use ddiht_wire::pb::training_client::TrainingClient;
use tonic::{
    Code, Response, Status, service::interceptor::InterceptedService, transport::Endpoint,
};

use crate::{
    Credentials, Denial, WorkerConfig, WorkerError, connect::Connector, credentials::Bearer,
};

/// The first pause between attempts, and the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// A connection that has shown no sign of life for so long is asked for one, and given up after as long again.
const KEEP_ALIVE: Duration = Duration::from_secs(10);
/// A window large enough that a message need not wait for permission to go on.
const WINDOW: u32 = 1 << 20;

/// The way to a server, with credentials.
pub type Channel = InterceptedService<tonic::transport::Channel, Bearer>;

/// A channel to `server` (host:port) that connects when it is first used, and again when it must.
///
/// # Errors
/// The address makes no sense.
pub fn channel(
    server: &str,
    credentials: &Credentials,
) -> Result<Channel, tonic::transport::Error> {
    let scheme = if credentials.tls.is_some() { "https" } else { "http" };
    let endpoint = Endpoint::from_shared(format!("{scheme}://{server}"))?
        .connect_timeout(LONGEST_PAUSE)
        .http2_keep_alive_interval(KEEP_ALIVE)
        .keep_alive_timeout(KEEP_ALIVE)
        .keep_alive_while_idle(true)
        .initial_stream_window_size(WINDOW)
        .initial_connection_window_size(WINDOW);
    let channel = endpoint.connect_with_connector_lazy(Connector::new(credentials.clone()));
    Ok(InterceptedService::new(channel, credentials.bearer()))
}

/// The way to the server.
#[derive(Debug)]
pub(crate) struct Link {
    server: String,
    pub(crate) client: TrainingClient<Channel>,
    patience: Duration,
}

impl Link {
    pub(crate) fn new(config: &WorkerConfig, receive: usize) -> Result<Self, WorkerError> {
        let server = config.server.clone();
        let channel = channel(&server, &config.credentials)
            .map_err(|source| WorkerError::Address { server: server.clone(), source })?;
        let client = TrainingClient::new(channel).max_decoding_message_size(receive);
        Ok(Self { server, client, patience: config.connect_timeout })
    }

    /// Messages of the rounds may be larger than those before.
    pub(crate) fn receive_at_most(&mut self, bytes: usize) {
        self.client = self.client.clone().max_decoding_message_size(bytes);
    }

    /// Calls until there is an answer, or none can be hoped for.
    pub(crate) async fn call<T, F>(
        &self,
        mut attempt: impl FnMut(TrainingClient<Channel>) -> F,
    ) -> Result<T, WorkerError>
    where
        F: Future<Output = Result<Response<T>, Status>>,
    {
        // An answer may be long in coming; the server is out of reach from the first failure on.
        let mut failing_since = None;
        let mut pause = FIRST_PAUSE;
        loop {
            let status = match attempt(self.client.clone()).await {
                Ok(response) => return Ok(response.into_inner()),
                Err(status) => status,
            };
            if status.code() == Code::Aborted {
                return Err(WorkerError::StayEnded(status.message().to_owned()));
            }
            if let Some(denial) = Denial::of(&status) {
                return Err(denial.into());
            }
            if !is_passing(&status) {
                return Err(WorkerError::Refused(status.message().to_owned()));
            }
            let waited = match failing_since {
                Some(since) => Instant::now().duration_since(since),
                None => {
                    failing_since = Some(Instant::now());
                    tracing::info!("waiting for the server {}: {}", self.server, status.message());
                    Duration::ZERO
                }
            };
            if waited >= self.patience {
                let (server, status) = (self.server.clone(), status.message().to_owned());
                return Err(WorkerError::Unreachable { server, waited, status });
            }
            tokio::time::sleep(with_jitter(pause).min(self.patience - waited)).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
}

/// Whether a failure may be gone at the next attempt. A broken connection is reported as unavailable, as
/// cancelled or as unknown, depending on when it breaks.
fn is_passing(status: &Status) -> bool {
    match status.code() {
        Code::Unavailable | Code::Cancelled | Code::DeadlineExceeded => true,
        Code::Unknown | Code::Internal => std::error::Error::source(status).is_some(),
        _ => false,
    }
}

/// Between half and all of `pause`, so that workers that lost one server do not come back as one.
fn with_jitter(pause: Duration) -> Duration {
    let share = RandomState::new().hash_one(0) as f64 / u64::MAX as f64;
    pause.mul_f64(0.5 + 0.5 * share)
}
