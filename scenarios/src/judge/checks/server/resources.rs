//! Checks on resources: the shape of lists and contents, and a resource that does not exist.

use base64::Engine as _;
use regex::Regex;
use serde_json::Value;
use std::sync::LazyLock;

use super::talk::{Exchange, Fault, asked, brief, items, named, refused, ruling};
use crate::{
    evidence::Evidence,
    judge::check::{Check, Ruling},
};

/// The resource that scenarios read and no server has.
const UNKNOWN: &str = "workbench-test://no-such-resource";

// RFC 3986, section 3.1: a URI begins with a scheme.
static SCHEME: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^[A-Za-z][A-Za-z0-9+.\-]*:[^\s]+$").expect("a constant, tested"));

/// The checks of this theme.
pub(super) const ALL: &[Check] = &[
    named(
        "resource-shape",
        "resources/shape",
        "every resource has a uri and a name, and its texts are strings",
        resources,
    ),
    named("resource-uri-is-a-uri", "resources/uri", "every uri has a scheme", uris),
    named(
        "resource-template-shape",
        "resources/template-shape",
        "every template has a uriTemplate and a name",
        templates,
    ),
    named(
        "resource-contents",
        "resources/contents",
        "contents is a list, and each has a uri and either text or a blob",
        contents,
    ),
    named("resource-blob-is-base64", "resources/blob", "every blob is base64", blobs),
    named(
        "unknown-resource-code",
        "resources/unknown-code",
        "a resource that does not exist is refused with -32002",
        legacy_code,
    ),
    named(
        "unknown-resource-is-refused",
        "resources/unknown-modern",
        "a resource that does not exist is refused with -32602, and never has empty contents",
        modern_code,
    ),
];

fn shape(all: &[(u64, &Value)], keys: [&str; 2], nothing: &str) -> Ruling {
    let fault = |item: &Value| {
        let missing = keys.into_iter().find(|key| !item.get(key).is_some_and(Value::is_string));
        let texts = ["title", "description", "mimeType"];
        let wrong = missing.or_else(|| texts.into_iter().find(|key| !item.get(key).is_none_or(Value::is_string)));
        wrong.map(|key| format!("{key} is {}", item.get(key).map_or_else(|| "missing".to_owned(), brief)))
    };
    let faults: Vec<Fault> = all.iter().filter_map(|(frame, item)| Some((*frame, fault(item)?))).collect();
    let frames: Vec<u64> = all.iter().map(|(frame, _)| *frame).collect();
    ruling(faults, &frames, format!("all {} have", all.len()), nothing)
}

fn resources(evidence: &Evidence) -> Ruling {
    shape(&items(evidence, "resources/list", "resources"), ["uri", "name"], "the server lists no resources")
}

fn templates(evidence: &Evidence) -> Ruling {
    let all = items(evidence, "resources/templates/list", "resourceTemplates");
    shape(&all, ["uriTemplate", "name"], "the server lists no templates")
}

fn uris(evidence: &Evidence) -> Ruling {
    let all = items(evidence, "resources/list", "resources");
    let uris: Vec<(u64, &str)> =
        all.iter().filter_map(|(frame, item)| Some((*frame, item.get("uri")?.as_str()?))).collect();
    let faults = uris
        .iter()
        .filter(|(_, uri)| !SCHEME.is_match(uri))
        .map(|(frame, uri)| (*frame, format!("`{uri}` has none")))
        .collect();
    let frames: Vec<u64> = uris.iter().map(|(frame, _)| *frame).collect();
    ruling(faults, &frames, format!("all {} have", uris.len()), "the server lists no resources")
}

fn reads(evidence: &Evidence) -> Vec<(u64, &Value)> {
    let answered = asked(evidence, "resources/read").into_iter();
    // A result that asks for input is no content yet (2026-07-28, basic/patterns/mrtr).
    let complete = |result: &Value| result.get("resultType").is_none_or(|kind| kind == "complete");
    answered
        .filter_map(|exchange| Some((exchange.answer?.0.seq, exchange.result().filter(|result| complete(result))?)))
        .collect()
}

fn contents(evidence: &Evidence) -> Ruling {
    let all = reads(evidence);
    let mut faults: Vec<Fault> = Vec::new();
    for (frame, result) in &all {
        let Some(contents) = result.get("contents").and_then(Value::as_array) else {
            faults.push((*frame, "contents is no list".to_owned()));
            continue;
        };
        faults.extend(contents.iter().filter_map(|content| Some((*frame, bad_content(content)?))));
    }
    let frames: Vec<u64> = all.iter().map(|(frame, _)| *frame).collect();
    ruling(faults, &frames, "they are".to_owned(), "no resource was read")
}

fn bad_content(content: &Value) -> Option<String> {
    if !content.get("uri").is_some_and(Value::is_string) {
        return Some("a content has no uri".to_owned());
    }
    let text = content.get("text").is_some_and(Value::is_string);
    let blob = content.get("blob").is_some_and(Value::is_string);
    (text == blob).then(|| format!("a content has {} text and blob", if text { "both" } else { "neither" }))
}

fn blobs(evidence: &Evidence) -> Ruling {
    let all = reads(evidence);
    let blobs: Vec<(u64, &str)> = all
        .iter()
        .flat_map(|(frame, result)| {
            let contents = result.get("contents").and_then(Value::as_array).into_iter().flatten();
            contents.filter_map(|content| Some((*frame, content.get("blob")?.as_str()?)))
        })
        .collect();
    let decodes = |blob: &str| base64::engine::general_purpose::STANDARD.decode(blob).is_ok();
    let faults = blobs.iter().filter(|(_, blob)| !decodes(blob));
    let faults = faults
        .map(|(frame, blob)| (*frame, format!("`{}` is not", blob.chars().take(40).collect::<String>())))
        .collect();
    let frames: Vec<u64> = blobs.iter().map(|(frame, _)| *frame).collect();
    ruling(faults, &frames, "they are".to_owned(), "no blob was read")
}

fn unknown(evidence: &Evidence) -> Option<Exchange<'_>> {
    let reads = asked(evidence, "resources/read");
    reads.into_iter().find(|exchange| exchange.param("uri").is_some_and(|uri| uri == UNKNOWN))
}

fn legacy_code(evidence: &Evidence) -> Ruling {
    if evidence.revision.is_modern() {
        return Ruling::NotApplicable("the code has changed".to_owned());
    }
    refused(unknown(evidence).as_ref(), &[-32002], "an unknown resource")
}

fn modern_code(evidence: &Evidence) -> Ruling {
    if !evidence.revision.is_modern() {
        return Ruling::NotApplicable("the code was another one".to_owned());
    }
    refused(unknown(evidence).as_ref(), &[-32602], "an unknown resource")
}
