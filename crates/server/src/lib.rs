//! The server of a cluster: workers join, describe their shards, and exchange rounds until there is a model.
//!
//! One thread, the desk, owns the coordinator and all that is known of the workers; the gRPC services
//! translate calls into its requests and wait for its answers. The runtime's threads never compute.
//!
//! # Layout
//! - [`run`]: from a listener to a trained model
//! - `desk`: the thread that decides; `roster`: who has which shard; `rounds`: the open round on the wire;
//!   `keeper`: the state of the run on disk
//! - `training`, `control`: the gRPC services; `request`: what they ask of the desk
//! - [`Security`]: who may call; `door`, `tls`, `lobby`: what every connection has to pass; `guard`, `tokens`:
//!   what every call has to pass; `complaints`: what the log says of it

mod complaints;
mod config;
mod control;
mod desk;
mod door;
mod error;
mod guard;
mod keeper;
mod lobby;
mod request;
mod roster;
mod rounds;
mod security;
mod tls;
mod tokens;
mod training;

use std::{future::Future, net::SocketAddr, sync::mpsc, thread, time::Duration};

use ddiht_core::{local::Observer, train::Trained};
use ddiht_wire::{FILE_DESCRIPTOR_SET, limits};
use tokio::{net::TcpListener, sync::oneshot};
use tonic::transport::Server;

pub use config::{CheckpointPolicy, FaultPolicy, ServerConfig};
pub use error::ServerError;
pub use keeper::{Saved, find as find_checkpoint, forget as forget_checkpoints};
pub use security::{SPARE_CONNECTIONS, Security, SecurityFiles};
pub use tls::TlsFiles;

use complaints::Complaints;
use control::{ControlServer, ControlService};
use desk::Desk;
use door::Door;
use guard::GuardLayer;
use lobby::Lobby;
use request::{Mail, Request};
use training::{TrainingServer, TrainingService};

/// A connection that has shown no sign of life for so long is asked for one.
const KEEP_ALIVE: Duration = Duration::from_secs(10);
/// A window large enough that a message need not wait for permission to go on.
const WINDOW: u32 = 1 << 20;
/// Most headers of a request.
const MAX_HEADERS: u32 = 16 * 1024;
/// Most calls at once of one connection; a worker has two.
const MAX_CALLS: u32 = 64;
/// Most bytes of a message of the services that have small ones.
const SMALL: usize = 64 * 1024;
/// How long connections may stay after the end of the run, when everybody has been told.
const PATIENCE: Duration = Duration::from_secs(1);

/// Serves on `listener` until the run is over; `shutdown` asks for an early end with the best model so far.
///
/// # Errors
/// The run ended without a model, or the network could not be used.
pub async fn run<O>(
    listener: TcpListener,
    config: ServerConfig,
    shutdown: impl Future<Output = ()> + Send + 'static,
    observer: O,
) -> (Result<Trained, ServerError>, Option<O>)
where
    O: Observer + Send + 'static,
{
    let (mail, requests) = mpsc::channel();
    let mail = Mail::new(mail);
    let training = TrainingService::new(&config, mail.clone());
    let settings = config.request.get();
    let receive =
        limits::server_receive_before_launch(settings.k, settings.workers, settings.uplink);
    let training = TrainingServer::new(training).max_decoding_message_size(receive);
    let complaints = Complaints::default();
    let Security { tokens, tls, .. } = config.security.clone();
    let guard = GuardLayer { tokens, complaints: complaints.clone() };
    let lobby = Lobby::new(config.security.max_connections(settings.workers));
    let door = Door { lobby, tls, complaints };
    let (desk, status) = match Desk::new(config, requests, observer) {
        Ok(desk) => desk,
        Err(error) => return (Err(error), None),
    };
    let control = ControlServer::new(ControlService::new(status, mail.clone()))
        .max_decoding_message_size(SMALL);

    let (leave, left) = oneshot::channel();
    let worker = thread::Builder::new().name("desk".to_owned()).spawn(move || {
        let outcome = desk.run();
        // The services end when the desk has, whether they still listen or not.
        let _ = leave.send(());
        outcome
    });
    let worker = match worker {
        Ok(worker) => worker,
        Err(source) => return (Err(ServerError::Thread(source)), None),
    };
    let stopper = tokio::spawn(async move {
        shutdown.await;
        mail.send(Request::Stop);
    });
    let served = serve(listener, door, guard, training, control, left).await;
    stopper.abort();
    match (served, worker.join()) {
        (Err(error), Ok((_, observer))) => (Err(error), Some(observer)),
        (Ok(()), Ok((outcome, observer))) => (outcome, Some(observer)),
        (_, Err(_)) => (Err(ServerError::Panicked), None),
    }
}

async fn serve(
    listener: TcpListener,
    door: Door,
    guard: GuardLayer,
    training: TrainingServer<TrainingService>,
    control: ControlServer<ControlService>,
    left: oneshot::Receiver<()>,
) -> Result<(), ServerError> {
    let reflection = tonic_reflection::server::Builder::configure()
        .register_encoded_file_descriptor_set(FILE_DESCRIPTOR_SET)
        .build_v1()
        .map_err(ServerError::Reflection)?
        .max_decoding_message_size(SMALL);
    let (reporter, health) = tonic_health::server::health_reporter();
    reporter.set_serving::<TrainingServer<TrainingService>>().await;
    let lobby = door.lobby.clone();
    let end = async move {
        // A desk that is gone without a word has ended as well.
        let _ = left.await;
        // Calls that are open may end in peace, but nobody may hold up the end.
        lobby.close();
        tokio::spawn(async move {
            tokio::time::sleep(PATIENCE).await;
            lobby.dismiss_all();
        });
    };
    Server::builder()
        .http2_keepalive_interval(Some(KEEP_ALIVE))
        .initial_stream_window_size(WINDOW)
        .initial_connection_window_size(WINDOW)
        .http2_max_header_list_size(MAX_HEADERS)
        .max_concurrent_streams(MAX_CALLS)
        .layer(guard)
        .add_service(health.max_decoding_message_size(SMALL))
        .add_service(reflection)
        .add_service(training)
        .add_service(control)
        .serve_with_incoming_shutdown(door.open(listener), end)
        .await
        .map_err(ServerError::Transport)
}

/// Binds `address`.
///
/// # Errors
/// The address is taken, or not ours.
pub async fn bind(address: SocketAddr) -> Result<TcpListener, ServerError> {
    TcpListener::bind(address).await.map_err(|source| ServerError::Bind { address, source })
}
