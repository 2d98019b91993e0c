//! Subscriptions to resources before 2026-07-28.

use std::collections::HashMap;

use serde_json::Value;

use super::UNKNOWN_CAPABILITIES;
use crate::judge::{
    check::{Check, CheckOutcome, Findings, Rule, Scope, brief},
    transcript::{Message, RequestResponse, Transcript},
};

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "subscription-is-accepted",
        requirement: "resources/subscribe",
        scope: Scope::Named,
        expected: "a subscription to a listed resource, and its end, have a result",
        rule: Rule::Case(accepted),
    },
    Check {
        id: "updates-only-if-declared",
        requirement: "resources/subscribe-declared",
        scope: Scope::Always,
        expected: "a server that sends `notifications/resources/updated` declares `resources.subscribe`",
        rule: Rule::Case(declared),
    },
    Check {
        id: "updates-only-for-subscriptions",
        requirement: "resources/updates-of-subscriptions",
        scope: Scope::Always,
        expected: "updates are sent for subscribed resources only",
        rule: Rule::Case(subscribed),
    },
    Check {
        id: "no-updates-after-unsubscribe",
        requirement: "resources/unsubscribe",
        scope: Scope::Always,
        expected: "no update is sent after the response to `resources/unsubscribe`",
        rule: Rule::Case(ended),
    },
];

const NO_UPDATE: &str = "the server sent no update of a resource";

fn accepted(transcript: &Transcript<'_>) -> CheckOutcome {
    let methods = ["resources/subscribe", "resources/unsubscribe"];
    let requests = methods.into_iter().flat_map(|method| transcript.requests_of(method));
    let listed: Vec<&str> =
        transcript.items("resources/list", "resources").filter_map(|(_, item)| item.get("uri")?.as_str()).collect();
    let known = requests
        .filter(|request| request.param("uri").and_then(Value::as_str).is_some_and(|uri| listed.contains(&uri)));
    let fault = |request: &&RequestResponse<'_>| {
        let response = || request.response.map_or_else(|| "no response".to_owned(), |response| brief(response.json));
        request
            .result()
            .is_none()
            .then(|| format!("the response to `{}` is {}", request.request.method().unwrap_or_default(), response()))
    };
    Findings::from_each(known.map(|request| (request.last_frame(), request)), fault)
        .or_not_applicable("requests", "no subscription to a listed resource was requested")
}

/// The updates, with their URIs.
fn updates<'a>(transcript: &Transcript<'a>) -> impl Iterator<Item = (Message<'a>, &'a str)> {
    let updates = transcript.server_messages().filter(|message| message.is("notifications/resources/updated"));
    updates.filter_map(|message| Some((message, message.param("uri")?.as_str()?)))
}

fn declared(transcript: &Transcript<'_>) -> CheckOutcome {
    let Some(declared) = transcript.declares("resources.subscribe") else {
        return CheckOutcome::not_applicable(UNKNOWN_CAPABILITIES);
    };
    let fault = |uri: &&str| (!declared).then(|| format!("an update of `{uri}` was sent"));
    Findings::from_each(updates(transcript).map(|(message, uri)| (message.seq(), uri)), fault)
        .or_not_applicable("updates", NO_UPDATE)
}

/// When a URI was subscribed, and until when, in numbers of frames.
struct Period {
    from: u64,
    until: Option<u64>,
}

fn periods<'a>(transcript: &Transcript<'a>) -> HashMap<&'a str, Vec<Period>> {
    let mut periods: HashMap<&str, Vec<Period>> = HashMap::new();
    for request in transcript.requests() {
        let Some(uri) = request.param("uri").and_then(Value::as_str) else { continue };
        if request.request.is("resources/subscribe") {
            periods.entry(uri).or_default().push(Period { from: request.request.seq(), until: None });
        } else if request.request.is("resources/unsubscribe")
            && let Some(period) = periods.get_mut(uri).and_then(|periods| periods.last_mut())
        {
            // Without a response, the subscription has not ended.
            period.until = request.response.map(|response| response.seq());
        }
    }
    periods
}

/// Judges the updates by the subscriptions to their resource, in the order in which they began.
fn judge(
    transcript: &Transcript<'_>,
    fault: impl Fn(&Message<'_>, &[&Period]) -> Option<&'static str>,
) -> CheckOutcome {
    let periods = periods(transcript);
    let found = updates(transcript).map(|(message, uri)| (message.seq(), (message, uri)));
    let fault = |(message, uri): &(Message<'_>, &str)| {
        // An update may be of a resource below the subscribed one (2024-11-05, schema, ResourceUpdatedNotification).
        let fitting = periods.iter().filter(|(known, _)| uri.starts_with(known.trim_end_matches('/')));
        let earlier: Vec<&Period> =
            fitting.flat_map(|(_, periods)| periods).filter(|period| period.from < message.seq()).collect();
        fault(message, &earlier).map(|fault| format!("an update of `{uri}` was sent {fault}"))
    };
    Findings::from_each(found, fault).or_not_applicable("updates", NO_UPDATE)
}

fn subscribed(transcript: &Transcript<'_>) -> CheckOutcome {
    judge(transcript, |_, earlier| earlier.is_empty().then_some("without a subscription"))
}

fn ended(transcript: &Transcript<'_>) -> CheckOutcome {
    judge(transcript, |message, earlier| {
        let is_over = |period: &&Period| period.until.is_some_and(|seq| transcript.is_sent_after(message, seq));
        (!earlier.is_empty() && earlier.iter().all(is_over)).then_some("after the end of the subscription")
    })
}
