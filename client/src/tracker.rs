//! State of one connection: pending requests, what the server sent, and why the connection ended.
//!
//! Transports pass each message of the server to [`RequestTracker::decode`] before rmcp sees it. Responses keep their
//! raw JSON there: rmcp's types drop unknown fields, and reject a whole list for one invalid tool. Invalid messages,
//! unknown ids and unsupported revisions are handled there too.

mod changes;
mod decode;
mod elicitations;
mod notifications;
mod pause;
mod progress;

use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use rmcp::model::{CustomRequest, ErrorData, ProgressToken, RequestId, ServerRequest};
use serde_json::Value;
use tokio::{
    sync::{oneshot, watch},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

pub(crate) use decode::{MALFORMED, OVERSIZE, SESSION_GONE};
pub(crate) use elicitations::Elicitations;
pub use pause::{Elapsed, Pause, Paused};
pub(crate) use progress::Progress;

use crate::{
    auth::AuthError,
    config::Limits,
    error::Stage,
    event::{CallId, ClientEventKind, Reporter, SkipReason, excerpt},
};

/// Number of cancelled requests to remember, to distinguish a late response from one with an unknown id.
const CANCELLED_MEMORY: usize = 256;

/// Number of server requests that may be queued in rmcp.
const MAX_SERVER_REQUESTS: usize = 1_024;

/// The purpose of a request, if it affects how the response is decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    Discover,
    Initialize,
    ListTools,
    Other,
}

/// A pending request.
#[derive(Debug, Clone)]
pub(crate) struct InFlight {
    pub(crate) purpose: Purpose,
    pub(crate) token: Option<ProgressToken>,
    pub(crate) call: Option<CallId>,
    pub(crate) progress: Arc<Progress>,
}

/// The response to a request.
pub(crate) type Reply = Result<Value, ErrorData>;

/// The reason why a connection ended without being closed by the client.
#[derive(Debug, Clone)]
pub(crate) enum Failure {
    /// The server closed it.
    Closed,
    /// The server violated the protocol.
    Protocol(String),
    /// The server selected a revision that this client does not support, or that was not requested.
    Version {
        wanted: String,
        offered: String,
    },
    Transport(String),
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Closed => f.write_str("the server closed the connection"),
            Self::Protocol(detail) => write!(f, "the server violated the protocol: {detail}"),
            Self::Version { wanted, offered } => {
                write!(f, "requested revision {wanted}, the server supports {offered}")
            }
            Self::Transport(detail) => f.write_str(detail),
        }
    }
}

/// The last HTTP response with an error status.
#[derive(Debug, Clone)]
pub(crate) struct HttpProblem {
    pub(crate) status: u16,
    pub(crate) body: String,
    pub(crate) challenge: Option<String>,
}

#[derive(Debug, Default)]
struct TrackerState {
    pending: HashMap<RequestId, InFlight>,
    /// Receivers of responses that bypass rmcp.
    direct: HashMap<RequestId, oneshot::Sender<Reply>>,
    tokens: HashMap<ProgressToken, RequestId>,
    cancelled: VecDeque<RequestId>,
    raw: HashMap<RequestId, RawAnswer>,
    /// Raw server requests, until rmcp delivers them.
    server_requests: HashMap<RequestId, CustomRequest>,
    probe: Option<(RequestId, Instant)>,
    stage: Option<Stage>,
    greeting: Option<Arc<Value>>,
    /// Tools whose schemas require additional headers (2026-07-28).
    header_tools: HashSet<String>,
    probe_outcome: Option<String>,
    http_problem: Option<HttpProblem>,
    auth_failure: Option<AuthError>,
    redirect: Option<crate::transport::http::RedirectError>,
}

/// A raw response, while a shortened one passes through rmcp's HTTP worker.
#[derive(Debug)]
struct RawAnswer {
    result: Value,
    /// The tools that the worker received. It drops those with invalid header annotations.
    shown: Option<HashSet<String>>,
}

/// The state of one connection.
#[derive(Debug)]
pub(crate) struct RequestTracker {
    state: Mutex<TrackerState>,
    pub(crate) reporter: Reporter,
    pub(crate) limits: Limits,
    /// The revision of the handshake, and whether it is pinned.
    pub(crate) wanted: AcceptedRevisions,
    /// Cancelled when the connection has to end.
    pub(crate) closed: CancellationToken,
    /// Pauses timeouts while the user is asked.
    pub(crate) pause: Pause,
    /// URLs that the user was asked to visit.
    pub(crate) elicitations: Elicitations,
    failure: OnceLock<Failure>,
    garbage: AtomicU64,
    tool_changes: watch::Sender<u64>,
    /// When the authorization last changed.
    authorized_at: Mutex<Option<Instant>>,
    /// Whether it is unnecessary to wait for a subscription to changes (2026-07-28).
    listening: watch::Sender<bool>,
    /// The resources whose subscription is acknowledged (2026-07-28).
    watching: watch::Sender<HashSet<String>>,
}

/// A repeated handshake, which rmcp does not know. Its entry is removed on drop.
#[derive(Debug)]
pub(crate) struct RepeatedHandshake {
    tracker: Arc<RequestTracker>,
    id: RequestId,
}

impl RepeatedHandshake {
    pub(crate) fn enter(tracker: &Arc<RequestTracker>, id: &RequestId) -> Self {
        let entry = InFlight { purpose: Purpose::Initialize, token: None, call: None, progress: Arc::default() };
        tracker.open(id.clone(), entry);
        Self { tracker: Arc::clone(tracker), id: id.clone() }
    }
}

impl Drop for RepeatedHandshake {
    fn drop(&mut self) {
        self.tracker.settle(&self.id);
    }
}

/// The revisions that the client accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AcceptedRevisions {
    /// The revision to request in a handshake.
    pub(crate) handshake: crate::revision::Revision,
    /// Whether only that one is accepted.
    pub(crate) pinned: bool,
    /// Whether a failed probe is followed by a handshake.
    pub(crate) both_eras: bool,
}

impl RequestTracker {
    pub(crate) fn new(reporter: Reporter, limits: Limits, wanted: AcceptedRevisions) -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::default(),
            reporter,
            limits,
            wanted,
            closed: CancellationToken::new(),
            pause: Pause::default(),
            elicitations: Elicitations::default(),
            failure: OnceLock::new(),
            garbage: AtomicU64::new(0),
            tool_changes: watch::Sender::new(0),
            authorized_at: Mutex::default(),
            listening: watch::Sender::new(false),
            watching: watch::Sender::default(),
        })
    }

    fn state(&self) -> MutexGuard<'_, TrackerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records a request that is about to be sent.
    pub(crate) fn open(&self, id: RequestId, entry: InFlight) {
        let mut state = self.state();
        match entry.purpose {
            Purpose::Discover => state.stage = Some(Stage::Probe),
            Purpose::Initialize => state.stage = Some(Stage::Initialize),
            _ => {}
        }
        if let Some(token) = &entry.token {
            state.tokens.insert(token.clone(), id.clone());
        }
        state.pending.insert(id, entry);
    }

    /// Records a request whose response goes to the receiver instead of rmcp.
    pub(crate) fn open_direct(&self, id: RequestId, entry: InFlight) -> oneshot::Receiver<Reply> {
        let (sender, receiver) = oneshot::channel();
        self.state().direct.insert(id.clone(), sender);
        self.open(id, entry);
        receiver
    }

    /// Removes a request that was answered, and returns its receiver if the response bypasses rmcp.
    fn settle_direct(&self, id: &RequestId) -> Option<oneshot::Sender<Reply>> {
        let waiting = self.state().direct.remove(id)?;
        self.settle(id);
        Some(waiting)
    }

    /// Removes a request that was answered. Returns `None` for an unknown id.
    pub(crate) fn settle(&self, id: &RequestId) -> Option<InFlight> {
        let mut state = self.state();
        let entry = state.pending.remove(id)?;
        state.direct.remove(id);
        if let Some(token) = &entry.token {
            state.tokens.remove(token);
        }
        state.raw.remove(id);
        if state.probe.as_ref().is_some_and(|(probe, _)| probe == id) {
            state.probe = None;
        }
        Some(entry)
    }

    /// Removes a cancelled request.
    pub(crate) fn cancel(&self, id: &RequestId) {
        if self.settle(id).is_some() {
            let mut state = self.state();
            if state.cancelled.len() >= CANCELLED_MEMORY {
                state.cancelled.pop_front();
            }
            state.cancelled.push_back(id.clone());
        }
    }

    /// Keeps a raw server request: rmcp's types drop unknown fields, and its HTTP worker decodes each event into them.
    pub(crate) fn keep_request(&self, id: RequestId, request: CustomRequest) {
        let mut state = self.state();
        if state.server_requests.len() < MAX_SERVER_REQUESTS {
            state.server_requests.insert(id, request);
        }
    }

    /// The raw form of a server request, if it was kept.
    pub(crate) fn restore_request(&self, id: &RequestId, request: ServerRequest) -> ServerRequest {
        self.state().server_requests.remove(id).map_or(request, ServerRequest::CustomRequest)
    }

    /// Whether a request is pending.
    pub(crate) fn is_pending(&self, id: &RequestId) -> bool {
        self.state().pending.contains_key(id)
    }

    /// The progress of a pending request.
    pub(crate) fn progress_of(&self, id: &RequestId) -> Option<Arc<Progress>> {
        self.state().pending.get(id).map(|entry| Arc::clone(&entry.progress))
    }

    /// The request with this progress token.
    pub(crate) fn by_token(&self, token: &ProgressToken) -> Option<InFlight> {
        let state = self.state();
        state.pending.get(state.tokens.get(token)?).cloned()
    }

    /// Number of entries: pending requests, and messages that are queued in rmcp.
    pub(crate) fn entries(&self) -> usize {
        let state = self.state();
        state.pending.len().max(state.tokens.len()).max(state.direct.len())
            + state.raw.len()
            + state.server_requests.len()
    }

    pub(crate) fn stage(&self) -> Stage {
        self.state().stage.unwrap_or(Stage::Connect)
    }

    pub(crate) fn start_probe(&self, id: RequestId, deadline: Instant) {
        self.state().probe = Some((id, deadline));
    }

    pub(crate) fn probe(&self) -> Option<(RequestId, Instant)> {
        self.state().probe.clone()
    }

    /// Records the outcome of the probe, for messages.
    pub(crate) fn note_probe(&self, outcome: impl Into<String>) {
        self.state().probe_outcome = Some(outcome.into());
    }

    pub(crate) fn probe_outcome(&self) -> Option<String> {
        self.state().probe_outcome.clone()
    }

    /// The raw result of `server/discover` or `initialize`.
    pub(crate) fn greeting(&self) -> Option<Arc<Value>> {
        self.state().greeting.clone()
    }

    /// Whether a call of this tool has to send headers from its arguments (2026-07-28, streamable HTTP, "Custom
    /// Headers from Tool Parameters").
    pub(crate) fn asks_for_headers(&self, tool: &str) -> bool {
        self.state().header_tools.contains(tool)
    }

    pub(crate) fn note_http_problem(&self, problem: HttpProblem) {
        self.state().http_problem = Some(problem);
    }

    pub(crate) fn http_problem(&self) -> Option<HttpProblem> {
        self.state().http_problem.clone()
    }

    /// Records a failed authorization.
    pub(crate) fn note_auth_failure(&self, failure: &AuthError) {
        self.state().auth_failure = Some(failure.clone());
    }

    pub(crate) fn auth_failure(&self) -> Option<AuthError> {
        self.state().auth_failure.clone()
    }

    /// Records a rejected redirect.
    pub(crate) fn note_redirect(&self, rejected: crate::transport::http::RedirectError) {
        self.state().redirect = Some(rejected);
    }

    pub(crate) fn redirect(&self) -> Option<crate::transport::http::RedirectError> {
        self.state().redirect.clone()
    }

    /// Ends the connection. The first reason is kept.
    pub(crate) fn fail(&self, failure: Failure) {
        let _ = self.failure.set(failure);
        self.closed.cancel();
    }

    pub(crate) fn failure(&self) -> Option<&Failure> {
        self.failure.get()
    }

    /// Reports a skipped message. Too many of them end the connection, because a server must not keep a client busy
    /// forever.
    pub(crate) fn skip(&self, reason: SkipReason, bytes: &[u8]) {
        self.reporter.report(|| ClientEventKind::Skipped { reason, excerpt: excerpt(bytes) });
        tracing::debug!(server = self.reporter.server(), ?reason, "skipped");
        let count = self.garbage.fetch_add(1, Ordering::Relaxed) + 1;
        if count > self.limits.garbage {
            self.fail(Failure::Protocol(format!("more than {} lines that are not messages", self.limits.garbage)));
        }
    }
}
