//! Model of a schema for all drafts. Each part has its location in the source.

use std::sync::Arc;

use serde_json::{Number, Value};

/// A schema and its referenced definitions.
#[derive(Debug, Clone)]
pub(super) struct Document {
    pub(super) root: Node,
    /// Indexed by the numbers in [`Node::reference`].
    pub(super) definitions: Vec<Definition>,
    /// Number of schemas.
    pub(super) size: usize,
}

/// A referenced schema.
#[derive(Debug, Clone)]
pub(super) struct Definition {
    /// Unique name in `$defs`, of letters, digits, `_`, `-` and `.`.
    pub(super) name: String,
    pub(super) node: Node,
    /// Whether it refers to itself directly or indirectly.
    pub(super) recursive: bool,
}

/// One schema. The default accepts every value.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Node {
    /// Location in the source as a JSON pointer.
    pub(super) at: Arc<str>,
    /// Whether it accepts no value.
    pub(super) never: bool,
    pub(super) reference: Option<usize>,
    pub(super) types: Option<Types>,
    /// `enum`, or the single value of `const`.
    pub(super) values: Option<Vec<Value>>,
    pub(super) annotations: Annotations,
    pub(super) format: Option<String>,
    pub(super) low: Option<Bound>,
    pub(super) high: Option<Bound>,
    pub(super) multiple_of: Option<Number>,
    pub(super) length: Range,
    pub(super) pattern: Option<String>,
    pub(super) prefix: Vec<Node>,
    pub(super) items: Option<Box<Node>>,
    pub(super) item_count: Range,
    pub(super) unique: bool,
    pub(super) contains: Option<Box<Contains>>,
    pub(super) properties: Vec<(String, Node)>,
    pub(super) required: Vec<String>,
    pub(super) additional: Option<Box<Node>>,
    pub(super) patterns: Vec<(String, Node)>,
    pub(super) names: Option<Box<Node>>,
    pub(super) property_count: Range,
    pub(super) dependent_required: Vec<(String, Vec<String>)>,
    pub(super) dependent_schemas: Vec<(String, Node)>,
    pub(super) unevaluated_properties: Option<Box<Node>>,
    pub(super) unevaluated_items: Option<Box<Node>>,
    pub(super) all_of: Vec<Node>,
    pub(super) any_of: Vec<Node>,
    pub(super) one_of: Vec<Node>,
    pub(super) not: Option<Box<Node>>,
    pub(super) condition: Option<Box<Condition>>,
}

/// Keywords without constraints.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Annotations {
    pub(super) title: Option<String>,
    pub(super) description: Option<String>,
    pub(super) default: Option<Value>,
    pub(super) examples: Vec<Value>,
}

/// `if`, `then` and `else`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Condition {
    pub(super) when: Node,
    pub(super) then: Option<Node>,
    pub(super) otherwise: Option<Node>,
}

/// `contains`, `minContains` and `maxContains`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Contains {
    pub(super) node: Node,
    pub(super) count: Range,
}

/// A minimum and a maximum.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) min: Option<u64>,
    pub(super) max: Option<u64>,
}

impl Range {
    /// The intersection.
    pub(super) fn and(self, other: Self) -> Self {
        let tighter = |left: Option<u64>, right: Option<u64>, pick: fn(u64, u64) -> u64| match (left, right) {
            (Some(left), Some(right)) => Some(pick(left, right)),
            (left, right) => left.or(right),
        };
        Self { min: tighter(self.min, other.min, u64::max), max: tighter(self.max, other.max, u64::min) }
    }

    pub(super) fn is_open(self) -> bool {
        self.min.is_none() && self.max.is_none()
    }
}

/// One end of a range of numbers.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Bound {
    pub(super) value: Number,
    pub(super) exclusive: bool,
}

impl Bound {
    pub(super) fn as_f64(&self) -> f64 {
        self.value.as_f64().unwrap_or_default()
    }
}

/// A set of types. It never contains both `integer` and `number`, which includes it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Types(u8);

impl Types {
    pub(super) const NULL: Self = Self(1);
    pub(super) const BOOLEAN: Self = Self(2);
    pub(super) const INTEGER: Self = Self(4);
    pub(super) const NUMBER: Self = Self(8);
    pub(super) const STRING: Self = Self(16);
    pub(super) const ARRAY: Self = Self(32);
    pub(super) const OBJECT: Self = Self(64);
    /// All types in the order of output.
    const NAMES: [(&'static str, Self); 7] = [
        ("string", Self::STRING),
        ("number", Self::NUMBER),
        ("integer", Self::INTEGER),
        ("boolean", Self::BOOLEAN),
        ("object", Self::OBJECT),
        ("array", Self::ARRAY),
        ("null", Self::NULL),
    ];

    pub(super) const fn all() -> Self {
        Self(1 | 2 | 8 | 16 | 32 | 64)
    }

    pub(super) fn named(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|(_, one)| *one)
    }

    /// The type of a value. `1.0` is an integer.
    pub(super) fn from_value(value: &Value) -> Self {
        match value {
            Value::Null => Self::NULL,
            Value::Bool(_) => Self::BOOLEAN,
            Value::Number(number) if number.as_f64().is_some_and(|float| float.fract() == 0.0) => Self::INTEGER,
            Value::Number(_) => Self::NUMBER,
            Value::String(_) => Self::STRING,
            Value::Array(_) => Self::ARRAY,
            Value::Object(_) => Self::OBJECT,
        }
    }

    pub(super) const fn with(self, other: Self) -> Self {
        let both = self.0 | other.0;
        Self(if both & Self::NUMBER.0 != 0 { both & !Self::INTEGER.0 } else { both })
    }

    /// The intersection, in which `number` includes `integer`.
    pub(super) const fn and(self, other: Self) -> Self {
        let number = Self::NUMBER.0 | Self::INTEGER.0;
        let integers = if self.0 & number != 0 && other.0 & number != 0 && (self.0 & other.0 & Self::NUMBER.0) == 0 {
            Self::INTEGER.0
        } else {
            0
        };
        Self((self.0 & other.0) | integers)
    }

    /// Whether every value of `other` is of one of these types.
    pub(super) fn covers(self, other: Self) -> bool {
        self.and(other) == other
    }

    pub(super) const fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(super) fn each(self) -> impl Iterator<Item = Self> {
        Self::NAMES.into_iter().map(|(_, one)| one).filter(move |one| self.0 & one.0 != 0)
    }

    pub(super) fn names(self) -> impl Iterator<Item = &'static str> {
        Self::NAMES.into_iter().filter(move |(_, one)| self.0 & one.0 != 0).map(|(name, _)| name)
    }
}

impl Node {
    /// A schema that accepts every value.
    pub(super) fn any(at: &Arc<str>) -> Self {
        Self { at: Arc::clone(at), ..Self::default() }
    }

    /// A schema that accepts no value.
    pub(super) fn never(at: &Arc<str>) -> Self {
        Self { never: true, ..Self::any(at) }
    }

    /// Whether it has no constraints.
    pub(super) fn is_any(&self) -> bool {
        self.reference.is_none() && self.has_no_own_constraint()
    }

    /// Whether it consists only of a reference and annotations.
    pub(super) fn is_reference_alone(&self) -> bool {
        self.reference.is_some() && self.has_no_own_constraint()
    }

    /// Whether it has no constraint except a reference.
    fn has_no_own_constraint(&self) -> bool {
        !self.never
            && self.types.is_none()
            && self.values.is_none()
            && self.format.is_none()
            && self.all_of.is_empty()
            && self.any_of.is_empty()
            && self.one_of.is_empty()
            && self.not.is_none()
            && self.condition.is_none()
            && self.types_of_keywords().is_empty()
    }

    /// Whether `additionalProperties` is `false`.
    pub(super) fn is_closed(&self) -> bool {
        self.additional.as_ref().is_some_and(|rest| rest.never)
    }

    pub(super) fn property(&self, name: &str) -> Option<&Self> {
        self.properties.iter().find(|(known, _)| known == name).map(|(_, node)| node)
    }

    pub(super) fn requires(&self, name: &str) -> bool {
        self.required.iter().any(|known| known == name)
    }

    /// Replaces unevaluated keywords by `additionalProperties` and `items`, once no other keyword can evaluate.
    pub(super) fn settle_unevaluated(&mut self) {
        let (properties, items) = (self.unevaluated_properties.take(), self.unevaluated_items.take());
        self.additional = self.additional.take().or(properties);
        self.items = self.items.take().or(items);
    }

    /// The types that its keywords apply to.
    pub(super) fn types_of_keywords(&self) -> Types {
        let mut types = Types::default();
        if !self.properties.is_empty()
            || !self.required.is_empty()
            || self.additional.is_some()
            || !self.patterns.is_empty()
            || self.names.is_some()
            || !self.property_count.is_open()
            || !self.dependent_required.is_empty()
            || !self.dependent_schemas.is_empty()
            || self.unevaluated_properties.is_some()
        {
            types = types.with(Types::OBJECT);
        }
        if !self.prefix.is_empty()
            || self.items.is_some()
            || !self.item_count.is_open()
            || self.unique
            || self.contains.is_some()
            || self.unevaluated_items.is_some()
        {
            types = types.with(Types::ARRAY);
        }
        if !self.length.is_open() || self.pattern.is_some() {
            types = types.with(Types::STRING);
        }
        if self.low.is_some() || self.high.is_some() || self.multiple_of.is_some() {
            types = types.with(Types::NUMBER);
        }
        types
    }

    /// The schema for values of one type, without the keywords of others.
    pub(super) fn restricted_to(&self, one: Types) -> Self {
        let mut node = Self {
            at: Arc::clone(&self.at),
            types: Some(one),
            values: self
                .values
                .as_ref()
                .map(|values| values.iter().filter(|value| one.covers(Types::from_value(value))).cloned().collect()),
            annotations: self.annotations.clone(),
            not: self.not.clone(),
            condition: self.condition.clone(),
            ..Self::default()
        };
        if one == Types::OBJECT {
            node.properties.clone_from(&self.properties);
            node.required.clone_from(&self.required);
            node.additional.clone_from(&self.additional);
            node.patterns.clone_from(&self.patterns);
            node.names.clone_from(&self.names);
            node.property_count = self.property_count;
            node.dependent_required.clone_from(&self.dependent_required);
            node.dependent_schemas.clone_from(&self.dependent_schemas);
            node.unevaluated_properties.clone_from(&self.unevaluated_properties);
        } else if one == Types::ARRAY {
            node.prefix.clone_from(&self.prefix);
            node.items.clone_from(&self.items);
            node.item_count = self.item_count;
            node.unique = self.unique;
            node.contains.clone_from(&self.contains);
            node.unevaluated_items.clone_from(&self.unevaluated_items);
        } else if one == Types::STRING {
            node.length = self.length;
            node.pattern.clone_from(&self.pattern);
            node.format.clone_from(&self.format);
        } else if one == Types::NUMBER || one == Types::INTEGER {
            node.low.clone_from(&self.low);
            node.high.clone_from(&self.high);
            node.multiple_of.clone_from(&self.multiple_of);
            node.format.clone_from(&self.format);
        }
        node
    }

    /// The directly nested schemas.
    pub(super) fn children(&self) -> impl Iterator<Item = &Self> {
        let boxed = [&self.items, &self.additional, &self.names, &self.unevaluated_properties, &self.unevaluated_items]
            .into_iter()
            .chain([&self.not])
            .flat_map(|child| child.as_deref());
        let named = self.properties.iter().chain(&self.patterns).chain(&self.dependent_schemas).map(|(_, node)| node);
        let listed = self.prefix.iter().chain(&self.all_of).chain(&self.any_of).chain(&self.one_of);
        let contained = self.contains.iter().map(|contains| &contains.node);
        let conditional = self.condition.iter().flat_map(|condition| {
            [Some(&condition.when), condition.then.as_ref(), condition.otherwise.as_ref()].into_iter().flatten()
        });
        boxed.chain(named).chain(listed).chain(contained).chain(conditional)
    }
}
