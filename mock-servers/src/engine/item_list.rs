//! One list of a server: tools, resources, resource templates or prompts.

use std::{borrow::Cow, collections::HashMap};

use serde_json::Value;

use crate::script::Generate;

/// Maximum number of generated items of a list.
const MAX_GENERATED: usize = 1_000_000;

/// An element of a list.
pub(crate) trait ListItem: Clone {
    /// The name or URI that requests use.
    fn key(&self) -> &str;
    /// The item as a list shows it, with the members of all revisions.
    fn definition(&self) -> Value;
    /// Whether lists show it.
    fn is_listed(&self) -> bool {
        true
    }
    /// How many items a script generates.
    fn generated_count(generate: &Generate) -> usize;
    /// The generated item of this number.
    fn generated_item(number: usize, generate: &Generate) -> Self;
    /// The key of the generated item of this number.
    fn generated_key(number: usize) -> String;
}

/// A list in its order.
#[derive(Debug, Clone)]
pub(crate) struct ItemList<T> {
    entries: Vec<Entry<T>>,
    /// The index of the first item of each key: a mock may have two items of one name.
    by_key: HashMap<String, usize>,
    generate: Generate,
}

#[derive(Debug, Clone)]
enum Entry<T> {
    /// From the script, with its definition.
    DurationVisitor(Box<(T, Value)>),
    /// Generated when needed, because ten thousand schemas would exhaust the memory.
    Made(usize),
}

/// A part of a list.
#[derive(Debug)]
pub(crate) struct Page {
    /// The definitions.
    pub(crate) items: Vec<Value>,
    /// The position where the next page begins; none after the last.
    pub(crate) next: Option<usize>,
}

impl<T: ListItem> ItemList<T> {
    pub(crate) fn new(written: Vec<T>, generate: Option<Generate>) -> Self {
        let generate = generate.unwrap_or_default();
        let generated = T::generated_count(&generate).min(MAX_GENERATED);
        let entries = written.into_iter().map(Entry::written).chain((0..generated).map(Entry::Made)).collect();
        let mut item_list = Self { entries, by_key: HashMap::new(), generate };
        item_list.index();
        item_list
    }

    pub(crate) fn get(&self, key: &str) -> Option<Cow<'_, T>> {
        self.by_key.get(key).map(|at| self.at(*at))
    }

    /// The items of the script, in order.
    pub(crate) fn written(&self) -> impl Iterator<Item = &T> {
        self.entries.iter().filter_map(|entry| match entry {
            Entry::DurationVisitor(entry) => Some(&entry.0),
            Entry::Made(_) => None,
        })
    }

    /// A page from this position on; `None` if the position is behind the end.
    pub(crate) fn page(&self, from: usize, count: usize) -> Option<Page> {
        if from > 0 && from >= self.entries.len() {
            return None;
        }
        let mut listed = (from..self.entries.len()).filter(|at| self.is_listed(*at));
        let items = listed.by_ref().take(count).map(|at| self.definition(at)).collect();
        Some(Page { items, next: listed.next() })
    }

    /// Adds, replaces and removes items.
    pub(crate) fn change(&mut self, put: &[T], remove: &[String]) {
        if !remove.is_empty() {
            let gone: Vec<usize> = remove.iter().filter_map(|key| self.by_key.get(key).copied()).collect();
            let is_removed = |entry: &Entry<T>| matches!(entry, Entry::DurationVisitor(own) if remove.iter().any(|key| key == own.0.key()));
            let mut at = 0;
            self.entries.retain(|entry| {
                at += 1;
                !gone.contains(&(at - 1)) && !is_removed(entry)
            });
            self.index();
        }
        for thing in put {
            let entry = Entry::written(thing.clone());
            match self.by_key.get(thing.key()) {
                Some(at) => self.entries[*at] = entry,
                None => {
                    self.by_key.insert(thing.key().to_owned(), self.entries.len());
                    self.entries.push(entry);
                }
            }
        }
    }

    fn at(&self, at: usize) -> Cow<'_, T> {
        match &self.entries[at] {
            Entry::DurationVisitor(entry) => Cow::Borrowed(&entry.0),
            Entry::Made(number) => Cow::Owned(T::generated_item(*number, &self.generate)),
        }
    }

    fn definition(&self, at: usize) -> Value {
        match &self.entries[at] {
            Entry::DurationVisitor(entry) => entry.1.clone(),
            Entry::Made(number) => T::generated_item(*number, &self.generate).definition(),
        }
    }

    fn is_listed(&self, at: usize) -> bool {
        matches!(&self.entries[at], Entry::Made(_)) || self.at(at).is_listed()
    }

    fn index(&mut self) {
        self.by_key.clear();
        for (at, entry) in self.entries.iter().enumerate() {
            let key = match entry {
                Entry::DurationVisitor(entry) => entry.0.key().to_owned(),
                Entry::Made(number) => T::generated_key(*number),
            };
            self.by_key.entry(key).or_insert(at);
        }
    }
}

impl<T: ListItem> Entry<T> {
    fn written(thing: T) -> Self {
        let definition = thing.definition();
        Self::DurationVisitor(Box::new((thing, definition)))
    }
}
