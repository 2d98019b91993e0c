//! The steps: their servers, their order and their parameters.

use std::collections::BTreeMap;

use diagnostics::document::TreeCursor;
use mock_servers::HumanDuration;

use super::{
    Case, Findings,
    expectations::check_step,
    names::{header_names, known_method, known_server},
};
use crate::model::{Call, ClientStep, Finish, HttpStep, Input, Request, ServerStep, SessionUse, Stop};

/// The HTTP methods that a step may send (RFC 9110, 9.1; RFC 5789).
const HTTP_METHODS: [&str; 8] = ["CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"];

/// The most repetitions of a step: the number of steps that a client can be told without being a load by itself.
const MOST_TIMES: u32 = 10_000;

pub(super) fn check(case: &Case<'_>, findings: &mut Findings<'_>) {
    let list = case.root.key("steps");
    if case.scenario.steps.is_empty() && list.is_array() {
        findings.key(list, "no steps", "write one, or remove the key");
    }
    for (position, step) in case.scenario.steps.iter().enumerate() {
        let (expect, spot) = (step.expect(), list.item(position).key(step.kind()).key("expect"));
        check_step(expect, spot, case.limit(), findings);
        if expect.if_failed.is_some_and(|earlier| earlier >= position) {
            findings.value(
                spot.key("if_failed"),
                "`if_failed` is not an earlier step",
                "write the index of one, from 0",
            );
        }
    }
    client_steps(case, list, findings);
    if case.scenario.session == SessionUse::Whole && !case.scenario.steps.is_empty() {
        findings.key(list, "steps in a scenario for the whole session", "remove them, or write `session: shared`");
    }
    for (position, step) in case.scenario.steps.server().iter().enumerate() {
        server_step(case, step, list.item(position).key(step.kind()), findings);
    }
}

/// Steps that only an agent executes.
const AGENT_ONLY: [&str; 6] = ["search", "command", "mention", "status", "log-in", "restart"];
/// The steps of clients that an agent executes too.
const OF_AGENTS_TOO: [&str; 3] = ["list", "call", "await"];

fn client_steps(case: &Case<'_>, list: TreeCursor<'_>, findings: &mut Findings<'_>) {
    let mut calls = Calls::default();
    let mut died = None;
    for (position, step) in case.scenario.steps.client().iter().enumerate() {
        let spot = list.item(position).key(step.kind());
        if let Some(line) = died {
            findings.key(
                spot,
                format!("step after `die` on line {line}"),
                "the client no longer runs; move or remove the step",
            );
        }
        if matches!(step, ClientStep::Die(_)) {
            died = died.or(Some(spot.key_location().line));
        }
        server(case, step, spot, findings);
        agent_step(case, step, spot, findings);
        client_step(case, step, spot, findings);
        calls.add(step, spot, findings);
    }
    // Killing the client ends its calls, so they need no `finish`.
    if died.is_none() {
        calls.refuse_unfinished(findings);
    }
}

/// Checks that a step names an existing server where it must.
fn server(case: &Case<'_>, step: &ClientStep, spot: TreeCursor<'_>, findings: &mut Findings<'_>) {
    let (server, needed) = match step {
        ClientStep::Connect(step) => (&step.server, false),
        ClientStep::Call(call) | ClientStep::Start(call) => (&call.server, !call.qualified),
        ClientStep::List(step) => (&step.server, false),
        ClientStep::Await(step) => (&step.server, false),
        ClientStep::Reconnect(step) => (&step.server, false),
        ClientStep::Refresh(step) | ClientStep::Disconnect(step) | ClientStep::Die(step) => (&step.server, false),
        ClientStep::Resources(step)
        | ClientStep::ResourceTemplates(step)
        | ClientStep::Prompts(step)
        | ClientStep::LogIn(step) => (&step.server, true),
        ClientStep::Read(step)
        | ClientStep::Subscribe(step)
        | ClientStep::Unsubscribe(step)
        | ClientStep::Mention(step) => (&step.server, true),
        ClientStep::Command(step) => (&step.server, true),
        ClientStep::Prompt(step) => (&step.server, true),
        ClientStep::Complete(step) => (&step.server, true),
        ClientStep::LogLevel(step) => (&step.server, true),
        ClientStep::Finish(_)
        | ClientStep::Cancel(_)
        | ClientStep::Roots(_)
        | ClientStep::Status(_)
        | ClientStep::Restart(_)
        | ClientStep::Search(_) => return,
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

/// Checks that a step has the subject that can execute it: an agent, or a client.
fn agent_step(case: &Case<'_>, step: &ClientStep, spot: TreeCursor<'_>, findings: &mut Findings<'_>) {
    let kind = step.kind();
    match case.scenario.client.agent {
        None if AGENT_ONLY.contains(&kind) => {
            findings.key(spot, format!("`{kind}` is a step of agents"), "add `agent: {}` to `client`");
        }
        Some(_) if !AGENT_ONLY.contains(&kind) && !OF_AGENTS_TOO.contains(&kind) => {
            let all = AGENT_ONLY.into_iter().chain(OF_AGENTS_TOO).collect::<Vec<_>>().join("`, `");
            findings.key(spot, format!("`{kind}` is not a step of agents"), format!("use one of `{all}`"));
        }
        _ => {}
    }
}

fn client_step(case: &Case<'_>, step: &ClientStep, spot: TreeCursor<'_>, findings: &mut Findings<'_>) {
    match step {
        ClientStep::Connect(step) => findings.not_zero(spot.key("timeout"), step.timeout),
        ClientStep::Reconnect(step) if step.times.is_some_and(|times| !(1..=MOST_TIMES).contains(&times)) => {
            let message = format!("`times` is not between 1 and {MOST_TIMES}");
            findings.value(spot.key("times"), message, "write a number of repetitions in this range, or remove it");
        }
        ClientStep::Call(call) | ClientStep::Start(call) => check_call(call, spot, findings),
        ClientStep::Await(step) => wait(case, spot, step.within, findings),
        ClientStep::Complete(step) if step.prompt.is_some() == step.template.is_some() => {
            findings.key(spot, "`complete` needs `prompt` or `template`", "add exactly one of them");
        }
        ClientStep::Roots(_) if case.scenario.client.user.as_ref().is_none_or(|user| user.roots.is_none()) => {
            findings.key(spot, "`roots` for a user without roots", "add `roots` to `client.user`");
        }
        _ => {}
    }
}

fn server_step(case: &Case<'_>, step: &ServerStep, spot: TreeCursor<'_>, findings: &mut Findings<'_>) {
    match step {
        ServerStep::Raw(step) => {
            wait(case, spot, step.within, findings);
            if step.pieces == Some(0) {
                findings.value(spot.key("pieces"), "count is zero", "write at least 1");
            }
        }
        ServerStep::Request(step) => {
            wait(case, spot, step.within, findings);
            known_method(&step.method, spot.key("method"), findings);
            header_names(step.headers.keys(), spot.key("headers"), findings);
            repeated(step, spot, findings);
            left_open(case, step, spot, findings);
        }
        ServerStep::Wait(step) => {
            findings.not_zero(spot.key("for"), Some(step.period));
            findings.within_limit(spot.key("for"), Some(step.period), case.limit());
            if let Some(path) = &step.condition {
                json_path(path, spot.key("if"), findings);
            }
        }
        ServerStep::Notify(step) => notification(step, spot, findings),
        ServerStep::Pages(step) => {
            known_method(&step.method, spot.key("method"), findings);
            if step.max_pages == Some(0) {
                findings.value(spot.key("max_pages"), "limit is zero", "write at least 1");
            }
        }
        ServerStep::CallTools(step) => {
            wait(case, spot, step.within, findings);
            json_path(&step.tools, spot.key("tools"), findings);
        }
        ServerStep::TaskCalls(step) => {
            wait(case, spot, step.within, findings);
            json_path(&step.tools, spot.key("tools"), findings);
        }
        ServerStep::ReadTemplates(step) => json_path(&step.templates, spot.key("templates"), findings),
        ServerStep::GetPrompts(step) => json_path(&step.prompts, spot.key("prompts"), findings),
        ServerStep::Http(step) => http(step, spot, findings),
        ServerStep::Input(step) => input(step, spot, findings),
        ServerStep::Stop(step) => stop(case, step, spot, findings),
        ServerStep::Together(step) => {
            wait(case, spot, step.within, findings);
            for (position, request) in step.requests.iter().enumerate() {
                known_method(&request.method, spot.key("requests").item(position).key("method"), findings);
            }
            if step.requests.len() < 2 {
                findings.key(spot.key("requests"), "fewer than two requests", "use `request`, or add one");
            }
        }
        ServerStep::Sessions(step) => {
            if step.count < 2 {
                findings.value(spot.key("count"), "fewer than two sessions", "write at least 2");
            }
        }
        ServerStep::Listen(_) => {}
        ServerStep::Close(step)
        | ServerStep::Terminate(step)
        | ServerStep::Unauthorized(step)
        | ServerStep::OtherAddress(step) => {
            if let Some(server) = &step.server {
                known_server(case, server, spot.key("server"), findings);
            }
        }
    }
}

/// Checks a request that is sent once per item.
fn repeated(step: &Request, spot: TreeCursor<'_>, findings: &mut Findings<'_>) {
    let Some(path) = &step.each else {
        if step.max.is_some() {
            findings.key(spot.key("max"), "`max` without `each`", "add `each`, or remove it");
        }
        return;
    };
    json_path(path, spot.key("each"), findings);
    for key in ["id", "times", "until", "repeat"].into_iter().filter(|key| spot.has(key)) {
        findings.key(spot.key(key), format!("`{key}` together with `each`"), "remove one");
    }
}

/// Checks that a request which stays open waits for a notification and ends later.
fn left_open(case: &Case<'_>, step: &Request, spot: TreeCursor<'_>, findings: &mut Findings<'_>) {
    let Some(name) = &step.name else { return };
    if step.until.is_none() {
        findings.key(spot.key("as"), "`as` without `until`", "add `until`, or remove it");
    }
    let ends = |other: &ServerStep| match other {
        ServerStep::Stop(stop) => stop.request == *name,
        other => matches!(other, ServerStep::Close(_) | ServerStep::Terminate(_)),
    };
    if !case.scenario.steps.server().iter().any(ends) {
        findings.key(
            spot.key("as"),
            format!("the request `{name}` stays open"),
            "add a step `stop` for it, or `close`",
        );
    }
}

fn stop(case: &Case<'_>, step: &Stop, spot: TreeCursor<'_>, findings: &mut Findings<'_>) {
    let requests = case.scenario.steps.server().iter().filter_map(|other| match other {
        ServerStep::Request(request) => request.name.as_deref(),
        _ => None,
    });
    let names: Vec<&str> = requests.collect();
    if !names.contains(&step.request.as_str()) {
        findings.unknown(spot.key("request"), "request", &step.request, names);
    }
}

fn input(step: &Input, spot: TreeCursor<'_>, findings: &mut Findings<'_>) {
    let methods = ["tools/call", "prompts/get", "resources/read"];
    if !methods.contains(&step.method.as_str()) {
        findings.unknown(spot.key("method"), "method with input requests", &step.method, methods);
    }
    if let Err(cause) = serde_json_path::JsonPath::parse(&step.each) {
        findings.value(spot.key("each"), format!("not a JSONPath: {cause}"), "write a path such as `$.steps[0].items`");
    }
}

fn json_path(path: &str, spot: TreeCursor<'_>, findings: &mut Findings<'_>) {
    if let Err(cause) = serde_json_path::JsonPath::parse(path) {
        findings.value(spot, format!("not a JSONPath: {cause}"), "write a path such as `$.steps[0].items`");
    }
}

fn wait(case: &Case<'_>, spot: TreeCursor<'_>, within: Option<HumanDuration>, findings: &mut Findings<'_>) {
    findings.not_zero(spot.key("within"), within);
    findings.within_limit(spot.key("within"), within, case.limit());
}

fn check_call(call: &Call, spot: TreeCursor<'_>, findings: &mut Findings<'_>) {
    findings.not_zero(spot.key("timeout"), call.timeout);
    findings.not_zero(spot.key("ceiling"), call.ceiling);
    if call.qualified && call.server.is_some() {
        findings.key(spot.key("server"), "a qualified name and a server", "the name contains the server; remove one");
    }
    if call.tool.is_empty() {
        findings.value(spot.key("tool"), "a tool without a name", "name the tool to call");
    }
}

/// A notification has no id and no response (JSON-RPC 2.0, 4.1).
fn notification(step: &Request, spot: TreeCursor<'_>, findings: &mut Findings<'_>) {
    known_method(&step.method, spot.key("method"), findings);
    for key in ["id", "within"] {
        if spot.has(key) {
            findings.key(
                spot.key(key),
                format!("`{key}` on a notification"),
                "a notification has no response; use `request`, or remove it",
            );
        }
    }
}

fn http(step: &HttpStep, spot: TreeCursor<'_>, findings: &mut Findings<'_>) {
    if !HTTP_METHODS.contains(&step.method.as_str()) {
        findings.unknown(spot.key("method"), "HTTP method", &step.method, HTTP_METHODS);
    }
    if step.json.is_some() && step.text.is_some() {
        findings.key(spot.key("text"), "`json` and `text` in one request", "a request has one body; remove one");
    }
    header_names(step.headers.keys(), spot.key("headers"), findings);
}

/// The started calls by name.
#[derive(Default)]
struct Calls<'t> {
    started: BTreeMap<String, StartedCall<'t>>,
}

struct StartedCall<'t> {
    spot: TreeCursor<'t>,
    line: usize,
    cancelled: bool,
    finished: bool,
}

impl<'t> Calls<'t> {
    fn add(&mut self, step: &ClientStep, spot: TreeCursor<'t>, findings: &mut Findings<'_>) {
        match step {
            ClientStep::Call(call) if call.name.is_some() => {
                findings.key(
                    spot.key("as"),
                    "`as` on `call`",
                    "`call` waits for the result; use `start`, or remove it",
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
            findings.key(spot, "`start` without `as`", "add `as:` with a name for `finish`");
            return;
        };
        let line = spot.key_location().line;
        let call = StartedCall { spot: spot.key("as"), line, cancelled: false, finished: false };
        if let Some(first) = self.started.get(name) {
            let message = format!("`{name}` was started on line {}", first.line);
            findings.value(spot.key("as"), message, "choose another name");
        } else {
            self.started.insert(name.clone(), call);
        }
    }

    fn end(&mut self, finish: &Finish, spot: TreeCursor<'t>, finishes: bool, findings: &mut Findings<'_>) {
        let name = &finish.call;
        let spot = spot.key("call");
        let Some(call) = self.started.get_mut(name) else {
            findings.unknown(spot, "call", name, self.started.keys().map(String::as_str));
            return;
        };
        if call.finished {
            findings.value(spot, format!("`{name}` is already finished"), "remove one");
        } else if call.cancelled && !finishes {
            findings.value(spot, format!("`{name}` is already cancelled"), "remove one");
        }
        call.finished |= finishes;
        call.cancelled |= !finishes;
    }

    fn refuse_unfinished(self, findings: &mut Findings<'_>) {
        for (name, call) in self.started {
            if !call.finished && !call.cancelled {
                let message = format!("`{name}` is never finished");
                findings.value(call.spot, message, format!("add `- finish: {{ call: {name} }}`, or `cancel`"));
            }
        }
    }
}
