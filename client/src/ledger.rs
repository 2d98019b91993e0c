//! The books of one connection: which requests are under way, what the server has said, and why it ended.
//!
//! Transports hand every message of the server through [`Ledger::decode`] before rmcp sees it. That is where answers keep
//! their raw JSON (rmcp's types would drop what they do not know, and refuse a whole list for one bad tool), and where
//! garbage, answers to unknown ids, and revisions that this client does not speak are caught.

mod changes;
mod decode;
mod elicitations;
mod hearing;
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
pub(crate) use pause::Pause;
pub(crate) use progress::Progress;

use crate::{
    auth::AuthError,
    config::Limits,
    error::Stage,
    event::{CallId, Happening, Reporter, SkipReason, excerpt},
};

/// How many cancelled requests to remember, to tell a late reply from one that nobody asked for.
const CANCELLED_MEMORY: usize = 256;

/// How many requests of the server may be on their way through rmcp.
const ASKED_MEMORY: usize = 1_024;

/// What a request is for, where that matters to the reading of its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    Discover,
    Initialize,
    ListTools,
    Other,
}

/// A request that waits for its answer.
#[derive(Debug, Clone)]
pub(crate) struct InFlight {
    pub(crate) purpose: Purpose,
    pub(crate) token: Option<ProgressToken>,
    pub(crate) call: Option<CallId>,
    pub(crate) progress: Arc<Progress>,
}

/// What a server answers to a request.
pub(crate) type Reply = Result<Value, ErrorData>;

/// Why a connection ended of its own accord.
#[derive(Debug, Clone)]
pub(crate) enum Failure {
    /// The server closed it.
    Closed,
    /// The server broke the protocol.
    Protocol(String),
    /// The server answered with a revision that this client does not speak, or did not ask for.
    Version { wanted: String, offered: String },
    /// Reading or writing failed.
    Transport(String),
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Closed => f.write_str("the server closed the connection"),
            Self::Protocol(detail) => write!(f, "the server broke the protocol: {detail}"),
            Self::Version { wanted, offered } => {
                write!(f, "asked for revision {wanted}, the server offers {offered}")
            }
            Self::Transport(detail) => f.write_str(detail),
        }
    }
}

/// The last HTTP answer that stands for a failure.
#[derive(Debug, Clone)]
pub(crate) struct HttpProblem {
    pub(crate) status: u16,
    pub(crate) body: String,
    pub(crate) challenge: Option<String>,
}

#[derive(Debug, Default)]
struct Books {
    pending: HashMap<RequestId, InFlight>,
    /// Who waits, past rmcp, for the answers to which of them.
    direct: HashMap<RequestId, oneshot::Sender<Reply>>,
    tokens: HashMap<ProgressToken, RequestId>,
    cancelled: VecDeque<RequestId>,
    raw: HashMap<RequestId, RawAnswer>,
    /// What the server asks, as it was on the wire, until rmcp is handed it.
    asked: HashMap<RequestId, CustomRequest>,
    probe: Option<(RequestId, Instant)>,
    stage: Option<Stage>,
    greeting: Option<Value>,
    /// The tools whose schemas ask for headers of their own (2026-07-28).
    header_tools: HashSet<String>,
    probe_outcome: Option<String>,
    http_problem: Option<HttpProblem>,
    auth_failure: Option<AuthError>,
    redirect: Option<crate::transport::http::Refused>,
}

/// An answer as it was on the wire, while a shortened one travels through rmcp's HTTP worker in its place.
#[derive(Debug)]
struct RawAnswer {
    result: Value,
    /// The tools that were shown to the worker, which drops those whose header annotations are invalid.
    shown: Option<HashSet<String>>,
}

/// The books of one connection.
#[derive(Debug)]
pub(crate) struct Ledger {
    books: Mutex<Books>,
    pub(crate) reporter: Reporter,
    pub(crate) limits: Limits,
    /// The revision that a handshake asks for, and whether no other will do.
    pub(crate) wanted: Wanted,
    /// Cancelled when the connection has to end at once.
    pub(crate) over: CancellationToken,
    /// Time that does not count because a person is being asked.
    pub(crate) pause: Pause,
    /// The URLs that the user was sent to.
    pub(crate) elicitations: Elicitations,
    failure: OnceLock<Failure>,
    garbage: AtomicU64,
    tool_changes: watch::Sender<u64>,
    /// Whether nothing is to be waited for before changes of the tools are heard of (2026-07-28).
    listening: watch::Sender<bool>,
}

/// A handshake that is made again, unknown to rmcp. Dropped, at whatever moment, it is struck out.
#[derive(Debug)]
pub(crate) struct Again {
    ledger: Arc<Ledger>,
    id: RequestId,
}

impl Again {
    pub(crate) fn enter(ledger: &Arc<Ledger>, id: &RequestId) -> Self {
        let entry = InFlight { purpose: Purpose::Initialize, token: None, call: None, progress: Arc::default() };
        ledger.open(id.clone(), entry);
        Self { ledger: Arc::clone(ledger), id: id.clone() }
    }
}

impl Drop for Again {
    fn drop(&mut self) {
        self.ledger.settle(&self.id);
    }
}

/// Which revisions will do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// The one to ask for in a handshake.
    pub(crate) handshake: crate::revision::Revision,
    /// Whether it must be exactly that one.
    pub(crate) pinned: bool,
    /// Whether a server that fails the probe is asked for a handshake.
    pub(crate) both_eras: bool,
}

impl Ledger {
    pub(crate) fn new(reporter: Reporter, limits: Limits, wanted: Wanted) -> Arc<Self> {
        Arc::new(Self {
            books: Mutex::default(),
            reporter,
            limits,
            wanted,
            over: CancellationToken::new(),
            pause: Pause::default(),
            elicitations: Elicitations::default(),
            failure: OnceLock::new(),
            garbage: AtomicU64::new(0),
            tool_changes: watch::Sender::new(0),
            listening: watch::Sender::new(false),
        })
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Enters a request that is about to be sent.
    pub(crate) fn open(&self, id: RequestId, entry: InFlight) {
        let mut books = self.books();
        match entry.purpose {
            Purpose::Discover => books.stage = Some(Stage::Probe),
            Purpose::Initialize => books.stage = Some(Stage::Initialize),
            _ => {}
        }
        if let Some(token) = &entry.token {
            books.tokens.insert(token.clone(), id.clone());
        }
        books.pending.insert(id, entry);
    }

    /// Enters a request whose answer is handed to the receiver rather than to rmcp.
    pub(crate) fn open_direct(&self, id: RequestId, entry: InFlight) -> oneshot::Receiver<Reply> {
        let (sender, receiver) = oneshot::channel();
        self.books().direct.insert(id.clone(), sender);
        self.open(id, entry);
        receiver
    }

    /// Strikes out a request that was answered, if somebody waits for the answer past rmcp.
    fn settle_direct(&self, id: &RequestId) -> Option<oneshot::Sender<Reply>> {
        let waiting = self.books().direct.remove(id)?;
        self.settle(id);
        Some(waiting)
    }

    /// Strikes out a request that was answered. `None` if there is none of that id.
    pub(crate) fn settle(&self, id: &RequestId) -> Option<InFlight> {
        let mut books = self.books();
        let entry = books.pending.remove(id)?;
        books.direct.remove(id);
        if let Some(token) = &entry.token {
            books.tokens.remove(token);
        }
        books.raw.remove(id);
        if books.probe.as_ref().is_some_and(|(probe, _)| probe == id) {
            books.probe = None;
        }
        Some(entry)
    }

    /// Strikes out a request that nobody waits for any more.
    pub(crate) fn cancel(&self, id: &RequestId) {
        if self.settle(id).is_some() {
            let mut books = self.books();
            if books.cancelled.len() >= CANCELLED_MEMORY {
                books.cancelled.pop_front();
            }
            books.cancelled.push_back(id.clone());
        }
    }

    /// Keeps the wording of a request of the server: rmcp's types would drop what they do not know, and its HTTP worker
    /// reads each event into them.
    pub(crate) fn keep_request(&self, id: RequestId, request: CustomRequest) {
        let mut books = self.books();
        if books.asked.len() < ASKED_MEMORY {
            books.asked.insert(id, request);
        }
    }

    /// The same request in the server's own words, where they are kept.
    pub(crate) fn reword(&self, id: &RequestId, request: ServerRequest) -> ServerRequest {
        self.books().asked.remove(id).map_or(request, ServerRequest::CustomRequest)
    }

    /// The clock of a request that is under way.
    pub(crate) fn progress_of(&self, id: &RequestId) -> Option<Arc<Progress>> {
        self.books().pending.get(id).map(|entry| Arc::clone(&entry.progress))
    }

    /// The tool call, if any, to which a progress token belongs, and its clock.
    pub(crate) fn by_token(&self, token: &ProgressToken) -> Option<InFlight> {
        let books = self.books();
        books.pending.get(books.tokens.get(token)?).cloned()
    }

    /// How much is kept for somebody: requests that wait, answers and questions on their way through rmcp.
    pub(crate) fn entries(&self) -> usize {
        let books = self.books();
        books.pending.len().max(books.tokens.len()).max(books.direct.len()) + books.raw.len() + books.asked.len()
    }

    pub(crate) fn stage(&self) -> Stage {
        self.books().stage.unwrap_or(Stage::Connect)
    }

    pub(crate) fn start_probe(&self, id: RequestId, deadline: Instant) {
        self.books().probe = Some((id, deadline));
    }

    pub(crate) fn probe(&self) -> Option<(RequestId, Instant)> {
        self.books().probe.clone()
    }

    /// Takes note of how the probe went, for people.
    pub(crate) fn note_probe(&self, outcome: impl Into<String>) {
        self.books().probe_outcome = Some(outcome.into());
    }

    pub(crate) fn probe_outcome(&self) -> Option<String> {
        self.books().probe_outcome.clone()
    }

    /// The raw result of `server/discover` or `initialize`.
    pub(crate) fn greeting(&self) -> Option<Value> {
        self.books().greeting.clone()
    }

    /// Whether a call of this tool has to send headers that its schema asks for (2026-07-28, streamable HTTP, "Custom Headers
    /// from Tool Parameters").
    pub(crate) fn asks_for_headers(&self, tool: &str) -> bool {
        self.books().header_tools.contains(tool)
    }

    pub(crate) fn note_http_problem(&self, problem: HttpProblem) {
        self.books().http_problem = Some(problem);
    }

    pub(crate) fn http_problem(&self) -> Option<HttpProblem> {
        self.books().http_problem.clone()
    }

    /// Takes note that authorization was tried and failed.
    pub(crate) fn note_auth_failure(&self, failure: &AuthError) {
        self.books().auth_failure = Some(failure.clone());
    }

    pub(crate) fn auth_failure(&self) -> Option<AuthError> {
        self.books().auth_failure.clone()
    }

    /// Takes note of a redirect that was not followed.
    pub(crate) fn note_redirect(&self, refused: crate::transport::http::Refused) {
        self.books().redirect = Some(refused);
    }

    pub(crate) fn redirect(&self) -> Option<crate::transport::http::Refused> {
        self.books().redirect.clone()
    }

    /// Ends the connection for this reason; the first reason counts.
    pub(crate) fn fail(&self, failure: Failure) {
        let _ = self.failure.set(failure);
        self.over.cancel();
    }

    pub(crate) fn failure(&self) -> Option<&Failure> {
        self.failure.get()
    }

    /// Reports something that was skipped. Too much of it ends the connection: a server must not keep a client busy
    /// with garbage for ever.
    pub(crate) fn skip(&self, reason: SkipReason, bytes: &[u8]) {
        self.reporter.report(|| Happening::Skipped { reason, excerpt: excerpt(bytes) });
        tracing::debug!(server = self.reporter.server(), ?reason, "skipped");
        let count = self.garbage.fetch_add(1, Ordering::Relaxed) + 1;
        if count > self.limits.garbage {
            self.fail(Failure::Protocol(format!("more than {} lines that are no messages", self.limits.garbage)));
        }
    }
}
