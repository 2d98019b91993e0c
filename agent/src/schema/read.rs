//! Reads a JSON Schema of any draft from 4 to 2020-12 within limits.
//!
//! Differences between drafts are recognized by form, because many generators set a wrong `$schema`: an array in `items` is
//! `prefixItems` of 2020-12, a boolean `exclusiveMinimum` is that of draft 4. Values that no draft allows and references that
//! cannot be resolved are errors.

mod index;
mod keywords;

use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::Arc,
};

use serde_json::{Map, Value};

use self::index::Index;
use super::{
    Limits,
    document::{Definition, Document, Node},
    error::SchemaError,
    report::{Effect, Report},
};

/// Reads a schema and reports keywords without a meaning.
pub(super) fn read(source: &Value, limits: &Limits, report: &mut Report) -> Result<Document, SchemaError> {
    index::check_size(source, limits)?;
    let mut reader = Reader {
        source,
        index: Index::new(source),
        limits,
        report,
        siblings_apply: index::reference_siblings_apply(source),
        nodes: 0,
        numbers: HashMap::new(),
        pointers: Vec::new(),
        waiting: VecDeque::new(),
    };
    let root = reader.node(source, "", 0)?;
    let mut nodes = HashMap::new();
    while let Some(number) = reader.waiting.pop_front() {
        let pointer = reader.pointers[number].clone();
        let value = source.pointer(&pointer).unwrap_or(&Value::Null);
        nodes.insert(number, reader.node(value, &pointer, 0)?);
    }
    let definitions = names(&reader.pointers)
        .into_iter()
        .enumerate()
        .filter_map(|(number, name)| Some(Definition { name, node: nodes.remove(&number)?, recursive: false }))
        .collect();
    let mut document = Document { root, definitions, size: reader.nodes };
    find_recursion(&mut document)?;
    Ok(document)
}

struct Reader<'a> {
    source: &'a Value,
    index: Index,
    limits: &'a Limits,
    report: &'a mut Report,
    /// Whether keywords next to `$ref` apply.
    siblings_apply: bool,
    nodes: usize,
    /// Number of each definition, by its JSON pointer.
    numbers: HashMap<String, usize>,
    pointers: Vec<String>,
    waiting: VecDeque<usize>,
}

impl Reader<'_> {
    fn node(&mut self, value: &Value, at: &str, depth: usize) -> Result<Node, SchemaError> {
        self.nodes += 1;
        if self.nodes > self.limits.nodes {
            return Err(SchemaError::TooLarge { limit: self.limits.nodes, unit: "parts" });
        }
        if depth > self.limits.depth {
            return Err(SchemaError::TooLarge { limit: self.limits.depth, unit: "levels" });
        }
        let at: Arc<str> = Arc::from(at);
        match value {
            Value::Bool(true) => Ok(Node::any(&at)),
            Value::Bool(false) => Ok(Node::never(&at)),
            Value::Object(map) => self.object(map, &at, depth),
            _ => Err(SchemaError::NotASchema { at: at.to_string() }),
        }
    }

    fn object(&mut self, map: &Map<String, Value>, at: &Arc<str>, depth: usize) -> Result<Node, SchemaError> {
        let mut node = Node::any(at);
        let reference = ["$ref", "$dynamicRef", "$recursiveRef"].into_iter().find(|key| map.contains_key(*key));
        if let Some(key) = reference {
            self.refer(&mut node, key, &map[key])?;
        }
        for (key, value) in map {
            let words_only = node.reference.is_some() && !self.siblings_apply;
            self.keyword(&mut node, key, value, depth, words_only)?;
        }
        if node.reference.is_none() || self.siblings_apply {
            self.combined(&mut node, map, depth)?;
        }
        Ok(node)
    }

    /// Resolves a reference. External references are not followed: a schema from a server must not cause requests.
    fn refer(&mut self, node: &mut Node, key: &str, value: &Value) -> Result<(), SchemaError> {
        let Value::String(reference) = value else {
            return Err(malformed(&node.at, key, "a string"));
        };
        let Some(pointer) = self.index.resolve(reference, &node.at) else {
            self.report.add(&node.at, key, "dropped", "external references are not fetched", Effect::Wider);
            return Ok(());
        };
        if self.source.pointer(&pointer).is_none() {
            return Err(SchemaError::Dangling { at: node.at.to_string(), reference: reference.clone() });
        }
        let next = self.pointers.len();
        let number = *self.numbers.entry(pointer.clone()).or_insert(next);
        if number == next {
            if next >= self.limits.definitions {
                return Err(SchemaError::TooLarge { limit: self.limits.definitions, unit: "definitions" });
            }
            self.pointers.push(pointer);
            self.waiting.push_back(next);
        }
        node.reference = Some(number);
        Ok(())
    }
}

/// A unique name in `$defs` for each pointer.
fn names(pointers: &[String]) -> Vec<String> {
    let mut taken = HashSet::new();
    pointers
        .iter()
        .map(|pointer| {
            let last = pointer.rsplit('/').next().unwrap_or_default();
            let legal = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-' | '.');
            let mut name: String =
                last.chars().map(|letter| if legal(letter) { letter } else { '_' }).take(48).collect();
            if name.is_empty() {
                name = "root".into();
            }
            let mut unique = name.clone();
            let mut count = 2;
            while !taken.insert(unique.clone()) {
                unique = format!("{name}_{count}");
                count += 1;
            }
            unique
        })
        .collect()
}

/// Marks recursive definitions.
fn find_recursion(document: &mut Document) -> Result<(), SchemaError> {
    let edges: Vec<Vec<usize>> = document.definitions.iter().map(|one| references_in(&one.node)).collect();
    for start in 0..edges.len() {
        let mut seen = HashSet::new();
        let mut open = edges[start].clone();
        while let Some(next) = open.pop() {
            if seen.insert(next) {
                open.extend(&edges[next]);
            }
        }
        document.definitions[start].recursive = seen.contains(&start);
    }
    // A chain of schemas that only refer to each other must end.
    for start in 0..edges.len() {
        let mut at = start;
        for _ in 0..=edges.len() {
            let node = &document.definitions[at].node;
            match node.reference {
                Some(next) => at = next,
                None => break,
            }
            if at == start {
                return Err(SchemaError::Circular { at: node.at.to_string() });
            }
        }
    }
    Ok(())
}

fn references_in(node: &Node) -> Vec<usize> {
    let mut found = Vec::new();
    let mut open = vec![node];
    while let Some(node) = open.pop() {
        found.extend(node.reference);
        open.extend(node.children());
    }
    found.sort_unstable();
    found.dedup();
    found
}

fn malformed(at: &str, keyword: &str, wanted: &'static str) -> SchemaError {
    SchemaError::Malformed { at: at.to_owned(), keyword: keyword.to_owned(), wanted }
}

/// Appends a token to a JSON pointer (RFC 6901).
pub(super) fn step(at: &str, key: &str) -> String {
    let mut pointer = String::with_capacity(at.len() + key.len() + 1);
    pointer.push_str(at);
    pointer.push('/');
    for letter in key.chars() {
        match letter {
            '~' => pointer.push_str("~0"),
            '/' => pointer.push_str("~1"),
            other => pointer.push(other),
        }
    }
    pointer
}
