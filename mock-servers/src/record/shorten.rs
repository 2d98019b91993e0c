//! Bounds the size of what is kept, and marks what was cut.

use serde_json::Value;

use super::LARGEST_BODY;
use crate::frame::Body;

/// How much of each text, list and depth stays where a body is too large.
const LONGEST_TEXT: usize = 1024;
const LONGEST_LIST: usize = 256;
const DEEPEST: usize = 64;

/// The body, or as much of it as may be kept. JSON stays JSON as long as possible, so that checks still find the id
/// and the method of a message that was too large.
pub(super) fn body(body: Body) -> Body {
    match body {
        Body::Json(mut value) => {
            if weight(&value, LARGEST_BODY) <= LARGEST_BODY {
                return Body::Json(value);
            }
            shorten(&mut value, DEEPEST);
            if weight(&value, LARGEST_BODY) <= LARGEST_BODY {
                return Body::Json(value);
            }
            let mut text = value.to_string();
            cut(&mut text, LARGEST_BODY);
            Body::Text(text)
        }
        Body::Text(mut text) => {
            cut(&mut text, LARGEST_BODY);
            Body::Text(text)
        }
        Body::Mark(mark) => Body::Mark(mark),
    }
}

/// About how many bytes the value takes as text; counted no further than just above the limit.
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
        Value::String(text) => cut(text, LONGEST_TEXT),
        Value::Array(_) | Value::Object(_) if depth == 0 => *value = "[cut: too deep]".into(),
        Value::Array(items) => {
            let more = items.len().saturating_sub(LONGEST_LIST);
            items.truncate(LONGEST_LIST);
            items.iter_mut().for_each(|item| shorten(item, depth - 1));
            if more > 0 {
                items.push(format!("[cut: {more} more]").into());
            }
        }
        Value::Object(members) => {
            let more = members.len().saturating_sub(LONGEST_LIST);
            for name in members.keys().skip(LONGEST_LIST).cloned().collect::<Vec<_>>() {
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

fn cut(text: &mut String, longest: usize) {
    if text.len() > longest {
        let more = text.len() - longest;
        let end = (0..=longest).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        text.truncate(end);
        text.push_str(&format!("[cut: {more} bytes more]"));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn keeps_small_bodies_as_they_are() {
        let value = json!({"text": "x".repeat(10_000), "list": vec![1; 1000]});
        assert_eq!(body(Body::Json(value.clone())), Body::Json(value));
    }

    #[test]
    fn cuts_large_ones_and_says_so() {
        let value = json!({"id": 1, "result": {"text": "ä".repeat(LARGEST_BODY), "list": vec!["tool"; 100_000]}});
        let Body::Json(kept) = body(Body::Json(value)) else { panic!("it still fits as JSON") };
        assert_eq!(kept["id"], 1);
        assert!(kept["result"]["text"].as_str().unwrap().ends_with("bytes more]"));
        assert_eq!(kept["result"]["list"].as_array().unwrap().len(), LONGEST_LIST + 1);
        let Body::Text(text) = body(Body::Text("y".repeat(LARGEST_BODY + 5))) else { panic!("a text stays one") };
        assert!(text.ends_with("[cut: 5 bytes more]"));
    }

    #[test]
    fn bounds_what_is_wide_on_every_level() {
        let wide =
            json!((0..300).map(|_| json!((0..300).map(|_| "0123456789").collect::<Vec<_>>())).collect::<Vec<_>>());
        let Body::Text(text) = body(Body::Json(wide)) else { panic!("too large even when shortened") };
        assert!(text.len() < LARGEST_BODY + 64);
    }
}
