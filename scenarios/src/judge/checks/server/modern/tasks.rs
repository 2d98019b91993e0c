//! Tasks of the extension `io.modelcontextprotocol/tasks` (SEP-2663): who may have them, what is known about them, and how
//! they end.

use std::collections::HashMap;

use serde_json::Value;

use super::{super::has_is_error, META_CAPABILITIES, meta, modern_requests};
use crate::{
    judge::{
        check::{Check, CheckOutcome, Findings, Rule, Scope, brief, brief_or_missing},
        transcript::{RequestResponse, Transcript},
    },
    model::{TASKS_EXTENSION, UNKNOWN_TASK},
};

pub(in super::super) const CHECKS: &[Check] = &[
    Check {
        id: "task-requests-need-the-extension",
        requirement: "tasks/extension-declared",
        scope: Scope::Always,
        expected: "a request about a task is rejected with -32021 if it does not declare the extension",
        rule: Rule::Case(undeclared),
    },
    Check {
        id: "task-responses-are-complete",
        requirement: "tasks/complete-results",
        scope: Scope::Always,
        expected: "the results of `tasks/get`, `tasks/update` and `tasks/cancel` have the resultType `complete`",
        rule: Rule::Case(complete),
    },
    Check {
        id: "new-task-exists",
        requirement: "tasks/durable",
        scope: Scope::Always,
        expected: "the first `tasks/get` for a task that a call returned has a result",
        rule: Rule::Case(exists),
    },
    Check {
        id: "task-status-has-its-members",
        requirement: "tasks/outcome",
        scope: Scope::Always,
        expected: "a completed task has `result`, a failed one `error`, and one that requires input `inputRequests`",
        rule: Rule::Case(members),
    },
    Check {
        id: "tool-error-completes-its-task",
        requirement: "tasks/tool-errors",
        scope: Scope::Always,
        expected: "a task is completed and not failed if the result of the same call without a task has isError",
        rule: Rule::Case(tool_errors),
    },
    Check {
        id: "status-of-unknown-task-code",
        requirement: "tasks/unknown-status",
        scope: Scope::Named,
        expected: "`tasks/get` for an unknown task is rejected with -32602",
        rule: Rule::Case(unknown_status),
    },
    Check {
        id: "unknown-task-is-refused",
        requirement: "tasks/unknown-refused",
        scope: Scope::Named,
        expected: "`tasks/update` and `tasks/cancel` for an unknown task are rejected",
        rule: Rule::Case(unknown_refused),
    },
];

const NO_REQUEST: &str = "no such request was sent";
const NO_TASK: &str = "no call became a task";

/// The requests about tasks that have a response, if the server declares the extension.
fn about_tasks<'t, 'a>(transcript: &'t Transcript<'a>) -> impl Iterator<Item = &'t RequestResponse<'a>> {
    let capabilities = transcript.server_identity().and_then(|identity| identity.get("capabilities"));
    let is_declared = capabilities.is_some_and(has_extension);
    let is_about = |one: &&RequestResponse<'_>| {
        matches!(one.request.method(), Some("tasks/get" | "tasks/update" | "tasks/cancel")) && one.response.is_some()
    };
    modern_requests(transcript).filter(move |one| is_declared && is_about(one))
}

fn has_extension(capabilities: &Value) -> bool {
    capabilities.get("extensions").is_some_and(|all| all.get(TASKS_EXTENSION).is_some())
}

fn declares(one: &RequestResponse<'_>) -> bool {
    meta(one, META_CAPABILITIES).is_some_and(has_extension)
}

/// What a response is instead, for messages.
fn response(one: &RequestResponse<'_>) -> String {
    let method = one.request.method().unwrap_or_default();
    format!("the response to `{method}` is {}", one.response.map_or_else(String::new, |it| brief(it.json)))
}

fn undeclared(transcript: &Transcript<'_>) -> CheckOutcome {
    let requests = about_tasks(transcript).filter(|one| !declares(one)).map(|one| (one.last_frame(), one));
    Findings::from_each(requests, |one| (one.code() != Some(-32021)).then(|| response(one)))
        .or_not_applicable("requests", NO_REQUEST)
}

fn complete(transcript: &Transcript<'_>) -> CheckOutcome {
    let results = about_tasks(transcript).filter_map(|one| Some((one.last_frame(), (one, one.result()?))));
    let fault = |(one, result): &(&RequestResponse<'_>, &Value)| {
        let kind = result.get("resultType").filter(|kind| *kind != "complete")?;
        Some(format!("the resultType of `{}` is {}", one.request.method().unwrap_or_default(), brief(kind)))
    };
    Findings::from_each(results, fault).or_not_applicable("results", NO_REQUEST)
}

/// The calls that became tasks, by the id of the task.
fn created<'t, 'a>(transcript: &'t Transcript<'a>) -> HashMap<&'a str, &'t RequestResponse<'a>> {
    let calls = transcript.requests_of("tools/call").filter(|call| declares(call));
    let task = |call: &RequestResponse<'a>| {
        let result = call.result().filter(|result| result.get("resultType").is_some_and(|kind| kind == "task"))?;
        result.get("taskId")?.as_str()
    };
    calls.filter_map(|call| Some((task(call)?, call))).collect()
}

/// The reads of the status of tasks that calls created, in order, each with the id and the call.
fn reads<'t, 'a>(
    transcript: &'t Transcript<'a>,
) -> impl Iterator<Item = (&'t RequestResponse<'a>, &'a str, &'t RequestResponse<'a>)> {
    let created = created(transcript);
    let reads = about_tasks(transcript).filter(|one| one.request.is("tasks/get") && declares(one));
    reads.filter_map(move |one| {
        let id = one.param("taskId")?.as_str()?;
        Some((one, id, *created.get(id)?))
    })
}

fn exists(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut firsts: HashMap<&str, &RequestResponse<'_>> = HashMap::new();
    for (read, id, _) in reads(transcript) {
        firsts.entry(id).or_insert(read);
    }
    let mut firsts: Vec<_> = firsts.into_values().map(|read| (read.last_frame(), read)).collect();
    firsts.sort_by_key(|(frame, _)| *frame);
    Findings::from_each(firsts, |read| read.error().map(|_| response(read))).or_not_applicable("tasks", NO_TASK)
}

fn members(transcript: &Transcript<'_>) -> CheckOutcome {
    let results = reads(transcript).filter_map(|(read, ..)| Some((read.last_frame(), read.result()?)));
    let fault = |result: &&Value| {
        let status = result.get("status").and_then(Value::as_str)?;
        let name = match status {
            "completed" => "result",
            "failed" => "error",
            "input_required" => "inputRequests",
            _ => return None,
        };
        let member = result.get(name);
        let is_missing = !member.is_some_and(Value::is_object);
        is_missing.then(|| format!("the task is `{status}`, and its `{name}` is {}", brief_or_missing(member)))
    };
    Findings::from_each(results, fault).or_not_applicable("results", NO_TASK)
}

fn tool_errors(transcript: &Transcript<'_>) -> CheckOutcome {
    let plain: Vec<_> = transcript.requests_of("tools/call").filter(|call| !declares(call)).collect();
    let fails_always = |call: &RequestResponse<'_>| {
        let mut equal = plain.iter().filter(|one| one.request.is_same_call(&call.request)).peekable();
        equal.peek().is_some() && equal.all(|one| one.result().is_some_and(has_is_error))
    };
    let reads = reads(transcript).filter(|(_, _, call)| fails_always(call));
    let ends = reads.filter_map(|(read, ..)| Some((read.last_frame(), read.result()?)));
    let fault = |result: &&Value| {
        let is_failed = result.get("status").is_some_and(|status| status == "failed");
        is_failed.then(|| format!("the call has a result with isError, and its task is {}", brief(result)))
    };
    Findings::from_each(ends, fault).or_not_applicable("tasks", "no task belongs to a call that fails")
}

/// The requests of clients with the extension about a task that does not exist.
fn unknown<'t, 'a>(transcript: &'t Transcript<'a>) -> impl Iterator<Item = &'t RequestResponse<'a>> {
    about_tasks(transcript).filter(|one| declares(one) && one.param("taskId").is_some_and(|id| id == UNKNOWN_TASK))
}

fn unknown_status(transcript: &Transcript<'_>) -> CheckOutcome {
    let requests = unknown(transcript).filter(|one| one.request.is("tasks/get")).map(|one| (one.last_frame(), one));
    Findings::from_each(requests, |one| (one.code() != Some(-32602)).then(|| response(one)))
        .or_not_applicable("requests", NO_REQUEST)
}

fn unknown_refused(transcript: &Transcript<'_>) -> CheckOutcome {
    let requests = unknown(transcript).filter(|one| !one.request.is("tasks/get")).map(|one| (one.last_frame(), one));
    Findings::from_each(requests, |one| one.result().map(|_| response(one))).or_not_applicable("requests", NO_REQUEST)
}
