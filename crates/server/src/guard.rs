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
use tonic::{Code, Status, body::Body};
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
        // Without tokens anybody passes; at least it must be a call that is meant for us.
        let earned = self.tokens.is_some() || method_of(path).is_some();
        if let Some(visit) = call.extensions().get::<Visit>().filter(|_| earned) {
            visit.admit();
        }
        Ok(())
    }
}

/// Which call of whom it is, for the log. A path may be anything: only our own are named.
fn name(call: &Request<Body>) -> String {
    let method = method_of(call.uri().path()).unwrap_or("a call");
    match call.extensions().get::<Visit>() {
        Some(visit) => format!("{method} of {}", visit.peer()),
        None => method.to_owned(),
    }
}

/// Says what a service has refused: it may be a broken worker, or a hostile one.
fn note_refusal(complaints: &Complaints, name: &str, answer: &Response<Body>) {
    let Some(status) = Status::from_header_map(answer.headers()) else { return };
    // Who finds all shards taken asks again and again; that is as it should be.
    if !matches!(status.code(), Code::Ok | Code::Unavailable) {
        // It may quote what the caller sent: no line of the log is made by it.
        let sentence = status.message().escape_debug();
        complaints.say(format_args!("refused {name} ({:?}): {sentence}", status.code()));
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
        let complaints = self.rules.complaints.clone();
        let name = name(&call);
        // The service that has said it is ready is the one to call.
        let next = self.inner.clone();
        let mut inner = std::mem::replace(&mut self.inner, next);
        Box::pin(async move {
            if let Some(pause) = pause.filter(|pause| !pause.is_zero()) {
                tokio::time::sleep(pause).await;
            }
            let answer = match checked {
                Ok(()) => inner.call(call).await?,
                Err(refusal) => Status::from(refusal).into_http(),
            };
            note_refusal(&complaints, &name, &answer);
            Ok(answer)
        })
    }
}

/// The method of a path that can be one of this server's own.
fn method_of(path: &str) -> Option<&str> {
    const LONGEST: usize = 32;
    let (service, method) = path.strip_prefix('/')?.split_once('/')?;
    let ours = matches!(service, training_server::SERVICE_NAME | control_server::SERVICE_NAME);
    let is_name = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphabetic());
    (ours && method.len() <= LONGEST && is_name(method)).then_some(method)
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
