//! Expectations on values: JSONPaths, regular expressions, and expectations that cannot fail.

use diagnostics::document::TreeCursor;
use serde_json_path::JsonPath;

use super::Findings;
use crate::model::ValueExpectation;

/// The keys of which an expectation has exactly one, in addition to `path`.
const KINDS: [&str; 7] = ["equals", "count", "contains", "matches", "unique", "exists", "set"];

/// Checks a list of expectations.
pub(super) fn check(values: &[ValueExpectation], list: TreeCursor<'_>, findings: &mut Findings<'_>) {
    for (position, value) in values.iter().enumerate() {
        check_one(value, list.item(position), findings);
    }
}

/// Rejects an empty list, which expects nothing.
pub(super) fn not_empty(holder: TreeCursor<'_>, key: &str, empty: bool, findings: &mut Findings<'_>) {
    if empty && holder.has(key) {
        findings.key(holder.key(key), format!("`{key}` expects nothing"), "add an expectation, or remove the key");
    }
}

fn check_one(value: &ValueExpectation, spot: TreeCursor<'_>, findings: &mut Findings<'_>) {
    path(&value.path, spot, findings);
    let given: Vec<&str> = KINDS.into_iter().filter(|kind| spot.has(kind)).collect();
    match given[..] {
        [] => {
            findings.value(spot, "an expectation without a condition", format!("add one of `{}`", KINDS.join("`, `")))
        }
        [_] => {}
        [first, second, ..] => findings.key(
            spot.key(second),
            format!("`{first}` and `{second}` in one expectation"),
            "write two expectations with the same path",
        ),
    }
    if let Some(pattern) = &value.matches {
        matches(pattern, spot.key("matches"), findings);
    }
    if value.contains.as_deref() == Some("") {
        findings.value(spot.key("contains"), "an empty text is in every string", "write the expected text");
    }
    if value.unique == Some(false) {
        findings.value(spot.key("unique"), "`unique: false` has no effect", "write `unique: true`, or remove it");
    }
}

fn path(path: &str, spot: TreeCursor<'_>, findings: &mut Findings<'_>) {
    if path.is_empty() && !spot.has("path") {
        findings.value(spot, "`path` is missing", "add `path: $`, the whole value, or a JSONPath into it");
        return;
    }
    let Err(cause) = JsonPath::parse(path) else { return };
    let spot = spot.key("path");
    let advice = if path.starts_with('$') {
        "see RFC 9535; names with hyphens need `['...']`"
    } else {
        "a path starts with `$`"
    };
    // The parser counts bytes, from 1.
    let before = path.get(..cause.position().saturating_sub(1)).map_or(0, |before| before.chars().count());
    let reason = if path.starts_with('$') { format!(": {}", cause.message()) } else { String::new() };
    let message = format!("`{path}` is not a JSONPath{reason}");
    findings.at(|| spot.part(before, 1), message, advice);
}

fn matches(pattern: &str, spot: TreeCursor<'_>, findings: &mut Findings<'_>) {
    match regex::Regex::new(pattern) {
        Err(cause) => {
            let reason = regex_problem(&cause);
            findings.value(
                spot,
                format!("`{pattern}` is not a regular expression: {reason}"),
                "escape special characters with `\\`",
            );
        }
        Ok(_) if matches_all(pattern) => {
            findings.value(spot, "every string matches this", "write a stricter expression");
        }
        Ok(_) => {}
    }
}

/// The last line of an error, without the drawing of the pattern.
pub(super) fn regex_problem(error: &regex::Error) -> String {
    error.to_string().lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned()
}

/// Whether the pattern is a common one for any string.
fn matches_all(pattern: &str) -> bool {
    let bare = pattern.trim_start_matches('^').trim_end_matches('$');
    matches!(bare, "" | ".*" | "(.*)" | ".*?" | "(?s).*" | "(?s:.*)")
}
