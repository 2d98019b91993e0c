//! Calls of tools: structured results, rejected arguments, and names. The workbench calls only permitted tools, with generated
//! arguments.

use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};

use super::{cancellation::meaningful_calls, has_is_error, is_complete, known, plain_result, security::texts};
use crate::{
    arguments::NOT_ASCII,
    judge::{
        check::{Check, CheckOutcome, Findings, Rule, Scope, brief, brief_or_missing},
        transcript::{RequestResponse, Transcript},
    },
    parameter_headers::has_annotation,
};

mod lost;

/// What a decoder has in the place of invalid bytes.
const REPLACEMENT: &str = "\u{fffd}";
/// A text with fewer bytes may be in a result by chance.
const UNUSUAL_LENGTH: usize = 8;

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "structured-content-conforms",
        requirement: "tools/output-schema-kept",
        scope: Scope::Named,
        expected: "the result of a tool with an outputSchema has structuredContent that conforms to it",
        rule: Rule::Case(structured_content),
    },
    Check {
        id: "structured-content-as-text",
        requirement: "tools/structured-content-as-text",
        scope: Scope::Named,
        expected: "a result with structuredContent also has it as JSON in a text block",
        rule: Rule::Case(structured_as_text),
    },
    Check {
        id: "invalid-arguments-are-rejected",
        requirement: "tools/inputs-validated",
        scope: Scope::Named,
        expected: "a call with arguments that violate the inputSchema has an error, or a result with isError",
        rule: Rule::Case(invalid_arguments),
    },
    Check {
        id: "invalid-arguments-code",
        requirement: "tools/invalid-arguments-code",
        scope: Scope::Named,
        expected: "the error for invalid arguments is in a result with isError, or has the code -32602",
        rule: Rule::Case(invalid_code),
    },
    Check {
        id: "invalid-arguments-are-tool-errors",
        requirement: "tools/invalid-arguments-in-results",
        scope: Scope::Named,
        expected: "the error for invalid arguments is a result with isError, which a model can read",
        rule: Rule::Case(invalid_as_error),
    },
    Check {
        id: "tool-failures-are-results",
        requirement: "tools/failures-in-results",
        scope: Scope::Named,
        expected: "a call with valid arguments that fails has a result with isError, and no internal error",
        rule: Rule::Case(failures),
    },
    Check {
        id: "results-follow-the-arguments",
        requirement: "workbench/results-of-the-call",
        scope: Scope::Named,
        expected: "a read-only tool whose result repeats an argument does not repeat it in the result of a call without it",
        rule: Rule::Case(own_arguments),
    },
    Check {
        id: "concurrent-calls-have-their-own-results",
        requirement: "messages/same-id",
        scope: Scope::Named,
        expected: "of two open calls of a tool, each has the result that the same call has alone",
        rule: Rule::Case(own_results),
    },
    Check {
        id: "calls-may-have-metadata",
        requirement: "tools/calls-with-metadata",
        scope: Scope::Named,
        expected: "a call with a progress token is not rejected if the same call without `_meta` has a result",
        rule: Rule::Case(with_metadata),
    },
    Check {
        id: "long-texts-are-decoded-whole",
        requirement: "messages/utf-8",
        scope: Scope::Named,
        expected: "the result of a tool that repeats a long text beyond ASCII has no replacement characters",
        rule: Rule::Case(whole_texts),
    },
    Check {
        id: "calls-need-no-arguments",
        requirement: "tools/optional-arguments",
        scope: Scope::Named,
        expected: "a call without `arguments` causes no internal error",
        rule: Rule::Case(no_arguments),
    },
    Check {
        id: "tool-names-are-case-sensitive",
        requirement: "tools/case-sensitive-names",
        scope: Scope::Named,
        expected: "a tool cannot be called under its name in another case",
        rule: Rule::Case(other_case),
    },
    Check {
        id: "task-tools-reject-plain-calls",
        requirement: "tools/task-required",
        scope: Scope::Named,
        expected: "a tool whose taskSupport is `required` rejects a call without a task with -32601",
        rule: Rule::Case(task_required),
    },
    Check {
        id: "tool-calls-are-answered",
        requirement: "tools/calls-answered",
        scope: Scope::Named,
        expected: "a call has a response or progress within ten seconds, and within five if an equal call is fast",
        rule: Rule::Case(lost::answered),
    },
];

const NO_CALLS: &str = "no listed tool was called";

/// A call, and the definition of its tool.
struct Call<'t, 'a> {
    request: &'t RequestResponse<'a>,
    name: &'a str,
    tool: &'a Value,
}

impl<'a> Call<'_, 'a> {
    /// The tool and the arguments. No arguments are those of an empty object.
    fn kind(&self) -> (&'a str, String) {
        (self.name, self.request.param("arguments").map_or_else(|| "{}".to_owned(), Value::to_string))
    }

    /// Whether the tool runs only as a task (2025-11-25, basic/utilities/tasks).
    fn needs_task(&self) -> bool {
        self.tool.pointer("/execution/taskSupport").is_some_and(|support| support == "required")
    }

    /// The complete result, if the call succeeded.
    fn success(&self) -> Option<&'a Value> {
        let result = self.request.result()?;
        // A task instead of a result (2025-11-25, basic/utilities/tasks) is not judged.
        let judged = is_complete(result) && result.get("task").is_none();
        (judged && !has_is_error(result)).then_some(result)
    }
}

/// The calls of listed tools.
fn calls<'t, 'a>(transcript: &'t Transcript<'a>) -> Vec<Call<'t, 'a>> {
    let mut tools: HashMap<&str, &Value> = HashMap::new();
    for (_, tool) in transcript.items("tools/list", "tools") {
        if let Some(name) = tool.get("name").and_then(Value::as_str) {
            tools.entry(name).or_insert(tool);
        }
    }
    let call = |request: &'t RequestResponse<'a>| {
        let name = request.param("name")?.as_str()?;
        Some(Call { request, name, tool: tools.get(name)? })
    };
    meaningful_calls(transcript).filter_map(call).collect()
}

fn structured_content(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    let mut validators = HashMap::new();
    for call in calls(transcript) {
        let schema = call.tool.get("outputSchema").filter(|schema| schema.is_object());
        let (Some(schema), Some(result)) = (schema, call.success()) else { continue };
        let validator = validators.entry(call.name).or_insert_with(|| jsonschema::validator_for(schema).ok());
        let Some(validator) = validator else { continue };
        let fault = match result.get("structuredContent") {
            None => Some("structuredContent is missing".to_owned()),
            Some(content) => validator.validate(content).err().map(|error| {
                let path = error.instance_path().to_string();
                format!(
                    "structuredContent is invalid at `{path}`: {}",
                    error.to_string().chars().take(160).collect::<String>()
                )
            }),
        };
        let message = |fault| format!("in the result of `{}`, {fault}", call.name);
        findings.check(call.request.last_frame(), fault.map_or(Ok(()), |fault| Err(message(fault))));
    }
    findings.or_not_applicable("results", "no tool with an outputSchema was called successfully")
}

fn structured_as_text(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    let results = transcript.requests_of("tools/call").filter_map(|call| Some((call, call.result()?)));
    for (call, result) in results.filter(|(_, result)| is_complete(result)) {
        let Some(structured) = result.get("structuredContent") else { continue };
        let blocks = result.get("content").and_then(Value::as_array).into_iter().flatten();
        let texts: Vec<&str> = blocks.filter_map(|block| block.get("text")?.as_str()).collect();
        let missing = || format!("no text block has the JSON of {}", brief(structured));
        findings.check(call.last_frame(), if is_in_texts(structured, &texts) { Ok(()) } else { Err(missing()) });
    }
    findings.or_not_applicable("results", "no result has structuredContent")
}

/// Whether text blocks have the structured content. SDKs wrap a value that is not an object into an object with one member, and
/// write the value itself as text, one block per item of an array.
fn is_in_texts(structured: &Value, texts: &[&str]) -> bool {
    let is = |text: &str, value: &Value| {
        value.as_str() == Some(text) || serde_json::from_str::<Value>(text).is_ok_and(|parsed| is_same(&parsed, value))
    };
    let as_blocks = |value: &Value| {
        let items = value.as_array().filter(|items| items.len() == texts.len());
        items.is_some_and(|items| items.iter().zip(texts).all(|(item, text)| is(text, item)))
    };
    let written = |value: &Value| texts.iter().any(|text| is(text, value)) || as_blocks(value);
    let wrapped =
        structured.as_object().filter(|members| members.len() == 1).and_then(|members| members.values().next());
    written(structured) || wrapped.is_some_and(written)
}

/// Whether two values are equal, where `1` and `1.0` are one number (JSON Schema 2020-12, core, instance equality).
fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one == other || one.as_f64() == other.as_f64(),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            let is_kept = |(name, value): (&String, &Value)| other.get(name).is_some_and(|kept| is_same(value, kept));
            one.len() == other.len() && one.iter().all(is_kept)
        }
        _ => one == other,
    }
}

/// Whether the first call of the tool, which has valid arguments, fails in the same way. Such a rejection, for example of a
/// tool that the server does not find, says nothing about the arguments.
fn fails_anyway(calls: &[Call<'_, '_>], call: &Call<'_, '_>) -> bool {
    let outcome = |call: &Call<'_, '_>| (call.request.error().cloned(), call.request.result().cloned());
    let first = calls.iter().find(|one| one.name == call.name && one.request.response.is_some());
    call.success().is_none()
        && first.is_some_and(|first| {
            first.request.request.seq() < call.request.request.seq() && outcome(first) == outcome(call)
        })
}

/// The calls with a response, each with the rule of the input schema that its arguments violate, if they violate one. Another
/// check judges missing responses.
fn validated<'c, 't, 'a>(calls: &'c [Call<'t, 'a>]) -> Vec<(&'c Call<'t, 'a>, Option<String>)> {
    with_violations(calls.iter().filter(|call| call.request.response.is_some()))
}

/// Calls, each with the rule of the input schema that its arguments violate, if they violate one.
fn with_violations<'c, 't: 'c, 'a: 'c>(
    calls: impl Iterator<Item = &'c Call<'t, 'a>>,
) -> Vec<(&'c Call<'t, 'a>, Option<String>)> {
    let mut validators = HashMap::new();
    let none = json!({});
    let violation = |call: &'c Call<'t, 'a>| {
        let schema = call.tool.get("inputSchema").filter(|schema| schema.is_object())?;
        let validator = validators.entry(call.name).or_insert_with(|| jsonschema::validator_for(schema).ok());
        let error = validator.as_ref()?.validate(call.request.param("arguments").unwrap_or(&none)).err();
        Some((call, error.map(|error| error.to_string().chars().take(160).collect())))
    };
    calls.filter_map(violation).collect()
}

/// Judges the calls whose arguments violate the input schema. The fault gets the violated rule.
fn judge_invalid(transcript: &Transcript<'_>, fault: impl Fn(&Call<'_, '_>) -> Option<String>) -> CheckOutcome {
    let mut findings = Findings::default();
    let calls = calls(transcript);
    let invalid = validated(&calls).into_iter().filter_map(|(call, rule)| Some((call, rule?)));
    for (call, rule) in invalid.filter(|(call, _)| !fails_anyway(&calls, call)) {
        let message = |fault| {
            let arguments = call.request.param("arguments").map_or_else(|| "{}".to_owned(), brief);
            format!("the call of `{}` with {arguments} {fault}, but {rule}", call.name)
        };
        match (fault(call), call.request.code().zip(known::sdk_of(call.request))) {
            (Some(_), Some((code, sdk))) => findings.known(call.request.last_frame(), known::rejection(code, sdk)),
            (fault, _) => findings.check(call.request.last_frame(), fault.map_or(Ok(()), |fault| Err(message(fault)))),
        }
    }
    findings.or_not_applicable("calls", "no tool was called with invalid arguments")
}

fn invalid_arguments(transcript: &Transcript<'_>) -> CheckOutcome {
    judge_invalid(transcript, |call| call.success().map(|_| "succeeds".to_owned()))
}

fn invalid_code(transcript: &Transcript<'_>) -> CheckOutcome {
    judge_invalid(transcript, |call| {
        let mirrored = || call.tool.get("inputSchema").is_some_and(has_annotation);
        let code = call.request.code().filter(|code| match code {
            // A tool that runs only as a task is rejected before its arguments are validated.
            -32602 | -32601 => false,
            // A header cannot have a value that its parameter does not allow (2026-07-28, basic/transports/streamable-http).
            -32020 => !mirrored(),
            _ => true,
        })?;
        Some(format!("is rejected with {code}"))
    })
}

fn invalid_as_error(transcript: &Transcript<'_>) -> CheckOutcome {
    judge_invalid(transcript, |call| {
        let error = call.request.error().filter(|_| call.request.code() == Some(-32602))?;
        // Requests that fail to satisfy CallToolRequest have protocol errors (2025-11-25, server/tools#error-handling).
        let is_malformed = call.request.param("arguments").is_some_and(|arguments| !arguments.is_object());
        // A tool that runs only as a task is rejected before its arguments are validated.
        (!is_malformed && !call.needs_task()).then(|| format!("is rejected with {}", brief(error)))
    })
}

/// Errors of a call that come from the tool: internal errors and codes that servers define.
fn is_failure(code: i64) -> bool {
    let is_of_protocol = matches!(code, -32_799..=-32_700 | -32_602..=-32_600 | -32_099..=-32_000);
    !is_of_protocol
}

fn failures(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    let calls = calls(transcript);
    for (call, _) in validated(&calls).into_iter().filter(|(_, violated)| violated.is_none()) {
        let Some(arguments) = call.request.param("arguments") else { continue };
        let seq = call.request.last_frame();
        let message =
            |error| format!("the call of `{}` with {} fails with {}", call.name, brief(arguments), brief(error));
        match (call.request.error(), call.request.code(), known::sdk_of(call.request)) {
            (Some(_), Some(code), Some(sdk)) => findings.known(seq, known::rejection(code, sdk)),
            (Some(error), Some(code), None) if is_failure(code) => findings.check(seq, Err(message(error))),
            _ => match call.request.result().and_then(unmarked_failure) {
                Some(text) => findings.fail(format!("the result of `{}` has no isError: {text}", call.name), [seq]),
                None => findings.saw(seq),
            },
        }
    }
    findings.or_not_applicable("calls", "no tool was called with valid arguments")
}

/// The text of a result without `isError` that only reports a failure.
fn unmarked_failure(result: &Value) -> Option<String> {
    const BEGINNINGS: [&str; 4] = ["error: ", "exception: ", "failed to ", "traceback (most recent call last)"];
    /// A longer text may be a document.
    const MAX_LENGTH: usize = 500;
    let [content] = result.get("content")?.as_array()?.as_slice() else { return None };
    let text = content.get("text")?.as_str()?;
    let start = text.trim_start_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    let reports = text.len() <= MAX_LENGTH && BEGINNINGS.iter().any(|beginning| start.starts_with(beginning));
    (reports && !has_is_error(result)).then(|| brief(&content["text"]))
}

/// A tool that changes something may well return what an earlier call gave it.
fn own_arguments(transcript: &Transcript<'_>) -> CheckOutcome {
    let mut findings = Findings::default();
    let mut repeating: HashMap<&str, (&str, &Value)> = HashMap::new();
    for call in calls(transcript) {
        let is_read_only = call.tool.pointer("/annotations/readOnlyHint") == Some(&Value::Bool(true));
        let Some(result) = call.success().filter(|_| is_read_only) else { continue };
        let arguments = call.request.param("arguments").unwrap_or(&Value::Null);
        let Some((argument, first)) = repeating.get(call.name) else {
            repeating.extend(repeated_text(arguments, result).map(|argument| (call.name, (argument, result))));
            continue;
        };
        // A search for an empty text finds everything.
        let is_open = arguments.as_object().is_some_and(|arguments| arguments.values().any(|value| value == ""));
        // The schema may name it as the default.
        if is_open || contains(arguments, argument) || contains(&call.tool["inputSchema"], argument) {
            continue;
        }
        let message = || {
            let name = call.name;
            format!("the result of `{name}` repeats {argument:?}, which is an argument of another call")
        };
        findings.check(call.request.last_frame(), if *first == result { Err(message()) } else { Ok(()) });
    }
    findings.or_not_applicable("results", "no read-only tool repeated an argument and was called without it")
}

/// A call with a result, and the result without its metadata.
struct Answered<'t, 'a> {
    call: &'t RequestResponse<'a>,
    tool: &'a str,
    arguments: String,
    result: Value,
}

/// Judges pairs of calls that were open at the same time by the results of the same calls alone. A tool whose results change may
/// give any of them, so those of both calls must be stable, differ, and be exchanged.
fn own_results(transcript: &Transcript<'_>) -> CheckOutcome {
    let answered: Vec<Answered<'_, '_>> = calls(transcript)
        .iter()
        .filter_map(|call| {
            let result = plain_result(call.success().filter(|result| result.is_object())?);
            let arguments = call.request.param("arguments").map(Value::to_string).unwrap_or_default();
            Some(Answered { call: call.request, tool: call.name, arguments, result })
        })
        .collect();
    let is_pair = |[first, second]: &[Answered<'_, '_>; 2]| {
        let differ = first.tool == second.tool && first.arguments != second.arguments;
        differ && second.call.request.seq() < first.call.last_frame()
    };
    let mut alone: HashMap<(&str, &str), Vec<&Value>> = HashMap::new();
    let mut pairs = Vec::new();
    let mut rest = answered.as_slice();
    while let Some((one, others)) = rest.split_first() {
        match rest.first_chunk::<2>().filter(|two| is_pair(two)) {
            Some(pair) => {
                pairs.push(pair);
                rest = &rest[2..];
            }
            None => {
                alone.entry((one.tool, &one.arguments)).or_default().push(&one.result);
                rest = others;
            }
        }
    }
    let own = |one: &Answered<'_, '_>| match alone.get(&(one.tool, one.arguments.as_str()))?.as_slice() {
        [first, others @ ..] if !others.is_empty() && others.iter().all(|other| other == first) => Some(*first),
        _ => None,
    };
    let mut findings = Findings::default();
    for [first, second] in pairs {
        let (Some(of_first), Some(of_second)) = (own(first), own(second)) else { continue };
        let exchanged = of_first != of_second && first.result == *of_second && second.result == *of_first;
        let frames = [first.call.frames(), second.call.frames()].concat();
        findings.saw(second.call.last_frame());
        if exchanged {
            findings.fail(format!("two calls of `{}` have the results of each other", first.tool), frames);
        }
    }
    findings.or_not_applicable("pairs", "no tool with stable results was called twice at once")
}

/// The first argument that a result repeats, without short words.
fn repeated_text<'a>(arguments: &'a Value, result: &Value) -> Option<&'a str> {
    let texts = arguments.as_object()?.values().filter_map(Value::as_str);
    texts.filter(|text| text.len() >= UNUSUAL_LENGTH).find(|text| contains(result, text))
}

/// Only 2024-11-05 to 2025-11-25 have calls without metadata.
fn with_metadata(transcript: &Transcript<'_>) -> CheckOutcome {
    let calls = calls(transcript);
    let (with, without): (Vec<_>, Vec<_>) = calls.iter().partition(|call| call.request.param("_meta").is_some());
    let succeeds: HashSet<(&str, String)> =
        without.iter().filter(|call| call.success().is_some()).map(|call| call.kind()).collect();
    let compared = with.into_iter().filter(|call| succeeds.contains(&call.kind()));
    let fault = |call: &&Call<'_, '_>| {
        let error = call.request.error().filter(|_| matches!(call.request.code(), Some(-32602 | -32600)))?;
        Some(format!("the call of `{}` is rejected with {}", call.name, brief(error)))
    };
    Findings::from_each(compared.map(|call| (call.request.last_frame(), call)), fault)
        .or_not_applicable("calls", "no call was made with and without metadata")
}

/// A server that decodes each block of its input by itself breaks the letters at the ends of blocks.
fn whole_texts(transcript: &Transcript<'_>) -> CheckOutcome {
    let long = NOT_ASCII.repeat(UNUSUAL_LENGTH);
    let repeating = calls(transcript).into_iter().filter_map(|call| {
        let result = call.success().filter(|result| contains(result, &long))?;
        let arguments = call.request.param("arguments")?;
        (contains(arguments, &long) && !contains(arguments, REPLACEMENT)).then_some((call, result))
    });
    let fault = |(call, result): &(Call<'_, '_>, &Value)| {
        let count: usize = texts(result).map(|text| text.matches(REPLACEMENT).count()).sum();
        (count > 0).then(|| format!("the result of `{}` has {count} replacement characters", call.name))
    };
    Findings::from_each(repeating.map(|one| (one.0.request.last_frame(), one)), fault)
        .or_not_applicable("results", "no tool repeated a long text")
}

fn contains(value: &Value, text: &str) -> bool {
    texts(value).any(|one| one.contains(text))
}

fn no_arguments(transcript: &Transcript<'_>) -> CheckOutcome {
    let (with, without): (Vec<_>, Vec<_>) =
        calls(transcript).into_iter().partition(|call| call.request.param("arguments").is_some());
    // A tool that also fails with arguments lacks something else, such as its network.
    let fails_anyway = |name: &str| with.iter().any(|call| call.name == name && call.request.code() == Some(-32603));
    let calls = without.into_iter().filter(|call| !fails_anyway(call.name));
    let fault = |call: &Call<'_, '_>| {
        let internal = call.request.error().filter(|_| call.request.code() == Some(-32603))?;
        Some(format!("the response to the call of `{}` is {}", call.name, brief(internal)))
    };
    Findings::from_each(calls.map(|call| (call.request.last_frame(), call)), fault)
        .or_not_applicable("calls", "no tool was called without `arguments`")
}

fn other_case(transcript: &Transcript<'_>) -> CheckOutcome {
    let listed = transcript.items("tools/list", "tools").filter_map(|(_, tool)| tool.get("name")?.as_str());
    let names: HashMap<String, Vec<&str>> = listed.fold(HashMap::new(), |mut names, name| {
        names.entry(name.to_ascii_lowercase()).or_default().push(name);
        names
    });
    let calls = transcript.requests_of("tools/call").filter_map(|call| {
        let name = call.param("name")?.as_str()?;
        let listed = names.get(&name.to_ascii_lowercase())?;
        (!listed.contains(&name)).then_some((call.last_frame(), (name, call)))
    });
    let fault = |(name, call): &(&str, &RequestResponse<'_>)| {
        let success = call.result().filter(|result| !has_is_error(result))?;
        Some(format!("the call of `{name}` succeeds: {}", brief(success)))
    };
    Findings::from_each(calls, fault).or_not_applicable("calls", "no tool was called under a name in another case")
}

fn task_required(transcript: &Transcript<'_>) -> CheckOutcome {
    let declared = transcript.declares("tasks.requests.tools.call") == Some(true);
    let calls = calls(transcript)
        .into_iter()
        .filter(|call| declared && call.needs_task() && call.request.param("task").is_none());
    let fault = |call: &Call<'_, '_>| {
        let response = call.request.response.map(|response| response.json);
        // The TypeScript SDK turns every error of a call into a result.
        let in_result = call.request.result().is_some_and(has_is_error);
        (call.request.code() != Some(-32601) && !in_result)
            .then(|| format!("the response to the call of `{}` is {}", call.name, brief_or_missing(response)))
    };
    Findings::from_each(calls.map(|call| (call.request.last_frame(), call)), fault)
        .or_not_applicable("calls", "no tool that requires a task was called without one")
}
