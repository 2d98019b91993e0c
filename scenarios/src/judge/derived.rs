//! Outcomes of steps as the frames show them: for clients that do not report their steps, and to compare reports with the
//! frames.

pub(super) mod features;

use std::collections::{HashMap, HashSet, VecDeque};

use serde_json::{Value, json};

use super::{
    capabilities::{capability_of, declares},
    transcript::{
        AuthorizationRequest, Body, ConnectionEvent, Frame, Message, RequestResponse, Session, Transcript, http::method,
    },
};
use crate::{
    evidence::{Evidence, Outcome, REJECTED_ACCESS, StepError, StepOutcome},
    model::{Call, ClientStep, Finish, Scenario},
};

/// The methods with pages.
const LISTS: [&str; 4] = ["tools/list", "resources/list", "resources/templates/list", "prompts/list"];

/// What the frames show of a step.
#[derive(Debug, Clone)]
pub(super) enum Shown {
    /// Its outcome.
    Outcome(Observed),
    /// The client did not do it, for this reason.
    NotDone(String),
    /// Nothing: only a report can show it.
    Nothing,
}

/// An outcome that the frames show.
#[derive(Debug, Clone)]
pub(super) struct Observed {
    /// The outcome. The kind of an error is not visible.
    pub(super) outcome: StepOutcome,
    /// Whether the frames also show when the client ended the step.
    pub(super) is_timed: bool,
}

/// What the frames show of each step of a client, in order.
pub(super) fn derive(scenario: &Scenario, transcript: &Transcript<'_>) -> Vec<Shown> {
    if scenario.steps.client().is_empty() {
        return Vec::new();
    }
    let mut frames = Frames::new(scenario, transcript);
    scenario.steps.client().iter().map(|step| frames.step(step)).collect()
}

/// Whether the frames show that a client has done all steps before its `die` step.
pub(crate) fn is_before_death(scenario: &Scenario, evidence: &Evidence) -> bool {
    let transcript = Transcript::new(evidence, &scenario.unknown);
    let before = derive(scenario, &transcript).into_iter().zip(scenario.steps.client());
    before.take_while(|(_, step)| !matches!(step, ClientStep::Die(_))).all(|(shown, _)| match shown {
        Shown::Outcome(Observed { outcome, .. }) => matches!(outcome.outcome, Outcome::Value(_)),
        Shown::NotDone(_) | Shown::Nothing => false,
    })
}

/// The requests that no step has used yet.
struct Frames<'t, 'a> {
    transcript: &'t Transcript<'a>,
    servers: Vec<&'t str>,
    calls: HashMap<(&'t str, &'t str), VecDeque<RequestResponse<'a>>>,
    /// The requests for pages, by server and method.
    lists: HashMap<(&'t str, &'static str), VecDeque<RequestResponse<'a>>>,
    /// The requests of steps for resources, prompts, completion and logging that were derived already.
    used: HashSet<u64>,
    root_changes: usize,
    /// Number of steps that call a tool and were not derived yet.
    steps_left: HashMap<(&'t str, &'t str), usize>,
    started: HashMap<&'t str, Shown>,
    /// The last frame of the latest handshake, by server.
    greeted: HashMap<&'t str, u64>,
}

impl<'t, 'a> Frames<'t, 'a> {
    fn new(scenario: &'t Scenario, transcript: &'t Transcript<'a>) -> Self {
        let mut calls: HashMap<(&'t str, &'t str), VecDeque<_>> = HashMap::new();
        for one in transcript.requests_of("tools/call") {
            if let Some(tool) = one.request.tool() {
                calls.entry((one.request.frame.server.as_str(), tool)).or_default().push_back(*one);
            }
        }
        let mut lists: HashMap<(&'t str, &'static str), VecDeque<_>> = HashMap::new();
        for method in LISTS {
            for one in transcript.requests_of(method) {
                lists.entry((one.request.frame.server.as_str(), method)).or_default().push_back(*one);
            }
        }
        let root_changes =
            transcript.client_messages().filter(|message| message.is("notifications/roots/list_changed")).count();
        let servers = scenario.scripts().map(|(name, _)| name).collect();
        let (steps_left, started, greeted) = (HashMap::new(), HashMap::new(), HashMap::new());
        let used = HashSet::new();
        let mut frames = Self { transcript, servers, calls, lists, used, root_changes, steps_left, started, greeted };
        for step in scenario.steps.client() {
            if let ClientStep::Call(call) | ClientStep::Start(call) = step
                && let Some(server) = frames.server(call.server.as_deref())
            {
                *frames.steps_left.entry((server, &call.tool)).or_default() += 1;
            }
        }
        frames
    }

    fn step(&mut self, step: &'t ClientStep) -> Shown {
        match step {
            ClientStep::Connect(step) => match self.server(step.server.as_deref()) {
                Some(server) => self.connect(server),
                None => self.connect_all(),
            },
            ClientStep::Reconnect(step) => {
                self.server(step.server.as_deref()).map_or(Shown::Nothing, |server| self.connect(server))
            }
            ClientStep::List(step) => self.list_all(step.server.as_deref()),
            ClientStep::Refresh(step) => match self.list_all(step.server.as_deref()) {
                Shown::Outcome(Observed { outcome, .. }) if matches!(outcome.outcome, Outcome::Value(_)) => {
                    value(Value::Null, outcome.began_us, outcome.ended_us)
                }
                // A client may list the tools when it is notified, before the step.
                Shown::NotDone(_) => Shown::Nothing,
                other => other,
            },
            ClientStep::Call(call) => self.call(call),
            ClientStep::Start(call) => self.start(call),
            ClientStep::Finish(finish) => self.started.remove(finish.call.as_str()).unwrap_or(Shown::Nothing),
            ClientStep::Cancel(finish) => self.cancel(finish),
            ClientStep::Roots(_) if self.root_changes > 0 => {
                self.root_changes -= 1;
                value(Value::Null, 0, 0)
            }
            ClientStep::Roots(_) if !self.transcript.evidence.revision.is_modern() => {
                Shown::NotDone("the client sent no `notifications/roots/list_changed`".into())
            }
            ClientStep::Disconnect(step) => self.disconnect(step.server.as_deref()),
            ClientStep::Roots(_)
            | ClientStep::Await(_)
            | ClientStep::Search(_)
            | ClientStep::Command(_)
            | ClientStep::Mention(_)
            | ClientStep::Status(_)
            | ClientStep::LogIn(_)
            | ClientStep::Restart(_)
            | ClientStep::Die(_) => Shown::Nothing,
            ClientStep::Resources(_)
            | ClientStep::ResourceTemplates(_)
            | ClientStep::Prompts(_)
            | ClientStep::Read(_)
            | ClientStep::Subscribe(_)
            | ClientStep::Unsubscribe(_)
            | ClientStep::Prompt(_)
            | ClientStep::Complete(_)
            | ClientStep::LogLevel(_) => {
                let modern = self.transcript.evidence.revision.is_modern();
                features::request(step, modern).map_or(Shown::Nothing, |request| self.feature(&request))
            }
        }
    }

    /// The named server, or the only one.
    fn server(&self, name: Option<&'t str>) -> Option<&'t str> {
        match (name, self.servers.as_slice()) {
            (Some(name), _) => Some(name),
            (None, [only]) => Some(only),
            (None, _) => None,
        }
    }

    fn connect_all(&mut self) -> Shown {
        let (mut connected, mut failed) = (Vec::new(), Vec::new());
        for server in self.servers.clone() {
            match self.connect(server) {
                Shown::Outcome(Observed { outcome: StepOutcome { outcome: Outcome::Value(value), .. }, .. }) => {
                    connected.push(value);
                }
                Shown::Outcome(_) => failed.push(json!({ "server": server })),
                other => return other,
            }
        }
        value(json!({ "connected": connected, "failed": failed }), 0, 0)
    }

    /// The first connection with a server after the latest one.
    fn connect(&mut self, server: &'t str) -> Shown {
        let after = self.greeted.get(server).copied();
        let is_new = |seq: u64| after.is_none_or(|after| seq > after);
        let transcript = self.transcript;
        let ours = |message: &Message<'a>| message.frame.server == server && is_new(message.seq());
        let Some(first) = transcript.evidence.frames.iter().find(|frame| frame.server == server && is_new(frame.seq))
        else {
            return Shown::NotDone(format!("the client did not contact `{server}`"));
        };
        let confirmed = |seq: u64| {
            let mut later = transcript.client_messages().filter(ours).skip_while(|message| message.seq() <= seq);
            later.any(|message| message.method().is_some_and(|method| !matches!(method, "ping" | "initialize")))
        };
        for one in transcript.requests().iter().filter(|one| ours(&one.request)) {
            let Some(result) = one.result() else { continue };
            let last = one.last_frame();
            let revision = match one.request.method() {
                Some("initialize") if confirmed(last) => result.get("protocolVersion"),
                Some("initialize") => None,
                Some("server/discover") => one.request.revision().filter(|revision| supports(result, revision)),
                _ => one.request.revision(),
            };
            let Some(revision) = revision else { continue };
            if one.request.is("initialize") || one.request.is("server/discover") {
                self.greeted.insert(server, last);
            }
            let connected = json!({ "server": server, "revision": revision });
            let ended = one.response.map_or(first.at_us, |response| response.at_us());
            return value(connected, first.at_us, ended);
        }
        // Without a request of its own, a client of a stateless revision connects with its first one.
        let modern = transcript.evidence.revision.is_modern();
        if modern && !transcript.client_messages().any(|message| ours(&message)) {
            return Shown::Nothing;
        }
        error("no connection was established", None, first.at_us, None)
    }

    fn list_all(&mut self, server: Option<&'t str>) -> Shown {
        let servers = server.map_or_else(|| self.servers.clone(), |server| vec![server]);
        let (mut tools, mut began, mut ended) = (Vec::new(), u64::MAX, 0);
        for server in servers {
            match self.list(server, "tools/list", "tools") {
                Shown::Outcome(Observed { outcome, is_timed }) => match outcome.outcome {
                    Outcome::Value(Value::Array(listed)) => {
                        tools.extend(listed);
                        (began, ended) = (began.min(outcome.began_us), ended.max(outcome.ended_us));
                    }
                    _ => return Shown::Outcome(Observed { outcome, is_timed }),
                },
                other => return other,
            }
        }
        value(json!({ "tools": tools }), began, ended)
    }

    /// The next list of a server, to its last page.
    fn list(&mut self, server: &'t str, method: &'static str, member: &str) -> Shown {
        let pages = self.lists.entry((server, method)).or_default();
        let Some(first) = pages.pop_front() else {
            let transcript = self.transcript;
            if let Some(rejected) = self.rejected(method, None) {
                return rejected;
            }
            let listed = transcript.requests_of(method).any(|one| one.request.frame.server == server);
            // A client may keep a list, and must not request one of a server that does not declare it.
            return match listed || !offers(transcript, server, method) || lacks_common_revision(transcript, server) {
                true => Shown::Nothing,
                false => Shown::NotDone(format!("the client sent no `{method}` to `{server}`")),
            };
        };
        let (mut last, mut items) = (first, Vec::new());
        while let Some(result) = last.result() {
            items.extend(result.get(member).and_then(Value::as_array).into_iter().flatten().cloned());
            let next = result.get("nextCursor").filter(|cursor| !cursor.is_null());
            let Some(next) = next else {
                let ended = last.response.map_or(0, |response| response.at_us());
                return value(Value::Array(items), first.request.at_us(), ended);
            };
            let Some(page) = pages.iter().position(|page| page.param("cursor") == Some(next)) else {
                return error("the client did not read the last page", None, first.request.at_us(), None);
            };
            last = pages.remove(page).unwrap_or(last);
        }
        self.failure(&last, first.request.at_us())
    }

    /// The outcome of a request that a protected server rejected for its authorization, and did not accept later.
    fn rejected(&self, method: &str, tool: Option<&str>) -> Option<Shown> {
        let member = |frame: &'a Frame, pointer: &str| frame.json()?.pointer(pointer)?.as_str();
        let is_same =
            |frame: &&'a Frame| member(frame, "/method") == Some(method) && member(frame, "/params/name") == tool;
        let accesses = self.transcript.authorization().with_kind(AuthorizationRequest::Access);
        let request = accesses.map(|one| one.request).filter(is_same).last()?;
        if request.server != REJECTED_ACCESS {
            return None;
        }
        Some(error("the server rejected it for its authorization", None, request.at_us, None))
    }

    fn start(&mut self, call: &'t Call) -> Shown {
        let name = call.name.as_deref().unwrap_or(&call.tool);
        match self.call(call) {
            shown @ (Shown::NotDone(_) | Shown::Nothing) => shown,
            shown => {
                self.started.insert(name, shown);
                value(Value::Null, 0, 0)
            }
        }
    }

    fn call(&mut self, call: &'t Call) -> Shown {
        let Some(server) = self.server(call.server.as_deref()).filter(|_| !call.qualified) else {
            return Shown::Nothing;
        };
        let tool = call.tool.as_str();
        let steps_left = self.steps_left.get_mut(&(server, tool)).map_or(0, |left| {
            *left = left.saturating_sub(1);
            *left
        });
        let sent = self.calls.entry((server, tool)).or_default();
        let Some(first) = sent.pop_front() else {
            if let Some(rejected) = self.rejected("tools/call", Some(tool)) {
                return rejected;
            }
            return Shown::NotDone(format!("the client did not call `{tool}`"));
        };
        // A call is repeated in a new session, or with the input that the server requires.
        let mut last = first;
        while sent.len() > steps_left && is_repeated(&last) {
            last = sent.pop_front().unwrap_or(last);
        }
        let began = first.request.at_us();
        match last.result() {
            Some(result) => match task_id(result) {
                Some(id) => self.task(id, began),
                None if is_complete(result) => {
                    value(result.clone(), began, last.response.map_or(began, |response| response.at_us()))
                }
                None if requires_input(result) => {
                    error("the client did not repeat the request with the required input", None, began, None)
                }
                None => Shown::Nothing,
            },
            None => self.failure(&last, began),
        }
    }

    /// The outcome of a call that became a task: the result that the client read, or its cancellation of the task.
    fn task(&self, id: &Value, began: u64) -> Shown {
        let transcript = self.transcript;
        let about = |method| transcript.requests_of(method).filter(|one| one.param("taskId") == Some(id));
        let at_us = |one: &RequestResponse<'a>| one.response.map_or(began, |response| response.at_us());
        // 2025-11-25 has a request for the result, 2026-07-28 has it in the status.
        if let Some(one) = about("tasks/result").last() {
            return match one.result() {
                Some(result) => value(result.clone(), began, at_us(one)),
                None => self.failure(one, began),
            };
        }
        let ended = about("tasks/get").find_map(|one| {
            let result = one.result()?;
            match result.get("status")?.as_str()? {
                "completed" => Some(value(result.get("result")?.clone(), began, at_us(one))),
                "failed" => {
                    let code = result.pointer("/error/code").and_then(Value::as_i64);
                    Some(error("the task failed", code, began, Some(at_us(one))))
                }
                "cancelled" => Some(error("the task was cancelled", None, began, Some(at_us(one)))),
                _ => None,
            }
        });
        let cancelled = || {
            let cancel = about("tasks/cancel").next()?;
            Some(error("the client cancelled the task", None, began, Some(cancel.request.at_us())))
        };
        ended.or_else(cancelled).unwrap_or_else(|| match transcript.evidence.timed_out {
            true => Shown::NotDone("the client was still waiting for the task when the case ended".into()),
            false => error("the client did not read the result of the task", None, began, None),
        })
    }

    /// The outcome of a request without a result.
    fn failure(&self, one: &RequestResponse<'a>, began: u64) -> Shown {
        if let (Some(response), Some(_)) = (one.response, one.error()) {
            return error("the server responded with an error", one.code(), began, Some(response.at_us()));
        }
        match self.abandoned(&one.request) {
            Some(ended) => error("the client stopped waiting", None, began, Some(ended)),
            None if self.transcript.evidence.timed_out => {
                Shown::NotDone("the client was still waiting when the case ended".into())
            }
            None => error("the server did not respond", None, began, None),
        }
    }

    fn cancel(&mut self, finish: &'t Finish) -> Shown {
        match self.started.remove(finish.call.as_str()) {
            Some(Shown::Outcome(Observed { outcome, .. })) if matches!(outcome.outcome, Outcome::Error(_)) => {
                // The frames do not show when the client decided to cancel.
                Shown::Outcome(Observed { outcome, is_timed: false })
            }
            _ => Shown::Nothing,
        }
    }

    /// When the client cancelled a request: with a notification, or over Streamable HTTP by closing its stream.
    fn abandoned(&self, request: &Message<'a>) -> Option<u64> {
        let session = self.session_of(request)?;
        let cancelled = session.cancel_after(request.id_key()?, request.seq());
        let by_client = |frame: &&&Frame| frame.body == Body::Event(ConnectionEvent::ClosedByPeer);
        let closed = || session.closes_of(request.frame.connection).iter().find(by_client);
        cancelled
            .map(|message| message.at_us())
            .or_else(|| closed().filter(|_| request.frame.http.is_some()).map(|frame| frame.at_us))
    }

    fn session_of(&self, request: &Message<'a>) -> Option<&'t Session<'a>> {
        let mut sessions = self.transcript.sessions().iter().filter(|session| session.server == request.frame.server);
        sessions.rfind(|session| session.frames.first().is_some_and(|first| first.seq <= request.seq()))
    }

    fn disconnect(&self, server: Option<&'t str>) -> Shown {
        let ours = |session: &&Session<'a>| server.is_none_or(|server| session.server == server);
        let last = self.transcript.sessions().iter().rfind(ours);
        let ended = last.and_then(|session| {
            let deleted = session.frames.iter().find(|frame| method(frame) == Some("DELETE"));
            session.end_after(0).or(deleted.copied())
        });
        ended.map_or(Shown::Nothing, |frame| value(json!({ "ended": true }), frame.at_us, frame.at_us))
    }
}

fn value(value: Value, began_us: u64, ended_us: u64) -> Shown {
    let outcome = Outcome::Value(value);
    let outcome = StepOutcome { step: None, server: None, began_us, ended_us, outcome };
    Shown::Outcome(Observed { outcome, is_timed: false })
}

fn error(message: &str, code: Option<i64>, began_us: u64, ended_us: Option<u64>) -> Shown {
    let outcome = Outcome::Error(StepError { kind: "error".into(), message: message.into(), code, detail: None });
    let outcome = StepOutcome { step: None, server: None, began_us, ended_us: ended_us.unwrap_or(began_us), outcome };
    Shown::Outcome(Observed { outcome, is_timed: ended_us.is_some() })
}

/// Whether the result of `server/discover` lists a revision.
fn supports(result: &Value, revision: &Value) -> bool {
    result.get("supportedVersions").and_then(Value::as_array).is_some_and(|versions| versions.contains(revision))
}

/// Whether a discovery showed that the server does not support the revision of the client, which then sends no request.
fn lacks_common_revision(transcript: &Transcript<'_>, server: &str) -> bool {
    let mut discoveries = transcript.requests_of("server/discover").filter(|one| one.request.frame.server == server);
    discoveries.any(|one| {
        one.result().zip(one.request.revision()).is_some_and(|(result, revision)| !supports(result, revision))
    })
}

/// Whether a server declares the capability that a request needs, or its capabilities are unknown.
fn offers(transcript: &Transcript<'_>, server: &str, method: &str) -> bool {
    capability_of(method).is_none_or(|pointer| declares(transcript, server, pointer))
}

/// `HeaderMismatch` (2026-07-28, basic/transports/streamable-http#client-behavior).
const HEADER_MISMATCH: i64 = -32020;

/// Whether a client may repeat a call after this response: without a result, in a new session, or with other headers.
fn is_repeated(one: &RequestResponse<'_>) -> bool {
    let lost = || one.error().is_none() || one.status() == Some(404) || one.code() == Some(HEADER_MISMATCH);
    one.result().map_or_else(lost, |result| !is_complete(result))
}

/// The id of the task that a call became (2025-11-25, basic/utilities/tasks; 2026-07-28: SEP-2663).
fn task_id(result: &Value) -> Option<&Value> {
    let is_task = result.get("resultType").is_some_and(|kind| kind == "task");
    result.pointer("/task/taskId").or_else(|| result.get("taskId").filter(|_| is_task))
}

/// Whether a result requires input (2026-07-28, basic/patterns/mrtr).
fn requires_input(result: &Value) -> bool {
    result.get("resultType").is_some_and(|kind| kind == "input_required")
}

/// Whether a result is the last one of a call (2026-07-28, basic/index#result-type).
fn is_complete(result: &Value) -> bool {
    result.get("resultType").and_then(Value::as_str).is_none_or(|kind| kind == "complete")
}
