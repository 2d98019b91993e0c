//! Information that a server should not reveal, and characters that hide text from its user.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use evidence::redaction::{REDACTED, is_masked};

use super::has_is_error;
use crate::judge::{
    check::{Check, CheckOutcome, Findings, Rule, Scope, brief},
    transcript::{RequestResponse, Transcript},
};

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "errors-have-no-stack-trace",
        requirement: "workbench/no-stack-traces",
        scope: Scope::Always,
        expected: "an error or log message contains no stack trace",
        rule: Rule::Case(stack_traces),
    },
    Check {
        id: "log-messages-have-no-secrets",
        requirement: "logging/no-secrets",
        scope: Scope::Always,
        expected: "no log message contains a password, a token or another secret",
        rule: Rule::Case(secrets_in_logs),
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

/// The ends of the names of fields that ask for secrets, as letters and digits in lower case.
const SECRETS: [&str; 11] = [
    "password",
    "passwd",
    "passphrase",
    "apikey",
    "accesstoken",
    "refreshtoken",
    "clientsecret",
    "secretkey",
    "privatekey",
    "creditcardnumber",
    "cardnumber",
];

/// Whether a field or parameter is named like a secret.
pub(super) fn is_secret(name: &str) -> bool {
    let name: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    SECRETS.iter().any(|secret| name.to_ascii_lowercase().ends_with(secret))
}

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
    let messages = transcript.server_messages().filter_map(|message| {
        let error = message.error().or_else(|| message.result().filter(|result| has_is_error(result)));
        let logged = || message.param("data").filter(|_| message.is("notifications/message"));
        Some((message.seq(), error.or_else(logged)?))
    });
    let fault = |error: &&Value| {
        let text = texts(error).find(|text| TRACES.iter().any(|trace| text.contains(trace)))?;
        Some(format!("it contains `{}`", text.chars().take(160).collect::<String>().replace('\n', " ")))
    };
    Findings::from_each(messages, fault)
        .or_not_applicable("messages", "the server sent neither an error nor a log message")
}

/// Names of members whose value is a secret.
static SECRET_NAME: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)^(password|passwd|passphrase|(client|api|access|private)?[_-]?secret|(api|access|private|secret)[_-]?key|(access|refresh|auth|bearer|id|session)[_-]?token)$")
        .expect("a valid expression")
});
/// Text that has the form of a credential: a JSON Web Token, a private key, or a key of a common service. The recorder
/// redacts whatever follows the word `Bearer`, so bearer tokens are not among them.
static SECRET_TEXT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?:\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.|-----BEGIN [A-Z ]*PRIVATE KEY-----|\b(?:sk|pk)[-_](?:live|proj|ant)[-_][A-Za-z0-9_-]{8,}|\bgh[pousr]_[A-Za-z0-9]{30,}|\bAKIA[0-9A-Z]{16}\b)")
        .expect("a valid expression")
});

fn secrets_in_logs(transcript: &Transcript<'_>) -> CheckOutcome {
    let messages = transcript.server_messages().filter(|message| message.is("notifications/message"));
    let messages = messages.filter_map(|message| Some((message.seq(), message.param("data")?)));
    let fault = |data: &&Value| secret_in(data).map(|place| format!("a log message has {place}"));
    Findings::from_each(messages, fault).or_not_applicable("messages", "the server sent no log message")
}

/// A description of the first secret in a value. Masked and empty values are none.
fn secret_in(value: &Value) -> Option<String> {
    let is_placeholder =
        |text: &str| text != REDACTED && (text.len() < 4 || is_masked(text) || text.starts_with(['<', '[', '$']));
    match value {
        Value::String(text) => SECRET_TEXT.find(text).map(|_| "a text in the form of a credential".to_owned()),
        Value::Array(items) => items.iter().find_map(secret_in),
        Value::Object(members) => members.iter().find_map(|(name, member)| match member {
            Value::String(text) if SECRET_NAME.is_match(name) && !is_placeholder(text) => {
                Some(format!("the member `{name}`"))
            }
            other => secret_in(other),
        }),
        _ => None,
    }
}

/// All strings in a value.
pub(super) fn texts(value: &Value) -> Box<dyn Iterator<Item = &str> + '_> {
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
