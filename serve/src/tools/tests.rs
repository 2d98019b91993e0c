use super::*;

#[test]
fn every_tool_has_a_description_schemas_and_annotations() {
    let names: Vec<_> = all().map(|tool| tool.description.name.as_ref()).collect();
    for tool in all().map(|tool| &tool.description) {
        let name = &tool.name;
        assert!(tool.title.is_some(), "{name}");
        assert!(tool.description.as_ref().is_some_and(|text| text.len() > 80), "{name}");
        assert!(tool.annotations.as_ref().is_some_and(|hints| hints.read_only_hint.is_some()), "{name}");
        for schema in [Some(&tool.input_schema), tool.output_schema.as_ref()] {
            let schema = schema.expect("both schemas exist");
            assert_eq!(schema.get("type"), Some(&Value::from("object")), "{name}: {schema:?}");
            let text = serde_json::to_string(schema).expect("JSON");
            assert!(!text.contains("$ref") && !text.contains("uint"), "{name}: {text}");
        }
        // A misspelled argument must be an error, not ignored.
        assert_eq!(tool.input_schema.get("additionalProperties"), Some(&Value::from(false)), "{name}");
    }
    assert_eq!(
        names,
        [
            "validate_server",
            "run_scenarios",
            "bench_server",
            "list_tools",
            "diff_tools",
            "convert_schema",
            "list_scenarios",
            "explain_requirement"
        ]
    );
}

/// The ids of requirements and scenarios in a text: `area/name`. MCP methods look the same.
fn ids(text: &str) -> impl Iterator<Item = &str> {
    let is_part = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
    let is_id = move |id: &&str| id.contains('/') && id.split('/').all(is_part) && *id != "tools/list";
    text.split('`').skip(1).step_by(2).filter(is_id)
}

#[test]
fn ids_in_the_descriptions_of_tools_exist() {
    let register = ::scenarios::requirements::Register::built_in();
    let catalog = ::scenarios::catalog::ScenarioCatalog::built_in().expect("the catalog is valid");
    let mut count = 0;
    for tool in all().map(|tool| serde_json::to_string(&tool.description).expect("JSON")) {
        for id in ids(&tool) {
            let is_scenario = catalog.scenarios().any(|scenario| scenario.scenario == id);
            assert!(is_scenario || register.ids().any(|one| one == id), "unknown id `{id}`");
            count += 1;
        }
    }
    assert!(count >= 2, "descriptions contain {count} ids");
}

#[test]
fn every_field_of_an_argument_is_described() {
    fn check(name: &str, schema: &Value) {
        let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return };
        for (key, property) in properties {
            assert!(property.get("description").is_some(), "{name}: `{key}` has no description: {property}");
            check(name, property);
            let branches = property.get("anyOf").and_then(Value::as_array);
            branches.into_iter().flatten().for_each(|branch| check(name, branch));
        }
    }
    for tool in all().map(|tool| &tool.description) {
        check(&tool.name, &Value::Object((*tool.input_schema).clone()));
    }
}
