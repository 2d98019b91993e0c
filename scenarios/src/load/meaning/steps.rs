//! The steps: whose they are, in which order they make sense, and which server they are about.

use std::collections::BTreeMap;

use mock_servers::{Period, reading::Spot};

use super::{
    Case, Findings,
    expectations::{judge_step, known_method, known_server},
};
use crate::model::{Call, Finish, HttpStep, Request, Step, Subject};

/// The HTTP methods that a step may send (RFC 9110, 9.1; RFC 5789).
const HTTP_METHODS: [&str; 8] = ["CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"];

pub(super) fn judge(case: &Case<'_>, findings: &mut Findings<'_>) {
    let list = case.root.key("steps");
    if case.scenario.steps.is_empty() && list.is_list() {
        findings.key(list, "no steps", "write one, or take the key away");
    }
    let mut calls = Calls::default();
    let mut died = None;
    for (position, step) in case.scenario.steps.iter().enumerate() {
        let item = list.item(position);
        let spot = item.key(step.kind());
        if let Some(line) = died {
            findings.key(
                spot,
                format!("a step after `die` on line {line}"),
                "nothing is left to take it; move it, or take it away",
            );
        }
        if matches!(step, Step::Die(_)) {
            died = died.or(Some(spot.key_place().line));
        }
        subject(case, step, spot, findings);
        judge_step(step.expect(), spot.key("expect"), case.limit(), findings);
        server(case, step, spot, findings);
        details(case, step, spot, findings);
        calls.take(step, spot, findings);
    }
    // The death of the client ends its calls, and there is nobody left to finish them.
    if died.is_none() {
        calls.refuse_unfinished(findings);
    }
}

fn subject(case: &Case<'_>, step: &Step, spot: Spot<'_>, findings: &mut Findings<'_>) {
    if step.subject() == case.scenario.subject {
        return;
    }
    let (of, steps) = match case.scenario.subject {
        Subject::Client => {
            ("server", "connect, list, call, start, finish, cancel, await, refresh, disconnect, reconnect, roots, die")
        }
        Subject::Server => ("client", "request, notify, raw, pages, http, close"),
    };
    let message = format!("`{}` is a step for a {of}, which is not the subject", step.kind());
    findings.key(spot, message, format!("the subject's steps are {steps}"));
}

/// Which server a step is about; and that it says so where it must.
fn server(case: &Case<'_>, step: &Step, spot: Spot<'_>, findings: &mut Findings<'_>) {
    let (server, needed) = match step {
        Step::Connect(step) => (&step.server, false),
        Step::Call(call) | Step::Start(call) => (&call.server, !call.qualified),
        Step::List(step) => (&step.server, false),
        Step::Await(step) => (&step.server, false),
        Step::Refresh(step) | Step::Disconnect(step) | Step::Reconnect(step) | Step::Die(step) | Step::Close(step) => {
            (&step.server, false)
        }
        _ => return,
    };
    match server {
        Some(server) => known_server(case, server, spot.key("server"), findings),
        None if needed && case.scenario.servers.len() > 1 => {
            let names: Vec<&str> = case.scenario.servers.keys().map(String::as_str).collect();
            let message = format!("`{}` does not say with which server", step.kind());
            findings.key(spot, message, format!("add `server:` with one of `{}`", names.join("`, `")));
        }
        None => {}
    }
}

fn details(case: &Case<'_>, step: &Step, spot: Spot<'_>, findings: &mut Findings<'_>) {
    let limit = case.limit();
    let mut wait = |key: &str, period: Option<Period>| {
        findings.not_zero(spot.key(key), period);
        findings.within_limit(spot.key(key), period, limit);
    };
    match step {
        Step::Connect(step) => findings.not_zero(spot.key("timeout"), step.timeout),
        Step::Call(call) | Step::Start(call) => judge_call(call, spot, findings),
        Step::Await(step) => wait("within", step.within),
        Step::Raw(step) => wait("within", step.within),
        Step::Request(step) => {
            wait("within", step.within);
            known_method(&step.method, spot.key("method"), findings);
        }
        Step::Notify(step) => notification(step, spot, findings),
        Step::Pages(step) => {
            known_method(&step.method, spot.key("method"), findings);
            if step.max_pages == Some(0) {
                findings.value(spot.key("max_pages"), "a limit of nothing", "write at least 1");
            }
        }
        Step::Http(step) => http(step, spot, findings),
        Step::Roots(_) if case.scenario.client.user.as_ref().is_none_or(|user| user.roots.is_none()) => {
            findings.key(
                spot,
                "a user who works elsewhere now, and never worked anywhere",
                "add `roots` to `client.user`",
            );
        }
        _ => {}
    }
}

fn judge_call(call: &Call, spot: Spot<'_>, findings: &mut Findings<'_>) {
    findings.not_zero(spot.key("timeout"), call.timeout);
    findings.not_zero(spot.key("ceiling"), call.ceiling);
    if call.qualified && call.server.is_some() {
        findings.key(spot.key("server"), "a qualified name, and a server", "the name says the server; take one away");
    }
    if call.tool.is_empty() {
        findings.value(spot.key("tool"), "a tool without a name", "name the tool to call");
    }
}

/// A notification has no id, and nobody answers it (JSON-RPC 2.0, 4.1).
fn notification(step: &Request, spot: Spot<'_>, findings: &mut Findings<'_>) {
    known_method(&step.method, spot.key("method"), findings);
    for key in ["id", "within"] {
        if spot.has(key) {
            findings.key(
                spot.key(key),
                format!("`{key}` on a notification"),
                "nobody answers it; use `request`, or take it away",
            );
        }
    }
}

fn http(step: &HttpStep, spot: Spot<'_>, findings: &mut Findings<'_>) {
    if !HTTP_METHODS.contains(&step.method.as_str()) {
        findings.unknown(spot.key("method"), "HTTP method", &step.method, HTTP_METHODS);
    }
    if step.json.is_some() && step.text.is_some() {
        findings.key(spot.key("text"), "a body of JSON and one of text", "an exchange has one body; take one away");
    }
    header_names(step.headers.keys(), spot.key("headers"), findings);
}

/// Header names are tokens (RFC 9110, 5.6.2).
pub(super) fn header_names<'a>(
    names: impl Iterator<Item = &'a String>,
    headers: Spot<'_>,
    findings: &mut Findings<'_>,
) {
    let token = |ch: char| ch.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(ch);
    for name in names {
        if name.is_empty() || !name.chars().all(token) {
            let message = format!("`{name}` is not the name of a header");
            findings.key(headers.key(name), message, "letters, digits and hyphens, as in `mcp-session-id`");
        }
    }
}

/// The calls that were begun, by name.
#[derive(Default)]
struct Calls<'t> {
    begun: BTreeMap<String, Begun<'t>>,
}

struct Begun<'t> {
    spot: Spot<'t>,
    line: usize,
    cancelled: bool,
    finished: bool,
}

impl<'t> Calls<'t> {
    fn take(&mut self, step: &Step, spot: Spot<'t>, findings: &mut Findings<'_>) {
        match step {
            Step::Call(call) if call.name.is_some() => {
                findings.key(
                    spot.key("as"),
                    "`as` on `call`",
                    "a call is over when the step is; use `start`, or take it away",
                );
            }
            Step::Start(call) => self.start(call, spot, findings),
            Step::Finish(finish) => self.end(finish, spot, true, findings),
            Step::Cancel(cancel) => self.end(cancel, spot, false, findings),
            _ => {}
        }
    }

    fn start(&mut self, call: &Call, spot: Spot<'t>, findings: &mut Findings<'_>) {
        let Some(name) = &call.name else {
            findings.key(spot, "`start` without `as`", "add `as:` with a name to finish it by");
            return;
        };
        let line = spot.key_place().line;
        let begun = Begun { spot: spot.key("as"), line, cancelled: false, finished: false };
        if let Some(first) = self.begun.get(name) {
            let message = format!("`{name}` was begun on line {}", first.line);
            findings.value(spot.key("as"), message, "give each call a name of its own");
        } else {
            self.begun.insert(name.clone(), begun);
        }
    }

    fn end(&mut self, finish: &Finish, spot: Spot<'t>, finishes: bool, findings: &mut Findings<'_>) {
        let name = &finish.call;
        let spot = spot.key("call");
        let Some(begun) = self.begun.get_mut(name) else {
            findings.unknown(spot, "call", name, self.begun.keys().map(String::as_str));
            return;
        };
        if begun.finished {
            findings.value(spot, format!("`{name}` was finished before"), "a call ends once; take one away");
        } else if begun.cancelled && !finishes {
            findings.value(spot, format!("`{name}` was cancelled before"), "once is enough; take one away");
        }
        begun.finished |= finishes;
        begun.cancelled |= !finishes;
    }

    fn refuse_unfinished(self, findings: &mut Findings<'_>) {
        for (name, begun) in self.begun {
            if !begun.finished && !begun.cancelled {
                let message = format!("`{name}` is never finished");
                findings.value(begun.spot, message, format!("add `- finish: {{ call: {name} }}`, or `cancel`"));
            }
        }
    }
}
