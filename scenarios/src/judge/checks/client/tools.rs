//! Which tools a client calls: those that their server lists, and still lists.

use std::collections::{BTreeSet, HashMap};

use super::{
    RACE_US,
    listing::{ListedTools, Listing, tool_listings},
};
use crate::{
    evidence::Outcome,
    judge::{
        check::{Check, CheckOutcome, Findings, Rule, Scope},
        transcript::{Message, Transcript},
    },
};

/// How long after the notice of a change a client may still use its list, in microseconds. Conforming clients collect
/// several notices and list once.
const NOTICE_US: u64 = 1_000_000;

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "tools-listed-again",
        requirement: "client/tools-listed-again",
        scope: Scope::Named,
        expected: "after `notifications/tools/list_changed` the client lists the tools again before it calls one",
        rule: Rule::Case(tools_listed_again),
    },
    Check {
        id: "stale-call-not-sent",
        requirement: "client/stale-call-not-sent",
        scope: Scope::Named,
        expected: "a tool that was removed from the list is not called any more",
        rule: Rule::Case(stale_call_not_sent),
    },
    Check {
        id: "calls-only-listed-tools",
        requirement: "client/calls-only-listed-tools",
        scope: Scope::Named,
        expected: "each call names a tool by the name that its own server listed",
        rule: Rule::Case(calls_only_listed_tools),
    },
];

/// The calls of tools, in order.
fn calls<'a>(transcript: &Transcript<'a>) -> impl Iterator<Item = (Message<'a>, &'a str)> {
    transcript.client_messages().filter_map(|message| Some((message, message.tool()?)))
}

fn tools_listed_again(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    let mut undecided = 0;
    let (mut lists, mut called) = (HashMap::<_, Vec<Message<'_>>>::new(), HashMap::<_, Vec<_>>::new());
    for list in transcript.client_messages().filter(|message| message.is("tools/list")) {
        lists.entry(&list.frame.server).or_default().push(list);
    }
    for call in calls(transcript) {
        called.entry(&call.0.frame.server).or_default().push(call);
    }
    for notice in transcript.server_messages().filter(|message| message.is("notifications/tools/list_changed")) {
        let server = &notice.frame.server;
        let list =
            lists.get(server).and_then(|lists| lists.get(lists.partition_point(|list| list.seq() <= notice.seq())));
        let early = |call: &Message<'_>| call.seq() <= notice.seq() || call.at_us() <= notice.at_us() + NOTICE_US;
        let call = called.get(server).and_then(|calls| calls.get(calls.partition_point(|(call, _)| early(call))));
        match (list, call) {
            (Some(list), call) if call.is_none_or(|(call, _)| list.seq() < call.seq()) => findings.saw(list.seq()),
            (_, Some((call, tool))) => {
                findings.saw(call.seq());
                let ms = (call.at_us() - notice.at_us()) / 1000;
                let message =
                    format!("`{tool}` was called {ms} ms after the notice, and the tools were not listed again");
                findings.fail(message, [notice.seq(), call.seq()]);
            }
            _ => undecided += 1,
        }
    }
    let reason = match undecided {
        0 => "no server announced a change of its tools".to_owned(),
        _ => format!("{undecided} notices were followed by neither a list nor a call"),
    };
    findings.or_blocked("notices", &reason)
}

/// The tool lists of one server, as far as the client has read them at some time.
#[derive(Default)]
struct ReadLists<'t, 'a> {
    /// The listings that the client has not read yet, the next one last.
    unread: Vec<(usize, &'t Listing<'a>)>,
    /// The listings that were not sent yet, the next one last.
    unsent: Vec<&'t Listing<'a>>,
    /// The newest listing that the client has read.
    newest: Option<&'t Listing<'a>>,
    /// The tools in any listing that the client has read.
    known: BTreeSet<&'a str>,
    /// The last page of the newest listing with each tool, of those that were sent.
    sent: HashMap<&'a str, u64>,
}

impl<'a> ReadLists<'_, 'a> {
    /// Moves on to the call with this position and frame.
    fn advance(&mut self, position: usize, seq: u64) {
        while let Some((_, listing)) = self.unread.pop_if(|(from, _)| *from <= position) {
            self.known.extend(&listing.names);
            if self.newest.is_none_or(|newest| newest.last < listing.last) {
                self.newest = Some(listing);
            }
        }
        while let Some(listing) = self.unsent.pop_if(|listing| listing.last < seq) {
            self.sent.extend(listing.names.iter().map(|name| (*name, listing.last)));
        }
    }

    /// The last page of the newest listing, if the tool was in an earlier one and is in none since.
    fn removed_in(&self, tool: &'a str) -> Option<u64> {
        let newest = self.newest?;
        // A list that was on its way when the call was sent may have brought the tool back.
        let back = self.sent.get(tool).is_some_and(|last| *last > newest.last);
        (self.known.contains(tool) && !back && !newest.names.contains(tool)).then_some(newest.last)
    }
}

fn stale_call_not_sent(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    let listings = tool_listings(transcript);
    for frame in frames_without_known_tool(&listings) {
        findings.saw(frame);
    }
    let calls: Vec<_> = calls(transcript).collect();
    let mut servers: HashMap<&str, ReadLists<'_, '_>> = HashMap::new();
    for listing in listings.iter().rev() {
        let server = servers.entry(listing.server).or_default();
        server.unsent.push(listing);
        server.unread.push((first_call_after_reading(transcript, listing, &calls), listing));
    }
    for server in servers.values_mut() {
        server.unread.sort_by_key(|(position, _)| std::cmp::Reverse(*position));
    }
    for (position, (call, tool)) in calls.iter().enumerate() {
        let Some(server) = servers.get_mut(call.frame.server.as_str()) else { continue };
        server.advance(position, call.seq());
        if let Some(last) = server.removed_in(tool) {
            findings.fail(format!("`{tool}` was called after it was removed from the list"), [last, call.seq()]);
        }
    }
    findings.or_blocked("lists without an earlier tool", "no tool was removed from a list, so no call could be stale")
}

/// The last frames of the listings that lack a tool of an earlier one.
fn frames_without_known_tool(listings: &[Listing<'_>]) -> Vec<u64> {
    let mut known: HashMap<&str, BTreeSet<&str>> = HashMap::new();
    let mut found = Vec::new();
    for listing in listings {
        let known = known.entry(listing.server).or_default();
        if listing.names.iter().filter(|name| known.contains(*name)).count() < known.len() {
            found.push(listing.last);
        }
        known.extend(&listing.names);
    }
    found
}

/// The position of the first call that the client sent after it had certainly read this listing: some time had passed,
/// or a step that contains the listing had ended.
fn first_call_after_reading(
    transcript: &Transcript<'_>,
    listing: &Listing<'_>,
    calls: &[(Message<'_>, &str)],
) -> usize {
    let containing = transcript.evidence.steps.iter().filter(|step| {
        matches!(step.outcome, Outcome::Value(_))
            && step.began_us <= listing.began_us
            && step.ended_us >= listing.ended_us
    });
    let read_us = containing.map(|step| step.ended_us).chain([listing.ended_us + RACE_US]).min().unwrap_or_default();
    calls.partition_point(|(call, _)| call.seq() <= listing.last || call.at_us() <= read_us)
}

fn calls_only_listed_tools(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    let listed = ListedTools::new(transcript);
    for (call, tool) in calls(transcript) {
        let server = call.frame.server.as_str();
        // A client may know the tools from an earlier run, and a record may be truncated.
        let Some(lists) = listed.lists(server, tool, call.seq()) else { continue };
        let message = || format!("`{tool}` was called, which `{server}` never listed");
        findings.check(call.seq(), if lists { Ok(()) } else { Err(message()) });
    }
    findings.or_blocked("calls", "no tool was called after a complete list")
}

#[cfg(test)]
mod tests;
