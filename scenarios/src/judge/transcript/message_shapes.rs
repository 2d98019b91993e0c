//! Compares the messages of a transcript with the shapes of the revisions in which they were sent, once for all checks.

use std::collections::HashMap;

use serde_json::Value;

use super::{Direction, Message, RequestResponse, Transcript, http::status};
use crate::{model::Revision, shapes};

/// The compared messages of the server, by definition.
#[derive(Debug, Default)]
pub(in crate::judge) struct MessageShapes {
    by_definition: HashMap<&'static str, Vec<Compared>>,
}

/// The values of one definition in one message.
#[derive(Debug)]
pub(in crate::judge) struct Compared {
    /// The frame.
    pub(in crate::judge) seq: u64,
    /// Number of faults.
    pub(in crate::judge) faults: usize,
    /// The first faults, in words.
    pub(in crate::judge) described: Vec<String>,
}

impl MessageShapes {
    /// Compares every message of the server.
    pub(super) fn compare(transcript: &Transcript<'_>) -> Self {
        let revisions = Revisions::new(transcript);
        let mut all = Self::default();
        for message in transcript.server_messages().filter(is_judged) {
            let request = revisions.request_of(&message);
            let Some(revision) = revisions.server_revision(&message, request) else { continue };
            let method = request.and_then(|request| request.request.method());
            all.add(message.seq(), shapes::check(revision, Direction::ServerToClient, message.json, method));
        }
        all
    }

    fn add(&mut self, seq: u64, report: shapes::Report) {
        let mut described: HashMap<&str, Vec<String>> = HashMap::new();
        let mut without_version = 0;
        for fault in report.faults {
            // A missing version is reported by the check `jsonrpc-version`.
            if fault.pointer == "/jsonrpc" {
                without_version += 1;
                continue;
            }
            described.entry(fault.definition).or_default().push(fault.to_string());
        }
        for (definition, counts) in report.counts {
            let is_envelope = matches!(definition, "request" | "notification" | "result-response" | "error-response");
            let faults = if is_envelope { counts.faults - without_version } else { counts.faults };
            let described = described.remove(definition).unwrap_or_default();
            self.by_definition.entry(definition).or_default().push(Compared { seq, faults, described });
        }
    }

    /// The compared messages with one of these definitions.
    pub(in crate::judge) fn with<'s>(&'s self, definitions: &'s [&str]) -> impl Iterator<Item = &'s Compared> {
        definitions.iter().filter_map(|name| self.by_definition.get(name)).flatten()
    }
}

/// Whether a message has a shape. Others are the subject of checks on JSON-RPC; over HTTP an error status may have any
/// body.
fn is_judged(message: &Message<'_>) -> bool {
    let json = message.json;
    let is_message = ["method", "result", "error"].iter().any(|member| json.get(member).is_some());
    let is_rpc = json.get("jsonrpc").is_some() || status(message.frame).is_none_or(|status| status < 400);
    json.is_object() && is_message && is_rpc
}

/// The revisions in which the messages of the server were sent.
struct Revisions<'t, 'a> {
    transcript: &'t Transcript<'a>,
    /// The requests by the addresses of their responses.
    requests: HashMap<*const Value, &'t RequestResponse<'a>>,
    /// The revisions that handshakes negotiated, by the numbers of later frames of the server.
    negotiated: HashMap<u64, Revision>,
}

impl<'t, 'a> Revisions<'t, 'a> {
    fn new(transcript: &'t Transcript<'a>) -> Self {
        let pairs = transcript.requests().iter();
        let requests = pairs.filter_map(|pair| Some((std::ptr::from_ref(pair.response?.json), pair))).collect();
        let mut revisions = Self { transcript, requests, negotiated: HashMap::new() };
        for session in transcript.sessions() {
            let mut current = None;
            for message in session.messages().filter(|message| !message.by_client()) {
                let request = revisions.request_of(&message);
                let handshake = request.filter(|request| request.request.is("initialize"));
                // A server that negotiates again may use features of both revisions.
                current = current.max(handshake.and_then(negotiated));
                if let Some(revision) = current {
                    revisions.negotiated.insert(message.seq(), revision);
                }
            }
        }
        revisions
    }

    fn request_of(&self, response: &Message<'a>) -> Option<&'t RequestResponse<'a>> {
        self.requests.get(&std::ptr::from_ref(response.json)).copied()
    }

    /// The revision of a message of the server; none if it cannot be known.
    fn server_revision(&self, message: &Message<'a>, request: Option<&RequestResponse<'a>>) -> Option<Revision> {
        let of_case = self.transcript.evidence.revision;
        let revision = match request {
            Some(request) if request.request.is("initialize") => negotiated(request)
                .or_else(|| legacy(request.param("protocolVersion")?))
                .or(Some(if of_case.is_modern() { Revision::NEWEST_LEGACY } else { of_case })),
            Some(request) if request.request.revision().is_some() => modern(&request.request),
            Some(_) => self.in_session(message),
            None if message.method().is_none() => self.in_session(message),
            None => self.context_revision(message),
        };
        // Errors have one form in all revisions, apart from codes that only one era has.
        revision.or_else(|| message.error().map(|_| of_case))
    }

    /// The revision of a response to a request without metadata.
    fn in_session(&self, message: &Message<'a>) -> Option<Revision> {
        let of_case = self.transcript.evidence.revision;
        self.negotiated.get(&message.seq()).copied().or_else(|| (!of_case.is_modern()).then_some(of_case))
    }

    /// The revision of a request or notification of the server. Over HTTP it is that of the request on whose stream it was
    /// sent. Over stdio it is not known if both eras are in use.
    fn context_revision(&self, message: &Message<'a>) -> Option<Revision> {
        let of_case = self.transcript.evidence.revision;
        // Over stdio all messages share one connection, and none is a POST.
        if message.frame.http.is_some() {
            let post = self.transcript.connection_of(message.frame).and_then(|connection| connection.request());
            let revision = post.into_iter().flat_map(Message::all_of).find_map(|request| modern(&request));
            if revision.is_some() {
                return revision;
            }
        }
        match self.negotiated.get(&message.seq()) {
            Some(_) if of_case.is_modern() => None,
            Some(negotiated) => Some(*negotiated),
            None => Some(of_case),
        }
    }
}

/// The modern revision in the metadata of a request.
fn modern(request: &Message<'_>) -> Option<Revision> {
    request.revision()?.as_str()?.parse().ok().filter(|revision: &Revision| revision.is_modern())
}

fn legacy(version: &Value) -> Option<Revision> {
    version.as_str()?.parse().ok().filter(|revision: &Revision| !revision.is_modern())
}

/// The revision that a response to `initialize` negotiates.
fn negotiated(request: &RequestResponse<'_>) -> Option<Revision> {
    legacy(request.result()?.get("protocolVersion")?)
}
