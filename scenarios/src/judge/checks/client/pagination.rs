//! Pages (all revisions, server/utilities/pagination).

use super::{
    findings::{Findings, shown},
    listing::pages,
};
use crate::{
    evidence::Evidence,
    judge::check::{Check, Ruling, Scope},
    model::Subject,
};

pub(super) const ALL: &[Check] = &[
    Check {
        id: "cursors-are-echoed",
        requirement: "client/cursors-are-echoed",
        subject: Subject::Client,
        scope: Scope::Named,
        expected: "each cursor that the client sends is one that the server gave for that list, unchanged",
        rule: cursors_are_echoed,
    },
    Check {
        id: "all-pages-read",
        requirement: "client/all-pages-read",
        subject: Subject::Client,
        scope: Scope::Named,
        expected: "each cursor that the server gives is followed",
        rule: all_pages_read,
    },
];

fn cursors_are_echoed(evidence: &Evidence) -> Ruling {
    let mut findings = Findings::default();
    let pages = pages(evidence);
    for page in &pages {
        let Some(cursor) = page.cursor() else { continue };
        let given = pages.iter().filter(|other| other.server == page.server && other.method() == page.method());
        let known = given
            .filter(|other| other.answer.is_some_and(|answer| answer.seq() < page.request.seq()))
            .any(|other| other.next() == Some(cursor));
        let words = || format!("the server never gave the cursor {} for `{}`", shown(cursor), page.method());
        findings.judge(page.request.seq(), if known { Ok(()) } else { Err(words()) });
    }
    findings.or_blocked("cursors", "the client sent no cursor, so there was nothing to compare")
}

fn all_pages_read(evidence: &Evidence) -> Ruling {
    let mut findings = Findings::default();
    let killed = evidence.process.as_ref().is_some_and(|process| process.killed_on_purpose);
    let pages = pages(evidence);
    for page in &pages {
        let (Some(cursor), Some(answer)) = (page.next(), page.answer) else { continue };
        // A cursor that comes round again has been followed already; to follow it once more would never end.
        let followed = pages.iter().any(|other| {
            other.server == page.server && other.method() == page.method() && other.cursor() == Some(cursor)
        });
        if !followed && killed {
            continue;
        }
        let words = || format!("the cursor {} of `{}` was not followed", shown(cursor), page.method());
        findings.judge(answer.seq(), if followed { Ok(()) } else { Err(words()) });
    }
    findings.or_blocked("cursors", "no server gave a cursor, so there was nothing to follow")
}

#[cfg(test)]
mod tests;
