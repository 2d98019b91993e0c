//! The seam to whatever shows a person the authorization server's page, and receives what it sends back.

use std::fmt::Debug;

use futures::future::BoxFuture;
use url::Url;

/// Opens pages for a person.
pub trait Browser: Send + Sync + Debug {
    /// Makes ready to receive a redirect: only then is the URI known that has to be registered.
    fn prepare(&self) -> BoxFuture<'_, Result<Box<dyn Visit>, BrowserError>>;
}

/// One visit to an authorization server.
pub trait Visit: Send {
    /// Where the authorization server is to send the person back.
    fn redirect_uri(&self) -> &str;

    /// Shows the page, and returns the URL to which the person was sent back, with its query. Nothing of it is trusted:
    /// `state` and `iss` are checked afterwards. A visit that is dropped receives nothing any more.
    fn open(self: Box<Self>, url: Url) -> BoxFuture<'static, Result<Url, BrowserError>>;
}

/// A browser could not do its part.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{problem}")]
pub struct BrowserError {
    /// What went wrong, and what a person can do about it.
    pub problem: String,
}

impl BrowserError {
    /// A failure.
    #[must_use]
    pub fn new(problem: impl Into<String>) -> Self {
        Self { problem: problem.into() }
    }
}
