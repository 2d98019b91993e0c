//! The script of a mock server that repeats a recorded server.
//!
//! Every recorded request becomes a rule: the same method with the same parameters gets the recorded response. Messages that the
//! server sent before a response become actions before it; those that it sent between requests follow the response before
//! them. The engine fills in the ids of the new requests, and progress gets the token of the new request.

use std::collections::HashMap;

use evidence::{Body, Frame};
use mock_servers::script::{Action, Notify, Reply, Request, RpcError, Rule, Script, When};
use serde_json::{Map, Value};

use super::{Recording, server_info};
use crate::model::Transport;

/// Placeholder of the progress token of the new request.
const TOKEN: &str = "{{params._meta.progressToken}}";
/// A request that opens a subscription (2026-07-28). Its result ends the subscription, so the mock server has to send it.
const SUBSCRIBE: &str = "subscriptions/listen";
/// Maximum number of messages of one client message that are repeated, so that a recorded flood stays readable.
const MAX_ACTIONS: usize = 1_000;

/// A script, and what of the recording it cannot repeat.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedScript {
    /// The script.
    pub script: Script,
    /// Notes for the reader, one sentence each.
    pub notes: Vec<String>,
}

/// Makes the script of a recording.
#[must_use]
pub fn script(recording: &Recording) -> RecordedScript {
    let mut exchanges = Exchanges::default();
    for frame in &recording.frames {
        exchanges.add(frame);
    }
    let notes = exchanges.notes(recording);
    let revisions = (recording.header.transport != Transport::HttpSse).then(|| vec![recording.revision().to_string()]);
    let identity = recording.identity();
    let name = identity.and_then(server_info).and_then(|info| info.get("name")).and_then(Value::as_str);
    let capabilities = identity.and_then(|identity| identity.get("capabilities")).and_then(Value::as_object);
    let script = Script {
        name: name.map(str::to_owned),
        revisions,
        capabilities: capabilities.cloned(),
        on: exchanges.rules(),
        ..Script::default()
    };
    RecordedScript { script, notes }
}

/// A message of the client with everything that the server sent until its response, and after it.
#[derive(Debug)]
struct Exchange {
    when: When,
    /// The id, if it is a request.
    id: Option<Value>,
    /// The progress token that the request has.
    token: Option<Value>,
    actions: Vec<Action>,
    is_answered: bool,
}

/// The recorded exchanges, in the order of their first messages.
#[derive(Debug, Default)]
struct Exchanges {
    all: Vec<Exchange>,
    /// The open requests by connection and id.
    open: HashMap<(u64, String), usize>,
    /// The same of subscriptions, which are open until the end of the session.
    subscriptions: HashMap<(u64, String), usize>,
    /// Messages that cannot be repeated.
    unusable: usize,
    placeholders: usize,
}

impl Exchanges {
    fn add(&mut self, frame: &Frame) {
        let Some(message) = frame.json() else {
            // The endpoint of HTTP+SSE is not a message.
            let is_endpoint = frame.http.as_ref().is_some_and(|http| http.event.as_deref() == Some("endpoint"));
            self.unusable += usize::from(matches!(frame.body, Body::Text(_)) && !is_endpoint);
            return;
        };
        match message {
            Value::Object(message) if frame.from_client() => self.add_client(frame, message),
            Value::Object(message) => self.add_server(frame, message),
            // A batch, which only 2025-03-26 has.
            _ => self.unusable += 1,
        }
    }

    fn add_client(&mut self, frame: &Frame, message: &Map<String, Value>) {
        let Some(method) = message.get("method").and_then(Value::as_str) else { return };
        let id = message.get("id").cloned();
        if let Some(id) = &id {
            let open = if method == SUBSCRIBE { &mut self.subscriptions } else { &mut self.open };
            open.insert((connection(frame), id.to_string()), self.all.len());
        }
        let params = message.get("params");
        self.all.push(Exchange {
            when: when(method, params),
            id,
            token: params.and_then(|params| params.pointer("/_meta/progressToken")).cloned(),
            actions: Vec::new(),
            is_answered: false,
        });
    }

    fn add_server(&mut self, frame: &Frame, message: &Map<String, Value>) {
        let params = message.get("params").cloned();
        match (message.get("method").and_then(Value::as_str), message.get("id")) {
            (Some(method), Some(_)) => {
                let request = Request { method: method.to_owned(), params, anyway: true, otherwise: Vec::new() };
                self.push(frame, Action::Request(request));
            }
            (Some(method), None) => self.add_notification(frame, method, params),
            (None, Some(id)) => self.answer(frame, id, message),
            (None, None) => self.unusable += 1,
        }
    }

    fn add_notification(&mut self, frame: &Frame, method: &str, mut params: Option<Value>) {
        let token = params.as_mut().and_then(|params| params.get_mut("progressToken"));
        let owner = token.as_ref().and_then(|token| {
            self.all.iter().rposition(|one| !one.is_answered && one.token.as_ref() == Some(&**token))
        });
        if let (Some(token), Some(_)) = (token, owner) {
            *token = TOKEN.into();
        }
        let action = Action::Notify(Notify { method: method.to_owned(), params, anyway: true });
        match owner {
            Some(owner) => self.push_to(owner, action),
            None => self.push(frame, action),
        }
    }

    /// Adds an action to the open request of the connection if there is one, else to the latest message of the client.
    fn push(&mut self, frame: &Frame, action: Action) {
        let connection = connection(frame);
        let open = self.open.iter().filter(|((number, _), _)| *number == connection).map(|(_, position)| *position);
        match open.max().or_else(|| self.all.len().checked_sub(1)) {
            Some(position) => self.push_to(position, action),
            None => self.unusable += 1,
        }
    }

    fn push_to(&mut self, position: usize, action: Action) {
        let actions = &mut self.all[position].actions;
        if actions.len() < MAX_ACTIONS {
            actions.push(action);
        } else {
            self.unusable += 1;
        }
    }

    fn answer(&mut self, frame: &Frame, id: &Value, message: &Map<String, Value>) {
        let key = (connection(frame), id.to_string());
        let Some(position) = self.open.remove(&key) else {
            self.unusable += usize::from(!self.subscriptions.contains_key(&key));
            return;
        };
        let is_initialize = self.all[position].when.method.as_deref() == Some("initialize");
        let action = match (message.get("result"), message.get("error")) {
            (Some(result), None) => Some(Action::Reply(reply(result.clone(), is_initialize))),
            (None, Some(error)) => rpc_error(error).map(Action::Error),
            _ => None,
        };
        let Some(action) = action else {
            self.unusable += 1;
            return;
        };
        self.placeholders += usize::from(message.values().any(has_placeholder));
        self.all[position].is_answered = true;
        self.push_to(position, action);
    }

    fn notes(&self, recording: &Recording) -> Vec<String> {
        let mut notes = Vec::new();
        let mut note = |count: u64, text: &str| {
            if count > 0 {
                notes.push(format!("{count} {text}"));
            }
        };
        note(self.unusable as u64, "messages cannot be repeated: they are not valid, have no request, or are too many");
        note(self.placeholders as u64, "responses contain `{{`, which a script takes for a placeholder");
        note(recording.omitted, "frames were omitted, because the recording is too long");
        notes
    }

    /// The rules, of which the first that matches applies: those with more conditions come first.
    fn rules(self) -> Vec<Rule> {
        let mut groups: Vec<(When, Vec<Vec<Action>>)> = Vec::new();
        let relevant =
            self.all.into_iter().filter(|one| one.is_answered || (one.id.is_none() && !one.actions.is_empty()));
        for Exchange { when, actions, .. } in relevant {
            match groups.iter_mut().find(|(known, _)| *known == when) {
                Some((_, all)) => all.push(actions),
                None => groups.push((when, vec![actions])),
            }
        }
        groups.sort_by_key(|(when, _)| std::cmp::Reverse(conditions(when)));
        groups.into_iter().flat_map(|(when, all)| numbered(&when, all)).collect()
    }
}

/// One rule for each different response to the same request, in order. The last response repeats.
fn numbered(when: &When, mut all: Vec<Vec<Action>>) -> Vec<Rule> {
    while all.len() > 1 && all[all.len() - 1] == all[all.len() - 2] {
        all.pop();
    }
    let last = all.len();
    let rule = |(position, actions): (usize, Vec<Action>)| {
        let number = position as u64 + 1;
        let (nth, from_nth) = match (last, position + 1 == last) {
            (1, _) => (None, None),
            (_, true) => (None, Some(number)),
            (_, false) => (Some(number), None),
        };
        Rule { when: When { nth, from_nth, ..when.clone() }, actions }
    };
    all.into_iter().enumerate().map(rule).collect()
}

/// The condition for the same method and parameters, as far as a rule can express it. Requests with the same condition are distinguished
/// by their order.
fn when(method: &str, params: Option<&Value>) -> When {
    let text = |name: &str| params.and_then(|params| params.get(name)).and_then(Value::as_str).map(str::to_owned);
    let arguments = || params.and_then(|params| params.get("arguments")).and_then(Value::as_object).cloned();
    let base = When { method: Some(method.to_owned()), ..When::default() };
    match method {
        "tools/call" => When { tool: text("name"), arguments: arguments(), ..base },
        "prompts/get" => When { prompt: text("name"), arguments: arguments(), ..base },
        "resources/read" | "resources/subscribe" | "resources/unsubscribe" => When { uri: text("uri"), ..base },
        _ => When { cursor: text("cursor"), ..base },
    }
}

fn conditions(when: &When) -> usize {
    let arguments = when.arguments.as_ref().map_or(0, Map::len);
    let set = [&when.tool, &when.prompt, &when.uri, &when.cursor].into_iter().filter(|one| one.is_some()).count();
    set + arguments
}

/// A whole result. The result of `initialize` replaces members of the default one, because only that opens a session.
fn reply(result: Value, is_initialize: bool) -> Reply {
    match result {
        Value::Object(mut members) if is_initialize => {
            members.entry("instructions").or_insert(Value::Null);
            Reply { patch: Some(members), ..Reply::default() }
        }
        result => Reply { result: Some(result), ..Reply::default() },
    }
}

fn rpc_error(error: &Value) -> Option<RpcError> {
    let message = error.get("message").and_then(Value::as_str)?;
    Some(RpcError { code: error.get("code")?.as_i64()?, message: message.to_owned(), data: error.get("data").cloned() })
}

fn has_placeholder(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains("{{"),
        Value::Array(items) => items.iter().any(has_placeholder),
        Value::Object(members) => members.values().any(has_placeholder),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// The connection of a frame over stdio. Over HTTP a response may arrive on the stream of another exchange.
fn connection(frame: &Frame) -> u64 {
    if frame.http.is_some() { 0 } else { frame.connection }
}
