//! Calls of tools as tasks (2025-11-25, basic/utilities/tasks).

use std::time::Duration;

use mock_servers::HumanDuration;
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::{
    super::{calls, fill},
    Failure,
};
use crate::{
    evidence::StepError,
    model::{TaskCalls, User},
    peer::{Outgoing, Peer, Sent},
    run::{ToolPolicy, server_case::unless_closed},
};

/// Default timeout of a task.
const WITHIN: Duration = Duration::from_secs(10);
/// Default maximum number of tools.
pub(super) const MAX: usize = 3;
/// The shortest and the longest pause between two polls.
const PAUSES: (u64, u64) = (20, 1_000);
/// The requested lifetime of a task in milliseconds.
const TTL_MS: u64 = 60_000;
/// A task that does not exist.
const OTHER: &str = "workbench-other-task";

/// Calls each permitted tool that supports tasks.
pub(super) async fn call(
    peer: &mut Peer,
    step: &TaskCalls,
    values: &[Value],
    policy: &ToolPolicy,
) -> Result<Value, Failure> {
    let tools = permitted(step, values, policy)?;
    peer.set_user(step.user.unwrap_or_default());
    let called = call_each(peer, step, &tools).await;
    peer.set_user(User::default());
    called
}

async fn call_each(peer: &mut Peer, step: &TaskCalls, tools: &[Value]) -> Result<Value, Failure> {
    let usable = tools.iter().filter(|tool| calls::supports_tasks(tool));
    let within = timeout(peer, step);
    let mut tasks = Vec::new();
    for (tool, call) in
        usable.filter_map(|tool| Some((tool, call_of(tool, calls::valid_arguments)?))).take(step.max.unwrap_or(MAX))
    {
        // The results of plain calls show what the task must return.
        if is_optional(tool) && step.user != Some(User::Absent) {
            for _ in 0..2 {
                send(peer, "tools/call", call.clone(), within).await?;
            }
        }
        let Some(id) = begin(peer, call.clone(), within).await? else { continue };
        follow(peer, &id, within).await?;
        if step.cancel {
            about(peer, "tasks/cancel", &id).await?;
            about(peer, "tasks/get", &id).await?;
            if let Some(other) = begin(peer, call.clone(), within).await? {
                let result = ask_result(peer, &other).await?;
                about(peer, "tasks/cancel", &other).await?;
                about(peer, "tasks/get", &other).await?;
                tokio::time::sleep(Duration::from_millis(500)).await;
                about(peer, "tasks/get", &other).await?;
                unless_closed(peer.response(&result, peer.response_timeout(None)).await)?;
            }
        }
        if tasks.is_empty() {
            for _ in 0..step.more {
                begin(peer, call.clone(), within).await?;
            }
            // The server may reject it, or create a task that fails.
            if step.invalid
                && let Some(invalid) = call_of(tool, calls::invalid_arguments)
            {
                if is_optional(tool) {
                    send(peer, "tools/call", invalid.clone(), within).await?;
                }
                if let Some(id) = begin(peer, invalid, within).await? {
                    follow(peer, &id, within).await?;
                }
            }
        }
        tasks.push(json!({ "tool": tool.get("name"), "id": id }));
    }
    if tasks.is_empty() {
        return Err(Failure::Nothing("no tool with task support may be called".to_owned()));
    }
    Ok(json!({ "tasks": tasks }))
}

/// Whether a tool may be called with and without a task.
fn is_optional(tool: &Value) -> bool {
    tool.pointer("/execution/taskSupport").is_some_and(|support| support == "optional")
}

/// The tools of the step that may be called.
pub(super) fn permitted(step: &TaskCalls, values: &[Value], policy: &ToolPolicy) -> Result<Vec<Value>, Failure> {
    let tools = fill::select(&step.tools, &fill::values(values, None)).map_err(Failure::Nothing)?;
    Ok(tools.into_iter().filter(|tool| policy.permits(tool).is_ok()).collect())
}

/// The timeout of one task.
pub(super) fn timeout(peer: &Peer, step: &TaskCalls) -> Duration {
    peer.response_timeout(Some(step.within.map_or(WITHIN, |HumanDuration(within)| within)))
}

/// The parameters of a call with generated arguments.
pub(super) fn call_of(
    tool: &Value,
    arguments: impl FnOnce(&Value) -> Option<Map<String, Value>>,
) -> Option<Map<String, Value>> {
    json!({ "name": tool.get("name")?, "arguments": arguments(tool)? }).as_object().cloned()
}

/// Sends a request. A check judges an error; only the end of the connection ends the step.
pub(super) async fn send(
    peer: &mut Peer,
    method: &str,
    params: Map<String, Value>,
    within: Duration,
) -> Result<Option<Value>, StepError> {
    let outgoing = Outgoing { method: method.to_owned(), params: Some(params), ..Outgoing::default() };
    unless_closed(peer.request(outgoing, within).await)
}

/// Calls a tool as a task. Returns the id of the task.
async fn begin(peer: &mut Peer, mut call: Map<String, Value>, within: Duration) -> Result<Option<String>, StepError> {
    call.insert("task".to_owned(), json!({ "ttl": TTL_MS }));
    call.insert("_meta".to_owned(), json!({ "progressToken": format!("task-{}", peer.next_id()) }));
    let response = send(peer, "tools/call", call, within).await?;
    let id = response.as_ref().and_then(|response| response.pointer("/result/task/taskId")?.as_str());
    Ok(id.map(str::to_owned))
}

/// Sends a request about a task.
async fn about(peer: &mut Peer, method: &str, id: &str) -> Result<Option<Value>, StepError> {
    let within = peer.response_timeout(None);
    send(peer, method, Map::from_iter([("taskId".to_owned(), json!(id))]), within).await
}

/// Asks for the result of a task, which has a response after the end of the task.
async fn ask_result(peer: &mut Peer, id: &str) -> Result<Sent, StepError> {
    let params = json!({ "taskId": id }).as_object().cloned();
    peer.send(Outgoing { method: "tasks/result".to_owned(), params, ..Outgoing::default() }).await
}

pub(super) fn has_ended(task: &Value) -> bool {
    let status = task.get("status").and_then(Value::as_str);
    matches!(status, Some("completed" | "failed" | "cancelled"))
}

/// Waits until the next poll, in the interval in milliseconds that the server suggests.
pub(super) async fn pause(interval: Option<&Value>) {
    let pause = interval.and_then(Value::as_u64).unwrap_or(PAUSES.1);
    tokio::time::sleep(Duration::from_millis(pause.clamp(PAUSES.0, PAUSES.1))).await;
}

/// Reads the status of a task until its end, and its result.
async fn follow(peer: &mut Peer, id: &str, within: Duration) -> Result<(), StepError> {
    let deadline = Instant::now() + within;
    // The parameter counts, and not the metadata.
    let contradicting =
        json!({ "taskId": id, "_meta": { "io.modelcontextprotocol/related-task": { "taskId": OTHER } } });
    let short = peer.response_timeout(None);
    send(peer, "tasks/get", contradicting.as_object().cloned().unwrap_or_default(), short).await?;
    let (result, again) = (ask_result(peer, id).await?, ask_result(peer, id).await?);
    loop {
        let response = about(peer, "tasks/get", id).await?;
        let Some(task) = response.as_ref().and_then(|response| response.get("result")) else { break };
        if has_ended(task) || Instant::now() >= deadline {
            break;
        }
        pause(task.get("pollInterval")).await;
    }
    let left = deadline.saturating_duration_since(Instant::now()).max(short);
    match peer.response(&result, left).await {
        Err(error) if error.kind == "closed" => return Err(error),
        Err(_) => {
            peer.cancel(&result).await;
            peer.cancel(&again).await;
        }
        Ok(_) => {
            unless_closed(peer.response(&again, short).await)?;
            // Once more, as it must not change.
            about(peer, "tasks/result", id).await?;
        }
    }
    about(peer, "tasks/get", id).await?;
    Ok(())
}
