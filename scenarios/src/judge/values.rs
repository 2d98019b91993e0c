//! JSONPath expectations on one value.

use std::collections::HashSet;

use serde_json::Value;
use serde_json_path::JsonPath;

use super::{check::brief, transcript::IdKey};
use crate::model::ValueExpectation;

/// The result of an expectation on a value.
pub(super) struct ValueFinding {
    pub(super) expected: String,
    pub(super) observed: String,
    pub(super) held: bool,
}

/// Evaluates an expectation on a value.
pub(super) fn evaluate(expectation: &ValueExpectation, value: &Value) -> ValueFinding {
    let path = match JsonPath::parse(&expectation.path) {
        Ok(path) => path,
        // The loader rejects such a file; another version of the workbench may have loaded it.
        Err(cause) => return ValueFinding::broken("a JSONPath (RFC 9535)".to_owned(), cause.to_string()),
    };
    let nodes: Vec<&Value> = path.query(value).all();
    let at = &expectation.path;
    if let Some(wanted) = &expectation.equals {
        let held = matches!(nodes.as_slice(), [one] if same(one, wanted));
        return ValueFinding::new(format!("{at} is {}", brief(wanted)), shown(&nodes), held);
    }
    if let Some(wanted) = expectation.count {
        let held = nodes.len() == wanted;
        return ValueFinding::new(format!("{at} selects {wanted} nodes"), format!("{} nodes", nodes.len()), held);
    }
    if let Some(wanted) = &expectation.contains {
        let held = matches!(nodes.as_slice(), [Value::String(text)] if text.contains(wanted));
        return ValueFinding::new(format!("{at} contains `{wanted}`"), shown(&nodes), held);
    }
    if let Some(pattern) = &expectation.matches {
        return matching(at, pattern, &nodes);
    }
    if let Some(wanted) = expectation.unique {
        let all = &nodes;
        let mut seen = HashSet::new();
        let repeated = all.iter().find(|node| !seen.insert(IdKey::new(node)));
        let observed = match repeated {
            Some(node) => format!("{} is duplicate", brief(node)),
            None => format!("{} different nodes", all.len()),
        };
        let held = !all.is_empty() && repeated.is_none() == wanted;
        return ValueFinding::new(format!("no two nodes of {at} are equal: {wanted}"), observed, held);
    }
    if let Some(wanted) = expectation.exists {
        let held = nodes.is_empty() != wanted;
        let expected = if wanted { format!("{at} exists") } else { format!("{at} does not exist") };
        return ValueFinding::new(expected, shown(&nodes), held);
    }
    if let Some(wanted) = &expectation.set {
        let found = &nodes;
        let held = found.len() == wanted.len()
            && wanted.iter().all(|one| count(found.iter().copied(), one) == count(wanted.iter(), one));
        let expected = format!("the nodes of {at} are {}", brief(&Value::Array(wanted.clone())));
        return ValueFinding::new(expected, shown(&nodes), held);
    }
    ValueFinding::broken(format!("a condition on {at}"), "the expectation has no condition".to_owned())
}

/// Evaluates an expectation on a value outside of a case. An unmet one returns what was expected and what was observed.
pub(crate) fn evaluate_value(expectation: &ValueExpectation, value: &Value) -> Result<(), (String, String)> {
    let finding = evaluate(expectation, value);
    if finding.held { Ok(()) } else { Err((finding.expected, finding.observed)) }
}

impl ValueFinding {
    fn new(expected: String, observed: String, held: bool) -> Self {
        Self { expected, observed, held }
    }

    fn broken(expected: String, observed: String) -> Self {
        Self::new(expected, observed, false)
    }
}

/// Each node must be a string that matches; without nodes the expectation fails.
fn matching(at: &str, pattern: &str, nodes: &[&Value]) -> ValueFinding {
    let expected = format!("each string of {at} matches /{pattern}/");
    let regex = match regex::Regex::new(pattern) {
        Ok(regex) => regex,
        Err(cause) => return ValueFinding::broken(expected, cause.to_string()),
    };
    let odd = nodes.iter().find(|node| !node.as_str().is_some_and(|text| regex.is_match(text)));
    match odd {
        Some(node) => ValueFinding::broken(expected, brief(node)),
        None => ValueFinding::new(expected, format!("{} nodes, all of which match", nodes.len()), !nodes.is_empty()),
    }
}

/// JSON numbers are equal by value: 1 and 1.0 are the same number (RFC 8259, 6).
fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => left == right || left.as_f64() == right.as_f64(),
        _ => left == right,
    }
}

fn count<'a>(nodes: impl Iterator<Item = &'a Value>, wanted: &Value) -> usize {
    nodes.filter(|node| same(node, wanted)).count()
}

fn shown(nodes: &[&Value]) -> String {
    match nodes {
        [] => "no node".to_owned(),
        [one] => brief(one),
        several => {
            let listed: Vec<String> = several.iter().take(5).map(|node| brief(node)).collect();
            let more = if several.len() > 5 { ", …" } else { "" };
            format!("{} nodes: {}{more}", several.len(), listed.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Evaluates an expectation written as JSON on a fixed value.
    fn held(expectation: Value) -> bool {
        let value = json!({ "tools": [{ "name": "a" }, { "name": "b" }], "same": [1, 1.0], "text": "stuck tool" });
        evaluate(&serde_json::from_value(expectation).expect("an expectation"), &value).held
    }

    #[test]
    fn each_kind_of_expectation_holds_and_breaks() {
        let table = [
            (json!({ "path": "$.tools[0].name", "equals": "a" }), json!({ "path": "$.tools[0].name", "equals": "b" })),
            (json!({ "path": "$.same[1]", "equals": 1 }), json!({ "path": "$.same", "equals": 1 })),
            (json!({ "path": "$.tools[*]", "count": 2 }), json!({ "path": "$.tools[*]", "count": 3 })),
            (json!({ "path": "$.text", "contains": "stuck" }), json!({ "path": "$.tools", "contains": "stuck" })),
            (json!({ "path": "$..name", "matches": "^[ab]$" }), json!({ "path": "$..name", "matches": "^a$" })),
            (json!({ "path": "$..name", "unique": true }), json!({ "path": "$.same[*]", "unique": true })),
            (json!({ "path": "$.text", "exists": true }), json!({ "path": "$.none", "exists": true })),
            (json!({ "path": "$.none", "exists": false }), json!({ "path": "$.text", "exists": false })),
            (json!({ "path": "$..name", "set": ["b", "a"] }), json!({ "path": "$..name", "set": ["a", "a"] })),
        ];
        for (good, bad) in table {
            assert!(held(good.clone()), "{good}");
            assert!(!held(bad.clone()), "{bad}");
        }
    }

    #[test]
    fn nothing_selected_satisfies_nothing_that_speaks_of_each() {
        assert!(!held(json!({ "path": "$.none[*]", "matches": ".*" })));
        assert!(!held(json!({ "path": "$.none[*]", "unique": true })));
        assert!(!held(json!({ "path": "$.text" })), "an expectation without a condition must not pass");
    }
}
