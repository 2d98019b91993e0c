//! Limits the size of recorded bodies, and marks what was removed.

use std::sync::Arc;

use serde_json::Value;

use super::MAX_BODY_BYTES;
use crate::frame::Body;

// Limits of strings, arrays, objects and nesting inside a body that is too large.
const MAX_STRING_BYTES: usize = 1024;
const MAX_ITEMS: usize = 256;
const MAX_DEPTH: usize = 64;

/// Truncates a body to the limit. JSON stays JSON if possible, so that checks still find the id and the method of a
/// message that was too large.
pub(super) fn body(body: Body) -> Body {
    match body {
        Body::Json(mut value) => {
            if weight(&value, MAX_BODY_BYTES) <= MAX_BODY_BYTES {
                return Body::Json(value);
            }
            shorten(Arc::make_mut(&mut value), MAX_DEPTH);
            if weight(&value, MAX_BODY_BYTES) <= MAX_BODY_BYTES {
                return Body::Json(value);
            }
            let mut text = value.to_string();
            cut(&mut text, MAX_BODY_BYTES);
            Body::Text(text)
        }
        Body::Text(mut text) => {
            cut(&mut text, MAX_BODY_BYTES);
            Body::Text(text)
        }
        Body::Event(event) => Body::Event(event),
    }
}

/// The approximate number of bytes of the value as JSON. Counting stops just above the limit.
fn weight(value: &Value, limit: usize) -> usize {
    fn add<'a>(total: usize, items: impl Iterator<Item = (usize, &'a Value)>, limit: usize) -> usize {
        let mut total = total;
        for (extra, item) in items {
            if total > limit {
                break;
            }
            total += extra + weight(item, limit - total.min(limit));
        }
        total
    }
    match value {
        Value::Null | Value::Bool(_) => 5,
        Value::Number(_) => 8,
        Value::String(text) => text.len() + 2,
        Value::Array(items) => add(2, items.iter().map(|item| (1, item)), limit),
        Value::Object(members) => add(2, members.iter().map(|(name, value)| (name.len() + 4, value)), limit),
    }
}

fn shorten(value: &mut Value, depth: usize) {
    match value {
        Value::String(text) => cut(text, MAX_STRING_BYTES),
        Value::Array(_) | Value::Object(_) if depth == 0 => *value = "[cut: too deep]".into(),
        Value::Array(items) => {
            let more = items.len().saturating_sub(MAX_ITEMS);
            items.truncate(MAX_ITEMS);
            items.iter_mut().for_each(|item| shorten(item, depth - 1));
            if more > 0 {
                items.push(format!("[cut: {more} more]").into());
            }
        }
        Value::Object(members) => {
            let more = members.len().saturating_sub(MAX_ITEMS);
            for name in members.keys().skip(MAX_ITEMS).cloned().collect::<Vec<_>>() {
                members.remove(&name);
            }
            members.values_mut().for_each(|member| shorten(member, depth - 1));
            if more > 0 {
                members.insert("[cut]".into(), format!("{more} more").into());
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn cut(text: &mut String, limit: usize) {
    if text.len() > limit {
        let more = text.len() - limit;
        let end = (0..=limit).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        text.truncate(end);
        text.push_str(&format!("[cut: {more} bytes more]"));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn keeps_small_bodies_unchanged() {
        let value = json!({"text": "x".repeat(10_000), "list": vec![1; 1000]});
        assert_eq!(body(Body::json(value.clone())), Body::json(value));
    }

    #[test]
    fn truncates_large_bodies_and_marks_the_cut() {
        let value = json!({"id": 1, "result": {"text": "ä".repeat(MAX_BODY_BYTES), "list": vec!["tool"; 100_000]}});
        let Body::Json(kept) = body(Body::json(value)) else { panic!("it fits as JSON") };
        assert_eq!(kept["id"], 1);
        assert!(kept["result"]["text"].as_str().unwrap().ends_with("bytes more]"));
        assert_eq!(kept["result"]["list"].as_array().unwrap().len(), MAX_ITEMS + 1);
        let Body::Text(text) = body(Body::Text("y".repeat(MAX_BODY_BYTES + 5))) else { panic!("text stays text") };
        assert!(text.ends_with("[cut: 5 bytes more]"));
    }

    #[test]
    fn limits_values_that_are_wide_on_every_level() {
        let wide =
            json!((0..300).map(|_| json!((0..300).map(|_| "0123456789").collect::<Vec<_>>())).collect::<Vec<_>>());
        let Body::Text(text) = body(Body::json(wide)) else { panic!("too large even when shortened") };
        assert!(text.len() < MAX_BODY_BYTES + 64);
    }
}
