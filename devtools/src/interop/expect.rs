//! What a step has to have seen, of a client that is driven or of a server that is visited.

use serde_json::Value;

/// What a step has to have seen.
#[derive(Debug, Clone)]
pub(super) enum Expect {
    /// This, and numbers may be written as whole ones or not.
    Exactly(Value),
    /// JSON in a text.
    Json(Value),
    /// At least these, and nothing twice.
    Among(Vec<&'static str>),
    /// One of these.
    OneOf(&'static [&'static str]),
    /// A text with this in it.
    Holding(String),
    /// Nothing in particular: it came to its end.
    Done,
}

impl Expect {
    /// What there is to say against what was seen.
    pub(super) fn objection(&self, seen: &Value) -> Option<String> {
        let (holds, expected) = match self {
            Self::Exactly(value) => (same(seen, value), value.to_string()),
            Self::Json(value) => {
                let parsed: Option<Value> = seen.as_str().and_then(|text| serde_json::from_str(text).ok());
                (parsed.is_some_and(|parsed| same(&parsed, value)), value.to_string())
            }
            Self::Among(names) => (holds_once(seen, names), format!("all of {names:?}, nothing twice")),
            Self::OneOf(values) => {
                (seen.as_str().is_some_and(|seen| values.contains(&seen)), format!("one of {values:?}"))
            }
            Self::Holding(part) => {
                (seen.as_str().is_some_and(|seen| seen.contains(part.as_str())), format!("a text with {part:?} in it"))
            }
            Self::Done => return None,
        };
        (!holds).then(|| format!("saw {seen}, expected {expected}"))
    }
}

/// Equality of JSON, in which 50 and 50.0 are one number.
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

fn holds_once(seen: &Value, names: &[&str]) -> bool {
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
    fn objects_to_what_is_not_there_or_not_alone() {
        let among = Expect::Among(vec!["a", "b"]);
        assert_eq!(among.objection(&json!(["b", "c", "a"])), None);
        for seen in [json!(["a"]), json!(["a", "b", "b"]), json!("a b"), json!(null)] {
            assert!(among.objection(&seen).is_some(), "{seen}");
        }
        let holding = Expect::Holding("ell".into());
        assert_eq!(holding.objection(&json!("hello")), None);
        for seen in [json!("help"), json!(["hello"]), json!(null)] {
            assert!(holding.objection(&seen).is_some(), "{seen}");
        }
        assert_eq!(Expect::Exactly(json!({ "a": 1 })).objection(&json!({ "a": 1.0 })), None);
        assert!(Expect::Exactly(json!({ "a": 1 })).objection(&json!({ "a": 1, "b": 2 })).is_some());
    }
}
