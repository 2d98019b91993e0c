use serde_json::json;

use super::*;

fn form(properties: Value, required: Value) -> Form {
    Form::read(&json!({ "type": "object", "properties": properties, "required": required })).unwrap()
}

fn object(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

#[test]
fn fills_in_the_defaults_of_every_kind() {
    let form = form(
        json!({
            "name": {"type": "string", "default": "John"},
            "age": {"type": "integer", "default": 30},
            "score": {"type": "number", "default": 95.5},
            "status": {"type": "string", "enum": ["on", "off"], "default": "on"},
            "sure": {"type": "boolean", "default": true},
            "several": {"type": "array", "items": {"enum": ["a", "b"]}, "default": ["a"]},
            "none": {"type": "string"},
        }),
        json!(["name"]),
    );
    let expected = json!({"name": "John", "age": 31, "score": 95.5, "status": "on", "sure": true, "several": ["a"]});
    assert_eq!(Value::Object(form.fill(object(json!({"age": 31}))).unwrap()), expected);
}

#[test]
fn names_every_field_that_does_not_fit() {
    let form = form(
        json!({
            "mail": {"type": "string", "format": "email"},
            "day": {"type": "string", "format": "date"},
            "short": {"type": "string", "maxLength": 2},
            "many": {"type": "array", "maxItems": 1, "items": {"anyOf": [{"const": "a", "title": "A"}, {"const": "b"}]}},
            "color": {"type": "string", "oneOf": [{"const": "#f00", "title": "Red"}]},
            "age": {"type": "integer", "minimum": 18},
            "needed": {"type": "string"},
        }),
        json!(["needed"]),
    );
    let bad = json!({
        "mail": "no address", "day": "tomorrow", "short": "abc", "many": ["a", "b"], "color": "Red", "age": 17.5, "more": 1,
    });
    let problems = form.fill(object(bad)).unwrap_err();
    let fields: Vec<_> = problems.iter().map(|problem| problem.field.as_str()).collect();
    assert_eq!(fields, ["mail", "day", "short", "many", "color", "age", "needed", "more"]);
    let good = json!({
        "mail": "a@b.example", "day": "2026-07-28", "short": "ab", "many": ["b"], "color": "#f00", "age": 18, "needed": "",
    });
    assert_eq!(Value::Object(form.fill(object(good.clone())).unwrap()), good);
}

#[test]
fn a_default_that_does_not_fit_is_none() {
    let form = form(json!({"age": {"type": "integer", "default": "thirty"}}), json!(["age"]));
    assert_eq!(form.fields()[0].default, None);
    assert_eq!(form.fill(Map::new()).unwrap_err()[0].field, "age");
}

#[test]
fn a_pattern_is_checked_in_linear_time() {
    let with = |pattern: &str| form(json!({"text": {"type": "string", "pattern": pattern}}), json!([]));
    let accepts = |pattern: &str, text: &str| with(pattern).fill(object(json!({ "text": text }))).is_ok();
    assert!(accepts("^[A-Z]\\d+$", "A1") && !accepts("^[A-Z]\\d+$", "a1"));
    // Backtracking would need 2^50 steps.
    assert!(!accepts("^(a+)+$", &format!("{}b", "a".repeat(50))));
    // The engine has no look-around, and a pattern can be too large for it: the server checks them.
    assert!(accepts("^(?!no)", "no") && accepts("(\\w{500}){500}", "no"));
    let choices = json!({"type": "array", "items": {"type": "string", "enum": ["no"], "pattern": "^(?!no)"}});
    assert!(form(json!({"text": choices}), json!([])).fill(object(json!({"text": ["no"]}))).is_ok());
}

#[test]
fn refuses_what_is_no_flat_form() {
    for schema in [
        json!(null),
        json!({"type": "string"}),
        json!({"type": "object", "properties": []}),
        json!({"type": "object", "properties": {"a": {"type": "object"}}}),
        json!({"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1/"}}}),
        json!({"type": "object", "properties": {"a": {"type": "array", "items": {"type": "string"}}}}),
        json!({"type": "object", "properties": {"a": {"type": "string", "minLength": "x"}}}),
    ] {
        assert!(Form::read(&schema).is_err(), "{schema}");
    }
    let many: Map<String, Value> = (0..=FIELDS).map(|n| (n.to_string(), json!({"type": "string"}))).collect();
    assert!(Form::read(&json!({"type": "object", "properties": many})).is_err());
}
