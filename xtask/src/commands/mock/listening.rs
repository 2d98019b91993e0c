//! Where a mock server listens, and whom it lets in, as the command line says it.

use std::{net::SocketAddr, path::PathBuf, str::FromStr};

use anyhow::{Context as _, anyhow};
use mock_servers::listen::{Address, Allowed, Options, StartError, Tls};

use crate::failure::Failure;

/// Where to listen, and whom to let in.
#[derive(Debug, clap::Args)]
pub(super) struct Listening {
    /// Where to listen: an address and a port, of which 0 lets the system choose, or `unix:` and the path of a socket.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    listen: Place,
    /// The path of the endpoint, instead of the transport's own.
    #[arg(long, value_name = "PATH")]
    path: Option<String>,
    /// Encrypt, under a throw-away certificate unless one is given.
    #[arg(long)]
    tls: bool,
    /// The certificate to encrypt under, in PEM.
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_certificate: Option<PathBuf>,
    /// The private key of that certificate, in PEM.
    #[arg(long, value_name = "FILE", requires = "tls_certificate")]
    tls_key: Option<PathBuf>,
    /// A `Host` to let in instead of this machine's own names, as `name` or `name:port`; `*` lets in all.
    #[arg(long, value_name = "HOST")]
    allow_host: Vec<String>,
    /// An `Origin` to let in instead of this machine's own names, as `name`, `name:port` or `https://name`; `*` lets in
    /// all.
    #[arg(long, value_name = "ORIGIN")]
    allow_origin: Vec<String>,
}

/// An address, or the path of a Unix socket.
#[derive(Debug, Clone)]
struct Place(Address);

impl FromStr for Place {
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
    /// Whether it is a Unix socket.
    pub(super) fn is_unix(&self) -> bool {
        matches!(self.listen.0, Address::Unix(_))
    }

    /// The same for the library.
    pub(super) fn options(&self) -> Result<Options, Failure> {
        let mut options = Options::at(self.listen.0.clone())
            .with_allowed_hosts(Allowed::listed(&self.allow_host))
            .with_allowed_origins(Allowed::listed(&self.allow_origin));
        if let Some(path) = &self.path {
            options = options.with_path(path);
        }
        Ok(match self.certificate()? {
            Some(tls) => options.with_tls(tls),
            None => options,
        })
    }

    fn certificate(&self) -> Result<Option<Tls>, Failure> {
        let (Some(certificate), Some(key)) = (&self.tls_certificate, &self.tls_key) else {
            return Ok(self.tls.then(Tls::default));
        };
        let read = |path: &PathBuf| {
            let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()));
            text.map_err(Failure::input)
        };
        Ok(Some(Tls::Given { certificate_pem: read(certificate)?, key_pem: read(key)? }))
    }
}

/// A port that is taken is the environment's doing; a path or a certificate that cannot be used is the input's.
pub(super) fn not_started(error: StartError) -> Failure {
    match error {
        StartError::Path { .. } | StartError::Tls(_) => Failure::input(error),
        StartError::Bind { address, source } if source.kind() == std::io::ErrorKind::AddrInUse => {
            Failure::environment(anyhow!(source).context(format!(
                "could not listen on {address}; choose another address, or port 0 to let the system choose"
            )))
        }
        other => Failure::environment(other),
    }
}
