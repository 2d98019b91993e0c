use super::*;
use crate::catalog::built_in_files;

fn committed() -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("schema").join(FILE)
}

#[test]
fn the_file_is_what_the_types_say() {
    let text = scenario_schema_text();
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(committed(), &text).expect("written");
    }
    let file = std::fs::read_to_string(committed()).unwrap_or_default();
    assert!(
        file == text,
        "scenarios/schema/{FILE} is stale: run the tests with UPDATE_GOLDEN=1 and look at the difference"
    );
}

#[test]
fn every_object_that_people_write_refuses_unknown_keys() {
    let schema = scenario_schema();
    for (name, definition) in schema["$defs"].as_object().expect("definitions") {
        // A mapping with keys of the author's own choice has no `properties`.
        if definition.get("properties").is_some() {
            assert_eq!(definition["additionalProperties"], false, "{name}");
        }
        assert!(definition.get("description").is_some(), "{name} is not described");
    }
    assert_eq!(schema["additionalProperties"], false);
}

#[test]
fn every_built_in_scenario_is_valid_and_leads_an_editor_to_the_schema() {
    let validator = jsonschema::validator_for(&scenario_schema()).expect("a schema");
    for (file, bytes) in built_in_files() {
        let text = std::str::from_utf8(bytes).expect("UTF-8");
        let value: Value = serde_saphyr::from_str(text).unwrap_or_else(|cause| panic!("{file}: {cause}"));
        if let Err(error) = validator.validate(&value) {
            panic!("{file}: {error} at {}", error.instance_path());
        }
        assert_eq!(text.lines().next(), Some(editor_line(2).as_str()), "{file} does not begin with the editor's line");
    }
}

#[test]
fn the_schema_refuses_what_the_loader_refuses() {
    let validator = jsonschema::validator_for(&scenario_schema()).expect("a schema");
    let good = "{scenario: a/b, title: t, subject: client, requirement: a/b, server: {}";
    for (more, valid) in [
        ("", true),
        (", steps: [{call: {tool: a, expect: {within: 1m 30s}}}]", true),
        (", titel: x", false),
        (", tags: [5]", false),
        (", limit: 5", false),
        (", limit: 5x", false),
        (", steps: [{cal: {tool: a}}]", false),
        (", revisions: ['2025-11-26']", false),
        (", steps: [{call: {tool: a}, finish: {call: a}}]", false),
    ] {
        let text = format!("{good}{more}}}");
        let value: Value = serde_saphyr::from_str(&text).expect("YAML");
        assert_eq!(validator.is_valid(&value), valid, "{text}");
    }
}

#[test]
fn the_schemas_of_the_contract_describe_its_values() {
    let validator = |file: (&str, String)| {
        jsonschema::validator_for(&serde_json::from_str(&file.1).expect("JSON")).expect("a schema")
    };
    let (context, report) = (validator(context_file()), validator(report_file()));
    let written = serde_json::json!({
        "format": 1, "name": "tools_call", "scenario": "a/b", "transport": "streamable-http", "revision": "2025-11-25",
        "servers": { "mock": { "transport": "streamable-http", "url": "http://127.0.0.1:1/mcp" } },
        "client": { "protocol": "auto", "call_timeout": "2s" }, "steps": [{ "call": { "tool": "a" } }],
        "report": "/tmp/report", "toolCalls": [],
    });
    assert!(
        context.is_valid(&written),
        "{:?}",
        context.iter_errors(&written).map(|one| one.to_string()).collect::<Vec<_>>()
    );
    let step = |outcome: Value| serde_json::json!({ "step": { "step": 0, "outcome": outcome } });
    for (line, valid) in [
        (step(serde_json::json!({ "value": null })), true),
        (step(serde_json::json!({ "error": { "kind": "timed-out" } })), true),
        (
            step(serde_json::json!({ "error": { "kind": "timed-out", "detail": "startup-timeout", "message": "m" } })),
            true,
        ),
        (step(serde_json::json!({ "error": { "message": "m" } })), false),
        (serde_json::json!({ "event": { "event": "tools-changed", "server": "mock" } }), true),
        (serde_json::json!({ "die": { "pid": 7 } }), true),
        (serde_json::json!({ "stop": {} }), false),
    ] {
        assert_eq!(report.is_valid(&line), valid, "{line}");
        assert_eq!(serde_json::from_value::<ReportLine>(line.clone()).is_ok(), valid, "{line}");
    }
}
