//! The traps that have shipped elsewhere.

use client::Tool;
use mcp_workbench_agent::schema::{Options, Provider, convert, convert_all, rules};
use serde_json::{Value, json};

use crate::nasty::tool;

#[test]
fn one_invalid_schema_of_two_hundred_costs_that_tool_alone_with_a_reason() {
    let tools: Vec<Tool> = (0..200)
        .map(|n| {
            let schema = match n {
                117 => json!({ "type": "object", "properties": { "a": { "$ref": "#/$defs/missing" } } }),
                _ => json!({ "type": "object", "properties": { "a": { "type": "string" } } }),
            };
            Tool::read(json!({ "name": format!("t{n}"), "inputSchema": schema })).unwrap().0
        })
        .collect();
    for provider in Provider::ALL {
        let named = tools.iter().map(|tool| (tool.name().to_owned(), tool));
        let conversion = convert_all(provider, named, &Options::default());
        assert_eq!(conversion.tools.len(), 199);
        for tool in &conversion.tools {
            assert_eq!(rules::violations(provider, &tool.definition), []);
        }
        let [rejected] = conversion.rejected.as_slice() else { panic!("{:?}", conversion.rejected) };
        assert_eq!(rejected.name, "t117");
        assert_eq!(rejected.reason.to_string(), "`$ref` at `/properties/a` cannot be resolved: `#/$defs/missing`");
    }
}

#[test]
fn what_no_provider_takes_stays_with_the_tool() {
    let wire = json!({
        "name": "t",
        "inputSchema": { "type": "object" },
        "annotations": { "title": "Old title", "readOnlyHint": true },
        "_meta": { "connector_id": "c-1", "vendor/x": [1] },
    });
    let (tool, _) = Tool::read(wire).unwrap();
    for provider in Provider::ALL {
        let metadata = convert(provider, "t", &tool, &Options::default()).unwrap().metadata;
        assert_eq!(metadata.title.as_deref(), Some("Old title"));
        assert_eq!(metadata.connector_id.as_deref(), Some("c-1"));
        assert_eq!(metadata.meta.unwrap()["vendor/x"], json!([1]));
        assert_eq!(metadata.annotations.unwrap()["readOnlyHint"], json!(true));
    }
}

#[test]
fn arguments_with_other_names_get_their_own_ones_back() {
    let schema = json!({
        "type": "object",
        "properties": { "filter[id]": { "type": "string" }, "filter_id_": { "type": "string" } },
        "required": ["filter[id]"],
    });
    let converted = convert(Provider::Anthropic, "t", &tool(schema), &Options::default()).unwrap();
    assert_eq!(converted.parameters().unwrap()["required"], json!(["filter_id__2"]));
    let restored = converted.restore_arguments(json!({ "filter_id__2": "a", "filter_id_": "b" }));
    assert_eq!(restored, json!({ "filter[id]": "a", "filter_id_": "b" }));
}

#[test]
fn strict_mode_can_be_declined() {
    let schema = json!({ "type": "object", "properties": { "a": { "type": "string" } } });
    let options = Options { strict: false, ..Options::default() };
    let converted = convert(Provider::OpenAiChat, "t", &tool(schema.clone()), &options).unwrap();
    assert!(!converted.is_strict());
    assert_eq!(converted.not_strict, None);
    assert_eq!(converted.definition["function"]["strict"], json!(false));
    assert_eq!(converted.parameters(), Some(&schema));
}

/// The schema for Anthropic, with everything written out.
fn explicit(schema: Value) -> Value {
    let options = Options { explicit: true, ..Options::default() };
    convert(Provider::Anthropic, "t", &tool(schema), &options).unwrap().parameters().unwrap().clone()
}

#[test]
fn explicit_schemas_have_types_and_are_closed() {
    let all = json!(["string", "number", "boolean", "object", "array", "null"]);
    let schema = json!({
        "properties": {
            "any": true, "none": false, "kind": { "enum": ["a", 1] }, "text": { "minLength": 1 },
            "inner": { "type": "object", "properties": { "x": { "type": "string" } } },
            "map": { "type": "object" },
        },
    });
    let written = explicit(schema.clone());
    assert_eq!((&written["type"], &written["additionalProperties"]), (&json!("object"), &json!(false)), "{written}");
    let properties = &written["properties"];
    assert_eq!(properties["any"]["type"], all, "{written}");
    assert_eq!(properties.get("none"), None, "{written}");
    assert_eq!(
        (&properties["kind"]["type"], &properties["text"]["type"]),
        (&json!(["string", "integer"]), &json!("string"))
    );
    assert_eq!(properties["inner"]["additionalProperties"], false, "{written}");
    assert_eq!(properties["map"].get("additionalProperties"), None, "{written}");
    // The default changes none of this.
    let plain = convert(Provider::Anthropic, "t", &tool(schema), &Options::default()).unwrap();
    assert_eq!(plain.parameters().unwrap().get("additionalProperties"), None, "{plain:?}");
}

#[test]
fn explicit_schemas_that_apply_together_stay_open() {
    let part = |name: &str| json!({ "type": "object", "properties": { name: { "type": "string" } } });
    let both = explicit(json!({ "type": "object", "properties": { "v": { "allOf": [part("a"), part("b")] } } }));
    assert!(!both["properties"]["v"].to_string().contains("additionalProperties"), "{both}");
    let shared = explicit(json!({
        "type": "object", "$defs": { "a": part("a") },
        "properties": { "v": { "allOf": [{ "$ref": "#/$defs/a" }, part("b")] } },
    }));
    assert!(!shared["properties"]["v"].to_string().contains("additionalProperties"), "{shared}");
    assert!(!shared["$defs"].to_string().contains("additionalProperties"), "{shared}");
    let either =
        explicit(json!({ "type": "object", "properties": { "v": { "anyOf": [part("a"), { "type": "string" }] } } }));
    assert_eq!(either["properties"]["v"]["anyOf"][0]["additionalProperties"], false, "{either}");
}

/// Definitions that providers have refused, each with what is wrong in it.
#[test]
fn the_rules_refuse_what_the_providers_have_refused() {
    let with = |key: &str, schema: Value| json!({ "name": "t", key: schema });
    let openai = |strict: bool, schema: Value| json!({ "type": "function", "name": "t", "strict": strict, "parameters": schema });
    let object = |properties: Value| json!({ "type": "object", "properties": properties });
    let closed = |properties: Value, required: Value| json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false });
    let text = json!({ "type": "string" });
    let cases = [
        (Provider::Anthropic, with("input_schema", json!({ "type": "object", "anyOf": [{ "required": ["a"] }] }))),
        (Provider::Anthropic, with("input_schema", json!({ "properties": {} }))),
        (Provider::Anthropic, with("input_schema", object(json!({ "filter[id]": text })))),
        (Provider::Anthropic, json!({ "name": "a.b", "input_schema": { "type": "object" } })),
        (Provider::OpenAi, openai(false, json!({ "type": "object" }))),
        (Provider::OpenAi, openai(false, object(json!({ "l": { "type": "array" } })))),
        (Provider::OpenAi, openai(false, json!({ "type": "object", "properties": {}, "not": {} }))),
        (Provider::OpenAi, openai(true, object(json!({ "a": text })))),
        (Provider::OpenAi, openai(true, closed(json!({ "a": text }), json!([])))),
        (Provider::OpenAi, openai(true, closed(json!({ "a": { "type": "string", "default": "x" } }), json!(["a"])))),
        (Provider::OpenAi, openai(true, closed(json!({ "a": { "oneOf": [text] } }), json!(["a"])))),
        (Provider::OpenAi, openai(true, closed(json!({ "a": { "$ref": "#/$defs/x" } }), json!(["a"])))),
        (Provider::OpenAiChat, json!({ "type": "function", "function": openai(true, object(json!({}))) })),
        (Provider::Gemini, with("parameters", object(json!({ "a": { "type": ["string", "null"] } })))),
        (Provider::Gemini, with("parameters", object(json!({ "a": { "type": "integer", "enum": [1] } })))),
        (Provider::Gemini, with("parameters", object(json!({ "a": { "type": "string", "enum": [""] } })))),
        (Provider::Gemini, with("parameters", object(json!({ "a": { "type": "array" } })))),
        (Provider::Gemini, with("parameters", object(json!({ "a": { "$ref": "#/$defs/a" } })))),
        (
            Provider::Gemini,
            with("parameters", json!({ "type": "object", "properties": { "a": text }, "required": ["b"] })),
        ),
        (
            Provider::GeminiJsonSchema,
            with(
                "parametersJsonSchema",
                json!({
                    "type": "object",
                    "properties": { "a": { "$ref": "#/$defs/n" } },
                    "$defs": { "n": {
                        "type": "object", "properties": { "next": { "$ref": "#/$defs/n" } }, "required": ["next"],
                    } },
                }),
            ),
        ),
        (
            Provider::GeminiJsonSchema,
            with("parametersJsonSchema", object(json!({ "a": { "type": "string", "pattern": "^a" } }))),
        ),
    ];
    for (provider, definition) in cases {
        assert_ne!(rules::violations(provider, &definition), [], "{provider}: {definition}");
    }
}
