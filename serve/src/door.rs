//! Who is let in over HTTP: the token, and the checks against DNS rebinding. One place for everything that is served.
//!
//! A page of a browser can be made to reach a server of the same machine under a name of the attacker's, so `Host` and `Origin`
//! have to be of this machine, or of a list ("Servers MUST validate the Origin header", 2025-11-25, transports). The token keeps
//! out the other programs and users of the machine: whoever is let in may run commands as the user of the workbench.

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

/// The environment variable that may hold the token.
pub const TOKEN_VARIABLE: &str = "MCP_WORKBENCH_SERVE_TOKEN";
/// The fewest characters of a token: one that can be guessed lets everybody run commands.
const SHORTEST: usize = 16;

/// What a client shows to be let in.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

/// A text is no token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a token has at least {SHORTEST} visible characters of ASCII, and no spaces")]
pub struct NoToken;

impl Token {
    /// A new token that nobody can guess.
    ///
    /// # Errors
    /// If the system gives no random bytes.
    pub fn fresh() -> io::Result<Self> {
        let mut bytes = [0_u8; 32];
        getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
        Ok(Self(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    /// A token that somebody chose. White space around it is none of it: files end with a line feed.
    ///
    /// # Errors
    /// If it is too short, or cannot stand in a header.
    pub fn chosen(text: &str) -> Result<Self, NoToken> {
        let text = text.trim();
        let is_token = text.len() >= SHORTEST && text.bytes().all(|byte| byte.is_ascii_graphic());
        is_token.then(|| Self(text.to_owned())).ok_or(NoToken)
    }

    /// The token itself, to be handed to whoever is to be let in.
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

/// Whom a server lets in.
#[derive(Debug, Clone, Default)]
pub struct Entrance {
    /// The token; without one every program of the machine is let in.
    pub token: Option<Token>,
    /// Names, beside those of this machine, under which the server may be reached: `name`, or `name:port`.
    pub hosts: Vec<String>,
    /// Origins of web pages, beside those of this machine, that may ask: `https://name:port`.
    pub origins: Vec<String>,
    /// Paths for which no token is needed.
    pub open_paths: Vec<String>,
}

/// The door of a server. Clones are one door.
#[derive(Debug, Clone)]
pub struct Door(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    entrance: Entrance,
    digest: Option<[u8; 32]>,
}

impl From<Entrance> for Door {
    fn from(entrance: Entrance) -> Self {
        let digest = entrance.token.as_ref().map(Token::digest);
        Self(Arc::new(Inner { entrance, digest }))
    }
}

/// Why somebody is not let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Refusal {
    Host,
    Origin,
    Token,
}

impl Door {
    fn refuses(&self, path: &str, authority: Option<&str>, headers: &HeaderMap) -> Option<Refusal> {
        let entrance = &self.0.entrance;
        let text = |name| headers.get(name).map(|value: &http::HeaderValue| value.to_str().unwrap_or_default());
        // A request has one `Host` (RFC 9112, section 3.2); of several, two readers might take different ones.
        let host = if headers.get_all(HOST).iter().count() > 1 { None } else { text(HOST).or(authority) };
        if !host.is_some_and(|host| is_here(host) || is_listed(host, &entrance.hosts)) {
            return Some(Refusal::Host);
        }
        // A request without an origin comes from no page of another site.
        if text(ORIGIN)
            .is_some_and(|origin| !is_origin_here(origin) && !entrance.origins.iter().any(|one| one == origin))
        {
            return Some(Refusal::Origin);
        }
        let open = entrance.open_paths.iter().any(|open| open == path);
        match &self.0.digest {
            Some(digest) if !open && !text(AUTHORIZATION).is_some_and(|shown| is_token(shown, digest)) => {
                Some(Refusal::Token)
            }
            _ => None,
        }
    }
}

/// Lets a request in, or answers in place of what is behind the door.
pub async fn guard(State(door): State<Door>, request: Request, next: Next) -> Response {
    let authority = request.uri().authority().map(Authority::as_str);
    match door.refuses(request.uri().path(), authority, request.headers()) {
        None => next.run(request).await,
        Some(refusal) => refusal.into_response(),
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let (status, kind, message, advice) = match self {
            Self::Host => (
                StatusCode::FORBIDDEN,
                "host-refused",
                "the `Host` of the request is no name of this server",
                "use a name of this machine (`127.0.0.1`, `localhost`), or allow the name with `--allow-host`",
            ),
            Self::Origin => (
                StatusCode::FORBIDDEN,
                "origin-refused",
                "the `Origin` of the request is another site",
                "pages of other sites are let in with `--allow-origin`",
            ),
            Self::Token => (
                StatusCode::UNAUTHORIZED,
                "token-refused",
                "the token is missing or wrong",
                "send `Authorization: Bearer <token>` with the token that was told when the server started",
            ),
        };
        let body = Json(json!({ "error": { "kind": kind, "message": message, "advice": advice } }));
        if self == Self::Token {
            return (status, [(WWW_AUTHENTICATE, "Bearer realm=\"mcp-workbench\"")], body).into_response();
        }
        (status, body).into_response()
    }
}

/// Whether the credentials are the token. Digests are compared, and all of them, so that the time tells nothing of the token.
fn is_token(shown: &str, digest: &[u8; 32]) -> bool {
    let Some((scheme, token)) = shown.split_once(' ') else { return false };
    let shown: [u8; 32] = Sha256::digest(token.trim()).into();
    let same = shown.iter().zip(digest).fold(0, |all, (one, other)| all | (one ^ other)) == 0;
    same && scheme.eq_ignore_ascii_case("bearer")
}

/// Whether an authority names this machine, on whichever port.
fn is_here(authority: &str) -> bool {
    let Ok(authority) = authority.parse::<Authority>() else { return false };
    let host = authority.host();
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    // An authority with a user is none of a request (RFC 9110, section 4.2.4).
    !authority.as_str().contains('@')
        && (host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback()))
}

fn is_listed(host: &str, listed: &[String]) -> bool {
    let name = host.parse::<Authority>().map(|authority| authority.host().to_owned()).unwrap_or_default();
    listed.iter().any(|one| one.eq_ignore_ascii_case(host) || (!name.is_empty() && one.eq_ignore_ascii_case(&name)))
}

fn is_origin_here(origin: &str) -> bool {
    let authority = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
    authority.is_some_and(is_here)
}

/// A server cannot listen.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ListenError {
    /// Others could reach the address.
    #[error("{address} can be reached from other machines, and whoever is let in runs commands as you")]
    Exposed {
        /// The address.
        address: SocketAddr,
    },
    /// The address cannot be had.
    #[error("cannot listen on {address}")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// Why.
        #[source]
        source: io::Error,
    },
}

/// Listens on an address of the loopback interface; on any other only if `exposed` says so.
///
/// # Errors
/// If the address is refused or cannot be had.
pub async fn listen(address: SocketAddr, exposed: bool) -> Result<TcpListener, ListenError> {
    if !address.ip().is_loopback() && !exposed {
        return Err(ListenError::Exposed { address });
    }
    TcpListener::bind(address).await.map_err(|source| ListenError::Bind { address, source })
}

#[cfg(test)]
mod tests;
