//! One active login: from the authorization URL to the redirect of the browser or the redirect that a client posts.

use std::{sync::Arc, time::Duration};

use agent::host::HostServer;
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

use super::error::ApiError;

/// Timeout of discovering the login page, and of exchanging the code for tokens.
const AUTH_SERVER_TIMEOUT: Duration = Duration::from_secs(60);

/// Result of a login; `None` while it is active.
type LoginResult = Option<Result<(), AuthError>>;

/// An active login. Dropping it stops the login.
#[derive(Debug)]
pub(super) struct Login {
    /// URL to open in a browser.
    pub(super) page: Url,
    /// Posted redirects and their rejections, one at a time.
    callbacks: Mutex<(mpsc::UnboundedSender<String>, mpsc::UnboundedReceiver<InvalidCallback>)>,
    ended: watch::Receiver<LoginResult>,
    stop: DropGuard,
}

/// A user interface over this API: publishes the page, and receives redirects over HTTP.
#[derive(Debug)]
struct RemoteLoginUi {
    page: watch::Sender<Option<Url>>,
    callbacks: Mutex<mpsc::UnboundedReceiver<String>>,
    rejections: mpsc::UnboundedSender<InvalidCallback>,
}

impl LoginUi for RemoteLoginUi {
    fn open_page<'a>(&'a self, page: &'a Url) -> BoxFuture<'a, Result<(), BrowserError>> {
        self.page.send_replace(Some(page.clone()));
        Box::pin(std::future::ready(Ok(())))
    }

    fn pasted_url(&self) -> BoxFuture<'_, String> {
        Box::pin(async {
            match self.callbacks.lock().await.recv().await {
                Some(callback) => callback,
                None => std::future::pending().await,
            }
        })
    }

    fn on_invalid_callback(&self, rejection: InvalidCallback) {
        // The client that sent the code may be gone.
        let _ = self.rejections.send(rejection);
    }
}

impl Login {
    /// Starts a login at this server, and waits for the authorization URL.
    pub(super) async fn start(
        server: &HostServer,
        store: Arc<dyn CredentialStore>,
        callback: CallbackOptions,
    ) -> Result<Self, ApiError> {
        let (page, mut pages) = watch::channel(None);
        let (callbacks, inbox) = mpsc::unbounded_channel();
        let (sender, rejections) = mpsc::unbounded_channel();
        let ui = RemoteLoginUi { page, callbacks: Mutex::new(inbox), rejections: sender };
        let browser = LoopbackBrowser::with_ui(callback, Arc::new(ui));
        let authorizer = server.authorizer(store, Some(Arc::new(browser)));
        let authorizer = authorizer
            .ok_or_else(|| ApiError::new(StatusCode::BAD_REQUEST, "no-oauth", "the server does not support login"))?;
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
            outcome = wait_for_end(&mut ended) => {
                outcome?;
                return Err(ApiError::new(StatusCode::BAD_GATEWAY, "no-page", "the login ended without a page"));
            }
            page = pages.wait_for(Option::is_some) => page.ok().and_then(|page| page.clone()),
            () = tokio::time::sleep(AUTH_SERVER_TIMEOUT) => None,
        };
        let page = page.ok_or_else(|| {
            let message = format!("discovering the login page exceeded the timeout of {AUTH_SERVER_TIMEOUT:?}");
            ApiError::new(StatusCode::GATEWAY_TIMEOUT, "no-page", message)
        })?;
        Ok(Self { page, callbacks: Mutex::new((callbacks, rejections)), ended, stop })
    }

    /// Passes on the redirect of a browser, and waits for the result.
    pub(super) async fn complete(&self, callback: String) -> Result<(), ApiError> {
        let mut ended = self.ended.clone();
        let mut channels = self.callbacks.lock().await;
        let (callbacks, rejections) = &mut *channels;
        // An earlier client may be gone before the result.
        while rejections.try_recv().is_ok() {}
        let gone = || ApiError::new(StatusCode::CONFLICT, "no-login", "the login has ended");
        if ended.borrow().is_none() {
            callbacks.send(callback).map_err(|_| gone())?;
        }
        let result = async {
            tokio::select! {
                biased;
                outcome = wait_for_end(&mut ended) => outcome,
                Some(rejection) = rejections.recv() => Err(
                    ApiError::new(StatusCode::BAD_REQUEST, "callback-rejected", rejection.to_string())
                        .with_help("post the complete redirect URL of this login; the login is still active")
                ),
            }
        };
        timeout(AUTH_SERVER_TIMEOUT, result).await.unwrap_or_else(|_| {
            let message = format!("exchanging the code for tokens exceeded the timeout of {AUTH_SERVER_TIMEOUT:?}");
            Err(ApiError::new(StatusCode::GATEWAY_TIMEOUT, "no-token", message))
        })
    }

    /// Waits for the end of the login. Does not keep the login alive.
    pub(super) fn ended(&self) -> impl Future<Output = Result<(), ApiError>> + Send + use<> {
        let mut ended = self.ended.clone();
        async move { wait_for_end(&mut ended).await }
    }

    /// Stops the login, and waits until its port is free.
    pub(super) async fn stop(&self) {
        self.stop.token().cancel();
        let mut ended = self.ended.clone();
        // The receiver is dropped with the task.
        while ended.changed().await.is_ok() {}
    }

    /// The redirect parameters for a code. Without `state`, that of the login is used: only a client with the token of the API
    /// can post a code.
    pub(super) fn callback_for_code(&self, code: &str, state: Option<&str>, iss: Option<&str>) -> String {
        let own = self.page.query_pairs().find(|(name, _)| name == "state").map(|(_, value)| value.into_owned());
        let state = state.map_or_else(|| own.unwrap_or_default(), str::to_owned);
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.append_pair("code", code).append_pair("state", &state);
        if let Some(iss) = iss {
            query.append_pair("iss", iss);
        }
        query.finish()
    }
}

/// Waits for the end of a login.
async fn wait_for_end(ended: &mut watch::Receiver<LoginResult>) -> Result<(), ApiError> {
    match ended.wait_for(Option::is_some).await.map(|outcome| outcome.clone()) {
        Ok(Some(Ok(()))) => Ok(()),
        Ok(Some(Err(error))) => Err(error.into()),
        // Stopped by another login or because the API closes.
        _ => Err(ApiError::new(StatusCode::CONFLICT, "login-stopped", "the login was stopped")
            .with_help("start another login")),
    }
}
