//! Invalid values that differ from a valid one in one place.

use serde_json::{Map, Value, json};

use super::{
    InvalidArguments,
    generate::{Generator, required, type_of, types},
};

/// Maximum depth of the objects in which a property is changed.
const MAX_DEPTH: usize = 3;
/// Maximum length of a string or array that is made too long.
const MAX_LENGTH: u64 = 10_000;
/// A string that is in no `enum`.
const NOT_NAMED: &str = "workbench-not-in-the-schema";

/// A kind of rule, in the order in which the invalid arguments are returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rule {
    Required,
    Type,
    Null,
    Fraction,
    Enum,
    Below,
    Above,
    Short,
    Long,
    Few,
    Many,
    Pattern,
}

impl Rule {
    const ALL: [Self; 12] = [
        Self::Required,
        Self::Type,
        Self::Null,
        Self::Fraction,
        Self::Enum,
        Self::Below,
        Self::Above,
        Self::Short,
        Self::Long,
        Self::Few,
        Self::Many,
        Self::Pattern,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Required => "missing",
            Self::Type => "wrong type",
            Self::Null => "null",
            Self::Fraction => "no integer",
            Self::Enum => "not in the enum",
            Self::Below => "below the minimum",
            Self::Above => "above the maximum",
            Self::Short => "too short",
            Self::Long => "too long",
            Self::Few => "too few items",
            Self::Many => "too many items",
            Self::Pattern => "does not match the pattern",
        }
    }
}

/// The rules that are violated inside of objects and arrays too, and whether by an item of an array.
const INSIDE: [(Rule, bool); 7] = [
    (Rule::Type, false),
    (Rule::Type, true),
    (Rule::Required, false),
    (Rule::Enum, false),
    (Rule::Enum, true),
    (Rule::Below, false),
    (Rule::Above, false),
];

/// A change of one property or item.
struct Change {
    rule: Rule,
    path: Vec<String>,
    /// The new value; none removes the property.
    value: Option<Value>,
    /// Lower numbers are preferred.
    rank: usize,
    /// Whether it changes an item of an array, and no property.
    is_item: bool,
}

/// The invalid arguments: at most one per rule, as near to the top level as possible, and then those inside of objects and
/// arrays. `filled` has them, if valid arguments can.
pub(super) fn violations(
    generator: &Generator<'_>,
    valid: &Map<String, Value>,
    filled: &Map<String, Value>,
    is_valid: impl Fn(&Value) -> bool,
) -> Vec<InvalidArguments> {
    let invalid = |base: &Map<String, Value>, change: &Change| {
        let arguments = changed(base, change).filter(|arguments| !is_valid(arguments))?;
        let violates = format!("/{}: {}", change.path.join("/"), change.rule.name());
        let Value::Object(arguments) = arguments else { return None };
        Some(InvalidArguments { arguments, violates })
    };
    let (nearest, inside) = (changes(generator, valid), changes(generator, filled));
    let first = |rule: Rule| {
        let mut of_rule = nearest.iter().filter(|change| change.rule == rule);
        of_rule.find_map(|change| invalid(valid, change))
    };
    // An array that may be empty has an item to repeat only if it is filled.
    let too_many = || {
        let mut of_arrays = inside.iter().filter(|change| change.rule == Rule::Many && change.path.len() == 1);
        of_arrays.find_map(|change| invalid(filled, change))
    };
    let one_of = |rule: Rule| first(rule).or_else(|| (rule == Rule::Many).then(too_many).flatten());
    let mut found: Vec<InvalidArguments> = Rule::ALL.into_iter().filter_map(one_of).collect();
    for (rule, is_item) in INSIDE {
        let mut fitting =
            inside.iter().filter(|change| change.path.len() > 1 && change.rule == rule && change.is_item == is_item);
        let one = fitting.find_map(|change| invalid(filled, change));
        found.extend(one.filter(|one| found.iter().all(|other| other.violates != one.violates)));
    }
    found
}

/// The changes of these arguments, those near to the top level first.
fn changes(generator: &Generator<'_>, arguments: &Map<String, Value>) -> Vec<Change> {
    let mut changes = Vec::new();
    if let Some(flat) = generator.flat(generator.root, 0) {
        collect(generator, &flat, arguments, &mut Vec::new(), &mut changes);
    }
    changes.sort_by_key(|change| (change.path.len(), change.rank));
    changes
}

/// Collects the changes of the properties of an object.
fn collect(
    generator: &Generator<'_>,
    flat: &Map<String, Value>,
    object: &Map<String, Value>,
    path: &mut Vec<String>,
    changes: &mut Vec<Change>,
) {
    for (name, schema) in flat.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let Some(property) = generator.flat(schema, path.len()) else { continue };
        let is_required = required(flat).any(|required| required == name);
        path.push(name.clone());
        let rank = rank(&property) + if is_required { 0 } else { 10 };
        let mut add = |rule, value| changes.push(Change { rule, path: path.clone(), value, rank, is_item: false });
        if is_required {
            add(Rule::Required, None);
            // Libraries take `null` for an optional property that is missing.
            add(Rule::Null, Some(Value::Null));
        }
        for (rule, value) in wrong_values(&property, object.get(name)) {
            add(rule, Some(value));
        }
        match object.get(name) {
            Some(Value::Object(inner)) if path.len() < MAX_DEPTH => collect(generator, &property, inner, path, changes),
            Some(Value::Array(items)) if path.len() < MAX_DEPTH => {
                collect_items(generator, &property, items, path, changes)
            }
            _ => {}
        }
        path.pop();
    }
}

/// Collects the changes of the first item of an array, if its items have a schema.
fn collect_items(
    generator: &Generator<'_>,
    flat: &Map<String, Value>,
    items: &[Value],
    path: &mut Vec<String>,
    changes: &mut Vec<Change>,
) {
    let schema = flat.get("items").filter(|schema| schema.is_object());
    let Some(item) = schema.and_then(|schema| generator.flat(schema, path.len())) else { return };
    path.push("0".to_owned());
    let wrong = wrong_values(&item, items.first()).into_iter();
    let item_of = |(rule, value)| Change { rule, path: path.clone(), value: Some(value), rank: 0, is_item: true };
    changes.extend(wrong.map(item_of));
    if let Some(Value::Object(inner)) = items.first() {
        collect(generator, &item, inner, path, changes);
    }
    path.pop();
}

/// The preference for changing a property of this type. Libraries that convert values turn almost anything into a boolean or
/// a string, so those are the last choice.
fn rank(property: &Map<String, Value>) -> usize {
    match type_of(property) {
        "integer" | "number" => 0,
        _ if property.contains_key("enum") => 1,
        "array" => 2,
        "object" => 3,
        "string" => 4,
        _ => 5,
    }
}

fn wrong_values(property: &Map<String, Value>, valid: Option<&Value>) -> Vec<(Rule, Value)> {
    let mut wrong = Vec::new();
    wrong.extend(wrong_type(property).map(|value| (Rule::Type, value)));
    let kinds = types(property);
    if kinds.contains(&"integer") && !kinds.contains(&"number") {
        wrong.push((Rule::Fraction, json!(1.5)));
    }
    if property.contains_key("enum") {
        wrong.push((Rule::Enum, json!(NOT_NAMED)));
    }
    let limit = |key: &str| property.get(key).and_then(Value::as_i64);
    let below = limit("minimum").map(|least| least.saturating_sub(1)).or_else(|| limit("exclusiveMinimum"));
    let above = limit("maximum").map(|most| most.saturating_add(1)).or_else(|| limit("exclusiveMaximum"));
    wrong.extend(below.map(|number| (Rule::Below, json!(number))));
    wrong.extend(above.map(|number| (Rule::Above, json!(number))));
    wrong.extend(wrong_lengths(property, valid));
    if property.contains_key("pattern") {
        wrong.extend(["!", "", "0 a"].map(|text| (Rule::Pattern, json!(text))));
    }
    wrong
}

/// A value of a type that the schema forbids, and that no library converts.
fn wrong_type(property: &Map<String, Value>) -> Option<Value> {
    let allowed = types(property);
    if allowed.is_empty() {
        return None;
    }
    let object = || (!allowed.contains(&"object")).then(|| json!({ "workbench": [] }));
    let number = || (!allowed.iter().any(|kind| matches!(*kind, "number" | "integer"))).then(|| json!(7));
    let text = || (!allowed.contains(&"string")).then(|| json!("not this type"));
    object().or_else(number).or_else(text)
}

/// Strings and arrays just beyond the limits of a schema.
fn wrong_lengths(property: &Map<String, Value>, valid: Option<&Value>) -> Vec<(Rule, Value)> {
    let limit = |key: &str| property.get(key).and_then(Value::as_u64).filter(|limit| *limit < MAX_LENGTH);
    let item = valid.and_then(|valid| valid.as_array()?.first());
    let text = |length: u64| Some(json!("t".repeat(usize::try_from(length).ok()?)));
    let items = |length: u64| match item {
        Some(item) => Some(Value::Array(vec![item.clone(); usize::try_from(length).ok()?])),
        None => (length == 0).then(|| json!([])),
    };
    let below = |key: &str| limit(key)?.checked_sub(1);
    let above = |key: &str| limit(key).map(|most| most + 1);
    let all = [
        (Rule::Short, below("minLength").and_then(text)),
        (Rule::Long, above("maxLength").and_then(text)),
        (Rule::Few, below("minItems").and_then(items)),
        (Rule::Many, above("maxItems").and_then(items)),
    ];
    all.into_iter().filter_map(|(rule, value)| Some((rule, value?))).collect()
}

/// The arguments with the change; `None` if they have no place for it.
fn changed(arguments: &Map<String, Value>, change: &Change) -> Option<Value> {
    let (name, parents) = change.path.split_last()?;
    let mut arguments = Value::Object(arguments.clone());
    let parent = parents.iter().try_fold(&mut arguments, |value, name| match value {
        Value::Array(items) => items.get_mut(name.parse::<usize>().ok()?),
        value => value.get_mut(name),
    })?;
    match (parent, &change.value) {
        (Value::Array(items), Some(value)) => *items.get_mut(name.parse::<usize>().ok()?)? = value.clone(),
        (Value::Object(object), Some(value)) => {
            object.insert(name.clone(), value.clone());
        }
        (Value::Object(object), None) => {
            object.remove(name)?;
        }
        _ => return None,
    }
    Some(arguments)
}
