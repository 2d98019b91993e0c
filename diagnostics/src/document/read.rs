//! Reads a typed value and collects all errors.
//!
//! A `Deserialize` implementation stops at its first error. This module then removes the entry or element with the error
//! from the tree and reads again, until the rest can be read. An error that only follows from a removal is not reported.

use std::collections::{BTreeMap, BTreeSet};

use serde::de::DeserializeOwned;

use super::{
    Content, Document, Node, NodeId,
    deserializer::NodeDeserializer,
    error::{Cause, Inner, ReadError, Slot, explain},
};
use crate::{Diagnostic, Diagnostics};

/// Maximum number of errors that are reported for one file.
const MAX_ERRORS: usize = 50;

/// Maximum number of nodes visited by repeated reads: reading a large file fifty times would take seconds.
const MAX_VISITS: usize = 2_000_000;

impl Document {
    /// Deserializes the document.
    ///
    /// # Errors
    /// All errors, in the order of the file.
    pub fn read<T: DeserializeOwned>(&mut self) -> Result<T, Diagnostics> {
        match self.read_partly() {
            Partial { value: Some(value), errors, .. } if errors.is_empty() => Ok(value),
            Partial { errors, .. } => {
                Err(Diagnostics::new(errors)
                    .unwrap_or_else(|| Diagnostics::from(self.source.error(&(0..0), "unreadable"))))
            }
        }
    }

    /// Deserializes what is left of the document after the removal of all entries and elements with errors, and returns
    /// the errors in the order of the file. The document then matches the value.
    pub fn read_partly<T: DeserializeOwned>(&mut self) -> Partial<T> {
        let mut errors: Vec<Diagnostic> = Vec::new();
        let mut removed = Removed::default();
        let mut reads = (MAX_VISITS / self.nodes.len().max(1)).clamp(3, 2 * MAX_ERRORS);
        let mut value = None;
        let mut is_complete = true;
        while reads > 0 {
            reads -= 1;
            let error = match T::deserialize(NodeDeserializer::new(self, self.root)) {
                Ok(read) => {
                    value = Some(read);
                    break;
                }
                Err(error) => error.0,
            };
            let at = error.at.unwrap_or(self.root);
            let further = self.further_missing_keys::<T>(&error, &mut reads);
            for error in std::iter::once(&*error).chain(&further).filter(|error| !removed.explains(self, error)) {
                errors.push(explain(self, error, removed.first_keys.get(&at).copied()));
            }
            is_complete &= match &error.cause {
                Cause::UnknownKey(key, valid) => self.format.meant(key, valid).is_none(),
                _ => false,
            };
            if errors.len() >= MAX_ERRORS || !removed.remove(self, &error) {
                break;
            }
        }
        errors.truncate(MAX_ERRORS);
        errors.sort_by_key(|error| error.location.as_ref().map(|location| (location.line, location.column)));
        Partial { value, errors, is_complete }
    }

    /// Returns the errors about the other missing keys of a table. A `Deserialize` implementation stops at the first one, so
    /// placeholders are inserted until it succeeds, or rejects a placeholder.
    fn further_missing_keys<T: DeserializeOwned>(&mut self, error: &Inner, reads: &mut usize) -> Vec<Inner> {
        let (Cause::MissingKey(key), Some(table)) = (&error.cause, error.at) else { return Vec::new() };
        let (nodes, span) = (self.nodes.len(), self.node(table).span.clone());
        let mut keys = vec![*key];
        let mut errors = Vec::new();
        while *reads > 0 {
            *reads -= 1;
            let entry = (NodeId(self.nodes.len()), NodeId(self.nodes.len() + 1));
            let Content::Table(entries) = &mut self.nodes[table.0].content else { break };
            entries.push(entry);
            let name = Content::String(keys[keys.len() - 1].to_owned());
            self.nodes.extend([name, Content::Placeholder].map(|content| Node { span: span.clone(), content }));
            let Err(ReadError(error)) = T::deserialize(NodeDeserializer::new(self, self.root)) else { break };
            match error.cause {
                Cause::MissingKey(key) if error.at == Some(table) && !keys.contains(&key) => keys.push(key),
                _ => break,
            }
            errors.push(*error);
        }
        self.nodes.truncate(nodes);
        if let Content::Table(entries) = &mut self.nodes[table.0].content {
            entries.retain(|(key, _)| key.0 < nodes);
        }
        errors
    }
}

/// What could be read of a document.
#[derive(Debug)]
pub struct Partial<T> {
    /// The value; `None` if the root could not be read.
    pub value: Option<T>,
    /// The errors, in the order of the file, at most 50.
    pub errors: Vec<Diagnostic>,
    /// Whether nothing is missing from the value except unknown keys that are not misspellings of known ones.
    pub is_complete: bool,
}

/// What was removed from a document so far.
#[derive(Default)]
struct Removed {
    keys: Vec<(NodeId, String)>,
    /// The first keys of tables, where they were removed.
    first_keys: BTreeMap<NodeId, NodeId>,
    /// The collections that something was removed from, and those around them.
    incomplete: BTreeSet<NodeId>,
}

impl Removed {
    /// Whether an error is only a consequence of an earlier removal.
    fn explains(&self, document: &Document, error: &Inner) -> bool {
        let at = error.at.unwrap_or(document.root);
        match &error.cause {
            // A misspelled key is missing under its right name.
            Cause::MissingKey(key) => self.keys.iter().any(|(table, removed)| {
                *table == at && (removed == key || document.format.meant(removed, &[key]).is_some())
            }),
            Cause::UnknownKey(..) | Cause::UnknownValue(..) | Cause::SecondKey => false,
            _ => self.incomplete.contains(&at),
        }
    }

    /// Removes the slot with the error; `false` if the error is about the root.
    fn remove(&mut self, document: &mut Document, error: &Inner) -> bool {
        let Some(&Slot { parent, index }) = error.path.first() else { return false };
        match &mut document.nodes[parent.0].content {
            Content::Array(items) if index < items.len() => drop(items.remove(index)),
            Content::Table(entries) if index < entries.len() => {
                let (key, _) = entries.remove(index);
                if index == 0 {
                    self.first_keys.entry(parent).or_insert(key);
                }
                let key = document.key(key).to_owned();
                self.keys.push((parent, key));
            }
            _ => return false,
        }
        self.incomplete.extend(error.path.iter().map(|slot| slot.parent));
        true
    }
}
