//! Notifications about changed lists, and keys of metadata.

use std::{collections::BTreeSet, ops::Range, sync::LazyLock};

use regex::Regex;
use serde_json::Value;

use super::{UNKNOWN_CAPABILITIES, modern, pagination};
use crate::judge::{
    check::{Check, CheckOutcome, Findings, Rule, Scope},
    transcript::{Body, ConnectionEvent, Message, Transcript},
};

// 2025-06-18, basic/index, `_meta`: an optional prefix of labels, and a name.
static KEY: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"^([A-Za-z]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z]([A-Za-z0-9-]*[A-Za-z0-9])?)*/)?([A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?)?$",
    )
    .expect("a constant, tested")
});

/// A key that FastMCP adds to every item, although a name must begin with a letter or digit.
const KEY_OF_AN_SDK: &str = "_fastmcp";

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "list-changes-only-if-declared",
        requirement: "lifecycle/list-changes-declared",
        scope: Scope::Always,
        expected: "a server that announces changes of a list declares `listChanged` for it",
        rule: Rule::Case(declared),
    },
    Check {
        id: "changes-of-tools-are-announced",
        requirement: "tools/changes-announced",
        scope: Scope::Named,
        expected: "a change of the tools is announced if `tools.listChanged` is declared",
        rule: Rule::Case(|transcript| announced(transcript, "tools", "name")),
    },
    Check {
        id: "changes-of-prompts-are-announced",
        requirement: "prompts/changes-announced",
        scope: Scope::Named,
        expected: "a change of the prompts is announced if `prompts.listChanged` is declared",
        rule: Rule::Case(|transcript| announced(transcript, "prompts", "name")),
    },
    Check {
        id: "changes-of-resources-are-announced",
        requirement: "resources/changes-announced",
        scope: Scope::Named,
        expected: "a change of the list of resources is announced if `resources.listChanged` is declared",
        rule: Rule::Case(|transcript| announced(transcript, "resources", "uri")),
    },
    Check {
        id: "metadata-key-names",
        requirement: "messages/metadata-key-names",
        scope: Scope::Always,
        expected: "keys of `_meta` are a name, with a prefix of labels or without",
        rule: Rule::Case(keys),
    },
];

fn declared(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    for message in transcript.server_messages() {
        let list =
            message.method().and_then(|method| method.strip_prefix("notifications/")?.strip_suffix("/list_changed"));
        let Some(list) = list.filter(|list| matches!(*list, "tools" | "resources" | "prompts")) else { continue };
        let Some(declared) = transcript.declares(&format!("{list}.listChanged")) else {
            return CheckOutcome::not_applicable(UNKNOWN_CAPABILITIES);
        };
        let fault = || format!("`{list}.listChanged` is not declared");
        findings.check(message.seq(), if declared { Ok(()) } else { Err(fault()) });
    }
    findings.or_not_applicable("notifications", "the server announced no change of a list")
}

/// Compares each listing with the one before. `identity` is the member that tells its items apart.
fn announced(transcript: &Transcript<'_>, list: &str, identity: &str) -> CheckOutcome {
    let (capability, method) = (format!("{list}.listChanged"), format!("{list}/list"));
    if transcript.declares(&capability) != Some(true) {
        return CheckOutcome::not_applicable(format!("the server does not declare `{capability}`"));
    }
    let Some(observed) = announcements_arrive(transcript, list) else {
        return CheckOutcome::not_applicable("no announcement would arrive");
    };
    let mut before: Option<(u64, BTreeSet<&str>)> = None;
    let mut findings = Findings::default();
    for walk in pagination::whole_walks(transcript, &method) {
        let response = walk.last().and_then(|last| last.response);
        let (Some(first), Some(response)) = (walk.first(), response) else { continue };
        let (began, ended) = (first.request.at_us(), response.at_us());
        if !observed.contains(&began) || !observed.contains(&ended) {
            continue;
        }
        let names = walk.iter().filter_map(|page| pagination::identities(page, list, identity));
        let names = names.flatten().collect();
        if let Some((since, earlier)) = &before {
            let changed = earlier.symmetric_difference(&names).next();
            let is_announced = || pagination::is_change_announced(transcript, &method, *since, ended);
            let changed = changed.filter(|_| !is_announced());
            let fault = changed.map(|name| format!("`{name}` is in one of two listings, and no change was announced"));
            findings.check(response.seq(), fault.map_or(Ok(()), Err));
        }
        before = Some((began, names));
    }
    findings.or_not_applicable("listings", &format!("the {list} were not listed twice"))
}

/// When announcements of a changed list would arrive, in microseconds. In revisions with a handshake only over stdio: over HTTP, the
/// server may have no stream for them.
fn announcements_arrive(transcript: &Transcript<'_>, list: &str) -> Option<Range<u64>> {
    if !transcript.evidence.revision.is_modern() {
        return (!transcript.is_http()).then_some(0..u64::MAX);
    }
    let since = modern::subscriptions::acknowledged_at(transcript, &format!("{list}ListChanged"))?;
    let mut frames = transcript.evidence.frames.iter().filter(|frame| frame.from_client() && frame.at_us > since);
    let end = frames.find(|frame| {
        frame.body == Body::Event(ConnectionEvent::ClosedByPeer)
            || Message::all_of(frame).any(|message| message.cancels().is_some())
    });
    Some(since..end.map_or(u64::MAX, |frame| frame.at_us))
}

/// The objects of a message that may have metadata: the parameters, the result, its items, and their content.
fn carriers<'a>(message: &Message<'a>) -> Vec<&'a Value> {
    let mut carriers: Vec<&Value> = message.params().into_iter().chain(message.result()).collect();
    let lists = ["tools", "resources", "resourceTemplates", "prompts", "contents", "content", "messages"];
    let items = lists.into_iter().filter_map(|list| message.result()?.get(list)?.as_array()).flatten();
    for item in items {
        carriers.push(item);
        // Of prompt messages and embedded resources.
        carriers.extend([item.get("content"), item.get("resource")].into_iter().flatten());
    }
    carriers
}

fn keys(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    for message in transcript.server_messages() {
        for meta in carriers(&message).into_iter().filter_map(|carrier| carrier.get("_meta")?.as_object()) {
            let wrong = meta.keys().find(|key| !KEY.is_match(key) && *key != KEY_OF_AN_SDK);
            let fault = wrong.map(|key| format!("a key is `{key}`"));
            findings.check(message.seq(), fault.map_or(Ok(()), Err));
        }
    }
    findings.or_not_applicable("objects", "the server sent no metadata")
}

#[cfg(test)]
mod tests {
    use super::KEY;

    #[test]
    fn keys_have_the_form_of_the_specification() {
        for key in ["a", "com.example/a", "io.modelcontextprotocol/related-task", "a_b.c-d", "ui/x", "x.y-z/", ""] {
            assert!(KEY.is_match(key), "{key}");
        }
        for key in ["_a", "a_", "1a.b/c", "a..b/c", "a-/c", "/a", "a b", "a/b/c", "a./b"] {
            assert!(!KEY.is_match(key), "{key}");
        }
    }
}
