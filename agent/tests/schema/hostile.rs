//! Schemas that nobody would write, made of every keyword there is.

use mcp_workbench_agent::schema::{Options, Provider, convert, rules};
use proptest::{prelude::*, test_runner::RngSeed};
use serde_json::{Map, Value, json};

use crate::{nasty::tool, semantics::assert_report_is_complete};

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3_i64..4).prop_map(Value::from),
        Just(json!(0.5)),
        prop_oneof![Just(""), Just("a"), Just("b"), Just("#/$defs/d")].prop_map(Value::from),
        Just(json!({ "$ref": "#" })),
        Just(json!([1])),
    ]
}

fn names() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec(prop_oneof![Just("p"), Just("q"), Just("r s"), Just("$ref")].prop_map(str::to_owned), 0..3)
}

pub(crate) fn keyword(inner: BoxedStrategy<Value>) -> BoxedStrategy<(String, Value)> {
    let one =
        |key: &'static str, value: BoxedStrategy<Value>| value.prop_map(move |value| (key.to_owned(), value)).boxed();
    let schemas = prop::collection::vec(inner.clone(), 1..4).prop_map(Value::from).boxed();
    let named = (names(), prop::collection::vec(inner.clone(), 3))
        .prop_map(|(names, schemas)| Value::Object(names.into_iter().zip(schemas).collect()))
        .boxed();
    let kind = prop_oneof![
        Just("object"),
        Just("array"),
        Just("string"),
        Just("integer"),
        Just("number"),
        Just("boolean"),
        Just("null"),
    ];
    let kinds = prop_oneof![
        4 => kind.clone().prop_map(Value::from),
        1 => prop::collection::hash_set(kind, 1..4).prop_map(|kinds| kinds.into_iter().collect::<Vec<_>>().into()),
    ];
    let count = (0_u64..4).prop_map(Value::from).boxed();
    let number = prop_oneof![(-2_i64..5).prop_map(Value::from), Just(json!(1.5))].boxed();
    let list = names().prop_map(|names| {
        let mut names = names;
        names.sort();
        names.dedup();
        Value::from(names)
    });
    let pattern = prop_oneof![Just("^a"), Just("(?=a)b"), Just("^[a-z]*$")].prop_map(Value::from).boxed();
    let reference = prop_oneof![Just("#"), Just("#/$defs/d"), Just("#/properties/p")].prop_map(Value::from).boxed();
    let mut choices: Vec<(u32, BoxedStrategy<(String, Value)>)> = vec![
        (6, one("type", kinds.boxed())),
        (5, one("properties", named.clone())),
        (3, one("required", list.boxed())),
        (2, one("$ref", reference)),
        (2, one("enum", prop::collection::vec(scalar(), 1..4).prop_map(Value::from).boxed())),
        (1, one("const", scalar().boxed())),
        (1, one("default", scalar().boxed())),
        (1, one("pattern", pattern)),
        (1, one("format", Just(json!("email")).boxed())),
        (1, one("uniqueItems", any::<bool>().prop_map(Value::from).boxed())),
        (1, one("patternProperties", inner.clone().prop_map(|schema| json!({ "^p": schema })).boxed())),
        (1, one("dependentRequired", Just(json!({ "p": ["q"] })).boxed())),
        (1, one("nullable", Just(json!(true)).boxed())),
        (1, one("description", Just(json!("words")).boxed())),
    ];
    for key in ["allOf", "anyOf", "oneOf", "prefixItems"] {
        choices.push((2, one(key, schemas.clone())));
    }
    for key in
        ["items", "additionalProperties", "not", "contains", "propertyNames", "if", "then", "unevaluatedProperties"]
    {
        choices.push((1, one(key, inner.clone())));
    }
    for key in ["minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"] {
        choices.push((1, one(key, count.clone())));
    }
    for key in ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"] {
        choices.push((1, one(key, number.clone())));
    }
    prop::strategy::Union::new_weighted(choices).boxed()
}

pub(crate) fn schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        1 => any::<bool>().prop_map(Value::from),
        3 => Just(json!({ "type": "string" })),
        1 => Just(json!({})),
        1 => Just(json!({ "$ref": "#/$defs/d" })),
    ];
    leaf.prop_recursive(4, 40, 4, |inner| {
        prop::collection::vec(keyword(inner.boxed()), 1..5)
            .prop_map(|pairs| Value::Object(pairs.into_iter().collect::<Map<_, _>>()))
    })
}

pub(crate) fn arguments() -> impl Strategy<Value = Value> {
    (prop::collection::vec(keyword(schema().boxed()), 1..5), schema()).prop_map(|(pairs, definition)| {
        let mut map: Map<String, Value> = pairs.into_iter().collect();
        map.insert("type".into(), "object".into());
        map.insert("$defs".into(), json!({ "d": definition }));
        map.into()
    })
}

proptest! {
    // The same cases each time: this is a search over a large space, and a find belongs to whoever looks for one.
    #![proptest_config(ProptestConfig { cases: 300, rng_seed: RngSeed::Fixed(20_261_122), ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_converted_holds_the_rules_and_tells_what_it_changed(source in arguments(), seed in any::<u64>()) {
        let tool = tool(source.clone());
        for provider in Provider::ALL {
            let Ok(converted) = convert(provider, "tool", &tool, &Options::default()) else { continue };
            let violations = rules::violations(provider, &converted.definition);
            prop_assert!(violations.is_empty(), "{provider}: {violations:#?}\n{}", converted.definition);
            assert_report_is_complete(&source, &converted, seed);
        }
    }
}
