//! Use of access tokens.

use super::{NO_TOKEN_REQUEST, REFRESH};
use crate::judge::{
    check::{Check, CheckOutcome, Findings, Rule, Scope},
    transcript::{
        AuthorizationExchange,
        AuthorizationRequest::{Access, OtherServer, Token},
        Transcript,
    },
};

const NO_ACCESS: &str = "the client sent no request to the MCP server";

pub(in crate::judge::checks::client) const CHECKS: &[Check] = &[
    Check {
        id: "authorization-completes",
        requirement: "authorization/completes",
        scope: Scope::Named,
        expected: "the client obtains a token, and the server accepts it",
        rule: Rule::Case(authorization_completes),
    },
    Check {
        id: "newest-refresh-token-used",
        requirement: "authorization/rotated-refresh-token",
        scope: Scope::Named,
        expected: "a refresh token is not used after the server has replaced it",
        rule: Rule::Case(newest_refresh_token_used),
    },
    Check {
        id: "token-in-header",
        requirement: "authorization/token-in-header",
        scope: Scope::Always,
        expected: "a token is not in the URL of a request",
        rule: Rule::Case(token_in_header),
    },
    Check {
        id: "every-request-authorized",
        requirement: "authorization/every-request",
        scope: Scope::Always,
        expected: "after an accepted request with a token, all requests have one until a token is rejected",
        rule: Rule::Case(every_request_authorized),
    },
    Check {
        id: "token-only-to-the-resource",
        requirement: "authorization/token-only-to-the-resource",
        scope: Scope::Always,
        expected: "an access token is sent only to the MCP server",
        rule: Rule::Case(token_only_to_the_resource),
    },
    Check {
        id: "no-token-before-one-is-issued",
        requirement: "authorization/tokens-of-the-server",
        scope: Scope::Always,
        expected: "a request to the MCP server has only a token that its authorization server issued",
        rule: Rule::Case(no_token_before_one_is_issued),
    },
];

fn has_token(one: &AuthorizationExchange<'_>) -> bool {
    let scheme = one.header("authorization").and_then(|value| value.split_whitespace().next());
    scheme.is_some_and(|scheme| scheme.eq_ignore_ascii_case("bearer") || scheme.eq_ignore_ascii_case("dpop"))
}

fn authorization_completes(transcript: &Transcript<'_>) -> CheckOutcome {
    let exchanges = transcript.authorization();
    if let Some(accepted) = exchanges.with_kind(Access).find(|one| has_token(one) && one.is_accepted()) {
        return CheckOutcome::passed("the server accepted a request with a token", accepted.frames());
    }
    let last = exchanges.apart_from_access().last();
    let observed = "the server accepted no request with a token";
    CheckOutcome::failed(observed, last.map(AuthorizationExchange::frames).unwrap_or_default())
}

/// Recordings hide refresh tokens. The server rejects one that it has replaced, so a client whose refreshes were accepted has
/// used the newest ones.
fn newest_refresh_token_used(transcript: &Transcript<'_>) -> CheckOutcome {
    let replaces = |one: &&AuthorizationExchange<'_>| {
        one.is_accepted() && one.document().is_some_and(|document| document.contains_key("refresh_token"))
    };
    let exchanges = transcript.authorization();
    let first = exchanges.with_grant(REFRESH).find(replaces).and_then(|one| one.response);
    let later = exchanges.with_grant(REFRESH).filter(|one| first.is_some_and(|first| one.seq() > first.seq));
    let fault = |one: &&AuthorizationExchange<'_>| {
        (one.status() == Some(400))
            .then(|| "the server rejected a refresh token after it had issued a newer one".into())
    };
    let later = later.map(|one| (one.seq(), one));
    Findings::from_each(later, fault).or_not_applicable("requests", "no refresh token was used after another one")
}

fn token_in_header(transcript: &Transcript<'_>) -> CheckOutcome {
    let requests = transcript.authorization().with_kind(Access).map(|one| (one.seq(), one));
    let fault = |one: &&AuthorizationExchange<'_>| {
        one.parameter("access_token").map(|_| "the query of a URL contains the token".to_owned())
    };
    Findings::from_each(requests, fault).or_not_applicable("requests", NO_ACCESS)
}

fn every_request_authorized(transcript: &Transcript<'_>) -> CheckOutcome {
    let requests = transcript.authorization().with_kind(Access);
    // The responses to messages after which the client has a token, or needs another one and may ask without any.
    let mut changes: Vec<(u64, bool)> = requests
        .clone()
        .filter(|one| has_token(one) && one.has_message())
        .filter_map(|one| {
            let is_rejected = one.status() == Some(401);
            (one.is_accepted() || is_rejected).then_some((one.response?.seq, !is_rejected))
        })
        .collect();
    changes.sort_unstable();
    if !changes.iter().any(|(_, accepted)| *accepted) {
        return CheckOutcome::not_applicable("no request with a token was accepted");
    }
    let owes_token = |one: &&AuthorizationExchange<'_>| {
        let before = changes.partition_point(|(seq, _)| *seq < one.seq());
        before.checked_sub(1).is_some_and(|last| changes[last].1)
    };
    let later = requests.filter(owes_token).map(|one| (one.seq(), one));
    let fault =
        |one: &&AuthorizationExchange<'_>| (!has_token(one)).then(|| "a request has no token in its header".to_owned());
    Findings::from_each(later, fault).or_not_applicable("requests", "the client sent no later request")
}

fn token_only_to_the_resource(transcript: &Transcript<'_>) -> CheckOutcome {
    let exchanges = transcript.authorization();
    let origin = exchanges.resource().map(|url| url.origin());
    let others = exchanges.apart_from_access().chain(exchanges.with_kind(OtherServer));
    let others = others.filter(|one| one.url().map(|url| url.origin()) != origin);
    let fault = |one: &&AuthorizationExchange<'_>| {
        has_token(one).then(|| format!("a request to {} has a token", one.location().unwrap_or_default()))
    };
    let others = others.map(|one| (one.seq(), one));
    Findings::from_each(others, fault).or_not_applicable("requests", NO_TOKEN_REQUEST)
}

fn no_token_before_one_is_issued(transcript: &Transcript<'_>) -> CheckOutcome {
    let exchanges = transcript.authorization();
    let issued = exchanges.with_kind(Token).find(|one| one.is_accepted()).and_then(|one| one.response);
    let with_token = exchanges.with_kind(Access).filter(|one| has_token(one)).map(|one| (one.seq(), one));
    let fault = |one: &&AuthorizationExchange<'_>| {
        let is_early = issued.is_none_or(|issued| one.seq() < issued.seq);
        is_early.then(|| "a request has a token, but none was issued before it".to_owned())
    };
    Findings::from_each(with_token, fault).or_not_applicable("requests", "no request to the MCP server had a token")
}
