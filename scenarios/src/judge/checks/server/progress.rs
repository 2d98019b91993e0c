//! Progress notifications of a server.

use std::collections::HashMap;

use serde_json::Value;

use crate::judge::{
    check::{Check, CheckOutcome, Findings, Rule, Scope, brief},
    transcript::{IdKey, Message, RequestResponse, Transcript},
};

/// Maximum number of notifications for one request.
const MAX_NOTIFICATIONS: usize = 1_000;

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "progress-has-a-known-token",
        requirement: "progress/known-token",
        scope: Scope::Always,
        expected: "a progress notification has the token of a request, with the same type",
        rule: Rule::Case(known),
    },
    Check {
        id: "progress-stops-with-the-response",
        requirement: "progress/stops",
        scope: Scope::Always,
        expected: "no progress is sent after the response",
        rule: Rule::Case(stops),
    },
    Check {
        id: "progress-increases",
        requirement: "progress/increases",
        scope: Scope::Always,
        expected: "the progress of a request increases with each notification",
        rule: Rule::Case(increases),
    },
    Check {
        id: "progress-is-limited",
        requirement: "progress/rate",
        scope: Scope::Always,
        expected: "a request has at most 1000 progress notifications",
        rule: Rule::Case(limited),
    },
];

const NO_PROGRESS: &str = "the server sent no progress notification";

/// A progress notification, its token, and the last earlier request with this token.
struct Notification<'t, 'a> {
    message: Message<'a>,
    token: &'a Value,
    request: Option<&'t RequestResponse<'a>>,
}

fn notifications<'t, 'a>(transcript: &'t Transcript<'a>) -> Vec<Notification<'t, 'a>> {
    let mut requests: HashMap<IdKey<'a>, Vec<&'t RequestResponse<'a>>> = HashMap::new();
    for request in transcript.requests() {
        if let Some(token) = request.param("_meta").and_then(|meta| meta.get("progressToken")) {
            requests.entry(IdKey::new(token)).or_default().push(request);
        }
    }
    let found = transcript.server_messages().filter(|message| message.is("notifications/progress"));
    found
        .filter_map(|message| {
            let token = message.param("progressToken")?;
            let same = requests.get(&IdKey::new(token));
            let earlier = same.map(|same| &same[..same.partition_point(|one| one.request.seq() < message.seq())]);
            Some(Notification { message, token, request: earlier.and_then(|earlier| earlier.last().copied()) })
        })
        .collect()
}

fn known(transcript: &Transcript<'_>) -> CheckOutcome {
    let found = notifications(transcript).into_iter().map(|one| (one.message.seq(), one));
    let fault = |one: &Notification<'_, '_>| {
        one.request.is_none().then(|| format!("no request had the token {}", brief(one.token)))
    };
    Findings::from_each(found, fault).or_not_applicable("notifications", NO_PROGRESS)
}

fn stops(transcript: &Transcript<'_>) -> CheckOutcome {
    let fault = |one: &Notification<'_, '_>| {
        // The token of a task stays valid until the task ends (2025-11-25, basic/utilities/progress).
        let request = one.request.filter(|request| request.param("task").is_none())?;
        let response = request.response?;
        // Two streams have no common order.
        let same_stream = response.frame.connection == one.message.frame.connection;
        let late = same_stream && one.message.seq() > response.seq();
        late.then(|| format!("progress for {} follows the response", brief(one.token)))
    };
    let found = notifications(transcript).into_iter().map(|one| (one.message.seq(), one));
    Findings::from_each(found, fault).or_not_applicable("notifications", NO_PROGRESS)
}

fn increases(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    let mut last: HashMap<(u64, u64), f64> = HashMap::new();
    for one in notifications(transcript) {
        let progress = one.message.param("progress").and_then(Value::as_f64);
        let (Some(request), Some(progress)) = (one.request, progress) else { continue };
        // Two streams have no common order.
        let before = last.insert((request.request.seq(), one.message.frame.connection), progress);
        let message = |before| format!("progress {progress} for {} follows progress {before}", brief(one.token));
        let result = match before {
            Some(before) if progress <= before => Err(message(before)),
            _ => Ok(()),
        };
        findings.check(one.message.seq(), result);
    }
    findings.or_not_applicable("notifications", NO_PROGRESS)
}

fn limited(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    let mut counts: HashMap<u64, usize> = HashMap::new();
    for one in notifications(transcript) {
        let Some(request) = one.request else { continue };
        findings.saw(one.message.seq());
        let count = counts.entry(request.request.seq()).or_default();
        *count += 1;
        if *count == MAX_NOTIFICATIONS + 1 {
            findings.fail(
                format!("the server sent more than {MAX_NOTIFICATIONS} notifications for {}", brief(one.token)),
                [one.message.seq()],
            );
        }
    }
    findings.or_not_applicable("notifications", NO_PROGRESS)
}
