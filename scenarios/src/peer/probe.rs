//! Finds out which revisions a server speaks, and what it declares in each, before it is judged.

use std::{collections::BTreeMap, time::Duration};

use serde_json::{Map, Value, json};

use crate::{
    evidence::StepError,
    model::{Revision, Transport},
};

use super::{Link, Peer, PeerError, ServerTarget, greeting, rpc_error};

/// The newest revision with a handshake: what a good client asks for.
const NEWEST_LEGACY: Revision = Revision::V2025_11_25;
/// How long a server that has answered once may take to answer a probe.
const PROBE: Duration = Duration::from_secs(3);

/// What is known of a server before it is judged.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerFacts {
    /// The transport that it is reached over.
    pub transport: Transport,
    /// What it says of itself, in each revision in which it can be judged: the handshake revision that it negotiates,
    /// and 2026-07-28.
    pub greetings: BTreeMap<Revision, Greeting>,
    /// Why it is not judged in the other era, if so.
    pub notes: Vec<String>,
}

/// What a server says of itself.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Greeting {
    /// Its name and version.
    pub server_info: Value,
    /// What it declares that it can do.
    pub capabilities: Map<String, Value>,
}

impl ServerFacts {
    /// The revisions in which the server can be judged, oldest first.
    pub fn revisions(&self) -> impl Iterator<Item = Revision> {
        self.greetings.keys().copied()
    }

    /// Whether it declares a capability in a revision: `tools`, `resources.subscribe`. A sub-capability counts if it is
    /// `true` or an object.
    #[must_use]
    pub fn declares(&self, revision: Revision, capability: &str) -> bool {
        let Some(greeting) = self.greetings.get(&revision) else { return false };
        let mut parts = capability.split('.');
        let first = parts.next().and_then(|name| greeting.capabilities.get(name));
        let found = parts.fold(first, |value, name| value?.get(name));
        found.is_some_and(|value| value.is_object() || *value == Value::Bool(true))
    }

    /// As evidence: what the checks may know of it.
    pub(crate) fn as_value(&self, revision: Revision) -> Value {
        let greeting = self.greetings.get(&revision).cloned().unwrap_or_default();
        json!({
            "revision": revision,
            "revisions": self.revisions().collect::<Vec<_>>(),
            "server_info": greeting.server_info,
            "capabilities": greeting.capabilities,
        })
    }
}

/// Finds out how to speak with a server. `startup` bounds its first answer.
///
/// # Errors
/// If the server cannot be started or reached, asks for authorization, or speaks no revision that is known.
pub async fn probe(target: &ServerTarget, startup: Duration) -> Result<ServerFacts, PeerError> {
    match target {
        ServerTarget::Command(_) => probe_over(target, Transport::Stdio, startup).await,
        ServerTarget::Url(server) => {
            let streamable = probe_over(target, Transport::StreamableHttp, startup).await;
            let Err(PeerError::Silent { .. }) = &streamable else { return streamable };
            // No answer to a POST: it may be the URL of an old stream (2025-11-25, basic/transports, backwards
            // compatibility).
            match probe_over(target, Transport::Sse, startup).await {
                Err(PeerError::Unreachable { .. }) => streamable,
                other => {
                    tracing::debug!(url = %server.url, "the server speaks HTTP+SSE");
                    other
                }
            }
        }
    }
}

async fn probe_over(target: &ServerTarget, transport: Transport, startup: Duration) -> Result<ServerFacts, PeerError> {
    let mut facts = ServerFacts { transport, greetings: BTreeMap::new(), notes: Vec::new() };
    let began = tokio::time::Instant::now();
    let mut silent = match ask_legacy(target, transport, startup, &mut facts).await? {
        Tried::Answered => None,
        Tried::Silent(error) => Some(error),
    };
    // A server that starts slowly gets the time that it took before, and more; one that said nothing is not waited for
    // as long again.
    let patience = if silent.is_some() { startup / 3 } else { PROBE.max(began.elapsed() * 3).min(startup) };
    if transport.carries(Revision::V2026_07_28) {
        match ask_modern(target, transport, patience, &mut facts).await? {
            Tried::Answered => silent = None,
            Tried::Silent(error) => silent = silent.or(Some(error)),
        }
    }
    match silent {
        _ if !facts.greetings.is_empty() => Ok(facts),
        Some(error) => Err(error),
        None => Err(PeerError::Silent { server: name(target), why: facts.notes.join("; "), stderr: String::new() }),
    }
}

/// What came of a probe.
enum Tried {
    /// The server said something, if only that it does not speak this.
    Answered,
    /// It said nothing that could be told from no server at all.
    Silent(PeerError),
}

async fn ask_legacy(
    target: &ServerTarget,
    transport: Transport,
    startup: Duration,
    facts: &mut ServerFacts,
) -> Result<Tried, PeerError> {
    let mut peer = Peer::open(target, transport, NEWEST_LEGACY).await?;
    let greeted = peer.greet(startup).await;
    let (status, remains) = (peer.refusal(), peer.end().await);
    if let (Some(status), ServerTarget::Url(server)) = (status, target) {
        return Err(PeerError::Unauthorized { url: server.url.to_string(), status });
    }
    match greeted {
        Ok(Some(result)) => {
            note_legacy(&result, facts);
            Ok(Tried::Answered)
        }
        Ok(None) => Ok(Tried::Answered),
        Err(error) if error.kind == "rpc-error" => {
            facts.notes.push(format!("`initialize` is refused: {}", error.message));
            Ok(Tried::Answered)
        }
        Err(error) => Ok(Tried::Silent(silence(target, &error, remains.stderr))),
    }
}

fn note_legacy(result: &Value, facts: &mut ServerFacts) {
    let version = result.get("protocolVersion").and_then(Value::as_str).unwrap_or_default();
    match version.parse::<Revision>() {
        Ok(revision) if !revision.is_modern() => {
            facts.greetings.insert(revision, greeting_of(result, result.get("serverInfo")));
        }
        _ => facts
            .notes
            .push(format!("`initialize` is answered with `{version}`, which is no revision with a handshake")),
    }
}

async fn ask_modern(
    target: &ServerTarget,
    transport: Transport,
    patience: Duration,
    facts: &mut ServerFacts,
) -> Result<Tried, PeerError> {
    let mut peer = Peer::open(target, transport, Revision::V2026_07_28).await?;
    let response = peer.request(greeting::discover(), patience).await;
    let remains = peer.end().await;
    match response {
        Ok(response) => {
            note_modern(&response, facts);
            Ok(Tried::Answered)
        }
        Err(error) => {
            facts.notes.push(format!("`server/discover` is not answered: {}", error.message));
            Ok(Tried::Silent(silence(target, &error, remains.stderr)))
        }
    }
}

fn note_modern(response: &Value, facts: &mut ServerFacts) {
    if let Some(error) = rpc_error(response) {
        facts.notes.push(format!("`server/discover` is refused: {}", error.message));
        return;
    }
    let result = response.get("result").cloned().unwrap_or(Value::Null);
    let versions = result.get("supportedVersions").and_then(Value::as_array);
    let lists_it = |versions: &Vec<Value>| versions.iter().any(|version| version == Revision::V2026_07_28.as_str());
    // An answer that is meant as a discovery, and only lacks the list, is a defect to be judged and no older server.
    let meant = result.get("capabilities").is_some() && result.get("resultType").is_some();
    if versions.map_or(meant, lists_it) {
        let info = result.pointer("/_meta/io.modelcontextprotocol~1serverInfo");
        facts.greetings.insert(Revision::V2026_07_28, greeting_of(&result, info));
    } else {
        facts.notes.push("`server/discover` does not list 2026-07-28".to_owned());
    }
}

fn greeting_of(result: &Value, info: Option<&Value>) -> Greeting {
    let capabilities = result.get("capabilities").and_then(Value::as_object).cloned().unwrap_or_default();
    Greeting { server_info: info.cloned().unwrap_or(Value::Null), capabilities }
}

fn silence(target: &ServerTarget, error: &StepError, stderr: String) -> PeerError {
    PeerError::Silent { server: name(target), why: error.message.clone(), stderr }
}

fn name(target: &ServerTarget) -> String {
    match target {
        ServerTarget::Command(command) => command.to_string(),
        ServerTarget::Url(server) => server.url.to_string(),
    }
}

impl Peer {
    /// The status with which the server asked for authorization, if it did.
    fn refusal(&self) -> Option<u16> {
        let Link::Http(_) = &self.link else { return None };
        let statuses = self.wire.frames().into_iter().filter_map(|frame| frame.http?.status);
        statuses.into_iter().find(|status| matches!(status, 401 | 403))
    }
}
