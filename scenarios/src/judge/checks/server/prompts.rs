//! Prompts, completion and logging.

use serde_json::Value;

use super::{rejected_with, request_with};
use crate::judge::{
    check::{Check, CheckOutcome, Findings, Rule, Scope, brief},
    transcript::Transcript,
};

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "prompt-shape",
        requirement: "prompts/shape",
        scope: Scope::Named,
        expected: "every prompt has a name, and so does each of its arguments",
        rule: Rule::Case(shape),
    },
    Check {
        id: "unknown-prompt-code",
        requirement: "prompts/unknown-code",
        scope: Scope::Named,
        expected: "an unknown prompt is rejected with -32602",
        rule: Rule::Case(unknown),
    },
    Check {
        id: "missing-prompt-argument-code",
        requirement: "prompts/missing-argument",
        scope: Scope::Named,
        expected: "a prompt without a required argument is rejected with -32602",
        rule: Rule::Case(missing_argument),
    },
    Check {
        id: "invalid-log-level-code",
        requirement: "logging/invalid-level",
        scope: Scope::Named,
        expected: "an unknown log level is rejected with -32602",
        rule: Rule::Case(log_level),
    },
    Check {
        id: "completion-of-unknown-prompt-code",
        requirement: "completion/unknown-prompt",
        scope: Scope::Named,
        expected: "a completion for an unknown prompt is rejected with -32602",
        rule: Rule::Case(completion),
    },
];

fn shape(transcript: &Transcript<'_>) -> CheckOutcome {
    let prompts = transcript.items("prompts/list", "prompts");
    Findings::from_each(prompts, |prompt| prompt_fault(prompt))
        .or_not_applicable("prompts", "the server lists no prompts")
}

fn prompt_fault(prompt: &Value) -> Option<String> {
    let Some(name) = prompt.get("name").and_then(Value::as_str) else { return Some("a prompt has no name".to_owned()) };
    if !prompt.get("description").is_none_or(Value::is_string) {
        return Some(format!("`{name}`: description is {}", brief(&prompt["description"])));
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

fn unknown(transcript: &Transcript<'_>) -> CheckOutcome {
    let request = request_with(transcript, "prompts/get", "name", transcript.unknown.prompt.as_deref());
    rejected_with(request, &[-32602], "an unknown prompt")
}

fn missing_argument(transcript: &Transcript<'_>) -> CheckOutcome {
    let unknown = transcript.unknown.prompt.as_deref();
    let known = |name: &Value| unknown.is_none_or(|unknown| name != unknown);
    let request = transcript.requests_of("prompts/get").find(|request| request.param("name").is_some_and(known));
    rejected_with(request, &[-32602], "a prompt with a required argument")
}

fn log_level(transcript: &Transcript<'_>) -> CheckOutcome {
    let request = request_with(transcript, "logging/setLevel", "level", transcript.unknown.log_level.as_deref());
    rejected_with(request, &[-32602], "an unknown log level")
}

fn completion(transcript: &Transcript<'_>) -> CheckOutcome {
    let unknown = transcript.unknown.prompt.as_deref().unwrap_or_default();
    let request = transcript
        .requests_of("completion/complete")
        .find(|request| request.param("ref").is_some_and(|reference| reference["name"] == unknown));
    rejected_with(request, &[-32602], "a completion for an unknown prompt")
}
