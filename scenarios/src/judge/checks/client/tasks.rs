//! Tasks: those of 2025-11-25 (basic/utilities/tasks), and the extension of 2026-07-28 (SEP-2663).

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::RACE_US;
use crate::judge::{
    check::{Check, CheckOutcome, Findings, Rule, Scope},
    transcript::{IdKey, Message, RequestResponse, Transcript},
};

/// The capabilities in a request of 2026-07-28, with the extension.
const EXTENSION: &str =
    "/params/_meta/io.modelcontextprotocol~1clientCapabilities/extensions/io.modelcontextprotocol~1tasks";
const RELATED: &str = "/_meta/io.modelcontextprotocol~1related-task";

/// After which time a task that the client did not ask for is one that it does not ask for, in microseconds. Scenarios with
/// the check suggest shorter intervals.
const UNASKED_US: u64 = 3_000_000;

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "tasks-only-where-supported",
        requirement: "client/tasks-only-where-supported",
        scope: Scope::Always,
        expected: "a tool is called as a task only if the server and the tool support it",
        rule: Rule::Case(only_where_supported),
    },
    Check {
        id: "related-task-answered",
        requirement: "client/related-task-answered",
        scope: Scope::Always,
        expected: "the response to a request of a task names the task in `_meta`",
        rule: Rule::Case(related_task_answered),
    },
    Check {
        id: "undeclared-task-ignored",
        requirement: "client/undeclared-task-ignored",
        scope: Scope::Always,
        expected: "without the capability for tasks, a request that asks for a task has its usual result",
        rule: Rule::Case(undeclared_task_ignored),
    },
    Check {
        id: "task-requests-without-metadata",
        requirement: "client/task-requests-without-metadata",
        scope: Scope::Always,
        expected: "requests about tasks have no related task in `_meta`",
        rule: Rule::Case(without_metadata),
    },
    Check {
        id: "tasks-extension-declared",
        requirement: "client/tasks-extension-declared",
        scope: Scope::Always,
        expected: "requests about tasks declare the extension for tasks",
        rule: Rule::Case(extension_declared),
    },
    Check {
        id: "tasks-poll-interval",
        requirement: "tasks/interval",
        scope: Scope::Always,
        expected: "a task is not polled more often than the server suggests",
        rule: Rule::Case(poll_interval),
    },
    Check {
        id: "tasks-polling-ends",
        requirement: "client/tasks-polling-ends",
        scope: Scope::Always,
        expected: "a task that has ended is neither polled nor cancelled",
        rule: Rule::Case(polling_ends),
    },
    Check {
        id: "tasks-are-asked-for",
        requirement: "client/status-notifications-not-relied-on",
        scope: Scope::Named,
        expected: "the client asks for a task with `tasks/get` or `tasks/result`",
        rule: Rule::Case(asked_for),
    },
    Check {
        id: "task-input-has-requested-keys",
        requirement: "client/task-input-has-requested-keys",
        scope: Scope::Always,
        expected: "the keys of input for a task are those of requests that the task made",
        rule: Rule::Case(input_has_requested_keys),
    },
];

const NO_TASK: &str = "the client sent no request about a task";

fn task_requests<'t, 'a>(transcript: &'t Transcript<'a>) -> impl Iterator<Item = &'t RequestResponse<'a>> + 't {
    let is_task = |method: &str| method.starts_with("tasks/") && method != "tasks/list";
    transcript.requests().iter().filter(move |one| one.request.method().is_some_and(is_task))
}

fn only_where_supported(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    for session in transcript.sessions() {
        let Some(handshake) = session.handshake() else { continue };
        let result = handshake.answer.result();
        let declared = result.and_then(|it| it.pointer("/capabilities/tasks/requests/tools/call")).is_some();
        let mut support: HashMap<&str, &str> = HashMap::new();
        for message in session.messages() {
            let tools = message.result().filter(|_| !message.by_client()).and_then(|result| result.get("tools"));
            for tool in tools.and_then(Value::as_array).into_iter().flatten() {
                let stated = tool.pointer("/execution/taskSupport").and_then(Value::as_str);
                let name = tool.get("name").and_then(Value::as_str);
                support.extend(name.map(|name| (name, stated.unwrap_or("forbidden"))));
            }
            let tool = message.tool().filter(|_| message.by_client() && !message.is_modern());
            let Some(tool) = tool.filter(|_| message.param("task").is_some_and(|task| !task.is_null())) else {
                continue;
            };
            let fault = match support.get(tool) {
                _ if !declared => Err(format!("`{tool}` was called as a task, which the server does not support")),
                Some(&"forbidden") => Err(format!("`{tool}` was called as a task, which it does not support")),
                _ => Ok(()),
            };
            findings.check(message.seq(), fault);
        }
    }
    findings.or_not_applicable("calls", "the client called no tool as a task")
}

fn related_task_answered(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    for session in transcript.sessions() {
        let mut related: HashMap<IdKey<'_>, (u64, &Value)> = HashMap::new();
        for message in session.messages() {
            let Some(id) = message.id_key() else { continue };
            if !message.by_client() {
                let task = message.params().and_then(|params| params.pointer(RELATED)?.get("taskId"));
                related.extend(task.map(|task| (id, (message.seq(), task))));
            } else if let (Some((seq, task)), Some(result)) = (related.get(&id), message.result()) {
                findings.saw(message.seq());
                if result.pointer(RELATED).and_then(|related| related.get("taskId")) != Some(task) {
                    findings.fail(format!("the result does not name the task {task}"), [*seq, message.seq()]);
                }
            }
        }
    }
    findings.or_not_applicable("results", "no task sent a request")
}

fn undeclared_task_ignored(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    for session in transcript.sessions() {
        let Some(handshake) = session.handshake() else { continue };
        let declared = handshake.request.params().and_then(|params| params.pointer("/capabilities/tasks/requests"));
        let mut asked: HashMap<IdKey<'_>, u64> = HashMap::new();
        for message in session.messages() {
            let Some(id) = message.id_key() else { continue };
            if !message.by_client() {
                // `sampling/createMessage` is declared as `sampling.createMessage`.
                let path = message.method().map(|method| format!("/{method}"));
                let is_declared = path.is_some_and(|path| declared.and_then(|it| it.pointer(&path)).is_some());
                if message.param("task").is_some() && !is_declared {
                    asked.insert(id, message.seq());
                }
            } else if let (Some(seq), Some(result)) = (asked.get(&id), message.result()) {
                findings.saw(message.seq());
                if result.get("task").is_some_and(Value::is_object) {
                    findings.fail("the result is a task, which the client does not declare", [*seq, message.seq()]);
                }
            }
        }
    }
    findings.or_not_applicable("results", "the server asked for no task")
}

fn without_metadata(transcript: &Transcript<'_>) -> CheckOutcome {
    let requests = transcript.requests().iter().map(|one| one.request);
    let requests = requests.filter(|message| message.method().is_some_and(|method| method.starts_with("tasks/")));
    let fault = |message: &Message<'_>| {
        let has = message.params().is_some_and(|params| params.pointer(RELATED).is_some());
        has.then(|| format!("`{}` has a related task", message.method().unwrap_or_default()))
    };
    Findings::from_each(requests.map(|message| (message.seq(), message)), fault).or_not_applicable("requests", NO_TASK)
}

fn extension_declared(transcript: &Transcript<'_>) -> CheckOutcome {
    let requests = task_requests(transcript).map(|one| one.request).filter(Message::is_modern);
    let fault = |message: &Message<'_>| {
        let declared = message.json.pointer(EXTENSION).is_some();
        (!declared).then(|| format!("`{}` does not declare the extension", message.method().unwrap_or_default()))
    };
    Findings::from_each(requests.map(|message| (message.seq(), message)), fault).or_not_applicable("requests", NO_TASK)
}

/// The task in a result: the result itself, or its member in 2025-11-25.
fn task_of(result: &Value) -> &Value {
    result.get("task").filter(|task| task.is_object()).unwrap_or(result)
}

fn poll_interval(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    // The last poll of each task, and the interval in its response. Input that was sent allows to poll at once.
    let mut polls: HashMap<(&str, &Value), (&RequestResponse<'_>, u64, usize)> = HashMap::new();
    for one in task_requests(transcript) {
        let Some(id) = one.param("taskId") else { continue };
        let key = (one.request.frame.server.as_str(), id);
        if !one.request.is("tasks/get") {
            polls.remove(&key);
            continue;
        }
        let mut early = 0;
        if let Some((last, interval_us, before)) = polls.get(&key) {
            findings.saw(one.request.seq());
            // A client with a fixed rate counts from its requests, whose records may be late.
            if one.request.at_us().saturating_sub(last.request.at_us()) < interval_us / 2 {
                early = before + 1;
            }
            if early == 2 {
                let ms = interval_us / 1000;
                let message = format!("a task was polled several times within half of the interval of {ms} ms");
                findings.fail(message, [last.request.seq(), one.request.seq()]);
            }
        }
        let interval =
            one.result().map(task_of).and_then(|task| task.get("pollIntervalMs").or_else(|| task.get("pollInterval")));
        let interval_us = interval.and_then(Value::as_u64).unwrap_or_default().saturating_mul(1000);
        polls.insert(key, (one, interval_us, early));
    }
    findings.or_not_applicable("polls", "no task was polled twice")
}

fn polling_ends(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    // When each task ended, the frame that says so, and the number of later requests, of which one may have crossed it.
    let mut ended: HashMap<(&str, &Value), (u64, u64, usize)> = HashMap::new();
    for one in task_requests(transcript) {
        let Some(id) = one.param("taskId") else { continue };
        let key = (one.request.frame.server.as_str(), id);
        findings.saw(one.request.seq());
        if let Some((at_us, seq, late)) = ended.get_mut(&key).filter(|_| !one.request.is("tasks/result")) {
            *late += 1;
            if *late > 1 || one.request.at_us() > *at_us + RACE_US {
                let method = one.request.method().unwrap_or_default();
                findings.fail(format!("`{method}` was sent after the end of the task"), [*seq, one.request.seq()]);
            }
        }
        let status = one.result().and_then(|result| task_of(result).get("status")).and_then(Value::as_str);
        if let (Some("completed" | "failed" | "cancelled"), Some(response)) = (status, one.response) {
            ended.entry(key).or_insert((response.at_us(), response.seq(), 0));
        }
    }
    findings.or_not_applicable("requests", NO_TASK)
}

/// A task that the client cancels in time is none that it waits for.
fn asked_for(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    for session in transcript.sessions() {
        let mut asked: HashMap<&Value, u64> = HashMap::new();
        for message in session.client_messages() {
            if message.method().is_some_and(|method| method.starts_with("tasks/"))
                && let Some(id) = message.param("taskId")
            {
                asked.entry(id).or_insert(message.at_us());
            }
        }
        let end_us = session.frames.last().map_or(0, |frame| frame.at_us);
        for call in session.client_messages().filter(|message| message.param("task").is_some()) {
            let Some(answer) = session.answer(&call) else { continue };
            let Some(id) = answer.result().and_then(|result| task_of(result).get("taskId")) else { continue };
            let latest_us = answer.at_us() + UNASKED_US;
            let is_asked = asked.get(id).is_some_and(|at_us| *at_us <= latest_us);
            if is_asked || end_us >= latest_us {
                let fault =
                    || format!("the client waited for {} s, and asked for the task never", UNASKED_US / 1_000_000);
                findings.check(call.seq(), if is_asked { Ok(()) } else { Err(fault()) });
            }
        }
    }
    findings.or_not_applicable("tasks", "no call became a task for long enough")
}

fn input_has_requested_keys(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    let mut requested: HashMap<(&str, &str), HashSet<&str>> = HashMap::new();
    for message in transcript.messages() {
        let server = message.frame.server.as_str();
        let Some(body) = message.result().map(task_of).or_else(|| message.params()) else { continue };
        let member = |name: &str| body.get(name);
        let Some(task) = member("taskId").and_then(Value::as_str) else { continue };
        if !message.by_client() {
            // The result of `tasks/get`, or a notification about the task.
            let keys = member("inputRequests").and_then(Value::as_object).into_iter().flatten();
            requested.entry((server, task)).or_default().extend(keys.map(|(key, _)| key.as_str()));
            continue;
        }
        let responses = member("inputResponses").and_then(Value::as_object);
        let Some(responses) = responses.filter(|_| message.is("tasks/update")) else { continue };
        let known = requested.get(&(server, task));
        let unknown = responses.keys().find(|key| !known.is_some_and(|known| known.contains(key.as_str())));
        let fault = |key: &String| format!("the task `{task}` requested no input with the key `{key}`");
        findings.check(message.seq(), unknown.map_or(Ok(()), |key| Err(fault(key))));
    }
    findings.or_not_applicable("requests", "the client sent no input for a task")
}

#[cfg(test)]
mod tests;
