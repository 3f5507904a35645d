//! Opening a connection: a socket, and TLS over it.

use std::{
    fmt,
    future::Future,
    io,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use http::Uri;
use hyper_util::rt::TokioIo;
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    time::timeout,
};
use tokio_rustls::{TlsConnector, client::TlsStream};
use tower_service::Service;

use crate::{Credentials, Denial, credentials::ClientTls};

/// How long the server may take to say the first word over TLS.
const FIRST_WORD: Duration = Duration::from_secs(2);

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConnectError {
    #[error("the address has no host")]
    NoHost,
    #[error("{0}")]
    Network(#[from] io::Error),
    #[error(transparent)]
    Denied(#[from] Denial),
}

/// Opens connections with the credentials it was given.
#[derive(Debug, Clone)]
pub(crate) struct Connector {
    credentials: Credentials,
}

impl Connector {
    pub(crate) fn new(credentials: Credentials) -> Self {
        Self { credentials }
    }

    async fn connect(self, server: Uri) -> Result<TokioIo<Connection>, ConnectError> {
        let host = server.host().ok_or(ConnectError::NoHost)?;
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let default_port = if self.credentials.tls.is_some() { 443 } else { 80 };
        let port = server.port_u16().unwrap_or(default_port);
        let stream = TcpStream::connect((host, port)).await?;
        let peer = stream.peer_addr()?.ip();
        if self.credentials.would_show_the_token() && !peer.is_loopback() {
            return Err(Denial::Exposed(peer).into());
        }
        stream.set_nodelay(true)?;
        let stream: Pin<Box<dyn Duplex>> = match &self.credentials.tls {
            None => Box::pin(stream),
            Some(tls) => Box::pin(encrypt(stream, tls, host).await?),
        };
        Ok(TokioIo::new(Connection(stream)))
    }
}

async fn encrypt(
    stream: TcpStream,
    tls: &ClientTls,
    host: &str,
) -> Result<TlsStream<TcpStream>, ConnectError> {
    let name = tls.name(host)?;
    let connector = TlsConnector::from(tls.config());
    let mut stream = connector.connect(name, stream).await.map_err(denied)?;
    // A client of TLS 1.3 is done before the server has seen its certificate. What the server thinks of it
    // comes in place of its first word, and is lost if it has to be found in a failure of HTTP/2.
    if let Ok(first) = timeout(FIRST_WORD, stream.fill_buf()).await {
        first.map_err(denied)?;
    }
    Ok(stream)
}

/// What TLS has to say is final; a broken connection is not.
fn denied(error: io::Error) -> ConnectError {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        Some(tls) => Denial::Tls(tls.clone()).into(),
        None => ConnectError::Network(error),
    }
}

impl Service<Uri> for Connector {
    type Response = TokioIo<Connection>;
    type Error = ConnectError;
    type Future = Pin<Box<dyn Future<Output = Result<TokioIo<Connection>, ConnectError>> + Send>>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), ConnectError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, server: Uri) -> Self::Future {
        Box::pin(self.clone().connect(server))
    }
}

/// A stream of bytes in both directions.
trait Duplex: AsyncRead + AsyncWrite + Send {}

impl<T: AsyncRead + AsyncWrite + Send> Duplex for T {}

/// A connection, encrypted or not.
pub(crate) struct Connection(Pin<Box<dyn Duplex>>);

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Connection")
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.0.as_mut().poll_read(cx, buffer)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.0.as_mut().poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.0.as_mut().poll_write_vectored(cx, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.0.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.as_mut().poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.as_mut().poll_shutdown(cx)
    }
}
