//! Access control over HTTP: the token, and checks against DNS rebinding.
//!
//! With DNS rebinding, a web page can reach a server on the same machine under a host name of the attacker. Therefore `Host`
//! and `Origin` must name this machine or be on a list ("Servers MUST validate the Origin header", 2025-11-25, transports).
//! The token excludes other programs and users of the machine: clients can run commands as the user of mcp-workbench.

use std::{
    fmt, io,
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

use axum::{
    Json,
    extract::{Request, State},
    middleware::Next,
    response::{IntoResponse, Response},
};
use http::{
    HeaderMap, StatusCode,
    header::{AUTHORIZATION, HOST, ORIGIN, WWW_AUTHENTICATE},
    uri::Authority,
};
use serde_json::json;
use sha2::{Digest, Sha256};
use tokio::net::TcpListener;

/// Environment variable with the token.
pub const TOKEN_VARIABLE: &str = "MCP_WORKBENCH_SERVE_TOKEN";
/// Minimum length of a token, to prevent guessing.
const MIN_TOKEN_LEN: usize = 16;

/// The bearer token of clients.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

/// An invalid token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a token must have at least {MIN_TOKEN_LEN} visible ASCII characters and no spaces")]
pub struct InvalidToken;

impl Token {
    /// Generates a random token.
    ///
    /// # Errors
    /// If the system provides no random bytes.
    pub fn generate() -> io::Result<Self> {
        let mut bytes = [0_u8; 32];
        getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
        Ok(Self(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    /// Parses a token of the user. Surrounding white space is removed, because files end with a line feed.
    ///
    /// # Errors
    /// If it is too short, or contains characters that are not allowed in a header.
    pub fn parse(text: &str) -> Result<Self, InvalidToken> {
        let text = text.trim();
        let is_token = text.len() >= MIN_TOKEN_LEN && text.bytes().all(|byte| byte.is_ascii_graphic());
        is_token.then(|| Self(text.to_owned())).ok_or(InvalidToken)
    }

    /// The token, to show it to the user.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    fn digest(&self) -> [u8; 32] {
        Sha256::digest(&self.0).into()
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

/// Which clients may use a server.
#[derive(Debug, Clone, Default)]
pub struct AccessPolicy {
    /// The token. Without one, every program on the machine has access.
    pub token: Option<Token>,
    /// Additional host names of the server: `name` or `name:port`.
    pub hosts: Vec<String>,
    /// Additional allowed origins of web pages: `https://name:port`.
    pub origins: Vec<String>,
    /// Paths that need no token.
    pub open_paths: Vec<String>,
}

/// Checks requests against an [`AccessPolicy`]. Clones share it.
#[derive(Debug, Clone)]
pub struct AccessControl(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    policy: AccessPolicy,
    digest: Option<[u8; 32]>,
}

impl From<AccessPolicy> for AccessControl {
    fn from(policy: AccessPolicy) -> Self {
        let digest = policy.token.as_ref().map(Token::digest);
        Self(Arc::new(Inner { policy, digest }))
    }
}

/// Why a request is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AccessDenied {
    Host,
    Origin,
    Token,
}

impl AccessControl {
    fn denies(&self, path: &str, authority: Option<&str>, headers: &HeaderMap) -> Option<AccessDenied> {
        let policy = &self.0.policy;
        let text = |name| headers.get(name).map(|value: &http::HeaderValue| value.to_str().unwrap_or_default());
        // A request has one `Host` (RFC 9112, section 3.2). With several, two parsers might use different ones.
        let host = if headers.get_all(HOST).iter().count() > 1 { None } else { text(HOST).or(authority) };
        if !host.is_some_and(|host| is_loopback(host) || is_listed(host, &policy.hosts)) {
            return Some(AccessDenied::Host);
        }
        // Browsers send an origin with requests from other sites.
        if text(ORIGIN)
            .is_some_and(|origin| !is_loopback_origin(origin) && !policy.origins.iter().any(|one| one == origin))
        {
            return Some(AccessDenied::Origin);
        }
        let open = policy.open_paths.iter().any(|open| open == path);
        match &self.0.digest {
            Some(digest) if !open && !text(AUTHORIZATION).is_some_and(|credentials| is_token(credentials, digest)) => {
                Some(AccessDenied::Token)
            }
            _ => None,
        }
    }
}

/// Passes a request on, or responds with an error.
pub async fn guard(State(access): State<AccessControl>, request: Request, next: Next) -> Response {
    let authority = request.uri().authority().map(Authority::as_str);
    match access.denies(request.uri().path(), authority, request.headers()) {
        None => next.run(request).await,
        Some(denied) => denied.into_response(),
    }
}

impl IntoResponse for AccessDenied {
    fn into_response(self) -> Response {
        let (status, kind, message, help) = match self {
            Self::Host => (
                StatusCode::FORBIDDEN,
                "host-not-allowed",
                "the `Host` header is not a name of this server",
                "use a loopback name (`127.0.0.1`, `localhost`), or allow the name with `--allow-host`",
            ),
            Self::Origin => (
                StatusCode::FORBIDDEN,
                "origin-not-allowed",
                "the `Origin` header is another site",
                "allow the site with `--allow-origin`",
            ),
            Self::Token => (
                StatusCode::UNAUTHORIZED,
                "invalid-token",
                "the token is missing or wrong",
                "send `Authorization: Bearer <token>` with the token that was printed when the server started",
            ),
        };
        let body = Json(json!({ "error": { "kind": kind, "message": message, "help": help } }));
        if self == Self::Token {
            return (status, [(WWW_AUTHENTICATE, "Bearer realm=\"mcp-workbench\"")], body).into_response();
        }
        (status, body).into_response()
    }
}

/// Whether the credentials are the token. Compares complete digests, so that the duration does not depend on the token.
fn is_token(credentials: &str, digest: &[u8; 32]) -> bool {
    let Some((scheme, token)) = credentials.split_once(' ') else { return false };
    let actual: [u8; 32] = Sha256::digest(token.trim()).into();
    let same = actual.iter().zip(digest).fold(0, |all, (one, other)| all | (one ^ other)) == 0;
    same && scheme.eq_ignore_ascii_case("bearer")
}

/// Whether an authority names this machine, with any port.
fn is_loopback(authority: &str) -> bool {
    let Ok(authority) = authority.parse::<Authority>() else { return false };
    let host = authority.host();
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    // The authority of a request has no user information (RFC 9110, section 4.2.4).
    !authority.as_str().contains('@')
        && (host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback()))
}

fn is_listed(host: &str, listed: &[String]) -> bool {
    let name = host.parse::<Authority>().map(|authority| authority.host().to_owned()).unwrap_or_default();
    listed.iter().any(|one| one.eq_ignore_ascii_case(host) || (!name.is_empty() && one.eq_ignore_ascii_case(&name)))
}

fn is_loopback_origin(origin: &str) -> bool {
    let authority = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
    authority.is_some_and(is_loopback)
}

/// A listener that cannot be created.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ListenError {
    /// The address is not a loopback address.
    #[error("{address} is reachable from other machines, whose users could run commands as you")]
    Exposed {
        /// The address.
        address: SocketAddr,
    },
    /// The address is not available.
    #[error("cannot listen on {address}")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// Error of the operating system.
        #[source]
        source: io::Error,
    },
}

/// Listens on a loopback address; on other addresses only if `exposed` is set.
///
/// # Errors
/// If the address is not allowed or not available.
pub async fn listen(address: SocketAddr, exposed: bool) -> Result<TcpListener, ListenError> {
    if !address.ip().is_loopback() && !exposed {
        return Err(ListenError::Exposed { address });
    }
    TcpListener::bind(address).await.map_err(|source| ListenError::Bind { address, source })
}

#[cfg(test)]
mod tests;
