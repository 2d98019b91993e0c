//! Compares values with definitions. Each value is visited once, so the cost is linear in the size of the message.

use std::collections::BTreeMap;

use ::evidence::Direction;
use serde_json::{Map, Value};

use super::{
    Body, Case, Condition, Definition, Fault, Field, Method, Observed, Shapes, Type,
    fault::{alternatives, observed},
    format::{is_base64, is_uri, is_uri_template},
};

/// Maximum number of faults per definition that a report describes; the others are counted.
const MAX_FAULTS: usize = 5;
/// Maximum depth of values that are compared. The definitions are not deeper.
const MAX_DEPTH: usize = 64;

/// The result of a comparison.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Report {
    /// The faults, at most five per definition.
    pub faults: Vec<Fault>,
    /// The definitions that were compared, except parts of others.
    pub counts: BTreeMap<&'static str, Counts>,
}

/// Numbers of values of one definition.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// Compared values.
    pub values: usize,
    /// Faults, also those that are not described.
    pub faults: usize,
}

pub(super) fn message(shapes: &'static Shapes, direction: Direction, message: &Value, method: Option<&str>) -> Report {
    let envelope = envelope(message);
    let sent = message.get("method").and_then(Value::as_str);
    // The member that depends on the method.
    let inner = match envelope {
        "request" => params(sent.and_then(|sent| shapes.requests.get(sent)), direction),
        "notification" => params(sent.and_then(|sent| shapes.notifications.get(sent)), direction),
        "result-response" => result(shapes, direction, method),
        _ => None,
    };
    let mut validator = Validator::new(shapes);
    validator.definition(shapes.by_name[envelope], message, inner.as_ref());
    validator.report
}

pub(super) fn value(shapes: &'static Shapes, definition: usize, value: &Value) -> Report {
    let mut validator = Validator::new(shapes);
    validator.definition(definition, value, None);
    validator.report
}

/// The definition of the envelope of a message.
fn envelope(message: &Value) -> &'static str {
    let has = |member: &str| message.get(member).is_some();
    match (has("method"), has("id"), has("error")) {
        (true, true, _) => "request",
        (true, false, _) => "notification",
        (false, _, true) => "error-response",
        (false, ..) => "result-response",
    }
}

/// A member whose type replaces that of the definition.
struct Inner {
    member: &'static str,
    is_required: bool,
    definition: usize,
}

fn params(method: Option<&Method>, direction: Direction) -> Option<Inner> {
    let method = method.filter(|method| method.is_from(direction))?;
    Some(Inner { member: "params", is_required: method.params_required, definition: method.params })
}

/// The result of a request that was sent in the other direction. All results share the members of `result`.
fn result(shapes: &Shapes, direction: Direction, method: Option<&str>) -> Option<Inner> {
    let opposite = match direction {
        Direction::ClientToServer => Direction::ServerToClient,
        Direction::ServerToClient => Direction::ClientToServer,
    };
    let known = shapes.requests.get(method?).filter(|method| method.is_from(opposite));
    let definition = known.and_then(|method| method.result).unwrap_or(shapes.by_name["result"]);
    Some(Inner { member: "result", is_required: true, definition })
}

#[derive(Clone, Copy)]
enum Segment<'m> {
    Member(&'m str),
    Item(usize),
}

struct Validator<'m> {
    shapes: &'static Shapes,
    path: Vec<Segment<'m>>,
    /// The innermost definition that is not a part of another.
    owner: &'static str,
    report: Report,
}

impl<'m> Validator<'m> {
    fn new(shapes: &'static Shapes) -> Self {
        Self { shapes, path: Vec::new(), owner: "", report: Report::default() }
    }

    fn definition(&mut self, position: usize, value: &'m Value, inner: Option<&Inner>) {
        let definition: &'static Definition = &self.shapes.definitions[position];
        let outer = self.owner;
        self.enter(definition);
        match (&definition.body, value) {
            (Body::Object(fields), Value::Object(members)) => self.object(fields, members, inner),
            (Body::Object(_), _) => self.mismatch("an object".to_owned(), value),
            (Body::Choice(cases), _) => match cases.iter().find(|case| case.fits(value)) {
                Some(case) => self.definition(case.definition, value, None),
                None => self.no_case(cases, value),
            },
        }
        self.owner = outer;
    }

    fn enter(&mut self, definition: &'static Definition) {
        if !definition.is_part || self.owner.is_empty() {
            self.owner = &definition.name;
            self.report.counts.entry(self.owner).or_default().values += 1;
        }
    }

    fn object(&mut self, fields: &'static [Field], members: &'m Map<String, Value>, inner: Option<&Inner>) {
        for field in fields {
            if inner.is_some_and(|inner| inner.member == field.name) {
                continue;
            }
            match members.get(&field.name) {
                Some(value) => self.at(Segment::Member(&field.name), |this| this.value(&field.kind, value)),
                None if field.is_required => self.missing(&field.name, field.kind.words()),
                None => {}
            }
        }
        let Some(inner) = inner else { return };
        match members.get(inner.member) {
            Some(value) => {
                self.at(Segment::Member(inner.member), |this| this.definition(inner.definition, value, None));
            }
            None if inner.is_required => {
                let outer = self.owner;
                self.enter(&self.shapes.definitions[inner.definition]);
                self.missing(inner.member, "an object".to_owned());
                self.owner = outer;
            }
            None => {}
        }
    }

    fn value(&mut self, kind: &'static Type, value: &'m Value) {
        match (kind, value) {
            (Type::Definition(position), _) => self.definition(*position, value, None),
            (Type::Absent, _) => self.fault(String::new(), Observed::Unexpected),
            (Type::Array { of, max }, Value::Array(items)) => {
                if max.is_some_and(|max| items.len() > max) {
                    self.mismatch(kind.words(), value);
                }
                for (position, item) in items.iter().enumerate() {
                    self.at(Segment::Item(position), |this| this.value(of, item));
                }
            }
            (Type::Map(of), Value::Object(members)) => {
                for (name, member) in members {
                    self.at(Segment::Member(name), |this| this.value(of, member));
                }
            }
            (Type::Union(all), _) => match all.iter().find(|one| one.may_contain(value)) {
                Some(one) => self.value(one, value),
                None => self.mismatch(kind.words(), value),
            },
            _ if kind.contains(value) => {}
            _ => self.mismatch(kind.words(), value),
        }
    }

    /// Compares something inside of the current value.
    fn at(&mut self, segment: Segment<'m>, compare: impl FnOnce(&mut Self)) {
        if self.path.len() >= MAX_DEPTH {
            return;
        }
        self.path.push(segment);
        compare(self);
        self.path.pop();
    }

    fn no_case(&mut self, cases: &'static [Case], value: &'m Value) {
        if !value.is_object() {
            return self.mismatch("an object".to_owned(), value);
        }
        let first = |case: &'static Case| case.conditions.first();
        let by_value = |condition: &'static Condition| condition.value.as_deref();
        let mut values: Vec<&str> = cases.iter().filter_map(|case| by_value(first(case)?)).collect();
        values.dedup();
        match cases.first().and_then(first) {
            Some(Condition { member, value: Some(_) }) => {
                let expected = alternatives(values.into_iter().map(|value| format!("\"{value}\"")));
                match value.get(member) {
                    Some(value) => self.at(Segment::Member(member), |this| this.mismatch(expected, value)),
                    None => self.missing(member, expected),
                }
            }
            Some(Condition { member, value: None }) => {
                let members = cases.iter().filter_map(|case| Some(format!("`{}`", first(case)?.member)));
                self.missing(member, alternatives(members));
            }
            None => {}
        }
    }

    fn missing(&mut self, member: &'static str, expected: String) {
        self.at(Segment::Member(member), |this| this.fault(expected, Observed::Missing));
    }

    fn mismatch(&mut self, expected: String, value: &Value) {
        self.fault(expected, Observed::Value(observed(value)));
    }

    fn fault(&mut self, expected: String, observed: Observed) {
        let counts = self.report.counts.entry(self.owner).or_default();
        counts.faults += 1;
        if counts.faults <= MAX_FAULTS {
            let (definition, pointer) = (self.owner, self.pointer());
            self.report.faults.push(Fault { definition, pointer, expected, observed });
        }
    }

    fn pointer(&self) -> String {
        let mut pointer = String::new();
        for segment in &self.path {
            pointer.push('/');
            match segment {
                Segment::Member(name) => pointer.push_str(&name.replace('~', "~0").replace('/', "~1")),
                Segment::Item(position) => pointer.push_str(&position.to_string()),
            }
        }
        pointer
    }
}

impl Case {
    fn fits(&self, value: &Value) -> bool {
        self.conditions.iter().all(|condition| match (value.get(&condition.member), &condition.value) {
            (found, None) => found.is_some(),
            (Some(Value::String(text)), Some(wanted)) => text == wanted,
            (Some(Value::Number(number)), Some(wanted)) => number.to_string() == *wanted,
            _ => false,
        })
    }
}

impl Type {
    /// Whether a value is one of a type without inner values.
    fn contains(&self, value: &Value) -> bool {
        match (self, value) {
            (Self::Any, _)
            | (Self::Null, Value::Null)
            | (Self::String, Value::String(_))
            | (Self::Boolean, Value::Bool(_))
            | (Self::Object, Value::Object(_)) => true,
            (Self::Uri, Value::String(text)) => is_uri(text),
            (Self::UriTemplate, Value::String(text)) => is_uri_template(text),
            (Self::Base64, Value::String(text)) => is_base64(text),
            (Self::Const(wanted), Value::String(text)) => text == wanted,
            (Self::Number(range), Value::Number(number)) => number.as_f64().is_none_or(|it| range.contains(it)),
            // 1.0 is an integer too (JSON Schema, "integer").
            (Self::Integer(range), Value::Number(number)) => {
                number.as_f64().is_none_or(|it| it.fract() == 0.0 && range.contains(it))
            }
            _ => false,
        }
    }

    /// Whether a value may be one of this type, so that inner faults are its faults.
    fn may_contain(&self, value: &Value) -> bool {
        match (self, value) {
            (Self::Array { .. }, Value::Array(_)) | (Self::Map(_) | Self::Definition(_), Value::Object(_)) => true,
            (Self::Union(all), _) => all.iter().any(|one| one.may_contain(value)),
            _ => self.contains(value),
        }
    }
}
