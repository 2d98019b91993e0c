//! Byte streams of a connection: TCP, TLS or a Unix socket, with the number of their bytes.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    task::{Context, Poll, ready},
};

use rustls::ClientConfig;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};
use tokio_rustls::TlsConnector;

use crate::bench::raw::{http::Address, unix_socket};

/// The name of HTTP/2 in ALPN (RFC 9113, 3.2).
const ALPN: &[u8] = b"h2";

/// A connected stream.
trait Bytes: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Bytes for T {}

/// The bytes of all connections of a worker: frames with their heads, before TLS.
#[derive(Debug, Default)]
pub(super) struct Traffic {
    sent: AtomicU64,
    received: AtomicU64,
}

impl Traffic {
    /// The bytes that were sent and received since the last time.
    pub(super) fn take(&self) -> (usize, usize) {
        let take = |counter: &AtomicU64| usize::try_from(counter.swap(0, Relaxed)).unwrap_or(usize::MAX);
        (take(&self.sent), take(&self.received))
    }
}

/// A stream that counts its bytes.
pub(super) struct CountedStream {
    stream: Box<dyn Bytes>,
    traffic: Arc<Traffic>,
}

impl CountedStream {
    /// Connects.
    ///
    /// # Errors
    /// If connecting fails, or the server does not choose HTTP/2 in the TLS handshake.
    pub(super) async fn connect(address: &Address, traffic: Arc<Traffic>) -> io::Result<Self> {
        let tcp = async |address| {
            let stream = TcpStream::connect(address).await?;
            // Otherwise a request in two segments waits for an acknowledgement, up to 40 ms.
            stream.set_nodelay(true)?;
            Ok::<_, io::Error>(stream)
        };
        let stream: Box<dyn Bytes> = match address {
            Address::Tcp(address) => Box::new(tcp(*address).await?),
            Address::Unix(path) => Box::new(unix_socket::connect(path).await?),
            Address::Tls(address, config, name) => {
                let mut config = ClientConfig::clone(config);
                config.alpn_protocols = vec![ALPN.to_vec()];
                let connector = TlsConnector::from(Arc::new(config));
                let stream = connector.connect(name.clone(), tcp(*address).await?).await?;
                if stream.get_ref().1.alpn_protocol() != Some(ALPN) {
                    return Err(io::Error::other("the server did not choose HTTP/2 in the TLS handshake (ALPN)"));
                }
                Box::new(stream)
            }
        };
        Ok(Self { stream, traffic })
    }
}

impl AsyncRead for CountedStream {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, buffer))?;
        self.traffic.received.fetch_add((buffer.filled().len() - before) as u64, Relaxed);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for CountedStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let count = ready!(Pin::new(&mut self.stream).poll_write(cx, bytes))?;
        self.traffic.sent.fetch_add(count as u64, Relaxed);
        Poll::Ready(Ok(count))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let count = ready!(Pin::new(&mut self.stream).poll_write_vectored(cx, parts))?;
        self.traffic.sent.fetch_add(count as u64, Relaxed);
        Poll::Ready(Ok(count))
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
