//! Reads of resources compared with the list, and URIs that a server must reject.

use std::collections::{BTreeMap, HashMap};

use base64::Engine as _;
use serde_json::Value;
use url::Url;

use super::{NO_RESPONSE, is_complete, is_uri};
use crate::judge::{
    check::{Check, CheckOutcome, Findings, Rule, Scope, brief},
    transcript::{RequestResponse, Transcript},
};

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "resource-uris-are-unique",
        requirement: "resources/unique-uris",
        scope: Scope::Named,
        expected: "no two resources of a list have the same uri",
        rule: Rule::Case(unique),
    },
    Check {
        id: "listed-resources-exist",
        requirement: "resources/listed-are-readable",
        scope: Scope::Named,
        expected: "a read of a listed resource has a result",
        rule: Rule::Case(exist),
    },
    Check {
        id: "listed-resources-can-be-read",
        requirement: "resources/listed-can-be-read",
        scope: Scope::Named,
        expected: "at least one listed resource can be read",
        rule: Rule::Case(can_be_read),
    },
    Check {
        id: "contents-have-the-uri-of-the-resource",
        requirement: "resources/contents-uri",
        scope: Scope::Named,
        expected: "the uri of a single content is that of the resource, or below it",
        rule: Rule::Case(uris),
    },
    Check {
        id: "contents-have-the-listed-type",
        requirement: "resources/contents-type",
        scope: Scope::Named,
        expected: "the mimeType of the contents is that in the list",
        rule: Rule::Case(types),
    },
    Check {
        id: "resource-size-is-right",
        requirement: "resources/size",
        scope: Scope::Named,
        expected: "the size in the list is the number of bytes of the contents",
        rule: Rule::Case(sizes),
    },
    Check {
        id: "invalid-resource-uri-is-refused",
        requirement: "resources/uris-validated",
        scope: Scope::Named,
        expected: "a read of text that is not a URI is rejected",
        rule: Rule::Case(invalid),
    },
    Check {
        id: "traversal-is-refused",
        requirement: "resources/no-traversal",
        scope: Scope::Named,
        expected: "a URI with `..` gives no contents that are unknown under their plain URI",
        rule: Rule::Case(traversal),
    },
];

const NOT_READ: &str = "no listed resource was read";

fn unique(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    for page in transcript.requests_of("resources/list") {
        let items = page.result().and_then(|result| result.get("resources")?.as_array()).into_iter().flatten();
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for uri in items.filter_map(|item| item.get("uri")?.as_str()) {
            *counts.entry(uri).or_default() += 1;
        }
        for (uri, count) in counts {
            let message = || format!("{count} resources have the uri `{uri}`");
            findings.check(page.last_frame(), if count > 1 { Err(message()) } else { Ok(()) });
        }
    }
    findings.or_not_applicable("resources", "the server lists no resources")
}

/// A read of a listed resource.
struct Read<'t, 'a> {
    request: &'t RequestResponse<'a>,
    uri: &'a str,
    listed: &'a Value,
}

impl<'a> Read<'_, 'a> {
    /// The content, if the read gave exactly one.
    fn content(&self) -> Option<&'a Value> {
        let result = self.request.result().filter(|result| is_complete(result))?;
        match result.get("contents")?.as_array()?.as_slice() {
            [content] => Some(content),
            _ => None,
        }
    }

    /// The content, if it is that of the resource itself.
    fn own_content(&self) -> Option<&'a Value> {
        self.content().filter(|content| {
            content.get("uri").and_then(Value::as_str).is_some_and(|uri| normal(uri) == normal(self.uri))
        })
    }
}

fn reads<'t, 'a>(transcript: &'t Transcript<'a>) -> Vec<Read<'t, 'a>> {
    let listed: HashMap<&str, &Value> = transcript
        .items("resources/list", "resources")
        .filter_map(|(_, resource)| Some((resource.get("uri")?.as_str()?, resource)))
        .collect();
    let read = |request: &'t RequestResponse<'a>| {
        let uri = request.param("uri")?.as_str()?;
        Some(Read { request, uri, listed: listed.get(uri)? })
    };
    transcript.requests_of("resources/read").filter_map(read).collect()
}

/// Judges the reads to which a rule applies: those for which `rule` returns a result.
fn judge(transcript: &Transcript<'_>, rule: impl Fn(&Read<'_, '_>) -> Option<Result<(), String>>) -> CheckOutcome {
    let mut findings = Findings::default();
    for read in reads(transcript) {
        if let Some(result) = rule(&read) {
            findings.check(
                read.request.last_frame(),
                result.map_err(|fault| format!("`{}` was read, and {fault}", read.uri)),
            );
        }
    }
    findings.or_not_applicable("reads", NOT_READ)
}

/// A server that can read others rejects a resource because of the resource.
fn exist(transcript: &Transcript<'_>) -> CheckOutcome {
    let can_read = can_read(transcript);
    judge(transcript, |read| {
        let error = read.request.error().filter(|_| (can_read || says_unknown(read)) && !needs_user(read));
        Some(error.map_or(Ok(()), |error| Err(rejected(error))))
    })
}

/// A server that can read none may lack what it needs, such as a database.
fn can_be_read(transcript: &Transcript<'_>) -> CheckOutcome {
    let can_read = can_read(transcript);
    judge(transcript, |read| {
        let error = read.request.error().filter(|_| !can_read && !says_unknown(read) && !needs_user(read));
        Some(error.map_or(Ok(()), |error| Err(rejected(error))))
    })
}

fn rejected(error: &Value) -> String {
    format!("the request is rejected with {}", brief(error))
}

/// Whether a listed resource was read.
fn can_read(transcript: &Transcript<'_>) -> bool {
    reads(transcript).iter().any(|read| read.request.result().is_some())
}

/// Whether the error means that the resource does not exist, or that the request is invalid.
fn says_unknown(read: &Read<'_, '_>) -> bool {
    matches!(read.request.code(), Some(-32_002 | -32_602 | -32_601 | -32_600))
}

/// Whether the read needs the user, by a capability that the request lacks (2026-07-28, -32021) or at a URL (2025-11-25, -32042).
fn needs_user(read: &Read<'_, '_>) -> bool {
    matches!(read.request.code(), Some(-32_021 | -32_042))
}

/// A URI in a form that is equal for equivalent URIs (RFC 3986, section 6).
fn normal(uri: &str) -> String {
    let parsed = Url::parse(uri).map_or_else(|_| uri.to_owned(), |url| url.to_string());
    parsed.trim_end_matches('/').to_owned()
}

fn uris(transcript: &Transcript<'_>) -> CheckOutcome {
    judge(transcript, |read| {
        let uri = read.content()?.get("uri")?.as_str()?;
        let (found, requested) = (normal(uri), normal(read.uri));
        let fits = found == requested || found.starts_with(&requested);
        Some(if fits { Ok(()) } else { Err(format!("the uri of the contents is `{uri}`")) })
    })
}

fn types(transcript: &Transcript<'_>) -> CheckOutcome {
    // Parameters such as the charset may be in one place only.
    let essence = |value: &Value| {
        value.as_str().map(|text| text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase())
    };
    judge(transcript, |read| {
        let listed = essence(read.listed.get("mimeType")?)?;
        let found = essence(read.own_content()?.get("mimeType")?)?;
        Some(if listed == found {
            Ok(())
        } else {
            Err(format!("the list says `{listed}`, the contents say `{found}`"))
        })
    })
}

fn sizes(transcript: &Transcript<'_>) -> CheckOutcome {
    judge(transcript, |read| {
        let listed = read.listed.get("size")?.as_u64()?;
        let content = read.own_content()?;
        let found = match content.get("blob").and_then(Value::as_str) {
            // Text may have been recoded on the way, so only its UTF-8 form can be compared.
            None => content.get("text")?.as_str()?.len(),
            Some(blob) => base64::engine::general_purpose::STANDARD.decode(blob).ok()?.len(),
        };
        Some(if listed == found as u64 {
            Ok(())
        } else {
            Err(format!("the list says {listed} bytes, the contents have {found}"))
        })
    })
}

fn invalid(transcript: &Transcript<'_>) -> CheckOutcome {
    let reads = transcript.requests_of("resources/read");
    let invalid = reads.filter(|read| read.param("uri").and_then(Value::as_str).is_some_and(|uri| !is_uri(uri)));
    let fault = |read: &&RequestResponse<'_>| match (read.response, read.error()) {
        (None, _) => Some(NO_RESPONSE.to_owned()),
        (Some(response), None) => Some(format!("the response is {}", brief(response.json))),
        (Some(_), Some(_)) => None,
    };
    Findings::from_each(invalid.map(|read| (read.last_frame(), read)), fault)
        .or_not_applicable("reads", "no invalid URI was read")
}

fn traversal(transcript: &Transcript<'_>) -> CheckOutcome {
    let has_contents = |read: &RequestResponse<'_>| {
        let contents = read.result().and_then(|result| result.get("contents")?.as_array());
        contents.is_some_and(|contents| !contents.is_empty())
    };
    // A server that serves the file under its plain URI permits access to it.
    let reads =
        || transcript.requests_of("resources/read").filter_map(|read| Some((read, read.param("uri")?.as_str()?)));
    let target = "/etc/hostname";
    let permitted = reads().any(|(read, uri)| !uri.contains("..") && uri.ends_with(target) && has_contents(read));
    if permitted {
        return CheckOutcome::not_applicable("the server gives access to the file under its plain URI");
    }
    let attempts = reads().filter(|(_, uri)| uri.starts_with("file:") && uri.contains("../") && uri.ends_with(target));
    let fault =
        |(read, uri): &(&RequestResponse<'_>, &str)| has_contents(read).then(|| format!("`{uri}` has contents"));
    Findings::from_each(attempts.map(|(read, uri)| (read.last_frame(), (read, uri))), fault)
        .or_not_applicable("reads", "no URI with `..` was read")
}
