//! What a task sends while it works: progress, and requests to the user.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::{super::user_requests::requests_to_the_user, ends, observed, related_task, tasks};
use crate::judge::{
    check::{CheckOutcome, Findings, brief_or_missing},
    transcript::{IdKey, Message, Transcript},
};

/// A message that was sent before the end of a task may arrive this much later.
const LATE_US: u64 = 200_000;
/// The same over stdio, if a response to a later request arrived in between.
const LATE_IN_ORDER_US: u64 = 20_000;
/// How long a task may need to go on after its input.
const RESTORED_US: u64 = 1_000_000;

pub(super) fn stops(transcript: &Transcript<'_>) -> CheckOutcome {
    let ends = ends(transcript);
    let mut findings = Findings::default();
    let tokens: Vec<_> = tasks(transcript)
        .filter_map(|task| Some((IdKey::new(task.call.param("_meta")?.get("progressToken")?), ends.get(task.id))))
        .collect();
    for message in transcript.server_messages().filter(|message| message.is("notifications/progress")) {
        let token = message.param("progressToken").map(IdKey::new);
        let Some((_, end)) = tokens.iter().find(|(known, _)| Some(*known) == token) else { continue };
        let late = end.is_some_and(|end| {
            let in_order = !transcript.is_http() && first_answer_after(transcript, end.message.seq()) < message.seq();
            message.at_us() > end.message.at_us() + if in_order { LATE_IN_ORDER_US } else { LATE_US }
        });
        let text = || "progress follows the end of the task".to_owned();
        findings.check(message.seq(), if late { Err(text()) } else { Ok(()) });
    }
    findings.or_not_applicable("notifications", "no task sent progress")
}

/// The frame of the response to the first request that was sent after a frame.
fn first_answer_after(transcript: &Transcript<'_>, seq: u64) -> u64 {
    let requests = transcript.requests();
    let later = &requests[requests.partition_point(|one| one.request.seq() < seq)..];
    later.first().and_then(|one| one.response).map_or(u64::MAX, |response| response.seq())
}

/// The requests that the server sends to the user while tasks, and no other calls, are open.
fn requests_of_tasks<'a>(transcript: &Transcript<'a>) -> Vec<Message<'a>> {
    let ends = ends(transcript);
    requests_to_the_user(transcript)
        .filter(|request| {
            let seq = request.seq();
            let plain = transcript.requests().iter().any(|one| {
                let is_about_tasks = one.param("task").is_some()
                    || one.request.method().is_some_and(|method| method.starts_with("tasks/"));
                one.request.seq() < seq && !is_about_tasks && one.response.is_none_or(|response| response.seq() > seq)
            });
            let works = tasks(transcript).any(|task| {
                task.call.last_frame() < seq && ends.get(task.id).is_none_or(|end| end.message.seq() > seq)
            });
            works && !plain
        })
        .collect()
}

/// The client's response to a request.
fn answer_to<'a>(transcript: &Transcript<'a>, request: &Message<'_>) -> Option<Message<'a>> {
    transcript.client_messages().find(|one| one.is_response() && one.id_key() == request.id_key())
}

pub(super) fn requests(transcript: &Transcript<'_>) -> CheckOutcome {
    let created: HashSet<&str> = tasks(transcript).map(|task| task.id).collect();
    let fault = |request: &Message<'_>| {
        let named = related_task(request.params());
        let known = named.and_then(Value::as_str).is_some_and(|id| created.contains(id));
        (!known).then(|| format!("_meta names the task {}", brief_or_missing(named)))
    };
    Findings::from_each(requests_of_tasks(transcript).into_iter().map(|request| (request.seq(), request)), fault)
        .or_not_applicable("requests", "no task requested input")
}

pub(super) fn restored(transcript: &Transcript<'_>) -> CheckOutcome {
    let (all, requests) = (observed(transcript), requests_of_tasks(transcript));
    let mut findings = Findings::default();
    for task in tasks(transcript) {
        let own = requests.iter().filter(|one| related_task(one.params()) == Some(&json!(task.id)));
        let answers = own.filter_map(|request| answer_to(transcript, request));
        let Some(answered) = answers.map(|answer| answer.at_us()).max() else { continue };
        let Some(last) = all.iter().rfind(|one| one.id == task.id) else { continue };
        let waits = last.status == "input_required" && last.message.at_us() > answered + RESTORED_US;
        let message = || "the task is `input_required` after its requests were answered".to_owned();
        findings.check(last.message.seq(), if waits { Err(message()) } else { Ok(()) });
    }
    findings.or_not_applicable("tasks", "no task requested input")
}

pub(super) fn waits(transcript: &Transcript<'_>) -> CheckOutcome {
    let all = observed(transcript);
    let mut findings = Findings::default();
    for request in requests_of_tasks(transcript) {
        let Some(id) = related_task(request.params()).and_then(Value::as_str) else { continue };
        let end = answer_to(transcript, &request).map_or(u64::MAX, |answer| answer.seq());
        let meanwhile = all.iter().filter(|one| one.id == id && one.message.seq() < end);
        let meanwhile = meanwhile.filter(|one| one.asked.is_some_and(|asked| asked > request.seq()));
        for one in meanwhile.filter(|one| one.message.at_us() > request.at_us() + LATE_US) {
            let fault = || format!("the task waits for its user with the status `{}`", one.status);
            findings.check(one.message.seq(), if one.status == "working" { Err(fault()) } else { Ok(()) });
        }
    }
    findings.or_not_applicable("statuses", "no status was read while a task waited for its user")
}
