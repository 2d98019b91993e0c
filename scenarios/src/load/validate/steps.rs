//! The steps: whose they are, in which order they make sense, and which server they are about.

use std::collections::BTreeMap;

use diagnostics::document::TreeCursor;
use mock_servers::HumanDuration;

use super::{
    Case, Findings,
    expectations::judge_step,
    names::{header_names, known_method, known_server},
};
use crate::model::{Call, ClientStep, Finish, HttpStep, Request, ServerStep};

/// The HTTP methods that a step may send (RFC 9110, 9.1; RFC 5789).
const HTTP_METHODS: [&str; 8] = ["CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"];

pub(super) fn judge(case: &Case<'_>, findings: &mut Findings<'_>) {
    let list = case.root.key("steps");
    if case.scenario.steps.is_empty() && list.is_array() {
        findings.key(list, "no steps", "write one, or remove the key");
    }
    for (position, step) in case.scenario.steps.iter().enumerate() {
        judge_step(step.expect(), list.item(position).key(step.kind()).key("expect"), case.limit(), findings);
    }
    client_steps(case, list, findings);
    for (position, step) in case.scenario.steps.server().iter().enumerate() {
        server_step(case, step, list.item(position).key(step.kind()), findings);
    }
}

fn client_steps(case: &Case<'_>, list: TreeCursor<'_>, findings: &mut Findings<'_>) {
    let mut calls = Calls::default();
    let mut died = None;
    for (position, step) in case.scenario.steps.client().iter().enumerate() {
        let spot = list.item(position).key(step.kind());
        if let Some(line) = died {
            findings.key(
                spot,
                format!("a step after `die` on line {line}"),
                "the client no longer runs; move the step, or remove it",
            );
        }
        if matches!(step, ClientStep::Die(_)) {
            died = died.or(Some(spot.key_location().line));
        }
        server(case, step, spot, findings);
        client_step(case, step, spot, findings);
        calls.take(step, spot, findings);
    }
    // The death of the client ends its calls, so they need no `finish`.
    if died.is_none() {
        calls.refuse_unfinished(findings);
    }
}

/// Whether the server of a step exists, and is named where it must be.
fn server(case: &Case<'_>, step: &ClientStep, spot: TreeCursor<'_>, findings: &mut Findings<'_>) {
    let (server, needed) = match step {
        ClientStep::Connect(step) => (&step.server, false),
        ClientStep::Call(call) | ClientStep::Start(call) => (&call.server, !call.qualified),
        ClientStep::List(step) => (&step.server, false),
        ClientStep::Await(step) => (&step.server, false),
        ClientStep::Refresh(step)
        | ClientStep::Disconnect(step)
        | ClientStep::Reconnect(step)
        | ClientStep::Die(step) => (&step.server, false),
        ClientStep::Finish(_) | ClientStep::Cancel(_) | ClientStep::Roots(_) => return,
    };
    match server {
        Some(server) => known_server(case, server, spot.key("server"), findings),
        None if needed && case.scenario.servers.len() > 1 => {
            let names: Vec<&str> = case.scenario.servers.keys().map(String::as_str).collect();
            let message = format!("`{}` does not name a server", step.kind());
            findings.key(spot, message, format!("add `server:` with one of `{}`", names.join("`, `")));
        }
        None => {}
    }
}

fn client_step(case: &Case<'_>, step: &ClientStep, spot: TreeCursor<'_>, findings: &mut Findings<'_>) {
    match step {
        ClientStep::Connect(step) => findings.not_zero(spot.key("timeout"), step.timeout),
        ClientStep::Call(call) | ClientStep::Start(call) => judge_call(call, spot, findings),
        ClientStep::Await(step) => wait(case, spot, step.within, findings),
        ClientStep::Roots(_) if case.scenario.client.user.as_ref().is_none_or(|user| user.roots.is_none()) => {
            findings.key(spot, "new roots for a user without roots", "add `roots` to `client.user`");
        }
        _ => {}
    }
}

fn server_step(case: &Case<'_>, step: &ServerStep, spot: TreeCursor<'_>, findings: &mut Findings<'_>) {
    match step {
        ServerStep::Raw(step) => wait(case, spot, step.within, findings),
        ServerStep::Request(step) => {
            wait(case, spot, step.within, findings);
            known_method(&step.method, spot.key("method"), findings);
        }
        ServerStep::Notify(step) => notification(step, spot, findings),
        ServerStep::Pages(step) => {
            known_method(&step.method, spot.key("method"), findings);
            if step.max_pages == Some(0) {
                findings.value(spot.key("max_pages"), "limit is zero", "write at least 1");
            }
        }
        ServerStep::Http(step) => http(step, spot, findings),
        ServerStep::Close(step) => {
            if let Some(server) = &step.server {
                known_server(case, server, spot.key("server"), findings);
            }
        }
    }
}

fn wait(case: &Case<'_>, spot: TreeCursor<'_>, within: Option<HumanDuration>, findings: &mut Findings<'_>) {
    findings.not_zero(spot.key("within"), within);
    findings.within_limit(spot.key("within"), within, case.limit());
}

fn judge_call(call: &Call, spot: TreeCursor<'_>, findings: &mut Findings<'_>) {
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
fn notification(step: &Request, spot: TreeCursor<'_>, findings: &mut Findings<'_>) {
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

fn http(step: &HttpStep, spot: TreeCursor<'_>, findings: &mut Findings<'_>) {
    if !HTTP_METHODS.contains(&step.method.as_str()) {
        findings.unknown(spot.key("method"), "HTTP method", &step.method, HTTP_METHODS);
    }
    if step.json.is_some() && step.text.is_some() {
        findings.key(spot.key("text"), "a body of JSON and one of text", "an exchange has one body; take one away");
    }
    header_names(step.headers.keys(), spot.key("headers"), findings);
}

/// The calls that were begun, by name.
#[derive(Default)]
struct Calls<'t> {
    begun: BTreeMap<String, Begun<'t>>,
}

struct Begun<'t> {
    spot: TreeCursor<'t>,
    line: usize,
    cancelled: bool,
    finished: bool,
}

impl<'t> Calls<'t> {
    fn take(&mut self, step: &ClientStep, spot: TreeCursor<'t>, findings: &mut Findings<'_>) {
        match step {
            ClientStep::Call(call) if call.name.is_some() => {
                findings.key(
                    spot.key("as"),
                    "`as` on `call`",
                    "a call is over when the step is; use `start`, or take it away",
                );
            }
            ClientStep::Start(call) => self.start(call, spot, findings),
            ClientStep::Finish(finish) => self.end(finish, spot, true, findings),
            ClientStep::Cancel(cancel) => self.end(cancel, spot, false, findings),
            _ => {}
        }
    }

    fn start(&mut self, call: &Call, spot: TreeCursor<'t>, findings: &mut Findings<'_>) {
        let Some(name) = &call.name else {
            findings.key(spot, "`start` without `as`", "add `as:` with a name to finish it by");
            return;
        };
        let line = spot.key_location().line;
        let begun = Begun { spot: spot.key("as"), line, cancelled: false, finished: false };
        if let Some(first) = self.begun.get(name) {
            let message = format!("`{name}` was begun on line {}", first.line);
            findings.value(spot.key("as"), message, "give each call a name of its own");
        } else {
            self.begun.insert(name.clone(), begun);
        }
    }

    fn end(&mut self, finish: &Finish, spot: TreeCursor<'t>, finishes: bool, findings: &mut Findings<'_>) {
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
