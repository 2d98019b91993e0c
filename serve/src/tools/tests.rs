use super::*;

#[test]
fn every_tool_says_what_it_takes_what_it_gives_and_what_it_may_do() {
    let names: Vec<_> = all().map(|tool| tool.description.name.as_ref()).collect();
    for tool in all().map(|tool| &tool.description) {
        let name = &tool.name;
        assert!(tool.title.is_some(), "{name}");
        assert!(tool.description.as_ref().is_some_and(|words| words.len() > 80), "{name}");
        assert!(tool.annotations.as_ref().is_some_and(|hints| hints.read_only_hint.is_some()), "{name}");
        for schema in [Some(&tool.input_schema), tool.output_schema.as_ref()] {
            let schema = schema.expect("both schemas are there");
            assert_eq!(schema.get("type"), Some(&Value::from("object")), "{name}: {schema:?}");
            let text = serde_json::to_string(schema).expect("JSON");
            assert!(!text.contains("$ref") && !text.contains("uint"), "{name}: {text}");
        }
        // A model has to be told of a word that it misspelt: what is left unread is an error.
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

#[test]
fn every_field_of_an_argument_is_described() {
    fn check(name: &str, schema: &Value) {
        let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return };
        for (key, property) in properties {
            assert!(property.get("description").is_some(), "{name}: nothing is said of `{key}`: {property}");
            check(name, property);
            let branches = property.get("anyOf").and_then(Value::as_array);
            branches.into_iter().flatten().for_each(|branch| check(name, branch));
        }
    }
    for tool in all().map(|tool| &tool.description) {
        check(&tool.name, &Value::Object((*tool.input_schema).clone()));
    }
}
