//! Lists with pages, in every case in which one was read.

use std::collections::BTreeSet;

use serde_json::Value;

use super::rejected_with;
use crate::judge::{
    check::{Check, CheckOutcome, Findings, Rule, Scope, brief},
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
        id: "list-holds-a-list",
        requirement: "pagination/list",
        scope: Scope::Always,
        expected: "the result of a list method has an array of items",
        rule: Rule::Case(lists),
    },
    Check {
        id: "next-cursor-is-a-string",
        requirement: "pagination/cursor",
        scope: Scope::Always,
        expected: "nextCursor, if present, is a string",
        rule: Rule::Case(cursor),
    },
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
        id: "invalid-cursor-is-refused",
        requirement: "pagination/invalid-cursor",
        scope: Scope::Named,
        expected: "an unknown cursor is rejected with -32602",
        rule: Rule::Case(invalid),
    },
];

/// The member of a page with the next cursor.
fn next_cursor<'a>(page: &RequestResponse<'a>) -> Option<&'a Value> {
    page.result()?.get("nextCursor")
}

/// Checks the result of every page.
fn each(transcript: &Transcript<'_>, fault: impl Fn(&str, &Value) -> Option<String>) -> CheckOutcome {
    let mut findings = Findings::default();
    for (method, key, _) in LISTS {
        for page in transcript.requests_of(method) {
            let Some(result) = page.result() else { continue };
            findings.check(page.last_frame(), fault(key, result).map_or(Ok(()), Err));
        }
    }
    findings.or_not_applicable("pages", "no list was read")
}

fn lists(transcript: &Transcript<'_>) -> CheckOutcome {
    each(transcript, |key, result| {
        (!result.get(key).is_some_and(Value::is_array)).then(|| format!("`{key}` is not an array in {}", brief(result)))
    })
}

fn cursor(transcript: &Transcript<'_>) -> CheckOutcome {
    each(transcript, |_, result| {
        let cursor = result.get("nextCursor")?;
        (!cursor.is_string()).then(|| format!("nextCursor is {}", brief(cursor)))
    })
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
                let items = page.result().and_then(|result| result.get(key)?.as_array()).into_iter().flatten();
                let names: BTreeSet<&str> = items.filter_map(|item| item.get(identity)?.as_str()).collect();
                for name in &names {
                    if !before.insert(name) {
                        findings.fail(format!("`{name}` is on another page too"), [page.last_frame()]);
                    }
                }
            }
        }
    }
    findings.or_not_applicable("pages", "no list has more than one page")
}

fn invalid(transcript: &Transcript<'_>) -> CheckOutcome {
    // A server without pages may ignore the parameter.
    let paginates = LISTS.iter().flat_map(|(method, ..)| transcript.requests_of(method));
    if !paginates.into_iter().any(|page| next_cursor(page).is_some_and(Value::is_string)) {
        return CheckOutcome::not_applicable("the server does not paginate");
    }
    let unknown = transcript.unknown.cursor.as_deref().unwrap_or_default();
    let mut requests = transcript.requests().iter();
    let request = requests.find(|request| request.param("cursor").is_some_and(|cursor| cursor == unknown));
    rejected_with(request, &[-32602], "a page with an unknown cursor")
}
