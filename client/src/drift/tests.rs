use proptest::prelude::*;
use serde_json::json;

use super::*;

fn tool(input: Value) -> Tool {
    Tool::read(json!({"name": "t", "inputSchema": input})).unwrap().0
}

fn input_severity(old: Value, new: Value) -> Option<Severity> {
    Drift { changes: compare(&tool(old), &tool(new)) }.severity()
}

fn output_severity(old: Value, new: Value) -> Option<Severity> {
    let read = |schema| Tool::read(json!({"name": "t", "inputSchema": {}, "outputSchema": schema})).unwrap().0;
    Drift { changes: compare(&read(old), &read(new)) }.severity()
}

fn object(properties: Value, required: Value) -> Value {
    json!({"type": "object", "properties": properties, "required": required})
}

#[test]
fn classifies_changes() {
    use Severity::{Breaking, Compatible, Cosmetic};
    let text = json!({"type": "string"});
    let cases = [
        ("nothing", object(json!({"a": text}), json!(["a"])), object(json!({"a": text}), json!(["a"])), None),
        ("optional added", object(json!({}), json!([])), object(json!({"a": text}), json!([])), Some(Compatible)),
        ("required added", object(json!({}), json!([])), object(json!({"a": text}), json!(["a"])), Some(Breaking)),
        ("removed", object(json!({"a": text}), json!([])), object(json!({}), json!([])), Some(Breaking)),
        (
            "now optional",
            object(json!({"a": text}), json!(["a"])),
            object(json!({"a": text}), json!([])),
            Some(Compatible),
        ),
        (
            "type changed",
            json!({"properties": {"a": text}}),
            json!({"properties": {"a": {"type": "number"}}}),
            Some(Breaking),
        ),
        (
            "type widened",
            json!({"properties": {"a": {"type": "integer"}}}),
            json!({"properties": {"a": {"type": "number"}}}),
            Some(Compatible),
        ),
        (
            "type narrowed",
            json!({"properties": {"a": {"type": ["string", "null"]}}}),
            json!({"properties": {"a": {"type": "string"}}}),
            Some(Breaking),
        ),
        (
            "enum grown",
            json!({"properties": {"a": {"enum": [1]}}}),
            json!({"properties": {"a": {"enum": [1, 2]}}}),
            Some(Compatible),
        ),
        (
            "enum shrunk",
            json!({"properties": {"a": {"enum": [1, 2]}}}),
            json!({"properties": {"a": {"enum": [2]}}}),
            Some(Breaking),
        ),
        (
            "bound tightened",
            json!({"properties": {"a": {"maxLength": 9}}}),
            json!({"properties": {"a": {"maxLength": 8}}}),
            Some(Breaking),
        ),
        (
            "bound loosened",
            json!({"properties": {"a": {"minimum": 9}}}),
            json!({"properties": {"a": {"minimum": 8}}}),
            Some(Compatible),
        ),
        (
            "description",
            json!({"properties": {"a": {"description": "x"}}}),
            json!({"properties": {"a": {"description": "y"}}}),
            Some(Cosmetic),
        ),
        ("closed", json!({}), json!({"additionalProperties": false}), Some(Breaking)),
        ("opened", json!({"additionalProperties": false}), json!({}), Some(Compatible)),
        ("pattern added", json!({}), json!({"properties": {"a": {"pattern": "x"}}, "not": {}}), Some(Breaking)),
        ("reordered", json!({"required": ["a", "b"]}), json!({"required": ["b", "a"]}), None),
        (
            "a property named required",
            json!({"properties": {"required": {"type": "string"}}}),
            json!({"properties": {}}),
            Some(Breaking),
        ),
    ];
    for (name, old, new, expected) in cases {
        assert_eq!(input_severity(old, new), expected, "{name}");
    }
}

#[test]
fn equivalent_forms_are_not_breaking() {
    let of = |inner: Value| json!({"properties": {"a": inner}});
    let (a, b) = (json!({"type": "string", "enum": ["a"]}), json!({"type": "null"}));
    for (one, other) in [
        (json!({"items": {}}), json!({})),
        (json!({"items": true}), json!({"items": {}})),
        (json!({"additionalProperties": true}), json!({"additionalProperties": {}})),
        (json!({"minLength": 0, "uniqueItems": false, "nullable": false}), json!({})),
        (json!({"const": "a"}), json!({"enum": ["a"]})),
        (json!({"enum": ["a", "b"]}), json!({"type": "string", "enum": ["b", "a"]})),
        (json!({"const": 1}), json!({"type": "integer", "const": 1})),
        (json!({"anyOf": [a, b]}), json!({"anyOf": [b, a]})),
        (json!({"allOf": [a, {"minLength": 1}]}), json!({"allOf": [{"minLength": 1}, a]})),
        (json!({"multipleOf": 2}), json!({"multipleOf": 2.0})),
        (json!({"patternProperties": {}}), json!({})),
    ] {
        for (old, new) in [(&one, &other), (&other, &one)] {
            let severity = input_severity(of(old.clone()), of(new.clone()));
            assert!(severity <= Some(Severity::Cosmetic), "{old} {new}: {severity:?}");
        }
    }
}

#[test]
fn narrower_and_wider_depend_on_the_direction() {
    let of = |inner: &Value| json!({"properties": {"a": inner}});
    let (a, b) = (json!({"type": "string"}), json!({"type": "null"}));
    let kind = |name: &str, more: Value| json!({"type": "object", "properties": {"kind": {"const": name}, "x": more}, "required": ["kind"]});
    // Each pair once as it is, and once reversed.
    for (narrow, wide) in [
        (json!({"anyOf": [a]}), json!({"anyOf": [b, a]})),
        (json!({"oneOf": [a]}), json!({"oneOf": [b, a]})),
        (json!({"allOf": [a, {"minLength": 1}]}), json!({"allOf": [a]})),
        (json!({"anyOf": [a, b]}), json!({})),
        (json!({"const": "a"}), json!({"enum": ["a", "b"]})),
        (json!({"type": "string", "enum": ["a"]}), json!({"enum": ["a", 1]})),
        (json!({"multipleOf": 4}), json!({"multipleOf": 2})),
        (json!({"uniqueItems": true}), json!({"uniqueItems": false})),
        (json!({"contains": a}), json!({})),
        (json!({"contains": {}}), json!({})),
        (json!({"patternProperties": {"^x": a}}), json!({"patternProperties": {"^x": {}}})),
        (json!({"additionalProperties": a}), json!({"additionalProperties": {}})),
        (json!({"prefixItems": [a, a]}), json!({"prefixItems": [a, {}]})),
        (
            json!({"oneOf": [kind("a", json!({"type": "integer"})), kind("b", json!({}))]}),
            json!({"oneOf": [kind("a", json!({"type": "number"})), kind("b", json!({})), kind("c", json!({}))]}),
        ),
    ] {
        assert_eq!(input_severity(of(&narrow), of(&wide)), Some(Severity::Compatible), "{narrow} {wide}");
        assert_eq!(input_severity(of(&wide), of(&narrow)), Some(Severity::Breaking), "{wide} {narrow}");
        assert_eq!(output_severity(of(&narrow), of(&wide)), Some(Severity::Breaking), "{narrow} {wide}");
    }
    // Each allows values that the other rejects, or cannot be compared.
    for (one, other) in [
        (
            json!({"oneOf": [a, {"type": "integer"}]}),
            json!({"oneOf": [{"type": ["string", "integer"]}, {"type": "integer"}]}),
        ),
        (json!({"prefixItems": [a, a], "items": false}), json!({"prefixItems": [a], "items": false})),
        (json!({"contains": {"const": 1}, "maxContains": 1}), json!({"contains": {"enum": [1, 2]}, "maxContains": 1})),
        (
            json!({"additionalProperties": a}),
            json!({"properties": {"n": {"type": "integer"}}, "additionalProperties": a}),
        ),
        (json!({"not": a}), json!({"not": b})),
        (
            json!({"unevaluatedProperties": false}),
            json!({"unevaluatedProperties": false, "anyOf": [{"properties": {"p": a}}]}),
        ),
        (json!({"multipleOf": 2}), json!({"multipleOf": 3})),
    ] {
        assert_eq!(input_severity(of(&one), of(&other)), Some(Severity::Breaking), "{one} {other}");
        assert_eq!(input_severity(of(&other), of(&one)), Some(Severity::Breaking), "{other} {one}");
    }
    let closed = |patterns: Value| json!({"patternProperties": patterns, "additionalProperties": false});
    let of_patterns = |old: Value, new: Value| input_severity(of(&old), of(&new));
    let (few, many) = (json!({"^x": a}), json!({"^x": a, "^y": a}));
    assert_eq!(of_patterns(closed(few.clone()), closed(many.clone())), Some(Severity::Compatible));
    assert_eq!(of_patterns(closed(many.clone()), closed(few.clone())), Some(Severity::Breaking));
    assert_eq!(
        of_patterns(json!({"patternProperties": few}), json!({"patternProperties": many})),
        Some(Severity::Breaking)
    );
}

#[test]
fn long_lists_of_choices_are_compared_quickly() {
    let of = |from: u32| -> Value {
        let choices: Vec<_> = (from..from + 20_000).map(|number| json!({"const": number, "title": "x"})).collect();
        json!({"properties": {"a": {"oneOf": choices}}})
    };
    // A busy machine does not lengthen the time of the thread.
    let time = || rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime).tv_sec;
    let began = time();
    assert_eq!(input_severity(of(0), of(20_000)), Some(Severity::Breaking));
    assert_eq!(input_severity(of(0), of(0)), None);
    assert!(time() - began < 5, "{} s", time() - began);
}

#[test]
fn an_output_schema_breaks_the_other_way_round() {
    let (wide, narrow) = (json!({"enum": [1, 2]}), json!({"enum": [1]}));
    assert_eq!(output_severity(wide.clone(), narrow.clone()), Some(Severity::Compatible));
    assert_eq!(output_severity(narrow, wide), Some(Severity::Breaking));
}

#[test]
fn a_hint_that_flips_after_approval_is_breaking() {
    let with = |annotations| Tool::read(json!({"name": "t", "inputSchema": {}, "annotations": annotations})).unwrap().0;
    let changes = compare(&with(json!({"readOnlyHint": true})), &with(json!({"readOnlyHint": false})));
    assert_eq!(changes[0].severity, Severity::Breaking);
    assert_eq!(changes[0].at, "/annotations/readOnlyHint");
    let changes = compare(&with(json!({"readOnlyHint": true})), &with(json!({})));
    assert_eq!(changes[0].severity, Severity::Breaking);
    let changes = compare(&with(json!({})), &with(json!({"readOnlyHint": true})));
    assert_eq!(changes[0].severity, Severity::Compatible);
    assert_eq!(compare(&with(json!({})), &with(json!({"destructiveHint": true}))), []);
}

#[test]
fn tools_that_come_and_go() {
    let named = |name: &str| Arc::new(Tool::read(json!({"name": name, "inputSchema": {}})).unwrap().0);
    let drift = Drift::between(&[named("old"), named("kept")], &[named("kept"), named("new")]);
    let told: Vec<_> = drift.changes.iter().map(|change| (change.tool.as_str(), change.severity)).collect();
    assert_eq!(told, [("old", Severity::Breaking), ("new", Severity::Compatible)]);
}

#[test]
fn a_fingerprint_ignores_documentation_and_order() {
    let read = |value| Tool::read(value).unwrap().0.fingerprint();
    let one = read(json!({"name": "t", "description": "x", "inputSchema": {"type": "object", "required": ["a"]}}));
    let same = read(json!({"inputSchema": {"required": ["a"], "type": "object"}, "name": "t", "description": "y"}));
    let other = read(json!({"name": "t", "inputSchema": {"type": "object", "required": ["b"]}}));
    assert_eq!(one, same);
    assert_ne!(one, other);
}

fn schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!({"type": "string"})),
        Just(json!({"type": ["string", "null"], "maxLength": 3})),
        Just(json!({"enum": [1, 2, "x"]})),
        Just(json!(true)),
        Just(json!({"$ref": "#/x", "required": 7})),
    ];
    leaf.prop_recursive(3, 16, 3, |inner| {
        (prop::collection::btree_map("[a-c/~]", inner, 0..3), prop::collection::vec("[a-c]", 0..2))
            .prop_map(|(properties, required)| json!({"properties": properties, "required": required}))
    })
}

proptest! {
    #[test]
    fn equal_tools_have_no_changes_and_others_have_some(left in schema(), right in schema()) {
        let wrap = |inner: &Value| tool(json!({"properties": {"p": inner}}));
        prop_assert_eq!(compare(&wrap(&left), &wrap(&left)), vec![]);
        if wrap(&left).fingerprint() == wrap(&right).fingerprint() {
            prop_assert_eq!(compare(&wrap(&left), &wrap(&right)), vec![]);
        }
    }
}

#[test]
fn references_are_resolved() {
    use Severity::{Breaking, Compatible, Cosmetic};
    let by = |name: &str, target: Value| json!({"properties": {"a": {"$ref": format!("#/$defs/{name}")}}, "$defs": {name: target}});
    let text = json!({"type": "string"});
    let cases = [
        ("only the name has changed", by("x", text.clone()), by("y", text.clone()), Some(Cosmetic)),
        ("said in location now", by("x", text.clone()), json!({"properties": {"a": text}}), Some(Cosmetic)),
        ("the target is wider", by("x", text.clone()), by("x", json!({"type": ["string", "null"]})), Some(Compatible)),
        (
            "the target is narrower",
            by("x", text.clone()),
            by("x", json!({"type": "string", "maxLength": 1})),
            Some(Breaking),
        ),
        (
            "another definition has changed",
            json!({"properties": {"a": text}, "$defs": {"unused": {"type": "string"}}}),
            json!({"properties": {"a": text}, "$defs": {"unused": {"type": "number"}}}),
            Some(Cosmetic),
        ),
        (
            "a branch by reference is narrower",
            json!({"properties": {"a": {"anyOf": [{"$ref": "#/$defs/x"}, {"type": "null"}]}}, "$defs": {"x": text}}),
            json!({"properties": {"a": {"anyOf": [{"$ref": "#/$defs/x"}, {"type": "null"}]}}, "$defs": {"x": {"type": "number"}}}),
            Some(Breaking),
        ),
        (
            "the same reference under a keyword without an order",
            json!({"properties": {"a": {"not": {"$ref": "#/$defs/x"}}}, "$defs": {"x": text}}),
            json!({"properties": {"a": {"not": {"$ref": "#/$defs/x"}}}, "$defs": {"x": {"type": "number"}}}),
            Some(Breaking),
        ),
        (
            "a tree that refers to itself",
            json!({"properties": {"c": {"type": "array", "items": {"$ref": "#"}}, "n": {"type": "string"}}}),
            json!({"properties": {"c": {"type": "array", "items": {"$ref": "#"}}, "n": {"type": ["string", "null"]}}}),
            Some(Compatible),
        ),
        ("to nothing, before and after", json!({"$ref": "#/$defs/x"}), json!({"$ref": "#/$defs/x"}), None),
        ("to nothing else", json!({"$ref": "#/$defs/x"}), json!({"$ref": "#/$defs/y"}), Some(Breaking)),
    ];
    for (name, old, new, severity) in cases {
        assert_eq!(input_severity(old, new), severity, "{name}");
    }
}
