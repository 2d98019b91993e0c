//! Tables of schemas, and properties of generated arguments.

use jsonschema::Validator;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::*;

fn valid(schema: Value) -> Result<Value, ArgumentError> {
    ArgumentGenerator::new(Some(&schema))?.valid(0).map(Value::Object)
}

/// The schema of an object with one required property.
fn schema_of(property: Value) -> Value {
    json!({ "type": "object", "properties": { "a": property }, "required": ["a"] })
}

fn value_of(property: Value) -> Value {
    valid(schema_of(property)).expect("a valid value")["a"].clone()
}

#[test]
fn omits_optional_properties_and_prefers_given_values() {
    assert_eq!(valid(json!({ "type": "object", "properties": { "a": { "type": "string" } } })), Ok(json!({})));
    assert_eq!(value_of(json!({ "type": "string", "examples": ["e"], "default": "d" })), "e");
    assert_eq!(value_of(json!({ "type": "string", "default": "d" })), "d");
    assert_eq!(value_of(json!({ "type": "string", "enum": ["x", "y"] })), "x");
    assert_eq!(value_of(json!({ "const": 3 })), 3);
    // An example that the schema forbids is not used.
    assert_eq!(value_of(json!({ "type": "integer", "minimum": 5, "default": 1 })), 5);
}

#[test]
fn generates_values_for_all_keywords() {
    let schemas = [
        json!({ "type": "string", "minLength": 10, "maxLength": 12 }),
        json!({ "type": "string", "maxLength": 2 }),
        json!({ "type": "string", "pattern": "^[A-Z]{3}-\\d+(x|y)$", "minLength": 9 }),
        json!({ "type": "integer", "exclusiveMinimum": 7, "multipleOf": 5 }),
        json!({ "type": "number", "minimum": 0.2, "maximum": 0.3 }),
        json!({ "type": "integer", "maximum": -3 }),
        json!({ "type": ["null", "boolean"] }),
        json!({ "type": "array", "items": { "type": "string" }, "minItems": 3, "uniqueItems": true }),
        json!({ "type": "array", "prefixItems": [{ "type": "integer" }, { "type": "string" }], "minItems": 2 }),
        json!({ "type": "object", "properties": { "b": { "$ref": "#/$defs/b" } }, "required": ["b"] }),
        json!({ "anyOf": [{ "type": "null" }, { "type": "integer" }] }),
        json!({ "oneOf": [{ "type": "integer", "minimum": 3 }, { "type": "number", "minimum": 1, "maximum": 3 }] }),
        json!({ "allOf": [{ "type": "string", "minLength": 6 }, { "minLength": 8 }] }),
        json!({ "type": "object", "minProperties": 2 }),
        json!({ "minimum": 3 }),
        json!(true),
    ];
    for property in schemas {
        let mut schema = schema_of(property.clone());
        schema["$defs"] = json!({ "b": { "type": "array", "items": { "$ref": "#/$defs/b" } } });
        assert!(valid(schema).is_ok(), "{property}");
    }
}

#[test]
fn generates_every_format() {
    for format in ["date", "date-time", "time", "duration", "email", "hostname", "ipv4", "ipv6", "uri", "uuid", "regex"]
    {
        assert!(valid(schema_of(json!({ "type": "string", "format": format }))).is_ok(), "{format}");
    }
}

#[test]
fn schemas_without_a_value_give_an_error() {
    assert_eq!(valid(schema_of(json!(false))), Err(ArgumentError::NotFound));
    assert_eq!(valid(json!({ "type": "array" })), Err(ArgumentError::NotFound));
    assert_eq!(valid(schema_of(json!({ "type": "string", "pattern": "^(?=a)b" }))), Err(ArgumentError::NotFound));
    assert!(matches!(valid(json!({ "type": 7 })), Err(ArgumentError::Schema(_))));
    let endless = json!({ "$ref": "#/$defs/a", "$defs": { "a": { "$ref": "#/$defs/a" } } });
    assert!(valid(endless).is_err());
}

#[test]
fn each_kind_of_rule_is_violated_once() {
    let schema = json!({
        "type": "object",
        "properties": {
            "text": { "type": "string", "minLength": 2, "maxLength": 4 },
            "list": { "type": "array", "items": { "type": "boolean" }, "minItems": 2 },
            "more": { "type": "array", "items": { "type": "boolean" }, "maxItems": 3 },
            "kind": { "type": "string", "enum": ["a", "b"] },
            "count": { "type": "integer", "minimum": 1, "maximum": 9 },
        },
        "required": ["text", "count", "list", "more"],
    });
    let invalid = ArgumentGenerator::new(Some(&schema)).and_then(|it| it.invalid(0)).expect("invalid arguments");
    let violated: Vec<&str> = invalid.iter().map(|one| one.violates.as_str()).collect();
    let expected = [
        "/count: missing",
        "/count: wrong type",
        "/count: null",
        "/count: no integer",
        "/kind: not in the enum",
        "/count: below the minimum",
        "/count: above the maximum",
        "/text: too short",
        "/text: too long",
        "/list: too few items",
        "/more: too many items",
        "/list/0: wrong type",
    ];
    assert_eq!(violated, expected);
}

#[test]
fn rules_inside_of_objects_and_arrays_are_violated() {
    let schema = json!({
        "type": "object",
        "properties": {
            "tags": { "type": "array", "items": { "type": "string" } },
            "filter": { "type": "object", "properties": { "from": { "type": "integer" } }, "required": ["from"] },
        },
    });
    let invalid = ArgumentGenerator::new(Some(&schema)).and_then(|it| it.invalid(0)).expect("invalid arguments");
    assert_eq!(violated_inside(&schema), ["/filter/from: wrong type", "/tags/0: wrong type", "/filter/from: missing"]);
    let wrong = invalid.iter().find(|one| one.violates == "/tags/0: wrong type").expect("an invalid item");
    assert!(wrong.arguments["tags"][0].is_object(), "{wrong:?}");

    let level = json!({ "enum": ["low", "high"] });
    let schema = json!({
        "type": "object",
        "properties": {
            "levels": { "type": "array", "items": level },
            "filter": {
                "type": "object",
                "properties": { "level": level, "at": { "type": "integer", "minimum": 1, "maximum": 9 } },
            },
        },
    });
    let expected = [
        "/filter/at: wrong type",
        "/filter/level: not in the enum",
        "/levels/0: not in the enum",
        "/filter/at: below the minimum",
        "/filter/at: above the maximum",
    ];
    assert_eq!(violated_inside(&schema), expected);
}

/// What the invalid arguments violate inside of the properties.
fn violated_inside(schema: &Value) -> Vec<String> {
    let invalid = ArgumentGenerator::new(Some(schema)).and_then(|it| it.invalid(0)).expect("invalid arguments");
    let violated = invalid.into_iter().map(|one| one.violates);
    violated.filter(|violated| violated.matches('/').count() > 1).collect()
}

#[test]
fn a_large_text_is_in_no_header() {
    let text = |header: bool| {
        let mut text = json!({ "type": "string" });
        if header {
            text["x-mcp-header"] = json!("A");
        }
        let schema = json!({ "type": "object", "properties": { "a": text } });
        let variants = ArgumentGenerator::new(Some(&schema)).and_then(|it| it.variants(0, true)).expect("variants");
        variants.iter().filter(|one| one["a"].as_str().is_some_and(|text| text.len() == 100_000)).count()
    };
    assert_eq!((text(false), text(true)), (1, 0));
}

#[test]
fn most_arguments_have_all_properties_and_large_numbers() {
    let most = |schema: &Value| ArgumentGenerator::new(Some(schema)).ok()?.most(0).map(Value::Object);
    let schema = json!({
        "type": "object",
        "properties": {
            "steps": { "type": "integer", "minimum": 3, "maximum": 20, "default": 4 },
            "share": { "type": "number", "exclusiveMaximum": 1, "multipleOf": 0.25 },
            "seconds": { "type": "integer", "maximum": 86_400 },
            "count": { "type": "integer" },
            "unit": { "type": "string", "default": "m" },
            "exact": { "type": "boolean" },
        },
        "required": ["steps"],
    });
    let expected = json!({ "steps": 20, "share": 0.75, "seconds": 1_000, "count": 1, "unit": "m", "exact": true });
    assert_eq!(most(&schema), Some(expected));
    // They would be the usual ones.
    assert_eq!(
        most(&json!({ "type": "object", "properties": { "a": { "type": "integer" } }, "required": ["a"] })),
        None
    );
    let fixed = json!({ "type": "object", "properties": { "a": { "enum": [1, 2], "maximum": 9 } } });
    assert_eq!(most(&fixed), Some(json!({ "a": 1 })));
}

#[test]
fn a_schema_that_forbids_nothing_has_no_invalid_arguments() {
    let invalid = ArgumentGenerator::new(None).and_then(|it| it.invalid(0));
    assert_eq!(invalid, Ok(vec![]));
}

/// Number of places in which two values differ. Values of different types differ in one place.
fn differences(one: &Value, other: &Value) -> usize {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            let names: std::collections::BTreeSet<&String> = one.keys().chain(other.keys()).collect();
            names
                .iter()
                .map(|name| match (one.get(*name), other.get(*name)) {
                    (Some(one), Some(other)) => differences(one, other),
                    _ => 1,
                })
                .sum()
        }
        _ => usize::from(one != other),
    }
}

fn text() -> impl Strategy<Value = Value> {
    let formats = prop::option::of(prop::sample::select(vec!["uri", "email", "date-time", "uuid", "ipv4"]));
    let plain = (0_u64..8, 0_u64..8)
        .prop_map(|(least, more)| json!({ "type": "string", "minLength": least, "maxLength": least + more }));
    let format = formats.prop_map(|format| {
        format.map_or(json!({ "type": "string" }), |format| json!({ "type": "string", "format": format }))
    });
    let pattern = prop::sample::select(vec!["^[a-z]+$", "^\\d{4}-\\d{2}$", "^(GET|POST)$", "abc", "^x.*y$"])
        .prop_map(|pattern| json!({ "type": "string", "pattern": pattern }));
    prop_oneof![plain, format, pattern]
}

fn leaf() -> impl Strategy<Value = Value> {
    let integer = (-50_i64..50, 0_i64..50)
        .prop_map(|(least, more)| json!({ "type": "integer", "minimum": least, "maximum": least + more }));
    let number = (-5.0_f64..5.0).prop_map(|least| json!({ "type": "number", "exclusiveMinimum": least }));
    let named =
        prop::collection::btree_set("[a-z]{1,4}", 1..4).prop_map(|values| json!({ "type": "string", "enum": values }));
    let constant = prop_oneof![
        Just(json!({ "const": "c" })),
        Just(json!({ "type": "boolean" })),
        Just(json!({ "$ref": "#/$defs/d" }))
    ];
    prop_oneof![text(), integer, number, named, constant]
}

fn property() -> impl Strategy<Value = Value> {
    leaf().prop_recursive(3, 16, 4, |inner| {
        let array = (inner.clone(), 0_u64..3)
            .prop_map(|(items, least)| json!({ "type": "array", "items": items, "minItems": least }));
        let nullable = inner.clone().prop_map(|schema| json!({ "anyOf": [{ "type": "null" }, schema] }));
        let all = inner.clone().prop_map(|schema| json!({ "allOf": [schema, { "description": "text" }] }));
        prop_oneof![array, nullable, all, object(inner)]
    })
}

/// The schema of an object, with some properties required.
fn object(property: impl Strategy<Value = Value> + 'static) -> impl Strategy<Value = Value> {
    prop::collection::btree_map("[a-z]{1,5}", (property, any::<bool>()), 0..4).prop_map(|properties| {
        let required: Vec<&String> =
            properties.iter().filter(|(_, (_, required))| *required).map(|(name, _)| name).collect();
        let schemas: Map<String, Value> =
            properties.iter().map(|(name, (schema, _))| (name.clone(), schema.clone())).collect();
        json!({ "type": "object", "properties": schemas, "required": required })
    })
}

fn schema() -> impl Strategy<Value = Value> {
    object(property()).prop_map(|mut schema| {
        schema["$defs"] = json!({ "d": { "type": "integer", "minimum": 2 } });
        schema
    })
}

fn strict(schema: &Value) -> Validator {
    jsonschema::options().should_validate_formats(true).build(schema).expect("a valid schema")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn valid_arguments_are_valid(schema in schema(), seed: u64) {
        let generator = ArgumentGenerator::new(Some(&schema)).expect("a valid schema");
        let arguments = generator.valid(seed).map(Value::Object).expect("the generator knows all of these keywords");
        prop_assert!(strict(&schema).is_valid(&arguments), "{arguments}");
        prop_assert_eq!(generator.valid(seed).map(Value::Object), Ok(arguments));
    }

    #[test]
    fn most_arguments_are_valid(schema in schema(), seed: u64) {
        let most = ArgumentGenerator::new(Some(&schema)).expect("a valid schema").most(seed);
        prop_assert!(most.is_none_or(|most| strict(&schema).is_valid(&Value::Object(most))));
    }

    #[test]
    fn invalid_arguments_are_invalid_in_one_place(schema in schema(), seed: u64) {
        let generator = ArgumentGenerator::new(Some(&schema)).expect("a valid schema");
        let valid = Value::Object(generator.valid(seed).expect("valid arguments"));
        let validator = jsonschema::validator_for(&schema).expect("a valid schema");
        for InvalidArguments { arguments, violates } in generator.invalid(seed).expect("valid arguments") {
            let is_inside = violates.matches('/').count() > 1;
            let invalid = Value::Object(arguments);
            prop_assert!(!validator.is_valid(&invalid), "{invalid}");
            prop_assert!(is_inside || differences(&valid, &invalid) == 1, "{invalid}");
        }
        let requires = schema["required"].as_array().is_some_and(|names| !names.is_empty());
        prop_assert!(!requires || !generator.invalid(seed).expect("valid arguments").is_empty());
    }
}

#[test]
fn varies_text_optional_properties_and_named_values() {
    let schema = json!({
        "type": "object",
        "properties": {
            "list": { "type": "array", "items": { "type": "integer" } },
            "text": { "type": "string" },
            "unit": { "enum": ["metric", "imperial"] },
            "exact": { "type": "boolean" },
            "count": { "type": "integer", "minimum": 1 },
        },
        "required": ["text"],
        "additionalProperties": false,
    });
    let generator = ArgumentGenerator::new(Some(&schema)).expect("a schema");
    let variants = generator.variants(0, true).expect("variants");
    let has = |name: &str, value: Value| variants.iter().any(|one| one.get(name) == Some(&value));
    for (name, value) in [("unit", "metric"), ("unit", "imperial")] {
        assert!(has(name, json!(value)), "{variants:?}");
    }
    assert!(has("exact", json!(true)) && has("exact", json!(false)) && has("count", json!(1)), "{variants:?}");
    assert!(has("list", json!([1, 1])), "{variants:?}");
    let length = |one: &Map<String, Value>| one["text"].as_str().map_or(0, str::len);
    assert_eq!(variants.iter().filter(|one| length(one) == 100_000).count(), 1);
    assert!(variants.iter().any(|one| !one["text"].as_str().unwrap_or_default().is_ascii()), "{variants:?}");
    assert!(variants.iter().all(|one| generator.allows(one)), "{variants:?}");
    assert!(generator.variants(0, false).expect("variants").iter().all(|one| length(one) < 10_000));
}

#[test]
fn varies_nothing_without_a_choice() {
    let generator = ArgumentGenerator::new(Some(&json!({ "type": "object", "properties": {} }))).expect("a schema");
    assert_eq!(generator.variants(0, true), Ok(vec![]));
}

#[test]
fn leaves_a_range_at_both_ends() {
    let schema = schema_of(json!({ "type": "integer", "minimum": 1, "maximum": 50 }));
    let invalid = ArgumentGenerator::new(Some(&schema)).expect("a schema").invalid(0).expect("invalid arguments");
    let values: Vec<_> = invalid.iter().filter_map(|one| one.arguments.get("a")?.as_i64()).collect();
    assert!(values.contains(&0) && values.contains(&51), "{values:?}");
}

#[test]
fn a_sample_follows_patterns() {
    let isbn = json!({ "type": "string", "pattern": "^[0-9]{13}$" });
    let sample = sample(&json!({ "type": "object", "required": ["isbn"], "properties": { "isbn": isbn } }));
    let isbn = sample["isbn"].as_str().expect("a text");
    assert!(isbn.len() == 13 && isbn.bytes().all(|byte| byte.is_ascii_digit()), "{isbn}");
}
