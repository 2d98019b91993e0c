//! A request and its response, with timeouts and cancellation.

mod failure;
mod route;

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
    failure::from_transport,
    route::{RequestRoute, RouteOutcome},
};
use super::Connection;
use crate::{
    direct::{NoResponse, SentCall},
    error::{CallError, TimeoutKind},
    event::CallId,
    tracked::CallTag,
    tracker::{MALFORMED, OVERSIZE, Progress, SESSION_GONE},
};

/// Minimum log level of one request (2026-07-28, utilities, "Logging").
pub(crate) const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
/// Timeout for the reason why a connection ended: the exit status of a process whose pipe was closed, or an error of rmcp.
const EXIT_STATUS_WAIT: Duration = Duration::from_millis(300);

/// Idle and total timeout of one request, and its cancellation token.
#[derive(Debug, Clone)]
pub(crate) struct RequestTimeouts {
    /// Without a response or progress.
    pub(crate) idle: Duration,
    /// In total.
    pub(crate) ceiling: Duration,
    /// Whether progress restarts `idle`.
    pub(crate) reset_on_progress: bool,
    /// Cancels the request.
    pub(crate) cancel: CancellationToken,
}

impl RequestTimeouts {
    /// A single timeout.
    pub(crate) fn fixed(limit: Duration) -> Self {
        Self { idle: limit, ceiling: limit, reset_on_progress: false, cancel: CancellationToken::new() }
    }
}

/// A request without a response. Dropping it cancels it at the server.
#[derive(Debug)]
pub(crate) struct PendingRequest {
    connection: Connection,
    id: RequestId,
    route: RequestRoute,
    progress: Option<Arc<Progress>>,
    begun: Instant,
    pauses: watch::Receiver<usize>,
    /// Duration of all pauses when it was sent, and at the last activity.
    paused: (Duration, (Instant, Duration)),
    /// Whether the server still owes a response.
    open: bool,
}

impl Connection {
    /// Sends a request. The timeouts start now.
    pub(crate) async fn send(
        &self,
        method: &'static str,
        params: Option<Value>,
        call: Option<CallId>,
    ) -> Result<PendingRequest, CallError> {
        let begun = Instant::now();
        let params = params.unwrap_or_default();
        let sent = self.inner.direct.as_ref().and_then(|direct| direct.send(method, &params, call, self.log_level()));
        let (id, progress, route) = match sent {
            Some(SentCall { id, progress, response }) => {
                (id, Some(progress), RequestRoute::Direct { response, method, params, call })
            }
            None => {
                let (id, response) = self.send_through_sdk(method, params, call).await?;
                (id, None, RequestRoute::Sdk(response))
            }
        };
        Ok(self.pending(begun, id, progress, route))
    }

    fn pending(
        &self,
        begun: Instant,
        id: RequestId,
        progress: Option<Arc<Progress>>,
        route: RequestRoute,
    ) -> PendingRequest {
        let (pauses, before) = (self.inner.tracker.pause.watch(), self.inner.tracker.pause.so_far());
        let paused = (before, (begun, before));
        PendingRequest { connection: self.clone(), id, route, progress, begun, pauses, paused, open: true }
    }

    /// Sends a request of any method, also one that the specification does not have, and returns the result as received.
    /// The timeout is that of requests. No capability is required.
    ///
    /// # Errors
    /// A [`CallError`].
    pub async fn request_method(&self, method: &str, params: Option<Value>) -> Result<Value, CallError> {
        let begun = Instant::now();
        let (id, response) = self.send_through_sdk(method, params.unwrap_or_default(), None).await?;
        let pending = self.pending(begun, id, None, RequestRoute::Sdk(response));
        pending.response(&RequestTimeouts::fixed(self.timeouts().request)).await
    }

    async fn send_through_sdk(
        &self,
        method: &str,
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
            Err(_) => Err(self.disconnect_error().await),
        }
    }

    /// Sends a request and waits for the response.
    pub(crate) async fn request(
        &self,
        method: &'static str,
        params: Option<Value>,
        timeouts: RequestTimeouts,
    ) -> Result<Value, CallError> {
        self.send(method, params, None).await?.response(&timeouts).await.and_then(|result| self.with_known_type(result))
    }

    /// Rejects a result with a `resultType` that the client does not know, or that belongs to an extension which it did not
    /// declare (2026-07-28, basic, "Responses").
    pub(super) fn with_known_type(&self, result: Value) -> Result<Value, CallError> {
        let kind = result.get("resultType").and_then(Value::as_str).unwrap_or("complete");
        let is_known = match kind {
            "complete" | "input_required" => true,
            "task" => self.inner.dispatcher.support().tasks,
            _ => false,
        };
        if !self.rules().input_rounds || is_known {
            return Ok(result);
        }
        Err(CallError::MalformedResult { detail: format!("`resultType` is `{kind}`, which this client does not know") })
    }

    /// The error for a connection that has ended, with the reason.
    pub(super) async fn disconnect_error(&self) -> CallError {
        let failure = self.inner.tracker.failure().map(ToString::to_string);
        let mut reason = failure.unwrap_or_else(|| match self.is_closed() {
            true => "the connection is closed".to_owned(),
            false => "the response stream ended before the response".to_owned(),
        });
        if let Some(child) = &self.inner.child
            && let Some(crate::process::Ended::Exited { exit, .. }) = child.wait(EXIT_STATUS_WAIT).await
        {
            reason = format!("{reason} (the server process exited: {exit})");
        }
        CallError::ConnectionLost { reason }
    }
}

impl PendingRequest {
    /// Waits for the response.
    pub(crate) async fn response(mut self, timeouts: &RequestTimeouts) -> Result<Value, CallError> {
        loop {
            // The entry is created when rmcp passes the request to the transport, which may be after `send`.
            if self.progress.is_none() && timeouts.reset_on_progress {
                self.progress = self.connection.inner.tracker.progress_of(&self.id);
            }
            let last = self.progress.as_ref().map_or(self.begun, |progress| progress.last().max(self.begun));
            let deadline = self.deadline(timeouts, last);
            let clock = deadline.map_or(TimeoutKind::Idle, |(_, clock)| clock);
            let progress = self.progress.clone();
            tokio::select! {
                biased;
                outcome = self.route.outcome() => match self.settle(outcome).await {
                    Some(response) => return response,
                    None => self.go_through_sdk().await?,
                },
                () = self.connection.inner.tracker.closed.cancelled() => return self.after_the_end().await,
                () = timeouts.cancel.cancelled() => {
                    self.give_up("cancelled by the caller");
                    return Err(CallError::Cancelled);
                }
                // The sender is a field of the connection.
                _ = self.pauses.changed() => {}
                () = expired(deadline) => {
                    // Progress may have arrived after the deadline was computed.
                    if clock == TimeoutKind::Idle && self.has_moved(timeouts, last) {
                        continue;
                    }
                    self.give_up("timed out");
                    let limit = if clock == TimeoutKind::Idle { timeouts.idle } else { timeouts.ceiling };
                    return Err(CallError::TimedOut { clock: self.name(clock, timeouts), limit });
                }
                () = changed(progress) => {}
            }
        }
    }

    /// The outcome after the connection ended. rmcp may know the reason; but it never answers a request that it
    /// received while it stopped.
    async fn after_the_end(&mut self) -> Result<Value, CallError> {
        self.open = false;
        if matches!(self.route, RequestRoute::Sdk(_))
            && let Ok(outcome) = tokio::time::timeout(EXIT_STATUS_WAIT, self.route.outcome()).await
            && let Some(response) = self.settle(outcome).await
        {
            return response;
        }
        self.connection.inner.tracker.settle(&self.id);
        Err(self.connection.disconnect_error().await)
    }

    /// The next deadline and its timeout; `None` during a pause.
    fn deadline(&mut self, timeouts: &RequestTimeouts, last: Instant) -> Option<(Instant, TimeoutKind)> {
        let pause = &self.connection.inner.tracker.pause;
        if self.paused.1.0 != last {
            self.paused.1 = (last, pause.so_far());
        }
        let spent = pause.spent()?;
        let (before, (_, at_last)) = self.paused;
        let ceiling = self.begun + timeouts.ceiling + spent.saturating_sub(before);
        let idle = last + timeouts.idle + spent.saturating_sub(at_last);
        Some(if idle < ceiling { (idle, TimeoutKind::Idle) } else { (ceiling, TimeoutKind::Ceiling) })
    }

    /// If both timeouts are equal, the idle timeout is reported.
    fn name(&self, clock: TimeoutKind, timeouts: &RequestTimeouts) -> TimeoutKind {
        if timeouts.idle == timeouts.ceiling { TimeoutKind::Idle } else { clock }
    }

    fn has_moved(&mut self, timeouts: &RequestTimeouts, last: Instant) -> bool {
        if !timeouts.reset_on_progress {
            return false;
        }
        if self.progress.is_none() {
            self.progress = self.connection.inner.tracker.progress_of(&self.id);
        }
        self.progress.as_ref().is_some_and(|progress| progress.last() > last)
    }

    fn give_up(&mut self, reason: &'static str) {
        if std::mem::take(&mut self.open) {
            self.connection.inner.cancellations.cancel(self.id.clone(), reason);
        }
    }

    /// Sends the request even if the response is not awaited yet.
    pub(crate) fn start(&mut self) {
        if let RequestRoute::Direct { response, .. } = &mut self.route {
            let under_way = std::mem::replace(response, std::future::pending().boxed());
            let task = AbortOnDropHandle::new(tokio::spawn(under_way));
            // The task can only end early with its runtime.
            *response = task.map(|ended| ended.unwrap_or(Err(NoResponse::Cut))).boxed();
        }
    }

    /// The response; `None` if the request has to be repeated through rmcp.
    async fn settle(&mut self, outcome: RouteOutcome) -> Option<Result<Value, CallError>> {
        self.open = false;
        // Without a response, nothing else removes the entry.
        self.connection.inner.tracker.settle(&self.id);
        Some(match outcome {
            RouteOutcome::Sdk(Some(response)) => self.judge(*response).await,
            RouteOutcome::Direct(Ok(Ok(value))) => Ok(value),
            RouteOutcome::Direct(Ok(Err(error))) => Err(self.rejection(error)),
            RouteOutcome::Direct(Err(NoResponse::SessionEnded)) => return None,
            RouteOutcome::Direct(Err(NoResponse::Failed(error))) => Err(from_transport(error)),
            RouteOutcome::Sdk(None) | RouteOutcome::Direct(Err(NoResponse::Cut)) => {
                Err(self.connection.disconnect_error().await)
            }
        })
    }

    async fn go_through_sdk(&mut self) -> Result<(), CallError> {
        let gone = RequestRoute::Sdk(oneshot::channel().1);
        let RequestRoute::Direct { method, params, call, .. } = std::mem::replace(&mut self.route, gone) else {
            return Ok(());
        };
        let (id, response) = self.connection.send_through_sdk(method, params, call).await?;
        (self.id, self.route, self.progress, self.open) = (id, RequestRoute::Sdk(response), None, true);
        Ok(())
    }

    async fn judge(&mut self, response: Result<ServerResult, ServiceError>) -> Result<Value, CallError> {
        match response {
            Ok(ServerResult::CustomResult(CustomResult(value))) => Ok(value),
            Ok(_) => Err(CallError::MalformedResult { detail: "unexpected type of result".into() }),
            Err(ServiceError::McpError(error)) => Err(self.rejection(error)),
            Err(ServiceError::TransportClosed) => Err(self.connection.disconnect_error().await),
            Err(ServiceError::TransportSend(error)) => Err(from_transport(error.error)),
            Err(ServiceError::Cancelled { .. }) => Err(CallError::Cancelled),
            Err(other) => Err(CallError::Transport { source: other.into() }),
        }
    }

    fn rejection(&self, error: ErrorData) -> CallError {
        if error.data.as_ref().is_some_and(|data| data.get(MALFORMED).is_some()) {
            return CallError::MalformedResult { detail: error.message.into_owned() };
        }
        if error.data.as_ref().is_some_and(|data| data.get(OVERSIZE).is_some()) {
            return CallError::OversizeReply { limit: self.connection.inner.config.limits.message_bytes };
        }
        if error.message == SESSION_GONE && error.data.is_none() {
            return CallError::SessionLost { reason: "it ended before the response".into() };
        }
        CallError::Rpc { code: error.code.0.into(), message: error.message.into_owned(), data: error.data }
    }

    /// The JSON-RPC id.
    pub(crate) fn id(&self) -> &RequestId {
        &self.id
    }

    /// The time when it was sent.
    pub(crate) fn begun(&self) -> Instant {
        self.begun
    }
}

impl Drop for PendingRequest {
    fn drop(&mut self) {
        self.give_up("the caller is gone");
    }
}

async fn expired(deadline: Option<(Instant, TimeoutKind)>) {
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
