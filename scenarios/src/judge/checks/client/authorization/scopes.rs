//! Selection of scopes, and new scopes after a rejection.

use std::collections::HashMap;

use serde_json::Value;

use super::{NO_AUTHORIZATION, server_metadata};
use crate::judge::{
    check::{Check, CheckOutcome, Findings, Rule, Scope},
    transcript::{
        AuthorizationExchange,
        AuthorizationRequest::{Access, Authorization, ResourceMetadata},
        Transcript,
    },
};

/// Maximum number of rejections of one operation for its scopes: "no more than a few times" (2025-11-25,
/// basic/authorization#step-up-authorization-flow).
const MAX_REJECTIONS: usize = 5;
const OFFLINE: &str = "offline_access";
const NO_REJECTION: &str = "no request was rejected for its scopes";

pub(in crate::judge::checks::client) const CHECKS: &[Check] = &[
    Check {
        id: "scopes-selected-in-order",
        requirement: "authorization/scope-selection",
        scope: Scope::Always,
        expected: "the first scopes are those of the challenge, else all of the resource metadata, else none",
        rule: Rule::Case(scopes_selected_in_order),
    },
    Check {
        id: "challenged-scopes-requested",
        requirement: "authorization/step-up",
        scope: Scope::Named,
        expected: "after a rejection for its scopes, the client requests those of the challenge",
        rule: Rule::Case(challenged_scopes_requested),
    },
    Check {
        id: "granted-scopes-kept",
        requirement: "authorization/scopes-accumulate",
        scope: Scope::Always,
        expected: "after a rejection for its scopes, the client requests the earlier scopes too",
        rule: Rule::Case(granted_scopes_kept),
    },
    Check {
        id: "step-up-limited",
        requirement: "authorization/step-up-limit",
        scope: Scope::Always,
        expected: "a request that is rejected for its scopes is repeated a few times at most",
        rule: Rule::Case(step_up_limited),
    },
    Check {
        id: "offline-access-if-supported",
        requirement: "authorization/offline-access",
        scope: Scope::Always,
        expected: "the scope `offline_access` is requested only if the authorization server lists it",
        rule: Rule::Case(offline_access_if_supported),
    },
];

fn words(text: &str) -> Vec<&str> {
    text.split_whitespace().collect()
}

fn listed(document: Option<&serde_json::Map<String, Value>>) -> Option<Vec<&str>> {
    let scopes = document?.get("scopes_supported")?.as_array()?;
    Some(scopes.iter().filter_map(Value::as_str).collect())
}

/// The first request for a token of a case shows the selection. Later ones depend on earlier scopes too.
fn scopes_selected_in_order(transcript: &Transcript<'_>) -> CheckOutcome {
    let exchanges = transcript.authorization();
    let Some(first) = exchanges.with_kind(Authorization).next() else {
        return CheckOutcome::not_applicable(NO_AUTHORIZATION);
    };
    let earlier = |one: &&AuthorizationExchange<'_>| one.seq() < first.seq();
    let challenged = exchanges.with_kind(Access).filter(earlier).filter_map(|one| one.challenge("scope")).last();
    let documents = exchanges.with_kind(ResourceMetadata).filter(earlier);
    let supported = documents.filter_map(|one| listed(one.document())).last();
    let requested = first.scopes();
    let (source, wanted, unneeded) = match (challenged, supported) {
        (Some(challenged), supported) => ("challenge", words(challenged), supported.unwrap_or_default()),
        (None, Some(supported)) => ("resource metadata", supported, vec![]),
        (None, None) => {
            let mut findings = Findings::default();
            let extra = requested.iter().find(|scope| **scope != OFFLINE);
            let message = |scope| format!("the scope `{scope}` is requested, which neither challenge nor metadata has");
            findings.check(first.seq(), extra.map_or(Ok(()), |scope| Err(message(scope))));
            return findings.or_not_applicable("authorization requests", NO_AUTHORIZATION);
        }
    };
    let missing = wanted.iter().find(|scope| !requested.contains(scope));
    // The user may have configured other scopes, so only those of the metadata count.
    let is_extra = |scope: &&&str| unneeded.contains(*scope) && !wanted.contains(*scope) && **scope != OFFLINE;
    let extra = requested.iter().find(is_extra);
    let mut findings = Findings::default();
    let result = match (missing, extra) {
        (Some(scope), _) => Err(format!("the scope `{scope}` of the {source} is not requested")),
        (None, Some(scope)) => {
            Err(format!("the scope `{scope}` of the metadata is requested too, which is not in the challenge"))
        }
        (None, None) => Ok(()),
    };
    findings.check(first.seq(), result);
    findings.or_not_applicable("authorization requests", NO_AUTHORIZATION)
}

/// The requests that were rejected because the token lacks scopes, with the scopes of the challenge.
fn rejections<'t, 'a>(
    transcript: &'t Transcript<'a>,
) -> impl Iterator<Item = (&'t AuthorizationExchange<'a>, Vec<&'a str>)> {
    let rejected = transcript.authorization().with_kind(Access);
    let rejected = rejected.filter(|one| one.challenge("error") == Some("insufficient_scope"));
    rejected.map(|one| (one, words(one.challenge("scope").unwrap_or_default())))
}

fn challenged_scopes_requested(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    let Some((rejected, wanted)) = rejections(transcript).next() else {
        return CheckOutcome::Blocked(NO_REJECTION.to_owned());
    };
    let mut later = transcript.authorization().with_kind(Authorization).filter(|one| one.seq() > rejected.seq());
    let result = match later.next() {
        None => Err("no authorization request followed the rejection".to_owned()),
        Some(next) => match wanted.iter().find(|scope| !next.scopes().contains(scope)) {
            Some(scope) => Err(format!("the scope `{scope}` of the challenge is not requested")),
            None => Ok(()),
        },
    };
    findings.check(rejected.seq(), result);
    findings.or_not_applicable("rejections", NO_REJECTION)
}

fn granted_scopes_kept(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    let requests: Vec<_> = transcript.authorization().with_kind(Authorization).collect();
    for (rejected, _) in rejections(transcript) {
        let Some(next) = requests.iter().find(|one| one.seq() > rejected.seq()) else { continue };
        let same_server = |one: &&&AuthorizationExchange<'_>| one.request.server == next.request.server;
        let before = requests.iter().filter(same_server).filter(|one| one.seq() < rejected.seq());
        let requested = next.scopes();
        let lost = before.flat_map(|one| one.scopes()).find(|scope| !requested.contains(scope));
        let message = |scope| format!("the scope `{scope}` of an earlier request is not requested again");
        findings.check(next.seq(), lost.map_or(Ok(()), |scope| Err(message(scope))));
    }
    findings.or_not_applicable("authorization requests", NO_REJECTION)
}

fn step_up_limited(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut attempts: HashMap<String, Vec<u64>> = HashMap::new();
    for (rejected, _) in rejections(transcript) {
        let body = rejected.request.json();
        let member = |pointer: &str| body.and_then(|body| body.pointer(pointer)).and_then(Value::as_str);
        let (method, name) = (member("/method").unwrap_or_default(), member("/params/name").unwrap_or_default());
        attempts.entry(format!("{method} {name}")).or_default().push(rejected.seq());
    }
    let mut findings = Findings::default();
    for (operation, frames) in attempts {
        let count = frames.len();
        let message = format!("`{}` was sent {count} times although it was rejected for its scopes", operation.trim());
        findings.check(frames[0], if count > MAX_REJECTIONS { Err(message) } else { Ok(()) });
    }
    findings.or_not_applicable("operations", NO_REJECTION)
}

fn offline_access_if_supported(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    for one in transcript.authorization().with_kind(Authorization) {
        let metadata = server_metadata(transcript, one, one.seq()).and_then(AuthorizationExchange::document);
        let Some(supported) = listed(metadata) else { continue };
        let is_wrong = one.scopes().contains(&OFFLINE) && !supported.contains(&OFFLINE);
        let message = || "the scope `offline_access` is requested, which the server does not list".to_owned();
        findings.check(one.seq(), if is_wrong { Err(message()) } else { Ok(()) });
    }
    findings.or_not_applicable("authorization requests", "no authorization server lists its scopes")
}
