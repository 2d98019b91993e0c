//! The place to which the authorization server sends the browser back: a server on 127.0.0.1 for one answer (RFC 8252,
//! section 7.3), and the reading of an address that a person pastes where no browser reaches it.
//!
//! Only an answer with the `state` of this authorization counts. Whatever else asks, such as another page that tries ports,
//! is told off and changes nothing. Whether `iss` is the right one is for the flow to judge.

mod answer;
mod browser;
mod page;

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

pub use answer::{Answer, Outcome, Refused};
pub use browser::open;

/// How long a person may take.
pub const LIMIT: Duration = Duration::from_secs(5 * 60);

/// How long the page that a person sees may take to reach the browser.
const FAREWELL: Duration = Duration::from_millis(500);

/// Where the browser is awaited.
#[derive(Debug, Clone)]
pub struct CallbackOptions {
    /// The port; the system chooses one where it is 0. A client that was registered by hand may need the port that it was
    /// registered with.
    pub port: u16,
    /// The path.
    pub path: String,
    /// How long.
    pub limit: Duration,
}

impl Default for CallbackOptions {
    fn default() -> Self {
        Self { port: 0, path: "/callback".to_owned(), limit: LIMIT }
    }
}

/// No answer came.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CallbackError {
    /// The port cannot be used.
    #[error("cannot listen on 127.0.0.1:{port} for the browser: choose another port with `--port`")]
    Port {
        /// Which.
        port: u16,
        /// Why.
        #[source]
        cause: std::io::Error,
    },
    /// The path is none.
    #[error("`{path}` is no path for a redirect: it must start with `/` and hold neither `?` nor `#`")]
    Path {
        /// Which.
        path: String,
    },
    /// Nobody came back.
    #[error("the browser did not come back within {limit:?}: log in again, or paste the address with `--no-browser`")]
    TimedOut {
        /// How long was waited.
        limit: Duration,
    },
    /// The server ended by itself.
    #[error("the server for the browser ended before an answer came")]
    Ended,
}

/// Awaits the browser.
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
    /// Takes the port. Nothing is answered before [`Self::wait`].
    ///
    /// # Errors
    ///
    /// Fails if the port is taken or the path is none.
    pub async fn bind(options: &CallbackOptions) -> Result<Self, CallbackError> {
        let port = |cause| CallbackError::Port { port: options.port, cause };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, options.port)).await.map_err(port)?;
        let chosen = listener.local_addr().map_err(port)?.port();
        // The literal address, not `localhost`, which may be something else (RFC 8252, section 8.3).
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

    /// Where the browser is to be sent.
    #[must_use]
    pub const fn redirect_uri(&self) -> &Url {
        &self.redirect_uri
    }

    /// Waits for the answer with this state, once.
    ///
    /// # Errors
    ///
    /// Fails if none comes in time.
    pub async fn wait(self, state: &str) -> Result<Outcome, CallbackError> {
        let (sender, answered) = oneshot::channel();
        let awaited = Awaited {
            path: self.redirect_uri.path().to_owned(),
            state: state.to_owned(),
            sender: Mutex::new(Some(sender)),
        };
        let (stop, stopped) = oneshot::channel::<()>();
        let service = Router::new().fallback(answer).with_state(Arc::new(awaited));
        let serve = axum::serve(self.listener, service).with_graceful_shutdown(async { drop(stopped.await) });
        let mut serve = Box::pin(serve.into_future());
        let outcome = tokio::select! {
            outcome = tokio::time::timeout(self.limit, answered) => outcome,
            _ = &mut serve => return Err(CallbackError::Ended),
        };
        let outcome = outcome.map_err(|_| CallbackError::TimedOut { limit: self.limit })?;
        // It ended by itself, if nobody hears this.
        let _ = stop.send(());
        // Browsers keep connections on which they say nothing: they are not waited for.
        let _ = tokio::time::timeout(FAREWELL, serve).await;
        outcome.map_err(|_| CallbackError::Ended)
    }
}

async fn answer(State(awaited): State<Arc<Awaited>>, request: Request) -> Response {
    if request.uri().path() != awaited.path {
        return shown(StatusCode::NOT_FOUND, page::nothing_here());
    }
    // A HEAD is no person who comes back, and it must not use up the answer.
    if request.method() != Method::GET {
        return (StatusCode::METHOD_NOT_ALLOWED, [(header::ALLOW, "GET")]).into_response();
    }
    let outcome = match Outcome::read(request.uri().query().unwrap_or_default(), &awaited.state) {
        Ok(outcome) => outcome,
        Err(refused) => {
            tracing::warn!(%refused, "somebody asked at the redirect address");
            return shown(StatusCode::BAD_REQUEST, page::refused(&refused));
        }
    };
    let Some(sender) = awaited.sender.lock().unwrap_or_else(PoisonError::into_inner).take() else {
        return shown(StatusCode::GONE, page::used());
    };
    let page = page::outcome(&outcome);
    // Whoever waited may have given up.
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
