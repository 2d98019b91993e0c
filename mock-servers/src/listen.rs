//! Listening: addresses, TLS, checks against DNS rebinding, connections and shutdown.
//!
//! This module owns what all HTTP transports share. Paths and responses belong to the transports.

pub(crate) mod body_writer;
pub(crate) mod fault_control;
mod gate;
pub(crate) mod http_exchange;
mod limits;
pub(crate) mod protection;
pub(crate) mod request_log;
pub(crate) mod response;
mod server;
pub(crate) mod serving;
pub(crate) mod socket;
mod start;
mod tls;
mod unix_socket;
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
    request_log::{LoggedMessage, LoggedRequest, RequestLog},
    server::{EventStream, Server, Streamable},
    tls::{Tls, TlsError},
};
use crate::script::{InvalidRequest, Validation};

/// Listener settings. The default is a port of 127.0.0.1 that the system chooses, without TLS, for clients of the same
/// machine.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Options {
    /// The address.
    pub address: Address,
    /// The path of the endpoint [default: `/mcp` for Streamable HTTP, `/sse` for HTTP+SSE].
    pub path: Option<String>,
    /// The TLS certificate [default: no TLS].
    pub tls: Option<Tls>,
    /// The allowed `Host` headers. They are ignored on a Unix socket, where clients have no host to name.
    pub allowed_hosts: Allowed,
    /// The allowed `Origin` headers. A request without `Origin` does not come from a browser and is always allowed.
    pub allowed_origins: Allowed,
    /// The status of a request with a `Host` or `Origin` that is not allowed [default: 403].
    pub rejection_status: Option<u16>,
    /// The limits for clients.
    pub limits: Limits,
    /// The log of handled requests [default: none].
    pub request_log: Option<RequestLog>,
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

    /// The same with these allowed hosts.
    #[must_use]
    pub fn with_allowed_hosts(mut self, hosts: Allowed) -> Self {
        self.allowed_hosts = hosts;
        self
    }

    /// The same with these limits.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// The same with these allowed origins.
    #[must_use]
    pub fn with_allowed_origins(mut self, origins: Allowed) -> Self {
        self.allowed_origins = origins;
        self
    }

    /// The same with this log of handled requests.
    #[must_use]
    pub fn with_request_log(mut self, log: RequestLog) -> Self {
        self.request_log = Some(log);
        self
    }

    /// The same with the validation of a script.
    #[must_use]
    pub(crate) fn with_validation(mut self, validation: &Validation) -> Self {
        match validation.origin {
            None => {}
            Some(InvalidRequest::Status(status)) => self.rejection_status = Some(status),
            Some(InvalidRequest::Skip) => (self.allowed_hosts, self.allowed_origins) = (Allowed::Any, Allowed::Any),
        }
        self
    }
}

/// The address of a listener.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Address {
    /// An IP address and port; port 0 lets the system choose.
    Tcp(SocketAddr),
    /// A Unix socket at this path. It replaces the socket of a stopped server, and nothing else.
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

/// Error of starting a server.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StartError {
    /// The address could not be bound.
    #[error("could not listen on {address}")]
    Bind {
        /// The address.
        address: Address,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// The path of the endpoint is invalid in a URL.
    #[error(
        "the endpoint's path `{path}` is not a valid URL path: it must begin with `/` and have no query and no fragment"
    )]
    Path {
        /// The path.
        path: String,
    },
    /// TLS could not be set up.
    #[error("could not set up TLS")]
    Tls(#[source] TlsError),
}
