//! Resources: lists, contents, and an unknown resource.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use super::{rejected_with, rejected_with_or_as_sdk};
use crate::judge::{
    check::{Check, CheckOutcome, Rule, Scope},
    transcript::{RequestResponse, Transcript},
};

// RFC 3986, section 3.1: a URI begins with a scheme.
pub(super) static SCHEME: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^[A-Za-z][A-Za-z0-9+.\-]*:[^\s]+$").expect("a constant, tested"));

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "unknown-resource-code",
        requirement: "resources/unknown-code",
        scope: Scope::Named,
        expected: "an unknown resource is rejected with -32002",
        rule: Rule::Case(unknown_legacy),
    },
    Check {
        id: "unknown-resource-is-refused",
        requirement: "resources/unknown-modern",
        scope: Scope::Named,
        expected: "an unknown resource is rejected with -32602, and never has empty contents",
        rule: Rule::Case(unknown_modern),
    },
];

/// The end of the URIs of files that do not exist, next to files that do.
const NO_SUCH_FILE: &str = "/workbench-no-such-file";
/// The end of URIs that begin with those of other resources.
const NO_SUCH_END: &str = "-workbench-no-such-end";

/// The read of a resource that does not exist. One that is not rejected with one of these codes is preferred: a file that is
/// rejected with another one, a URI with the contents of another resource, or the unknown URI.
fn unknown_read<'t, 'a>(transcript: &'t Transcript<'a>, codes: &[i64]) -> Option<&'t RequestResponse<'a>> {
    let uri = |one: &RequestResponse<'a>| one.param("uri").and_then(Value::as_str);
    let other_code = |one: &RequestResponse<'_>| one.code().is_some_and(|code| !codes.contains(&code));
    let is_file = |one: &RequestResponse<'a>| uri(one).is_some_and(|uri| uri.ends_with(NO_SUCH_FILE));
    let reads = || transcript.requests_of("resources/read");
    let file = reads().find(|one| is_file(one) && other_code(one));
    // A template may generate contents for any name.
    let templates = transcript.items("resources/templates/list", "resourceTemplates");
    let starts = templates.filter_map(|(_, one)| one.get("uriTemplate")?.as_str()?.split('{').next());
    let starts: Vec<&str> = starts.collect();
    let is_other = |one: &RequestResponse<'a>| {
        let is_generated = uri(one).is_some_and(|uri| starts.iter().any(|start| uri.starts_with(start)));
        let known = uri(one).and_then(|uri| uri.strip_suffix(NO_SUCH_END));
        !is_generated
            && known.is_some_and(|known| reads().any(|other| uri(other) == Some(known) && has_same_text(one, other)))
    };
    let other = || reads().find(|one| is_other(one));
    let unknown = || {
        let all: Vec<_> = reads().filter(|one| uri(one) == transcript.unknown.resource.as_deref()).collect();
        let is_rejected = |one: &&RequestResponse<'a>| one.code().is_some_and(|code| codes.contains(&code));
        let accepted = all.iter().copied().find(|one| one.response.is_some() && !is_rejected(one));
        accepted.or_else(|| all.first().copied())
    };
    file.or_else(other).or_else(unknown)
}

/// Whether two reads have the same text, and some.
fn has_same_text(one: &RequestResponse<'_>, other: &RequestResponse<'_>) -> bool {
    let texts = |read: &RequestResponse<'_>| -> Option<Vec<String>> {
        let contents = read.result()?.get("contents")?.as_array()?;
        contents.iter().map(|content| Some(content.get("text")?.as_str()?.to_owned())).collect()
    };
    texts(one).is_some_and(|own| own.iter().any(|text| !text.is_empty()) && texts(other) == Some(own))
}

fn unknown_legacy(transcript: &Transcript<'_>) -> CheckOutcome {
    let request = unknown_read(transcript, &[-32002, -32602]);
    if let Some(request) = request.filter(|request| request.code() == Some(-32602)) {
        // The code of 2026-07-28, which the TypeScript SDK uses in every revision.
        return CheckOutcome::passed("rejected with -32602, as several SDKs do in every revision", request.frames());
    }
    rejected_with_or_as_sdk(request, &[-32002], "an unknown resource")
}

fn unknown_modern(transcript: &Transcript<'_>) -> CheckOutcome {
    rejected_with(unknown_read(transcript, &[-32602]), &[-32602], "an unknown resource")
}
