//! What a value must hold: JSONPaths, regular expressions, and expectations that could not fail.

use diagnostics::document::TreeCursor;
use serde_json_path::JsonPath;

use super::Findings;
use crate::model::ValueExpectation;

/// The fields of which one is given beside `path`.
const KINDS: [&str; 7] = ["equals", "count", "contains", "matches", "unique", "exists", "set"];

/// Judges a list of expectations, which lies at this spot.
pub(super) fn judge(values: &[ValueExpectation], list: TreeCursor<'_>, findings: &mut Findings<'_>) {
    for (position, value) in values.iter().enumerate() {
        judge_one(value, list.item(position), findings);
    }
}

/// A list without elements expects nothing; whoever wrote it meant something else.
pub(super) fn not_empty(holder: TreeCursor<'_>, key: &str, empty: bool, findings: &mut Findings<'_>) {
    if empty && holder.has(key) {
        findings.key(
            holder.key(key),
            format!("`{key}` expects nothing"),
            "name what is expected, or take the key away",
        );
    }
}

fn judge_one(value: &ValueExpectation, spot: TreeCursor<'_>, findings: &mut Findings<'_>) {
    path(&value.path, spot, findings);
    let given: Vec<&str> = KINDS.into_iter().filter(|kind| spot.has(kind)).collect();
    match given[..] {
        [] => findings.value(spot, "nothing is expected of the value", format!("add one of `{}`", KINDS.join("`, `"))),
        [_] => {}
        [first, second, ..] => findings.key(
            spot.key(second),
            format!("`{first}` and `{second}` in one expectation"),
            "write two expectations, each with the path",
        ),
    }
    if let Some(pattern) = &value.matches {
        matches(pattern, spot.key("matches"), findings);
    }
    if value.contains.as_deref() == Some("") {
        findings.value(
            spot.key("contains"),
            "every text contains nothing, so this always holds",
            "say what it contains",
        );
    }
    if value.unique == Some(false) {
        findings.value(spot.key("unique"), "`unique: false` says nothing", "write `unique: true`, or take it away");
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
        "a path begins with `$`"
    };
    // The parser counts bytes, from 1.
    let before = path.get(..cause.position().saturating_sub(1)).map_or(0, |before| before.chars().count());
    let reason = if path.starts_with('$') { format!(": {}", cause.message()) } else { String::new() };
    let message = format!("`{path}` is not a JSONPath{reason}");
    findings.place(|| spot.part(before, 1), message, advice);
}

fn matches(pattern: &str, spot: TreeCursor<'_>, findings: &mut Findings<'_>) {
    match regex::Regex::new(pattern) {
        Err(cause) => {
            // The last line says what is wrong; those before it draw the pattern, which we do ourselves.
            let cause = cause.to_string();
            let reason = cause.lines().last().unwrap_or_default().trim_start_matches("error: ");
            findings.value(
                spot,
                format!("`{pattern}` is not a regular expression: {reason}"),
                "a `\\` in front takes a character as it is",
            );
        }
        Ok(_) if matches_all(pattern) => {
            findings.value(spot, "every text matches this, so it always holds", "say what it must look like");
        }
        Ok(_) => {}
    }
}

/// Whether the pattern is one of those that people write for "anything".
fn matches_all(pattern: &str) -> bool {
    let bare = pattern.trim_start_matches('^').trim_end_matches('$');
    matches!(bare, "" | ".*" | "(.*)" | ".*?" | "(?s).*" | "(?s:.*)")
}
