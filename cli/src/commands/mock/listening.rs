//! Listen address, TLS and allowed hosts of a mock server.

use std::{net::SocketAddr, path::PathBuf, str::FromStr};

use anyhow::{Context as _, anyhow};
use mock_servers::listen::{Address, Allowed, Options, RequestLog, StartError, Tls};

use crate::{error::CommandError, print};

/// Listen address, TLS and allowed hosts.
#[derive(Debug, clap::Args)]
pub(super) struct Listening {
    /// Listen address: IP address and port (0: any free port), or `unix:` and the path of a socket.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    listen: ListenAddress,
    /// Path of the endpoint [default: the default of the transport].
    #[arg(long, value_name = "PATH")]
    path: Option<String>,
    /// Use TLS, with a generated temporary certificate unless one is given.
    #[arg(long)]
    tls: bool,
    /// TLS certificate (PEM).
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_certificate: Option<PathBuf>,
    /// Private key of the certificate (PEM).
    #[arg(long, value_name = "FILE", requires = "tls_certificate")]
    tls_key: Option<PathBuf>,
    /// Allowed `Host` header, as `name` or `name:port`; `*` allows all. Replaces the default loopback names.
    #[arg(long, value_name = "HOST")]
    allow_host: Vec<String>,
    /// Allowed `Origin` header, as `name`, `name:port` or `https://name`; `*` allows all. Replaces the default loopback
    /// names.
    #[arg(long, value_name = "ORIGIN")]
    allow_origin: Vec<String>,
    /// Print a line to stderr for each request: method, path, JSON-RPC method and id, status, duration, and the reason
    /// of a rejection. With --json each line is a JSON object.
    #[arg(long)]
    log: bool,
}

/// An address, or the path of a Unix socket.
#[derive(Debug, Clone)]
struct ListenAddress(Address);

impl FromStr for ListenAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Some(path) = text.strip_prefix("unix:") {
            return if path.is_empty() {
                Err("the path of the socket is missing".into())
            } else {
                Ok(Self(Address::Unix(path.into())))
            };
        }
        let address: SocketAddr = text
            .parse()
            .map_err(|_| "write an address and a port, as in `127.0.0.1:0`, or `unix:/path/of/the/socket`")?;
        Ok(Self(Address::Tcp(address)))
    }
}

impl Listening {
    /// Whether requests are logged.
    pub(super) fn logs(&self) -> bool {
        self.log
    }

    /// Options of another listener that is only logged like this one.
    pub(super) fn logged(&self, json: bool) -> Options {
        let options = Options::default();
        match (self.log, json) {
            (true, true) => options.with_request_log(RequestLog::new(print::json_note)),
            (true, false) => options.with_request_log(RequestLog::new(|request| print::note(&request.to_string()))),
            (false, _) => options,
        }
    }

    /// Options of the listener. With `json`, requests are logged as JSON.
    pub(super) fn options(&self, json: bool) -> Result<Options, CommandError> {
        let mut options = self
            .logged(json)
            .with_allowed_hosts(Allowed::listed(&self.allow_host))
            .with_allowed_origins(Allowed::listed(&self.allow_origin));
        options.address = self.listen.0.clone();
        if let Some(path) = &self.path {
            options = options.with_path(path);
        }
        Ok(match self.certificate()? {
            Some(tls) => options.with_tls(tls),
            None => options,
        })
    }

    fn certificate(&self) -> Result<Option<Tls>, CommandError> {
        let (Some(certificate), Some(key)) = (&self.tls_certificate, &self.tls_key) else {
            return Ok(self.tls.then(Tls::default));
        };
        let read = |path: &PathBuf| {
            let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()));
            text.map_err(CommandError::input)
        };
        Ok(Some(Tls::Given { certificate_pem: read(certificate)?, key_pem: read(key)? }))
    }
}

/// Classifies an error: a port in use is an environment error, an unusable path or certificate is invalid input.
pub(super) fn start_error(error: StartError) -> CommandError {
    match error {
        StartError::Path { .. } | StartError::Tls(_) => CommandError::input(error),
        StartError::Bind { address, source } if source.kind() == std::io::ErrorKind::AddrInUse => {
            CommandError::environment(anyhow!(source).context(format!(
                "could not listen on {address}; choose another address, or port 0 to let the system choose"
            )))
        }
        other => CommandError::environment(other),
    }
}
