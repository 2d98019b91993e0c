//! Resources: lists, contents, and an unknown resource.

use std::sync::LazyLock;

use base64::Engine as _;
use regex::Regex;
use serde_json::Value;

use super::{rejected_with, request_with, results_of};
use crate::judge::{
    check::{Check, CheckOutcome, Findings, Rule, Scope, brief_or_missing},
    transcript::Transcript,
};

// RFC 3986, section 3.1: a URI begins with a scheme.
static SCHEME: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^[A-Za-z][A-Za-z0-9+.\-]*:[^\s]+$").expect("a constant, tested"));

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "resource-shape",
        requirement: "resources/shape",
        scope: Scope::Named,
        expected: "every resource has a uri and a name, and its texts are strings",
        rule: Rule::Case(resources),
    },
    Check {
        id: "resource-uri-is-a-uri",
        requirement: "resources/uri",
        scope: Scope::Named,
        expected: "every uri has a scheme",
        rule: Rule::Case(uris),
    },
    Check {
        id: "resource-template-shape",
        requirement: "resources/template-shape",
        scope: Scope::Named,
        expected: "every template has a uriTemplate and a name",
        rule: Rule::Case(templates),
    },
    Check {
        id: "resource-contents",
        requirement: "resources/contents",
        scope: Scope::Named,
        expected: "contents is an array, and each content has a uri and either text or a blob",
        rule: Rule::Case(contents),
    },
    Check {
        id: "resource-blob-is-base64",
        requirement: "resources/blob",
        scope: Scope::Named,
        expected: "every blob is Base64",
        rule: Rule::Case(blobs),
    },
    Check {
        id: "unknown-resource-code",
        requirement: "resources/unknown-code",
        scope: Scope::Named,
        expected: "an unknown resource is rejected with -32002",
        rule: Rule::Case(|transcript| unknown(transcript, -32002)),
    },
    Check {
        id: "unknown-resource-is-refused",
        requirement: "resources/unknown-modern",
        scope: Scope::Named,
        expected: "an unknown resource is rejected with -32602, and never has empty contents",
        rule: Rule::Case(|transcript| unknown(transcript, -32602)),
    },
];

fn shape<'a>(items: impl Iterator<Item = (u64, &'a Value)>, keys: [&str; 2], nothing: &str) -> CheckOutcome {
    let fault = |item: &&Value| {
        let missing = keys.into_iter().find(|key| !item.get(key).is_some_and(Value::is_string));
        let mut texts = ["title", "description", "mimeType"].into_iter();
        let wrong = missing.or_else(|| texts.find(|key| !item.get(key).is_none_or(Value::is_string)));
        wrong.map(|key| format!("{key} is {}", brief_or_missing(item.get(key))))
    };
    Findings::from_each(items, fault).or_not_applicable("items", nothing)
}

fn resources(transcript: &Transcript<'_>) -> CheckOutcome {
    shape(transcript.items("resources/list", "resources"), ["uri", "name"], "the server lists no resources")
}

fn templates(transcript: &Transcript<'_>) -> CheckOutcome {
    let templates = transcript.items("resources/templates/list", "resourceTemplates");
    shape(templates, ["uriTemplate", "name"], "the server lists no templates")
}

fn uris(transcript: &Transcript<'_>) -> CheckOutcome {
    let resources = transcript.items("resources/list", "resources");
    let uris = resources.filter_map(|(frame, item)| Some((frame, item.get("uri")?.as_str()?)));
    let fault = |uri: &&str| (!SCHEME.is_match(uri)).then(|| format!("`{uri}` has no scheme"));
    Findings::from_each(uris, fault).or_not_applicable("URIs", "the server lists no resources")
}

fn reads<'t, 'a>(transcript: &'t Transcript<'a>) -> impl Iterator<Item = (u64, &'a Value)> + use<'t, 'a> {
    // A result that requests input has no contents yet (2026-07-28, basic/patterns/mrtr).
    let complete = |result: &Value| result.get("resultType").is_none_or(|kind| kind == "complete");
    results_of(transcript, "resources/read").filter(move |(_, result)| complete(result))
}

fn contents(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    for (frame, result) in reads(transcript) {
        findings.saw(frame);
        match result.get("contents").and_then(Value::as_array) {
            None => findings.fail("contents is not an array", [frame]),
            Some(contents) => contents.iter().filter_map(content_fault).for_each(|fault| findings.fail(fault, [frame])),
        }
    }
    findings.or_not_applicable("reads", "no resource was read")
}

fn content_fault(content: &Value) -> Option<String> {
    if !content.get("uri").is_some_and(Value::is_string) {
        return Some("a content has no uri".to_owned());
    }
    let text = content.get("text").is_some_and(Value::is_string);
    let blob = content.get("blob").is_some_and(Value::is_string);
    (text == blob).then(|| format!("a content has {} text and blob", if text { "both" } else { "neither" }))
}

fn blobs(transcript: &Transcript<'_>) -> CheckOutcome {
    let blobs = reads(transcript).flat_map(|(frame, result)| {
        let contents = result.get("contents").and_then(Value::as_array).into_iter().flatten();
        contents.filter_map(move |content| Some((frame, content.get("blob")?.as_str()?)))
    });
    let fault = |blob: &&str| {
        let invalid = base64::engine::general_purpose::STANDARD.decode(blob).is_err();
        invalid.then(|| format!("`{}` is not Base64", blob.chars().take(40).collect::<String>()))
    };
    Findings::from_each(blobs, fault).or_not_applicable("blobs", "no blob was read")
}

fn unknown(transcript: &Transcript<'_>, code: i64) -> CheckOutcome {
    let request = request_with(transcript, "resources/read", "uri", transcript.unknown.resource.as_deref());
    rejected_with(request, &[code], "an unknown resource")
}
