//! The shapes of messages in all revisions: which members a message has, of which types, and which values.
//!
//! The shapes are data, in `scenarios/shapes/*.yaml`; `messages.yaml` there explains the notation. [`check`] compares one
//! message with them. It is pure and linear in the size of the message. What a message means, and when it may be sent,
//! is the subject of checks in `judge`.
//!
//! - `file` and `expression` read the data, `compile` resolves it for one revision.
//! - `validate` compares a value with a definition; `format` knows URIs, URI templates and base64.

mod compile;
mod expression;
mod fault;
mod file;
mod format;
#[cfg(test)]
mod tests;
mod validate;

use std::{collections::HashMap, sync::LazyLock};

use ::evidence::Direction;
use serde_json::Value;

use self::expression::Range;
pub use self::{
    fault::{Fault, Observed},
    format::{is_base64, is_uri, is_uri_template},
    validate::{Counts, Report},
};
use crate::model::Revision;

static BUILT_IN: LazyLock<[Shapes; Revision::ALL.len()]> = LazyLock::new(|| {
    let files = file::built_in().expect("a part of the program, tested");
    Revision::ALL.map(|revision| compile::compile(&files, revision).expect("a part of the program, tested"))
});

/// Compares a message with the shapes of a revision. A response is compared with the result of `method`, the method of
/// its request; if the method is not known, only its envelope is compared.
#[must_use]
pub fn check(revision: Revision, direction: Direction, message: &Value, method: Option<&str>) -> Report {
    Shapes::in_revision(revision).check(direction, message, method)
}

/// The definitions and methods of one revision.
#[derive(Debug)]
pub struct Shapes {
    definitions: Vec<Definition>,
    by_name: HashMap<String, usize>,
    requests: HashMap<String, Method>,
    notifications: HashMap<String, Method>,
}

/// The parameters and the result of a method.
#[derive(Debug)]
struct Method {
    schema: String,
    from_client: bool,
    from_server: bool,
    params: usize,
    params_required: bool,
    /// Absent for notifications.
    result: Option<usize>,
}

/// One kind of object.
#[derive(Debug)]
struct Definition {
    name: String,
    /// Its name in the schema of the specification, if it has one.
    schema: Option<String>,
    /// Whether faults are reported for the definition that contains it.
    is_part: bool,
    body: Body,
}

#[derive(Debug)]
enum Body {
    /// An object with these members.
    Object(Vec<Field>),
    /// The first definition whose condition is met.
    Choice(Vec<Case>),
}

/// A member of an object.
#[derive(Debug)]
struct Field {
    name: String,
    is_required: bool,
    kind: Type,
}

/// A definition, and the members that an object of this kind has. Without conditions it fits all others.
#[derive(Debug)]
struct Case {
    conditions: Vec<Condition>,
    definition: usize,
}

/// A member that is present, or has this value.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Condition {
    member: String,
    value: Option<String>,
}

/// The type of a value.
#[derive(Debug, Clone, PartialEq)]
enum Type {
    Any,
    Null,
    String,
    Boolean,
    Integer(Range),
    Number(Range),
    Object,
    /// A member that must not be present.
    Absent,
    Uri,
    UriTemplate,
    Base64,
    /// This string.
    Const(String),
    Array {
        of: Box<Type>,
        max: Option<usize>,
    },
    /// An object whose members have one type.
    Map(Box<Type>),
    Union(Vec<Type>),
    Definition(usize),
}

impl Shapes {
    /// The shapes of a revision.
    #[must_use]
    pub fn in_revision(revision: Revision) -> &'static Self {
        &BUILT_IN[revision as usize]
    }

    /// Compares a message. See [`check`].
    #[must_use]
    pub fn check(&'static self, direction: Direction, message: &Value, method: Option<&str>) -> Report {
        validate::message(self, direction, message, method)
    }

    /// Compares a value with a definition of this name, if the revision has it.
    #[must_use]
    pub fn check_value(&'static self, definition: &str, value: &Value) -> Option<Report> {
        Some(validate::value(self, *self.by_name.get(definition)?, value))
    }

    /// The names of the definitions, and their names in the schema of the specification.
    pub fn definitions(&self) -> impl Iterator<Item = (&str, Option<&str>)> {
        self.definitions.iter().map(|definition| (definition.name.as_str(), definition.schema.as_deref()))
    }

    /// The names of the definitions for which faults are reported: all but parts of others.
    pub fn owners(&self) -> impl Iterator<Item = &str> {
        self.definitions.iter().filter(|definition| !definition.is_part).map(|definition| definition.name.as_str())
    }

    /// The methods of requests, with the names of the requests in the schema and the definitions of their results.
    pub fn requests(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        self.requests.iter().map(|(method, entry)| {
            let result = entry.result.map_or("", |result| self.definitions[result].name.as_str());
            (method.as_str(), entry.schema.as_str(), result)
        })
    }

    /// Whether the revision has a request or notification of this method in this direction.
    #[must_use]
    pub fn has_method(&self, method: &str, direction: Direction) -> bool {
        [&self.requests, &self.notifications].iter().any(|all| all.get(method).is_some_and(|it| it.is_from(direction)))
    }

    /// The methods of notifications, and their names in the schema.
    pub fn notifications(&self) -> impl Iterator<Item = (&str, &str)> {
        self.notifications.iter().map(|(method, entry)| (method.as_str(), entry.schema.as_str()))
    }
}

impl Method {
    fn is_from(&self, direction: Direction) -> bool {
        match direction {
            Direction::ClientToServer => self.from_client,
            Direction::ServerToClient => self.from_server,
        }
    }
}
