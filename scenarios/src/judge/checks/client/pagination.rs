//! Pages (all revisions, server/utilities/pagination).

use std::collections::{HashMap, HashSet};

use super::listing::pages;
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
    findings.or_blocked("cursors", "the client sent no cursor, so there was nothing to compare")
}

fn all_pages_read(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    let pages = pages(transcript);
    // A cursor that the server repeats has been followed already; following it again would never end.
    let followed: HashSet<_> =
        pages.iter().filter_map(|page| Some((page.server, page.method(), page.cursor()?))).collect();
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

#[cfg(test)]
mod tests;
