//! Registration of clients: dynamic, by metadata document, and for one authorization server only.

use std::collections::HashSet;

use serde_json::Value;
use url::Url;

use super::{NO_AUTHORIZATION, REFRESH, server_metadata};
use crate::judge::{
    check::{Check, CheckOutcome, Findings, Rule, Scope},
    transcript::{
        AuthorizationExchange,
        AuthorizationRequest::{Authorization, Registration, Token},
        Transcript,
    },
};

/// Maximum number of rejected registrations: with the other application type and with other redirect URIs.
const MAX_REGISTRATIONS: usize = 3;
const NO_REGISTRATION: &str = "the client did not register dynamically";

pub(in crate::judge::checks::client) const CHECKS: &[Check] = &[
    Check {
        id: "registration-has-application-type",
        requirement: "authorization/application-type",
        scope: Scope::Always,
        expected: "a dynamic registration has the `application_type` of its redirect URIs",
        rule: Rule::Case(registration_has_application_type),
    },
    Check {
        id: "registration-has-refresh-grant",
        requirement: "authorization/refresh-grant",
        scope: Scope::Always,
        expected: "a client that uses refresh tokens registers the grant `refresh_token`",
        rule: Rule::Case(registration_has_refresh_grant),
    },
    Check {
        id: "registrations-limited",
        requirement: "authorization/registration-failures",
        scope: Scope::Always,
        expected: "a rejected registration is repeated a few times at most",
        rule: Rule::Case(registrations_limited),
    },
    Check {
        id: "client-id-was-issued",
        requirement: "authorization/client-identifier",
        // Where a client is registered, it may use that identifier after the rejection.
        scope: Scope::Named,
        expected: "after a rejected registration, only an issued `client_id` or the URL of a document is used",
        rule: Rule::Case(client_id_was_issued),
    },
    Check {
        id: "document-id-is-https",
        requirement: "authorization/document-identifier",
        scope: Scope::Always,
        expected: "a `client_id` that is a URL uses `https` and has a path",
        rule: Rule::Case(document_id_is_https),
    },
    Check {
        id: "documents-preferred",
        requirement: "authorization/metadata-documents",
        scope: Scope::Named,
        expected: "if the authorization server supports metadata documents, the `client_id` is the URL of one",
        rule: Rule::Case(documents_preferred),
    },
    Check {
        id: "documents-if-advertised",
        requirement: "authorization/document-support",
        scope: Scope::Named,
        expected: "the `client_id` is the URL of a document only if the authorization server advertises support for them",
        rule: Rule::Case(documents_if_advertised),
    },
    Check {
        id: "given-credentials-first",
        requirement: "authorization/given-credentials-first",
        scope: Scope::Named,
        expected: "a client with credentials for the authorization server uses them, and does not register",
        rule: Rule::Case(given_credentials_first),
    },
    Check {
        id: "credentials-stay-with-their-server",
        requirement: "authorization/credentials-by-issuer",
        scope: Scope::Named,
        expected: "a new authorization server gets no `client_id` and no refresh token of another one",
        rule: Rule::Case(credentials_stay_with_their_server),
    },
];

/// A client without credentials has an identifier from the authorization server, or the URL of its document.
fn client_id_was_issued(transcript: &Transcript<'_>) -> CheckOutcome {
    let exchanges = transcript.authorization();
    let is_issued = |id: &str, request: &AuthorizationExchange<'_>| {
        exchanges.with_kind(Registration).any(|one| {
            let issued = one.document().and_then(|document| document.get("client_id")).and_then(Value::as_str);
            issued == Some(id) && one.request.server == request.request.server && one.seq() < request.seq()
        })
    };
    let invented = |one: &AuthorizationExchange<'_>| {
        let id = one.parameter("client_id").unwrap_or_default();
        (document_url(id).is_none() && !is_issued(id, one)).then(|| format!("the `client_id` is `{id}`"))
    };
    let mut findings = Findings::default();
    for rejected in exchanges.with_kind(Registration).filter(|one| !one.is_accepted()) {
        let server = &rejected.request.server;
        let later = |one: &&AuthorizationExchange<'_>| one.request.server == *server && one.seq() > rejected.seq();
        let used = exchanges.with_kind(Authorization).filter(later).find_map(invented);
        findings.check(rejected.seq(), used.map_or(Ok(()), Err));
    }
    findings.or_not_applicable("rejected registrations", "no registration was rejected")
}

/// The metadata in the dynamic registrations.
fn registrations<'t, 'a>(transcript: &'t Transcript<'a>) -> impl Iterator<Item = (u64, &'a Value)> + use<'t, 'a> {
    transcript.authorization().with_kind(Registration).filter_map(|one| Some((one.seq(), one.request.json()?)))
}

fn given_credentials_first(transcript: &Transcript<'_>) -> CheckOutcome {
    let exchanges = transcript.authorization();
    let used = exchanges.with_kind(Registration).chain(exchanges.with_kind(Authorization));
    let fault = |one: &&AuthorizationExchange<'_>| {
        (one.kind == Registration).then(|| "the client registered, although it had credentials".to_owned())
    };
    Findings::from_each(used.map(|one| (one.seq(), one)), fault).or_blocked("requests", NO_AUTHORIZATION)
}

fn registration_has_application_type(transcript: &Transcript<'_>) -> CheckOutcome {
    let fault = |body: &&Value| match body.get("application_type").and_then(Value::as_str) {
        Some("native" | "web") => None,
        Some(other) => Some(format!("the `application_type` is `{other}`")),
        None => Some("a registration has no `application_type`".to_owned()),
    };
    Findings::from_each(registrations(transcript), fault).or_not_applicable("registrations", NO_REGISTRATION)
}

fn registration_has_refresh_grant(transcript: &Transcript<'_>) -> CheckOutcome {
    let exchanges = transcript.authorization();
    let asks = exchanges.with_kind(Authorization).any(|one| one.scopes().contains(&"offline_access"));
    if !asks && exchanges.with_grant(REFRESH).next().is_none() {
        return CheckOutcome::not_applicable("the client uses no refresh tokens");
    }
    let fault = |body: &&Value| {
        let grants = body.get("grant_types").and_then(Value::as_array).into_iter().flatten();
        let has_grant = grants.filter_map(Value::as_str).any(|grant| grant == "refresh_token");
        (!has_grant).then(|| "a registration lacks the grant `refresh_token`".to_owned())
    };
    Findings::from_each(registrations(transcript), fault).or_not_applicable("registrations", NO_REGISTRATION)
}

fn registrations_limited(transcript: &Transcript<'_>) -> CheckOutcome {
    let rejected = transcript.authorization().with_kind(Registration).filter(|one| !one.is_accepted());
    let rejected: Vec<u64> = rejected.map(AuthorizationExchange::seq).collect();
    let Some(last) = rejected.last() else {
        return CheckOutcome::not_applicable("no registration was rejected");
    };
    let mut findings = Findings::default();
    let message = format!("the client registered {} times although it was rejected", rejected.len());
    findings.check(*last, if rejected.len() > MAX_REGISTRATIONS { Err(message) } else { Ok(()) });
    findings.or_not_applicable("registrations", NO_REGISTRATION)
}

/// The URL in a `client_id`, if it is one.
fn document_url(id: &str) -> Option<Url> {
    Url::parse(id).ok().filter(|url| matches!(url.scheme(), "http" | "https"))
}

fn document_id_is_https(transcript: &Transcript<'_>) -> CheckOutcome {
    let requests = transcript.authorization().with_kind(Authorization);
    let urls = requests.filter_map(|one| Some((one.seq(), document_url(one.parameter("client_id")?)?)));
    let fault = |url: &Url| {
        let is_valid = url.scheme() == "https" && url.path() != "/";
        (!is_valid).then(|| format!("the `client_id` is {url}"))
    };
    Findings::from_each(urls, fault).or_not_applicable("identifiers", "no `client_id` is a URL")
}

/// Whether the authorization server of a request advertises support for documents; `None` without its metadata.
fn advertises_documents(transcript: &Transcript<'_>, request: &AuthorizationExchange<'_>) -> Option<bool> {
    let metadata = server_metadata(transcript, request, request.seq())?.document()?;
    Some(metadata.get("client_id_metadata_document_supported") == Some(&Value::Bool(true)))
}

fn documents_if_advertised(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    let requests = transcript.authorization().with_kind(Authorization);
    for one in requests.filter(|one| advertises_documents(transcript, one) == Some(false)) {
        let url = one.parameter("client_id").and_then(document_url);
        let message =
            |url| format!("the `client_id` is {url}, and the server does not advertise support for documents");
        findings.check(one.seq(), url.map_or(Ok(()), |url| Err(message(url))));
    }
    findings.or_not_applicable("authorization requests", NO_AUTHORIZATION)
}

fn documents_preferred(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    let requests = transcript.authorization().with_kind(Authorization);
    for one in requests.filter(|one| advertises_documents(transcript, one) == Some(true)) {
        let id = one.parameter("client_id").unwrap_or_default();
        let message = || format!("the `client_id` is `{id}`, which is not a URL");
        findings.check(one.seq(), document_url(id).map(drop).ok_or_else(message));
    }
    findings.or_not_applicable("authorization requests", NO_AUTHORIZATION)
}

fn credentials_stay_with_their_server(transcript: &Transcript<'_>) -> CheckOutcome {
    let exchanges = transcript.authorization();
    let mut findings = Findings::default();
    let with_client = exchanges.with_kind(Authorization).chain(exchanges.with_kind(Token));
    let identified: Vec<_> =
        with_client.filter_map(|one| Some((one, one.request.server.as_str(), one.parameter("client_id")?))).collect();
    let registered: HashSet<(&str, &str)> = exchanges
        .with_kind(Registration)
        .filter_map(|one| Some((one.request.server.as_str(), one.document()?.get("client_id")?.as_str()?)))
        .collect();
    let first = exchanges.after_discovery().next().map(|one| one.request.server.as_str());
    for (one, server, id) in identified.iter().filter(|(_, server, _)| Some(*server) != first) {
        let is_portable = document_url(id).is_some() || registered.contains(&(*server, *id));
        let is_foreign = identified.iter().any(|(_, other, known)| other != server && known == id);
        let message = || format!("the `client_id` `{id}` belongs to another authorization server");
        findings.check(one.seq(), if is_portable || !is_foreign { Ok(()) } else { Err(message()) });
    }
    for one in exchanges.with_grant(REFRESH).filter(|one| Some(one.request.server.as_str()) != first) {
        let issued = |earlier: &AuthorizationExchange<'_>| {
            let is_own = earlier.request.server == one.request.server && earlier.seq() < one.seq();
            is_own && earlier.document().is_some_and(|document| document.contains_key("refresh_token"))
        };
        let is_own = exchanges.with_kind(Token).any(issued);
        let message = || "the refresh token belongs to another authorization server".to_owned();
        findings.check(one.seq(), if is_own { Ok(()) } else { Err(message()) });
    }
    findings.or_not_applicable("requests", "the client sent no request to a second authorization server")
}
