//! Opens a session in each revision that a server may support, and keeps those that it supports.
//!
//! The sessions are used for the run, so a server is not started twice for one revision.

use std::{collections::BTreeMap, time::Duration};

use evidence::Body;
use serde_json::{Map, Value, json};
use tokio::{sync::oneshot, time::Instant};

use crate::{
    evidence::StepError,
    model::{Revision, Transport},
};

use super::{
    FinishedPeer, Outgoing, Peer, PeerError, PeerTransport, ServerTarget, SilentServer, VainWork, failure, handshake,
    rpc_error,
};

/// The error of a server that finds headers and body different (2026-07-28, basic/transports/streamable-http#server-validation).
const HEADER_MISMATCH: i64 = -32020;

/// Transport, revisions and capabilities of a server.
#[derive(Debug, Clone)]
pub struct ProbeResult {
    /// The transport.
    pub transport: Transport,
    /// Identity in each supported revision.
    pub identities: BTreeMap<Revision, ServerIdentity>,
    /// Whether it was asked about some revisions only, so that it may support others.
    pub restricted: bool,
    /// Whether it also supports revisions with a handshake, if none of them is tested and it said so.
    pub has_handshake: Option<bool>,
    /// Revisions with a handshake that it was asked for, and the other one that it answered with.
    pub answered_otherwise: BTreeMap<Revision, Revision>,
    /// Why it is not tested in other revisions.
    pub notes: Vec<String>,
    /// Time from the start of the server, or from the first request to a URL, to its first response.
    pub startup: Duration,
    /// Processor time for which the run waited in vain for a server that works.
    pub vain_work: VainWork,
}

/// Name, version and capabilities of a server in one revision.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ServerIdentity {
    /// Its name and version.
    pub server_info: Value,
    /// The declared capabilities.
    pub capabilities: Map<String, Value>,
}

impl ProbeResult {
    /// The supported revisions, oldest first.
    pub fn revisions(&self) -> impl Iterator<Item = Revision> {
        self.identities.keys().copied()
    }

    /// Whether it is the newest supported revision of its era.
    #[must_use]
    pub fn is_newest(&self, revision: Revision) -> bool {
        self.revisions().filter(|other| other.is_modern() == revision.is_modern()).max() == Some(revision)
    }

    /// Whether it declares a capability in a revision: `tools`, `resources.subscribe`. A sub-capability counts if it is
    /// `true` or an object.
    #[must_use]
    pub fn declares(&self, revision: Revision, capability: &str) -> bool {
        let Some(identity) = self.identities.get(&revision) else { return false };
        let mut parts = capability.split('.');
        let first = parts.next().and_then(|name| identity.capabilities.get(name));
        let found = parts.fold(first, |value, name| value?.get(name));
        found.is_some_and(|value| value.is_object() || *value == Value::Bool(true))
    }

    /// The part of the result that checks see, as evidence.
    pub(crate) fn as_value(&self, revision: Revision) -> Value {
        let identity = self.identities.get(&revision).cloned().unwrap_or_default();
        let newest = self.revisions().filter(|revision| self.is_newest(*revision));
        let newest = (!self.restricted).then(|| newest.collect::<Vec<_>>());
        json!({
            "revision": revision,
            "newest_revisions": newest,
            "has_handshake": self.has_handshake,
            "answered_otherwise": self.answered_otherwise,
            "server_info": identity.server_info,
            "capabilities": identity.capabilities,
        })
    }
}

/// What discovery may use.
#[derive(Debug, Clone)]
pub struct DiscoveryOptions {
    /// The revisions to try; empty: all.
    pub revisions: Vec<Revision>,
    /// The transport of a URL; `None`: Streamable HTTP, or HTTP+SSE if the server supports nothing else.
    pub transport: Option<Transport>,
    /// Timeout of the first response.
    pub startup: Duration,
}

/// A server, and an open session in each revision that it supports.
#[derive(Debug)]
pub(crate) struct Discovery {
    /// What was found.
    pub(crate) result: ProbeResult,
    /// The sessions, after their handshake.
    pub(crate) sessions: Vec<Peer>,
    /// If no handshake succeeded although the server sent something: the revision, the records and the error.
    pub(crate) failed: Option<FailedHandshake>,
    /// If the server requires a token and the user gave none: the revision by which its authorization is judged.
    pub(crate) needs_token_in: Option<Revision>,
    /// Revisions with a handshake that it may also support: those older than the newest found, for [`discover_older`].
    pub(crate) older: Vec<Revision>,
}

/// A handshake that failed.
#[derive(Debug)]
pub(crate) struct FailedHandshake {
    pub(crate) revision: Revision,
    pub(crate) finished: FinishedPeer,
    pub(crate) error: StepError,
}

/// Detects the transport of a server, and the newest revision of each era that it supports.
///
/// # Errors
/// If the server cannot be started or reached, rejects the authorization of the user, or sends nothing.
pub(crate) async fn discover(target: &ServerTarget, options: &DiscoveryOptions) -> Result<Discovery, PeerError> {
    let ServerTarget::Url(server) = target else { return discover_over(target, Transport::Stdio, options).await };
    if let Some(transport) = options.transport {
        return discover_over(target, transport, options).await;
    }
    let streamable = discover_over(target, Transport::StreamableHttp, options).await;
    // It may be an HTTP+SSE stream (2025-11-25, basic/transports, backwards compatibility).
    let is_silent = match &streamable {
        Err(PeerError::Silent(_)) => true,
        Ok(Discovery { failed: Some(failed), .. }) if is_no_endpoint(&failed.finished) => false,
        _ => return streamable,
    };
    match discover_over(target, Transport::HttpSse, options).await {
        Err(PeerError::Unreachable { .. }) => streamable,
        other if !is_silent && !other.as_ref().is_ok_and(|found| found.failed.is_none()) => streamable,
        other => {
            tracing::debug!(url = %server.url, "the server uses HTTP+SSE");
            other
        }
    }
}

/// Whether a server rejected a POST as one does that has only HTTP+SSE at its URL.
fn is_no_endpoint(finished: &FinishedPeer) -> bool {
    let mut statuses = finished.frames.iter().filter_map(|frame| frame.http.as_ref()?.status);
    statuses.next().is_some_and(|status| matches!(status, 400 | 404 | 405))
}

async fn discover_over(
    target: &ServerTarget,
    transport: Transport,
    options: &DiscoveryOptions,
) -> Result<Discovery, PeerError> {
    let result = ProbeResult {
        transport,
        identities: BTreeMap::new(),
        restricted: !options.revisions.is_empty(),
        has_handshake: None,
        answered_otherwise: BTreeMap::new(),
        notes: Vec::new(),
        startup: Duration::ZERO,
        vain_work: VainWork::default(),
    };
    let found = Discovery { result, sessions: Vec::new(), failed: None, needs_token_in: None, older: Vec::new() };
    let mut search = Search { target, transport, found, lost: Vec::new() };
    let wanted = |revision: &Revision| {
        transport.carries(*revision) && (options.revisions.is_empty() || options.revisions.contains(revision))
    };
    let (modern, mut legacy): (Vec<Revision>, Vec<Revision>) =
        Revision::ALL.into_iter().filter(wanted).partition(|revision| revision.is_modern());
    let newest = legacy.pop();
    let other_era = async {
        // Rules differ for a server of both eras, whichever of them is tested.
        let is_asked = newest.is_none() && !modern.is_empty();
        if is_asked { has_handshake(target, transport).await } else { None }
    };
    let (has_handshake, tried) =
        tokio::join!(other_era, search.both_eras(newest, modern.last().copied(), options.startup));
    tried?;
    search.found.result.has_handshake = has_handshake;
    // A server answers with the newest revision that it supports, so newer ones need no attempt.
    legacy.retain(|revision| search.newest_handshake().is_some_and(|newest| *revision < newest));
    search.found.older = legacy;
    search.finish()
}

/// Tries the [`older`](Discovery::older) revisions at the same time.
///
/// # Errors
/// If the server cannot be started again, or rejects the authorization of the user.
pub(crate) async fn discover_older(
    target: &ServerTarget,
    mut found: Discovery,
    startup: Duration,
) -> Result<Discovery, PeerError> {
    let older = std::mem::take(&mut found.older);
    if older.is_empty() {
        return Ok(found);
    }
    let mut search = Search { target, transport: found.result.transport, found, lost: Vec::new() };
    let attempts = older.into_iter().map(|revision| search.handshake(revision, startup));
    for attempt in futures::future::join_all(attempts).await {
        search.take(attempt?).await?;
    }
    search.finish()
}

/// Whether a server supports a revision with a handshake; `None` if it does not say so soon.
async fn has_handshake(target: &ServerTarget, transport: Transport) -> Option<bool> {
    let carried = |revision: &Revision| !revision.is_modern() && transport.carries(*revision);
    let newest = Revision::ALL.into_iter().rfind(carried)?;
    let mut peer = Peer::open(target, transport, newest).await.ok()?;
    let response = peer.handshake(handshake::PROBE).await;
    let needs_token = peer.rejection_status().is_some();
    drop(peer.end().await);
    match response {
        _ if needs_token => None,
        Ok(result) => Some(legacy_identity(newest, &result?).is_ok()),
        Err(error) if matches!(error.kind.as_str(), "timed-out" | "closed") => None,
        Err(_) => Some(false),
    }
}

/// A search over one transport.
struct Search<'t> {
    target: &'t ServerTarget,
    transport: Transport,
    found: Discovery,
    lost: Vec<FailedHandshake>,
}

/// A first request and its outcome.
struct Attempt {
    revision: Revision,
    peer: Peer,
    response: Result<Value, StepError>,
}

impl Search<'_> {
    /// Tries the newest revision of each era at the same time.
    async fn both_eras(
        &mut self,
        legacy: Option<Revision>,
        modern: Option<Revision>,
        startup: Duration,
    ) -> Result<(), PeerError> {
        let began = Instant::now();
        let (responded, response) = oneshot::channel();
        let legacy = async {
            let attempt = self.handshake(legacy?, startup).await;
            if attempt.as_ref().is_ok_and(|attempt| attempt.response.is_ok()) {
                // The other side is gone if the discovery has finished.
                let _ = responded.send(began.elapsed());
            }
            Some(attempt)
        };
        let modern = async {
            let revision = modern?;
            // A server that starts slowly gets more time than it took before; one without a response not the whole time.
            let patience = async {
                match response.await {
                    Ok(took) => tokio::time::sleep((took * 3).max(handshake::PROBE).min(startup)).await,
                    Err(_) => tokio::time::sleep(startup).await,
                }
            };
            Some(self.discovery(revision, startup, patience).await)
        };
        let (legacy, modern) = tokio::join!(legacy, modern);
        self.found.result.startup = began.elapsed();
        for attempt in [legacy, modern].into_iter().flatten() {
            self.take(attempt?).await?;
        }
        Ok(())
    }

    async fn handshake(&self, revision: Revision, startup: Duration) -> Result<Attempt, PeerError> {
        let mut peer = Peer::open(self.target, self.transport, revision).await?;
        let response = peer.handshake(startup).await.map(Option::unwrap_or_default);
        Ok(Attempt { revision, peer, response })
    }

    async fn discovery(
        &self,
        revision: Revision,
        startup: Duration,
        patience: impl Future<Output = ()>,
    ) -> Result<Attempt, PeerError> {
        let mut peer = Peer::open(self.target, self.transport, revision).await?;
        let response = tokio::select! {
            response = peer.request(handshake::discover(), startup) => response,
            () = patience => Err(failure("timed-out", "no response to `server/discover`")),
        };
        if response.is_ok() {
            peer.choose_era().await;
        }
        Ok(Attempt { revision, peer, response })
    }

    /// Keeps the session of a successful attempt.
    async fn take(&mut self, attempt: Attempt) -> Result<(), PeerError> {
        let Attempt { revision, mut peer, response } = attempt;
        if let (Some(status), ServerTarget::Url(server)) = (peer.rejection_status(), self.target) {
            if status == 401 && !server.has_authorization() {
                // A server of the older era is not judged by newer rules.
                let oldest = self.found.needs_token_in.map_or(revision, |other| other.min(revision));
                self.found.needs_token_in = Some(oldest);
                self.found.result.notes.push(format!("{revision}: the server requires a token (HTTP 401)"));
                drop(peer.end().await);
                return Ok(());
            }
            return Err(PeerError::Unauthorized { url: server.url.to_string(), status });
        }
        let supported = match response {
            Ok(response) if revision.is_modern() => match modern_identity(revision, &response) {
                Err(error) if error.kind == "rpc-error" => undiscovered_identity(&mut peer, error).await,
                other => other,
            }
            .map(|found| (revision, found)),
            Ok(result) => legacy_identity(revision, &result),
            Err(error) => Err(error),
        };
        if let Ok((other, _)) = &supported
            && *other != revision
        {
            self.found.result.answered_otherwise.insert(revision, *other);
        }
        match supported {
            Ok((revision, identity)) if !self.found.result.identities.contains_key(&revision) => {
                peer.set_revision(revision);
                self.found.result.identities.insert(revision, identity);
                self.found.sessions.push(peer);
            }
            Ok(_) => drop(peer.end().await),
            Err(error) => {
                self.found.result.notes.push(format!("{revision}: {}", error.message));
                self.lost.push(FailedHandshake { revision, finished: peer.end().await, error });
            }
        }
        Ok(())
    }

    /// The newest revision with a handshake that the server supports.
    fn newest_handshake(&self) -> Option<Revision> {
        self.found.result.identities.keys().copied().filter(|revision| !revision.is_modern()).max()
    }

    fn finish(mut self) -> Result<Discovery, PeerError> {
        if !self.found.result.identities.is_empty() {
            self.found.needs_token_in = None;
            return Ok(self.found);
        }
        if self.found.needs_token_in.is_some() {
            return Ok(self.found);
        }
        let position = self.lost.iter().position(|lost| sent_something(&lost.finished));
        if let Some(position) = position {
            self.found.failed = Some(self.lost.swap_remove(position));
            return Ok(self.found);
        }
        let silent = self.lost.into_iter().next().map(|lost| {
            let sent = if lost.revision.is_modern() { "`server/discover`" } else { "`initialize`" };
            silent_server(self.target, sent, &lost.error, lost.finished)
        });
        let unsupported = || SilentServer {
            server: name(self.target),
            sent: "`initialize` or `server/discover` with a supported revision".to_owned(),
            why: self.found.result.notes.join("; "),
            timed_out: false,
            exit: None,
            stderr: String::new(),
        };
        Err(PeerError::Silent(Box::new(silent.unwrap_or_else(unsupported))))
    }
}

/// Whether the server sent text or messages. A status alone may come from something else than a server.
fn sent_something(finished: &FinishedPeer) -> bool {
    finished.frames.iter().any(|frame| {
        let rejected = frame.http.as_ref().and_then(|http| http.status).is_some_and(|status| status >= 400);
        let body = match &frame.body {
            Body::Json(value) => !rejected || value.get("jsonrpc").is_some(),
            Body::Text(_) => !rejected,
            Body::Event(_) => false,
        };
        body && !frame.from_client()
    })
}

/// The negotiated revision and the identity of a server.
fn legacy_identity(requested: Revision, result: &Value) -> Result<(Revision, ServerIdentity), StepError> {
    let version = result.get("protocolVersion").and_then(Value::as_str).unwrap_or_default();
    let identity = server_identity(result, result.get("serverInfo"));
    match version.parse::<Revision>() {
        Ok(revision) if revision.is_modern() => Err(failure(
            "handshake",
            format!("the response to `initialize` has protocol version `{version}`, which has no handshake"),
        )),
        Ok(revision) => Ok((revision, identity)),
        // A check reports the version; the other checks need a revision.
        Err(_) => Ok((requested, identity)),
    }
}

fn modern_identity(revision: Revision, response: &Value) -> Result<ServerIdentity, StepError> {
    if let Some(error) = rpc_error(response) {
        return Err(error);
    }
    let result = response.get("result").cloned().unwrap_or(Value::Null);
    let versions = result.get("supportedVersions").and_then(Value::as_array);
    let lists_it = |versions: &Vec<Value>| versions.iter().any(|version| version == revision.as_str());
    // A discovery response without the list is a defect to report, not an older server.
    let has_type = result.get("resultType").is_some();
    let meant = result.get("capabilities").is_some() || has_type;
    // So is a list without the revision of a request that the server accepts.
    if versions.map_or(meant, |versions| lists_it(versions) || has_type) {
        let info = result.pointer("/_meta/io.modelcontextprotocol~1serverInfo");
        Ok(server_identity(&result, info))
    } else {
        Err(failure("handshake", "the result of `server/discover` does not list the revision"))
    }
}

/// The identity of a server that rejects `server/discover`, but returns results of the modern era to other requests. A
/// check reports the missing method.
async fn undiscovered_identity(peer: &mut Peer, error: StepError) -> Result<ServerIdentity, StepError> {
    let mut capabilities = Map::new();
    for (name, method) in [("tools", "tools/list"), ("resources", "resources/list"), ("prompts", "prompts/list")] {
        let outgoing = Outgoing { method: method.to_owned(), ..Outgoing::default() };
        let response = peer.request(outgoing, handshake::PROBE).await.unwrap_or_default();
        if response.pointer("/result/resultType").is_some() {
            capabilities.insert(name.to_owned(), json!({}));
        }
    }
    // Only servers of the era have this error. The workbench sends all headers.
    if capabilities.is_empty() && error.code != Some(HEADER_MISMATCH) {
        return Err(StepError { message: format!("`server/discover` returned an error: {}", error.message), ..error });
    }
    Ok(ServerIdentity { server_info: Value::Null, capabilities })
}

fn server_identity(result: &Value, info: Option<&Value>) -> ServerIdentity {
    let capabilities = result.get("capabilities").and_then(Value::as_object).cloned().unwrap_or_default();
    ServerIdentity { server_info: info.cloned().unwrap_or(Value::Null), capabilities }
}

fn silent_server(target: &ServerTarget, sent: &str, error: &StepError, finished: FinishedPeer) -> SilentServer {
    // After other errors the workbench itself terminated the process, so its exit status is not meaningful.
    let process = finished.process.filter(|_| error.kind == "closed");
    let exit = process.and_then(|process| match (process.code, process.signal) {
        (Some(code), _) => Some(format!("exited with code {code}")),
        (None, Some(signal)) => Some(format!("was killed by signal {signal}")),
        (None, None) => None,
    });
    let (server, why) = (name(target), error.message.clone());
    let timed_out = error.kind == "timed-out";
    SilentServer { server, sent: sent.to_owned(), why, timed_out, exit, stderr: finished.stderr }
}

fn name(target: &ServerTarget) -> String {
    match target {
        ServerTarget::Command(command) => command.to_string(),
        ServerTarget::Url(server) => server.url.to_string(),
    }
}

impl Peer {
    /// Sets the revision of further messages.
    fn set_revision(&mut self, revision: Revision) {
        self.revision = revision;
    }

    /// The HTTP status of a response that requires authorization.
    fn rejection_status(&self) -> Option<u16> {
        let PeerTransport::Http(_) = &self.transport else { return None };
        let statuses = self.recorder.frames().into_iter().filter_map(|frame| frame.http?.status);
        statuses.into_iter().find(|status| matches!(status, 401 | 403))
    }
}
