//! Checks on the handshake, on ping, and on what a server offers compared with what it declares.

use serde_json::{Map, Value};

use super::talk::{Exchange, Fault, asked, brief, named, ruling};
use crate::{
    evidence::Evidence,
    judge::check::{Check, Ruling},
    model::Revision,
};

/// The revision that a scenario asks for and nobody has ever specified.
const UNKNOWN: &str = "1999-01-01";

/// The checks of this theme.
pub(super) const ALL: &[Check] = &[
    named(
        "initialize-result",
        "lifecycle/initialize-result",
        "the result of `initialize` holds protocolVersion, capabilities and serverInfo with name and version",
        shape,
    ),
    named(
        "capabilities-shape",
        "lifecycle/capabilities-shape",
        "every capability is an object, and its flags are booleans",
        capabilities,
    ),
    named(
        "negotiated-revision-exists",
        "lifecycle/server-answers-a-revision",
        "the revision in the answer exists",
        negotiated,
    ),
    named(
        "unknown-revision-is-negotiated",
        "lifecycle/server-answers-a-revision",
        "a revision that does not exist is answered with one that the server supports, or refused",
        unknown,
    ),
    named("ping-is-answered-empty", "ping/empty-response", "a ping is answered with an empty result", ping),
    named(
        "offers-only-what-is-declared",
        "lifecycle/server-declares-what-it-offers",
        "tools, resources and prompts are offered only where the capability is declared",
        offers,
    ),
];

fn shape(evidence: &Evidence) -> Ruling {
    let Some(exchange) = first(evidence, "initialize") else { return nothing() };
    let Some(result) = exchange.result() else { return refused(&exchange) };
    let mut faults: Vec<Fault> = Vec::new();
    let mut must = |held: bool, what: &str| {
        if !held {
            faults.push((exchange.frames()[1], what.to_owned()));
        }
    };
    must(result.get("protocolVersion").is_some_and(Value::is_string), "protocolVersion is no string");
    must(result.get("capabilities").is_some_and(Value::is_object), "capabilities is no object");
    let info = |key: &str| result.pointer(&format!("/serverInfo/{key}")).is_some_and(Value::is_string);
    must(info("name"), "serverInfo.name is no string");
    must(info("version"), "serverInfo.version is no string");
    must(result.get("instructions").is_none_or(Value::is_string), "instructions is no string");
    ruling(faults, &exchange.frames(), "it does".to_owned(), "")
}

fn capabilities(evidence: &Evidence) -> Ruling {
    let Some(exchange) = first(evidence, "initialize").or_else(|| first(evidence, "server/discover")) else {
        return nothing();
    };
    let Some(declared) = exchange.result().and_then(|result| result.get("capabilities")).and_then(Value::as_object)
    else {
        return Ruling::Blocked("no capabilities were declared".to_owned());
    };
    let frame = exchange.frames()[1];
    let faults = bad_capabilities(declared).into_iter().map(|fault| (frame, fault)).collect();
    ruling(faults, &exchange.frames(), format!("{} are declared", declared.len()), "")
}

fn bad_capabilities(declared: &Map<String, Value>) -> Vec<String> {
    let mut faults = Vec::new();
    for (name, value) in declared {
        // Only names that the specification gives a meaning are judged; others are for other specifications.
        let known =
            ["tools", "resources", "prompts", "logging", "completions", "experimental"].contains(&name.as_str());
        if known && !value.is_object() {
            faults.push(format!("{name} is {}", brief(value)));
        }
    }
    for (name, flag) in
        [("tools", "listChanged"), ("prompts", "listChanged"), ("resources", "listChanged"), ("resources", "subscribe")]
    {
        let value = declared.get(name).and_then(|capability| capability.get(flag));
        if let Some(value) = value.filter(|value| !value.is_boolean()) {
            faults.push(format!("{name}.{flag} is {}", brief(value)));
        }
    }
    faults
}

fn negotiated(evidence: &Evidence) -> Ruling {
    let Some(exchange) = first(evidence, "initialize") else { return nothing() };
    let Some(result) = exchange.result() else { return refused(&exchange) };
    let version = result.get("protocolVersion").and_then(Value::as_str).unwrap_or_default();
    if version.parse::<Revision>().is_ok() {
        Ruling::held(format!("it is {version}"), exchange.frames())
    } else {
        Ruling::broken(format!("it is `{version}`"), exchange.frames())
    }
}

fn unknown(evidence: &Evidence) -> Ruling {
    let exchange = asked(evidence, "initialize")
        .into_iter()
        .find(|exchange| exchange.param("protocolVersion").is_some_and(|version| version == UNKNOWN));
    let Some(exchange) = exchange else { return nothing() };
    let Some((_, answer)) = exchange.answer else {
        return Ruling::broken("there is no answer", exchange.frames());
    };
    let version = answer.pointer("/result/protocolVersion").and_then(Value::as_str);
    match (version, exchange.error()) {
        (Some(version), _) if version.parse::<Revision>().is_ok() => {
            Ruling::held(format!("it is answered with {version}"), exchange.frames())
        }
        // The page's own example of a failed negotiation is an error (2025-11-25, basic/lifecycle, error handling).
        (None, Some(error)) => Ruling::held(format!("it is refused: {}", brief(error)), exchange.frames()),
        _ => Ruling::broken(format!("it is answered with {}", brief(answer)), exchange.frames()),
    }
}

fn ping(evidence: &Evidence) -> Ruling {
    let all = asked(evidence, "ping");
    if all.is_empty() {
        return Ruling::NotApplicable("no ping was sent".to_owned());
    }
    let wrong = all.iter().filter(|exchange| {
        let fields = exchange.result().and_then(Value::as_object);
        !fields.is_some_and(|fields| fields.keys().all(|key| key == "_meta"))
    });
    let faults =
        wrong.map(|exchange| (exchange.frames()[exchange.frames().len() - 1], answer_in_words(exchange))).collect();
    let frames: Vec<u64> = all.iter().flat_map(Exchange::frames).collect();
    ruling(faults, &frames, "it is".to_owned(), "")
}

fn offers(evidence: &Evidence) -> Ruling {
    let capabilities =
        super::talk::facts(evidence).and_then(|facts| facts.get("capabilities")).and_then(Value::as_object);
    let Some(capabilities) = capabilities else {
        return Ruling::Blocked("it is not known what the server declares".to_owned());
    };
    let (mut faults, mut frames) = (Vec::new(), Vec::new());
    for (name, method) in [("tools", "tools/list"), ("resources", "resources/list"), ("prompts", "prompts/list")] {
        for exchange in asked(evidence, method) {
            frames.extend(exchange.frames());
            let listed = exchange.result().and_then(|result| result.get(name)).and_then(Value::as_array);
            let count = listed.map_or(0, Vec::len);
            if count > 0 && !capabilities.contains_key(name) {
                faults
                    .push((exchange.frames()[1], format!("{count} {name} are offered, and `{name}` is not declared")));
            }
        }
    }
    ruling(faults, &frames, "they are".to_owned(), "no list was asked for")
}

fn first<'a>(evidence: &'a Evidence, method: &str) -> Option<Exchange<'a>> {
    asked(evidence, method).into_iter().find(|exchange| exchange.answer.is_some())
}

fn nothing() -> Ruling {
    Ruling::NotApplicable("there was no handshake with an answer".to_owned())
}

fn refused(exchange: &Exchange<'_>) -> Ruling {
    Ruling::Blocked(format!("the server refuses: {}", exchange.error().map_or_else(String::new, brief)))
}

fn answer_in_words(exchange: &Exchange<'_>) -> String {
    exchange
        .answer
        .map_or_else(|| "there is no answer".to_owned(), |(_, answer)| format!("it is answered with {}", brief(answer)))
}
