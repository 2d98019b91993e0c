//! One login that goes on: from the page to which a browser is to be led, to the code that it brings back or that is handed in.

use std::{sync::Arc, time::Duration};

use client::auth::{
    AuthError, BrowserError, LoginUi, LoopbackBrowser,
    callback::{CallbackOptions, InvalidCallback},
    store::CredentialStore,
};
use futures::future::BoxFuture;
use http::StatusCode;
use tokio::{
    sync::{Mutex, mpsc, watch},
    time::timeout,
};
use tokio_util::sync::{CancellationToken, DropGuard};
use url::{Url, form_urlencoded};

use super::{connector::authorizer, error::ApiError};

/// Timeout of discovering the login page, and of exchanging the code for tokens.
const SEND_TIMEOUT: Duration = Duration::from_secs(60);

/// How a login ended; nothing while it goes on.
type Ended = Option<Result<(), AuthError>>;

/// A login that goes on. Dropped, it ends.
#[derive(Debug)]
pub(super) struct Login {
    /// Where the browser is to be led.
    pub(super) page: Url,
    /// Answers that are handed in, and what is wrong with them: one at a time.
    answers: Mutex<(mpsc::UnboundedSender<String>, mpsc::UnboundedReceiver<InvalidCallback>)>,
    ended: watch::Receiver<Ended>,
    stop: DropGuard,
}

/// The person, who is somewhere else: pages are handed on, answers come over HTTP.
#[derive(Debug)]
struct Elsewhere {
    page: watch::Sender<Option<Url>>,
    answers: Mutex<mpsc::UnboundedReceiver<String>>,
    refused: mpsc::UnboundedSender<InvalidCallback>,
}

impl LoginUi for Elsewhere {
    fn open_page<'a>(&'a self, page: &'a Url) -> BoxFuture<'a, Result<(), BrowserError>> {
        self.page.send_replace(Some(page.clone()));
        Box::pin(std::future::ready(Ok(())))
    }

    fn pasted_url(&self) -> BoxFuture<'_, String> {
        Box::pin(async {
            match self.answers.lock().await.recv().await {
                Some(answer) => answer,
                None => std::future::pending().await,
            }
        })
    }

    fn on_invalid_callback(&self, refused: InvalidCallback) {
        // The client that sent the code may be gone.
        let _ = self.refused.send(refused);
    }
}

impl Login {
    /// Begins a login at this URL, and waits until there is a page to lead a browser to.
    pub(super) async fn begin(
        url: &Url,
        store: Arc<dyn CredentialStore>,
        callback: CallbackOptions,
    ) -> Result<Self, ApiError> {
        let (page, mut pages) = watch::channel(None);
        let (answers, inbox) = mpsc::unbounded_channel();
        let (refused, refusals) = mpsc::unbounded_channel();
        let person = Elsewhere { page, answers: Mutex::new(inbox), refused };
        let browser = LoopbackBrowser::with_ui(callback, Arc::new(person));
        let authorizer = authorizer(url, store, Some(Arc::new(browser)))?;
        let (end, mut ended) = watch::channel(None);
        let stop = CancellationToken::new();
        let stopped = stop.clone();
        tokio::spawn(async move {
            tokio::select! {
                outcome = authorizer.login() => drop(end.send_replace(Some(outcome.map(drop)))),
                () = stopped.cancelled() => {}
            }
        });
        let stop = stop.drop_guard();
        let page = tokio::select! {
            biased;
            outcome = over(&mut ended) => {
                outcome?;
                return Err(ApiError::new(StatusCode::BAD_GATEWAY, "no-page", "the login ended without a page"));
            }
            page = pages.wait_for(Option::is_some) => page.ok().and_then(|page| page.clone()),
            () = tokio::time::sleep(SEND_TIMEOUT) => None,
        };
        let page = page.ok_or_else(|| {
            let message = format!("the authorization server gave no page within {SEND_TIMEOUT:?}");
            ApiError::new(StatusCode::GATEWAY_TIMEOUT, "no-page", message)
        })?;
        Ok(Self { page, answers: Mutex::new((answers, refusals)), ended, stop })
    }

    /// Hands in what a browser brought back, and waits for what becomes of it.
    pub(super) async fn answer(&self, answer: String) -> Result<(), ApiError> {
        let mut ended = self.ended.clone();
        let mut handed = self.answers.lock().await;
        let (answers, refusals) = &mut *handed;
        // An earlier client may be gone before the result.
        while refusals.try_recv().is_ok() {}
        let gone = || ApiError::new(StatusCode::CONFLICT, "no-login", "the login has ended");
        if ended.borrow().is_none() {
            answers.send(answer).map_err(|_| gone())?;
        }
        let told = async {
            tokio::select! {
                biased;
                outcome = over(&mut ended) => outcome,
                Some(refused) = refusals.recv() => Err(
                    ApiError::new(StatusCode::BAD_REQUEST, "answer-refused", refused.to_string())
                        .advise("hand in what the browser brought back from this login, word for word; it still goes on")
                ),
            }
        };
        timeout(SEND_TIMEOUT, told).await.unwrap_or_else(|_| {
            let message = format!("the authorization server gave no token within {SEND_TIMEOUT:?}");
            Err(ApiError::new(StatusCode::GATEWAY_TIMEOUT, "no-token", message))
        })
    }

    /// Waits until it has ended, by whichever way the answer comes. Waiting does not keep it going.
    pub(super) fn ended(&self) -> impl Future<Output = Result<(), ApiError>> + Send + use<> {
        let mut ended = self.ended.clone();
        async move { over(&mut ended).await }
    }

    /// Ends it, and waits until its port is free again.
    pub(super) async fn stop(&self) {
        self.stop.token().cancel();
        let mut ended = self.ended.clone();
        // Without the task there is no receiver.
        while ended.changed().await.is_ok() {}
    }

    /// A code as an answer of this login. The state is that of the login where none is given: whoever asks here has shown the
    /// token of the API, and nobody else can hand in a code.
    pub(super) fn callback_for_code(&self, code: &str, state: Option<&str>, iss: Option<&str>) -> String {
        let own = self.page.query_pairs().find(|(name, _)| name == "state").map(|(_, value)| value.into_owned());
        let state = state.map_or_else(|| own.unwrap_or_default(), str::to_owned);
        let mut answer = form_urlencoded::Serializer::new(String::new());
        answer.append_pair("code", code).append_pair("state", &state);
        if let Some(iss) = iss {
            answer.append_pair("iss", iss);
        }
        answer.finish()
    }
}

/// Waits for the end of a login.
async fn over(ended: &mut watch::Receiver<Ended>) -> Result<(), ApiError> {
    match ended.wait_for(Option::is_some).await.map(|outcome| outcome.clone()) {
        Ok(Some(Ok(()))) => Ok(()),
        Ok(Some(Err(error))) => Err(error.into()),
        // It was stopped, by another login or the end of the API.
        _ => Err(ApiError::new(StatusCode::CONFLICT, "login-stopped", "the login was stopped").advise("begin another")),
    }
}
