//! One request and its answer, with clocks.

mod failure;
mod way;

use std::{sync::Arc, time::Duration};

use futures::FutureExt;
use rmcp::{
    model::{ClientRequest, CustomRequest, CustomResult, ErrorData, GetExtensions, GetMeta, RequestId, ServerResult},
    service::{PeerRequestOptions, ServiceError},
};
use serde_json::Value;
use tokio::{
    sync::{
        oneshot::{self, Receiver},
        watch,
    },
    time::{Instant, sleep_until},
};
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

use self::{
    failure::of_transport,
    way::{Came, Way},
};
use super::Connection;
use crate::{
    direct::{Asked, Unanswered},
    error::{CallError, Clock},
    event::CallId,
    ledger::{MALFORMED, OVERSIZE, Progress, SESSION_GONE},
    link::CallTag,
};

/// Says with a request from which severity on the server is to log (2026-07-28, utilities, "Logging").
pub(crate) const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
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
    id: RequestId,
    way: Way,
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
        let params = params.unwrap_or_default();
        let asked = self.inner.direct.as_ref().and_then(|direct| direct.ask(method, &params, call, self.log_level()));
        let (id, progress, way) = match asked {
            Some(Asked { id, progress, answer }) => (id, Some(progress), Way::Direct { answer, method, params, call }),
            None => {
                let (id, answer) = self.send_through_sdk(method, params, call).await?;
                (id, None, Way::Sdk(answer))
            }
        };
        let (pauses, before) = (self.inner.ledger.pause.watch(), self.inner.ledger.pause.so_far());
        let paused = (before, (begun, before));
        Ok(Exchange { connection: self.clone(), id, way, progress, begun, pauses, paused, open: true })
    }

    async fn send_through_sdk(
        &self,
        method: &'static str,
        params: Value,
        call: Option<CallId>,
    ) -> Result<(RequestId, Receiver<Result<ServerResult, ServiceError>>), CallError> {
        let mut request = CustomRequest::new(method, Some(params).filter(|params| !params.is_null()));
        if let Some(call) = call {
            request.extensions_mut().insert(CallTag(call));
        }
        if let Some(level) = self.log_level() {
            request.get_meta_mut().insert(LOG_LEVEL.into(), level.into());
        }
        let request = ClientRequest::CustomRequest(request);
        let sent = self.inner.peer.send_request_with_option(request, PeerRequestOptions::no_options()).await;
        match sent {
            Ok(handle) => Ok((handle.id, handle.rx)),
            Err(_) => Err(self.lost().await),
        }
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
                self.progress = self.connection.inner.ledger.progress_of(&self.id);
            }
            let last = self.progress.as_ref().map_or(self.begun, |progress| progress.last().max(self.begun));
            let deadline = self.deadline(patience, last);
            let clock = deadline.map_or(Clock::Idle, |(_, clock)| clock);
            let progress = self.progress.clone();
            tokio::select! {
                biased;
                came = self.way.come() => match self.settle(came).await {
                    Some(answer) => return answer,
                    None => self.go_through_sdk().await?,
                },
                () = self.connection.inner.ledger.over.cancelled(), if matches!(self.way, Way::Direct { .. }) => {
                    self.open = false;
                    return Err(self.connection.lost().await);
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
            self.progress = self.connection.inner.ledger.progress_of(&self.id);
        }
        self.progress.as_ref().is_some_and(|progress| progress.last() > last)
    }

    fn give_up(&mut self, reason: &'static str) {
        if std::mem::take(&mut self.open) {
            self.connection.inner.cancellations.cancel(self.id.clone(), reason);
        }
    }

    /// Makes sure that the request is on its way also where nobody waits for its answer yet.
    pub(crate) fn start(&mut self) {
        if let Way::Direct { answer, .. } = &mut self.way {
            let under_way = std::mem::replace(answer, std::future::pending().boxed());
            let task = AbortOnDropHandle::new(tokio::spawn(under_way));
            // It can only have been ended along with its runtime.
            *answer = task.map(|ended| ended.unwrap_or(Err(Unanswered::Cut))).boxed();
        }
    }

    /// The answer; `None` if the request has to be made again, through rmcp.
    async fn settle(&mut self, came: Came) -> Option<Result<Value, CallError>> {
        self.open = false;
        // Where no answer came there is nobody else to strike it out.
        self.connection.inner.ledger.settle(&self.id);
        Some(match came {
            Came::Sdk(Some(answer)) => self.judge(*answer).await,
            Came::Direct(Ok(Ok(value))) => Ok(value),
            Came::Direct(Ok(Err(error))) => Err(self.refusal(error)),
            Came::Direct(Err(Unanswered::SessionEnded)) => return None,
            Came::Direct(Err(Unanswered::Failed(error))) => Err(of_transport(error)),
            Came::Sdk(None) | Came::Direct(Err(Unanswered::Cut)) => Err(self.connection.lost().await),
        })
    }

    async fn go_through_sdk(&mut self) -> Result<(), CallError> {
        let gone = Way::Sdk(oneshot::channel().1);
        let Way::Direct { method, params, call, .. } = std::mem::replace(&mut self.way, gone) else { return Ok(()) };
        let (id, answer) = self.connection.send_through_sdk(method, params, call).await?;
        (self.id, self.way, self.progress, self.open) = (id, Way::Sdk(answer), None, true);
        Ok(())
    }

    async fn judge(&mut self, answer: Result<ServerResult, ServiceError>) -> Result<Value, CallError> {
        match answer {
            Ok(ServerResult::CustomResult(CustomResult(value))) => Ok(value),
            Ok(_) => Err(CallError::MalformedResult { detail: "an answer of another kind".into() }),
            Err(ServiceError::McpError(error)) => Err(self.refusal(error)),
            Err(ServiceError::TransportClosed) => Err(self.connection.lost().await),
            Err(ServiceError::TransportSend(error)) => Err(of_transport(error.error)),
            Err(ServiceError::Cancelled { .. }) => Err(CallError::Cancelled),
            Err(other) => Err(CallError::Transport { source: other.into() }),
        }
    }

    fn refusal(&self, error: ErrorData) -> CallError {
        if error.data.as_ref().is_some_and(|data| data.get(MALFORMED).is_some()) {
            return CallError::MalformedResult { detail: error.message.into_owned() };
        }
        if error.data.as_ref().is_some_and(|data| data.get(OVERSIZE).is_some()) {
            return CallError::OversizeReply { limit: self.connection.inner.config.limits.message_bytes };
        }
        if error.message == SESSION_GONE && error.data.is_none() {
            return CallError::SessionLost { reason: "it ended before the answer came".into() };
        }
        CallError::Rpc { code: error.code.0.into(), message: error.message.into_owned(), data: error.data }
    }

    /// The id of the request on the wire.
    pub(crate) fn id(&self) -> &RequestId {
        &self.id
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
