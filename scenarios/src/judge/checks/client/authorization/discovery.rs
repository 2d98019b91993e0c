//! Metadata of the protected resource (RFC 9728) and of the authorization server (RFC 8414, OpenID Connect Discovery).

use serde_json::Value;
use url::Url;

use crate::judge::{
    check::{Check, CheckOutcome, Findings, Rule, Scope},
    transcript::{
        AuthorizationExchange,
        AuthorizationRequest::{Access, Authorization, ResourceMetadata, ServerMetadata, Token},
        Transcript,
    },
};

const RESOURCE: &str = "/.well-known/oauth-protected-resource";
const OAUTH: &str = "/.well-known/oauth-authorization-server";
const OPENID: &str = "/.well-known/openid-configuration";

pub(in crate::judge::checks::client) const CHECKS: &[Check] = &[
    Check {
        id: "resource-metadata-in-order",
        requirement: "authorization/resource-metadata-location",
        scope: Scope::Always,
        expected: "resource metadata is requested at the URL of the challenge, else at the path and then at the root",
        rule: Rule::Case(resource_metadata_in_order),
    },
    Check {
        id: "server-metadata-in-order",
        requirement: "authorization/server-metadata-location",
        scope: Scope::Always,
        expected: "metadata of the authorization server is requested at its well-known URLs, in their order",
        rule: Rule::Case(server_metadata_in_order),
    },
    Check {
        id: "resource-of-metadata-verified",
        requirement: "authorization/resource-verified",
        scope: Scope::Named,
        expected: "metadata of another resource is not used",
        rule: Rule::Case(resource_of_metadata_verified),
    },
    Check {
        id: "issuer-of-metadata-verified",
        requirement: "authorization/issuer-of-metadata",
        scope: Scope::Named,
        expected: "metadata with another issuer than the expected one, or without an issuer, is not used",
        rule: Rule::Case(issuer_of_metadata_verified),
    },
    Check {
        id: "pkce-support-verified",
        requirement: "authorization/pkce-support",
        scope: Scope::Named,
        expected: "without `code_challenge_methods_supported` the client sends no authorization request",
        rule: Rule::Case(pkce_support_verified),
    },
];

fn is_resource_metadata(one: &AuthorizationExchange<'_>) -> bool {
    one.document().is_some_and(|document| document.contains_key("authorization_servers"))
}

fn resource_metadata_in_order(transcript: &Transcript<'_>) -> CheckOutcome {
    let exchanges = transcript.authorization();
    let mut findings = Findings::default();
    let Some(resource) = exchanges.resource() else {
        return CheckOutcome::not_applicable("the client sent no MCP message");
    };
    let path = resource.path().trim_end_matches('/');
    let challenged =
        exchanges.with_kind(Access).filter_map(|one| Some((one.seq(), one.challenge("resource_metadata")?)));
    let known: Vec<(u64, &str)> = challenged.collect();
    let requests: Vec<_> = exchanges.with_kind(ResourceMetadata).collect();
    let mut has_document = false;
    for (position, one) in requests.iter().enumerate() {
        let location = one.location().unwrap_or_default();
        let named = known.iter().rev().find(|(seq, _)| *seq < one.seq()).map(|(_, url)| *url);
        let at = Url::parse(&location).map(|url| url.path().to_owned()).unwrap_or_default();
        // Other documents of this origin are metadata of an authorization server, as in 2025-03-26.
        if !at.starts_with(RESOURCE) && named != Some(location.as_str()) {
            continue;
        }
        let earlier = &requests[..position];
        let has_tried = |path: &str| {
            earlier.iter().any(|one| one.url().is_some_and(|url| url.path().trim_end_matches('/') == path))
        };
        let specific = format!("{RESOURCE}{path}");
        let result = match named {
            // A client may have found the metadata before it was challenged.
            Some(named) if !has_document && location != named && !has_tried_url(earlier, named) => {
                Err(format!("{location} is requested, although the challenge names {named}"))
            }
            None if at.trim_end_matches('/') == RESOURCE && !path.is_empty() && !has_tried(&specific) => {
                Err(format!("{location} is requested before {specific}"))
            }
            _ => Ok(()),
        };
        findings.check(one.seq(), result);
        has_document |= is_resource_metadata(one);
    }
    findings.or_not_applicable("requests for resource metadata", "the client requested no resource metadata")
}

fn has_tried_url(earlier: &[&AuthorizationExchange<'_>], url: &str) -> bool {
    earlier.iter().any(|one| one.location().as_deref() == Some(url))
}

/// The well-known URLs of an issuer, in the order of the specification.
fn locations(issuer: &str) -> Vec<String> {
    let Ok(url) = Url::parse(issuer) else { return vec![] };
    let (origin, path) = (url.origin().ascii_serialization(), url.path().trim_end_matches('/'));
    let mut locations = vec![format!("{origin}{OAUTH}{path}"), format!("{origin}{OPENID}{path}")];
    if !path.is_empty() {
        locations.push(format!("{origin}{path}{OPENID}"));
    }
    locations
}

/// The issuers in the resource metadata that the client received.
fn issuers<'a>(transcript: &Transcript<'a>) -> Vec<(u64, &'a str)> {
    let documents =
        transcript.authorization().with_kind(ResourceMetadata).filter_map(|one| Some((one.seq(), one.document()?)));
    let servers = |(seq, document): (u64, &'a serde_json::Map<String, Value>)| {
        let servers = document.get("authorization_servers").and_then(Value::as_array).into_iter().flatten();
        servers.filter_map(move |server| Some((seq, server.as_str()?)))
    };
    documents.flat_map(servers).collect()
}

fn server_metadata_in_order(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    let requests: Vec<_> = transcript.authorization().with_kind(ServerMetadata).collect();
    let mut known: Vec<&str> = issuers(transcript).into_iter().map(|(_, issuer)| issuer).collect();
    known.dedup();
    for issuer in known {
        let expected = locations(issuer);
        let Some(origin) = Url::parse(issuer).ok().map(|url| url.origin()) else { continue };
        let mut tried = vec![false; expected.len()];
        for one in requests.iter().filter(|one| one.url().is_some_and(|url| url.origin() == origin)) {
            let location = one.location().unwrap_or_default();
            if !location.contains("/.well-known/") {
                continue;
            }
            let position = expected.iter().position(|url| *url == location).unwrap_or(expected.len());
            let skipped = tried[..position].iter().position(|tried| !tried);
            let message = |skipped: usize| format!("{location} is requested before {}", expected[skipped]);
            findings.check(one.seq(), skipped.map_or(Ok(()), |skipped| Err(message(skipped))));
            if let Some(tried) = tried.get_mut(position) {
                *tried = true;
            }
        }
    }
    findings.or_not_applicable("requests for metadata", "the client requested no metadata of an authorization server")
}

fn resource_of_metadata_verified(transcript: &Transcript<'_>) -> CheckOutcome {
    let exchanges = transcript.authorization();
    let mut findings = Findings::default();
    let origin = exchanges.resource().map(|url| url.origin());
    let of_another = exchanges.with_kind(ResourceMetadata).filter(|one| {
        let named = one.document().and_then(|document| document.get("resource")).and_then(Value::as_str);
        named.and_then(|named| Url::parse(named).ok()).is_some_and(|named| Some(named.origin()) != origin)
    });
    for one in of_another {
        let used =
            exchanges.with_kind(Authorization).chain(exchanges.with_kind(Token)).find(|later| later.seq() > one.seq());
        let message = |_| "the client went on with metadata of another resource".to_owned();
        findings.check(one.seq(), used.map_or(Ok(()), |used| Err(message(used))));
    }
    findings.or_blocked("metadata of another resource", "the client received no metadata of another resource")
}

fn issuer_of_metadata_verified(transcript: &Transcript<'_>) -> CheckOutcome {
    let exchanges = transcript.authorization();
    let known = issuers(transcript);
    let mut findings = Findings::default();
    for one in exchanges.with_kind(ServerMetadata) {
        let Some(document) = one.document() else { continue };
        let issuer = document.get("issuer").and_then(Value::as_str);
        let location = one.location().unwrap_or_default();
        let mut of_location = known.iter().filter(|(_, known)| locations(known).contains(&location));
        let is_wrong = match issuer {
            Some(issuer) => !of_location.any(|(_, known)| *known == issuer),
            // A document elsewhere, such as a key set, has no issuer.
            None => of_location.next().is_some(),
        };
        if !is_wrong {
            continue;
        }
        let used = exchanges.after_discovery().find(|later| later.seq() > one.seq());
        let message = |_| match issuer {
            Some(issuer) => format!("the client went on with metadata whose issuer is `{issuer}`"),
            None => "the client went on with metadata that has no `issuer`".to_owned(),
        };
        findings.check(one.seq(), used.map_or(Ok(()), |used| Err(message(used))));
    }
    findings.or_blocked("metadata with another issuer", "the client received no metadata with another issuer")
}

fn pkce_support_verified(transcript: &Transcript<'_>) -> CheckOutcome {
    let exchanges = transcript.authorization();
    let mut findings = Findings::default();
    let without = exchanges.with_kind(ServerMetadata).filter(|one| {
        one.document().is_some_and(|document| {
            document.contains_key("issuer") && !document.contains_key("code_challenge_methods_supported")
        })
    });
    for one in without {
        let used = exchanges.with_kind(Authorization).find(|later| later.seq() > one.seq());
        let message =
            |_| "the client sent an authorization request, although the server does not support PKCE".to_owned();
        findings.check(one.seq(), used.map_or(Ok(()), |used| Err(message(used))));
    }
    findings.or_blocked("metadata without PKCE", "the client received no metadata without PKCE")
}
