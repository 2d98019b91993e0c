//! Lists with pages, in every case in which one was read.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use serde_json::Value;

use super::NO_RESPONSE;
use crate::judge::{
    check::{Check, CheckOutcome, Findings, Rule, Scope, brief, brief_or_missing},
    transcript::{RequestResponse, Transcript},
};

/// The list methods, the members with their items, and the members that identify an item.
const LISTS: [(&str, &str, &str); 4] = [
    ("tools/list", "tools", "name"),
    ("resources/list", "resources", "uri"),
    ("resources/templates/list", "resourceTemplates", "uriTemplate"),
    ("prompts/list", "prompts", "name"),
];

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "pages-come-to-an-end",
        requirement: "pagination/ends",
        scope: Scope::Always,
        expected: "no cursor is returned twice while a list is read",
        rule: Rule::Case(ends),
    },
    Check {
        id: "pages-do-not-overlap",
        requirement: "pagination/no-duplicates",
        scope: Scope::Always,
        expected: "no item is on two pages of a list",
        rule: Rule::Case(overlap),
    },
    Check {
        id: "own-cursors-are-accepted",
        requirement: "pagination/continue",
        scope: Scope::Always,
        expected: "a page is returned for every cursor that the server returned",
        rule: Rule::Case(own_cursors),
    },
    Check {
        id: "cursors-are-stable",
        requirement: "pagination/stable-cursors",
        scope: Scope::Always,
        expected: "a cursor that is used again gives the same page",
        rule: Rule::Case(stable),
    },
    Check {
        id: "last-page-has-no-cursor",
        requirement: "pagination/more-results",
        scope: Scope::Always,
        expected: "no cursor leads to an empty last page",
        rule: Rule::Case(last_page),
    },
    Check {
        id: "invalid-cursor-is-refused",
        requirement: "pagination/invalid-cursor",
        scope: Scope::Named,
        expected: "an unknown cursor is rejected with -32602",
        rule: Rule::Case(invalid),
    },
];

/// How late an announcement may be, in microseconds.
const IN_FLIGHT_US: u64 = 1_000_000;

/// The member of a page with the next cursor.
fn next_cursor<'a>(page: &RequestResponse<'a>) -> Option<&'a Value> {
    page.result()?.get("nextCursor")
}

/// The walks through the pages of a method: each begins with a request without a cursor, and continues as long as the
/// requests follow the returned cursors.
fn walks<'t, 'a>(transcript: &'t Transcript<'a>, method: &str) -> Vec<Vec<&'t RequestResponse<'a>>> {
    let mut walks: Vec<Vec<&RequestResponse<'a>>> = Vec::new();
    for page in transcript.requests_of(method).filter(|page| page.result().is_some()) {
        match page.param("cursor") {
            None => walks.push(vec![page]),
            Some(cursor) => {
                let Some(walk) = walks.last_mut() else { continue };
                if walk.last().and_then(|last| next_cursor(last)) == Some(cursor) {
                    walk.push(page);
                }
            }
        }
    }
    walks
}

/// The walks that reached the last page.
pub(super) fn whole_walks<'t, 'a>(transcript: &'t Transcript<'a>, method: &str) -> Vec<Vec<&'t RequestResponse<'a>>> {
    let walks = walks(transcript, method).into_iter();
    walks.filter(|walk| walk.last().is_some_and(|last| next_cursor(last).is_none())).collect()
}

fn ends(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    for walk in LISTS.iter().flat_map(|(method, ..)| walks(transcript, method)) {
        let mut returned = BTreeSet::new();
        for page in walk {
            let cursor = next_cursor(page).and_then(Value::as_str);
            let repeated = cursor.filter(|cursor| !returned.insert(*cursor));
            let message = |cursor| format!("the cursor `{cursor}` is returned again");
            findings.check(page.last_frame(), repeated.map_or(Ok(()), |cursor| Err(message(cursor))));
        }
    }
    findings.or_not_applicable("pages", "no list was read")
}

fn overlap(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    for (method, key, identity) in LISTS {
        for walk in walks(transcript, method).into_iter().filter(|walk| walk.len() > 1) {
            let mut before: BTreeSet<&str> = BTreeSet::new();
            for page in walk {
                findings.saw(page.last_frame());
                let names: BTreeSet<&str> = identities(page, key, identity).into_iter().flatten().collect();
                for name in &names {
                    if !before.insert(name) {
                        findings.fail(format!("`{name}` is on two pages"), [page.last_frame()]);
                    }
                }
            }
        }
    }
    findings.or_not_applicable("pages", "no list has more than one page")
}

fn own_cursors(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    for (method, ..) in LISTS {
        let mut returned: BTreeSet<&str> = BTreeSet::new();
        for page in transcript.requests_of(method) {
            if page.param("cursor").and_then(Value::as_str).is_some_and(|cursor| returned.contains(cursor)) {
                let fault =
                    page.error().map(|error| format!("`{method}` rejects its own cursor with {}", brief(error)));
                findings.check(page.last_frame(), fault.map_or(Ok(()), Err));
            }
            returned.extend(next_cursor(page).and_then(Value::as_str));
        }
    }
    findings.or_not_applicable("pages", "no list has more than one page")
}

/// The items of a page by their identity.
pub(super) fn identities<'a>(page: &RequestResponse<'a>, key: &str, identity: &str) -> Option<Vec<&'a str>> {
    let items = page.result()?.get(key)?.as_array()?;
    Some(items.iter().filter_map(|item| item.get(identity)?.as_str()).collect())
}

/// Whether the server announced a change of the list that a method reads, after the first of two listings began. Times are
/// microseconds.
pub(super) fn is_change_announced(
    transcript: &Transcript<'_>,
    method: &str,
    first_began: u64,
    second_ended: u64,
) -> bool {
    let list = method.split('/').next().unwrap_or_default();
    let announcement = format!("notifications/{list}/list_changed");
    // An announcement may arrive shortly after the page that shows its change.
    let between = first_began..second_ended + IN_FLIGHT_US;
    transcript.server_messages().any(|message| message.is(&announcement) && between.contains(&message.at_us()))
}

fn stable(transcript: &Transcript<'_>) -> CheckOutcome {
    // A tool may change a list, and a client that listens to no stream is not told.
    let calls: Vec<u64> = transcript.requests_of("tools/call").map(|call| call.request.at_us()).collect();
    let is_called_since =
        |began: u64, ended: u64| calls.get(calls.partition_point(|at| *at < began)).is_some_and(|at| *at < ended);
    let mut findings = Findings::default();
    for (method, key, identity) in LISTS {
        let mut earlier: BTreeMap<&str, (u64, Vec<&str>)> = BTreeMap::new();
        for page in transcript.requests_of(method) {
            let Some(cursor) = page.param("cursor").and_then(Value::as_str) else { continue };
            let (Some(items), Some(response)) = (identities(page, key, identity), page.response) else { continue };
            let differs = earlier.get(cursor).is_some_and(|(began, before)| {
                *before != items
                    && !is_change_announced(transcript, method, *began, response.at_us())
                    && !is_called_since(*began, page.request.at_us())
            });
            let message = || format!("the cursor `{cursor}` of `{method}` gives another page when it is used again");
            findings.check(page.last_frame(), if differs { Err(message()) } else { Ok(()) });
            earlier.insert(cursor, (page.request.at_us(), items));
        }
    }
    findings.or_not_applicable("pages", "no list has more than one page")
}

fn last_page(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    for (method, key, identity) in LISTS {
        for walk in walks(transcript, method).into_iter().filter(|walk| walk.len() > 1) {
            let Some(last) = walk.last().filter(|last| next_cursor(last).is_none()) else { continue };
            let is_empty = identities(last, key, identity).is_some_and(|items| items.is_empty());
            let message = || format!("the cursor of a page of `{method}` leads to no items");
            findings.check(last.last_frame(), if is_empty { Err(message()) } else { Ok(()) });
        }
    }
    findings.or_not_applicable("lists", "no list has more than one page")
}

fn invalid(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    for (method, ..) in LISTS {
        let returned: HashSet<&str> =
            transcript.requests_of(method).filter_map(|page| next_cursor(page)?.as_str()).collect();
        // A server without pages may ignore the parameter.
        if returned.is_empty() {
            continue;
        }
        let requests = transcript.requests_of(method);
        let is_invalid = |cursor: &Value| !cursor.as_str().is_some_and(|cursor| returned.contains(cursor));
        for page in requests.filter(|page| page.param("cursor").is_some_and(is_invalid)) {
            let cursor = page.param("cursor");
            let is_text = cursor.is_some_and(Value::is_string);
            let fault = match (page.code(), page.response) {
                (Some(-32602), _) => None,
                // A library rejects another type with its own code.
                (Some(_), _) if !is_text => None,
                (Some(code), _) => Some(format!("`{method}` rejects {} with {code}", brief_or_missing(cursor))),
                (None, Some(response)) => {
                    Some(format!("`{method}` answers {} with {}", brief_or_missing(cursor), brief(response.json)))
                }
                (None, None) => Some(format!("{NO_RESPONSE} to `{method}`")),
            };
            findings.check(page.last_frame(), fault.map_or(Ok(()), Err));
        }
    }
    findings.or_not_applicable("requests", "the server does not paginate")
}
