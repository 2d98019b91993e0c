//! Authorization of HTTP requests (2025-03-26 to 2026-07-28, authorization, and its extensions).
//!
//! A transport knows nothing of OAuth: it asks an [`Authorize`] which headers a request needs, tells it what the server
//! answered, and sends a refused request again where that has become worth it. [`Authorizer`] is the one that speaks OAuth.
//! Nothing here opens a browser or listens on a port: a [`Browser`] does.

pub mod callback;
pub mod credentials;
pub mod renewal;
pub mod store;

mod authorizer;
mod browser;
mod challenge;
mod client_auth;
mod code;
mod dpop;
mod error;
mod headless;
mod loopback;
mod machine;
mod random;
mod reach;
mod registration;
mod resource;
mod scopes;
mod secret;
mod server;
mod settings;
mod token;
mod web;

use std::fmt::Debug;

use futures::future::BoxFuture;
use http::{HeaderMap, HeaderValue, Method};
use url::Url;

pub(crate) use self::challenge::fields as challenge_fields;
pub use self::{
    authorizer::{Authorizer, LoggedOut, Revocation},
    browser::{Browser, BrowserError, Visit},
    error::{AuthError, AuthFailure},
    headless::HeadlessBrowser,
    loopback::{LoopbackBrowser, Person},
    settings::{AuthSettings, ConfiguredClient, DpopPolicy, Enterprise, Grant, TokenSource},
};

/// Authorizes the requests of one connection.
pub trait Authorize: Send + Sync + Debug {
    /// The headers that this request needs, `Authorization` among them; none where there is nothing to show yet, or where
    /// the URL is of another origin than the server.
    fn headers<'a>(&'a self, method: &'a Method, url: &'a Url) -> BoxFuture<'a, Result<HeaderMap, AuthError>>;

    /// Takes note of the headers of an answer, whatever its status: each may bring the nonce of the next request
    /// (RFC 9449, section 8.2).
    fn answered(&self, headers: &HeaderMap);

    /// What to do about a request that was refused with 401 or 403: true is to send it again, with new headers; false is
    /// to take the refusal for an answer, because it has nothing to do with authorization.
    ///
    /// # Errors
    /// When authorization was tried and failed, or cannot be tried without the user.
    fn refused(&self, refusal: Refusal) -> BoxFuture<'_, Result<bool, AuthError>>;
}

/// A request that the server refused.
#[derive(Debug, Clone)]
pub struct Refusal {
    /// 401 or 403.
    pub status: u16,
    /// Each value of `WWW-Authenticate`.
    pub www_authenticate: Vec<String>,
    /// Where it went.
    pub url: Url,
    /// The `Authorization` header that it carried, as [`Authorize::headers`] gave it: by now another request may have
    /// found a better one.
    pub presented: Option<HeaderValue>,
    /// How often this request was refused so far, this time included.
    pub attempt: u32,
}
