//! Subscriptions: acknowledgement, filter, ids, and end.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::{SUBSCRIPTION, by_id, is_change, is_modern, subscription_of};
use crate::judge::{
    check::{Check, CheckOutcome, Findings, Rule, Scope, brief, brief_or_missing},
    transcript::{Body, ConnectionEvent, Frame, IdKey, Message, RequestResponse, Transcript},
};

pub(in super::super) const CHECKS: &[Check] = &[
    Check {
        id: "subscription-is-acknowledged",
        requirement: "subscriptions/acknowledged",
        scope: Scope::Named,
        expected: "the first message of a subscription is its acknowledgement, with its id",
        rule: Rule::Case(acknowledged),
    },
    Check {
        id: "empty-subscription-is-acknowledged",
        requirement: "subscriptions/acknowledged",
        scope: Scope::Named,
        expected: "a subscription without any known type is acknowledged or rejected",
        rule: Rule::Case(empty_acknowledged),
    },
    Check {
        id: "acknowledgement-has-only-requested-types",
        requirement: "subscriptions/acknowledged-subset",
        scope: Scope::Always,
        expected: "an acknowledgement lists only types and resources that were requested",
        rule: Rule::Case(acknowledged_subset),
    },
    Check {
        id: "declared-types-are-acknowledged",
        requirement: "subscriptions/declared-types",
        scope: Scope::Always,
        expected: "a requested type is acknowledged if the server declares its notifications",
        rule: Rule::Case(declared_types),
    },
    Check {
        id: "undeclared-types-are-not-acknowledged",
        requirement: "subscriptions/undeclared-types",
        scope: Scope::Always,
        expected: "a requested type is not acknowledged if the server does not declare its notifications",
        rule: Rule::Case(undeclared_types),
    },
    Check {
        id: "subscription-without-filter-is-refused",
        requirement: "subscriptions/filter-required",
        scope: Scope::Named,
        expected: "a subscription without `notifications` is rejected",
        rule: Rule::Case(filter_required),
    },
    Check {
        id: "subscription-notifications-have-its-id",
        requirement: "subscriptions/notification-id",
        scope: Scope::Always,
        expected: "a notification of a change has the id of a subscription, over HTTP that of its own stream",
        rule: Rule::Case(notification_ids),
    },
    Check {
        id: "only-requested-types-are-sent",
        requirement: "subscriptions/requested-types",
        scope: Scope::Always,
        expected: "a notification of a change has a type and a resource that its subscription requested",
        rule: Rule::Case(requested_types),
    },
    Check {
        id: "subscription-ends-when-it-is-cancelled",
        requirement: "subscriptions/client-cancels",
        scope: Scope::Always,
        expected: "no message of a subscription follows its cancellation",
        rule: Rule::Case(cancelled),
    },
    Check {
        id: "subscription-stays-open",
        requirement: "subscriptions/stays-open",
        scope: Scope::Named,
        expected: "a subscription has no response before it is cancelled",
        rule: Rule::Case(stays_open),
    },
    Check {
        id: "ended-subscription-has-a-result",
        requirement: "subscriptions/graceful-end",
        scope: Scope::Always,
        expected: "a subscription that the server ends has a result",
        rule: Rule::Case(ended_by_server),
    },
    Check {
        id: "subscription-result-has-its-id",
        requirement: "subscriptions/result-id",
        scope: Scope::Always,
        expected: "the result of a subscription has its id in `_meta`",
        rule: Rule::Case(result_id),
    },
    Check {
        id: "equal-subscriptions-get-the-same-changes",
        requirement: "subscriptions/concurrent",
        scope: Scope::Named,
        expected: "a change is announced once on every subscription to it",
        rule: Rule::Case(all_notified),
    },
];

const LISTEN: &str = "subscriptions/listen";
const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";
/// Time for messages that were sent before the server received a cancellation.
const IN_FLIGHT_US: u64 = 400_000;

/// The member of the filter for a notification.
fn filter_key(method: &str) -> Option<&'static str> {
    match method {
        "notifications/tools/list_changed" => Some("toolsListChanged"),
        "notifications/prompts/list_changed" => Some("promptsListChanged"),
        "notifications/resources/list_changed" => Some("resourcesListChanged"),
        "notifications/resources/updated" => Some("resourceSubscriptions"),
        _ => None,
    }
}

/// The subscriptions that were requested with a filter.
fn listens<'t, 'a>(transcript: &'t Transcript<'a>) -> impl Iterator<Item = &'t RequestResponse<'a>> {
    transcript
        .requests_of(LISTEN)
        .filter(|one| is_modern(one) && one.param("notifications").is_some_and(Value::is_object))
}

/// The acknowledgements, each with its subscription.
fn acknowledgements<'t, 'a>(transcript: &'t Transcript<'a>) -> Vec<(&'t RequestResponse<'a>, Message<'a>)> {
    let listens = by_id(transcript, LISTEN);
    let found = transcript.server_messages().filter(|message| message.is(ACKNOWLEDGED));
    found.filter_map(|message| Some((*listens.get(&IdKey::new(subscription_of(&message)?))?, message))).collect()
}

/// When the server first acknowledged a subscription with the member `key` of the filter, in microseconds.
pub(in super::super) fn acknowledged_at(transcript: &Transcript<'_>, key: &str) -> Option<u64> {
    let accepted = |message: &Message<'_>| {
        message.param("notifications").and_then(|accepted| accepted.get(key)) == Some(&Value::Bool(true))
    };
    let found = acknowledgements(transcript).into_iter().map(|(_, message)| message);
    found.filter(accepted).map(|message| message.at_us()).min()
}

/// The first message of each subscription: the one with its id, or over HTTP the first one on its stream.
fn acknowledged(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut first: HashMap<IdKey<'_>, Message<'_>> = HashMap::new();
    let mut on_stream: HashMap<u64, Message<'_>> = HashMap::new();
    for message in transcript.server_messages() {
        on_stream.entry(message.frame.connection).or_insert(message);
        if let Some(id) = subscription_of(&message) {
            first.entry(IdKey::new(id)).or_insert(message);
        }
    }
    let mut findings = Findings::default();
    for listen in transcript.requests_of(LISTEN).filter(|one| is_modern(one)) {
        let Some(id) = listen.request.id_key() else { continue };
        // A server without any such notification needs no subscriptions, and may limit their number to zero.
        if listen.error().is_some() && !declares_changes(transcript) {
            continue;
        }
        let stream = on_stream.get(&listen.request.frame.connection).filter(|_| transcript.is_http());
        let found = stream.or_else(|| first.get(&id));
        let named = |message: &&Message<'_>| subscription_of(message).is_some_and(|other| IdKey::new(other) == id);
        findings.saw(listen.request.seq());
        match found {
            Some(message) if message.is(ACKNOWLEDGED) && named(&message) => findings.saw(message.seq()),
            Some(message) => {
                findings.fail(
                    format!("the first message is {}", brief(message.json)),
                    [listen.request.seq(), message.seq()],
                );
            }
            None => {
                let response = listen
                    .response
                    .map_or_else(String::new, |response| format!(", and the response is {}", brief(response.json)));
                findings.fail(format!("no message has the id of the subscription{response}"), listen.frames());
            }
        }
    }
    findings.or_not_applicable("messages", "no subscription was requested")
}

/// Nothing says that a server serves a subscription to nothing, but it may not ignore the request.
fn empty_acknowledged(transcript: &Transcript<'_>) -> CheckOutcome {
    let acknowledged: HashSet<u64> =
        acknowledgements(transcript).into_iter().map(|(listen, _)| listen.request.seq()).collect();
    let is_empty = |listen: &&RequestResponse<'_>| {
        let filter = listen.param("notifications").and_then(Value::as_object);
        filter.is_some_and(|filter| !filter_keys().any(|key| filter.contains_key(key)))
    };
    let listens = listens(transcript).filter(is_empty).map(|listen| (listen.request.seq(), listen));
    let fault = |listen: &&RequestResponse<'_>| {
        let is_ignored = listen.response.is_none() && !acknowledged.contains(&listen.request.seq());
        is_ignored.then(|| "the server neither acknowledged nor rejected it".to_owned())
    };
    Findings::from_each(listens, fault)
        .or_not_applicable("subscriptions", "no subscription without types was requested")
}

/// Whether the server declares notifications of changes.
fn declares_changes(transcript: &Transcript<'_>) -> bool {
    let capabilities = transcript.server_identity().and_then(|identity| identity.get("capabilities"));
    let flags = ["/tools/listChanged", "/prompts/listChanged", "/resources/listChanged", "/resources/subscribe"];
    flags.into_iter().any(|flag| capabilities.and_then(|all| all.pointer(flag)) == Some(&Value::Bool(true)))
}

fn acknowledged_subset(transcript: &Transcript<'_>) -> CheckOutcome {
    let found = acknowledgements(transcript).into_iter().map(|(listen, message)| (message.seq(), (listen, message)));
    let fault = |(listen, message): &(&RequestResponse<'_>, Message<'_>)| {
        let accepted = message.param("notifications")?.as_object()?;
        let requested = listen.param("notifications");
        accepted.iter().find_map(|(key, value)| {
            let wanted = requested.and_then(|requested| requested.get(key));
            let known = filter_keys().any(|known| known == key);
            let within = match value {
                Value::Bool(false) | Value::Null => true,
                Value::Array(uris) => uris.iter().all(|uri| wanted.is_some_and(|wanted| contains(wanted, uri))),
                value => known && wanted == Some(value),
            };
            (!within).then(|| {
                format!(
                    "the acknowledgement has {key}: {}, although {} was requested",
                    brief(value),
                    brief_or_missing(wanted)
                )
            })
        })
    };
    Findings::from_each(found, fault).or_not_applicable("acknowledgements", "no subscription was acknowledged")
}

fn filter_keys() -> impl Iterator<Item = &'static str> {
    super::CHANGES.into_iter().filter_map(filter_key)
}

fn contains(list: &Value, item: &Value) -> bool {
    list.as_array().is_some_and(|list| list.contains(item))
}

/// The members of the filter, each with the capability that declares its notifications.
const TYPES: [(&str, &str); 4] = [
    ("toolsListChanged", "/tools/listChanged"),
    ("promptsListChanged", "/prompts/listChanged"),
    ("resourcesListChanged", "/resources/listChanged"),
    ("resourceSubscriptions", "/resources/subscribe"),
];

fn capabilities<'a>(transcript: &Transcript<'a>) -> Option<&'a Value> {
    transcript.server_identity()?.get("capabilities")
}

/// Whether capabilities declare the one at this pointer.
fn declares(capabilities: Option<&Value>, pointer: &str) -> bool {
    capabilities.and_then(|all| all.pointer(pointer)) == Some(&Value::Bool(true))
}

/// Whether the filter of a request or an acknowledgement selects this type.
fn selects(filter: Option<&Value>, key: &str) -> bool {
    match filter.and_then(|filter| filter.get(key)) {
        Some(Value::Bool(selected)) => *selected,
        Some(Value::Array(resources)) => !resources.is_empty(),
        _ => false,
    }
}

fn declared_types(transcript: &Transcript<'_>) -> CheckOutcome {
    let capabilities = capabilities(transcript);
    let found = acknowledgements(transcript).into_iter().map(|(listen, message)| (message.seq(), (listen, message)));
    let fault = |(listen, message): &(&RequestResponse<'_>, Message<'_>)| {
        // A server may reject single resources.
        let lists = TYPES.into_iter().filter(|(key, _)| *key != "resourceSubscriptions");
        let missing = lists
            .filter(|(key, _)| !selects(message.param("notifications"), key))
            .find(|(key, pointer)| selects(listen.param("notifications"), key) && declares(capabilities, pointer));
        missing.map(|(key, _)| format!("{key} was requested and declared, and it is not acknowledged"))
    };
    Findings::from_each(found, fault).or_not_applicable("acknowledgements", "no subscription was acknowledged")
}

fn undeclared_types(transcript: &Transcript<'_>) -> CheckOutcome {
    let capabilities = capabilities(transcript);
    if capabilities.is_none() {
        return CheckOutcome::NotApplicable("the server declared no capabilities".to_owned());
    }
    let found = acknowledgements(transcript).into_iter().map(|(_, message)| (message.seq(), message));
    let fault = |message: &Message<'_>| {
        let accepted = TYPES.into_iter().filter(|(key, _)| selects(message.param("notifications"), key));
        let undeclared = accepted.filter(|(_, pointer)| !declares(capabilities, pointer)).map(|(key, _)| key).next();
        undeclared.map(|key| format!("{key} is acknowledged, and its capability is not declared"))
    };
    Findings::from_each(found, fault).or_not_applicable("acknowledgements", "no subscription was acknowledged")
}

fn filter_required(transcript: &Transcript<'_>) -> CheckOutcome {
    let without = transcript.requests_of(LISTEN).filter(|one| is_modern(one) && one.param("notifications").is_none());
    let without = without.map(|one| (one.request.seq(), one));
    let fault = |one: &&RequestResponse<'_>| {
        let observed = || one.response.map_or_else(|| "the server sent no response".to_owned(), |it| brief(it.json));
        one.error().is_none().then(observed)
    };
    Findings::from_each(without, fault).or_not_applicable("requests", "no subscription without a filter was requested")
}

fn notification_ids(transcript: &Transcript<'_>) -> CheckOutcome {
    let listens = by_id(transcript, LISTEN);
    let streams = super::by_exchange(transcript);
    let sent = transcript.server_messages().filter(|message| is_change(message) || message.is(ACKNOWLEDGED));
    let sent = sent.map(|message| (message.seq(), message));
    let fault = |message: &Message<'_>| {
        let Some(id) = subscription_of(message) else {
            return Some(format!("`{}` has no {SUBSCRIPTION}", message.method().unwrap_or_default()));
        };
        let own = streams.get(&message.frame.connection).and_then(|one| one.request.id_key());
        let right = own.map_or_else(|| listens.contains_key(&IdKey::new(id)), |own| own == IdKey::new(id));
        (!right).then(|| format!("`{}` has the id {}", message.method().unwrap_or_default(), brief(id)))
    };
    Findings::from_each(sent, fault).or_not_applicable("notifications", "the server announced no change")
}

fn requested_types(transcript: &Transcript<'_>) -> CheckOutcome {
    let listens = by_id(transcript, LISTEN);
    let sent = transcript.server_messages().filter(is_change).map(|message| (message.seq(), message));
    let fault = |message: &Message<'_>| {
        let method = message.method()?;
        let listen = subscription_of(message).and_then(|id| listens.get(&IdKey::new(id)));
        // One without an id was requested by none; another check reports one with an unknown id.
        let Some(listen) = listen else {
            return subscription_of(message).is_none().then(|| format!("`{method}` belongs to no subscription"));
        };
        let wanted = listen.param("notifications").and_then(|filter| filter.get(filter_key(method)?));
        let requested = match wanted {
            Some(Value::Bool(requested)) => *requested,
            // It may be below the requested resource (schema#resourceupdatednotificationparams).
            Some(Value::Array(uris)) => {
                let uri = message.param("uri").and_then(Value::as_str).unwrap_or_default();
                uris.iter().filter_map(Value::as_str).any(|wanted| uri.starts_with(wanted))
            }
            _ => false,
        };
        (!requested)
            .then(|| format!("`{method}` {} was not requested", message.param("uri").map_or_else(String::new, brief)))
    };
    Findings::from_each(sent, fault).or_not_applicable("notifications", "the server announced no change")
}

fn cancelled(transcript: &Transcript<'_>) -> CheckOutcome {
    if transcript.is_http() {
        return CheckOutcome::not_applicable("the client closes the stream to cancel");
    }
    let listens = by_id(transcript, LISTEN);
    let cancels = transcript.client_messages().filter_map(|message| Some((IdKey::new(message.cancels()?), message)));
    let cancels: HashMap<_, _> = cancels.filter(|(id, _)| listens.contains_key(id)).collect();
    let mut findings = Findings::default();
    cancels.values().for_each(|cancel| findings.saw(cancel.seq()));
    for message in transcript.server_messages() {
        let id = subscription_of(&message).or_else(|| message.id().filter(|_| message.is_response()));
        let Some(cancel) = id.and_then(|id| cancels.get(&IdKey::new(id))) else { continue };
        // A change may have been announced before; a response would have ended the subscription by chance at the same time.
        let is_late = message.is_response() || message.at_us() > cancel.at_us() + IN_FLIGHT_US;
        if message.seq() > cancel.seq() && is_late {
            let after = (message.at_us() - cancel.at_us()) / 1000;
            findings.fail(
                format!("the server sent {} {after} ms later", brief(message.json)),
                [cancel.seq(), message.seq()],
            );
        }
    }
    findings.or_not_applicable("cancellations", "no subscription was cancelled")
}

fn stays_open(transcript: &Transcript<'_>) -> CheckOutcome {
    // A subscription to nothing may end at once.
    let accepts = |value: &Value| *value == Value::Bool(true) || value.as_array().is_some_and(|uris| !uris.is_empty());
    let accepted = |message: &Message<'_>| {
        let types = message.param("notifications").and_then(Value::as_object);
        types.is_some_and(|types| types.values().any(accepts))
    };
    let acknowledged = acknowledgements(transcript).into_iter().filter(|(_, message)| accepted(message));
    let acknowledged: HashSet<IdKey<'_>> = acknowledged.filter_map(|(listen, _)| listen.request.id_key()).collect();
    let open = listens(transcript).filter(|one| one.request.id_key().is_some_and(|id| acknowledged.contains(&id)));
    let cancels: HashMap<IdKey<'_>, u64> = transcript
        .client_messages()
        .filter_map(|message| Some((IdKey::new(message.cancels()?), message.seq())))
        .collect();
    // The server may close a subscription, which it announces (basic/patterns/subscriptions, graceful closure).
    let closed: HashSet<IdKey<'_>> =
        transcript.server_messages().filter_map(|message| message.cancels().map(IdKey::new)).collect();
    let fault = |one: &&RequestResponse<'_>| {
        let response = one.response?;
        let id = one.request.id_key();
        let cancelled = id.is_some_and(|id| closed.contains(&id))
            || id.and_then(|id| cancels.get(&id)).is_some_and(|seq| *seq < response.seq());
        (!cancelled).then(|| format!("the response is {}", brief(response.json)))
    };
    let open = open.map(|one| (one.request.seq(), one));
    Findings::from_each(open, fault).or_not_applicable("subscriptions", "no subscription was acknowledged")
}

fn ended_by_server(transcript: &Transcript<'_>) -> CheckOutcome {
    let by_connection: HashMap<u64, &RequestResponse<'_>> =
        listens(transcript).map(|one| (one.request.frame.connection, one)).collect();
    let by_id = by_id(transcript, LISTEN);
    let mut left = HashSet::new();
    let mut findings = Findings::default();
    for frame in &transcript.evidence.frames {
        let closed = |event| by_connection.get(&frame.connection).filter(|_| frame.body == Body::Event(event));
        let cancelled = || Message::all_of(frame).find_map(|message| by_id.get(&IdKey::new(message.cancels()?)));
        let ended = if frame.from_client() {
            let by_client = cancelled().or_else(|| closed(ConnectionEvent::ClosedByPeer));
            left.extend(by_client.map(|one| one.request.seq()));
            None
        } else if transcript.is_http() {
            closed(ConnectionEvent::ClosedByServer)
        } else {
            cancelled()
        };
        let Some(one) = ended.filter(|one| !left.contains(&one.request.seq())) else { continue };
        let fault = || "the server ended the subscription without a result".to_owned();
        findings.check(frame.seq, if one.response.is_some() { Ok(()) } else { Err(fault()) });
    }
    findings.or_not_applicable("subscriptions", "the server ended no subscription")
}

fn result_id(transcript: &Transcript<'_>) -> CheckOutcome {
    let results = listens(transcript).filter_map(|one| Some((one.response?.seq(), (one, one.result()?))));
    let fault = |(one, result): &(&RequestResponse<'_>, &Value)| {
        let id = result.get("_meta").and_then(|meta| meta.get(SUBSCRIPTION));
        let right = id.is_some_and(|id| Some(IdKey::new(id)) == one.request.id_key());
        (!right).then(|| format!("the id in the result is {}", brief_or_missing(id)))
    };
    Findings::from_each(results, fault).or_not_applicable("results", "no subscription has a result")
}

/// A change so short before the end of a subscription, in microseconds, may be announced on one of two.
const LAST_US: u64 = 200_000;
/// Two announcements on a subscription within this time, in microseconds, are of one change.
const TWICE_US: u64 = 50_000;

/// Compares the notifications of each kind, for subscriptions that were open at the same time.
fn all_notified(transcript: &Transcript<'_>) -> CheckOutcome {
    let acknowledged = acknowledgements(transcript);
    let Some(last) = acknowledged.iter().map(|(_, message)| message.seq()).max().filter(|_| acknowledged.len() > 1)
    else {
        return CheckOutcome::not_applicable("there were no two subscriptions");
    };
    let cancels = |frame: &&Frame| {
        frame.body == Body::Event(ConnectionEvent::ClosedByPeer) || frame.method() == Some("notifications/cancelled")
    };
    let mut later = transcript.client_frames().filter(|frame| frame.seq > last);
    let end = later.find(cancels);
    let in_time = |one: &Message<'_>| end.is_none_or(|end| one.seq() < end.seq && one.at_us() + LAST_US < end.at_us);
    let mut announced: HashMap<_, HashMap<IdKey<'_>, Vec<u64>>> = HashMap::new();
    let mut in_all: HashMap<_, HashMap<IdKey<'_>, usize>> = HashMap::new();
    let mut findings = Findings::default();
    for message in transcript.server_messages().filter(|one| is_change(one) && in_time(one)) {
        let (Some(method), Some(id)) = (message.method(), subscription_of(&message)) else { continue };
        *in_all.entry((method, message.param("uri"))).or_default().entry(IdKey::new(id)).or_default() += 1;
        if message.seq() < last {
            continue;
        }
        findings.saw(message.seq());
        let of_kind = announced.entry((method, message.param("uri"))).or_default();
        of_kind.entry(IdKey::new(id)).or_default().push(message.at_us());
    }
    for ((method, uri), by_subscription) in &announced {
        let wants = |one: &&(&RequestResponse<'_>, Message<'_>)| {
            let wanted = one.0.param("notifications").and_then(|filter| filter.get(filter_key(method)?));
            match (wanted, uri) {
                (Some(Value::Bool(wanted)), _) => *wanted,
                (Some(wanted), Some(uri)) => contains(wanted, uri),
                _ => false,
            }
        };
        let times = acknowledged.iter().filter(wants).map(|(listen, message)| {
            let of_listen = listen.request.id_key().and_then(|id| by_subscription.get(&id));
            (message.seq(), of_listen.map_or(&[][..], Vec::as_slice))
        });
        let times: Vec<(u64, &[u64])> = times.collect();
        // A server may announce the state at the begin of each subscription.
        let totals = acknowledged.iter().filter(wants).map(|(listen, _)| {
            let id = listen.request.id_key();
            id.and_then(|id| in_all.get(&(*method, *uri))?.get(&id).copied()).unwrap_or_default()
        });
        let totals: HashSet<usize> = totals.collect();
        let none = totals.len() > 1 && times.iter().any(|(_, times)| times.is_empty());
        let differ = times.iter().any(|(_, other)| other.len() != times[0].1.len());
        // Subscriptions that poll begin and end at different times, and see a change at different times.
        let twice = times.iter().any(|(_, times)| times.windows(2).any(|pair| pair[1] - pair[0] < TWICE_US));
        if none || (differ && twice) {
            let all: Vec<String> = times.iter().map(|(_, times)| times.len().to_string()).collect();
            findings
                .fail(format!("`{method}` was sent {} times", all.join(" and ")), times.iter().map(|(seq, _)| *seq));
        }
    }
    findings.or_not_applicable("notifications", "the server announced no change")
}
