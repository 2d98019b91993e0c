//! Expectations about the client of a server.

use std::{
    fmt,
    ops::{Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive},
};

use evidence::redaction::redact_value;
use serde_json::{Map, Value};

use super::received::{Received, brief};

/// An expected message of the client, and its count [default: at least once].
///
/// Secrets are redacted in received messages and in expectations before they are compared.
#[derive(Debug, Clone, PartialEq)]
pub struct Expect {
    method: String,
    tool: Option<String>,
    arguments: Map<String, Value>,
    params: Map<String, Value>,
    headers: Vec<(String, String)>,
    times: Times,
}

impl Expect {
    /// A request or a notification of this method.
    #[must_use]
    pub fn method(method: impl Into<String>) -> Self {
        Self {
            method: method.into(),
            tool: None,
            arguments: Map::new(),
            params: Map::new(),
            headers: Vec::new(),
            times: Times::from(1..),
        }
    }

    /// A `tools/call` of this tool.
    #[must_use]
    pub fn call(tool: impl Into<String>) -> Self {
        Self::method("tools/call").tool(tool)
    }

    /// The message names this tool.
    #[must_use]
    pub fn tool(self, tool: impl Into<String>) -> Self {
        Self { tool: Some(tool.into()), ..self }
    }

    /// Its arguments include these members. A value that is not an object matches nothing.
    #[must_use]
    pub fn with_arguments(self, arguments: Value) -> Self {
        Self { arguments: members(arguments, "arguments"), ..self }
    }

    /// Its parameters include these members. A value that is not an object matches nothing.
    #[must_use]
    pub fn with_params(self, params: Value) -> Self {
        Self { params: members(params, "params"), ..self }
    }

    /// The HTTP request of the message has this header. Secret values are redacted, so they are equal.
    #[must_use]
    pub fn with_header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// The number of messages: a number, or a range.
    #[must_use]
    pub fn times(self, times: impl Into<Times>) -> Self {
        Self { times: times.into(), ..self }
    }

    /// No such message.
    #[must_use]
    pub fn never(self) -> Self {
        self.times(0)
    }

    /// Whether this count is allowed.
    pub(super) fn allows(&self, times: u64) -> bool {
        self.times.contains(times)
    }

    /// The mismatches of a message, most important first. Without any, the message is the expected one.
    pub(super) fn mismatches(&self, received: &Received) -> Vec<Mismatch> {
        let mut mismatches = Vec::new();
        if received.method() != Some(&self.method) {
            mismatches.push(Mismatch { weight: 1000, words: String::new() });
        }
        if let Some(tool) = &self.tool
            && received.tool() != Some(tool)
        {
            mismatches.push(Mismatch { weight: 100, words: "another tool".into() });
        }
        compare("arguments", &self.arguments, received.arguments(), &mut mismatches);
        compare("params", &self.params, received.params(), &mut mismatches);
        for (name, value) in &self.headers {
            let found = received.header(name);
            if found != Some(value) {
                let words =
                    format!("{name} is {}", found.map_or_else(|| "absent".into(), |found| format!("`{found}`")));
                mismatches.push(Mismatch { weight: 1, words });
            }
        }
        mismatches
    }
}

impl fmt::Display for Expect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.method)?;
        if let Some(tool) = &self.tool {
            write!(f, " of `{tool}`")?;
        }
        for (what, members) in [("arguments", &self.arguments), ("params", &self.params)] {
            if !members.is_empty() {
                write!(f, " with {what} {}", brief(&Value::Object(members.clone())))?;
            }
        }
        for (name, value) in &self.headers {
            write!(f, " with the header {name}: {value}")?;
        }
        write!(f, ", {}", self.times)
    }
}

/// One mismatch of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mismatch {
    pub(super) weight: u64,
    pub(super) words: String,
}

/// An expected object. An invalid value is kept so that the message shows it.
fn members(mut value: Value, what: &str) -> Map<String, Value> {
    redact_value(&mut value);
    match value {
        Value::Object(members) => members,
        other => Map::from_iter([(format!("({what} have to be an object)"), other)]),
    }
}

fn compare(what: &str, wanted: &Map<String, Value>, found: Option<&Value>, mismatches: &mut Vec<Mismatch>) {
    for (name, value) in wanted {
        let found = found.and_then(|found| found.get(name));
        if found.is_none_or(|found| !holds(found, value)) {
            let shown = found.map_or_else(|| "absent".to_owned(), brief);
            mismatches.push(Mismatch { weight: 1, words: format!("{what}.{name} is {shown}") });
        }
    }
}

/// Whether a value contains the expected one: objects can have further members, everything else must be equal.
fn holds(found: &Value, wanted: &Value) -> bool {
    match (found, wanted) {
        (Value::Object(found), Value::Object(wanted)) => {
            wanted.iter().all(|(name, value)| found.get(name).is_some_and(|found| holds(found, value)))
        }
        _ => found == wanted,
    }
}

/// The expected count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Times {
    least: u64,
    /// `None` without a maximum.
    most: Option<u64>,
}

impl Times {
    fn contains(self, times: u64) -> bool {
        times >= self.least && self.most.is_none_or(|most| times <= most)
    }
}

impl fmt::Display for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.least, self.most) {
            (0, Some(0)) => f.write_str("never"),
            (least, Some(most)) if least == most => write!(f, "exactly {}", counted(least)),
            (0, Some(most)) => write!(f, "at most {}", counted(most)),
            (least, Some(most)) => write!(f, "{least} to {}", counted(most)),
            (least, None) => write!(f, "at least {}", counted(least)),
        }
    }
}

/// `once`, or `3 times`.
pub(super) fn counted(times: u64) -> String {
    if times == 1 { "once".into() } else { format!("{times} times") }
}

impl From<u64> for Times {
    fn from(times: u64) -> Self {
        Self { least: times, most: Some(times) }
    }
}

impl From<RangeInclusive<u64>> for Times {
    fn from(range: RangeInclusive<u64>) -> Self {
        Self { least: *range.start(), most: Some(*range.end()) }
    }
}

impl From<Range<u64>> for Times {
    fn from(range: Range<u64>) -> Self {
        Self { least: range.start, most: Some(range.end.saturating_sub(1)) }
    }
}

impl From<RangeFrom<u64>> for Times {
    fn from(range: RangeFrom<u64>) -> Self {
        Self { least: range.start, most: None }
    }
}

impl From<RangeTo<u64>> for Times {
    fn from(range: RangeTo<u64>) -> Self {
        Self { least: 0, most: Some(range.end.saturating_sub(1)) }
    }
}

impl From<RangeToInclusive<u64>> for Times {
    fn from(range: RangeToInclusive<u64>) -> Self {
        Self { least: 0, most: Some(range.end) }
    }
}

impl From<RangeFull> for Times {
    fn from(_: RangeFull) -> Self {
        Self { least: 0, most: None }
    }
}
