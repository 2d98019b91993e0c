//! Schemas that are hostile by their size or shape.

use std::time::{Duration, Instant};

use mcp_workbench_agent::schema::{Options, Provider, SchemaError, convert, rules};
use serde_json::{Map, Value, json};

use crate::nasty::tool;

/// Far more than any of these takes, even unoptimised on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

fn converted(schema: &Value) -> Vec<Result<Value, SchemaError>> {
    let tool = tool(schema.clone());
    let start = Instant::now();
    let results = Provider::ALL
        .into_iter()
        .map(|provider| {
            let definition = convert(provider, "tool", &tool, &Options::default())?.definition;
            assert_eq!(rules::violations(provider, &definition), [], "{provider}");
            Ok(definition)
        })
        .collect();
    assert!(start.elapsed() < PATIENCE, "{:?}", start.elapsed());
    results
}

#[test]
fn references_that_double_are_written_out_only_so_far() {
    let mut definitions = Map::new();
    for level in 0..40 {
        let next = json!({ "$ref": format!("#/$defs/l{}", level + 1) });
        let properties = json!({ "a": next, "b": next, "c": next });
        definitions.insert(
            format!("l{level}"),
            json!({ "type": "object", "properties": properties, "required": ["a", "b", "c"], "additionalProperties": false }),
        );
    }
    definitions.insert("l40".into(), json!({ "type": "string" }));
    let bomb = json!({ "type": "object", "$defs": definitions, "properties": { "x": { "$ref": "#/$defs/l0" } } });
    for result in converted(&bomb) {
        let length = result.unwrap().to_string().len();
        assert!(length < 400_000, "{length}");
    }
}

#[test]
fn choices_that_multiply_are_not_all_made() {
    let group = json!({ "anyOf": (0..6).map(|n| json!({ "required": [format!("p{n}")] })).collect::<Vec<_>>() });
    let bomb = json!({ "type": "object", "properties": { "o": { "type": "object", "allOf": vec![group; 12] } } });
    for result in converted(&bomb) {
        assert!(result.unwrap().to_string().len() < 100_000);
    }
}

#[test]
fn what_is_too_deep_or_too_large_costs_the_tool() {
    let mut deep = json!({ "type": "string" });
    // Not so deep that the bound of values alone would catch it.
    for _ in 0..80 {
        deep = json!({ "type": "object", "properties": { "a": deep } });
    }
    let wide: Map<String, Value> = (0..30_000).map(|n| (n.to_string(), json!({}))).collect();
    let long = "x".repeat(600 * 1024);
    let cases = [
        (deep, "levels"),
        (json!({ "type": "object", "properties": wide }), "parts"),
        (json!({ "type": "object", "description": long }), "bytes"),
    ];
    for (schema, of) in cases {
        for result in converted(&schema) {
            assert!(result.clone().is_err_and(|error| error.to_string().contains(of)), "{of}: {result:?}");
        }
    }
}

#[test]
fn strict_mode_is_left_where_its_numbers_are_exceeded() {
    let mut deep = json!({ "type": "string" });
    for _ in 0..12 {
        deep =
            json!({ "type": "object", "properties": { "a": deep }, "required": ["a"], "additionalProperties": false });
    }
    let values: Vec<Value> = (0..1_001).map(Value::from).collect();
    let long: Vec<Value> = (0..260).map(|n| Value::from(format!("{n:060}"))).collect();
    let many: Map<String, Value> = (0..5_001).map(|n| (n.to_string(), json!({ "type": "string" }))).collect();
    let cases = [
        (deep, "levels"),
        (json!({ "type": "object", "properties": { "a": { "enum": values } } }), "values in lists"),
        (json!({ "type": "object", "properties": { "a": { "enum": long } } }), "one long list"),
        (json!({ "type": "object", "properties": many }), "5001 properties"),
    ];
    for (schema, reason) in cases {
        let converted = convert(Provider::OpenAi, "tool", &tool(schema), &Options::default()).unwrap();
        assert!(!converted.is_strict());
        let message = converted.not_strict.clone().unwrap();
        assert!(message.contains(reason), "{message}");
        assert_eq!(rules::violations(Provider::OpenAi, &converted.definition), []);
        // The same definition would break the rules if it claimed to be strict.
        let mut claimed = converted.definition;
        claimed["strict"] = true.into();
        assert_ne!(rules::violations(Provider::OpenAi, &claimed), []);
    }
}
