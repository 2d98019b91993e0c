//! What is said of a changed schema, against JSON Schema itself: after a change that is not called breaking, callers are still
//! understood, and readers still understand.

use client::{Drift, Severity, Tool};
use jsonschema::Validator;
use proptest::{prelude::*, test_runner::RngSeed};
use serde_json::{Value, json};

use crate::{
    hostile::{arguments, keyword, schema},
    instances::{Dice, instance, mutated},
};

/// Values that are made of each schema.
const VALUES: u64 = 20;

/// One change: of which object or list in a schema, what is put in there, and which of its parts is taken out instead.
type Edit = (usize, (String, Value), Option<usize>);

fn edits() -> impl Strategy<Value = Vec<Edit>> {
    prop::collection::vec((any::<usize>(), keyword(schema().boxed()), prop::option::of(any::<usize>())), 1..3)
}

/// How many objects and lists there are in a value, itself among them.
fn parts(value: &Value) -> usize {
    match value {
        Value::Object(map) => 1 + map.values().map(parts).sum::<usize>(),
        Value::Array(list) => 1 + list.iter().map(parts).sum::<usize>(),
        _ => 0,
    }
}

/// Changes the part of this number, and tells how many were passed.
fn change(value: &mut Value, number: usize, put: &(String, Value), gone: Option<usize>) -> usize {
    match (number, value) {
        (0, Value::Object(map)) => {
            match gone.filter(|_| !map.is_empty()) {
                Some(place) => {
                    let key = map.keys().nth(place % map.len()).unwrap().clone();
                    map.shift_remove(&key);
                }
                None => {
                    map.insert(put.0.clone(), put.1.clone());
                }
            }
            1
        }
        (0, Value::Array(list)) => {
            match gone.filter(|_| !list.is_empty()) {
                Some(place) => drop(list.remove(place % list.len())),
                None => list.push(put.1.clone()),
            }
            1
        }
        (_, value) => {
            let children: Vec<&mut Value> = match value {
                Value::Object(map) => map.values_mut().collect(),
                Value::Array(list) => list.iter_mut().collect(),
                _ => return 0,
            };
            let mut passed = 1;
            for child in children {
                if passed <= number {
                    passed += change(child, number - passed, put, gone);
                }
            }
            passed
        }
    }
}

fn edited(source: &Value, edits: &[Edit]) -> Value {
    let mut value = source.clone();
    for edit in edits {
        let (number, put, gone) = edit;
        let number = number % parts(&value).max(1);
        change(&mut value, number, put, *gone);
    }
    value
}

fn drift(old: &Value, new: &Value, of: impl Fn(&Value) -> Value) -> Option<Drift> {
    let read = |schema: &Value| Tool::read(of(schema)).ok().map(|(tool, _)| std::sync::Arc::new(tool));
    Some(Drift::between(&[read(old)?], &[read(new)?]))
}

/// A property that is new is not called breaking, though it could have been sent under a name that said nothing before.
fn is_excused(drift: &Drift) -> bool {
    drift.changes.iter().any(|change| change.at.contains("/properties/") && change.what == "was added")
}

/// A value that the first schema allows and the second one does not.
fn counterexample(schema: &Value, one: &Validator, other: &Validator, seed: u64) -> Option<Value> {
    let mut dice = Dice::seeded(seed);
    (0..VALUES).find_map(|number| {
        let made = instance(schema, schema, &mut dice, 0);
        let made = if number % 3 == 2 { mutated(&made, &mut dice) } else { made };
        (one.is_valid(&made) && !other.is_valid(&made)).then_some(made)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, rng_seed: RngSeed::Fixed(20_261_122), ..ProptestConfig::default() })]

    #[test]
    fn what_is_not_called_breaking_breaks_nobody(source in arguments(), edits in edits(), seed in any::<u64>()) {
        let changed = edited(&source, &edits);
        let (Ok(before), Ok(after)) = (jsonschema::validator_for(&source), jsonschema::validator_for(&changed)) else {
            return Ok(());
        };
        let harmless = |drift: &Option<Drift>| {
            drift.as_ref().is_some_and(|drift| drift.severity() < Some(Severity::Breaking) && !is_excused(drift))
        };
        let input = drift(&source, &changed, |schema| json!({ "name": "t", "inputSchema": schema }));
        if harmless(&input) {
            let refused = counterexample(&source, &before, &after, seed);
            prop_assert!(refused.is_none(), "{refused:?} is no longer taken:\n{source}\n{changed}\n{input:?}");
        }
        let output = drift(&source, &changed, |schema| json!({ "name": "t", "inputSchema": {}, "outputSchema": schema }));
        if harmless(&output) {
            let unknown = counterexample(&changed, &after, &before, seed);
            prop_assert!(unknown.is_none(), "{unknown:?} was never given before:\n{source}\n{changed}\n{output:?}");
        }
    }
}
