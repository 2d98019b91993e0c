//! Listening: addresses, TLS, checks against DNS rebinding, connections and shutdown.
//!
//! This module owns what all HTTP transports share. Paths and responses belong to the transports.

pub(crate) mod body_writer;
pub(crate) mod fault_control;
mod gate;
pub(crate) mod http_exchange;
mod limits;
pub(crate) mod protection;
pub(crate) mod response;
mod server;
pub(crate) mod serving;
pub(crate) mod socket;
mod start;
mod tls;
pub(crate) mod wire;

use std::{
    fmt, io,
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
};

use thiserror::Error;

pub(crate) use self::start::TransportServer;
pub use self::{
    fault_control::FaultHandle,
    gate::Allowed,
    limits::{Limits, raise_descriptor_limit},
    server::{EventStream, Server, Streamable},
    tls::{Tls, TlsError},
};

/// How a server listens, and whom it lets in. The default is a port of 127.0.0.1 that the system chooses, without TLS,
/// for clients of this machine alone.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Options {
    /// Where.
    pub address: Address,
    /// The path of the endpoint; absent: `/mcp` for Streamable HTTP, `/sse` for HTTP+SSE.
    pub path: Option<String>,
    /// Whether connections are encrypted, and under which certificate; absent: they are not.
    pub tls: Option<Tls>,
    /// Which `Host` headers are let in. Clients over a Unix socket have no host to name, so there it is not looked at.
    pub allowed_hosts: Allowed,
    /// Which `Origin` headers are let in. A request without one comes from no browser and is always let in.
    pub allowed_origins: Allowed,
    /// What a client may cost.
    pub limits: Limits,
}

impl Options {
    /// The default options at this address.
    #[must_use]
    pub fn at(address: Address) -> Self {
        Self { address, ..Self::default() }
    }

    /// The same with this path of the endpoint.
    #[must_use]
    pub fn with_path(mut self, path: impl Into<String>) -> Self {
        self.path = Some(path.into());
        self
    }

    /// The same with TLS.
    #[must_use]
    pub fn with_tls(mut self, tls: Tls) -> Self {
        self.tls = Some(tls);
        self
    }

    /// The same for clients that name these hosts.
    #[must_use]
    pub fn with_allowed_hosts(mut self, hosts: Allowed) -> Self {
        self.allowed_hosts = hosts;
        self
    }

    /// The same within these limits.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// The same for browsers' pages of these origins.
    #[must_use]
    pub fn with_allowed_origins(mut self, origins: Allowed) -> Self {
        self.allowed_origins = origins;
        self
    }
}

/// Where a server listens.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Address {
    /// On this address and port; port 0 lets the system choose.
    Tcp(SocketAddr),
    /// On a Unix socket at this path. A socket that a server left behind is replaced; anything else in its place is not.
    Unix(PathBuf),
}

impl Default for Address {
    fn default() -> Self {
        Self::Tcp((Ipv4Addr::LOCALHOST, 0).into())
    }
}

impl Address {
    /// The address and port; none for a Unix socket.
    #[must_use]
    pub fn tcp(&self) -> Option<SocketAddr> {
        match self {
            Self::Tcp(address) => Some(*address),
            Self::Unix(_) => None,
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(formatter),
            Self::Unix(path) => write!(formatter, "{}", path.display()),
        }
    }
}

/// Why a server could not be started.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StartError {
    /// The address could not be bound.
    #[error("could not listen on {address}")]
    Bind {
        /// The address.
        address: Address,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The path of the endpoint is no path of a URL.
    #[error("the endpoint's path `{path}` is no path of a URL: it begins with `/` and has neither query nor fragment")]
    Path {
        /// The path.
        path: String,
    },
    /// TLS could not be set up.
    #[error("could not set up TLS")]
    Tls(#[source] TlsError),
}
