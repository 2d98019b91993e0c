//! Calls of the tools of a server with generated arguments, and requests of its prompts.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use mock_servers::HumanDuration;
use serde_json::{Map, Value, json};

use crate::{
    arguments::{ArgumentGenerator, InvalidArguments, OPTIONAL_ARGUMENT, prompt_argument},
    evidence::StepError,
    model::{ArgumentKind, CallTools, GetPrompts, Transport, User},
    peer::{CALL, Headers, NO_RESPONSE, OpenPair, Outgoing, Peer},
    run::ToolPolicy,
};

use super::{Failure, fill, unless_closed};

mod mirrored;
mod pairs;

/// Default maximum number of tools or prompts.
const MAX: usize = 30;
/// Maximum number of slow tools whose calls are cancelled.
const MAX_CANCELLED: usize = 10;
/// A call that is to be cancelled and has no response after this time is slow enough.
const SLOW: Duration = Duration::from_millis(300);
/// Number of tools of a step that have their first call repeated, so that the fastest one shows whether they are slow.
const REPEATED: usize = 3;
/// A call that took longer is repeated and cancelled earlier, because the tool may be just fast enough now and then.
const UNHURRIED: Duration = Duration::from_millis(150);
/// Maximum number of prompts that are also requested with all arguments.
const MAX_WITH_ALL: usize = 3;
/// Seed of generated arguments. It is fixed, so that two runs against a server send the same calls.
const SEED: u64 = 0;
/// The key in the metadata of a request with its log level (2026-07-28, server/utilities/logging).
const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";

/// No other generated string has so many bytes.
const LARGE: usize = 50_000;

/// One call to make.
struct Planned {
    name: String,
    arguments: Option<Value>,
    violates: Option<String>,
    /// Whether it has other valid arguments than the first call of the tool.
    is_variant: bool,
    /// Whether it may have a progress token.
    has_token: bool,
    /// HTTP headers that replace the usual ones.
    headers: Headers,
}

impl Planned {
    fn valid(name: &str, arguments: Map<String, Value>) -> Self {
        Self {
            name: name.to_owned(),
            arguments: Some(Value::Object(arguments)),
            violates: None,
            is_variant: false,
            has_token: true,
            headers: Headers::new(),
        }
    }

    /// The request, without metadata.
    fn outgoing(&self) -> Outgoing {
        let mut params = Map::from_iter([("name".to_owned(), json!(self.name))]);
        params.extend(self.arguments.iter().map(|arguments| ("arguments".to_owned(), arguments.clone())));
        let (method, headers) = ("tools/call".to_owned(), self.headers.clone());
        Outgoing { method, params: Some(params), headers, ..Outgoing::default() }
    }

    /// Whether its arguments have a string that is larger than the others.
    fn is_large(&self) -> bool {
        let mut values = self.arguments.iter().filter_map(Value::as_object).flat_map(Map::values);
        values.any(|value| value.as_str().is_some_and(|text| text.len() > LARGE))
    }

    fn invalid(name: &str, arguments: Option<Map<String, Value>>, violates: &str) -> Self {
        let arguments = arguments.map(Value::Object);
        Self { violates: Some(violates.to_owned()), arguments, ..Self::valid(name, Map::new()) }
    }
}

/// Calls every permitted tool.
pub(super) async fn call_tools(
    peer: &mut Peer,
    step: &CallTools,
    values: &[Value],
    policy: &ToolPolicy,
) -> Result<Value, Failure> {
    peer.set_user(step.user.unwrap_or_default());
    let called = if step.pairs {
        pairs::call(peer, step, values, policy).await
    } else {
        call_each(peer, step, values, policy).await
    };
    peer.set_user(User::default());
    called
}

async fn call_each(peer: &mut Peer, step: &CallTools, values: &[Value], policy: &ToolPolicy) -> Result<Value, Failure> {
    let tools = fill::select(&step.tools, &fill::values(values, None)).map_err(Failure::Nothing)?;
    let (calls, mut not_called) = plan_calls(peer, step, &tools, policy);
    peer.begin_calls();
    let mut made = Vec::new();
    let (mut interrupted, mut unanswered) = (BTreeMap::<String, Duration>::new(), BTreeSet::new());
    let mut repeated = 0;
    for planned in calls {
        if planned.is_variant && !peer.has_time_for_variant(&planned.name) {
            continue;
        }
        if step.user.is_some() && !peer.asks(&planned.name) {
            continue;
        }
        // A fast call cannot be cancelled, and ten slow tools show what a server does.
        let was_called = made.iter().any(|made: &Value| made["tool"] == *planned.name);
        let is_enough =
            if was_called { !interrupted.contains_key(&planned.name) } else { interrupted.len() >= MAX_CANCELLED };
        if step.cancel && is_enough {
            continue;
        }
        if let Err(reason) = may_take_time(peer, step, &planned, &unanswered).await {
            not_called.push(json!({ "tool": planned.name, "reason": reason }));
            continue;
        }
        let slow = match peer.open_time(&planned.name) {
            Some(open) => slow_at_first(peer).saturating_sub(open).max(UNHURRIED),
            None if repeated < REPEATED => slow_at_first(peer),
            None => SLOW,
        };
        let before_cancel = interrupted.get(&planned.name).copied().unwrap_or(slow);
        let received = peer.received();
        let ((mut response, mut progress), elapsed) =
            fastest_call(peer, step, &planned, before_cancel, &mut repeated).await?;
        peer.note_requests(&planned.name, received);
        // A fast call on a busy machine may have been cancelled just before its response.
        let was_fast = !peer.was_interrupted(&planned.name) || progress && before_cancel == slow;
        if step.cancel && elapsed > UNHURRIED && was_fast {
            (response, progress) = call(peer, step, &planned, early(elapsed)).await?;
        }
        if !step.cancel {
            let is_answered = response.get("id").is_some();
            peer.note_duration(&planned.name, elapsed, is_answered);
            if is_answered && planned.arguments == Some(json!({})) {
                peer.note_fast_without_arguments(&planned.name, elapsed);
            }
        } else if peer.was_interrupted(&planned.name) {
            let may_be_repeated = step.user.is_none() && step.arguments != ArgumentKind::Most;
            if interrupted.is_empty() && may_be_repeated {
                cancel_one_of_two(peer, &planned, early(elapsed)).await?;
            }
            interrupted.insert(planned.name.clone(), early(elapsed));
        }
        if response.get("id").is_none() {
            unanswered.insert(planned.name.clone());
        }
        let mut entry = json!({
            "tool": planned.name, "arguments": planned.arguments, "response": response,
            "elapsed_ms": u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX),
        });
        if let Some(level) = peer.logged_since(received) {
            entry["log_level"] = level;
        }
        entry["progress"] = json!(progress);
        if step.log_level.is_some() && peer.revision().is_modern() && peer.transport() == Transport::Stdio {
            // A message that arrives before this response belongs to no call.
            let without_level = Outgoing { method: "server/discover".to_owned(), ..Outgoing::default() };
            let _ = peer.request(without_level, peer.response_timeout(None)).await;
        }
        if let Some(violates) = planned.violates {
            entry["violates"] = json!(violates);
        }
        made.push(entry);
    }
    if made.is_empty() {
        return Err(Failure::Nothing(nothing_called(&not_called)));
    }
    Ok(json!({ "calls": made, "not_called": not_called }))
}

/// Whether a call is worth its time. `unanswered` has the tools with a call that had no response.
async fn may_take_time(
    peer: &mut Peer,
    step: &CallTools,
    planned: &Planned,
    unanswered: &BTreeSet<String>,
) -> Result<(), &'static str> {
    match planned.violates {
        // Calls are cancelled, or repeated with another user, as often as a step asks.
        _ if step.cancel || step.user.is_some() => Ok(()),
        // A slow tool may still reject arguments at once.
        Some(_) if unanswered.contains(&planned.name) => Err(NO_RESPONSE),
        // Such a call may be valid, and as slow as the one that is open.
        Some(_) if planned.arguments.is_none() && peer.has_open(&planned.name) => Err(NO_RESPONSE),
        Some(_) => peer.has_budget_for(&planned.name),
        None => peer.has_time_for(&planned.name).await,
    }
}

/// The same as [`SLOW`] for the first calls of a step: a process may load parts of itself, and fast tools of a busy machine, whose
/// other responses are slow too, may wait.
fn slow_at_first(peer: &Peer) -> Duration {
    peer.response_timeout(None) / 2
}

/// When to cancel a call of a tool whose call took so long, so that a response would be late.
fn early(took: Duration) -> Duration {
    SLOW.min(took) / 8
}

fn nothing_called(not_called: &[Value]) -> String {
    match not_called {
        [] => "the server lists no tool that can be called".to_owned(),
        [first, ..] => format!("no tool may be called; `{}`: {}", text(&first["tool"]), text(&first["reason"])),
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// The calls of all tools, in their order, and the tools that are not called, with the reasons.
fn plan_calls(peer: &Peer, step: &CallTools, tools: &[Value], policy: &ToolPolicy) -> (Vec<Planned>, Vec<Value>) {
    let (mut calls, mut not_called) = (Vec::new(), Vec::new());
    let mut with_large = true;
    for tool in tools {
        let name = tool.get("name").and_then(Value::as_str).unwrap_or_default();
        match plan(peer, step, tool, name, policy, with_large) {
            Ok(planned) if calls.len() < step.max.unwrap_or(MAX) => {
                with_large &= !planned.iter().any(Planned::is_large);
                calls.push(planned);
            }
            Ok(_) => not_called.push(json!({ "tool": name, "reason": "the limit of the step is reached" })),
            Err(reason) => not_called.push(json!({ "tool": name, "reason": reason })),
        }
    }
    if step.arguments == ArgumentKind::Invalid {
        calls.extend(other_case(tools, &calls).map(|planned| vec![planned]));
        calls.extend(as_array(&calls).map(|planned| vec![planned]));
    }
    // Open calls have more time then.
    calls.sort_by_key(|planned| planned.first().is_some_and(|first| peer.has_open(&first.name)));
    // Each tool is called before any is called with other arguments, which may take the time of the step.
    let mut calls: Vec<(usize, Planned)> =
        calls.into_iter().flat_map(|planned| planned.into_iter().enumerate()).collect();
    let is_successive = step.arguments == ArgumentKind::Invalid;
    calls.sort_by_key(|(position, planned)| if is_successive { *position } else { usize::from(planned.is_variant) });
    (calls.into_iter().map(|(_, planned)| planned).collect(), not_called)
}

/// The calls of one tool.
fn plan(
    peer: &Peer,
    step: &CallTools,
    tool: &Value,
    name: &str,
    policy: &ToolPolicy,
    with_large: bool,
) -> Result<Vec<Planned>, String> {
    policy.permits(tool)?;
    if step.cancel && step.arguments == ArgumentKind::Most && peer.was_interrupted(name) {
        return Err("its calls were cancelled already".to_owned());
    }
    if step.task && supports_tasks(tool) {
        return Err("it supports tasks".to_owned());
    }
    // A tool that runs only as a task rejects plain calls (2025-11-25, basic/utilities/tasks, tool-level negotiation).
    let needs_task = tool.pointer("/execution/taskSupport").is_some_and(|support| support == "required");
    let generator = ArgumentGenerator::new(tool.get("inputSchema")).map_err(|cause| cause.to_string())?;
    let valid = generator.valid(SEED).map_err(|cause| cause.to_string())?;
    match step.arguments {
        ArgumentKind::Valid | ArgumentKind::Varied | ArgumentKind::Most if needs_task => {
            Err("it runs only as a task".to_owned())
        }
        // Twice, so that calls with ids of both kinds are cancelled, and that a call without a token has no progress.
        ArgumentKind::Valid if step.cancel => {
            let without_token = Planned { has_token: false, ..Planned::valid(name, valid.clone()) };
            Ok(vec![Planned::valid(name, valid), without_token])
        }
        ArgumentKind::Valid => Ok(vec![Planned::valid(name, valid)]),
        ArgumentKind::Most => {
            let most = generator.most(SEED).ok_or("no other arguments could be generated for its input schema")?;
            let without_token = step.cancel.then(|| Planned { has_token: false, ..Planned::valid(name, most.clone()) });
            Ok(std::iter::once(Planned::valid(name, most)).chain(without_token).collect())
        }
        ArgumentKind::Varied => {
            let others = generator.variants(SEED, with_large).map_err(|cause| cause.to_string())?;
            let variant = |arguments| Planned { is_variant: true, ..Planned::valid(name, arguments) };
            Ok(std::iter::once(Planned::valid(name, valid)).chain(others.into_iter().map(variant)).collect())
        }
        ArgumentKind::Invalid if needs_task => Ok(vec![Planned::invalid(name, Some(valid), "call without a task")]),
        ArgumentKind::Invalid => {
            let invalid = generator.invalid(SEED).map_err(|cause| cause.to_string())?;
            Ok(invalid_calls(name, invalid))
        }
        ArgumentKind::Mirrored => mirrored::calls(name, tool.get("inputSchema")),
    }
}

/// Whether a tool may be called as a task (2025-11-25, basic/utilities/tasks, tool-level negotiation).
pub(super) fn supports_tasks(tool: &Value) -> bool {
    let support = tool.pointer("/execution/taskSupport").and_then(Value::as_str);
    matches!(support, Some("optional" | "required"))
}

fn invalid_calls(name: &str, invalid: Vec<InvalidArguments>) -> Vec<Planned> {
    let mut calls: Vec<Planned> =
        invalid.into_iter().map(|one| Planned::invalid(name, Some(one.arguments), &one.violates)).collect();
    // Allowed if the tool has no required arguments; a check validates the empty object instead.
    calls.push(Planned::invalid(name, None, "no arguments"));
    calls
}

/// Generated arguments that the schema of a tool permits.
pub(super) fn valid_arguments(tool: &Value) -> Option<Map<String, Value>> {
    ArgumentGenerator::new(tool.get("inputSchema")).ok()?.valid(SEED).ok()
}

/// Generated arguments with all optional properties and large numbers, if they differ from the valid ones.
pub(super) fn most_arguments(tool: &Value) -> Option<Map<String, Value>> {
    ArgumentGenerator::new(tool.get("inputSchema")).ok()?.most(SEED)
}

/// Generated arguments that violate the schema of a tool in one place.
pub(super) fn invalid_arguments(tool: &Value) -> Option<Map<String, Value>> {
    let invalid = ArgumentGenerator::new(tool.get("inputSchema")).ok()?.invalid(SEED).ok()?;
    invalid.into_iter().next().map(|one| one.arguments)
}

/// Generated arguments that the schema of a tool permits, other than these.
pub(super) fn other_arguments(tool: &Value, than: &Value) -> Option<Value> {
    let valid = valid_arguments(tool).into_iter().chain(varied_arguments(tool));
    valid.map(Value::Object).find(|arguments| arguments != than)
}

/// Generated arguments that the schema of a tool permits, other than [`valid_arguments`].
pub(super) fn varied_arguments(tool: &Value) -> Vec<Map<String, Value>> {
    let generator = ArgumentGenerator::new(tool.get("inputSchema"));
    generator.and_then(|generator| generator.variants(SEED, false)).unwrap_or_default()
}

/// A call of the first tool under its name in another case, which no tool has.
fn other_case(tools: &[Value], planned: &[Vec<Planned>]) -> Option<Planned> {
    let names: Vec<&str> = tools.iter().filter_map(|tool| tool.get("name")?.as_str()).collect();
    planned.iter().flatten().find_map(|call| {
        let other: String = call.name.chars().map(fill::in_other_case).collect();
        let listed = names.iter().any(|name| *name == other);
        let tool = tools.iter().find(|tool| tool.get("name").is_some_and(|name| *name == call.name))?;
        let arguments = valid_arguments(tool)?;
        (!listed).then(|| Planned::invalid(&other, Some(arguments), "name in another case"))
    })
}

/// A call of the first tool with arguments, whose values are in an array. An empty one would be an empty object in PHP.
fn as_array(planned: &[Vec<Planned>]) -> Option<Planned> {
    planned.iter().flatten().find_map(|call| {
        let arguments = call.arguments.as_ref()?.as_object().filter(|arguments| !arguments.is_empty())?;
        let values = arguments.values().cloned().collect();
        let invalid = Planned::invalid(&call.name, None, "an array instead of an object");
        Some(Planned { arguments: Some(Value::Array(values)), ..invalid })
    })
}

/// Makes a call, and repeats a slow one that is to be cancelled, for up to [`REPEATED`] tools. Returns the last response, whether
/// it had progress, and the shortest duration.
async fn fastest_call(
    peer: &mut Peer,
    step: &CallTools,
    planned: &Planned,
    before_cancel: Duration,
    repeated: &mut usize,
) -> Result<((Value, bool), Duration), StepError> {
    let mut timed = async || {
        let began_us = peer.now_us();
        let made = call(peer, step, planned, before_cancel).await?;
        let is_open = peer.was_interrupted(&planned.name);
        Ok((made, Duration::from_micros(peer.now_us() - began_us), is_open))
    };
    let (mut made, mut shortest, mut is_open) = timed().await?;
    if !step.cancel || step.user.is_some() || *repeated == REPEATED || shortest <= UNHURRIED {
        return Ok((made, shortest));
    }
    *repeated += 1;
    for _ in 0..2 {
        if is_open || shortest <= UNHURRIED {
            break;
        }
        let duration;
        (made, duration, is_open) = timed().await?;
        shortest = shortest.min(duration);
    }
    Ok((made, shortest))
}

/// Makes one call. A call without a response is cancelled, and has the error as its response. The second value is whether it
/// had progress.
async fn call(
    peer: &mut Peer,
    step: &CallTools,
    planned: &Planned,
    before_cancel: Duration,
) -> Result<(Value, bool), StepError> {
    let mut outgoing = planned.outgoing();
    let params = outgoing.params.get_or_insert_default();
    if step.task {
        params.insert("task".to_owned(), json!({}));
    }
    let number = peer.take_id();
    let meta = metadata(peer, step, planned, number);
    if !meta.is_empty() {
        params.insert("_meta".to_owned(), Value::Object(meta));
    }
    // Ids of both kinds can be cancelled.
    outgoing.id = (step.cancel && planned.has_token).then(|| json!(format!("workbench-call-{number}")));
    let received = peer.received();
    let sent = peer.send(outgoing).await?;
    let within = peer.response_timeout(Some(step.within.map_or(CALL, |HumanDuration(within)| within)));
    let response = if step.cancel {
        let has_open = peer.open_time(&planned.name).is_some();
        let mut response = peer.response_before_cancel(&sent, before_cancel).await;
        if has_open && peer.open_time(&planned.name).is_none() {
            // The earlier call that suggested a slow tool has a response now.
            response = peer.response(&sent, slow_at_first(peer)).await;
        }
        match response {
            Err(error) if error.kind == "timed-out" => {
                if step.user == Some(User::Absent) {
                    let ping = Outgoing { method: "ping".to_owned(), ..Outgoing::default() };
                    unless_closed(peer.request(ping, peer.response_timeout(None)).await)?;
                }
                match peer.interrupt(&planned.name, &sent).await {
                    // The user answers too late.
                    Err(error) if error.kind == "timed-out" && step.user == Some(User::Absent) => {
                        peer.answer_late(received, &sent).await
                    }
                    interrupted => interrupted,
                }
            }
            other => other,
        }
    } else if step.user.is_some() {
        let response = peer.response(&sent, within).await;
        if matches!(&response, Err(error) if error.kind == "timed-out") {
            peer.cancel(&sent).await;
        }
        response
    } else {
        let response = peer.call_response(&planned.name, &sent, within).await;
        if matches!(&response, Err(error) if error.kind == "timed-out") {
            cancel_no_call(peer, json!({ "requestId": "never-sent", "reason": "test" })).await?;
        }
        response
    };
    let response = match response {
        Ok(response) => response,
        Err(error) if error.kind == "closed" => return Err(error),
        Err(error) => json!({ "error": { "message": error.message } }),
    };
    Ok((response, peer.has_progress(&sent)))
}

/// Cancels one of two equal calls. A later call shows how long the other one may take. The ids differ only in their type, but
/// not over HTTP, where the Python SDK mixes up their streams in a way that depends on time.
async fn cancel_one_of_two(peer: &mut Peer, planned: &Planned, before_cancel: Duration) -> Result<(), StepError> {
    let number = peer.take_id();
    let call = |id: Value| Outgoing { id: Some(id), ..planned.outgoing() };
    let kept = peer.send(call(json!(number))).await?;
    let prefix = if peer.transport() == Transport::StreamableHttp { "workbench-call-" } else { "" };
    let cancelled = peer.send(call(json!(format!("{prefix}{number}")))).await?;
    match peer.response_before_cancel(&cancelled, before_cancel).await {
        Err(error) if error.kind == "timed-out" => {
            peer.cancel_call(&planned.name, &cancelled).await;
            cancel_no_call(peer, json!({ "reason": "test" })).await?;
        }
        Err(error) => return Err(error),
        Ok(_) => return Ok(()),
    }
    let id = peer.take_id();
    if peer.transport() == Transport::Stdio {
        // It arrives before the request, which it must not end. A server may handle messages that arrive together at once.
        cancel_no_call(peer, json!({ "requestId": id })).await?;
        peer.await_cancellation().await;
    }
    let later = peer.send(call(json!(id))).await?;
    peer.await_pair(OpenPair { tool: planned.name.clone(), kept, later }).await;
    Ok(())
}

/// Sends a cancellation that is not for an open call, and must not end one: without the id of a request, or with one that was
/// never sent. Streamable HTTP has no such notification in 2026-07-28.
async fn cancel_no_call(peer: &mut Peer, params: Value) -> Result<(), StepError> {
    if peer.revision().is_modern() && peer.transport() == Transport::StreamableHttp {
        return Ok(());
    }
    let (method, params) = ("notifications/cancelled".to_owned(), params.as_object().cloned());
    peer.notify(&Outgoing { method, params, ..Outgoing::default() }).await
}

/// The metadata of a call: the log level, and a progress token, a string or a number. `id` makes it unique in the session.
fn metadata(peer: &mut Peer, step: &CallTools, planned: &Planned, id: i64) -> Map<String, Value> {
    let mut meta = Map::new();
    // A tool that may be slow gets a token, because its progress shows that it works.
    if planned.has_token && (step.progress || peer.was_interrupted(&planned.name)) {
        let is_text = peer.takes_text_token(&planned.name);
        let token = if is_text { json!(format!("Progress-{id}")) } else { json!(1_000_000 + id) };
        meta.insert("progressToken".to_owned(), token);
    }
    if let Some(level) = step.log_level.as_ref().filter(|_| peer.revision().is_modern()) {
        meta.insert(LOG_LEVEL.to_owned(), json!(level));
    }
    meta
}

/// Requests every prompt with a value for each required argument, and some with all arguments in between.
pub(super) async fn get_prompts(peer: &mut Peer, step: &GetPrompts, values: &[Value]) -> Result<Value, Failure> {
    let prompts = fill::select(&step.prompts, &fill::values(values, None)).map_err(Failure::Nothing)?;
    let mut answers = Vec::new();
    let mut with_all = MAX_WITH_ALL;
    for prompt in prompts.iter().take(step.max.unwrap_or(MAX)) {
        let (required, all) = (prompt_arguments(prompt, true), prompt_arguments(prompt, false));
        answers.push(get_prompt(peer, prompt, &required).await?);
        if all.len() > required.len() && with_all > 0 {
            with_all -= 1;
            get_prompt(peer, prompt, &all).await?;
            get_prompt(peer, prompt, &required).await?;
        }
    }
    if answers.is_empty() {
        return Err(Failure::Nothing("the server lists no prompts".to_owned()));
    }
    Ok(json!({ "answers": answers }))
}

/// Values for the required arguments of a prompt, or for all.
fn prompt_arguments(prompt: &Value, only_required: bool) -> Map<String, Value> {
    let arguments = prompt.get("arguments").and_then(Value::as_array).into_iter().flatten();
    let valued = arguments.filter_map(|argument| {
        let name = argument.get("name")?.as_str()?;
        let is_required = argument.get("required") == Some(&Value::Bool(true));
        let value = if is_required { prompt_argument(name) } else { json!(OPTIONAL_ARGUMENT) };
        (is_required || !only_required).then(|| (name.to_owned(), value))
    });
    valued.collect()
}

async fn get_prompt(peer: &mut Peer, prompt: &Value, arguments: &Map<String, Value>) -> Result<Value, StepError> {
    let name = prompt.get("name").cloned().unwrap_or_default();
    let number = peer.take_id();
    let meta = json!({ "progressToken": format!("prompt {} {number}", text(&name)) });
    let mut params = Map::from_iter([("name".to_owned(), name), ("_meta".to_owned(), meta)]);
    if !arguments.is_empty() {
        params.insert("arguments".to_owned(), json!(arguments));
    }
    let outgoing = Outgoing { method: "prompts/get".to_owned(), params: Some(params), ..Outgoing::default() };
    match peer.request(outgoing, peer.response_timeout(None)).await {
        Err(error) if error.kind == "closed" => Err(error),
        Err(error) => Ok(json!({ "error": { "message": error.message } })),
        response => response,
    }
}
