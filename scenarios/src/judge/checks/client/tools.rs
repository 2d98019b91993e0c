//! Which tools a client calls: those that their server offers, and still offers.

use std::collections::BTreeSet;

use mock_servers::Frame;

use super::{
    RACE_US,
    findings::Findings,
    listing::{Listing, pages, tool_listings, tools_shown},
    message::Message,
};
use crate::{
    evidence::{Evidence, Outcome},
    judge::check::{Check, Ruling, Scope},
    model::Subject,
};

/// How long after the notice of a change a client may still work with what it has, in microseconds: good clients wait
/// for several notices and list once.
const NOTICE_US: u64 = 1_000_000;

pub(super) const ALL: &[Check] = &[
    Check {
        id: "tools-listed-again",
        requirement: "client/tools-listed-again",
        subject: Subject::Client,
        scope: Scope::Named,
        expected: "after `notifications/tools/list_changed` the client lists the tools again before it calls one",
        rule: tools_listed_again,
    },
    Check {
        id: "stale-call-not-sent",
        requirement: "client/stale-call-not-sent",
        subject: Subject::Client,
        scope: Scope::Named,
        expected: "a tool that is gone from the list is not called any more",
        rule: stale_call_not_sent,
    },
    Check {
        id: "calls-only-listed-tools",
        requirement: "client/calls-only-listed-tools",
        subject: Subject::Client,
        scope: Scope::Named,
        expected: "each call names a tool by the name that this very server gave it",
        rule: calls_only_listed_tools,
    },
];

fn messages(evidence: &Evidence) -> impl Iterator<Item = Message<'_>> {
    evidence.frames.iter().flat_map(Message::all_of)
}

fn calls(evidence: &Evidence) -> impl Iterator<Item = (Message<'_>, &str)> {
    let ours = messages(evidence).filter(Message::by_client);
    ours.filter_map(|message| Some((message, message.tool()?)))
}

fn tools_listed_again(evidence: &Evidence) -> Ruling {
    let mut findings = Findings::default();
    let mut undecided = 0;
    let notices = messages(evidence).filter(|message| !message.by_client());
    for notice in notices.filter(|message| message.is("notifications/tools/list_changed")) {
        let server = &notice.frame.server;
        let here = |frame: &Frame| frame.server == *server && frame.seq > notice.seq();
        let list =
            messages(evidence).find(|message| message.by_client() && message.is("tools/list") && here(message.frame));
        let late = |call: &Message<'_>| here(call.frame) && call.at_us() > notice.at_us() + NOTICE_US;
        let call = calls(evidence).find(|(call, _)| late(call));
        match (list, call) {
            (Some(list), call) if call.is_none_or(|(call, _)| list.seq() < call.seq()) => findings.saw(list.seq()),
            (_, Some((call, tool))) => {
                findings.saw(call.seq());
                let ms = (call.at_us() - notice.at_us()) / 1000;
                let words =
                    format!("`{tool}` was called {ms} ms after the notice, and the tools were not listed again");
                findings.breach(words, [notice.seq(), call.seq()]);
            }
            _ => undecided += 1,
        }
    }
    let reason = match undecided {
        0 => "no server said that its tools had changed".to_owned(),
        _ => format!("{undecided} notices came, and neither a list nor a call followed that could tell"),
    };
    findings.or_blocked("notices", &reason)
}

fn stale_call_not_sent(evidence: &Evidence) -> Ruling {
    let mut findings = Findings::default();
    let listings = tool_listings(evidence);
    for gone in vanished(&listings) {
        findings.saw(gone);
    }
    for (call, tool) in calls(evidence) {
        let read = listings.iter().filter(|listing| listing.server == call.frame.server);
        let read: Vec<_> = read.filter(|listing| was_read(evidence, listing, &call)).collect();
        let Some((last, before)) = read.split_last() else { continue };
        let known = before.iter().any(|listing| listing.names.contains(tool));
        // A list that was on its way when the call was made may have brought the tool back.
        let back = listings.iter().any(|listing| {
            listing.server == last.server
                && listing.last > last.last
                && listing.names.contains(tool)
                && listing.last < call.seq()
        });
        if known && !back && !last.names.contains(tool) {
            findings.breach(format!("`{tool}` was called after it was gone from the list"), [last.last, call.seq()]);
        }
    }
    findings.or_blocked("lists with tools gone", "no tool ever went from a list, so no call could be stale")
}

/// The last frames of the listings that lack a tool of an earlier one.
fn vanished(listings: &[Listing<'_>]) -> Vec<u64> {
    let mut known: BTreeSet<(&str, &str)> = BTreeSet::new();
    let mut found = Vec::new();
    for listing in listings {
        if known.iter().any(|(server, name)| *server == listing.server && !listing.names.contains(name)) {
            found.push(listing.last);
        }
        known.extend(listing.names.iter().map(|name| (listing.server, *name)));
    }
    found
}

/// Whether the client had certainly read this listing when it sent the call: some time had passed, or a step that
/// contains the listing had come to its end.
fn was_read(evidence: &Evidence, listing: &Listing<'_>, call: &Message<'_>) -> bool {
    let reported = evidence.steps.iter().any(|step| {
        matches!(step.outcome, Outcome::Value(_))
            && step.began_us <= listing.began_us
            && step.ended_us >= listing.ended_us
            && step.ended_us < call.at_us()
    });
    listing.last < call.seq() && (reported || call.at_us() > listing.ended_us + RACE_US)
}

fn calls_only_listed_tools(evidence: &Evidence) -> Ruling {
    let mut findings = Findings::default();
    let pages = pages(evidence);
    for (call, tool) in calls(evidence) {
        let server = &call.frame.server;
        let shown = tools_shown(&pages, server, call.seq());
        // A client may know the tools from an earlier run, and a record may be cut short.
        let Some(shown) = shown.filter(|shown| !shown.is_empty()) else { continue };
        let words = || format!("`{tool}` was called, which `{server}` never listed");
        findings.judge(call.seq(), if shown.contains(tool) { Ok(()) } else { Err(words()) });
    }
    findings.or_blocked("calls", "no tool was called that a list could vouch for")
}

#[cfg(test)]
mod tests;
