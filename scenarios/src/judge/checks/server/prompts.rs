//! Checks on prompts, completion and logging.

use serde_json::Value;

use super::talk::{Exchange, Fault, asked, brief, items, named, refused, ruling};
use crate::{
    evidence::Evidence,
    judge::check::{Check, Ruling},
};

/// The prompt that scenarios ask for and no server has.
const UNKNOWN: &str = "workbench-no-such-prompt";

/// The checks of this theme.
pub(super) const ALL: &[Check] = &[
    named("prompt-shape", "prompts/shape", "every prompt has a name, and each argument has one too", shape),
    named(
        "unknown-prompt-code",
        "prompts/unknown-code",
        "a prompt that does not exist is refused with -32602",
        unknown,
    ),
    named(
        "missing-prompt-argument-code",
        "prompts/missing-argument",
        "a prompt without a required argument is refused with -32602",
        missing,
    ),
    named(
        "invalid-log-level-code",
        "logging/invalid-level",
        "a log level that does not exist is refused with -32602",
        level,
    ),
    named(
        "completion-of-unknown-prompt-code",
        "completion/unknown-prompt",
        "a completion for a prompt that does not exist is refused with -32602",
        completion,
    ),
];

fn shape(evidence: &Evidence) -> Ruling {
    let all = items(evidence, "prompts/list", "prompts");
    let faults: Vec<Fault> = all.iter().filter_map(|(frame, prompt)| Some((*frame, bad_prompt(prompt)?))).collect();
    let frames: Vec<u64> = all.iter().map(|(frame, _)| *frame).collect();
    ruling(faults, &frames, format!("all {} have", all.len()), "the server lists no prompts")
}

fn bad_prompt(prompt: &Value) -> Option<String> {
    let Some(name) = prompt.get("name").and_then(Value::as_str) else { return Some("a prompt has no name".to_owned()) };
    if !prompt.get("description").is_none_or(Value::is_string) {
        return Some(format!("`{name}`: the description is {}", brief(&prompt["description"])));
    }
    let arguments = prompt.get("arguments")?;
    let Some(arguments) = arguments.as_array() else {
        return Some(format!("`{name}`: arguments is {}", brief(arguments)));
    };
    let good = |argument: &Value| {
        argument.get("name").is_some_and(Value::is_string) && argument.get("required").is_none_or(Value::is_boolean)
    };
    let wrong = arguments.iter().find(|argument| !good(argument));
    wrong.map(|argument| format!("`{name}`: an argument is {}", brief(argument)))
}

fn find<'a>(evidence: &'a Evidence, method: &str, wanted: impl Fn(&Exchange<'_>) -> bool) -> Option<Exchange<'a>> {
    asked(evidence, method).into_iter().find(|exchange| wanted(exchange))
}

fn unknown(evidence: &Evidence) -> Ruling {
    let exchange = find(evidence, "prompts/get", |exchange| exchange.param("name").is_some_and(|name| name == UNKNOWN));
    refused(exchange.as_ref(), &[-32602], "an unknown prompt")
}

fn missing(evidence: &Evidence) -> Ruling {
    let exchange = find(evidence, "prompts/get", |exchange| exchange.param("name").is_some_and(|name| name != UNKNOWN));
    refused(exchange.as_ref(), &[-32602], "a prompt with a required argument")
}

fn level(evidence: &Evidence) -> Ruling {
    let exchange = find(evidence, "logging/setLevel", |exchange| {
        exchange.param("level").is_some_and(|level| level == "workbench-no-such-level")
    });
    refused(exchange.as_ref(), &[-32602], "an unknown log level")
}

fn completion(evidence: &Evidence) -> Ruling {
    let exchange = find(evidence, "completion/complete", |exchange| {
        exchange.param("ref").is_some_and(|reference| reference["name"] == UNKNOWN)
    });
    refused(exchange.as_ref(), &[-32602], "a completion for an unknown prompt")
}
