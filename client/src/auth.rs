//! Authorization of HTTP requests (2025-03-26 to 2026-07-28, authorization, and its extensions).
//!
//! A transport is independent of OAuth: an [`Authorize`] provides the headers of a request, inspects responses, and
//! decides whether a rejected request is sent again. [`Authorizer`] implements OAuth. A [`Browser`] opens pages and
//! receives redirects.

pub mod callback;
pub mod credentials;
pub mod renewal;
pub mod store;

mod address_policy;
mod auth_http;
mod authorizer;
mod browser;
mod challenge;
mod client_auth;
mod code;
mod dpop;
mod error;
mod headless;
mod loopback;
mod non_interactive;
mod random;
mod registration;
mod renewal_failure;
mod resource;
mod scopes;
mod secret;
mod server;
mod settings;
mod token;

use std::fmt::Debug;

use futures::future::BoxFuture;
use http::{HeaderMap, HeaderValue, Method};
use url::Url;

pub(crate) use self::challenge::fields as challenge_fields;
pub use self::{
    authorizer::{Authorizer, LoggedOut, Revocation},
    browser::{Browser, BrowserError, BrowserLogin},
    error::{AuthError, AuthFailure},
    headless::HeadlessBrowser,
    loopback::{LoginUi, LoopbackBrowser},
    settings::{AuthSettings, ConfiguredClient, DpopPolicy, Enterprise, Grant, TokenSource},
};

/// Authorizes the requests of one connection.
pub trait Authorize: Send + Sync + Debug {
    /// The headers of a request, including `Authorization`. Empty without a token, or if the URL has another origin
    /// than the server.
    fn headers<'a>(&'a self, method: &'a Method, url: &'a Url) -> BoxFuture<'a, Result<HeaderMap, AuthError>>;

    /// Inspects the headers of a response with any status, which may contain a new nonce (RFC 9449, section 8.2).
    fn on_response(&self, headers: &HeaderMap);

    /// Handles a request that was rejected with 401 or 403. Returns true to send it again with new headers, and false
    /// if the response is unrelated to authorization.
    ///
    /// # Errors
    /// If authorization failed, or needs the user.
    fn on_rejection(&self, rejection: RejectedRequest) -> BoxFuture<'_, Result<bool, AuthError>>;
}

/// A request that the server rejected.
#[derive(Debug, Clone)]
pub struct RejectedRequest {
    /// 401 or 403.
    pub status: u16,
    /// The values of `WWW-Authenticate`.
    pub www_authenticate: Vec<String>,
    /// The URL of the request.
    pub url: Url,
    /// The `Authorization` header of the request. Another request may have obtained a newer one.
    pub presented: Option<HeaderValue>,
    /// Number of rejections of this request, including this one.
    pub attempt: u32,
}
