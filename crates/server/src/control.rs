//! The gRPC service of people and their programs: how it goes, the model, an early end.

use std::pin::Pin;

use ddiht_wire::{Phase, RunStatus, control, pb};
use tokio::sync::watch;
use tokio_stream::{Stream, StreamExt, iter, wrappers::WatchStream};
use tonic::{Request as Call, Response, Status};

pub(crate) use ddiht_wire::pb::control_server::ControlServer;

use crate::request::{Mail, Request};

type Replies<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

/// Answers from what the desk has published, or asks it.
#[derive(Debug)]
pub(crate) struct ControlService {
    status: watch::Receiver<RunStatus>,
    mail: Mail,
}

impl ControlService {
    pub(crate) fn new(status: watch::Receiver<RunStatus>, mail: Mail) -> Self {
        Self { status, mail }
    }
}

#[tonic::async_trait]
impl pb::control_server::Control for ControlService {
    type WatchStream = Replies<pb::StatusReply>;
    type GetModelStream = Replies<pb::ModelChunk>;

    async fn status(
        &self,
        _call: Call<pb::StatusRequest>,
    ) -> Result<Response<pb::StatusReply>, Status> {
        Ok(Response::new(control::encode_status(&self.status.borrow())))
    }

    async fn watch(
        &self,
        _call: Call<pb::WatchRequest>,
    ) -> Result<Response<Self::WatchStream>, Status> {
        let mut over = false;
        let states = WatchStream::new(self.status.clone())
            .take_while(move |status| {
                let go_on = !over;
                over = matches!(status.phase, Phase::Finished | Phase::Failed);
                go_on
            })
            .map(|status| Ok(control::encode_status(&status)));
        Ok(Response::new(Box::pin(states)))
    }

    async fn get_model(
        &self,
        _call: Call<pb::GetModelRequest>,
    ) -> Result<Response<Self::GetModelStream>, Status> {
        let file = self.mail.ask(|respond| Request::Model { respond }).await?;
        let chunks: Vec<_> = control::model_chunks(&file).map(Ok).collect();
        Ok(Response::new(Box::pin(iter(chunks))))
    }

    async fn stop(&self, _call: Call<pb::StopRequest>) -> Result<Response<pb::StopReply>, Status> {
        self.mail.send(Request::Stop);
        Ok(Response::new(pb::StopReply {}))
    }
}
