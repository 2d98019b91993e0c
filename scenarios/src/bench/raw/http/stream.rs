//! Nonblocking byte streams to a server: TCP, TLS or a Unix socket.

use std::{
    io::{self, Read, Write},
    net::SocketAddr,
    path::PathBuf,
    sync::Arc,
};

use mio::{Interest, Registry, Token, net::TcpStream};
use rustls::{ClientConfig, ClientConnection, StreamOwned, pki_types::ServerName};
use rustls_platform_verifier::ConfigVerifierExt as _;

use crate::bench::raw::unix_socket::UnixStream;

/// The address of a server.
#[derive(Debug, Clone)]
pub(in crate::bench::raw) enum Address {
    /// TCP.
    Tcp(SocketAddr),
    /// TLS over TCP, with the name of the certificate.
    Tls(SocketAddr, Arc<ClientConfig>, ServerName<'static>),
    /// A Unix socket.
    Unix(PathBuf),
}

impl Address {
    /// The address of a URL, or of a socket. Resolves the name, which blocks.
    ///
    /// # Errors
    /// If the name cannot be resolved, or the certificates of the system cannot be loaded.
    pub(in crate::bench::raw) fn new(url: &url::Url, socket: Option<&PathBuf>) -> io::Result<Self> {
        if let Some(path) = socket {
            return Ok(Self::Unix(path.clone()));
        }
        let addresses = url.socket_addrs(|| None)?;
        let address = addresses.first().copied().ok_or_else(|| io::Error::other("the host has no address"))?;
        if url.scheme() != "https" {
            return Ok(Self::Tcp(address));
        }
        // An error means that a provider is installed already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let config = ClientConfig::with_platform_verifier().map_err(io::Error::other)?;
        let name = url.host_str().unwrap_or_default().trim_matches(['[', ']']).to_owned();
        let name = ServerName::try_from(name).map_err(io::Error::other)?;
        Ok(Self::Tls(address, Arc::new(config), name))
    }
}

/// A connected, or connecting, stream.
#[derive(Debug)]
pub(super) enum Stream {
    Tcp(TcpStream),
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
    Unix(UnixStream),
}

impl Stream {
    /// Starts to connect. The stream is writable once it is connected.
    pub(super) fn connect(address: &Address, registry: &Registry, token: Token) -> io::Result<Self> {
        let interest = Interest::READABLE | Interest::WRITABLE;
        Ok(match address {
            Address::Tcp(address) => {
                let mut stream = TcpStream::connect(*address)?;
                registry.register(&mut stream, token, interest)?;
                Self::Tcp(stream)
            }
            Address::Tls(address, config, name) => {
                let mut stream = TcpStream::connect(*address)?;
                registry.register(&mut stream, token, interest)?;
                let session = ClientConnection::new(Arc::clone(config), name.clone()).map_err(io::Error::other)?;
                Self::Tls(Box::new(StreamOwned::new(session, stream)))
            }
            Address::Unix(path) => {
                let mut stream = UnixStream::connect(path)?;
                registry.register(&mut stream, token, interest)?;
                Self::Unix(stream)
            }
        })
    }

    /// Completes a connection that became writable. Returns whether it is connected.
    ///
    /// # Errors
    /// If connecting failed.
    pub(super) fn complete(&self) -> io::Result<bool> {
        let tcp = match self {
            Self::Tcp(stream) => stream,
            Self::Tls(stream) => &stream.sock,
            Self::Unix(stream) => return stream.take_error()?.map_or(Ok(true), Err),
        };
        if let Some(cause) = tcp.take_error()? {
            return Err(cause);
        }
        match tcp.peer_addr() {
            Ok(_) => {
                // Otherwise a request in two segments waits for an acknowledgement, up to 40 ms.
                tcp.set_nodelay(true)?;
                Ok(true)
            }
            Err(cause) if cause.kind() == io::ErrorKind::NotConnected => Ok(false),
            Err(cause) => Err(cause),
        }
    }

    /// Whether a read that returns less than asked for has emptied the socket.
    pub(super) fn reads_all(&self) -> bool {
        !matches!(self, Self::Tls(_))
    }

    pub(super) fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(buffer),
            Self::Tls(stream) => stream.read(buffer),
            Self::Unix(stream) => stream.read(buffer),
        }
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.write(bytes),
            Self::Tls(stream) => stream.write(bytes),
            Self::Unix(stream) => stream.write(bytes),
        }
    }

    /// Writes what TLS has buffered.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Tls(stream) => stream.flush(),
            Self::Tcp(_) | Self::Unix(_) => Ok(()),
        }
    }
}
