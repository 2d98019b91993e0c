//! Authorization requests, and the responses to them.

use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};
use url::Url;

use super::{CODE, CREDENTIALS, NO_AUTHORIZATION, NO_TOKEN_REQUEST, REFRESH, server_metadata};
use crate::judge::{
    check::{Check, CheckOutcome, Findings, Rule, Scope},
    checks::is_local,
    transcript::{
        AuthorizationExchange,
        AuthorizationRequest::{Authorization, Registration, ResourceMetadata, Token},
        Transcript,
    },
};

pub(in crate::judge::checks::client) const CHECKS: &[Check] = &[
    Check {
        id: "authorization-has-pkce",
        requirement: "authorization/pkce",
        scope: Scope::Always,
        expected: "each authorization request has a `code_challenge` of its own",
        rule: Rule::Case(authorization_has_pkce),
    },
    Check {
        id: "pkce-uses-s256",
        requirement: "authorization/pkce-s256",
        scope: Scope::Always,
        expected: "the method of a `code_challenge` is `S256`",
        rule: Rule::Case(pkce_uses_s256),
    },
    Check {
        id: "token-request-has-verifier",
        requirement: "authorization/pkce",
        scope: Scope::Always,
        expected: "a request that redeems a code has a `code_verifier`",
        rule: Rule::Case(token_request_has_verifier),
    },
    Check {
        id: "requests-name-the-resource",
        requirement: "authorization/resource-parameter",
        scope: Scope::Always,
        expected: "authorization and token requests have the parameter `resource`",
        rule: Rule::Case(requests_name_the_resource),
    },
    Check {
        id: "resource-is-the-server",
        requirement: "authorization/resource-value",
        scope: Scope::Always,
        expected: "the parameter `resource` is the URI of the MCP server",
        rule: Rule::Case(resource_is_the_server),
    },
    Check {
        id: "resource-without-slash",
        requirement: "authorization/resource-form",
        scope: Scope::Always,
        expected: "the parameter `resource` does not end in a slash that the URL of the server does not have",
        rule: Rule::Case(resource_without_slash),
    },
    Check {
        id: "authorization-has-state",
        requirement: "authorization/state",
        scope: Scope::Always,
        expected: "each authorization request has a `state` of its own",
        rule: Rule::Case(authorization_has_state),
    },
    Check {
        id: "state-verified",
        requirement: "authorization/state",
        scope: Scope::Named,
        expected: "the code of a response with another `state` is not redeemed",
        rule: Rule::Case(state_verified),
    },
    Check {
        id: "issuer-of-response-verified",
        requirement: "authorization/issuer-of-response",
        scope: Scope::Named,
        expected: "the code of a response with a wrong or missing `iss` is not redeemed",
        rule: Rule::Case(issuer_of_response_verified),
    },
    Check {
        id: "redirect-uri-is-safe",
        requirement: "authorization/redirect-uri",
        scope: Scope::Always,
        expected: "a redirect URI is a loopback address or uses `https`",
        rule: Rule::Case(redirect_uri_is_safe),
    },
    Check {
        id: "redirect-uri-registered",
        requirement: "authorization/redirect-uri-registered",
        scope: Scope::Always,
        expected: "the redirect URI of a client that registered is one of its registration",
        rule: Rule::Case(redirect_uri_registered),
    },
];

fn each_authorization(
    transcript: &Transcript<'_>,
    fault: impl Fn(&AuthorizationExchange<'_>) -> Option<String>,
) -> CheckOutcome {
    let requests = transcript.authorization().with_kind(Authorization).map(|one| (one.seq(), one));
    Findings::from_each(requests, |one| fault(one)).or_not_applicable("authorization requests", NO_AUTHORIZATION)
}

fn authorization_has_pkce(transcript: &Transcript<'_>) -> CheckOutcome {
    each_of_its_own(transcript, "code_challenge")
}

fn pkce_uses_s256(transcript: &Transcript<'_>) -> CheckOutcome {
    each_authorization(transcript, |one| {
        one.parameter("code_challenge")?;
        // Without the parameter, the method is `plain` (RFC 7636 section 4.3).
        let method = one.parameter("code_challenge_method").unwrap_or("plain");
        (method != "S256").then(|| format!("the method is `{method}`"))
    })
}

fn token_request_has_verifier(transcript: &Transcript<'_>) -> CheckOutcome {
    let requests = transcript.authorization().with_grant(CODE).map(|one| (one.seq(), one));
    let fault = |one: &&AuthorizationExchange<'_>| {
        let is_missing = one.parameter("code_verifier").is_none_or(str::is_empty);
        is_missing.then(|| "a request that redeems a code has no `code_verifier`".to_owned())
    };
    Findings::from_each(requests, fault).or_not_applicable("token requests", NO_TOKEN_REQUEST)
}

/// Authorization requests, and the token requests that redeem their codes.
fn code_requests<'t, 'a>(transcript: &'t Transcript<'a>) -> impl Iterator<Item = &'t AuthorizationExchange<'a>> {
    let exchanges = transcript.authorization();
    exchanges.with_kind(Authorization).chain(exchanges.with_grant(CODE))
}

fn requests_name_the_resource(transcript: &Transcript<'_>) -> CheckOutcome {
    // In the grants with an assertion, the assertion names the resource.
    let others = [REFRESH, CREDENTIALS].into_iter().flat_map(|grant| transcript.authorization().with_grant(grant));
    let requests = code_requests(transcript).chain(others).map(|one| (one.seq(), one));
    let fault = |one: &&AuthorizationExchange<'_>| {
        let noun = if one.kind == Token { "a token request" } else { "an authorization request" };
        one.parameter("resource").is_none().then(|| format!("{noun} has no `resource`"))
    };
    Findings::from_each(requests, fault).or_not_applicable("requests", NO_AUTHORIZATION)
}

fn resource_is_the_server(transcript: &Transcript<'_>) -> CheckOutcome {
    let exchanges = transcript.authorization();
    let Some(server) = exchanges.resource() else {
        return CheckOutcome::not_applicable("the client sent no MCP message");
    };
    let all = exchanges.apart_from_access();
    let values = all.flat_map(|one| one.all_parameters("resource").map(move |value| (one.seq(), value)));
    let fault = |value: &&str| {
        let is_server = Url::parse(value).is_ok_and(|url| is_parent(&url, &server));
        (!is_server).then(|| format!("`resource` is `{value}`, and the server is {server}"))
    };
    Findings::from_each(values, fault).or_not_applicable("values", "no request has a `resource`")
}

fn resource_without_slash(transcript: &Transcript<'_>) -> CheckOutcome {
    let exchanges = transcript.authorization();
    let Some(server) = exchanges.resource() else {
        return CheckOutcome::not_applicable("the client sent no MCP message");
    };
    let named = exchanges.with_kind(ResourceMetadata).filter_map(|one| one.document()?.get("resource")?.as_str());
    let named: HashSet<&str> = named.collect();
    let all = exchanges.apart_from_access();
    let values = all.flat_map(|one| one.all_parameters("resource").map(move |value| (one.seq(), value)));
    let fault = |value: &&str| {
        let is_needed = server.path().ends_with('/') && server.path() != "/" || named.contains(value);
        (value.ends_with('/') && !is_needed).then(|| format!("`resource` is `{value}`"))
    };
    Findings::from_each(values, fault).or_not_applicable("values", "no request has a `resource`")
}

/// Whether a URI identifies a server: it is the URL of the server, or a less specific one of the same origin.
fn is_parent(resource: &Url, server: &Url) -> bool {
    let path = resource.path().trim_end_matches('/');
    let rest = server.path().strip_prefix(path);
    resource.origin() == server.origin()
        && resource.fragment().is_none()
        && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn authorization_has_state(transcript: &Transcript<'_>) -> CheckOutcome {
    each_of_its_own(transcript, "state")
}

/// Whether each authorization request has a value for a parameter that no other one has.
fn each_of_its_own(transcript: &Transcript<'_>, name: &str) -> CheckOutcome {
    let mut findings = Findings::default();
    let mut seen = HashSet::new();
    for one in transcript.authorization().with_kind(Authorization) {
        let result = match one.parameter(name).filter(|value| !value.is_empty()) {
            None => Err(format!("an authorization request has no `{name}`")),
            Some(value) if !seen.insert(value) => Err(format!("two authorization requests have the same `{name}`")),
            Some(_) => Ok(()),
        };
        findings.check(one.seq(), result);
    }
    findings.or_not_applicable("authorization requests", NO_AUTHORIZATION)
}

/// The token request that redeems the code of an authorization request.
fn redeemed<'t, 'a>(
    transcript: &'t Transcript<'a>,
    request: &AuthorizationExchange<'_>,
) -> Option<&'t AuthorizationExchange<'a>> {
    let exchanges = transcript.authorization();
    let next = exchanges.with_kind(Authorization).find(|one| one.seq() > request.seq());
    let until = next.map_or(u64::MAX, AuthorizationExchange::seq);
    exchanges.with_grant(CODE).find(|one| one.seq() > request.seq() && one.seq() < until)
}

fn state_verified(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    for one in transcript.authorization().with_kind(Authorization) {
        let sent = one.parameter("state");
        if sent.is_none() || one.redirected("code").is_none() || one.redirected("state").as_deref() == sent {
            continue;
        }
        let message = |_| "the code of a response with another `state` was redeemed".to_owned();
        findings.check(one.seq(), redeemed(transcript, one).map_or(Ok(()), |used| Err(message(used))));
    }
    findings.or_blocked("responses with another state", "no request with a `state` had a response with another one")
}

fn issuer_of_response_verified(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    for one in transcript.authorization().with_kind(Authorization) {
        let Some(metadata) = server_metadata(transcript, one, one.seq()).and_then(AuthorizationExchange::document)
        else {
            continue;
        };
        let is_advertised = metadata.get("authorization_response_iss_parameter_supported") == Some(&Value::Bool(true));
        let expected = metadata.get("issuer").and_then(Value::as_str);
        let sent = one.redirected("iss");
        let is_correct = match &sent {
            Some(sent) => Some(sent.as_str()) == expected,
            None => !is_advertised,
        };
        if is_correct {
            continue;
        }
        let message = |_| match &sent {
            Some(sent) => format!("the code of a response with the issuer `{sent}` was redeemed"),
            None => "the code of a response without the advertised `iss` was redeemed".to_owned(),
        };
        findings.check(one.seq(), redeemed(transcript, one).map_or(Ok(()), |used| Err(message(used))));
    }
    findings.or_blocked("responses with a wrong issuer", "no authorization response had a wrong or missing issuer")
}

fn redirect_uri_is_safe(transcript: &Transcript<'_>) -> CheckOutcome {
    let exchanges = transcript.authorization();
    let registered = exchanges.apart_from_access().flat_map(|one| {
        let uris = one.request.json().and_then(|body| body.get("redirect_uris")).and_then(Value::as_array);
        uris.into_iter().flatten().filter_map(move |uri| Some((one.seq(), uri.as_str()?)))
    });
    let requested =
        exchanges.with_kind(Authorization).filter_map(|one| Some((one.seq(), one.parameter("redirect_uri")?)));
    let fault = |uri: &&str| {
        let url = Url::parse(uri).ok().filter(|url| url.scheme() == "http")?;
        (!is_local(&url)).then(|| format!("the redirect URI is `{uri}`"))
    };
    Findings::from_each(registered.chain(requested), fault)
        .or_not_applicable("redirect URIs", "no request has a redirect URI")
}

fn redirect_uri_registered(transcript: &Transcript<'_>) -> CheckOutcome {
    let exchanges = transcript.authorization();
    let registered: HashMap<_, _> = exchanges
        .with_kind(Registration)
        .filter_map(|one| {
            let id = one.document()?.get("client_id")?.as_str()?;
            let uris = one.request.json()?.get("redirect_uris")?.as_array()?;
            Some(((&one.request.server, id), uris))
        })
        .collect();
    let requests = exchanges.with_kind(Authorization).filter_map(|one| {
        let uris = registered.get(&(&one.request.server, one.parameter("client_id")?))?;
        Some((one.seq(), (uris, one.parameter("redirect_uri")?)))
    });
    let fault = |(uris, uri): &(&&Vec<Value>, &str)| {
        let is_known = uris.iter().filter_map(Value::as_str).any(|known| is_same_redirect(known, uri));
        (!is_known).then(|| format!("the redirect URI `{uri}` is none of the registered {}", json!(uris)))
    };
    Findings::from_each(requests, fault)
        .or_not_applicable("redirect URIs", "no authorization request has an identifier that was registered")
}

/// Whether a redirect URI is the registered one. A loopback address may have another port (RFC 8252 section 7.3).
fn is_same_redirect(registered: &str, requested: &str) -> bool {
    let without_port = |uri: &str| {
        let mut url = Url::parse(uri).ok().filter(is_local)?;
        url.set_port(None).ok()?;
        Some(url)
    };
    registered == requested || without_port(registered).is_some_and(|url| without_port(requested) == Some(url))
}
