//! Detects the revisions of a server and its capabilities in each.

use std::{collections::BTreeMap, time::Duration};

use serde_json::{Map, Value, json};

use crate::{
    evidence::StepError,
    model::{Revision, Transport},
};

use super::{FinishedPeer, Peer, PeerError, PeerTransport, ServerTarget, SilentServer, handshake, rpc_error};

/// The newest revision with a handshake.
const NEWEST_LEGACY: Revision = Revision::V2025_11_25;
/// Timeout of a probe if the server responded before.
const PROBE: Duration = Duration::from_secs(3);

/// Transport, revisions and capabilities of a server.
#[derive(Debug, Clone, PartialEq)]
pub struct ProbeResult {
    /// The transport.
    pub transport: Transport,
    /// Identity in each supported revision: the negotiated handshake revision, and 2026-07-28.
    pub identities: BTreeMap<Revision, ServerIdentity>,
    /// Why it is not tested in the other era.
    pub notes: Vec<String>,
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
        json!({
            "revision": revision,
            "revisions": self.revisions().collect::<Vec<_>>(),
            "server_info": identity.server_info,
            "capabilities": identity.capabilities,
        })
    }
}

/// Detects transport and revisions of a server. `startup` is the timeout of its first response.
///
/// # Errors
/// If the server cannot be started or reached, requires authorization, or supports no known revision.
pub async fn probe(target: &ServerTarget, startup: Duration) -> Result<ProbeResult, PeerError> {
    match target {
        ServerTarget::Command(_) => probe_over(target, Transport::Stdio, startup).await,
        ServerTarget::Url(server) => {
            let streamable = probe_over(target, Transport::StreamableHttp, startup).await;
            let Err(PeerError::Silent(_)) = &streamable else { return streamable };
            // No response to a POST: it may be an HTTP+SSE stream (2025-11-25, basic/transports, backwards compatibility).
            match probe_over(target, Transport::HttpSse, startup).await {
                Err(PeerError::Unreachable { .. }) => streamable,
                other => {
                    tracing::debug!(url = %server.url, "the server uses HTTP+SSE");
                    other
                }
            }
        }
    }
}

async fn probe_over(target: &ServerTarget, transport: Transport, startup: Duration) -> Result<ProbeResult, PeerError> {
    let mut found = ProbeResult { transport, identities: BTreeMap::new(), notes: Vec::new() };
    let began = tokio::time::Instant::now();
    let mut silent = probe_legacy(target, transport, startup, &mut found).await?;
    // A server that starts slowly gets more time than it took before; a silent server does not get the whole time again.
    let timeout = if silent.is_some() { startup / 3 } else { PROBE.max(began.elapsed() * 3).min(startup) };
    if transport.carries(Revision::NEWEST_MODERN) {
        silent = match (silent, probe_modern(target, transport, timeout, &mut found).await?) {
            (Some(legacy), Some(modern)) => {
                Some(SilentServer { sent: format!("{} and {}", legacy.sent, modern.sent), ..legacy })
            }
            (_, modern) => modern,
        };
    }
    if !found.identities.is_empty() {
        return Ok(found);
    }
    let unsupported = || SilentServer {
        server: name(target),
        sent: "`initialize` or `server/discover` with a supported revision".to_owned(),
        why: found.notes.join("; "),
        exit: None,
        stderr: String::new(),
    };
    Err(PeerError::Silent(Box::new(silent.unwrap_or_else(unsupported))))
}

/// Sends `initialize`. Returns an error value if the server did not respond, not even with an error.
async fn probe_legacy(
    target: &ServerTarget,
    transport: Transport,
    startup: Duration,
    found: &mut ProbeResult,
) -> Result<Option<SilentServer>, PeerError> {
    let mut peer = Peer::open(target, transport, NEWEST_LEGACY).await?;
    let handshake = peer.handshake(startup).await;
    let (status, finished) = (peer.rejection_status(), peer.end().await);
    if let (Some(status), ServerTarget::Url(server)) = (status, target) {
        return Err(PeerError::Unauthorized { url: server.url.to_string(), status });
    }
    match handshake {
        Ok(result) => {
            if let Some(result) = result {
                note_legacy(&result, found);
            }
            Ok(None)
        }
        Err(error) if error.kind == "rpc-error" => {
            found.notes.push(format!("`initialize` returned an error: {}", error.message));
            Ok(None)
        }
        Err(error) => Ok(Some(silent_server(target, "`initialize`", &error, finished))),
    }
}

fn note_legacy(result: &Value, found: &mut ProbeResult) {
    let version = result.get("protocolVersion").and_then(Value::as_str).unwrap_or_default();
    match version.parse::<Revision>() {
        Ok(revision) if !revision.is_modern() => {
            found.identities.insert(revision, server_identity(result, result.get("serverInfo")));
        }
        _ => found.notes.push(format!(
            "the response to `initialize` has protocol version `{version}`, which is not a revision with a handshake"
        )),
    }
}

/// Sends `server/discover`. Returns an error value if the server did not respond, not even with an error.
async fn probe_modern(
    target: &ServerTarget,
    transport: Transport,
    timeout: Duration,
    found: &mut ProbeResult,
) -> Result<Option<SilentServer>, PeerError> {
    let mut peer = Peer::open(target, transport, Revision::NEWEST_MODERN).await?;
    let response = peer.request(handshake::discover(), timeout).await;
    let finished = peer.end().await;
    match response {
        Ok(response) => {
            note_modern(&response, found);
            Ok(None)
        }
        Err(error) => {
            found.notes.push(format!("no response to `server/discover`: {}", error.message));
            Ok(Some(silent_server(target, "`server/discover`", &error, finished)))
        }
    }
}

fn note_modern(response: &Value, found: &mut ProbeResult) {
    if let Some(error) = rpc_error(response) {
        found.notes.push(format!("`server/discover` returned an error: {}", error.message));
        return;
    }
    let result = response.get("result").cloned().unwrap_or(Value::Null);
    let versions = result.get("supportedVersions").and_then(Value::as_array);
    let lists_it = |versions: &Vec<Value>| versions.iter().any(|version| version == Revision::NEWEST_MODERN.as_str());
    // A discovery response without the list is a defect to report, not an older server.
    let meant = result.get("capabilities").is_some() && result.get("resultType").is_some();
    if versions.map_or(meant, lists_it) {
        let info = result.pointer("/_meta/io.modelcontextprotocol~1serverInfo");
        found.identities.insert(Revision::NEWEST_MODERN, server_identity(&result, info));
    } else {
        found.notes.push(format!("`server/discover` does not list {}", Revision::NEWEST_MODERN));
    }
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
    SilentServer { server, sent: sent.to_owned(), why, exit, stderr: finished.stderr }
}

fn name(target: &ServerTarget) -> String {
    match target {
        ServerTarget::Command(command) => command.to_string(),
        ServerTarget::Url(server) => server.url.to_string(),
    }
}

impl Peer {
    /// The HTTP status of a response that requires authorization.
    fn rejection_status(&self) -> Option<u16> {
        let PeerTransport::Http(_) = &self.transport else { return None };
        let statuses = self.recorder.frames().into_iter().filter_map(|frame| frame.http?.status);
        statuses.into_iter().find(|status| matches!(status, 401 | 403))
    }
}
