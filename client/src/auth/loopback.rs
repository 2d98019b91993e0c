//! The user's own browser, which comes back to a [`Callback`] on this machine, or by an address that the user pastes.

use std::{fmt::Debug, sync::Arc};

use futures::future::BoxFuture;
use url::Url;

use super::{
    browser::{Browser, BrowserError, Visit},
    callback::{self, Callback, CallbackOptions, Outcome, Refused},
};

/// The person who logs in, as a host program talks to them.
pub trait Person: Send + Sync + Debug {
    /// Leads them to a page: opens it, shows its address, or both.
    ///
    /// # Errors
    /// When they cannot be led there at all.
    fn lead_to<'a>(&'a self, page: &'a Url) -> BoxFuture<'a, Result<(), BrowserError>>;

    /// Waits for a line that they paste: the address at which their browser ended, on whichever machine it runs. It waits
    /// for ever where no line can come.
    fn pasted(&self) -> BoxFuture<'_, String> {
        Box::pin(std::future::pending())
    }

    /// Tells them that a line was not that address. Another one is waited for.
    fn not_that(&self, refused: Refused) {
        let _ = refused;
    }
}

/// A person at a desk, for whom the system opens a browser.
#[derive(Debug, Clone, Copy)]
struct AtDesk;

impl Person for AtDesk {
    fn lead_to<'a>(&'a self, page: &'a Url) -> BoxFuture<'a, Result<(), BrowserError>> {
        let failed = |error: std::io::Error| BrowserError::new(format!("no browser could be opened: {error}"));
        Box::pin(async move { callback::open(page).await.map_err(failed) })
    }
}

/// The user's own browser.
#[derive(Debug, Clone)]
pub struct LoopbackBrowser {
    options: CallbackOptions,
    person: Arc<dyn Person>,
}

impl LoopbackBrowser {
    /// A browser that is opened by the system.
    #[must_use]
    pub fn new(options: CallbackOptions) -> Self {
        Self::of(options, Arc::new(AtDesk))
    }

    /// The browser of this person.
    #[must_use]
    pub fn of(options: CallbackOptions, person: Arc<dyn Person>) -> Self {
        Self { options, person }
    }
}

struct Waiting {
    callback: Callback,
    person: Arc<dyn Person>,
}

impl Browser for LoopbackBrowser {
    fn prepare(&self) -> BoxFuture<'_, Result<Box<dyn Visit>, BrowserError>> {
        Box::pin(async move {
            let bound = Callback::bind(&self.options).await;
            let callback = bound.map_err(|error| BrowserError::new(error.to_string()))?;
            let visit: Box<dyn Visit> = Box::new(Waiting { callback, person: Arc::clone(&self.person) });
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
            let Self { callback, person } = *self;
            let state = url.query_pairs().find(|(name, _)| name == "state").map(|(_, value)| value.into_owned());
            let state = state.ok_or_else(|| BrowserError::new("the request has no state"))?;
            let mut back = callback.redirect_uri().clone();
            let redirect_uri = back.clone();
            // The port is taken already, so an answer that comes at once is heard.
            let came_back = async {
                tokio::select! {
                    outcome = callback.wait(&state) => outcome.map_err(|error| BrowserError::new(error.to_string())),
                    outcome = pasted(&*person, &redirect_uri, &state) => Ok(outcome),
                }
            };
            let ((), outcome) = futures::try_join!(person.lead_to(&url), came_back)?;
            back.query_pairs_mut().append_pair("state", &state).extend_pairs(said(outcome));
            Ok(back)
        })
    }
}

/// What a person pastes, once it is right.
async fn pasted(person: &dyn Person, redirect_uri: &Url, state: &str) -> Outcome {
    loop {
        match Outcome::read_pasted(&person.pasted().await, redirect_uri, state) {
            Ok(outcome) => return outcome,
            Err(refused) => person.not_that(refused),
        }
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
    use std::{collections::VecDeque, sync::Mutex};

    use super::*;

    /// A person whose browser goes to the redirect URI at once, with this query.
    #[derive(Debug)]
    struct Quick(&'static str);

    impl Person for Quick {
        fn lead_to<'a>(&'a self, page: &'a Url) -> BoxFuture<'a, Result<(), BrowserError>> {
            let param = |name: &str| page.query_pairs().find(|(key, _)| key == name).unwrap().1.into_owned();
            let back = format!("{}?state={}&{}", param("redirect_uri"), param("state"), self.0);
            tokio::spawn(async move { reqwest::get(back).await });
            Box::pin(std::future::ready(Ok(())))
        }
    }

    /// A person who is only shown the address, and pastes these lines.
    #[derive(Debug, Default)]
    struct Pasting {
        lines: Mutex<VecDeque<String>>,
        refused: Mutex<Vec<Refused>>,
    }

    impl Person for Pasting {
        fn lead_to<'a>(&'a self, _: &'a Url) -> BoxFuture<'a, Result<(), BrowserError>> {
            Box::pin(std::future::ready(Ok(())))
        }

        fn pasted(&self) -> BoxFuture<'_, String> {
            let line = self.lines.lock().unwrap().pop_front().expect("no more lines are needed");
            Box::pin(std::future::ready(line))
        }

        fn not_that(&self, refused: Refused) {
            self.refused.lock().unwrap().push(refused);
        }
    }

    async fn visited(person: Arc<dyn Person>, lines: impl FnOnce(&str)) -> (String, Url) {
        let visit = LoopbackBrowser::of(CallbackOptions::default(), person).prepare().await.unwrap();
        let uri = visit.redirect_uri().to_owned();
        lines(&uri);
        let mut page = Url::parse("https://as.example/authorize").unwrap();
        page.query_pairs_mut().append_pair("redirect_uri", &uri).append_pair("state", "s");
        (uri, visit.open(page).await.unwrap())
    }

    #[tokio::test]
    async fn what_the_browser_brings_back_is_handed_on() {
        for query in ["code=c&iss=https%3A%2F%2Fas.example", "error=access_denied&error_description=no"] {
            let (uri, back) = visited(Arc::new(Quick(query)), |_| {}).await;
            assert_eq!(back.as_str(), format!("{uri}?state=s&{query}"));
        }
    }

    #[tokio::test]
    async fn a_person_without_a_browser_pastes_until_it_is_right() {
        let person = Arc::new(Pasting::default());
        let right = "code=a%26b&iss=i";
        let (uri, back) = visited(person.clone(), |uri| {
            let lines = ["what?".to_owned(), format!("{uri}?code=c&state=old"), format!("{uri}?state=s&{right}")];
            person.lines.lock().unwrap().extend(lines);
        })
        .await;
        assert_eq!(back.as_str(), format!("{uri}?state=s&{right}"));
        assert_eq!(*person.refused.lock().unwrap(), [Refused::NoAddress, Refused::State]);
    }
}
