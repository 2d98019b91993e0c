//! Independence of requests: lists that do not depend on earlier requests or on the connection.

use serde_json::Value;

use super::{META_CAPABILITIES, meta, modern_requests};
use crate::judge::{
    check::{Check, CheckOutcome, Findings, Rule, Scope, brief},
    transcript::{RequestResponse, Transcript},
};

pub(in super::super) const CHECKS: &[Check] = &[
    Check {
        id: "lists-are-independent-of-other-requests",
        requirement: "messages/independent-lists",
        scope: Scope::Named,
        expected: "a list is the same just before and after other requests, and on another connection",
        rule: Rule::Case(lists),
    },
    Check {
        id: "requests-need-no-earlier-request",
        requirement: "messages/stateless",
        scope: Scope::Named,
        expected: "the first request of a connection is served without discovery",
        rule: Rule::Case(first_request),
    },
];

/// The list methods and the members of their results.
const LISTS: [(&str, &str, &str); 3] =
    [("tools/list", "tools", "name"), ("resources/list", "resources", "uri"), ("prompts/list", "prompts", "name")];

fn lists(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    let results = transcript.requests_of("tools/call").filter(|call| call.result().is_some());
    let mut results: Vec<u64> = results.filter_map(|call| Some(call.response?.seq())).collect();
    results.sort_unstable();
    for (method, key, name) in LISTS {
        let announced = format!("notifications/{key}/list_changed");
        if transcript.server_messages().any(|message| message.is(&announced)) {
            continue;
        }
        let mut firsts: Vec<(_, Vec<&Value>)> = Vec::new();
        let mut results_before = 0;
        for (request, is_whole, names) in first_pages_and_lists(transcript, method, key, name) {
            // A tool may create or delete what another list has, so only lists without a result in between are compared.
            let count = results.partition_point(|result| *result < request.last_frame());
            if method != "tools/list" && count > results_before {
                firsts.clear();
                results_before = count;
            }
            // A list may depend on its own request, for example on the capabilities in it.
            let kind = (is_whole, meta(request, META_CAPABILITIES));
            let Some((_, before)) = firsts.iter().find(|(other, _)| *other == kind) else {
                firsts.push((kind, names));
                continue;
            };
            let message = || {
                let changed = names
                    .iter()
                    .find(|one| !before.contains(one))
                    .or_else(|| before.iter().find(|one| !names.contains(one)));
                format!(
                    "`{method}` changed without a notification: {}",
                    changed.map_or_else(String::new, |one| brief(one))
                )
            };
            findings.check(request.last_frame(), if *before == names { Ok(()) } else { Err(message()) });
        }
    }
    findings.or_not_applicable("lists", "no list was read twice")
}

/// The names of each first page, and of each list whose pages were all read, sorted, with their last requests.
fn first_pages_and_lists<'t, 'a>(
    transcript: &'t Transcript<'a>,
    method: &str,
    key: &str,
    name: &str,
) -> Vec<(&'t RequestResponse<'a>, bool, Vec<&'a Value>)> {
    let mut found = Vec::new();
    let mut list: Vec<&Value> = Vec::new();
    let mut next: Option<&Value> = None;
    for request in transcript.requests_of(method) {
        let page = request.result().and_then(|result| result.get(key)?.as_array());
        let Some(page) = page.map(|items| items.iter().filter_map(|item| item.get(name))) else { continue };
        match request.param("cursor") {
            None => {
                list = page.collect();
                found.push((request, false, list.clone()));
            }
            cursor if cursor == next => list.extend(page),
            // The pages of several clients, or of an invalid cursor.
            Some(_) => continue,
        }
        next = request.result().and_then(|result| result.get("nextCursor"));
        if next.is_none() {
            found.push((request, true, list.clone()));
        }
    }
    for (.., names) in &mut found {
        names.sort_by_cached_key(|name| name.to_string());
    }
    found
}

fn first_request(transcript: &Transcript<'_>) -> CheckOutcome {
    let Some(first) = modern_requests(transcript).next() else {
        return CheckOutcome::not_applicable("no request was sent");
    };
    match (first.result(), first.response) {
        (Some(_), _) => match differs_after_discovery(transcript) {
            Some((observed, frames)) => CheckOutcome::failed(observed, frames),
            None => CheckOutcome::passed("the first request has a result", first.frames()),
        },
        (None, Some(response)) => {
            CheckOutcome::failed(format!("the response is {}", brief(response.json)), first.frames())
        }
        (None, None) => CheckOutcome::failed("the server sent no response", first.frames()),
    }
}

/// What shows that the server rejects calls before a discovery, with the frames: a call of a tool that does not exist has another
/// error than after it.
fn differs_after_discovery(transcript: &Transcript<'_>) -> Option<(String, Vec<u64>)> {
    let discovery = transcript.requests_of("server/discover").next()?.request.seq();
    let mut calls = transcript.requests_of("tools/call");
    let early = calls.next().filter(|call| call.last_frame() < discovery)?;
    let late = calls.find(|call| call.request.seq() > discovery && call.param("name") == early.param("name"))?;
    let (before, after) = (early.code()?, late.code()?);
    let observed = || format!("a call has the error {before} before `server/discover`, and {after} after it");
    (before != after).then(|| (observed(), [early.frames(), late.frames()].concat()))
}
