//! The metadata of requests: what is required, what is optional, and revisions that the server does not support.

use serde_json::Value;

use super::{META_CAPABILITIES, META_CLIENT, META_VERSION, all_pass, is_modern, meta, rejected_over, version_of};
use crate::{
    judge::{
        capabilities::{capability_of, declares},
        check::{Check, CheckOutcome, Findings, Rule, Scope, brief},
        transcript::{RequestResponse, Transcript},
    },
    model::Revision,
};

pub(in super::super) const CHECKS: &[Check] = &[
    Check {
        id: "missing-metadata-is-refused",
        requirement: "messages/required-metadata",
        scope: Scope::Named,
        expected: "a request without its metadata is rejected with -32602, over HTTP with 400",
        rule: Rule::Case(|transcript| missing(transcript, |meta| meta.is_none())),
    },
    Check {
        id: "missing-revision-is-refused",
        requirement: "messages/required-metadata",
        scope: Scope::Named,
        expected: "a request without its revision is rejected with -32602, over HTTP with 400",
        rule: Rule::Case(|transcript| missing(transcript, lacks(META_VERSION))),
    },
    Check {
        id: "missing-client-capabilities-are-refused",
        requirement: "messages/required-metadata",
        scope: Scope::Named,
        expected: "a request without the capabilities of the client is rejected with -32602, over HTTP with 400",
        rule: Rule::Case(missing_capabilities),
    },
    Check {
        id: "malformed-revision-is-refused",
        requirement: "messages/required-metadata",
        scope: Scope::Named,
        expected: "a request whose revision is not a string is rejected",
        rule: Rule::Case(malformed_revision),
    },
    Check {
        id: "malformed-client-capabilities-are-refused",
        requirement: "messages/malformed-metadata",
        scope: Scope::Named,
        expected: "a request whose client capabilities are no object is rejected",
        rule: Rule::Case(malformed_capabilities),
    },
    Check {
        id: "client-identity-is-optional",
        requirement: "messages/optional-metadata",
        scope: Scope::Named,
        expected: "a request without the identity of the client is served",
        rule: Rule::Case(|transcript| served(transcript, |meta| meta.get(META_CLIENT).is_none())),
    },
    Check {
        id: "unknown-metadata-is-ignored",
        requirement: "messages/unknown-metadata",
        scope: Scope::Named,
        expected: "a request with unknown metadata and unknown client capabilities is served",
        rule: Rule::Case(|transcript| served(transcript, |meta| meta.get(UNKNOWN_KEY).is_some())),
    },
    Check {
        id: "unsupported-revision-is-refused",
        requirement: "versioning/unsupported",
        scope: Scope::Named,
        expected: "an unknown revision is rejected with -32022 and the supported ones, over HTTP with 400",
        rule: Rule::Case(unsupported),
    },
    Check {
        id: "older-revision-in-metadata-is-refused",
        requirement: "versioning/unsupported",
        scope: Scope::Named,
        expected: "a known revision that the server does not support is rejected with -32022, over HTTP with 400",
        rule: Rule::Case(older),
    },
    Check {
        id: "every-listed-revision-is-accepted",
        requirement: "versioning/listed-revisions",
        scope: Scope::Named,
        expected: "a revision that discovery lists is not rejected with -32022, and `initialize` with it is answered with it",
        rule: Rule::Case(listed),
    },
    Check {
        id: "listed-revisions-agree",
        requirement: "versioning/listed-revisions",
        scope: Scope::Named,
        expected: "discovery and the rejection of an unknown revision list the same revisions; older ones may differ",
        rule: Rule::Case(agree),
    },
];

/// A key of the catalog in requests with unknown metadata.
const UNKNOWN_KEY: &str = "com.example/workbench-unknown";

fn lacks(key: &'static str) -> impl Fn(Option<&Value>) -> bool {
    move |meta| meta.is_some_and(|meta| meta.get(key).is_none())
}

/// Judges the requests whose metadata satisfies a condition: without it, or without its revision.
fn missing(transcript: &Transcript<'_>, wanted: impl Fn(Option<&Value>) -> bool) -> CheckOutcome {
    let requests = transcript.requests().iter().filter(|one| !one.request.is("initialize"));
    let requests = requests.filter(|one| wanted(one.param("_meta")));
    // Over HTTP the header then contradicts the body too, so either rejection is correct.
    let codes: &[i64] = if transcript.is_http() { &[-32602, -32020] } else { &[-32602] };
    let is_list = |one: &RequestResponse<'_>| one.request.method().is_some_and(|method| method.ends_with("/list"));
    // One that rejects a list takes requests without metadata for those of this revision.
    let rejects = |one: &RequestResponse<'_>| is_list(one) && one.code().is_some_and(|code| codes.contains(&code));
    let dual = transcript.may_be_dual_era() && !requests.clone().any(rejects);
    let outcome = |request: &RequestResponse<'_>| {
        // On a server of both eras it may be taken for a request of the older era, which has no rule for the rejection,
        // and serves everything but the methods of this revision.
        if dual && (request.error().is_some() || !request.request.is("server/discover")) {
            return CheckOutcome::passed("the request may belong to the older era", request.frames());
        }
        rejected_over(transcript, request, codes, 400)
    };
    all_pass(requests.map(|one| (one, outcome(one))), "no request with such metadata was sent")
}

fn missing_capabilities(transcript: &Transcript<'_>) -> CheckOutcome {
    let requests = transcript.requests().iter().filter(|one| is_modern(one) && meta(one, META_CAPABILITIES).is_none());
    let outcomes = requests.map(|one| (one, rejected_over(transcript, one, &[-32602], 400)));
    all_pass(outcomes, "no request without client capabilities was sent")
}

/// Passes if the server sent an error.
fn has_error(request: &RequestResponse<'_>) -> CheckOutcome {
    match (request.error(), request.response) {
        (Some(error), _) => {
            CheckOutcome::passed(format!("the request is rejected with {}", brief(error)), request.frames())
        }
        (None, Some(response)) => {
            CheckOutcome::failed(format!("the response is {}", brief(response.json)), request.frames())
        }
        (None, None) => CheckOutcome::Blocked("the server sent no response".to_owned()),
    }
}

fn malformed_revision(transcript: &Transcript<'_>) -> CheckOutcome {
    let malformed = |one: &&RequestResponse<'_>| version_of(one).is_some_and(|version| !version.is_string());
    let requests = transcript.requests().iter().filter(malformed);
    all_pass(requests.map(|one| (one, has_error(one))), "no request with a malformed revision was sent")
}

fn malformed_capabilities(transcript: &Transcript<'_>) -> CheckOutcome {
    let malformed = |one: &&RequestResponse<'_>| meta(one, META_CAPABILITIES).is_some_and(|value| !value.is_object());
    let requests = transcript.requests().iter().filter(|one| is_modern(one)).filter(malformed);
    all_pass(requests.map(|one| (one, has_error(one))), "no request with malformed capabilities was sent")
}

/// Judges the complete requests whose metadata satisfies a condition.
fn served(transcript: &Transcript<'_>, wanted: impl Fn(&Value) -> bool) -> CheckOutcome {
    let needs_metadata = transcript.evidence.revision.is_modern();
    let complete = |one: &&RequestResponse<'_>| {
        let is_complete = is_modern(one) && meta(one, META_CAPABILITIES).is_some();
        (is_complete || !needs_metadata) && one.param("_meta").is_some_and(&wanted)
    };
    let outcome = |one: &RequestResponse<'_>| match (one.result(), one.response) {
        (Some(_), _) => CheckOutcome::passed("the request is served", one.frames()),
        (None, Some(response)) => {
            CheckOutcome::failed(format!("the response is {}", brief(response.json)), one.frames())
        }
        (None, None) => CheckOutcome::failed("the server sent no response", one.frames()),
    };
    let requests = transcript.requests().iter().filter(complete);
    all_pass(requests.map(|one| (one, outcome(one))), "no such request was sent")
}

/// Judges the rejection of an unsupported revision and the revisions in it.
fn version_error(transcript: &Transcript<'_>, request: &RequestResponse<'_>) -> CheckOutcome {
    let outcome = rejected_over(transcript, request, &[-32022], 400);
    let CheckOutcome::Passed { .. } = outcome else { return outcome };
    let revision = transcript.evidence.revision.as_str();
    if !supported(request).any(|version| version == revision) {
        return CheckOutcome::failed(format!("data.supported lacks {revision}"), request.frames());
    }
    let requested = request.error().and_then(|error| error.pointer("/data/requested"));
    if requested.is_none() || requested != version_of(request) {
        return CheckOutcome::failed("data.requested is not the requested revision", request.frames());
    }
    outcome
}

/// The supported revisions in the error of a request.
fn supported<'a>(request: &RequestResponse<'a>) -> impl Iterator<Item = &'a str> {
    let listed = request.error().and_then(|error| error.pointer("/data/supported")).and_then(Value::as_array);
    listed.into_iter().flatten().filter_map(Value::as_str)
}

/// A revision that no server knows and that is newer than all others.
const FUTURE_REVISION: &str = "2099-12-31";

/// Whether the server declares no capability for the method of a request.
fn lacks_method(transcript: &Transcript<'_>, one: &RequestResponse<'_>) -> bool {
    let pointer = one.request.method().and_then(capability_of);
    pointer.is_some_and(|pointer| !declares(transcript, &one.request.frame.server, pointer))
}

fn unsupported(transcript: &Transcript<'_>) -> CheckOutcome {
    let Some(unknown) = transcript.unknown.revision.as_deref() else {
        return CheckOutcome::not_applicable("the scenario names no unknown revision");
    };
    let requests = transcript.requests().iter();
    let is_unknown = |version: &Value| version == unknown || version == FUTURE_REVISION;
    let requests = requests.filter(|request| version_of(request).is_some_and(is_unknown));
    // A server may look for the method first.
    let requests = requests.filter(|one| one.code() != Some(-32601) || !lacks_method(transcript, one));
    all_pass(requests.map(|one| (one, version_error(transcript, one))), "no request with an unknown revision was sent")
}

/// The older revision in the metadata of a request.
fn older_version<'a>(request: &RequestResponse<'a>) -> Option<&'a str> {
    let older = |version: &&str| version.parse::<Revision>().is_ok_and(|revision| !revision.is_modern());
    version_of(request)?.as_str().filter(older)
}

fn older(transcript: &Transcript<'_>) -> CheckOutcome {
    if transcript.may_be_dual_era() {
        return CheckOutcome::not_applicable("the server also supports a revision with a handshake");
    }
    let requests = transcript.requests().iter().filter(|one| older_version(one).is_some());
    all_pass(requests.map(|one| (one, version_error(transcript, one))), "no request with an older revision was sent")
}

/// The revisions that discovery lists.
fn listed_versions<'a>(transcript: &Transcript<'a>) -> Vec<&'a str> {
    let results = transcript.requests_of("server/discover").filter_map(RequestResponse::result);
    let listed = results.filter_map(|result| result.get("supportedVersions")?.as_array());
    listed.flatten().filter_map(Value::as_str).collect()
}

fn listed(transcript: &Transcript<'_>) -> CheckOutcome {
    let (versions, dual) = (listed_versions(transcript), transcript.may_be_dual_era());
    let requests = transcript.requests().iter().filter(|one| {
        let listed = version_of(one).and_then(Value::as_str).is_some_and(|version| versions.contains(&version));
        // A revision with a handshake is not for the metadata of a request.
        listed && !(dual && older_version(one).is_some())
    });
    let mut findings = Findings::default();
    for one in requests {
        let rejected = one.code() == Some(-32022);
        let message = || format!("{} is listed and rejected", version_of(one).map_or_else(String::new, brief));
        findings.check(one.last_frame(), if rejected { Err(message()) } else { Ok(()) });
    }
    // Those with a handshake were asked for when the server was discovered.
    let discovery = transcript.requests_of("server/discover").find(|one| one.result().is_some());
    let answers = transcript.server_identity().and_then(|identity| identity.get("answered_otherwise")?.as_object());
    for (asked, other) in answers.into_iter().flatten().filter(|(asked, _)| versions.contains(&asked.as_str())) {
        let message = format!("{asked} is listed, and `initialize` with it is answered with {}", brief(other));
        findings.fail(message, discovery.iter().map(|one| one.last_frame()));
    }
    findings.or_not_applicable("requests", "no request has a listed revision")
}

fn agree(transcript: &Transcript<'_>) -> CheckOutcome {
    // A server of both eras may list the older revisions in one place only.
    let dual = transcript.may_be_dual_era();
    let modern = |version: &&str| !dual || version.parse::<Revision>().map_or(true, Revision::is_modern);
    let sorted = |mut versions: Vec<String>| {
        versions.sort_unstable();
        versions.dedup();
        versions
    };
    let owned = |versions: Vec<&str>| sorted(versions.into_iter().filter(modern).map(str::to_owned).collect());
    let discovered = owned(listed_versions(transcript));
    if discovered.is_empty() {
        return CheckOutcome::not_applicable("discovery lists no revision");
    }
    let errors = transcript.requests().iter().filter(|one| one.code() == Some(-32022));
    let fault = |one: &&RequestResponse<'_>| {
        let named = owned(supported(one).collect());
        (named != discovered).then(|| format!("discovery lists {discovered:?}, the error lists {named:?}"))
    };
    let errors = errors.map(|one| (one.last_frame(), one));
    Findings::from_each(errors, fault).or_not_applicable("errors", "no revision was rejected")
}
