//! Listening sockets and accepted connections.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpListener, TcpSocket, TcpStream},
    sync::Notify,
};

use super::{
    Address,
    unix_socket::{UnixListener, UnixStream},
};

/// How many connections may wait to be accepted; the system may allow fewer. With the usual 128, connections that a load test
/// opens at the same time are dropped, and each is tried again only after a second.
const BACKLOG: u32 = 4096;

/// A bound socket. Dropping it removes the file of a Unix socket.
#[derive(Debug)]
pub(super) enum ListenSocket {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl ListenSocket {
    /// Binds an address; returns the actual one.
    pub(super) async fn bind(address: &Address) -> io::Result<(Self, Address)> {
        match address {
            Address::Tcp(address) => {
                let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
                // As `TcpListener::bind` does, so that the port of a server that has just ended is free.
                socket.set_reuseaddr(true)?;
                socket.bind(*address)?;
                let socket = socket.listen(BACKLOG)?;
                let address = socket.local_addr()?;
                Ok((Self::Tcp(socket), Address::Tcp(address)))
            }
            Address::Unix(path) => {
                // An absolute path is found again after a change of directory.
                let path = std::path::absolute(path)?;
                Ok((Self::Unix(UnixListener::bind(&path).await?), Address::Unix(path)))
            }
        }
    }

    pub(super) async fn accept(&self) -> io::Result<AcceptedSocket> {
        match self {
            Self::Tcp(socket) => socket.accept().await.map(|(stream, _)| AcceptedSocket::Tcp(stream)),
            Self::Unix(socket) => socket.accept().await.map(AcceptedSocket::Unix),
        }
    }
}

/// An accepted connection before anything is read from it.
#[derive(Debug)]
pub(super) enum AcceptedSocket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

/// Close mode of a connection.
#[derive(Debug, Clone)]
pub(crate) struct CloseMode(Arc<End>);

#[derive(Debug)]
struct End {
    reset: AtomicBool,
    cut: Notify,
    finish: Notify,
    most_unread: usize,
}

impl CloseMode {
    /// The close mode of a connection with this limit of unread bytes.
    pub(super) fn new(most_unread: usize) -> Self {
        Self(Arc::new(End { reset: AtomicBool::new(false), cut: Notify::new(), finish: Notify::new(), most_unread }))
    }

    pub(super) fn most_unread(&self) -> usize {
        self.0.most_unread
    }

    /// Resets the connection instead of closing it when it is dropped: unread bytes are lost, and the client's next
    /// read fails (only TCP).
    pub(crate) fn reset(&self) {
        self.0.reset.store(true, Ordering::Relaxed);
    }

    /// Drops the connection at once, with its unwritten bytes.
    pub(crate) fn cut(&self) {
        self.0.cut.notify_one();
    }

    /// Waits until the connection must be dropped.
    pub(super) async fn until_cut(&self) {
        self.0.cut.notified().await;
    }

    /// Closes the connection after the pending response, in spite of keep-alive.
    pub(crate) fn finish(&self) {
        self.0.finish.notify_one();
    }

    /// Waits until the connection must be closed.
    pub(super) async fn until_finish(&self) {
        self.0.finish.notified().await;
    }

    fn is_reset(&self) -> bool {
        self.0.reset.load(Ordering::Relaxed)
    }
}

/// An accepted connection with its [`CloseMode`].
#[derive(Debug)]
pub(super) struct AcceptedConnection {
    stream: AcceptedSocket,
    close_mode: CloseMode,
}

impl AcceptedConnection {
    pub(super) fn new(stream: AcceptedSocket, close_mode: CloseMode) -> Self {
        if let AcceptedSocket::Tcp(stream) = &stream {
            // Small messages must not wait for each other's acknowledgement.
            if let Err(cause) = stream.set_nodelay(true) {
                tracing::debug!(%cause, "no TCP_NODELAY");
            }
        }
        Self { stream, close_mode }
    }

    /// Waits for the first bytes, and returns whether they are the preface of HTTP/2 (RFC 9113, 3.4). They stay unread.
    /// Connections of Unix sockets cannot be read in that way, and have HTTP/1.1.
    pub(super) async fn starts_http2(&self) -> bool {
        const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
        let AcceptedSocket::Tcp(stream) = &self.stream else { return false };
        // No client sends these bytes apart, as the preface is constant. A failure is that of the next read, too.
        let mut first = [0; PREFACE.len()];
        matches!(stream.peek(&mut first).await, Ok(count) if count == PREFACE.len() && first == *PREFACE)
    }
}

impl Drop for AcceptedConnection {
    fn drop(&mut self) {
        if let AcceptedSocket::Tcp(stream) = &self.stream
            && self.close_mode.is_reset()
            && let Err(cause) = stream.set_zero_linger()
        {
            tracing::debug!(%cause, "no reset");
        }
    }
}

impl AsyncRead for AcceptedConnection {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match &mut self.stream {
            AcceptedSocket::Tcp(stream) => Pin::new(stream).poll_read(context, into),
            AcceptedSocket::Unix(stream) => Pin::new(stream).poll_read(context, into),
        }
    }
}

impl AsyncWrite for AcceptedConnection {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match &mut self.stream {
            AcceptedSocket::Tcp(stream) => Pin::new(stream).poll_write(context, bytes),
            AcceptedSocket::Unix(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        // Sockets have nothing to flush.
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        // A connection that ends with a reset has nothing else to flush.
        if self.close_mode.is_reset() {
            return Poll::Ready(Ok(()));
        }
        match &mut self.stream {
            AcceptedSocket::Tcp(stream) => Pin::new(stream).poll_shutdown(context),
            AcceptedSocket::Unix(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match &mut self.stream {
            AcceptedSocket::Tcp(stream) => Pin::new(stream).poll_write_vectored(context, parts),
            AcceptedSocket::Unix(stream) => Pin::new(stream).poll_write_vectored(context, parts),
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }
}
