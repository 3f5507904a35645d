//! What the services ask of the desk.

use std::{net::SocketAddr, sync::mpsc::Sender};

use ddiht_wire::{Admission, Answer, Caller, Description, Joining, Restatement, Verdict, pb};
use tokio::sync::oneshot;
use tonic::Status;

/// Where an answer goes.
pub(crate) type Respond<T> = oneshot::Sender<Result<T, Status>>;

/// A call, checked as far as that is possible without knowing the round.
#[derive(Debug)]
pub(crate) enum Request {
    Join { joining: Joining, peer: Option<SocketAddr>, respond: Respond<Admission> },
    Describe { caller: Caller, description: Description, respond: Respond<Verdict> },
    Restate { piece: Box<Restatement>, bytes: u64, respond: Respond<()> },
    Exchange { answer: Box<Answer>, bytes: u64, respond: Respond<pb::ExchangeReply> },
    Heartbeat { caller: Caller, respond: Respond<Option<usize>> },
    Model { respond: Respond<Vec<u8>> },
    Stop,
}

/// The way to the desk.
#[derive(Debug, Clone)]
pub(crate) struct Mail(Sender<Request>);

impl Mail {
    pub(crate) fn new(sender: Sender<Request>) -> Self {
        Self(sender)
    }

    /// Sends without an answer; a desk that is gone needs to know nothing any more.
    pub(crate) fn send(&self, request: Request) {
        let _ = self.0.send(request);
    }

    /// Sends and waits for the answer.
    pub(crate) async fn ask<T>(
        &self,
        request: impl FnOnce(Respond<T>) -> Request,
    ) -> Result<T, Status> {
        let (respond, answer) = oneshot::channel();
        self.send(request(respond));
        answer.await.unwrap_or_else(|_| Err(Status::unavailable("the server is going away")))
    }
}
