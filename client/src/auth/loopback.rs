//! The user's own browser, which comes back to a [`Callback`] on this machine.

use std::{fmt, sync::Arc};

use futures::future::BoxFuture;
use url::Url;

use super::{
    browser::{Browser, BrowserError, Visit},
    callback::{self, Callback, CallbackOptions, Outcome},
};

/// Shows a person the address of a page: opens it, prints it, or both.
pub type Show = Arc<dyn Fn(Url) -> BoxFuture<'static, Result<(), BrowserError>> + Send + Sync>;

/// The user's own browser.
#[derive(Clone)]
pub struct LoopbackBrowser {
    options: CallbackOptions,
    show: Show,
}

impl fmt::Debug for LoopbackBrowser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoopbackBrowser").field("options", &self.options).finish_non_exhaustive()
    }
}

impl LoopbackBrowser {
    /// A browser that is opened by the system.
    #[must_use]
    pub fn new(options: CallbackOptions) -> Self {
        let opened = |error: std::io::Error| BrowserError::new(format!("no browser could be opened: {error}"));
        let show = move |url: Url| -> BoxFuture<'static, Result<(), BrowserError>> {
            Box::pin(async move { callback::open(&url).await.map_err(opened) })
        };
        Self { options, show: Arc::new(show) }
    }

    /// A browser that is shown pages in another way.
    #[must_use]
    pub fn shown_by(options: CallbackOptions, show: Show) -> Self {
        Self { options, show }
    }
}

struct Waiting {
    callback: Callback,
    show: Show,
}

impl Browser for LoopbackBrowser {
    fn prepare(&self) -> BoxFuture<'_, Result<Box<dyn Visit>, BrowserError>> {
        Box::pin(async move {
            let bound = Callback::bind(&self.options).await;
            let callback = bound.map_err(|error| BrowserError::new(error.to_string()))?;
            let visit: Box<dyn Visit> = Box::new(Waiting { callback, show: Arc::clone(&self.show) });
            Ok(visit)
        })
    }
}

impl Visit for Waiting {
    fn redirect_uri(&self) -> &str {
        self.callback.redirect_uri().as_str()
    }

    fn open(self: Box<Self>, url: Url) -> BoxFuture<'static, Result<Url, BrowserError>> {
        Box::pin(async move {
            let state = url.query_pairs().find(|(name, _)| name == "state").map(|(_, value)| value.into_owned());
            let state = state.ok_or_else(|| BrowserError::new("the request has no state"))?;
            let mut back = self.callback.redirect_uri().clone();
            // The port is taken already, so an answer that comes at once is heard.
            let shown = (self.show)(url);
            let waited =
                async { self.callback.wait(&state).await.map_err(|error| BrowserError::new(error.to_string())) };
            let ((), outcome) = futures::try_join!(shown, waited)?;
            back.query_pairs_mut().append_pair("state", &state).extend_pairs(said(outcome));
            Ok(back)
        })
    }
}

/// The parameters of an answer, whose `state` was compared already.
fn said(outcome: Outcome) -> Vec<(&'static str, String)> {
    let (params, iss) = match outcome {
        Outcome::Granted(answer) => (vec![("code", answer.code.expose().to_owned())], answer.iss),
        Outcome::Denied { error, description, iss } => {
            let description = description.map(|text| ("error_description", text));
            (std::iter::once(("error", error)).chain(description).collect(), iss)
        }
    };
    params.into_iter().chain(iss.map(|iss| ("iss", iss))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A person whose browser goes to the redirect URI at once, with this query.
    fn person(query: &'static str) -> LoopbackBrowser {
        let show: Show = Arc::new(move |url: Url| {
            let param = |name: &str| url.query_pairs().find(|(key, _)| key == name).unwrap().1.into_owned();
            let back = format!("{}?state={}&{query}", param("redirect_uri"), param("state"));
            tokio::spawn(async move { reqwest::get(back).await });
            Box::pin(std::future::ready(Ok(())))
        });
        LoopbackBrowser::shown_by(CallbackOptions::default(), show)
    }

    #[tokio::test]
    async fn what_the_browser_brings_back_is_handed_on() {
        for query in ["code=c&iss=https%3A%2F%2Fas.example", "error=access_denied&error_description=no"] {
            let visit = person(query).prepare().await.unwrap();
            let uri = visit.redirect_uri().to_owned();
            let mut page = Url::parse("https://as.example/authorize").unwrap();
            page.query_pairs_mut().append_pair("redirect_uri", &uri).append_pair("state", "s");
            let back = visit.open(page).await.unwrap();
            assert_eq!(back.as_str(), format!("{uri}?state=s&{query}"));
        }
    }
}
