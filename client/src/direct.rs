//! Tool calls that bypass rmcp.
//!
//! A request through rmcp passes five tasks (its loop, a sender task, its HTTP worker, the loop again, the caller),
//! and each switch may wake another thread. Calls over stdio and Streamable HTTP are therefore written, and their
//! responses read, without rmcp. It still handles the handshake, sessions, lists, subscriptions and server requests. A
//! call also goes through rmcp if it depends on one of these: after a session expired, or if the tool's schema
//! requires headers.

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
};

use futures::{FutureExt, future::BoxFuture};
use http::HeaderMap;
use rmcp::model::{ProgressToken, RequestId};
use serde::Serialize;
use serde_json::{Map, Value};
use tokio::sync::oneshot;
use url::Url;

use crate::{
    call::METHOD,
    connection::LOG_LEVEL,
    error::Cause,
    event::CallId,
    revision::{Revision, rules},
    tracker::{InFlight, Progress, Purpose, Reply, RequestTracker},
    transport::{
        http::{HttpClient, Post},
        stdio::{LineQueue, StdioError},
    },
};

/// First id of direct calls. rmcp counts from 0, so that the ranges do not meet.
const FIRST_ID: i64 = 1_000_000;

/// The transport of direct calls.
#[derive(Debug)]
pub(crate) enum DirectTransport {
    /// Lines of a byte stream.
    Lines(LineQueue),
    /// Streamable HTTP.
    Http(HttpClient),
}

/// URL and headers of a request over HTTP, for a program that sends its requests itself.
#[derive(Debug, Clone)]
pub struct RequestHead {
    /// The URL. Over a Unix socket, its host is ignored.
    pub url: Url,
    /// The Unix socket to connect to instead of the host.
    pub socket: Option<PathBuf>,
    /// All headers that the revision, the session and the configuration require. Some are secrets.
    pub headers: HeaderMap,
}

/// A transport that is ready for one call.
enum ReadyTransport<'a> {
    Lines(&'a LineQueue),
    Http(HttpClient, Post),
}

/// Direct tool calls of one connection.
#[derive(Debug)]
pub(crate) struct DirectCalls {
    wire: DirectTransport,
    revision: Revision,
    tracker: Arc<RequestTracker>,
    /// Client information that 2026-07-28 requires in each request (basic, "_meta").
    meta: Map<String, Value>,
    next: AtomicI64,
}

/// The reason for a missing response.
#[derive(Debug)]
pub(crate) enum NoResponse {
    /// The session expired. The call was not executed; rmcp can open another session for it.
    SessionEnded,
    /// The connection or the HTTP response ended.
    Cut,
    /// Reading or writing failed.
    Failed(Cause),
}

/// The response to a call. Over HTTP, nothing is sent until it is polled.
pub(crate) type PendingResponse = BoxFuture<'static, Result<Reply, NoResponse>>;

/// A call that was prepared or sent.
pub(crate) struct SentCall {
    pub(crate) id: RequestId,
    pub(crate) progress: Arc<Progress>,
    pub(crate) response: PendingResponse,
}

#[derive(Serialize)]
struct Request<'a> {
    jsonrpc: &'static str,
    id: i64,
    method: &'static str,
    params: &'a Map<String, Value>,
}

impl DirectCalls {
    /// `meta` is the client information for each request in the modern era.
    pub(crate) fn new(
        wire: DirectTransport,
        revision: Revision,
        tracker: Arc<RequestTracker>,
        meta: Map<String, Value>,
    ) -> Self {
        Self { wire, revision, tracker, meta, next: AtomicI64::new(FIRST_ID) }
    }

    /// The head of a request over HTTP. Returns `None` over stdio, while the session is replaced, and if the name has to be
    /// encoded or the tool has parameters in headers.
    pub(crate) fn request_head(&self, method: &'static str, name: Option<&str>) -> Option<RequestHead> {
        let DirectTransport::Http(client) = &self.wire else { return None };
        let mirrored = |name: &str| method == METHOD && self.tracker.asks_for_headers(name);
        if rules(self.revision).stateless && name.is_some_and(mirrored) {
            return None;
        }
        client.request_head(self.revision, method, name)
    }

    /// The metadata that the revision requires in each request; empty if it requires none.
    pub(crate) fn meta(&self) -> &Map<String, Value> {
        &self.meta
    }

    /// Makes a call, with the log level for it (2026-07-28). Returns `None` if the call has to go through rmcp.
    pub(crate) fn send(
        &self,
        method: &str,
        params: &Value,
        call: Option<CallId>,
        log_level: Option<&'static str>,
    ) -> Option<SentCall> {
        let params = params.as_object().filter(|_| method == METHOD && !self.tracker.closed.is_cancelled())?;
        let name = params.get("name").and_then(Value::as_str)?;
        let ready = match &self.wire {
            DirectTransport::Lines(queue) => ReadyTransport::Lines(queue),
            DirectTransport::Http(_) if rules(self.revision).stateless && self.tracker.asks_for_headers(name) => {
                return None;
            }
            DirectTransport::Http(client) => {
                ReadyTransport::Http(client.clone(), client.prepare(self.revision, METHOD, Some(name))?)
            }
        };
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let body = self.body(id, params, log_level)?;
        let id = RequestId::Number(id);
        let progress: Arc<Progress> = Arc::default();
        let token = Some(ProgressToken(id.clone()));
        let entry = InFlight { purpose: Purpose::Other, token, call, progress: Arc::clone(&progress) };
        let reply = self.tracker.open_direct(id.clone(), entry);
        let response = match ready {
            ReadyTransport::Lines(queue) => over_lines(queue.push(body), reply).boxed(),
            ReadyTransport::Http(client, post) => client.send_direct(post, body, id.clone(), reply).boxed(),
        };
        Some(SentCall { id, progress, response })
    }

    /// The message. Its progress token is its id, which is unique in this connection.
    fn body(&self, id: i64, params: &Map<String, Value>, log_level: Option<&str>) -> Option<Vec<u8>> {
        let mut params = params.clone();
        let meta = params.entry("_meta").or_insert_with(|| Value::Object(Map::new())).as_object_mut()?;
        meta.extend(self.meta.iter().map(|(key, value)| (key.clone(), value.clone())));
        meta.extend(log_level.map(|level| (LOG_LEVEL.to_owned(), level.into())));
        meta.insert("progressToken".into(), id.into());
        serde_json::to_vec(&Request { jsonrpc: "2.0", id, method: METHOD, params: &params }).ok()
    }
}

async fn over_lines(queued: Result<(), StdioError>, reply: oneshot::Receiver<Reply>) -> Result<Reply, NoResponse> {
    queued.map_err(|error| match error {
        StdioError::Closed => NoResponse::Cut,
        error => NoResponse::Failed(error.into()),
    })?;
    reply.await.map_err(|_| NoResponse::Cut)
}
