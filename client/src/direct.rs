//! Tool calls past rmcp: from the caller to the wire and back.
//!
//! A request through rmcp changes hands five times (its loop, a task that sends, its HTTP worker, the loop again, the
//! caller), and each time another thread may have to be woken. A tool call needs none of that: this client keeps its own
//! books of what is under way. So over stdio and Streamable HTTP calls are written, and their answers read, without rmcp,
//! which goes on to do all the rest: the handshake, sessions, listings, subscriptions and what servers ask. Where a call is
//! in need of that (a session that has ended, headers that a tool's schema asks for), it goes through rmcp as well.

use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};

use futures::{FutureExt, future::BoxFuture};
use rmcp::model::{ProgressToken, RequestId};
use serde::Serialize;
use serde_json::{Map, Value};
use tokio::sync::oneshot;

use crate::{
    call::METHOD,
    connection::LOG_LEVEL,
    error::Cause,
    event::CallId,
    ledger::{InFlight, Ledger, Progress, Purpose, Reply},
    revision::{Era, Revision},
    transport::{
        http::{HttpClient, Post},
        stdio::{LineQueue, StdioError},
    },
};

/// rmcp counts its ids from 0; these begin far from where a connection's listings and subscriptions will ever get.
const FIRST_ID: i64 = 1_000_000;

/// What calls are written to.
#[derive(Debug)]
pub(crate) enum Wire {
    /// The lines of a byte stream.
    Lines(LineQueue),
    /// A URL.
    Http(HttpClient),
}

/// The same, ready for one call.
enum Ready<'a> {
    Lines(&'a LineQueue),
    Http(HttpClient, Post),
}

/// The way of one connection's calls.
#[derive(Debug)]
pub(crate) struct Direct {
    wire: Wire,
    era: Era,
    ledger: Arc<Ledger>,
    /// What 2026-07-28 has every request say of its client (basic, "_meta").
    meta: Map<String, Value>,
    next: AtomicI64,
}

/// Why there is no answer.
#[derive(Debug)]
pub(crate) enum Unanswered {
    /// The session has ended. The call was not carried out; rmcp can open another one for it.
    SessionEnded,
    /// The connection is over, or the call's own response is.
    Cut,
    /// The transport failed.
    Failed(Cause),
}

/// What comes of a call; over HTTP nothing happens until it is waited for.
pub(crate) type Answer = BoxFuture<'static, Result<Reply, Unanswered>>;

/// A call that has been made.
pub(crate) struct Asked {
    pub(crate) id: RequestId,
    pub(crate) progress: Arc<Progress>,
    pub(crate) answer: Answer,
}

#[derive(Serialize)]
struct Request<'a> {
    jsonrpc: &'static str,
    id: i64,
    method: &'static str,
    params: &'a Map<String, Value>,
}

impl Direct {
    /// `meta` is what every request says of its client in the modern era.
    pub(crate) fn new(wire: Wire, revision: Revision, ledger: Arc<Ledger>, meta: Map<String, Value>) -> Self {
        Self { wire, era: revision.era(), ledger, meta, next: AtomicI64::new(FIRST_ID) }
    }

    /// Makes a call, with the log level that it asks for (2026-07-28). `None` if this one has to go through rmcp.
    pub(crate) fn ask(
        &self,
        method: &str,
        params: &Value,
        call: Option<CallId>,
        log_level: Option<&'static str>,
    ) -> Option<Asked> {
        let params = params.as_object().filter(|_| method == METHOD && !self.ledger.over.is_cancelled())?;
        let name = params.get("name").and_then(Value::as_str)?;
        let ready = match &self.wire {
            Wire::Lines(queue) => Ready::Lines(queue),
            Wire::Http(_) if self.era == Era::Modern && self.ledger.asks_for_headers(name) => return None,
            Wire::Http(client) => Ready::Http(client.clone(), client.prepare(self.era, METHOD, name)?),
        };
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let body = self.body(id, params, log_level)?;
        let id = RequestId::Number(id);
        let progress: Arc<Progress> = Arc::default();
        let token = Some(ProgressToken(id.clone()));
        let entry = InFlight { purpose: Purpose::Other, token, call, progress: Arc::clone(&progress) };
        let reply = self.ledger.open_direct(id.clone(), entry);
        let answer = match ready {
            Ready::Lines(queue) => over_lines(queue.push(body), reply).boxed(),
            Ready::Http(client, post) => client.ask(post, body, id.clone(), reply).boxed(),
        };
        Some(Asked { id, progress, answer })
    }

    /// The message. Its progress token is its id, which nothing else of this connection has.
    fn body(&self, id: i64, params: &Map<String, Value>, log_level: Option<&str>) -> Option<Vec<u8>> {
        let mut params = params.clone();
        let meta = params.entry("_meta").or_insert_with(|| Value::Object(Map::new())).as_object_mut()?;
        meta.extend(self.meta.iter().map(|(key, value)| (key.clone(), value.clone())));
        meta.extend(log_level.map(|level| (LOG_LEVEL.to_owned(), level.into())));
        meta.insert("progressToken".into(), id.into());
        serde_json::to_vec(&Request { jsonrpc: "2.0", id, method: METHOD, params: &params }).ok()
    }
}

async fn over_lines(queued: Result<(), StdioError>, reply: oneshot::Receiver<Reply>) -> Result<Reply, Unanswered> {
    queued.map_err(|error| match error {
        StdioError::Closed => Unanswered::Cut,
        error => Unanswered::Failed(error.into()),
    })?;
    reply.await.map_err(|_| Unanswered::Cut)
}
