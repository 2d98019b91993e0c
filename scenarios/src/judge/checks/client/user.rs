//! Answers of the user and the model to a server: features that the client declared, and values that the server asked for.
//! They are responses up to 2025-11-25, and part of the next request since 2026-07-28.

use std::{cell::LazyCell, collections::HashMap};

use serde_json::Value;
use url::Url;

use super::{
    answers::METHOD_NOT_FOUND,
    input::response_fault,
    rounds::{Origin, retries},
};
use crate::judge::{
    check::{Check, CheckOutcome, Findings, Rule, Scope, brief_or_missing, quoted},
    checks::server::mixed_message,
    transcript::{IdKey, Message, Session, Transcript},
};

const NO_ANSWER: &str = "the client answered no request of a server to the user";
/// The capabilities of a client in a request of 2026-07-28 (basic/index#meta).
const MODERN: &str = "/params/_meta/io.modelcontextprotocol~1clientCapabilities";
/// The code of invalid parameters (2025-11-25, client/elicitation#error-handling).
const INVALID_PARAMS: i64 = -32602;

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "features-are-declared",
        requirement: "client/features-are-declared",
        scope: Scope::Always,
        expected: "the client uses elicitation, sampling and roots only if it declares them",
        rule: Rule::Case(features_are_declared),
    },
    Check {
        id: "features-are-declared-again",
        requirement: "client/features-are-declared",
        scope: Scope::Named,
        expected: "a later `initialize` of the same server declares the features of the first one",
        rule: Rule::Case(features_are_declared_again),
    },
    Check {
        id: "elicitation-has-a-mode",
        requirement: "client/elicitation-has-a-mode",
        scope: Scope::Always,
        expected: "a client that declares modes of elicitation declares `form` or `url`",
        rule: Rule::Case(elicitation_has_a_mode),
    },
    Check {
        id: "undeclared-roots-code",
        requirement: "client/undeclared-roots-code",
        scope: Scope::Always,
        expected: "the error of a client without roots is -32601",
        rule: Rule::Case(undeclared_roots_code),
    },
    Check {
        id: "undeclared-mode-rejected",
        requirement: "client/undeclared-mode-rejected",
        scope: Scope::Always,
        expected: "an elicitation in a mode that the client does not declare gets the error -32602",
        rule: Rule::Case(undeclared_mode_rejected),
    },
    Check {
        id: "sampling-tools-rejected",
        requirement: "client/sampling-tools-rejected",
        scope: Scope::Always,
        expected: "sampling with tools gets an error if the client does not declare `sampling.tools`",
        rule: Rule::Case(sampling_tools_rejected),
    },
    Check {
        id: "mixed-tool-results-rejected",
        requirement: "client/mixed-tool-results-rejected",
        scope: Scope::Always,
        expected: "sampling gets an error if a message has tool results and other content",
        rule: Rule::Case(mixed_tool_results_rejected),
    },
    Check {
        id: "content-only-if-accepted",
        requirement: "client/content-only-if-accepted",
        scope: Scope::Always,
        expected: "only an accepted form has content",
        rule: Rule::Case(content_only_if_accepted),
    },
    Check {
        id: "content-matches-form",
        requirement: "client/content-matches-form",
        scope: Scope::Always,
        expected: "the content of an accepted form matches its schema",
        rule: Rule::Case(content_matches_form),
    },
    Check {
        id: "roots-are-files",
        requirement: "client/roots-are-files",
        scope: Scope::Always,
        expected: "the URI of each root is a `file://` URI",
        rule: Rule::Case(roots_are_files),
    },
    Check {
        id: "urls-need-consent",
        requirement: "client/urls-need-consent",
        scope: Scope::Always,
        expected: "the client sends no request to the URL of an elicitation before the user agrees",
        rule: Rule::Case(urls_need_consent),
    },
];

/// A request of a server to the user or the model, and the client's answer.
struct Answer<'a> {
    method: &'a str,
    params: Option<&'a Value>,
    /// The frames of both.
    frames: [u64; 2],
    /// The result; none for an error.
    result: Option<&'a Value>,
    code: Option<i64>,
    /// The capabilities of the client.
    declared: Option<&'a Value>,
}

impl Answer<'_> {
    fn param(&self, name: &str) -> Option<&Value> {
        self.params?.get(name)
    }

    fn declares(&self, pointer: &str) -> bool {
        self.declared.and_then(|declared| declared.pointer(pointer)).is_some_and(Value::is_object)
    }

    /// Whether the client supports the mode of an elicitation. Without members the capability means forms.
    fn declares_mode(&self) -> bool {
        let is_url = self.param("mode").is_some_and(|mode| mode == "url");
        let only_url = self.declares("/elicitation/url") && !self.declares("/elicitation/form");
        if is_url { self.declares("/elicitation/url") } else { self.declares("/elicitation") && !only_url }
    }

    fn action(&self) -> Option<&str> {
        self.result?.get("action")?.as_str().filter(|_| self.method == "elicitation/create")
    }

    fn content(&self) -> Option<&Value> {
        self.result?.get("content").filter(|content| !content.is_null())
    }
}

/// The input requests of a task by key, each with the frame that has it.
type InputRequests<'a> = HashMap<&'a str, (u64, &'a Value)>;

/// Another revision may lack a feature.
fn features_are_declared_again(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    let mut first: HashMap<(&str, Option<&str>), Message<'_>> = HashMap::new();
    for one in transcript.requests_of("initialize") {
        let revision = one.param("protocolVersion").and_then(Value::as_str);
        let known = first.entry((one.request.frame.server.as_str(), revision)).or_insert(one.request);
        if known.seq() == one.request.seq() {
            continue;
        }
        findings.saw(one.request.seq());
        let declares = |request: &Message<'_>, feature: &str| {
            request.param("capabilities").is_some_and(|capabilities| capabilities.get(feature).is_some())
        };
        for feature in ["roots", "sampling", "elicitation"] {
            if declares(known, feature) && !declares(&one.request, feature) {
                let message = format!("`{feature}` is declared in the first `initialize` only");
                findings.fail(message, [known.seq(), one.request.seq()]);
            }
        }
    }
    findings.or_not_applicable("handshakes", "there was no second handshake")
}

fn answers<'a>(transcript: &Transcript<'a>) -> Vec<Answer<'a>> {
    let mut found = Vec::new();
    for session in transcript.sessions().iter().filter(|session| session.has_initialize()) {
        found.extend(responses(session));
    }
    for retry in retries(transcript) {
        let Origin::Round(round) = retry.origin else { continue };
        let asked = round.requests.into_iter().flatten().map(|(key, request)| (key.as_str(), round.seq, request));
        found.extend(inputs(&retry.request, asked));
    }
    let mut asked: HashMap<(&str, &Value), InputRequests<'_>> = HashMap::new();
    for one in transcript.requests() {
        let task = one.param("taskId").map(|task| (one.request.frame.server.as_str(), task));
        let Some(task) = task else { continue };
        if one.request.is("tasks/update") {
            let asked = asked.get(&task).into_iter().flatten().map(|(key, (seq, request))| (*key, *seq, *request));
            found.extend(inputs(&one.request, asked));
        }
        let requests = one.result().and_then(|result| result.get("inputRequests")).and_then(Value::as_object);
        let requests = requests.into_iter().flatten().map(|(key, request)| (key.as_str(), (one.last_frame(), request)));
        asked.entry(task).or_default().extend(requests);
    }
    found
}

/// The answers in the parameters of a request of 2026-07-28. Each key is a key of the requests.
fn inputs<'a>(request: &Message<'a>, asked: impl Iterator<Item = (&'a str, u64, &'a Value)>) -> Vec<Answer<'a>> {
    let responses = request.param("inputResponses");
    let answer = |(key, seq, asked): (&'a str, u64, &'a Value)| {
        let result = responses?.get(key)?;
        let is_sound = response_fault(asked, Some(result)).is_none();
        let (method, declared) = (asked.get("method")?.as_str()?, request.json.pointer(MODERN));
        let frames = [seq, request.seq()];
        let answer = Answer { method, params: asked.get("params"), frames, result: Some(result), code: None, declared };
        is_sound.then_some(answer)
    };
    asked.filter_map(answer).collect()
}

/// The responses of a session with a handshake.
fn responses<'a>(session: &Session<'a>) -> Vec<Answer<'a>> {
    let declared = session.client_messages().find(|message| message.is("initialize"));
    let declared = declared.and_then(|message| message.param("capabilities"));
    let mut requests: HashMap<IdKey<'a>, Message<'a>> = HashMap::new();
    let mut found = Vec::new();
    for message in session.messages() {
        let Some(id) = message.id_key() else { continue };
        if !message.by_client() {
            requests.extend(message.method().map(|_| (id, message)));
            continue;
        }
        let Some(request) = requests.get(&id).filter(|_| message.is_response()) else { continue };
        found.extend(request.method().map(|method| Answer {
            method,
            params: request.params(),
            frames: [request.seq(), message.seq()],
            result: message.result(),
            code: message.error().and_then(|error| error.get("code")).and_then(Value::as_i64),
            declared,
        }));
    }
    found
}

fn each(
    transcript: &Transcript<'_>,
    applies: impl Fn(&Answer<'_>) -> bool,
    fault: impl Fn(&Answer<'_>) -> Option<String>,
) -> CheckOutcome {
    let mut findings = Findings::default();
    for answer in answers(transcript).iter().filter(|answer| applies(answer)) {
        findings.saw(answer.frames[1]);
        if let Some(fault) = fault(answer) {
            findings.fail(fault, answer.frames);
        }
    }
    findings.or_not_applicable("answers", NO_ANSWER)
}

fn features_are_declared(transcript: &Transcript<'_>) -> CheckOutcome {
    let feature = |answer: &Answer<'_>| match answer.method {
        // A client without a user declines.
        "elicitation/create" if answer.action() == Some("accept") => Some("/elicitation"),
        "sampling/createMessage" => Some("/sampling"),
        "roots/list" => Some("/roots"),
        _ => None,
    };
    let fault = |answer: &Answer<'_>| {
        let pointer = feature(answer).filter(|pointer| !answer.declares(pointer))?;
        Some(format!("`{}` got a result, but the client did not declare `{}`", answer.method, &pointer[1..]))
    };
    each(transcript, |answer| answer.result.is_some() && feature(answer).is_some(), fault)
}

/// An empty object means forms. Members that are no objects are settings of older clients and no modes.
fn elicitation_has_a_mode(transcript: &Transcript<'_>) -> CheckOutcome {
    let declared = transcript.client_messages().filter_map(|message| {
        let pointer = if message.is("initialize") { "/params/capabilities" } else { MODERN };
        Some((message.seq(), message.json.pointer(pointer)?.get("elicitation")?))
    });
    let fault = |elicitation: &&Value| {
        let modes = elicitation.as_object()?;
        let only_others =
            modes.values().any(Value::is_object) && !modes.contains_key("form") && !modes.contains_key("url");
        only_others.then(|| format!("the client declares the modes {}", quoted(elicitation)))
    };
    Findings::from_each(declared, fault).or_not_applicable("messages", "the client declared no elicitation")
}

fn undeclared_roots_code(transcript: &Transcript<'_>) -> CheckOutcome {
    let applies = |answer: &Answer<'_>| answer.method == "roots/list" && !answer.declares("/roots");
    each(transcript, applies, |answer| {
        let code = answer.code.filter(|code| *code != METHOD_NOT_FOUND)?;
        Some(format!("`roots/list` got the error {code}"))
    })
}

fn undeclared_mode_rejected(transcript: &Transcript<'_>) -> CheckOutcome {
    let applies = |answer: &Answer<'_>| {
        answer.method == "elicitation/create" && answer.declares("/elicitation") && !answer.declares_mode()
    };
    each(transcript, applies, |answer| {
        let accepted = answer.code == Some(INVALID_PARAMS);
        let shown = || answer.result.map_or_else(|| format!("the code {:?}", answer.code), quoted);
        (!accepted).then(|| format!("an elicitation in an undeclared mode was answered with {}", shown()))
    })
}

fn sampling_tools_rejected(transcript: &Transcript<'_>) -> CheckOutcome {
    let with_tools = |answer: &Answer<'_>| answer.param("tools").or_else(|| answer.param("toolChoice")).is_some();
    let applies = |answer: &Answer<'_>| {
        answer.method == "sampling/createMessage" && with_tools(answer) && !answer.declares("/sampling/tools")
    };
    each(transcript, applies, |answer| answer.result.map(|_| "sampling with tools got a result".to_owned()))
}

fn mixed_tool_results_rejected(transcript: &Transcript<'_>) -> CheckOutcome {
    let applies = |answer: &Answer<'_>| {
        answer.method == "sampling/createMessage" && answer.params.is_some_and(|params| mixed_message(params).is_some())
    };
    each(transcript, applies, |answer| answer.result.map(|_| "a message with mixed content got a result".to_owned()))
}

/// An empty object is content only in the consent to open a URL, for which the page omits it. After other actions it is omitted
/// "typically" (2025-11-25, client/elicitation#response-actions).
fn content_only_if_accepted(transcript: &Transcript<'_>) -> CheckOutcome {
    each(
        transcript,
        |answer| answer.action().is_some(),
        |answer| {
            let is_url = answer.param("mode").is_some_and(|mode| mode == "url");
            let action = answer.action().filter(|action| is_url || *action != "accept")?;
            let is_empty = |content: &&Value| content.as_object().is_some_and(serde_json::Map::is_empty);
            let content = answer.content().filter(|content| action == "accept" || !is_empty(content))?;
            let mode = if is_url { "URL" } else { "form" };
            Some(format!("the answer `{action}` to a {mode} has the content {}", quoted(content)))
        },
    )
}

/// Requests are visible only if the URL leads to a mock server. After consent, a browser may send one before the server has the
/// answer.
fn urls_need_consent(transcript: &Transcript<'_>) -> CheckOutcome {
    let is_url = |answer: &Answer<'_>| answer.param("mode").is_some_and(|mode| mode == "url");
    let requested = LazyCell::new(|| transcript.client_frames_by_path());
    each(transcript, is_url, |answer| {
        if answer.action() == Some("accept") {
            return None;
        }
        let target = Url::parse(answer.param("url")?.as_str()?).ok()?;
        // "any of its metadata" (2025-11-25, client/elicitation#safe-url-handling): an icon of the site is some, too.
        let fetched = |path: &str| {
            let frames = requested.get(path)?;
            let first = frames.get(frames.partition_point(|frame| frame.seq <= answer.frames[0]))?;
            (!transcript.is_to_endpoint(first)).then_some(first.seq)
        };
        let (path, seq) = [target.path(), "/favicon.ico"].into_iter().find_map(|path| Some((path, fetched(path)?)))?;
        Some(format!("the client requested `{path}` in frame {seq}, without consent"))
    })
}

fn content_matches_form(transcript: &Transcript<'_>) -> CheckOutcome {
    let is_form = |answer: &Answer<'_>| answer.param("mode").is_none_or(|mode| mode == "form");
    each(
        transcript,
        |answer| is_form(answer) && answer.action() == Some("accept"),
        |answer| {
            let options = jsonschema::draft202012::options().should_validate_formats(true);
            let validator = options.build(answer.param("requestedSchema")?).ok()?;
            let empty = Value::Object(serde_json::Map::new());
            let content = answer.result.and_then(|result| result.get("content"));
            let fault = validator.validate(content.unwrap_or(&empty)).err()?;
            Some(format!("the content {} violates the schema: {fault}", brief_or_missing(content)))
        },
    )
}

fn roots_are_files(transcript: &Transcript<'_>) -> CheckOutcome {
    each(
        transcript,
        |answer| answer.method == "roots/list" && answer.result.is_some(),
        |answer| {
            let roots = answer.result?.get("roots")?.as_array()?;
            let uris = roots.iter().filter_map(|root| root.get("uri")?.as_str());
            let other = uris.into_iter().find(|uri| !uri.starts_with("file://"))?;
            Some(format!("a root has the URI `{other}`"))
        },
    )
}

#[cfg(test)]
mod tests;
