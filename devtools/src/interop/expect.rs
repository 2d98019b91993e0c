//! Expected results of steps.

use serde_json::Value;

/// The expected result of a step.
#[derive(Debug, Clone)]
pub(super) enum Expect {
    /// This value; numbers are compared by value.
    Exactly(Value),
    /// A string with this JSON.
    Json(Value),
    /// An array with at least these, without duplicates.
    Includes(Vec<&'static str>),
    /// One of these.
    OneOf(&'static [&'static str]),
    /// A string that contains this.
    Contains(String),
    /// Any result.
    Done,
}

impl Expect {
    /// Why the result is not the expected one.
    pub(super) fn mismatch(&self, seen: &Value) -> Option<String> {
        let (matches, expected) = match self {
            Self::Exactly(value) => (same(seen, value), value.to_string()),
            Self::Json(value) => {
                let parsed: Option<Value> = seen.as_str().and_then(|text| serde_json::from_str(text).ok());
                (parsed.is_some_and(|parsed| same(&parsed, value)), value.to_string())
            }
            Self::Includes(names) => (contains_once(seen, names), format!("all of {names:?}, no duplicates")),
            Self::OneOf(values) => {
                (seen.as_str().is_some_and(|seen| values.contains(&seen)), format!("one of {values:?}"))
            }
            Self::Contains(part) => (
                seen.as_str().is_some_and(|seen| seen.contains(part.as_str())),
                format!("a string that contains {part:?}"),
            ),
            Self::Done => return None,
        };
        (!matches).then(|| format!("got {seen}, expected {expected}"))
    }
}

/// Equality of JSON; 50 and 50.0 are equal.
fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => left.as_f64() == right.as_f64(),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left.iter().all(|(key, value)| right.get(key).is_some_and(|other| same(value, other)))
        }
        _ => left == right,
    }
}

fn contains_once(seen: &Value, names: &[&str]) -> bool {
    let Some(list) = seen.as_array() else { return false };
    let seen: Vec<&str> = list.iter().filter_map(Value::as_str).collect();
    let mut distinct = seen.clone();
    distinct.sort_unstable();
    distinct.dedup();
    distinct.len() == list.len() && names.iter().all(|name| seen.contains(name))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn rejects_missing_and_duplicate_items() {
        let includes = Expect::Includes(vec!["a", "b"]);
        assert_eq!(includes.mismatch(&json!(["b", "c", "a"])), None);
        for seen in [json!(["a"]), json!(["a", "b", "b"]), json!("a b"), json!(null)] {
            assert!(includes.mismatch(&seen).is_some(), "{seen}");
        }
        let contains = Expect::Contains("ell".into());
        assert_eq!(contains.mismatch(&json!("hello")), None);
        for seen in [json!("help"), json!(["hello"]), json!(null)] {
            assert!(contains.mismatch(&seen).is_some(), "{seen}");
        }
        assert_eq!(Expect::Exactly(json!({ "a": 1 })).mismatch(&json!({ "a": 1.0 })), None);
        assert!(Expect::Exactly(json!({ "a": 1 })).mismatch(&json!({ "a": 1, "b": 2 })).is_some());
    }
}
