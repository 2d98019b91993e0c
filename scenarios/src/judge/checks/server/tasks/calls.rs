//! Calls of tools as tasks, and the same calls without a task.

use std::collections::HashMap;

use serde_json::Value;

use super::{
    super::{cancellation::meaningful_calls, has_is_error, plain_result},
    NO_TASK, Observed, Task, all_results, ends, observed, response, tasks,
};
use crate::judge::{
    check::{CheckOutcome, Findings, brief},
    transcript::{RequestResponse, Transcript},
};

/// The capability of a server that accepts calls as tasks.
const CAPABILITY: &str = "tasks.requests.tools.call";
/// A call that takes longer waits for its task.
const SOON_US: u64 = 2_000_000;

/// The calls as tasks of listed tools, with the task support of the tool.
fn task_calls<'t, 'a>(transcript: &'t Transcript<'a>) -> Vec<(&'t RequestResponse<'a>, &'a str)> {
    let mut support: HashMap<&str, &str> = HashMap::new();
    for (_, tool) in transcript.items("tools/list", "tools") {
        if let Some(name) = tool.get("name").and_then(Value::as_str) {
            let value = tool.pointer("/execution/taskSupport").and_then(Value::as_str);
            support.entry(name).or_insert(value.unwrap_or("forbidden"));
        }
    }
    let calls = meaningful_calls(transcript).filter(|call| call.param("task").is_some());
    calls.filter_map(|call| Some((call, *support.get(call.param("name")?.as_str()?)?))).collect()
}

pub(super) fn created(transcript: &Transcript<'_>) -> CheckOutcome {
    let declared = transcript.declares(CAPABILITY) == Some(true);
    let calls = task_calls(transcript).into_iter().filter(|(call, support)| {
        // A call that failed at once, as one with invalid arguments, was not accepted as a task.
        let accepted = call.result().is_some_and(|result| !has_is_error(result));
        declared && matches!(*support, "optional" | "required") && accepted
    });
    let fault = |call: &&RequestResponse<'_>| {
        let has_task = call.result()?.get("task").is_some_and(Value::is_object);
        (!has_task).then(|| format!("the response is {}", response(call)))
    };
    Findings::from_each(calls.map(|(call, _)| (call.last_frame(), call)), fault)
        .or_not_applicable("calls", "no tool was called as a task")
}

pub(super) fn created_soon(transcript: &Transcript<'_>) -> CheckOutcome {
    let observed = observed(transcript);
    let fault = |task: &Task<'_, '_>| {
        let took = task.call.response?.at_us().saturating_sub(task.call.request.at_us());
        let answered = task.call.last_frame();
        let next = observed.iter().find(|one| one.id == task.id && one.asked.is_some_and(|asked| asked > answered));
        let ended = next.is_some_and(Observed::has_ended);
        (took > SOON_US && ended).then(|| format!("the response took {} ms, and the task had ended", took / 1000))
    };
    Findings::from_each(tasks(transcript).map(|task| (task.call.last_frame(), task)), fault)
        .or_not_applicable("tasks", NO_TASK)
}

pub(super) fn forbidden(transcript: &Transcript<'_>) -> CheckOutcome {
    let declared = transcript.declares(CAPABILITY) == Some(true);
    let calls = task_calls(transcript).into_iter();
    let calls = calls.filter(|(call, support)| declared && *support == "forbidden" && call.response.is_some());
    let fault = |call: &&RequestResponse<'_>| {
        (call.code() != Some(-32601)).then(|| format!("the response is {}", response(call)))
    };
    Findings::from_each(calls.map(|(call, _)| (call.last_frame(), call)), fault)
        .or_not_applicable("calls", "no tool without task support was called as a task")
}

/// Whether two calls differ in their task and metadata only.
fn is_same_call(one: &RequestResponse<'_>, other: &RequestResponse<'_>) -> bool {
    one.param("name") == other.param("name") && one.param("arguments") == other.param("arguments")
}

/// The calls without a task that equal a call.
fn plain_calls<'t, 'a>(transcript: &'t Transcript<'a>, call: &RequestResponse<'_>) -> Vec<&'t RequestResponse<'a>> {
    let plain = transcript.requests_of("tools/call").filter(|other| other.param("task").is_none());
    plain.filter(|other| is_same_call(call, other)).collect()
}

pub(super) fn metadata_ignored(transcript: &Transcript<'_>) -> CheckOutcome {
    if transcript.declares(CAPABILITY) != Some(false) {
        return CheckOutcome::not_applicable("the server declares tasks");
    }
    let calls = task_calls(transcript).into_iter().filter(|(call, _)| call.response.is_some());
    let fault = |call: &&RequestResponse<'_>| {
        let is_task =
            call.result().is_some_and(|result| result.get("task").is_some() && result.get("content").is_none());
        let plain = plain_calls(transcript, call);
        let succeeds = !plain.is_empty() && plain.iter().all(|plain| plain.result().is_some());
        let rejected = call.error().filter(|_| succeeds);
        match rejected {
            Some(error) => {
                Some(format!("the call is rejected with {}, and without `task` it has a result", brief(error)))
            }
            None => is_task.then(|| format!("the response is {}", response(call))),
        }
    };
    Findings::from_each(calls.map(|(call, _)| (call.last_frame(), call)), fault)
        .or_not_applicable("calls", "no tool was called as a task")
}

pub(super) fn same_result(transcript: &Transcript<'_>) -> CheckOutcome {
    let by_id: HashMap<&str, _> = tasks(transcript).map(|task| (task.id, task)).collect();
    let ends = ends(transcript);
    let mut first: HashMap<&str, Value> = HashMap::new();
    let mut findings = Findings::default();
    for (id, one) in all_results(transcript) {
        let Some(result) = one.result().map(plain_result) else {
            let task = by_id.get(id).filter(|task| is_alive(task, one));
            let Some((task, error)) = task.zip(one.error()) else { continue };
            let before = first.get(id).map(|before| format!("`tasks/result` had {}", brief(before)));
            // The result of a task that was cancelled may be an error.
            let is_over = ends.get(id).is_some_and(|end| end.status != "cancelled");
            let fault = before.or_else(|| failed_alike(transcript, task.call).filter(|_| is_over));
            findings.check(
                one.last_frame(),
                fault.map_or(Ok(()), |before| Err(format!("{before}, and now the error {}", brief(error)))),
            );
            continue;
        };
        if let Some(before) = first.get(id) {
            let message = || format!("`tasks/result` had {}, and now has {}", brief(before), response(one));
            findings.check(one.last_frame(), if *before == result { Ok(()) } else { Err(message()) });
            continue;
        }
        let plain = by_id.get(id).map(|task| plain_calls(transcript, task.call)).unwrap_or_default();
        // A call that needs a task fails without one.
        let succeeded = plain.into_iter().filter_map(|call| call.result()).filter(|result| !has_is_error(result));
        let plain: Vec<Value> = succeeded.map(plain_result).collect();
        // Only a tool that always returns the same is comparable.
        let stable = plain.len() >= 2 && plain.iter().all(|result| *result == plain[0]);
        if let Some(expected) = plain.first().filter(|_| stable) {
            let message =
                || format!("the call without a task has {}, and `tasks/result` has {}", brief(expected), response(one));
            findings.check(one.last_frame(), if result == *expected { Ok(()) } else { Err(message()) });
        }
        first.insert(id, result);
    }
    findings.or_not_applicable("results", "no task has a comparable call without a task")
}

/// Whether the lifetime of a task has not ended. It may be deleted then.
fn is_alive(task: &Task<'_, '_>, request: &RequestResponse<'_>) -> bool {
    let age_us = request.response.map_or(u64::MAX, |end| end.at_us().saturating_sub(task.call.request.at_us()));
    task.task.get("ttl").is_none_or(|ttl| ttl.as_u64().is_none_or(|ttl| age_us < ttl.saturating_mul(1000)))
}

/// The result of the same calls without a task, if it has `isError`.
fn failed_alike(transcript: &Transcript<'_>, call: &RequestResponse<'_>) -> Option<String> {
    let plain = plain_calls(transcript, call);
    let results: Vec<_> = plain.iter().map(|call| call.result().filter(|result| has_is_error(result))).collect();
    let first = results.first().copied().flatten().filter(|_| results.iter().all(Option::is_some))?;
    Some(format!("the call without a task has {}", brief(first)))
}
