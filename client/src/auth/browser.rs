//! Interface to the user's browser.

use std::fmt::Debug;

use futures::future::BoxFuture;
use url::Url;

/// Opens pages for the user.
pub trait Browser: Send + Sync + Debug {
    /// Prepares for a redirect. Its URI has to be known before the client is registered.
    fn prepare(&self) -> BoxFuture<'_, Result<Box<dyn BrowserLogin>, BrowserError>>;
}

/// One login at an authorization server.
pub trait BrowserLogin: Send {
    /// The redirect URI.
    fn redirect_uri(&self) -> &str;

    /// Opens the page, and returns the URL of the redirect with its query. It is not trusted: `state` and `iss` are
    /// validated afterwards. Dropping the future ends the wait.
    fn open(self: Box<Self>, url: Url) -> BoxFuture<'static, Result<Url, BrowserError>>;
}

/// The browser failed.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{problem}")]
pub struct BrowserError {
    /// The problem, with a suggestion.
    pub problem: String,
}

impl BrowserError {
    /// An error with this message.
    #[must_use]
    pub fn new(problem: impl Into<String>) -> Self {
        Self { problem: problem.into() }
    }
}
