//! Pages (all revisions, server/utilities/pagination).

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::listing::{Page, pages};
use crate::judge::{
    check::{Check, CheckOutcome, Findings, Rule, Scope, quoted},
    transcript::Transcript,
};

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "cursors-are-echoed",
        requirement: "client/cursors-are-echoed",
        scope: Scope::Named,
        expected: "each cursor that the client sends is one that the server returned for that list, unchanged",
        rule: Rule::Case(cursors_are_echoed),
    },
    Check {
        id: "all-pages-read",
        requirement: "client/all-pages-read",
        scope: Scope::Named,
        expected: "each cursor that the server returns is followed",
        rule: Rule::Case(all_pages_read),
    },
    Check {
        id: "empty-page-is-no-end",
        requirement: "client/empty-page-is-no-end",
        scope: Scope::Named,
        expected: "a client that follows cursors also follows that of an empty page",
        rule: Rule::Case(empty_page_is_no_end),
    },
    Check {
        id: "no-fixed-page-size",
        requirement: "client/no-fixed-page-size",
        scope: Scope::Named,
        expected: "a client that follows the cursors of full pages also follows that of a shorter page",
        rule: Rule::Case(no_fixed_page_size),
    },
    Check {
        id: "empty-cursor-is-no-end",
        requirement: "client/empty-cursor-is-no-end",
        scope: Scope::Named,
        expected: "a client that follows cursors also follows the empty one",
        rule: Rule::Case(empty_cursor_is_no_end),
    },
];

fn cursors_are_echoed(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    let pages = pages(transcript);
    let mut first = HashMap::new();
    for page in &pages {
        let (Some(cursor), Some(answer)) = (page.next(), page.answer) else { continue };
        let seq = first.entry((page.server, page.method(), cursor)).or_insert(u64::MAX);
        *seq = answer.seq().min(*seq);
    }
    for page in &pages {
        let Some(cursor) = page.cursor() else { continue };
        let known = first.get(&(page.server, page.method(), cursor)).is_some_and(|seq| *seq < page.request.seq());
        let message = || format!("the server never returned the cursor {} for `{}`", quoted(cursor), page.method());
        findings.check(page.request.seq(), if known { Ok(()) } else { Err(message()) });
    }
    findings.or_not_applicable("cursors", "the client sent no cursor, so there was nothing to compare")
}

/// The cursors that the client sent, each with its server and method.
fn followed<'a>(pages: &[Page<'a>]) -> HashSet<(&'a str, &'a str, &'a Value)> {
    pages.iter().filter_map(|page| Some((page.server, page.method(), page.cursor()?))).collect()
}

fn all_pages_read(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    let pages = pages(transcript);
    // A cursor that the server repeats has been followed already; following it again would never end.
    let followed = followed(&pages);
    for page in &pages {
        let (Some(cursor), Some(answer)) = (page.next(), page.answer) else { continue };
        let followed = followed.contains(&(page.server, page.method(), cursor));
        if !followed && transcript.was_killed_on_purpose() {
            continue;
        }
        let message = || format!("the cursor {} of `{}` was not followed", quoted(cursor), page.method());
        findings.check(answer.seq(), if followed { Ok(()) } else { Err(message()) });
    }
    findings.or_blocked("cursors", "no server returned a cursor, so there was nothing to follow")
}

fn empty_page_is_no_end(transcript: &Transcript<'_>) -> CheckOutcome {
    let is_empty = |page: &Page<'_>| {
        let items = page.answer.and_then(|answer| answer.result()).and_then(Value::as_object);
        items.is_some_and(|items| items.values().any(|items| items.as_array().is_some_and(Vec::is_empty)))
    };
    is_no_end(transcript, "of an empty page ", is_empty)
}

/// The number of items on a page.
fn size(page: &Page<'_>) -> Option<usize> {
    let members = page.answer?.result()?.as_object()?;
    members.values().find_map(|items| items.as_array().map(Vec::len))
}

/// A client that follows the cursor of a full page, and stops at the first shorter one, takes the page size for fixed.
fn no_fixed_page_size(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    let pages = pages(transcript);
    let followed = followed(&pages);
    let (mut first, mut followed_full) = (HashMap::new(), HashSet::new());
    for page in &pages {
        let list = (page.server, page.method());
        let (Some(size), Some(next), Some(answer)) = (size(page), page.next(), page.answer) else { continue };
        let full = *first.entry(list).or_insert(size);
        let is_followed = followed.contains(&(page.server, page.method(), next));
        if page.cursor().is_none() {
            continue;
        } else if size >= full {
            followed_full.extend(is_followed.then_some(list));
        } else if followed_full.contains(&list) {
            let is_cut = transcript.was_killed_on_purpose() || transcript.evidence.timed_out;
            let message = || {
                format!("the cursor {} of a page with {size} instead of {full} items was not followed", quoted(next))
            };
            findings.check(answer.seq(), if is_followed || is_cut { Ok(()) } else { Err(message()) });
        }
    }
    findings.or_not_applicable("pages", "the client read no shorter page after full ones")
}

fn empty_cursor_is_no_end(transcript: &Transcript<'_>) -> CheckOutcome {
    is_no_end(transcript, "", |page| page.next().is_some_and(|next| *next == ""))
}

/// Fails if a client that follows cursors does not follow that of one of these pages.
fn is_no_end(transcript: &Transcript<'_>, of: &str, is_one: impl Fn(&Page<'_>) -> bool) -> CheckOutcome {
    let mut findings = Findings::default();
    let pages = pages(transcript);
    let followed = followed(&pages);
    for page in pages.iter().filter(|page| is_one(page)) {
        // A client that reads no page but the first one does not get here.
        let (Some(next), Some(_), Some(answer)) = (page.next(), page.cursor(), page.answer) else { continue };
        let followed = followed.contains(&(page.server, page.method(), next));
        if !followed && (transcript.was_killed_on_purpose() || transcript.evidence.timed_out) {
            continue;
        }
        let message = || format!("the cursor {} {of}was not followed", quoted(next));
        findings.check(answer.seq(), if followed { Ok(()) } else { Err(message()) });
    }
    findings.or_not_applicable("pages", "the client read no such page after another one")
}

#[cfg(test)]
mod tests;
