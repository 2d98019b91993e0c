//! The order of the handshake, the negotiated revision, and the use of negotiated capabilities.

use serde_json::Value;

use super::{NO_RESPONSE, request_with};
use crate::{
    judge::{
        check::{Check, CheckOutcome, Findings, Rule, Scope, brief},
        transcript::{RequestResponse, Transcript},
    },
    model::Revision,
};

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "unknown-revision-gets-another",
        requirement: "lifecycle/another-revision",
        scope: Scope::Named,
        expected: "the response to an unknown revision is a result with another revision",
        rule: Rule::Case(another_revision),
    },
    Check {
        id: "unknown-revision-gets-the-latest",
        requirement: "lifecycle/latest-revision",
        scope: Scope::Named,
        expected: "the response to an unknown revision has the latest one that the server supports",
        rule: Rule::Case(latest_revision),
    },
    Check {
        id: "supported-revision-is-confirmed",
        requirement: "lifecycle/server-answers-a-revision",
        scope: Scope::Always,
        expected: "a revision that the server negotiated before is confirmed when it is requested",
        rule: Rule::Case(supported_revision),
    },
    Check {
        id: "ping-during-initialization",
        requirement: "ping/during-initialization",
        scope: Scope::Named,
        expected: "a ping before `notifications/initialized` is answered with a result",
        rule: Rule::Case(early_ping),
    },
    Check {
        id: "other-capabilities-are-accepted",
        requirement: "lifecycle/open-capabilities",
        scope: Scope::Named,
        expected: "a client with experimental and unknown capabilities, a title and icons is accepted",
        rule: Rule::Case(other_capabilities),
    },
    Check {
        id: "initialization-comes-first",
        requirement: "lifecycle/initialization-first",
        scope: Scope::Always,
        expected: "before its response to `initialize` the server sends only pings and log messages",
        rule: Rule::Case(first_interaction),
    },
    Check {
        id: "survives-second-initialize",
        requirement: "lifecycle/second-initialize",
        scope: Scope::Named,
        expected: "the server still responds after a second `initialize`",
        rule: Rule::Case(second_initialize),
    },
    Check {
        id: "declared-lists-exist",
        requirement: "lifecycle/declared-lists",
        scope: Scope::Always,
        expected: "a server that declares tools, resources or prompts does not reject the list as an unknown method",
        rule: Rule::Case(declared_lists),
    },
    Check {
        id: "declared-methods-exist",
        requirement: "lifecycle/declared-methods",
        scope: Scope::Always,
        expected: "a server that declares logging, completions or subscriptions has the methods",
        rule: Rule::Case(declared_methods),
    },
];

const NO_HANDSHAKE: &str = "there was no handshake";

fn another_revision(transcript: &Transcript<'_>) -> CheckOutcome {
    let unknown = transcript.unknown.revision.as_deref();
    let Some(request) = request_with(transcript, "initialize", "protocolVersion", unknown) else {
        return CheckOutcome::not_applicable("no handshake with an unknown revision was sent");
    };
    match (request.result(), request.response) {
        (Some(_), _) => CheckOutcome::passed("answered with a result", request.frames()),
        (None, Some(response)) => {
            CheckOutcome::failed(format!("the request is rejected with {}", brief(response.json)), request.frames())
        }
        (None, None) => CheckOutcome::Blocked(NO_RESPONSE.to_owned()),
    }
}

fn latest_revision(transcript: &Transcript<'_>) -> CheckOutcome {
    let unknown = transcript.unknown.revision.as_deref();
    let Some(request) = request_with(transcript, "initialize", "protocolVersion", unknown) else {
        return CheckOutcome::not_applicable("no handshake with an unknown revision was sent");
    };
    let given = request.result().and_then(|result| result.get("protocolVersion")?.as_str()?.parse::<Revision>().ok());
    let Some(given) = given else { return CheckOutcome::not_applicable("the response has no known revision") };
    // The case runs in the latest revision that was negotiated.
    let latest = transcript.evidence.revision;
    if given < latest {
        CheckOutcome::failed(
            format!("the server answers with {given}, although it supports {latest}"),
            request.frames(),
        )
    } else {
        CheckOutcome::passed(format!("the server answers with {given}"), request.frames())
    }
}

fn supported_revision(transcript: &Transcript<'_>) -> CheckOutcome {
    // The server negotiated the revision of the case before.
    let supported = transcript.evidence.revision.to_string();
    let asked = |one: &&RequestResponse<'_>| one.param("protocolVersion").is_some_and(|asked| *asked == *supported);
    let fault = |one: &&RequestResponse<'_>| {
        let given = one.result()?.get("protocolVersion")?;
        (*given != *supported).then(|| format!("the server answers {} to {supported}, which it supports", brief(given)))
    };
    let handshakes = transcript.requests_of("initialize").filter(asked);
    Findings::from_each(handshakes.map(|one| (one.last_frame(), one)), fault)
        .or_not_applicable("handshakes", NO_HANDSHAKE)
}

fn early_ping(transcript: &Transcript<'_>) -> CheckOutcome {
    let initialized = transcript.client_messages().find(|message| message.is("notifications/initialized"));
    let until = initialized.map_or(u64::MAX, |message| message.seq());
    let pings = transcript.requests_of("ping").filter(|ping| ping.request.seq() < until);
    // Without a session, an HTTP server of sessions can reject every request but `initialize`.
    let pings = pings.filter(|ping| !transcript.is_http() || after_initialize(transcript, ping));
    let fault = |ping: &&RequestResponse<'_>| match (ping.result(), ping.response) {
        (Some(_), _) => None,
        (None, Some(response)) => Some(format!("the request is rejected with {}", brief(response.json))),
        (None, None) => Some(NO_RESPONSE.to_owned()),
    };
    Findings::from_each(pings.map(|ping| (ping.last_frame(), ping)), fault)
        .or_not_applicable("pings", "no ping was sent before `notifications/initialized`")
}

fn other_capabilities(transcript: &Transcript<'_>) -> CheckOutcome {
    let others = transcript.requests_of("initialize").filter(|request| {
        request.param("capabilities").is_some_and(|capabilities| capabilities.get("experimental").is_some())
    });
    let answered = others.filter(|request| request.response.is_some()).map(|request| (request.last_frame(), request));
    let fault = |request: &&RequestResponse<'_>| {
        request.error().map(|error| format!("the request is rejected with {}", brief(error)))
    };
    Findings::from_each(answered, fault).or_not_applicable("handshakes", NO_HANDSHAKE)
}

fn after_initialize(transcript: &Transcript<'_>, ping: &RequestResponse<'_>) -> bool {
    let mut handshakes = transcript.requests_of("initialize");
    handshakes.next().is_some_and(|handshake| handshake.last_frame() < ping.request.seq())
}

fn first_interaction(transcript: &Transcript<'_>) -> CheckOutcome {
    let Some(handshake) = transcript.requests_of("initialize").next() else {
        return CheckOutcome::not_applicable(NO_HANDSHAKE);
    };
    let Some(response) = handshake.response else { return CheckOutcome::not_applicable(NO_HANDSHAKE) };
    let mut findings = Findings::default();
    findings.saw(response.seq());
    for message in transcript.server_messages().take_while(|message| message.seq() < response.seq()) {
        let Some(method) = message.method() else { continue };
        if !matches!(method, "ping" | "notifications/message") {
            findings.fail(format!("the server sent `{method}` before"), [message.seq()]);
        }
    }
    findings.or_not_applicable("handshake", NO_HANDSHAKE)
}

fn second_initialize(transcript: &Transcript<'_>) -> CheckOutcome {
    let Some(second) = transcript.requests_of("initialize").nth(1) else {
        return CheckOutcome::not_applicable("no second `initialize` was sent");
    };
    let seq = second.request.seq();
    match transcript.requests().iter().rfind(|one| one.request.seq() > seq) {
        None => CheckOutcome::Blocked("no request was sent afterwards".to_owned()),
        Some(last) if last.response.is_some() => {
            CheckOutcome::passed("a later request is answered", [vec![seq], last.frames()].concat())
        }
        Some(last) => CheckOutcome::failed("no later request is answered", vec![seq, last.request.seq()]),
    }
}

fn capability<'a>(transcript: &Transcript<'a>, pointer: &str) -> Option<&'a Value> {
    transcript.server_identity()?.get("capabilities")?.pointer(pointer)
}

fn declares(transcript: &Transcript<'_>, pointer: &str) -> bool {
    capability(transcript, pointer).is_some_and(|value| value.is_object() || *value == Value::Bool(true))
}

/// Fails if a method of a declared capability is rejected as unknown. A method that had a result exists, whatever the code of
/// the error to a malformed request is.
fn methods_exist(transcript: &Transcript<'_>, methods: &[(&str, &str)]) -> CheckOutcome {
    let mut findings = Findings::default();
    for (pointer, method) in methods.iter().filter(|(pointer, _)| declares(transcript, pointer)) {
        let is_unknown = |request: &&RequestResponse<'_>| request.code() == Some(-32601);
        let requests = transcript.requests_of(method).filter(|request| request.response.is_some());
        let shown = requests.min_by_key(|request| (request.result().is_none(), !is_unknown(request)));
        let Some(shown) = shown else { continue };
        let message = || format!("the server declares `{}` and rejects `{method}` with -32601", &pointer[1..]);
        findings.check(shown.last_frame(), if is_unknown(&shown) { Err(message()) } else { Ok(()) });
    }
    findings.or_not_applicable("requests", "no method of a declared capability was requested")
}

fn declared_lists(transcript: &Transcript<'_>) -> CheckOutcome {
    let methods = [("/tools", "tools/list"), ("/resources", "resources/list"), ("/prompts", "prompts/list")];
    methods_exist(transcript, &methods)
}

fn declared_methods(transcript: &Transcript<'_>) -> CheckOutcome {
    let methods = [
        ("/logging", "logging/setLevel"),
        ("/completions", "completion/complete"),
        ("/resources/subscribe", "resources/subscribe"),
    ];
    // Logging has no method in 2026-07-28, and a subscription is one request for all kinds of changes.
    let until = if transcript.evidence.revision.is_modern() { &methods[1..2] } else { &methods[..] };
    methods_exist(transcript, until)
}
