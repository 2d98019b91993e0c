//! A browser without a person: it asks the authorization endpoint, and reads the redirect off its answer.
//!
//! Good for authorization servers of tests, which redirect at once. A page that a person would have to fill in is an error.

use std::time::Duration;

use futures::future::BoxFuture;
use http::header::LOCATION;
use reqwest::{Client, redirect::Policy};
use url::Url;

use super::browser::{Browser, BrowserError, Visit};

/// How many pages lead to the redirect at most.
const PAGES: usize = 5;
const LIMIT: Duration = Duration::from_secs(20);

/// A browser without a person.
#[derive(Debug, Clone)]
pub struct HeadlessBrowser {
    redirect_uri: String,
}

impl HeadlessBrowser {
    /// A browser that is sent back to this URI, where nobody listens.
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
    fn prepare(&self) -> BoxFuture<'_, Result<Box<dyn Visit>, BrowserError>> {
        let visit: Box<dyn Visit> = Box::new(self.clone());
        Box::pin(std::future::ready(Ok(visit)))
    }
}

impl Visit for HeadlessBrowser {
    fn redirect_uri(&self) -> &str {
        &self.redirect_uri
    }

    fn open(self: Box<Self>, url: Url) -> BoxFuture<'static, Result<Url, BrowserError>> {
        Box::pin(visit(url, self.redirect_uri))
    }
}

async fn visit(first: Url, redirect_uri: String) -> Result<Url, BrowserError> {
    let failed = |error: reqwest::Error| BrowserError::new(format!("no page was shown: {}", error.without_url()));
    let client = Client::builder().redirect(Policy::none()).timeout(LIMIT).build().map_err(failed)?;
    let mut url = first.clone();
    for _ in 0..PAGES {
        let response = client.get(url.clone()).send().await.map_err(failed)?;
        let Some(location) = response.headers().get(LOCATION).and_then(|value| value.to_str().ok()) else {
            let status = response.status();
            return Err(BrowserError::new(format!("the authorization server shows a page (HTTP status {status})")));
        };
        let next = url.join(location).map_err(|_| BrowserError::new("the authorization server redirects to no URL"))?;
        // A redirect within the authorization server is a further page; any other is the answer, wherever it leads.
        if next.as_str().starts_with(&redirect_uri) || next.origin() != first.origin() {
            return Ok(next);
        }
        url = next;
    }
    Err(BrowserError::new(format!("more than {PAGES} pages, and no way back")))
}
