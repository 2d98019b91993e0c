//! Calls of tools that become tasks (the extension `io.modelcontextprotocol/tasks`, SEP-2663).

use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::{
    Failure,
    tasks::{MAX, call_of, has_ended, pause, permitted, send, timeout},
};
use crate::{
    evidence::StepError,
    model::{TASKS_EXTENSION, TaskCalls, UNKNOWN_TASK},
    peer::{META_CAPABILITIES, Peer},
    run::{ToolPolicy, server_case::calls},
};

/// Maximum number of tools that are called.
const MAX_CALLS: usize = 20;
/// A tool whose calls took longer together is not called with other arguments.
const SOON: Duration = Duration::from_secs(1);
const METHODS: [&str; 3] = ["tasks/get", "tasks/update", "tasks/cancel"];

/// Calls each permitted tool as a client with the extension, and polls the tasks that some calls become.
pub(super) async fn call(
    peer: &mut Peer,
    step: &TaskCalls,
    values: &[Value],
    policy: &ToolPolicy,
) -> Result<Value, Failure> {
    let tools = permitted(step, values, policy)?;
    let within = timeout(peer, step);
    let discovered = send(peer, "server/discover", Map::new(), within).await?;
    let extensions = discovered.as_ref().and_then(|response| response.pointer("/result/capabilities/extensions"));
    if extensions.and_then(|all| all.get(TASKS_EXTENSION)).is_none() {
        return Err(Failure::Nothing("the server does not declare the extension for tasks".to_owned()));
    }
    for method in METHODS {
        send(peer, method, declaring(about(method, UNKNOWN_TASK)), within).await?;
    }
    let mut tasks = Vec::new();
    for tool in tools.iter().take(MAX_CALLS) {
        let Some(call) = call_of(tool, calls::valid_arguments) else { continue };
        let began = Instant::now();
        let Some(id) = run(peer, call, within).await? else { continue };
        for method in METHODS {
            send(peer, method, about(method, &id), within).await?;
        }
        // Other arguments may have another outcome.
        for arguments in calls::varied_arguments(tool) {
            if began.elapsed() > SOON {
                break;
            }
            let Some(call) = call_of(tool, |_| Some(arguments)) else { break };
            run(peer, call, within).await?;
        }
        tasks.push(json!({ "tool": tool.get("name"), "id": id }));
        if tasks.len() == step.max.unwrap_or(MAX) {
            break;
        }
    }
    if tasks.is_empty() {
        return Err(Failure::Nothing("no tool that may be called becomes a task".to_owned()));
    }
    Ok(json!({ "tasks": tasks }))
}

/// Makes a call and follows the task that it becomes. Returns its id.
async fn run(peer: &mut Peer, call: Map<String, Value>, within: Duration) -> Result<Option<String>, StepError> {
    let response = send(peer, "tools/call", declaring(call.clone()), within).await?;
    let Some(id) = response.as_ref().and_then(task_of) else { return Ok(None) };
    follow(peer, &id, within).await?;
    // What a client without the extension gets.
    send(peer, "tools/call", call, within).await?;
    Ok(Some(id))
}

/// The parameters of a request of a client with the extension.
fn declaring(mut params: Map<String, Value>) -> Map<String, Value> {
    let capabilities = json!({ "extensions": { TASKS_EXTENSION: {} } });
    params.insert("_meta".to_owned(), json!({ META_CAPABILITIES: capabilities }));
    params
}

/// The parameters of a request about a task.
fn about(method: &str, id: &str) -> Map<String, Value> {
    let mut params = Map::from_iter([("taskId".to_owned(), json!(id))]);
    if method == "tasks/update" {
        params.insert("inputResponses".to_owned(), json!({}));
    }
    params
}

/// The id of the task that a call became.
fn task_of(response: &Value) -> Option<String> {
    let result = response.get("result").filter(|result| result["resultType"] == "task")?;
    result.get("taskId")?.as_str().map(str::to_owned)
}

/// Reads the status of a task until it ends, and cancels one that requires input or takes too long.
async fn follow(peer: &mut Peer, id: &str, within: Duration) -> Result<(), StepError> {
    let deadline = Instant::now() + within;
    loop {
        let response = send(peer, "tasks/get", declaring(about("tasks/get", id)), within).await?;
        let Some(task) = response.as_ref().and_then(|response| response.get("result")) else { return Ok(()) };
        if has_ended(task) {
            return Ok(());
        }
        if task["status"] == "input_required" || Instant::now() >= deadline {
            send(peer, "tasks/cancel", declaring(about("tasks/cancel", id)), within).await?;
            return Ok(());
        }
        pause(task.get("pollIntervalMs")).await;
    }
}
