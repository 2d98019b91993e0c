//! The redirect URI: a server on 127.0.0.1 for one response (RFC 8252, section 7.3), or a URL that the user pastes.
//!
//! Only a response with the expected `state` counts. Other requests, for example of a page that scans ports, are
//! rejected and change nothing. The authorization flow validates `iss`.

mod browser;
mod page;
mod response;

use std::{
    net::Ipv4Addr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use axum::{
    Router,
    extract::{Request, State},
    http::{Method, StatusCode, header},
    response::{IntoResponse, Response},
};
use tokio::{net::TcpListener, sync::oneshot};
use url::Url;

pub use browser::open;
pub use response::{AuthorizationResponse, InvalidCallback, Outcome};

/// Timeout of the login.
pub const LIMIT: Duration = Duration::from_secs(5 * 60);

/// Timeout for sending the final page.
const PAGE_TIMEOUT: Duration = Duration::from_millis(500);

/// Settings of the redirect URI.
#[derive(Debug, Clone)]
pub struct CallbackOptions {
    /// The port; 0 selects a free one. A preregistered client may require a fixed port.
    pub port: u16,
    /// The path.
    pub path: String,
    /// Timeout of the login.
    pub limit: Duration,
}

impl Default for CallbackOptions {
    fn default() -> Self {
        Self { port: 0, path: "/callback".to_owned(), limit: LIMIT }
    }
}

/// The reason for a missing response.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CallbackError {
    /// The port cannot be used.
    #[error("cannot listen on 127.0.0.1:{port}: choose another port with `--port`")]
    Port {
        /// The port.
        port: u16,
        /// The error of the system.
        #[source]
        cause: std::io::Error,
    },
    /// The path is invalid.
    #[error("`{path}` is not a valid redirect path: it must start with `/` and not contain `?` or `#`")]
    Path {
        /// The path.
        path: String,
    },
    /// The login timed out.
    #[error("no redirect within {limit:?}: log in again, or paste the URL with `--no-browser`")]
    TimedOut {
        /// The limit.
        limit: Duration,
    },
    /// The server stopped.
    #[error("the redirect server stopped before a response")]
    Ended,
}

/// Waits for the redirect of the browser.
#[derive(Debug)]
pub struct Callback {
    listener: TcpListener,
    redirect_uri: Url,
    limit: Duration,
}

struct Awaited {
    path: String,
    state: String,
    sender: Mutex<Option<oneshot::Sender<Outcome>>>,
}

impl Callback {
    /// Opens the port. Requests are handled in [`Self::wait`].
    ///
    /// # Errors
    ///
    /// If the port is in use or the path is invalid.
    pub async fn bind(options: &CallbackOptions) -> Result<Self, CallbackError> {
        let port = |cause| CallbackError::Port { port: options.port, cause };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, options.port)).await.map_err(port)?;
        let chosen = listener.local_addr().map_err(port)?.port();
        // The literal address, because `localhost` may resolve differently (RFC 8252, section 8.3).
        let redirect_uri = Url::parse(&format!("http://127.0.0.1:{chosen}"))
            .and_then(|base| base.join(&options.path))
            .ok()
            .filter(|url| {
                options.path.starts_with('/')
                    && url.path() == options.path
                    && url.port_or_known_default() == Some(chosen)
            })
            .ok_or_else(|| CallbackError::Path { path: options.path.clone() })?;
        Ok(Self { listener, redirect_uri, limit: options.limit })
    }

    /// The redirect URI.
    #[must_use]
    pub const fn redirect_uri(&self) -> &Url {
        &self.redirect_uri
    }

    /// Waits for the response with this state.
    ///
    /// # Errors
    ///
    /// If there is none in time.
    pub async fn wait(self, state: &str) -> Result<Outcome, CallbackError> {
        let (sender, received) = oneshot::channel();
        let awaited = Awaited {
            path: self.redirect_uri.path().to_owned(),
            state: state.to_owned(),
            sender: Mutex::new(Some(sender)),
        };
        let (stop, stopped) = oneshot::channel::<()>();
        let service = Router::new().fallback(handle).with_state(Arc::new(awaited));
        let serve = axum::serve(self.listener, service).with_graceful_shutdown(async { drop(stopped.await) });
        let mut serve = Box::pin(serve.into_future());
        let outcome = tokio::select! {
            outcome = tokio::time::timeout(self.limit, received) => outcome,
            _ = &mut serve => return Err(CallbackError::Ended),
        };
        let outcome = outcome.map_err(|_| CallbackError::TimedOut { limit: self.limit })?;
        // An error means that the server has stopped.
        let _ = stop.send(());
        // Idle connections of browsers are not awaited.
        let _ = tokio::time::timeout(PAGE_TIMEOUT, serve).await;
        outcome.map_err(|_| CallbackError::Ended)
    }
}

async fn handle(State(awaited): State<Arc<Awaited>>, request: Request) -> Response {
    if request.uri().path() != awaited.path {
        return shown(StatusCode::NOT_FOUND, page::nothing_here());
    }
    // HEAD must not consume the response.
    if request.method() != Method::GET {
        return (StatusCode::METHOD_NOT_ALLOWED, [(header::ALLOW, "GET")]).into_response();
    }
    let outcome = match Outcome::read(request.uri().query().unwrap_or_default(), &awaited.state) {
        Ok(outcome) => outcome,
        Err(rejected) => {
            tracing::warn!(%rejected, "invalid request to the redirect URI");
            return shown(StatusCode::BAD_REQUEST, page::rejected(&rejected));
        }
    };
    let Some(sender) = awaited.sender.lock().unwrap_or_else(PoisonError::into_inner).take() else {
        return shown(StatusCode::GONE, page::used());
    };
    let page = page::outcome(&outcome);
    // The receiver may have stopped waiting.
    drop(sender.send(outcome));
    shown(StatusCode::OK, page)
}

fn shown(status: StatusCode, page: String) -> Response {
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CACHE_CONTROL, "no-store"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CONTENT_SECURITY_POLICY, "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CONNECTION, "close"),
    ];
    (status, headers, page).into_response()
}

#[cfg(test)]
mod tests;
