//! What every call has to pass before a service sees it.

use std::{
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Instant,
};

use ddiht_wire::{
    pb::{control_server, training_server},
    trust::{AUTHORIZATION, Watched, presented},
};
use http::{HeaderMap, Request, Response};
use tonic::{Status, body::Body};
use tower_layer::Layer;
use tower_service::Service;

use crate::{
    complaints::Complaints,
    lobby::Visit,
    tokens::{Role, Standing, TokenList},
};

/// The standard service that tells whether a server is alive.
const HEALTH: &str = "grpc.health.v1.Health";

/// Puts a [`Guard`] before the services.
#[derive(Debug, Clone)]
pub(crate) struct GuardLayer {
    pub(crate) tokens: Option<Arc<Watched<TokenList>>>,
    pub(crate) complaints: Complaints,
}

impl<S> Layer<S> for GuardLayer {
    type Service = Guard<S>;

    fn layer(&self, inner: S) -> Guard<S> {
        Guard { inner, rules: self.clone() }
    }
}

/// Lets a call through, or answers it with a refusal before a byte of its message is read.
#[derive(Debug, Clone)]
pub(crate) struct Guard<S> {
    inner: S,
    rules: GuardLayer,
}

impl GuardLayer {
    /// Whether the call may go on; one that shows what it has to show lets its connection stay.
    fn check(&self, call: &Request<Body>) -> Result<(), Refusal> {
        let path = call.uri().path();
        let Some(needed) = needed(path) else { return Ok(()) };
        if let Some(tokens) = &self.tokens {
            match tokens.current().judge(shown(call.headers())?, needed) {
                Standing::Sufficient => {}
                Standing::Insufficient => return Err(Refusal::Role(needed)),
                Standing::Unknown => return Err(Refusal::Unknown),
            }
        }
        if let Some(visit) = call.extensions().get::<Visit>() {
            visit.admit();
        }
        Ok(())
    }

    fn complain(&self, call: &Request<Body>, refusal: Refusal) {
        let peer = call.extensions().get::<Visit>().map(Visit::peer);
        let peer = peer.map_or_else(|| "a caller".to_owned(), |peer| peer.to_string());
        // A path may be long, and anything: only those we know are named.
        let path = call.uri().path();
        let path = if is_ours(path) { path } else { "an unknown call" };
        self.complaints.say(format_args!("refused {path} of {peer}: {refusal}"));
    }
}

impl<S> Service<Request<Body>> for Guard<S>
where
    S: Service<Request<Body>, Response = Response<Body>> + Clone + Send + 'static,
    S::Future: Send,
{
    type Response = Response<Body>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, S::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, call: Request<Body>) -> Self::Future {
        let pause = call.extensions().get::<Visit>().map(|visit| visit.pause(Instant::now()));
        let checked = self.rules.check(&call);
        if let Err(refusal) = checked {
            self.rules.complain(&call, refusal);
        }
        // The service that has said it is ready is the one to call.
        let next = self.inner.clone();
        let mut inner = std::mem::replace(&mut self.inner, next);
        Box::pin(async move {
            if let Some(pause) = pause.filter(|pause| !pause.is_zero()) {
                tokio::time::sleep(pause).await;
            }
            match checked {
                Ok(()) => inner.call(call).await,
                Err(refusal) => Ok(Status::from(refusal).into_http()),
            }
        })
    }
}

/// Whether a path is one of this server's own calls.
fn is_ours(path: &str) -> bool {
    const LONGEST: usize = 64;
    path.starts_with("/ddiht.v1.") && path.len() <= LONGEST
}

/// The role a call needs; health is everybody's business.
fn needed(path: &str) -> Option<Role> {
    let call = path.strip_prefix('/').and_then(|path| path.split_once('/'));
    match call.unwrap_or_default() {
        (HEALTH, _) => None,
        (training_server::SERVICE_NAME, _) => Some(Role::Worker),
        (control_server::SERVICE_NAME, "Status" | "Watch" | "GetModel") => Some(Role::Observer),
        // A call that is added and not listed above is not for onlookers.
        (control_server::SERVICE_NAME, _) => Some(Role::Operator),
        // The reflection service, and whatever does not exist.
        _ => Some(Role::Observer),
    }
}

fn shown(headers: &HeaderMap) -> Result<&[u8], Refusal> {
    let header = headers.get(AUTHORIZATION).ok_or(Refusal::Missing)?;
    presented(header.as_bytes()).ok_or(Refusal::Malformed)
}

/// Why a call is not let through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    #[error("this server wants a token (--token-file)")]
    Missing,
    #[error("the authorization header has no bearer token")]
    Malformed,
    #[error("the token is none of this server's")]
    Unknown,
    #[error("this call needs a token with the role {}", .0.name())]
    Role(Role),
}

impl From<Refusal> for Status {
    fn from(refusal: Refusal) -> Self {
        let sentence = refusal.to_string();
        match refusal {
            Refusal::Missing | Refusal::Malformed | Refusal::Unknown => {
                Self::unauthenticated(sentence)
            }
            Refusal::Role(_) => Self::permission_denied(sentence),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_call_has_its_role() {
        for (path, role) in [
            ("/ddiht.v1.Training/Join", Some(Role::Worker)),
            ("/ddiht.v1.Training/Exchange", Some(Role::Worker)),
            ("/ddiht.v1.Control/Status", Some(Role::Observer)),
            ("/ddiht.v1.Control/GetModel", Some(Role::Observer)),
            ("/ddiht.v1.Control/Stop", Some(Role::Operator)),
            ("/ddiht.v1.Control/Anything", Some(Role::Operator)),
            ("/grpc.health.v1.Health/Check", None),
            ("/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", Some(Role::Observer)),
            ("/nothing/of/this", Some(Role::Observer)),
            ("/grpc.health.v1.Health", Some(Role::Observer)),
            ("", Some(Role::Observer)),
        ] {
            assert_eq!(needed(path), role, "{path}");
        }
    }
}
