//! Tasks of 2025-11-25: their creation, status, results, list and cancellation.

use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};

use super::{content::ISO_8601, has_is_error};
use crate::{
    judge::{
        check::{Check, CheckOutcome, Findings, Rule, Scope, brief, brief_or_missing, quoted},
        transcript::{Message, RequestResponse, Transcript, http::media_type},
    },
    model::UNKNOWN_TASK,
};

mod calls;
mod progress;

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "ended-task-keeps-its-status",
        requirement: "tasks/status-lifecycle",
        scope: Scope::Always,
        expected: "the status of a task that has ended does not change",
        rule: Rule::Case(transitions),
    },
    Check {
        id: "new-task-is-working",
        requirement: "tasks/initial-status",
        scope: Scope::Always,
        expected: "a new task has the status `working`",
        rule: Rule::Case(initial_status),
    },
    Check {
        id: "task-ids-are-unique",
        requirement: "tasks/unique-ids",
        scope: Scope::Always,
        expected: "no two tasks have the same id",
        rule: Rule::Case(unique_ids),
    },
    Check {
        id: "task-ids-are-random",
        requirement: "tasks/random-ids",
        scope: Scope::Named,
        expected: "the ids of tasks cannot be guessed",
        rule: Rule::Case(random_ids),
    },
    Check {
        id: "task-parameter-decides",
        requirement: "tasks/id-parameter",
        scope: Scope::Always,
        expected: "a request about a task is answered for the task in its parameter, whatever its metadata says",
        rule: Rule::Case(id_parameter),
    },
    Check {
        id: "task-result-waits-for-the-end",
        requirement: "tasks/result-waits",
        scope: Scope::Always,
        expected: "`tasks/result` is answered when the task has ended",
        rule: Rule::Case(result_waits),
    },
    Check {
        id: "task-result-agrees-with-the-status",
        requirement: "tasks/final-result",
        scope: Scope::Always,
        expected: "the result of a completed task is that of a call, and a failed task has an error",
        rule: Rule::Case(final_result),
    },
    Check {
        id: "task-result-names-its-task",
        requirement: "tasks/related-task",
        scope: Scope::Always,
        expected: "the result of a task names the task in its _meta",
        rule: Rule::Case(result_metadata),
    },
    Check {
        id: "task-answers-have-no-related-task",
        requirement: "tasks/no-redundant-metadata",
        scope: Scope::Always,
        expected: "results about tasks, and notifications of their status, do not name the task in _meta",
        rule: Rule::Case(redundant_metadata),
    },
    Check {
        id: "unknown-task-code",
        requirement: "tasks/errors",
        scope: Scope::Named,
        expected: "a request about an unknown task is rejected with -32602",
        rule: Rule::Case(unknown_task),
    },
    Check {
        id: "tasks-are-listed",
        requirement: "tasks/listed",
        scope: Scope::Named,
        expected: "a task that `tasks/get` returns is in the list",
        rule: Rule::Case(listed),
    },
    Check {
        id: "ended-task-is-not-cancelled",
        requirement: "tasks/cancel-ended",
        scope: Scope::Named,
        expected: "the cancellation of a task that has ended is rejected with -32602",
        rule: Rule::Case(cancel_ended),
    },
    Check {
        id: "cancelled-task-has-the-status",
        requirement: "tasks/cancelled-status",
        scope: Scope::Named,
        expected: "a cancelled task has the status `cancelled` in the response",
        rule: Rule::Case(cancelled_status),
    },
    Check {
        id: "failed-call-fails-its-task",
        requirement: "tasks/failed-call",
        scope: Scope::Always,
        expected: "the task of a call whose result has `isError` is failed",
        rule: Rule::Case(failed_call),
    },
    Check {
        id: "failed-task-has-a-message",
        requirement: "tasks/status-message",
        scope: Scope::Always,
        expected: "a failed task has a status message",
        rule: Rule::Case(status_message),
    },
    Check {
        id: "task-poll-opens-no-stream",
        requirement: "tasks/no-stream-for-polling",
        scope: Scope::Always,
        expected: "the response to `tasks/get` is not a stream of events",
        rule: Rule::Case(no_stream),
    },
    Check {
        id: "task-call-returns-a-task",
        requirement: "tasks/created",
        scope: Scope::Always,
        expected: "the result of a call as a task is a task",
        rule: Rule::Case(calls::created),
    },
    Check {
        id: "task-is-returned-at-once",
        requirement: "tasks/created-soon",
        scope: Scope::Always,
        expected: "a call as a task is answered before the task ends",
        rule: Rule::Case(calls::created_soon),
    },
    Check {
        id: "task-of-plain-tool-code",
        requirement: "tasks/forbidden",
        scope: Scope::Named,
        expected: "a call as a task of a tool without task support is rejected with -32601",
        rule: Rule::Case(calls::forbidden),
    },
    Check {
        id: "task-metadata-is-ignored",
        requirement: "tasks/metadata-ignored",
        scope: Scope::Named,
        expected: "a server without the capability treats a call as a task like any other call",
        rule: Rule::Case(calls::metadata_ignored),
    },
    Check {
        id: "task-result-is-that-of-the-call",
        requirement: "tasks/same-result",
        scope: Scope::Always,
        expected: "a task has the same result as the same call without a task",
        rule: Rule::Case(calls::same_result),
    },
    Check {
        id: "task-times-are-right",
        requirement: "tasks/times",
        scope: Scope::Always,
        expected: "the times of a task are ISO 8601, and that of its creation does not change",
        rule: Rule::Case(times),
    },
    Check {
        id: "task-progress-ends-with-the-task",
        requirement: "tasks/progress-stops",
        scope: Scope::Always,
        expected: "no progress is sent after the end of the task",
        rule: Rule::Case(progress::stops),
    },
    Check {
        id: "request-of-a-task-names-it",
        requirement: "tasks/related-task-in-requests",
        scope: Scope::Always,
        expected: "a request of a task to the user names the task in its _meta",
        rule: Rule::Case(progress::requests),
    },
    Check {
        id: "task-goes-on-after-its-input",
        requirement: "tasks/status-restored",
        scope: Scope::Always,
        expected: "a task leaves the status `input_required` when it has its input",
        rule: Rule::Case(progress::restored),
    },
    Check {
        id: "waiting-task-needs-input",
        requirement: "tasks/input-status",
        scope: Scope::Always,
        expected: "a task that waits for its user has the status `input_required`",
        rule: Rule::Case(progress::waits),
    },
];

const NO_TASK: &str = "no task was created";
/// The estimated variety that random ids have.
const MIN_BITS: u32 = 60;
/// Number of ids from which their variety can be estimated.
const MIN_IDS: usize = 3;

/// The name of a task in the metadata of a message.
fn related_task(params_or_result: Option<&Value>) -> Option<&Value> {
    params_or_result?.pointer("/_meta/io.modelcontextprotocol~1related-task/taskId")
}

/// A task, and the call that created it.
struct Task<'t, 'a> {
    call: &'t RequestResponse<'a>,
    id: &'a str,
    task: &'a Value,
}

/// The tasks of all calls.
fn tasks<'t, 'a>(transcript: &'t Transcript<'a>) -> impl Iterator<Item = Task<'t, 'a>> {
    transcript.requests_of("tools/call").filter(|call| call.param("task").is_some()).filter_map(|call| {
        let task = call.result()?.get("task")?;
        Some(Task { call, id: task.get("taskId")?.as_str()?, task })
    })
}

/// The status of a task in a message of the server.
struct Observed<'a> {
    id: &'a str,
    status: &'a str,
    task: &'a Value,
    message: Message<'a>,
    /// The frame of the request to which it responds.
    asked: Option<u64>,
}

impl<'a> Observed<'a> {
    fn new(task: &'a Value, message: Message<'a>, asked: Option<u64>) -> Option<Self> {
        Some(Self { id: task.get("taskId")?.as_str()?, status: task.get("status")?.as_str()?, task, message, asked })
    }

    fn has_ended(&self) -> bool {
        matches!(self.status, "completed" | "failed" | "cancelled")
    }
}

/// The statuses that the server sent, in their order.
fn observed<'a>(transcript: &Transcript<'a>) -> Vec<Observed<'a>> {
    let created =
        tasks(transcript).filter_map(|one| Observed::new(one.task, one.call.response?, Some(one.call.request.seq())));
    let about = ["tasks/get", "tasks/cancel"].into_iter().flat_map(|method| transcript.requests_of(method));
    let about = about.filter_map(|one| Observed::new(one.result()?, one.response?, Some(one.request.seq())));
    let listed = transcript.requests_of("tasks/list").filter_map(|one| {
        let items = one.result()?.get("tasks")?.as_array()?;
        Some(items.iter().filter_map(|task| Observed::new(task, one.response?, Some(one.request.seq()))))
    });
    let notified = transcript.server_messages().filter(|message| message.is("notifications/tasks/status"));
    let notified = notified.filter_map(|message| Observed::new(message.params()?, message, None));
    let mut all: Vec<_> = created.chain(about).chain(listed.flatten()).chain(notified).collect();
    all.sort_by_key(|one| one.message.seq());
    all
}

/// The first message that shows the end of each task.
fn ends<'a>(transcript: &Transcript<'a>) -> HashMap<&'a str, Observed<'a>> {
    let mut ends = HashMap::new();
    for one in observed(transcript).into_iter().filter(Observed::has_ended) {
        ends.entry(one.id).or_insert(one);
    }
    ends
}

fn transitions(transcript: &Transcript<'_>) -> CheckOutcome {
    let ends = ends(transcript);
    let mut findings = Findings::default();
    for one in observed(transcript) {
        // A response to a request that was sent before the end was known may be older than the end.
        let end = ends.get(one.id).filter(|end| one.asked.is_some_and(|asked| asked > end.message.seq()));
        let changed = end.filter(|end| end.status != one.status);
        let text = |end: &&Observed<'_>| format!("the status changes from `{}` to `{}`", end.status, one.status);
        findings.check(one.message.seq(), changed.as_ref().map_or(Ok(()), |end| Err(text(end))));
    }
    findings.or_not_applicable("statuses", NO_TASK)
}

fn times(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut created: HashMap<&str, &str> = HashMap::new();
    let mut findings = Findings::default();
    for one in observed(transcript) {
        for member in ["createdAt", "lastUpdatedAt"] {
            // The shape of the message requires them.
            let Some(time) = one.task.get(member).and_then(Value::as_str) else { continue };
            let first = if member == "createdAt" { created.entry(one.id).or_insert(time) } else { time };
            let fault = match first == time {
                _ if !ISO_8601.is_match(time) => Err(format!("{member} is `{time}`")),
                false => Err(format!("the task was created at `{first}`, and now at `{time}`")),
                true => Ok(()),
            };
            findings.check(one.message.seq(), fault);
        }
    }
    findings.or_not_applicable("times", NO_TASK)
}

fn each_task<'t, 'a>(transcript: &'t Transcript<'a>, fault: impl Fn(&Task<'t, 'a>) -> Option<String>) -> CheckOutcome {
    Findings::from_each(tasks(transcript).map(|task| (task.call.last_frame(), task)), fault)
        .or_not_applicable("tasks", NO_TASK)
}

fn initial_status(transcript: &Transcript<'_>) -> CheckOutcome {
    each_task(transcript, |task| {
        let status = task.task.get("status");
        (status != Some(&json!("working"))).then(|| format!("the status is {}", brief_or_missing(status)))
    })
}

fn unique_ids(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    let mut seen = HashSet::new();
    for task in tasks(transcript) {
        let message = || format!("the id `{}` was used before", task.id);
        findings.check(task.call.last_frame(), if seen.insert(task.id) { Ok(()) } else { Err(message()) });
    }
    findings.or_not_applicable("tasks", NO_TASK)
}

fn random_ids(transcript: &Transcript<'_>) -> CheckOutcome {
    let found: Vec<_> = tasks(transcript).collect();
    let ids: Vec<&[u8]> = found.iter().map(|task| task.id.as_bytes()).collect();
    if ids.len() < MIN_IDS {
        return CheckOutcome::not_applicable("too few tasks were created");
    }
    let bits = crate::variety::variety(&ids);
    let observed = format!("the ids of {} tasks differ in about {bits} bits", ids.len());
    let frames = found.iter().map(|task| task.call.last_frame()).collect();
    if bits < MIN_BITS { CheckOutcome::failed(observed, frames) } else { CheckOutcome::passed(observed, frames) }
}

fn id_parameter(transcript: &Transcript<'_>) -> CheckOutcome {
    let all = ["tasks/get", "tasks/cancel"].into_iter().flat_map(|method| transcript.requests_of(method));
    let answered = all.filter(|one| one.result().is_some()).map(|one| (one.last_frame(), one));
    let fault = |one: &&RequestResponse<'_>| {
        let (asked, given) = (one.param("taskId")?, one.result()?.get("taskId"));
        (given != Some(asked))
            .then(|| format!("the response for {} is about {}", quoted(asked), brief_or_missing(given)))
    };
    let mut findings = Findings::from_each(answered, fault);
    let created: HashSet<&str> = tasks(transcript).map(|task| task.id).collect();
    // The metadata names a task that does not exist.
    for one in transcript.requests_of("tasks/get").filter(|one| related_task(one.request.params()).is_some()) {
        let known = one.param("taskId").and_then(Value::as_str).is_some_and(|id| created.contains(id));
        let refused = one.error().filter(|_| known);
        findings.check(
            one.last_frame(),
            refused.map_or(Ok(()), |error| Err(format!("the request is rejected with {}", brief(error)))),
        );
    }
    findings.or_not_applicable("requests", NO_TASK)
}

/// The requests for the results of tasks that calls created.
fn all_results<'t, 'a>(transcript: &'t Transcript<'a>) -> Vec<(&'a str, &'t RequestResponse<'a>)> {
    let created: HashSet<&str> = tasks(transcript).map(|task| task.id).collect();
    let all = transcript.requests_of("tasks/result").filter(|one| one.response.is_some());
    let all = all.filter_map(|one| Some((one.param("taskId")?.as_str()?, one)));
    all.filter(|(id, _)| created.contains(id)).collect()
}

/// The first request for the result of each task.
fn results<'t, 'a>(transcript: &'t Transcript<'a>) -> Vec<(&'a str, &'t RequestResponse<'a>)> {
    let mut seen = HashSet::new();
    all_results(transcript).into_iter().filter(|(id, _)| seen.insert(*id)).collect()
}

const NO_RESULT: &str = "no result of a task was received";

fn result_waits(transcript: &Transcript<'_>) -> CheckOutcome {
    let all = observed(transcript);
    let mut findings = Findings::default();
    for (id, one) in results(transcript) {
        let answered = one.last_frame();
        let later = all.iter().find(|later| later.id == id && later.asked.is_some_and(|asked| asked > answered));
        let Some(later) = later else { continue };
        let message = || format!("the task is `{}` after the response to `tasks/result`", later.status);
        findings.check(answered, if later.has_ended() { Ok(()) } else { Err(message()) });
    }
    findings.or_not_applicable("results", NO_RESULT)
}

fn final_result(transcript: &Transcript<'_>) -> CheckOutcome {
    let ends = ends(transcript);
    let fault = |(status, one): &(&str, &RequestResponse<'_>)| {
        let result = one.result();
        let is_error = result.is_none_or(has_is_error);
        match *status {
            "completed" if result.is_none_or(|result| !result.get("content").is_some_and(Value::is_array)) => {
                Some(format!("the task is completed, and its result is {}", response(one)))
            }
            "failed" if !is_error => Some(format!("the task has failed, and its result is {}", response(one))),
            _ => None,
        }
    };
    let judged =
        results(transcript).into_iter().filter_map(|(id, one)| Some((one.last_frame(), (ends.get(id)?.status, one))));
    Findings::from_each(judged, fault).or_not_applicable("results", NO_RESULT)
}

fn failed_call(transcript: &Transcript<'_>) -> CheckOutcome {
    let ends = ends(transcript);
    let failed = all_results(transcript).into_iter().filter(|(_, one)| one.result().is_some_and(has_is_error));
    let judged = failed.filter_map(|(id, one)| Some((one.last_frame(), ends.get(id)?.status)));
    let fault = |status: &&str| {
        (*status == "completed").then(|| "the result has `isError`, and the status is `completed`".to_owned())
    };
    Findings::from_each(judged, fault).or_not_applicable("calls", "no call of a task failed")
}

fn response(one: &RequestResponse<'_>) -> String {
    brief_or_missing(one.response.map(|response| response.json))
}

fn result_metadata(transcript: &Transcript<'_>) -> CheckOutcome {
    let successes = results(transcript).into_iter().filter(|(_, one)| one.result().is_some());
    let fault = |(id, one): &(&str, &RequestResponse<'_>)| {
        let named = related_task(one.result());
        (named.and_then(Value::as_str) != Some(id)).then(|| format!("_meta names the task {}", brief_or_missing(named)))
    };
    Findings::from_each(successes.map(|(id, one)| (one.last_frame(), (id, one))), fault)
        .or_not_applicable("results", NO_RESULT)
}

fn redundant_metadata(transcript: &Transcript<'_>) -> CheckOutcome {
    let methods = ["tasks/get", "tasks/list", "tasks/cancel"];
    let results = methods.into_iter().flat_map(|method| transcript.requests_of(method));
    let results = results.filter_map(|one| Some((one.last_frame(), one.result()?)));
    let notified = transcript.server_messages().filter(|message| message.is("notifications/tasks/status"));
    let notified = notified.filter_map(|message| Some((message.seq(), message.params()?)));
    let fault =
        |value: &&Value| related_task(Some(value)).map(|named| format!("_meta names the task {}", brief(named)));
    Findings::from_each(results.chain(notified), fault).or_not_applicable("messages", "no message is about a task")
}

fn unknown_task(transcript: &Transcript<'_>) -> CheckOutcome {
    let all = ["tasks/get", "tasks/result", "tasks/cancel", "tasks/list"];
    let requests = all.into_iter().flat_map(|method| transcript.requests_of(method)).filter(|one| {
        let param = one.param("taskId").or_else(|| one.param("cursor"));
        param.is_some_and(|value| value == UNKNOWN_TASK) && one.response.is_some()
    });
    let fault = |one: &&RequestResponse<'_>| {
        let method = one.request.method().unwrap_or_default();
        (one.code() != Some(-32602)).then(|| format!("the response to `{method}` is {}", response(one)))
    };
    Findings::from_each(requests.map(|one| (one.last_frame(), one)), fault)
        .or_not_applicable("requests", "no unknown task was requested")
}

fn listed(transcript: &Transcript<'_>) -> CheckOutcome {
    let valid =
        transcript.requests_of("tasks/list").filter(|one| one.param("cursor").is_none_or(|it| it != UNKNOWN_TASK));
    let lists: Vec<_> = valid.filter(|one| one.result().is_some()).collect();
    let (Some(first), Some(last)) = (lists.first(), lists.last()) else {
        return CheckOutcome::not_applicable("the tasks were not listed");
    };
    let items = lists.iter().filter_map(|one| one.result()?.get("tasks")?.as_array()).flatten();
    let known: HashSet<&str> = items.filter_map(|task| task.get("taskId")?.as_str()).collect();
    let before: HashSet<&str> =
        tasks(transcript).filter(|task| task.call.last_frame() < first.request.seq()).map(|task| task.id).collect();
    let later = transcript.requests_of("tasks/get").filter(|one| one.request.seq() > last.last_frame());
    let later = later.filter_map(|one| Some((one.last_frame(), one.result()?.get("taskId")?.as_str()?)));
    let fault = |id: &&str| (!known.contains(*id)).then(|| format!("the task `{id}` is not in the list"));
    Findings::from_each(later.filter(|(_, id)| before.contains(id)), fault).or_not_applicable("tasks", NO_TASK)
}

/// The cancellations of tasks, each with the end of the task that was known before.
fn cancellations<'t, 'a>(transcript: &'t Transcript<'a>) -> Vec<(&'t RequestResponse<'a>, Option<&'a str>)> {
    let ends = ends(transcript);
    let created: HashSet<&str> = tasks(transcript).map(|task| task.id).collect();
    let all = transcript.requests_of("tasks/cancel").filter(|one| one.response.is_some());
    all.filter_map(|one| {
        let id = one.param("taskId")?.as_str().filter(|id| created.contains(id))?;
        let end = ends.get(id).filter(|end| end.message.seq() < one.request.seq());
        Some((one, end.map(|end| end.status)))
    })
    .collect()
}

fn cancel_ended(transcript: &Transcript<'_>) -> CheckOutcome {
    let late = cancellations(transcript).into_iter().filter_map(|(one, end)| Some((one.last_frame(), (one, end?))));
    let fault = |(one, end): &(&RequestResponse<'_>, &str)| {
        (one.code() != Some(-32602)).then(|| format!("the task was `{end}`, and the response is {}", response(one)))
    };
    Findings::from_each(late, fault).or_not_applicable("cancellations", "no ended task was cancelled")
}

fn cancelled_status(transcript: &Transcript<'_>) -> CheckOutcome {
    let early = cancellations(transcript).into_iter().filter(|(_, end)| end.is_none());
    let accepted = early.filter_map(|(one, _)| Some((one.last_frame(), one.result()?)));
    let fault = |result: &&Value| {
        let status = result.get("status");
        (status != Some(&json!("cancelled"))).then(|| format!("the status is {}", brief_or_missing(status)))
    };
    Findings::from_each(accepted, fault).or_not_applicable("cancellations", "no task was cancelled")
}

fn status_message(transcript: &Transcript<'_>) -> CheckOutcome {
    let gets = transcript.requests_of("tasks/get").filter_map(|one| Some((one.last_frame(), one.result()?)));
    let failed = gets.filter(|(_, task)| task.get("status").is_some_and(|status| status == "failed"));
    let fault = |task: &&Value| {
        let text = task.get("statusMessage").and_then(Value::as_str);
        text.is_none_or(str::is_empty).then(|| "it has no statusMessage".to_owned())
    };
    Findings::from_each(failed, fault).or_not_applicable("tasks", "no task failed")
}

fn no_stream(transcript: &Transcript<'_>) -> CheckOutcome {
    if !transcript.is_http() {
        return CheckOutcome::not_applicable("the transport is not Streamable HTTP");
    }
    let replies = transcript.requests_of("tasks/get").filter_map(|one| transcript.reply(one.request.frame));
    let fault = |reply: &&crate::judge::transcript::Frame| {
        let kind = media_type(reply)?;
        (kind == "text/event-stream").then(|| format!("the content type is {kind}"))
    };
    Findings::from_each(replies.map(|reply| (reply.seq, reply)), fault).or_not_applicable("responses", NO_TASK)
}
