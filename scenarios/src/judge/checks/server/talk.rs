//! Reading a conversation with a server out of evidence: requests with their answers, what a step showed, and how a
//! check says what it found.

use mock_servers::{Frame, Mark};
use serde_json::Value;

use crate::{
    evidence::{Evidence, Outcome},
    judge::check::{Check, Ruling, Scope},
    model::{Revision, Subject, Transport},
    peer::same_id,
};

/// The most faults that a verdict tells of.
const MOST_FAULTS: usize = 5;

/// A request of ours and its answer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Exchange<'a> {
    pub(super) asked: &'a Frame,
    pub(super) request: &'a Value,
    pub(super) answer: Option<(&'a Frame, &'a Value)>,
}

impl<'a> Exchange<'a> {
    /// The result, if the answer holds one.
    pub(super) fn result(&self) -> Option<&'a Value> {
        self.answer?.1.get("result")
    }

    /// The error, if the answer holds one.
    pub(super) fn error(&self) -> Option<&'a Value> {
        self.answer?.1.get("error")
    }

    /// The code of the error, if the answer is one.
    pub(super) fn code(&self) -> Option<i64> {
        self.error()?.get("code")?.as_i64()
    }

    /// The HTTP status of the answer, where there is one.
    pub(super) fn status(&self) -> Option<u16> {
        self.answer?.0.http.as_ref()?.status
    }

    /// A parameter of the request.
    pub(super) fn param(&self, name: &str) -> Option<&'a Value> {
        self.request.get("params")?.get(name)
    }

    /// The frames of both.
    pub(super) fn frames(&self) -> Vec<u64> {
        [Some(self.asked.seq), self.answer.map(|(frame, _)| frame.seq)].into_iter().flatten().collect()
    }
}

/// Every message from the server, with the frame that brought it; a batch counts as its messages.
pub(super) fn said(evidence: &Evidence) -> impl Iterator<Item = (&Frame, &Value)> {
    let frames = evidence.frames.iter().filter(|frame| !frame.from_client());
    frames.flat_map(|frame| {
        let messages = match frame.json() {
            Some(Value::Array(batch)) => batch.iter().collect(),
            Some(single) => vec![single],
            None => vec![],
        };
        messages.into_iter().map(move |message| (frame, message))
    })
}

/// Every response from the server: no method, and a result, an error, or at least an id.
pub(super) fn responses(evidence: &Evidence) -> impl Iterator<Item = (&Frame, &Value)> {
    said(evidence).filter(|(_, message)| {
        let answer = ["result", "error", "id"].iter().any(|key| message.get(key).is_some());
        message.get("method").is_none() && answer
    })
}

/// Every request of ours, in order, with the first answer that came after it under its id; over HTTP the one that came
/// as the reply to it, if there is one.
pub(super) fn exchanges(evidence: &Evidence) -> Vec<Exchange<'_>> {
    let asked = evidence.frames.iter().filter(|frame| frame.from_client() && frame.is_request());
    asked
        .filter_map(|asked| {
            let request = asked.json()?;
            let id = request.get("id")?;
            let later = responses(evidence).filter(|(frame, _)| frame.seq > asked.seq);
            let fitting: Vec<_> =
                later.filter(|(_, answer)| answer.get("id").is_some_and(|other| same_id(id, other))).collect();
            let same = fitting.iter().find(|(frame, _)| frame.connection == asked.connection);
            Some(Exchange { asked, request, answer: same.or(fitting.first()).copied() })
        })
        .collect()
}

/// The exchanges of one method.
pub(super) fn asked<'a>(evidence: &'a Evidence, method: &str) -> Vec<Exchange<'a>> {
    exchanges(evidence).into_iter().filter(|exchange| exchange.asked.method() == Some(method)).collect()
}

/// Every item of a list in every page that was read, with the frame that brought it.
pub(super) fn items<'a>(evidence: &'a Evidence, method: &str, key: &str) -> Vec<(u64, &'a Value)> {
    let mut found = Vec::new();
    for exchange in asked(evidence, method) {
        let (Some((frame, _)), Some(result)) = (exchange.answer, exchange.result()) else { continue };
        let list = result.get(key).and_then(Value::as_array);
        found.extend(list.into_iter().flatten().map(|item| (frame.seq, item)));
    }
    found
}

/// The reply to an HTTP exchange: the first frame from the server on the connection of the request.
pub(super) fn reply<'a>(evidence: &'a Evidence, request: &Frame) -> Option<&'a Frame> {
    let mut later = evidence.frames.iter().filter(|frame| frame.seq > request.seq && !frame.from_client());
    later.find(|frame| frame.connection == request.connection)
}

/// The status of a reply.
pub(super) fn status(frame: &Frame) -> Option<u16> {
    frame.http.as_ref()?.status
}

/// A header of a frame.
pub(super) fn header<'a>(frame: &'a Frame, name: &str) -> Option<&'a str> {
    frame.http.as_ref()?.headers.get(name).map(String::as_str)
}

/// The HTTP method of a frame from us.
pub(super) fn http_method(frame: &Frame) -> Option<&str> {
    frame.http.as_ref()?.method.as_deref()
}

/// What is known of the server from the greeting: revisions, capabilities, session.
pub(super) fn facts(evidence: &Evidence) -> Option<&Value> {
    let greeting = evidence.steps.iter().find(|outcome| outcome.step.is_none())?;
    match &greeting.outcome {
        Outcome::Value(value) => Some(value),
        _ => None,
    }
}

/// Whether the server is known to speak revisions of both eras, or not known not to.
pub(super) fn may_be_dual_era(evidence: &Evidence) -> bool {
    let revisions = facts(evidence).and_then(|facts| facts.get("revisions")).and_then(Value::as_array);
    revisions.is_none_or(|revisions| revisions.iter().any(|revision| revision != Revision::V2026_07_28.as_str()))
}

/// Whether the case was over one of the HTTP transports' newer one.
pub(super) fn is_http(evidence: &Evidence) -> bool {
    evidence.transport == Transport::StreamableHttp
}

/// Whether the client sent something that is no JSON at all: then a response may lack an id.
pub(super) fn sent_garbage(evidence: &Evidence) -> bool {
    evidence.frames.iter().any(|frame| frame.from_client() && matches!(frame.body, mock_servers::Body::Text(_)))
}

/// Whether the frame says that something happened to the connection.
pub(super) fn is_mark(frame: &Frame, mark: Mark) -> bool {
    matches!(&frame.body, mock_servers::Body::Mark(other) if *other == mark)
}

/// Something that is wrong, and the frame that shows it.
pub(super) type Fault = (u64, String);

/// What a check found after it had looked at so many things: broken if there are faults, held if there were things to
/// look at, and otherwise not applicable.
pub(super) fn ruling(faults: Vec<Fault>, looked_at: &[u64], held: String, nothing: &str) -> Ruling {
    if !faults.is_empty() {
        let mut words: Vec<String> = faults.iter().take(MOST_FAULTS).map(|(_, fault)| fault.clone()).collect();
        if faults.len() > MOST_FAULTS {
            words.push(format!("and {} more", faults.len() - MOST_FAULTS));
        }
        let mut frames: Vec<u64> = faults.iter().map(|(frame, _)| *frame).collect();
        frames.dedup();
        return Ruling::broken(words.join("; "), frames);
    }
    if looked_at.is_empty() {
        return Ruling::NotApplicable(nothing.to_owned());
    }
    let mut frames = looked_at.to_vec();
    frames.dedup();
    frames.truncate(20);
    Ruling::held(held, frames)
}

/// What a check found in one exchange that has to be refused with one of these codes.
pub(super) fn refused(exchange: Option<&Exchange<'_>>, codes: &[i64], what: &str) -> Ruling {
    let Some(exchange) = exchange else { return Ruling::NotApplicable(format!("{what} was not asked for")) };
    let Some((_, answer)) = exchange.answer else {
        return Ruling::Blocked(format!("{what} was asked for and there is no answer"));
    };
    match exchange.code() {
        Some(code) if codes.contains(&code) => Ruling::held(format!("it is refused with {code}"), exchange.frames()),
        Some(code) => Ruling::broken(format!("it is refused with {code}"), exchange.frames()),
        None => Ruling::broken(format!("it is answered with {}", brief(answer)), exchange.frames()),
    }
}

/// A value in few words.
pub(super) fn brief(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(160) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// A check that is part of every case.
pub(super) const fn always(
    id: &'static str,
    requirement: &'static str,
    expected: &'static str,
    rule: fn(&Evidence) -> Ruling,
) -> Check {
    Check { id, requirement, subject: Subject::Server, scope: Scope::Always, expected, rule }
}

/// A check that scenarios name.
pub(super) const fn named(
    id: &'static str,
    requirement: &'static str,
    expected: &'static str,
    rule: fn(&Evidence) -> Ruling,
) -> Check {
    Check { id, requirement, subject: Subject::Server, scope: Scope::Named, expected, rule }
}
