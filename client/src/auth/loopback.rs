//! Login with the user's browser, which is redirected to a [`Callback`] on this machine, or whose final URL the user
//! pastes.

use std::{fmt::Debug, sync::Arc};

use futures::future::BoxFuture;
use url::Url;

use super::{
    browser::{Browser, BrowserError, BrowserLogin},
    callback::{self, Callback, CallbackOptions, InvalidCallback, Outcome},
};

/// The user interface of a login.
pub trait LoginUi: Send + Sync + Debug {
    /// Opens a page or shows its URL.
    ///
    /// # Errors
    /// If neither is possible.
    fn open_page<'a>(&'a self, page: &'a Url) -> BoxFuture<'a, Result<(), BrowserError>>;

    /// Waits for the URL that the user pastes, if the browser runs on another machine. It never returns if there is no
    /// input.
    fn pasted_url(&self) -> BoxFuture<'_, String> {
        Box::pin(std::future::pending())
    }

    /// Reports that the pasted text was invalid. Another one is awaited.
    fn on_invalid_callback(&self, rejected: InvalidCallback) {
        let _ = rejected;
    }
}

/// Opens the system's browser.
#[derive(Debug, Clone, Copy)]
struct SystemLoginUi;

impl LoginUi for SystemLoginUi {
    fn open_page<'a>(&'a self, page: &'a Url) -> BoxFuture<'a, Result<(), BrowserError>> {
        let failed = |error: std::io::Error| BrowserError::new(format!("cannot open a browser: {error}"));
        Box::pin(async move { callback::open(page).await.map_err(failed) })
    }
}

/// Login with the user's browser.
#[derive(Debug, Clone)]
pub struct LoopbackBrowser {
    options: CallbackOptions,
    ui: Arc<dyn LoginUi>,
}

impl LoopbackBrowser {
    /// A login with the system's browser.
    #[must_use]
    pub fn new(options: CallbackOptions) -> Self {
        Self::with_ui(options, Arc::new(SystemLoginUi))
    }

    /// A login with this user interface.
    #[must_use]
    pub fn with_ui(options: CallbackOptions, ui: Arc<dyn LoginUi>) -> Self {
        Self { options, ui }
    }
}

struct Waiting {
    callback: Callback,
    ui: Arc<dyn LoginUi>,
}

impl Browser for LoopbackBrowser {
    fn prepare(&self) -> BoxFuture<'_, Result<Box<dyn BrowserLogin>, BrowserError>> {
        Box::pin(async move {
            let bound = Callback::bind(&self.options).await;
            let callback = bound.map_err(|error| BrowserError::new(error.to_string()))?;
            let login: Box<dyn BrowserLogin> = Box::new(Waiting { callback, ui: Arc::clone(&self.ui) });
            Ok(login)
        })
    }
}

impl BrowserLogin for Waiting {
    fn redirect_uri(&self) -> &str {
        self.callback.redirect_uri().as_str()
    }

    fn open(self: Box<Self>, url: Url) -> BoxFuture<'static, Result<Url, BrowserError>> {
        Box::pin(async move {
            let Self { callback, ui } = *self;
            let state = url.query_pairs().find(|(name, _)| name == "state").map(|(_, value)| value.into_owned());
            let state = state.ok_or_else(|| BrowserError::new("the request has no `state`"))?;
            let mut back = callback.redirect_uri().clone();
            let redirect_uri = back.clone();
            // The port is open, so an immediate redirect is received.
            let came_back = async {
                tokio::select! {
                    outcome = callback.wait(&state) => outcome.map_err(|error| BrowserError::new(error.to_string())),
                    outcome = pasted(&*ui, &redirect_uri, &state) => Ok(outcome),
                }
            };
            let ((), outcome) = futures::try_join!(ui.open_page(&url), came_back)?;
            back.query_pairs_mut().append_pair("state", &state).extend_pairs(query_of(outcome));
            Ok(back)
        })
    }
}

/// The response that the user pastes.
async fn pasted(ui: &dyn LoginUi, redirect_uri: &Url, state: &str) -> Outcome {
    loop {
        match Outcome::read_pasted(&ui.pasted_url().await, redirect_uri, state) {
            Ok(outcome) => return outcome,
            Err(rejected) => ui.on_invalid_callback(rejected),
        }
    }
}

/// The parameters of a response whose `state` was validated.
fn query_of(outcome: Outcome) -> Vec<(&'static str, String)> {
    let (params, iss) = match outcome {
        Outcome::Granted(response) => (vec![("code", response.code.expose().to_owned())], response.iss),
        Outcome::Denied { error, description, iss } => {
            let description = description.map(|text| ("error_description", text));
            (std::iter::once(("error", error)).chain(description).collect(), iss)
        }
    };
    params.into_iter().chain(iss.map(|iss| ("iss", iss))).collect()
}

#[cfg(test)]
mod tests {
    use std::{collections::VecDeque, sync::Mutex};

    use super::*;

    /// A browser that is redirected immediately, with this query.
    #[derive(Debug)]
    struct Quick(&'static str);

    impl LoginUi for Quick {
        fn open_page<'a>(&'a self, page: &'a Url) -> BoxFuture<'a, Result<(), BrowserError>> {
            let param = |name: &str| page.query_pairs().find(|(key, _)| key == name).unwrap().1.into_owned();
            let back = format!("{}?state={}&{}", param("redirect_uri"), param("state"), self.0);
            tokio::spawn(async move { reqwest::get(back).await });
            Box::pin(std::future::ready(Ok(())))
        }
    }

    /// A user who sees only the URL, and pastes these lines.
    #[derive(Debug, Default)]
    struct Pasting {
        lines: Mutex<VecDeque<String>>,
        rejected: Mutex<Vec<InvalidCallback>>,
    }

    impl LoginUi for Pasting {
        fn open_page<'a>(&'a self, _: &'a Url) -> BoxFuture<'a, Result<(), BrowserError>> {
            Box::pin(std::future::ready(Ok(())))
        }

        fn pasted_url(&self) -> BoxFuture<'_, String> {
            let line = self.lines.lock().unwrap().pop_front().expect("no more lines are needed");
            Box::pin(std::future::ready(line))
        }

        fn on_invalid_callback(&self, rejected: InvalidCallback) {
            self.rejected.lock().unwrap().push(rejected);
        }
    }

    async fn visited(ui: Arc<dyn LoginUi>, lines: impl FnOnce(&str)) -> (String, Url) {
        let login = LoopbackBrowser::with_ui(CallbackOptions::default(), ui).prepare().await.unwrap();
        let uri = login.redirect_uri().to_owned();
        lines(&uri);
        let mut page = Url::parse("https://as.example/authorize").unwrap();
        page.query_pairs_mut().append_pair("redirect_uri", &uri).append_pair("state", "s");
        (uri, login.open(page).await.unwrap())
    }

    #[tokio::test]
    async fn the_redirect_of_the_browser_is_returned() {
        for query in ["code=c&iss=https%3A%2F%2Fas.example", "error=access_denied&error_description=no"] {
            let (uri, back) = visited(Arc::new(Quick(query)), |_| {}).await;
            assert_eq!(back.as_str(), format!("{uri}?state=s&{query}"));
        }
    }

    #[tokio::test]
    async fn a_user_without_a_browser_can_paste_again() {
        let ui = Arc::new(Pasting::default());
        let right = "code=a%26b&iss=i";
        let (uri, back) = visited(ui.clone(), |uri| {
            let lines = ["what?".to_owned(), format!("{uri}?code=c&state=old"), format!("{uri}?state=s&{right}")];
            ui.lines.lock().unwrap().extend(lines);
        })
        .await;
        assert_eq!(back.as_str(), format!("{uri}?state=s&{right}"));
        assert_eq!(*ui.rejected.lock().unwrap(), [InvalidCallback::NoAddress, InvalidCallback::State]);
    }
}
