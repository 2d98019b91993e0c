//! A browser without user interaction: requests the authorization endpoint and follows redirects.
//!
//! For authorization servers in tests, which redirect immediately. A page with a form is an error.

use std::time::Duration;

use futures::future::BoxFuture;
use http::header::LOCATION;
use reqwest::redirect::Policy;
use url::Url;

use super::browser::{Browser, BrowserError, BrowserLogin};

/// Maximum number of redirects.
const PAGES: usize = 5;
const LIMIT: Duration = Duration::from_secs(20);

/// A browser without user interaction.
#[derive(Debug, Clone)]
pub struct HeadlessBrowser {
    redirect_uri: String,
}

impl HeadlessBrowser {
    /// A browser with this redirect URI, which need not be served.
    #[must_use]
    pub fn new(redirect_uri: impl Into<String>) -> Self {
        Self { redirect_uri: redirect_uri.into() }
    }
}

impl Default for HeadlessBrowser {
    fn default() -> Self {
        Self::new("http://127.0.0.1:8976/callback")
    }
}

impl Browser for HeadlessBrowser {
    fn prepare(&self) -> BoxFuture<'_, Result<Box<dyn BrowserLogin>, BrowserError>> {
        let login: Box<dyn BrowserLogin> = Box::new(self.clone());
        Box::pin(std::future::ready(Ok(login)))
    }
}

impl BrowserLogin for HeadlessBrowser {
    fn redirect_uri(&self) -> &str {
        &self.redirect_uri
    }

    fn open(self: Box<Self>, url: Url) -> BoxFuture<'static, Result<Url, BrowserError>> {
        Box::pin(login(url, self.redirect_uri))
    }
}

async fn login(first: Url, redirect_uri: String) -> Result<Url, BrowserError> {
    let failed = |error: reqwest::Error| BrowserError::new(format!("cannot load the page: {}", error.without_url()));
    let client =
        crate::http_client::builder_for(&first).redirect(Policy::none()).timeout(LIMIT).build().map_err(failed)?;
    let mut url = first.clone();
    for _ in 0..PAGES {
        let response = client.get(url.clone()).send().await.map_err(failed)?;
        let Some(location) = response.headers().get(LOCATION).and_then(|value| value.to_str().ok()) else {
            let status = response.status();
            return Err(BrowserError::new(format!("the authorization server shows a page (HTTP status {status})")));
        };
        let next = url
            .join(location)
            .map_err(|_| BrowserError::new("the authorization server redirects to an invalid URL"))?;
        // A redirect within the authorization server is another page. Any other redirect is the response.
        if next.as_str().starts_with(&redirect_uri) || next.origin() != first.origin() {
            return Ok(next);
        }
        url = next;
    }
    Err(BrowserError::new(format!("more than {PAGES} pages without a redirect back")))
}
