//! The way in: connections are accepted, encrypted, and given up when they do not get on with it.

use std::{
    fmt, io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use ddiht_wire::trust::Watched;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpListener, TcpStream},
    sync::{mpsc, oneshot},
    time::Sleep,
};
use tokio_rustls::TlsAcceptor;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::server::Connected;

use crate::{
    complaints::Complaints,
    lobby::{Lobby, Visit},
};

/// How long a connection may take from its beginning to a call that is let through.
const FIRST_CALL: Duration = Duration::from_secs(10);
/// The pause after a connection could not be accepted, mostly because there are too many open files.
const BREATH: Duration = Duration::from_millis(20);
/// Connections that are ready and wait to be served.
const READY: usize = 64;

/// The encryption of new connections.
pub(crate) type Tls = Arc<Watched<rustls::ServerConfig>>;

/// What a server does with those who come.
#[derive(Debug, Clone)]
pub(crate) struct Door {
    pub(crate) lobby: Lobby,
    pub(crate) tls: Option<Tls>,
    pub(crate) complaints: Complaints,
}

impl Door {
    /// The connections that come in at `listener`; when the stream is dropped nothing is accepted any more.
    pub(crate) fn open(
        self,
        listener: TcpListener,
    ) -> ReceiverStream<Result<Connection, io::Error>> {
        let (ready, connections) = mpsc::channel(READY);
        tokio::spawn(async move {
            tokio::select! {
                () = self.receive(listener, &ready) => {}
                () = ready.closed() => {}
            }
        });
        ReceiverStream::new(connections)
    }

    async fn receive(
        &self,
        listener: TcpListener,
        ready: &mpsc::Sender<Result<Connection, io::Error>>,
    ) {
        loop {
            let (stream, peer) = match listener.accept().await {
                Ok(accepted) => accepted,
                Err(error) => {
                    self.complaints.say(format_args!("cannot accept a connection: {error}"));
                    self.lobby.dismiss_a_stranger();
                    tokio::time::sleep(BREATH).await;
                    continue;
                }
            };
            let Some((visit, dismissed)) = self.lobby.enter(peer) else {
                if !self.lobby.is_closed() {
                    self.complaints.say(format_args!("no room for {peer}: all are taken"));
                }
                continue;
            };
            // A round waits for its last message: none may wait for a fuller packet. Where that cannot be
            // had it is slower, no more.
            let _ = stream.set_nodelay(true);
            let guest = Guest::new(stream, visit, dismissed);
            // A handshake takes as long as the other side likes: the next one must not wait for it.
            tokio::spawn(self.clone().let_in(guest, ready.clone()));
        }
    }

    async fn let_in(self, guest: Guest, ready: mpsc::Sender<Result<Connection, io::Error>>) {
        let visit = guest.visit.clone();
        let stream: Pin<Box<dyn Duplex>> = match &self.tls {
            None => Box::pin(guest),
            Some(tls) => match TlsAcceptor::from(tls.current()).accept(guest).await {
                Ok(stream) => Box::pin(stream),
                Err(error) => {
                    let peer = visit.peer();
                    return self.complaints.say(format_args!("no TLS with {peer}: {error}"));
                }
            },
        };
        // Nobody takes it when the server is going away.
        let _ = ready.send(Ok(Connection { stream, visit })).await;
    }
}

/// A stream of bytes in both directions.
trait Duplex: AsyncRead + AsyncWrite + Send {}

impl<T: AsyncRead + AsyncWrite + Send> Duplex for T {}

/// A connection that is ready to be served.
pub(crate) struct Connection {
    stream: Pin<Box<dyn Duplex>>,
    visit: Visit,
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Connection").field(&self.visit.peer()).finish()
    }
}

impl Connected for Connection {
    type ConnectInfo = Visit;

    fn connect_info(&self) -> Visit {
        self.visit.clone()
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.stream.as_mut().poll_read(cx, buffer)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.stream.as_mut().poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.stream.as_mut().poll_write_vectored(cx, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream.as_mut().poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream.as_mut().poll_shutdown(cx)
    }
}

/// A socket that breaks when its time is over. Below the encryption, so that one clock covers the handshake
/// of TLS, that of HTTP/2, and the first call.
struct Guest {
    stream: TcpStream,
    visit: Visit,
    dismissed: oneshot::Receiver<()>,
    deadline: Pin<Box<Sleep>>,
    over: bool,
}

impl Guest {
    fn new(stream: TcpStream, visit: Visit, dismissed: oneshot::Receiver<()>) -> Self {
        let deadline = Box::pin(tokio::time::sleep(FIRST_CALL));
        Self { stream, visit, dismissed, deadline, over: false }
    }

    /// Fails when it is time to go; else wakes the task when it will be.
    fn stay(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        // A receiver must not be asked again once it has answered.
        self.over = self.over || Pin::new(&mut self.dismissed).poll(cx).is_ready();
        let late = !self.visit.is_admitted() && self.deadline.as_mut().poll(cx).is_ready();
        if self.over || late {
            return Err(io::ErrorKind::TimedOut.into());
        }
        Ok(())
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        self.visit.leave();
    }
}

impl AsyncRead for Guest {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.stay(cx)?;
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Guest {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        // Who does not read what we write is not waited for either.
        self.stay(cx)?;
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.stay(cx)?;
        Pin::new(&mut self.stream).poll_write_vectored(cx, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
