//! What every call has to pass before a service sees it.

use std::{
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use ddiht_wire::{
    pb::{control_server, training_server},
    trust::{AUTHORIZATION, Watched, presented},
};
use http::{HeaderMap, Request, Response};
use tonic::{Status, body::Body};
use tower_layer::Layer;
use tower_service::Service;

use crate::tokens::{Role, Standing, TokenList};

/// The standard service that tells whether a server is alive.
const HEALTH: &str = "grpc.health.v1.Health";

/// Puts a [`Guard`] before the services.
#[derive(Debug, Clone)]
pub(crate) struct GuardLayer {
    tokens: Option<Arc<Watched<TokenList>>>,
}

impl GuardLayer {
    pub(crate) fn new(tokens: Option<Arc<Watched<TokenList>>>) -> Self {
        Self { tokens }
    }
}

impl<S> Layer<S> for GuardLayer {
    type Service = Guard<S>;

    fn layer(&self, inner: S) -> Guard<S> {
        Guard { inner, tokens: self.tokens.clone() }
    }
}

/// Lets a call through, or answers it with a refusal before a byte of its message is read.
#[derive(Debug, Clone)]
pub(crate) struct Guard<S> {
    inner: S,
    tokens: Option<Arc<Watched<TokenList>>>,
}

impl<S> Guard<S> {
    fn check(&self, call: &Request<Body>) -> Result<(), Refusal> {
        let (Some(tokens), Some(needed)) = (&self.tokens, needed(call.uri().path())) else {
            return Ok(());
        };
        let shown = shown(call.headers())?;
        match tokens.current().judge(shown, needed) {
            Standing::Sufficient => Ok(()),
            Standing::Insufficient => Err(Refusal::Role(needed)),
            Standing::Unknown => Err(Refusal::Unknown),
        }
    }
}

impl<S> Service<Request<Body>> for Guard<S>
where
    S: Service<Request<Body>, Response = Response<Body>>,
    S::Future: Send + 'static,
{
    type Response = Response<Body>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, S::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, call: Request<Body>) -> Self::Future {
        match self.check(&call) {
            Ok(()) => Box::pin(self.inner.call(call)),
            Err(refusal) => Box::pin(async move { Ok(Status::from(refusal).into_http()) }),
        }
    }
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
