//! Conversions against JSON Schema itself: over generated values, what the converted schema lets pass and the source
//! refuses (wider), and the other way round (narrower). Every such change must be in the report.

use jsonschema::Validator;
use mcp_workbench_agent::schema::{Converted, Options, Provider, convert, restore_arguments};
use serde_json::{Map, Value, json};

use crate::{
    corpus,
    instances::{Dice, instance, mutated},
    nasty::{self, tool},
};

/// Values that are made of each schema.
const VALUES: u64 = 60;

#[derive(Debug, Default)]
struct Counts {
    tools: usize,
    strict: usize,
    /// Values that the written schema allows, and how many of them the source refuses.
    said: usize,
    wider: usize,
    /// Values that the source allows, and how many of them the written schema refuses.
    taken: usize,
    narrower: usize,
}

impl Counts {
    fn share(part: usize, whole: usize) -> f64 {
        100.0 * part as f64 / whole.max(1) as f64
    }
}

/// A written schema as JSON Schema understands it: OpenAPI's `nullable` is a type there.
fn as_json_schema(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut plain: Map<String, Value> =
                map.iter().map(|(key, value)| (key.clone(), as_json_schema(value))).collect();
            if plain.get("nullable") == Some(&Value::Bool(true)) {
                plain.shift_remove("nullable");
                return json!({ "anyOf": [plain, { "type": "null" }] });
            }
            plain.into()
        }
        Value::Array(list) => list.iter().map(as_json_schema).collect(),
        other => other.clone(),
    }
}

/// Arguments as a model in strict mode has to write them: what is left out is null.
fn completed(root: &Value, schema: &Value, value: &Value) -> Value {
    let resolved = |mut schema: Value| {
        while let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
            schema = root.pointer(&reference[1..]).unwrap().clone();
        }
        schema
    };
    let schema = resolved(schema.clone());
    if let Some(choices) = schema.get("anyOf").and_then(Value::as_array) {
        for choice in choices {
            let made = completed(root, choice, value);
            let mut whole = resolved(choice.clone());
            whole["$defs"] = root["$defs"].clone();
            if whole["$defs"].is_null() {
                whole.as_object_mut().unwrap().shift_remove("$defs");
            }
            if jsonschema::validator_for(&whole).unwrap().is_valid(&made) {
                return made;
            }
        }
        return value.clone();
    }
    match value {
        Value::Object(map) => {
            let mut made = map.clone();
            for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
                let present = map.get(name).map_or(Value::Null, |value| completed(root, property, value));
                made.insert(name.clone(), present);
            }
            made.into()
        }
        Value::Array(list) => match schema.get("items") {
            Some(items) => list.iter().map(|item| completed(root, items, item)).collect(),
            None => value.clone(),
        },
        other => other.clone(),
    }
}

/// Formats count, as they did up to draft 7 and as servers have them count.
fn validator(schema: &Value) -> Result<Validator, jsonschema::ValidationError<'static>> {
    jsonschema::options().should_validate_formats(true).build(schema)
}

fn compare(source: &Value, converted: &Converted, counts: &mut Counts, seed: u64) {
    let Ok(original) = validator(source) else { return };
    let empty = json!({ "type": "object" });
    let written = converted.parameters().unwrap_or(&empty);
    let target = validator(&as_json_schema(written)).unwrap();
    counts.tools += 1;
    counts.strict += usize::from(converted.is_strict());
    let mut dice = Dice::seeded(seed);
    let mut next = |from: &Value, number: u64| {
        let value = instance(from, from, &mut dice, 0);
        if number % 3 == 2 { mutated(&value, &mut dice) } else { value }
    };
    for number in 0..VALUES {
        // What a model may say, and what the server then gets.
        let said = next(written, number);
        if said.is_object() && target.is_valid(&said) {
            counts.said += 1;
            let meant = converted.restore_arguments(said.clone());
            if !original.is_valid(&meant) {
                counts.wider += 1;
                let what = format!("lets pass {said} as {meant}");
                assert!(converted.report.wider > 0, "{}", unreported(&what, source, converted));
            }
        }
        // What the server takes, and what a model has to say for that.
        let meant = next(source, number);
        if meant.is_object() && original.is_valid(&meant) {
            counts.taken += 1;
            let mut said = meant.clone();
            for (new, old) in converted.renamed() {
                let map = said.as_object_mut().unwrap();
                if let Some(value) = map.shift_remove(old) {
                    map.insert(new.clone(), value);
                }
            }
            if converted.is_strict() {
                said = completed(written, written, &said);
            }
            if !target.is_valid(&said) {
                counts.narrower += 1;
                let what = format!("refuses {said} for {meant}");
                assert!(converted.report.narrower > 0, "{}", unreported(&what, source, converted));
            } else {
                let back = converted.restore_arguments(said.clone());
                let what = format!("does not give back {meant} of {said}, but {back}");
                // Where `oneOf` became `anyOf`, what is left without a null may be one thing too many.
                let known = converted.report.changes.iter().any(|change| change.keyword == "oneOf");
                assert!(original.is_valid(&back) || known, "{}", unreported(&what, source, converted));
            }
        }
    }
}

/// Checks that the report of one conversion is complete.
pub(crate) fn assert_report_is_complete(source: &Value, converted: &Converted, seed: u64) {
    compare(source, converted, &mut Counts::default(), seed);
}

fn unreported(what: &str, source: &Value, converted: &Converted) -> String {
    let Converted { provider, name, report, definition, .. } = converted;
    format!("{provider} {name} {what}\n{source}\n{definition}\n{report:#?}")
}

#[test]
fn real_tools_change_only_as_reported_and_rarely() {
    // In per cent: of what a model may say, what the server refuses; of what it takes, what a model cannot say.
    for (provider, most_wider, most_narrower) in [
        (Provider::OpenAi, 4.0, 9.0),
        (Provider::Anthropic, 0.0, 0.0),
        (Provider::Gemini, 6.0, 0.0),
        (Provider::GeminiJsonSchema, 5.0, 0.0),
    ] {
        let mut counts = Counts::default();
        for listing in corpus::all() {
            for (seed, (name, tool)) in (1_u64..).zip(listing.named()) {
                let source = Value::Object(tool.input_schema().unwrap().clone());
                let converted = convert(provider, &name, &tool, &Options::default()).unwrap();
                compare(&source, &converted, &mut counts, seed);
            }
        }
        let wider = Counts::share(counts.wider, counts.said);
        let narrower = Counts::share(counts.narrower, counts.taken);
        println!("{provider}: {counts:?}: {wider:.2} % wider, {narrower:.2} % narrower");
        assert!(counts.tools > 200 && counts.said > 4_000 && counts.taken > 4_000, "{counts:?}");
        assert!(wider <= most_wider && narrower <= most_narrower, "{provider}: {wider} {narrower}");
    }
}

#[test]
fn nasty_constructs_change_only_as_reported() {
    let mut counts = Counts::default();
    for nasty in nasty::all() {
        let tool = tool(nasty.schema.clone());
        for provider in Provider::ALL {
            for seed in 1..6 {
                if let Ok(converted) = convert(provider, &nasty.name, &tool, &Options::default()) {
                    compare(&nasty.schema, &converted, &mut counts, seed);
                }
            }
        }
    }
    println!("{counts:?}");
    assert!(counts.tools > 1_000 && counts.wider > 0 && counts.narrower > 0, "{counts:?}");
}

#[test]
fn nulls_for_absent_values_are_removed_and_others_stay() {
    let schema = json!({
        "type": "object",
        "properties": {
            "kept": { "type": ["string", "null"] },
            "gone": { "type": "string" },
            "inner": {
                "type": "object",
                "properties": { "a": { "type": "integer" }, "b": { "type": ["integer", "null"] } },
                "required": ["b"],
                "additionalProperties": false,
            },
            "list": { "type": "array", "items": { "anyOf": [
                { "type": "object", "properties": { "k": { "const": 1 }, "x": { "type": "string" } }, "required": ["k"] },
                { "type": "object", "properties": { "k": { "const": 2 }, "x": { "type": "null" } }, "required": ["k", "x"] },
            ] } },
        },
        "required": ["kept"],
    });
    let said = json!({
        "kept": null, "gone": null, "inner": { "a": null, "b": null },
        "list": [{ "k": 1, "x": null }, { "k": 2, "x": null }],
        "unheard": null,
    });
    assert_eq!(
        restore_arguments(&schema, said),
        json!({
            "kept": null, "inner": { "b": null }, "list": [{ "k": 1 }, { "k": 2, "x": null }],
            "unheard": null,
        })
    );
    assert_eq!(restore_arguments(&json!({ "type": "nonsense" }), json!({ "a": null })), json!({ "a": null }));
}
