//! Information that a server should not reveal, and characters that hide text from its user.

use serde_json::Value;

use crate::judge::{
    check::{Check, CheckOutcome, Findings, Rule, Scope, brief},
    transcript::{RequestResponse, Transcript},
};

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "errors-have-no-stack-trace",
        requirement: "workbench/no-stack-traces",
        scope: Scope::Always,
        expected: "an error contains no stack trace",
        rule: Rule::Case(stack_traces),
    },
    Check {
        id: "descriptions-have-no-hidden-characters",
        requirement: "workbench/no-hidden-characters",
        scope: Scope::Always,
        expected: "names, descriptions and instructions contain no invisible or direction-changing characters",
        rule: Rule::Case(hidden_characters),
    },
    Check {
        id: "resources-stay-in-their-directory",
        requirement: "resources/validated-uris",
        scope: Scope::Always,
        expected: "a URI with `..` does not lead to a file outside of the resources",
        rule: Rule::Case(path_traversal),
    },
];

/// Beginnings of stack traces of common runtimes.
const TRACES: [&str; 6] = [
    "Traceback (most recent call last)",
    "\n    at ",
    "\n\tat ",
    "goroutine 1 [running]",
    "stack backtrace:",
    "thread 'main' panicked at",
];

fn stack_traces(transcript: &Transcript<'_>) -> CheckOutcome {
    let errors = transcript.server_messages().filter_map(|message| Some((message.seq(), message.error()?)));
    let fault = |error: &&Value| {
        let text = texts(error).find(|text| TRACES.iter().any(|trace| text.contains(trace)))?;
        Some(format!("it contains `{}`", text.chars().take(160).collect::<String>().replace('\n', " ")))
    };
    Findings::from_each(errors, fault).or_not_applicable("errors", "the server sent no error")
}

/// All strings in a value.
fn texts(value: &Value) -> Box<dyn Iterator<Item = &str> + '_> {
    match value {
        Value::String(text) => Box::new(std::iter::once(text.as_str())),
        Value::Array(items) => Box::new(items.iter().flat_map(texts)),
        Value::Object(fields) => Box::new(fields.values().flat_map(texts)),
        _ => Box::new(std::iter::empty()),
    }
}

const LISTS: [&str; 6] =
    ["initialize", "server/discover", "tools/list", "prompts/list", "resources/list", "resources/templates/list"];

fn hidden_characters(transcript: &Transcript<'_>) -> CheckOutcome {
    let results = LISTS.iter().flat_map(|method| transcript.requests_of(method));
    let results = results.filter_map(|one| Some((one.last_frame(), one.result()?)));
    let fault = |result: &&Value| {
        texts(result).find_map(|text| {
            let found = hidden_in(text)?;
            let start: String = text.chars().filter(|c| !is_hidden(*c)).take(60).collect();
            Some(format!("U+{:04X} is in `{start}`", u32::from(found)))
        })
    };
    Findings::from_each(results, fault).or_not_applicable("results", "nothing was listed")
}

/// A character that hides or reorders text. Joiners and marks that languages and emoji need are not among them.
fn hidden_in(text: &str) -> Option<char> {
    let mut is_flag = false;
    text.char_indices().find_map(|(position, c)| {
        // Flags of regions are a black flag and tag characters (Unicode Technical Standard 51, ED-14a).
        is_flag = c == '\u{1f3f4}' || (is_flag && matches!(c, '\u{e0000}'..='\u{e007f}'));
        let is_mark_at_start = position == 0 && c == '\u{feff}';
        (is_hidden(c) && !is_flag && !is_mark_at_start).then_some(c)
    })
}

fn is_hidden(c: char) -> bool {
    matches!(c,
        '\u{200b}' | '\u{2060}'..='\u{2064}' | '\u{feff}' // invisible
        | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' // direction
        | '\u{e0000}'..='\u{e007f}' // tags
    )
}

fn path_traversal(transcript: &Transcript<'_>) -> CheckOutcome {
    let reads = transcript.requests_of("resources/read").filter(|one| {
        let uri = one.param("uri").and_then(Value::as_str).unwrap_or_default();
        uri.contains("etc/passwd") || uri.contains("etc%2fpasswd")
    });
    let fault = |one: &&RequestResponse<'_>| {
        let result = one.result()?;
        let leaked = texts(result).any(|text| text.contains("root:") && text.contains(":0:0:"));
        leaked.then(|| format!("the response to {} has the contents of the file", brief(one.request.json)))
    };
    Findings::from_each(reads.map(|one| (one.last_frame(), one)), fault)
        .or_not_applicable("requests", "no such URI was requested")
}
