//! The log of client actions. It never contains codes, tokens, verifiers, states and assertions, only whether a request
//! had them.

use std::{
    fs::{File, OpenOptions},
    io::{self, Write},
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use super::{clock::Clock, sanitize::sanitized};

/// The largest number of entries that are kept; later ones are only counted.
pub const MAX_ENTRIES: usize = 100_000;

/// One action of a client, and its outcome.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AuditEntry {
    /// The position in the log, counted from 1.
    pub seq: u64,
    /// When, by the server's clock, in milliseconds since the Unix epoch.
    pub at_ms: u64,
    /// The client's id, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// The action.
    pub event: AuditEvent,
}

/// An action of a client.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AuditEvent {
    /// A request for a metadata document or for keys.
    Discovered(Discovered),
    /// A registration.
    Registered(Registered),
    /// The fetch of a client's metadata document.
    DocumentFetched {
        /// `granted`, or why the document is invalid.
        outcome: Outcome,
    },
    /// An authorization request, of the client or the browser.
    Authorized(Authorized),
    /// A token request.
    TokenRequested(TokenRequested),
    /// A second use of an authorization code.
    CodeReused,
    /// A use of a replaced refresh token.
    RefreshReused,
    /// A missing or invalid DPoP proof.
    DpopRefused {
        /// The verifier: `server` or `resource`.
        at: String,
        /// The problem.
        problem: String,
    },
    /// A revocation.
    Revoked {
        /// The outcome.
        outcome: Outcome,
    },
    /// An introspection.
    Introspected {
        /// The outcome.
        outcome: Outcome,
    },
    /// A request to the protected resource.
    Accessed(Accessed),
    /// A request for an unknown path.
    Missed {
        /// The HTTP method.
        method: String,
        /// The path, without its query.
        path: String,
    },
}

/// The outcome of an action.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Success.
    Granted,
    /// An error.
    Refused(String),
    /// No response, because the user does not decide.
    Unanswered,
}

/// A request for a document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Discovered {
    /// `authorization-server`, `openid`, `protected-resource` or `jwks`.
    pub document: String,
    /// The path.
    pub path: String,
    /// The status of the response.
    pub status: u16,
}

/// A registration.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Registered {
    /// `application_type` of the request.
    pub application_type: Option<String>,
    /// `redirect_uris`.
    pub redirect_uris: Vec<String>,
    /// `grant_types` of the request.
    pub grant_types: Vec<String>,
    /// `token_endpoint_auth_method` of the request.
    pub token_endpoint_auth_method: Option<String>,
    /// `scope`.
    pub scope: Option<String>,
    /// The error, if it was rejected.
    pub error: Option<String>,
}

/// An authorization request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Authorized {
    /// The HTTP method.
    pub method: String,
    /// `response_type`.
    pub response_type: Option<String>,
    /// `redirect_uri`, without its query.
    pub redirect_uri: Option<String>,
    /// Whether there is a `code_challenge`.
    pub challenge: bool,
    /// `code_challenge_method`.
    pub challenge_method: Option<String>,
    /// Whether there is a `state`.
    pub state: bool,
    /// `resource`, each of them.
    pub resource: Vec<String>,
    /// `scope`.
    pub scope: Option<String>,
    /// Whether a key was bound to the code (`dpop_jkt`).
    pub dpop_jkt: bool,
    /// The outcome.
    pub outcome: Outcome,
}

/// A request for a token.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenRequested {
    /// `grant_type`.
    pub grant: Option<String>,
    /// The method of client authentication; absent without a client id.
    pub auth_method: Option<String>,
    /// Whether there is a `code_verifier`.
    pub verifier: bool,
    /// `redirect_uri`, without its query.
    pub redirect_uri: Option<String>,
    /// `resource`, each of them.
    pub resource: Vec<String>,
    /// `scope`.
    pub scope: Option<String>,
    /// Whether there is a DPoP proof.
    pub dpop: bool,
    /// The scopes that were granted.
    pub granted_scope: Option<String>,
    /// The error, if it was rejected.
    pub error: Option<String>,
}

/// A request to the protected resource.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Accessed {
    /// The resource.
    pub resource: String,
    /// The HTTP method.
    pub method: String,
    /// The JSON-RPC method.
    pub rpc_method: Option<String>,
    /// The tool of a `tools/call`.
    pub tool: Option<String>,
    /// The scheme of `Authorization`, in lower case; absent without that header.
    pub scheme: Option<String>,
    /// Whether the URL contains a token, which is forbidden.
    pub token_in_query: bool,
    /// The scopes of the token, if this server issued it.
    pub scope: Option<String>,
    /// The status of the rejection; 200 if the request was accepted.
    pub status: u16,
    /// The reason of the rejection, more specific than the error code: `no-token`, `expired`, `wrong-audience`,
    /// `revoked`, `not-ours`, `insufficient-scope`, `scheme`, `dpop`, `nonce`, `insists`, `query-token`, `malformed`.
    pub reason: Option<String>,
    /// The number of challenges for more scopes so far, if this is one: it shows clients that retry without end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
}

#[derive(Debug, Default)]
struct Log {
    entries: Vec<AuditEntry>,
    seq: u64,
    file: Option<File>,
}

/// The log of one server. Clones share it.
#[derive(Debug, Clone)]
pub(crate) struct Audit {
    clock: Clock,
    log: Arc<Mutex<Log>>,
    count: Arc<watch::Sender<u64>>,
}

impl Audit {
    pub(crate) fn new(clock: Clock, record: Option<&Path>) -> io::Result<Self> {
        let file = record.map(|path| OpenOptions::new().create(true).append(true).open(path)).transpose()?;
        let log = Log { file, ..Log::default() };
        Ok(Self { clock, log: Arc::new(Mutex::new(log)), count: Arc::new(watch::Sender::new(0)) })
    }

    pub(crate) fn add(&self, client: Option<&str>, event: AuditEvent) {
        let at_ms = u64::try_from(self.clock.now().as_millis()).unwrap_or(u64::MAX);
        let mut log = self.lock();
        log.seq += 1;
        let entry = AuditEntry { seq: log.seq, at_ms, client: client.map(sanitized), event };
        if let (Some(file), Ok(line)) = (&mut log.file, serde_json::to_string(&entry)) {
            // One write for each entry, so that a process that dies loses nothing that it had recorded.
            if let Err(cause) = file.write_all(format!("{line}\n").as_bytes()) {
                tracing::warn!(%cause, "could not record what a client did");
            }
        }
        if log.entries.len() < MAX_ENTRIES {
            log.entries.push(entry);
        }
        let seq = log.seq;
        drop(log);
        self.count.send_replace(seq);
    }

    pub(crate) fn entries(&self) -> Vec<AuditEntry> {
        self.lock().entries.clone()
    }

    pub(crate) fn watch(&self) -> watch::Receiver<u64> {
        self.count.subscribe()
    }

    fn lock(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A URL without its query and fragment, which could contain secrets.
pub(crate) fn bare(uri: &str) -> String {
    sanitized(uri.split(['?', '#']).next().unwrap_or_default())
}

/// At most ten strings, sanitized.
pub(crate) fn few(texts: &[String]) -> Vec<String> {
    texts.iter().take(10).map(|text| sanitized(text)).collect()
}
