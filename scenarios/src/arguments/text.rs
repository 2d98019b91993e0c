//! Strings for a schema.

use serde_json::{Map, Value};

use super::pattern;

/// A string without a format and a pattern. A result that contains it probably has it from the arguments.
const PLAIN: &str = "workbench";
/// Maximum length of a generated string.
const MAX_LENGTH: u64 = 20_000;

/// An address that is refused at once: the name of a host could take 5 s to look up without a network, and calls of tools
/// that fetch it would differ from run to run. Port 9 discards what it gets (RFC 863), and browsers block it.
pub(super) const ADDRESS: &str = "https://127.0.0.1:9/";

/// Examples of the formats of JSON Schema (2020-12, validation, section 7.3). Names of hosts end in `.invalid`.
const FORMATS: &[(&str, &str)] = &[
    ("date", "2025-01-31"),
    ("date-time", "2025-01-31T12:00:00Z"),
    ("time", "12:00:00Z"),
    ("duration", "P1D"),
    ("email", "user@workbench.invalid"),
    ("idn-email", "user@workbench.invalid"),
    ("hostname", "workbench.invalid"),
    ("idn-hostname", "workbench.invalid"),
    ("ipv4", "127.0.0.1"),
    ("ipv6", "::1"),
    ("uri", ADDRESS),
    ("url", ADDRESS),
    ("iri", ADDRESS),
    ("uri-reference", ADDRESS),
    ("iri-reference", ADDRESS),
    ("uri-template", "https://127.0.0.1:9/{id}"),
    ("uuid", "3f0c1bb2-6f0e-4e0b-9d0a-0a8b6a1f2c3d"),
    ("json-pointer", "/a"),
    ("relative-json-pointer", "0"),
    ("regex", "a"),
    ("byte", "dGVzdA=="),
];

/// A string that satisfies the keywords, if one was found.
pub(super) fn text(flat: &Map<String, Value>) -> Option<String> {
    let length = |key: &str| flat.get(key).and_then(Value::as_u64);
    let (least, most) = (length("minLength").unwrap_or(0), length("maxLength").unwrap_or(MAX_LENGTH));
    if least > MAX_LENGTH || least > most {
        return None;
    }
    if let Some(source) = flat.get("pattern").and_then(Value::as_str) {
        return pattern::matching(source, least, most);
    }
    let format = flat.get("format").and_then(Value::as_str);
    if let Some((_, example)) = FORMATS.iter().find(|(name, _)| format == Some(name)) {
        return Some((*example).to_owned());
    }
    let filled = PLAIN.chars().chain(std::iter::repeat('t'));
    let count = least.max((PLAIN.len() as u64).min(most));
    Some(filled.take(usize::try_from(count).ok()?).collect())
}
