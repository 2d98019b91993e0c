//! One request and its answer, with clocks.

use std::{sync::Arc, time::Duration};

use rmcp::{
    RoleClient,
    model::{ClientRequest, CustomRequest, CustomResult, GetExtensions, GetMeta, RequestId, ServerResult},
    service::{PeerRequestOptions, RequestHandle, ServiceError},
    transport::streamable_http_client::StreamableHttpError,
};
use serde_json::Value;
use tokio::{
    sync::watch,
    time::{Instant, sleep_until},
};
use tokio_util::sync::CancellationToken;

use super::Connection;
use crate::{
    error::{CallError, Clock},
    event::CallId,
    ledger::{MALFORMED, OVERSIZE, Progress, SESSION_GONE},
    link::CallTag,
    transport::http::HttpFailure,
};

/// Says with a request from which severity on the server is to log (2026-07-28, utilities, "Logging").
const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
/// How long the end of a process may take to become known after its pipe was closed.
const LAST_WORDS: Duration = Duration::from_millis(300);

/// How long to wait for an answer.
#[derive(Debug, Clone)]
pub(crate) struct Patience {
    /// Without an answer, or without progress.
    pub(crate) idle: Duration,
    /// At all.
    pub(crate) ceiling: Duration,
    /// Whether progress starts the first clock again.
    pub(crate) reset_on_progress: bool,
    /// Cancels the request.
    pub(crate) cancel: CancellationToken,
}

impl Patience {
    /// One clock only.
    pub(crate) fn fixed(limit: Duration) -> Self {
        Self { idle: limit, ceiling: limit, reset_on_progress: false, cancel: CancellationToken::new() }
    }
}

/// A request under way. Dropped before its answer, it is cancelled.
#[derive(Debug)]
pub(crate) struct Exchange {
    connection: Connection,
    handle: RequestHandle<RoleClient>,
    progress: Option<Arc<Progress>>,
    begun: Instant,
    pauses: watch::Receiver<usize>,
    /// How long all pauses had taken when it was sent, and at its last sign of life.
    paused: (Duration, (Instant, Duration)),
    /// Whether the server still owes an answer that nobody has given up.
    open: bool,
}

impl Connection {
    /// Sends a request. The clocks start now.
    pub(crate) async fn send(
        &self,
        method: &'static str,
        params: Option<Value>,
        call: Option<CallId>,
    ) -> Result<Exchange, CallError> {
        let begun = Instant::now();
        let mut request = CustomRequest::new(method, params);
        if let Some(call) = call {
            request.extensions_mut().insert(CallTag(call));
        }
        if let Some(level) = self.log_level() {
            request.get_meta_mut().insert(LOG_LEVEL.into(), level.into());
        }
        let request = ClientRequest::CustomRequest(request);
        let sent = self.inner.peer.send_request_with_option(request, PeerRequestOptions::no_options()).await;
        let handle = match sent {
            Ok(handle) => handle,
            Err(_) => return Err(self.lost().await),
        };
        let (pauses, before) = (self.inner.ledger.pause.watch(), self.inner.ledger.pause.so_far());
        let paused = (before, (begun, before));
        Ok(Exchange { connection: self.clone(), handle, progress: None, begun, pauses, paused, open: true })
    }

    /// Sends a request and waits for its answer.
    pub(crate) async fn request(
        &self,
        method: &'static str,
        params: Option<Value>,
        patience: Patience,
    ) -> Result<Value, CallError> {
        self.send(method, params, None).await?.answer(&patience).await
    }

    /// The error for a connection that is over, with the reason as far as it is known.
    pub(super) async fn lost(&self) -> CallError {
        let failure = self.inner.ledger.failure().map(ToString::to_string);
        let mut reason = failure.unwrap_or_else(|| match self.is_closed() {
            true => "the connection is closed".to_owned(),
            false => "the response stream ended before the answer".to_owned(),
        });
        if let Some(child) = &self.inner.child
            && let Some(crate::process::Ended::Exited { exit, .. }) = child.wait(LAST_WORDS).await
        {
            reason = format!("{reason} (the server's process ended: {exit})");
        }
        CallError::ConnectionLost { reason }
    }
}

impl Exchange {
    /// Waits for the answer.
    pub(crate) async fn answer(mut self, patience: &Patience) -> Result<Value, CallError> {
        loop {
            // The entry is made when rmcp hands the request to the transport, which may come after `send`.
            if self.progress.is_none() && patience.reset_on_progress {
                self.progress = self.connection.inner.ledger.progress_of(&self.handle.id);
            }
            let last = self.progress.as_ref().map_or(self.begun, |progress| progress.last().max(self.begun));
            let deadline = self.deadline(patience, last);
            let clock = deadline.map_or(Clock::Idle, |(_, clock)| clock);
            let progress = self.progress.clone();
            tokio::select! {
                biased;
                answer = &mut self.handle.rx => {
                    self.open = false;
                    // Where no answer came there is nobody else to strike it out.
                    self.connection.inner.ledger.settle(&self.handle.id);
                    return match answer {
                        Ok(answer) => self.judge(answer).await,
                        Err(_) => Err(self.connection.lost().await),
                    };
                }
                () = patience.cancel.cancelled() => {
                    self.give_up("cancelled by the caller");
                    return Err(CallError::Cancelled);
                }
                // The sender lives in the connection.
                _ = self.pauses.changed() => {}
                () = expired(deadline) => {
                    // Progress may have been seen since the deadline was set.
                    if clock == Clock::Idle && self.has_moved(patience, last) {
                        continue;
                    }
                    self.give_up("timed out");
                    let limit = if clock == Clock::Idle { patience.idle } else { patience.ceiling };
                    return Err(CallError::TimedOut { clock: self.name(clock, patience), limit });
                }
                () = changed(progress) => {}
            }
        }
    }

    /// When which clock runs out; `None` in a pause, while the user is asked: then both stand still.
    fn deadline(&mut self, patience: &Patience, last: Instant) -> Option<(Instant, Clock)> {
        let pause = &self.connection.inner.ledger.pause;
        if self.paused.1.0 != last {
            self.paused.1 = (last, pause.so_far());
        }
        let spent = pause.spent()?;
        let (before, (_, at_last)) = self.paused;
        let ceiling = self.begun + patience.ceiling + spent.saturating_sub(before);
        let idle = last + patience.idle + spent.saturating_sub(at_last);
        Some(if idle < ceiling { (idle, Clock::Idle) } else { (ceiling, Clock::Ceiling) })
    }

    /// Where both clocks are set to one time, it is the plain timeout that ran out.
    fn name(&self, clock: Clock, patience: &Patience) -> Clock {
        if patience.idle == patience.ceiling { Clock::Idle } else { clock }
    }

    fn has_moved(&mut self, patience: &Patience, last: Instant) -> bool {
        if !patience.reset_on_progress {
            return false;
        }
        if self.progress.is_none() {
            self.progress = self.connection.inner.ledger.progress_of(&self.handle.id);
        }
        self.progress.as_ref().is_some_and(|progress| progress.last() > last)
    }

    fn give_up(&mut self, reason: &'static str) {
        if std::mem::take(&mut self.open) {
            self.connection.inner.cancellations.cancel(self.handle.id.clone(), reason);
        }
    }

    async fn judge(&self, answer: Result<ServerResult, ServiceError>) -> Result<Value, CallError> {
        match answer {
            Ok(ServerResult::CustomResult(CustomResult(value))) => Ok(value),
            Ok(_) => Err(CallError::MalformedResult { detail: "an answer of another kind".into() }),
            Err(ServiceError::McpError(error)) => {
                if error.data.as_ref().is_some_and(|data| data.get(MALFORMED).is_some()) {
                    return Err(CallError::MalformedResult { detail: error.message.into_owned() });
                }
                if error.data.as_ref().is_some_and(|data| data.get(OVERSIZE).is_some()) {
                    return Err(CallError::OversizeReply { limit: self.connection.inner.config.limits.message_bytes });
                }
                if error.message == SESSION_GONE && error.data.is_none() {
                    return Err(CallError::SessionLost { reason: "it ended before the answer came".into() });
                }
                Err(CallError::Rpc { code: error.code.0.into(), message: error.message.into_owned(), data: error.data })
            }
            Err(ServiceError::TransportClosed) => Err(self.connection.lost().await),
            Err(ServiceError::TransportSend(error)) => Err(of_transport(error.error)),
            Err(ServiceError::Cancelled { .. }) => Err(CallError::Cancelled),
            Err(other) => Err(CallError::Transport { source: other.into() }),
        }
    }

    /// The id of the request on the wire.
    pub(crate) fn id(&self) -> &RequestId {
        &self.handle.id
    }

    /// When it was sent.
    pub(crate) fn begun(&self) -> Instant {
        self.begun
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        self.give_up("the caller is gone");
    }
}

async fn expired(deadline: Option<(Instant, Clock)>) {
    match deadline {
        Some((deadline, _)) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

async fn changed(progress: Option<Arc<Progress>>) {
    match progress {
        Some(progress) => progress.changed().await,
        None => std::future::pending().await,
    }
}

fn of_transport(error: crate::error::Cause) -> CallError {
    match error.downcast::<StreamableHttpError<HttpFailure>>().map(|error| *error) {
        Ok(StreamableHttpError::Client(HttpFailure::Status { status: status @ (401 | 403), challenge, .. })) => {
            CallError::NeedsAuth { status, challenge }
        }
        Ok(StreamableHttpError::Client(HttpFailure::Status { status, body, .. })) => {
            CallError::HttpStatus { status, body }
        }
        Ok(StreamableHttpError::Client(HttpFailure::Auth(source))) => CallError::Auth { source },
        Ok(StreamableHttpError::Client(HttpFailure::Redirect(refused))) => {
            CallError::RedirectRefused { to: refused.to, reason: refused.reason }
        }
        Ok(StreamableHttpError::ResponseBodyTooLarge { max_size }) => CallError::OversizeReply { limit: max_size },
        Ok(
            lost @ (StreamableHttpError::SessionExpired
            | StreamableHttpError::SessionRecoveryTimeout
            | StreamableHttpError::ReinitializationFailed(_)),
        ) => CallError::SessionLost { reason: lost.to_string() },
        Ok(StreamableHttpError::UnexpectedServerResponse(detail)) => {
            CallError::MalformedResult { detail: detail.into_owned() }
        }
        Ok(other) => CallError::Transport { source: other.into() },
        Err(error) => match error.downcast::<HttpFailure>().map(|error| *error) {
            Ok(HttpFailure::Status { status, body, .. }) => CallError::HttpStatus { status, body },
            Ok(HttpFailure::Auth(source)) => CallError::Auth { source },
            Ok(HttpFailure::Redirect(refused)) => CallError::RedirectRefused { to: refused.to, reason: refused.reason },
            Ok(other) => CallError::Transport { source: other.into() },
            Err(source) => CallError::Transport { source },
        },
    }
}
