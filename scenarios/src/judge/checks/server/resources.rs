//! Resources: lists, contents, and an unknown resource.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use super::{rejected_with, rejected_with_or_as_sdk, request_with};
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

/// The read of a resource that does not exist. One of a file that is rejected with another code than these is preferred.
fn unknown_read<'t, 'a>(transcript: &'t Transcript<'a>, codes: &[i64]) -> Option<&'t RequestResponse<'a>> {
    let is_file = |one: &RequestResponse<'_>| {
        one.param("uri").and_then(Value::as_str).is_some_and(|uri| uri.ends_with(NO_SUCH_FILE))
    };
    let other_code = |one: &RequestResponse<'_>| one.code().is_some_and(|code| !codes.contains(&code));
    let mut reads = transcript.requests_of("resources/read");
    let file = reads.find(|one| is_file(one) && other_code(one));
    file.or_else(|| request_with(transcript, "resources/read", "uri", transcript.unknown.resource.as_deref()))
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
