//! The gRPC service of workers: every message is checked here and handed to the desk.

use ddiht_wire::{describe, exchange, join, payload_len, pb, restate};
use tonic::{Request as Call, Response, Status};

pub(crate) use ddiht_wire::pb::training_server::TrainingServer;

use crate::{
    ServerConfig,
    lobby::Visit,
    request::{Mail, Request},
};

/// Translates calls.
#[derive(Debug)]
pub(crate) struct TrainingService {
    mail: Mail,
    shards: usize,
}

impl TrainingService {
    pub(crate) fn new(config: &ServerConfig, mail: Mail) -> Self {
        Self { mail, shards: config.request.get().workers }
    }
}

#[tonic::async_trait]
impl pb::training_server::Training for TrainingService {
    async fn join(&self, call: Call<pb::JoinRequest>) -> Result<Response<pb::JoinReply>, Status> {
        let peer = call.extensions().get::<Visit>().map(Visit::peer);
        let joining = join::decode_join(call.into_inner(), self.shards)?;
        let admission = self.mail.ask(|respond| Request::Join { joining, peer, respond }).await?;
        Ok(Response::new(join::encode_admission(&admission)))
    }

    async fn describe(
        &self,
        call: Call<pb::DescribeRequest>,
    ) -> Result<Response<pb::DescribeReply>, Status> {
        let (caller, description) = describe::decode_description(call.into_inner())?;
        let request = |respond| Request::Describe { caller, description, respond };
        let verdict = self.mail.ask(request).await?;
        Ok(Response::new(describe::encode_verdict(&verdict)))
    }

    async fn restate(
        &self,
        call: Call<pb::RestateRequest>,
    ) -> Result<Response<pb::RestateReply>, Status> {
        let message = call.into_inner();
        let bytes = payload_len(&message);
        let piece = Box::new(restate::open_restatement(message)?);
        self.mail.ask(|respond| Request::Restate { piece, bytes, respond }).await?;
        Ok(Response::new(pb::RestateReply {}))
    }

    async fn exchange(
        &self,
        call: Call<pb::ExchangeRequest>,
    ) -> Result<Response<pb::ExchangeReply>, Status> {
        let message = call.into_inner();
        let bytes = payload_len(&message);
        let answer = Box::new(exchange::open_answer(message)?);
        let request = |respond| Request::Exchange { answer, bytes, respond };
        Ok(Response::new(self.mail.ask(request).await?))
    }

    async fn heartbeat(
        &self,
        call: Call<pb::HeartbeatRequest>,
    ) -> Result<Response<pb::HeartbeatReply>, Status> {
        let caller = exchange::decode_heartbeat(&call.into_inner())?;
        let orphan = self.mail.ask(|respond| Request::Heartbeat { caller, respond }).await?;
        Ok(Response::new(exchange::encode_heard(orphan)))
    }
}
