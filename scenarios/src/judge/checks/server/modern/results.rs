//! Results: their types, caching hints, and metadata.

use std::collections::HashMap;

use serde_json::Value;

use super::{META_CAPABILITIES, each_result, meta};
use crate::judge::{
    check::{Check, CheckOutcome, Findings, Rule, Scope, brief},
    checks::meta::{extension_fault, meta_fault},
    transcript::{RequestResponse, Transcript},
};

pub(in super::super) const CHECKS: &[Check] = &[
    Check {
        id: "result-type-is-known",
        requirement: "messages/known-result-type",
        scope: Scope::Always,
        expected: "the resultType is `complete`, `input_required`, or that of an extension that the client declared",
        rule: Rule::Case(known_type),
    },
    Check {
        id: "caching-hints-only-on-complete-results",
        requirement: "caching/complete-results-only",
        scope: Scope::Always,
        expected: "a result that requests input has neither ttlMs nor cacheScope",
        rule: Rule::Case(interim_caching),
    },
    Check {
        id: "cache-scope-same-on-every-page",
        requirement: "caching/same-scope",
        scope: Scope::Always,
        expected: "all pages of a list have the same cacheScope",
        rule: Rule::Case(cache_scope),
    },
    Check {
        id: "server-info-in-results",
        requirement: "messages/server-info",
        scope: Scope::Always,
        expected: "every result names the server in its _meta",
        rule: Rule::Case(server_info),
    },
    Check {
        id: "metadata-keys-are-valid",
        requirement: "messages/metadata-keys",
        scope: Scope::Always,
        expected: "every key in _meta has a valid prefix and name, and trace context has its format",
        rule: Rule::Case(meta_keys),
    },
    Check {
        id: "extension-identifiers-are-valid",
        requirement: "versioning/extension-identifiers",
        scope: Scope::Always,
        expected: "every declared extension has a prefix and a name",
        rule: Rule::Case(extensions),
    },
];

fn known_type(transcript: &Transcript<'_>) -> CheckOutcome {
    each_result(transcript, |request, result| {
        let kind = result.get("resultType")?.as_str()?;
        let extended = meta(request, META_CAPABILITIES).and_then(|declared| declared.get("extensions")).is_some();
        let known = matches!(kind, "complete" | "input_required") || extended;
        (!known).then(|| format!("resultType is `{kind}`, although the client declared no extension"))
    })
}

fn interim_caching(transcript: &Transcript<'_>) -> CheckOutcome {
    let interim = |result: &Value| result.get("resultType").is_some_and(|kind| kind == "input_required");
    if !super::modern_requests(transcript).any(|one| one.result().is_some_and(interim)) {
        return CheckOutcome::not_applicable("no result requests input");
    }
    each_result(transcript, |_, result| {
        let hint = ["ttlMs", "cacheScope"].into_iter().find(|key| interim(result) && result.get(key).is_some());
        hint.map(|key| format!("a result that requests input has {key}"))
    })
}

fn cache_scope(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    let mut first: HashMap<&str, &Value> = HashMap::new();
    for request in transcript.requests() {
        let (Some(method), Some(result)) = (request.request.method(), request.result()) else { continue };
        let Some(scope) = result.get("cacheScope").filter(|_| method.ends_with("/list")) else { continue };
        if request.param("cursor").is_none() {
            first.insert(method, scope);
            continue;
        }
        let differs = first.get(method).is_some_and(|first| *first != scope);
        let message = || format!("the cacheScope of a later page of `{method}` is {scope}");
        findings.check(request.last_frame(), if differs { Err(message()) } else { Ok(()) });
    }
    findings.or_not_applicable("pages", "no list has more than one page")
}

fn server_info(transcript: &Transcript<'_>) -> CheckOutcome {
    // The members of the identity are compared by its shape.
    each_result(transcript, |_, result| {
        let info = result.pointer("/_meta/io.modelcontextprotocol~1serverInfo");
        info.is_none().then(|| "serverInfo is missing".to_owned())
    })
}

fn meta_keys(transcript: &Transcript<'_>) -> CheckOutcome {
    let messages = transcript.server_messages().map(|message| (message.seq(), message.json));
    let messages = messages.filter(|(_, json)| json.get("result").is_some() || json.get("params").is_some());
    let fault = |json: &&Value| {
        let body = json.get("result").or_else(|| json.get("params"))?;
        meta_fault(body).or_else(|| {
            // Items of lists, contents and blocks have metadata of their own.
            let lists = ["tools", "resources", "resourceTemplates", "prompts", "contents", "content"];
            let items = lists.into_iter().filter_map(|key| body.get(key)?.as_array()).flatten();
            items.into_iter().find_map(meta_fault)
        })
    };
    Findings::from_each(messages, fault).or_not_applicable("messages", "the server sent no message")
}

fn extensions(transcript: &Transcript<'_>) -> CheckOutcome {
    let declared = |request: &RequestResponse<'_>| {
        Some((request.last_frame(), request.result()?.pointer("/capabilities/extensions")?.clone()))
    };
    let found = transcript.requests_of("server/discover").filter_map(declared);
    let fault = |extensions: &Value| match extensions.as_object() {
        Some(extensions) => extension_fault(extensions),
        None => Some(format!("extensions is {}", brief(extensions))),
    };
    Findings::from_each(found, fault).or_not_applicable("results", "the server declares no extension")
}
