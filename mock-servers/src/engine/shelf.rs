//! One list of what a server offers at the moment: tools, resources, resource templates or prompts.

use std::{borrow::Cow, collections::HashMap};

use serde_json::Value;

use crate::script::Generate;

/// How many things of a kind a script may have made up: enough to try any client, too few to exhaust the machine.
const MOST_GENERATED: usize = 1_000_000;

/// What can stand on a shelf.
pub(crate) trait Offered: Clone {
    /// What it is asked for by.
    fn key(&self) -> &str;
    /// The thing as a list shows it, with everything that any revision has.
    fn definition(&self) -> Value;
    /// Whether lists show it.
    fn is_listed(&self) -> bool {
        true
    }
    /// How many a script wants made up.
    fn wanted(generate: &Generate) -> usize;
    /// The one of this number, made up.
    fn made(number: usize, generate: &Generate) -> Self;
    /// The key of the one of this number.
    fn made_key(number: usize) -> String;
}

/// Things on offer, in order.
#[derive(Debug, Clone)]
pub(crate) struct Shelf<T> {
    entries: Vec<Entry<T>>,
    /// Where the first thing of a key stands: a mock may offer a name twice.
    by_key: HashMap<String, usize>,
    generate: Generate,
}

#[derive(Debug, Clone)]
enum Entry<T> {
    /// Written down in the script, with its definition.
    Written(Box<(T, Value)>),
    /// Made up when it is needed: ten thousand schemas would fill the memory for nothing.
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

impl<T: Offered> Shelf<T> {
    pub(crate) fn new(written: Vec<T>, generate: Option<Generate>) -> Self {
        let generate = generate.unwrap_or_default();
        let made = T::wanted(&generate).min(MOST_GENERATED);
        let entries = written.into_iter().map(Entry::written).chain((0..made).map(Entry::Made)).collect();
        let mut shelf = Self { entries, by_key: HashMap::new(), generate };
        shelf.index();
        shelf
    }

    pub(crate) fn get(&self, key: &str) -> Option<Cow<'_, T>> {
        self.by_key.get(key).map(|at| self.at(*at))
    }

    /// Everything that is written down, in order.
    pub(crate) fn written(&self) -> impl Iterator<Item = &T> {
        self.entries.iter().filter_map(|entry| match entry {
            Entry::Written(entry) => Some(&entry.0),
            Entry::Made(_) => None,
        })
    }

    /// So many things from this position on; none if the position lies behind the end.
    pub(crate) fn page(&self, from: usize, count: usize) -> Option<Page> {
        if from > 0 && from >= self.entries.len() {
            return None;
        }
        let mut listed = (from..self.entries.len()).filter(|at| self.is_listed(*at));
        let items = listed.by_ref().take(count).map(|at| self.definition(at)).collect();
        Some(Page { items, next: listed.next() })
    }

    /// Puts things in, takes things away.
    pub(crate) fn change(&mut self, put: &[T], remove: &[String]) {
        if !remove.is_empty() {
            let gone: Vec<usize> = remove.iter().filter_map(|key| self.by_key.get(key).copied()).collect();
            let is_removed =
                |entry: &Entry<T>| matches!(entry, Entry::Written(own) if remove.iter().any(|key| key == own.0.key()));
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
            Entry::Written(entry) => Cow::Borrowed(&entry.0),
            Entry::Made(number) => Cow::Owned(T::made(*number, &self.generate)),
        }
    }

    fn definition(&self, at: usize) -> Value {
        match &self.entries[at] {
            Entry::Written(entry) => entry.1.clone(),
            Entry::Made(number) => T::made(*number, &self.generate).definition(),
        }
    }

    fn is_listed(&self, at: usize) -> bool {
        matches!(&self.entries[at], Entry::Made(_)) || self.at(at).is_listed()
    }

    fn index(&mut self) {
        self.by_key.clear();
        for (at, entry) in self.entries.iter().enumerate() {
            let key = match entry {
                Entry::Written(entry) => entry.0.key().to_owned(),
                Entry::Made(number) => T::made_key(*number),
            };
            self.by_key.entry(key).or_insert(at);
        }
    }
}

impl<T: Offered> Entry<T> {
    fn written(thing: T) -> Self {
        let definition = thing.definition();
        Self::Written(Box::new((thing, definition)))
    }
}
