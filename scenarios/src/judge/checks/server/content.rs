//! Content of tool results and prompts: images, audio, embedded resources and links to resources, and their annotations.

use std::{collections::HashSet, sync::LazyLock};

use base64::Engine as _;
use regex::Regex;
use serde_json::Value;

use super::{UNKNOWN_CAPABILITIES, is_complete, is_uri};
use crate::{
    judge::{
        check::{Check, CheckOutcome, Findings, Rule, Scope, brief, brief_or_missing},
        transcript::{RequestResponse, Transcript},
    },
    model::Revision,
};

// RFC 6838, section 4.2.
static MEDIA_TYPE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,126}/[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,126}( *;.*)?$")
        .expect("a constant, tested")
});

// ISO 8601: a date with or without hyphens, in the calendar, of a week or of the year, and optionally a time.
pub(super) static ISO_8601: LazyLock<Regex> = LazyLock::new(|| {
    let month_and_day = "(?:0[1-9]|1[0-2])(?:-?(?:0[1-9]|[12][0-9]|3[01]))?";
    let week = "W(?:0[1-9]|[1-4][0-9]|5[0-3])(?:-?[1-7])?";
    let time = "(?:[01][0-9]|2[0-4])(?::?[0-5][0-9](?::?[0-6][0-9])?)?(?:[.,][0-9]+)?";
    let zone = "(?:Z|[+-][0-9]{2}(?::?[0-9]{2})?)?";
    Regex::new(&format!("^[0-9]{{4}}(?:-?(?:{month_and_day}|{week}|[0-3][0-9]{{2}}))?(?:T{time}{zone})?$"))
        .expect("a constant, tested")
});

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "modification-times-are-dates",
        requirement: "resources/modification-times",
        scope: Scope::Always,
        expected: "lastModified is a date or a time in ISO 8601",
        rule: Rule::Case(modification_times),
    },
    Check {
        id: "content-is-of-the-revision",
        requirement: "lifecycle/negotiated-content",
        scope: Scope::Named,
        expected: "tool results have no audio in 2024-11-05, and no links to resources before 2025-06-18",
        rule: Rule::Case(later_content),
    },
    Check {
        id: "tool-media-are-base64",
        requirement: "tools/media",
        scope: Scope::Named,
        expected: "images and audio of tool results have Base64 data and a MIME type of their kind",
        rule: Rule::Case(|transcript| media(transcript, &TOOL_RESULTS)),
    },
    Check {
        id: "tool-resources-are-complete",
        requirement: "tools/embedded-resources",
        scope: Scope::Named,
        expected: "an embedded resource has a URI and either text or a Base64 blob, and a link has a URI",
        rule: Rule::Case(|transcript| embedded(transcript, &TOOL_RESULTS)),
    },
    Check {
        id: "embedded-resources-need-the-capability",
        requirement: "tools/embedded-resources-capability",
        scope: Scope::Named,
        expected: "a server with embedded resources in tool results declares `resources`",
        rule: Rule::Case(capability),
    },
    Check {
        id: "linked-resources-are-readable",
        requirement: "tools/resource-links",
        scope: Scope::Named,
        expected: "a resource that a tool result links to can be read",
        rule: Rule::Case(links),
    },
    Check {
        id: "prompt-media-are-base64",
        requirement: "prompts/media",
        scope: Scope::Named,
        expected: "images and audio of prompts have Base64 data and a MIME type of their kind",
        rule: Rule::Case(|transcript| media(transcript, &PROMPTS)),
    },
    Check {
        id: "prompt-resources-are-complete",
        requirement: "prompts/embedded-resources",
        scope: Scope::Named,
        expected: "an embedded resource has a URI, a MIME type, and either text or a Base64 blob",
        rule: Rule::Case(|transcript| embedded(transcript, &PROMPTS)),
    },
];

/// Where content is found.
struct Source {
    method: &'static str,
    /// Whether an embedded resource must have a MIME type (2024-11-05, server/prompts, embedded resources).
    needs_type: bool,
    nothing: &'static str,
}

const TOOL_RESULTS: Source =
    Source { method: "tools/call", needs_type: false, nothing: "no tool result has such content" };
const PROMPTS: Source = Source { method: "prompts/get", needs_type: true, nothing: "no prompt has such content" };

/// The content blocks of a kind, with their frames.
fn blocks<'a>(transcript: &Transcript<'a>, source: &Source) -> impl Iterator<Item = (u64, &'a Value)> {
    let results = transcript.requests_of(source.method).filter_map(|one| Some((one.last_frame(), one.result()?)));
    results.filter(|(_, result)| is_complete(result)).flat_map(|(frame, result)| {
        let content = result.get("content").and_then(Value::as_array).into_iter().flatten();
        let messages = result.get("messages").and_then(Value::as_array).into_iter().flatten();
        content.chain(messages.filter_map(|message| message.get("content"))).map(move |block| (frame, block))
    })
}

fn is_kind(block: &Value, kinds: &[&str]) -> bool {
    block.get("type").and_then(Value::as_str).is_some_and(|kind| kinds.contains(&kind))
}

fn later_content(transcript: &Transcript<'_>) -> CheckOutcome {
    let revision = transcript.evidence.revision;
    let later: &[&str] = match revision {
        Revision::V2024_11_05 => &["audio", "resource_link"],
        _ => &["resource_link"],
    };
    let fault = |block: &&Value| {
        is_kind(block, later)
            .then(|| format!("content of the type {} does not exist in {revision}", brief(&block["type"])))
    };
    Findings::from_each(blocks(transcript, &TOOL_RESULTS), fault)
        .or_not_applicable("blocks", "no tool result has content")
}

/// Whether text is Base64 with padding (RFC 4648, section 4).
pub(super) fn is_base64(text: &str) -> bool {
    base64::engine::general_purpose::STANDARD.decode(text).is_ok()
}

fn media(transcript: &Transcript<'_>, source: &Source) -> CheckOutcome {
    let media = blocks(transcript, source).filter(|(_, block)| is_kind(block, &["image", "audio"]));
    Findings::from_each(media, |block| media_fault(block)).or_not_applicable("blocks", source.nothing)
}

fn media_fault(block: &Value) -> Option<String> {
    let data = block.get("data").and_then(Value::as_str);
    if !data.is_some_and(is_base64) {
        return Some(format!("the data of {} is not Base64", brief(&block["type"])));
    }
    let (kind, media_type) = (block["type"].as_str()?, block.get("mimeType"));
    let valid = media_type.and_then(Value::as_str).filter(|media_type| MEDIA_TYPE.is_match(media_type));
    let Some(valid) = valid else { return Some(format!("the mimeType is {}", brief_or_missing(media_type))) };
    // Types such as application/ogg exist for audio, so only types of another kind are wrong.
    let kinds = ["image/", "audio/", "video/", "text/", "font/", "model/"];
    let lower = valid.to_ascii_lowercase();
    let other = kinds.into_iter().find(|prefix| lower.starts_with(prefix) && **prefix != format!("{kind}/"));
    other.map(|_| format!("the mimeType of {kind} content is `{valid}`"))
}

fn embedded(transcript: &Transcript<'_>, source: &Source) -> CheckOutcome {
    let found = blocks(transcript, source).filter(|(_, block)| is_kind(block, &["resource", "resource_link"]));
    Findings::from_each(found, |block| match block.get("resource") {
        Some(resource) if block["type"] == "resource" => resource_fault(resource, source.needs_type),
        None if block["type"] == "resource" => Some("an embedded resource has no `resource`".to_owned()),
        _ => uri_fault(block),
    })
    .or_not_applicable("blocks", source.nothing)
}

fn uri_fault(resource: &Value) -> Option<String> {
    let uri = resource.get("uri");
    (!uri.and_then(Value::as_str).is_some_and(is_uri)).then(|| format!("a uri is {}", brief_or_missing(uri)))
}

fn resource_fault(resource: &Value, needs_type: bool) -> Option<String> {
    if let Some(fault) = uri_fault(resource) {
        return Some(fault);
    }
    let (text, blob) = (resource.get("text"), resource.get("blob"));
    if text.is_some_and(Value::is_string) == blob.is_some_and(Value::is_string) {
        return Some(format!(
            "an embedded resource has {} text and blob",
            if text.is_some() { "both" } else { "neither" }
        ));
    }
    if blob.and_then(Value::as_str).is_some_and(|blob| !is_base64(blob)) {
        return Some("the blob of an embedded resource is not Base64".to_owned());
    }
    let media_type = resource.get("mimeType");
    let valid = media_type.and_then(Value::as_str).is_some_and(|media_type| MEDIA_TYPE.is_match(media_type));
    (needs_type && !valid).then(|| format!("the mimeType of an embedded resource is {}", brief_or_missing(media_type)))
}

/// The parts of a result that can have annotations.
fn annotated(result: &Value) -> impl Iterator<Item = &Value> {
    let lists = ["resources", "resourceTemplates", "content"];
    let items = lists.into_iter().filter_map(|key| result.get(key)?.as_array()).flatten();
    let messages = result.get("messages").and_then(Value::as_array).into_iter().flatten();
    items.chain(messages.filter_map(|message| message.get("content")))
}

fn modification_times(transcript: &Transcript<'_>) -> CheckOutcome {
    let results = transcript.server_messages().filter_map(|message| Some((message.seq(), message.result()?)));
    let items = results.flat_map(|(seq, result)| annotated(result).map(move |item| (seq, item)));
    let times = items.filter_map(|(seq, item)| Some((seq, item.pointer("/annotations/lastModified")?.as_str()?)));
    let fault = |time: &&str| (!ISO_8601.is_match(time)).then(|| format!("lastModified is `{time}`"));
    Findings::from_each(times, fault).or_not_applicable("times", "no annotation has lastModified")
}

fn capability(transcript: &Transcript<'_>) -> CheckOutcome {
    let Some(declared) = transcript.declares("resources") else {
        return CheckOutcome::not_applicable(UNKNOWN_CAPABILITIES);
    };
    let embedded = blocks(transcript, &TOOL_RESULTS).filter(|(_, block)| is_kind(block, &["resource"]));
    let fault =
        |_: &&Value| (!declared).then(|| "a tool embeds a resource, and `resources` is not declared".to_owned());
    Findings::from_each(embedded, fault).or_not_applicable("blocks", "no tool result has an embedded resource")
}

fn links(transcript: &Transcript<'_>) -> CheckOutcome {
    if transcript.declares("resources") != Some(true) {
        return CheckOutcome::not_applicable("the server does not declare `resources`");
    }
    // A client fetches resources of these schemes itself (2025-06-18, server/resources, common URI schemes).
    let own = ["http:", "https:", "file:", "git:", "data:"];
    let linked = blocks(transcript, &TOOL_RESULTS).filter(|(_, block)| is_kind(block, &["resource_link"]));
    let linked: HashSet<&str> = linked.filter_map(|(_, block)| block.get("uri")?.as_str()).collect();
    let reads = transcript.requests_of("resources/read").filter_map(|read| {
        let uri = read.param("uri")?.as_str()?;
        (linked.contains(uri) && !own.iter().any(|scheme| uri.starts_with(scheme)))
            .then_some((read.last_frame(), (uri, read)))
    });
    let fault = |(uri, read): &(&str, &RequestResponse<'_>)| {
        read.error().map(|error| format!("`{uri}` is rejected with {}", brief(error)))
    };
    Findings::from_each(reads, fault).or_not_applicable("links", "no linked resource was read")
}
