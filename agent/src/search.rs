//! Finding tools that are not shown to the model from the start.
//!
//! Where tools are many, their definitions fill a model's context before it has said a word. Then they are *deferred*
//! ([`SearchMode`]): the model sees one tool that searches ([`tool`]), and the definitions of what that finds. The index ranks by
//! BM25 over names and descriptions; nothing here asks a server.

pub mod mode;
mod query;
#[cfg(test)]
mod tests;
mod tokenizer;
pub mod tool;

use std::{
    cmp::Ordering,
    collections::{BTreeMap, BTreeSet, HashMap},
};

use bm25::{Embedder, EmbedderBuilder, Scorer};
use client::{Tool, catalog::Entry};

use self::tokenizer::WordTokenizer;
pub use self::{mode::SearchMode, query::Query};
use crate::limits::head;

/// How often the words of a name count: what a tool is called says more than what is told of it.
const WEIGHT_OF_NAME: usize = 3;
/// How much of a description is read. Some servers put manuals there.
const DESCRIPTION_BYTES: usize = 4_096;
/// How many different words of a query are looked for: the rarest of them, which say most.
const WORDS_OF_QUERY: usize = 10;
/// And only so many that not more tools have them, all together: what nearly all have tells none from the others, and a
/// search is to take milliseconds whatever is asked.
const OCCURRENCES: usize = 5_000;
/// How many words that begin with one of the query are looked for as well.
const COMPLETIONS: usize = 6;
/// A word of a query stands for those that it begins from this length on.
const SHORTEST_BEGINNING: usize = 3;

/// A tool that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolMatch {
    /// Its qualified name.
    pub name: String,
    /// How well it fits; comparable within one search.
    pub score: f32,
}

/// The tools that can be found.
pub struct ToolIndex {
    /// By their place, in the order of their names: what an equal score is decided by.
    names: Vec<String>,
    places: HashMap<String, u32>,
    embedder: Embedder<u32, WordTokenizer>,
    scorer: Scorer<u32, u32>,
    /// Each word, and how many tools have it.
    vocabulary: BTreeMap<String, usize>,
}

impl std::fmt::Debug for ToolIndex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ToolIndex").field("tools", &self.names.len()).finish_non_exhaustive()
    }
}

impl ToolIndex {
    /// Tools of a catalogue: those that are [deferred](SearchMode::deferred).
    #[must_use]
    pub fn from_entries<'a>(tools: impl IntoIterator<Item = (&'a str, &'a Entry)>) -> Self {
        Self::new(tools.into_iter().map(|(name, entry)| (name.to_owned(), text(&entry.server, &entry.tool))))
    }

    /// Tools by qualified name, each with the text that it is found by.
    pub fn new(tools: impl IntoIterator<Item = (String, String)>) -> Self {
        let tools: BTreeMap<String, String> = tools.into_iter().collect();
        let texts: Vec<&str> = tools.values().map(String::as_str).collect();
        let embedder = EmbedderBuilder::with_tokenizer_and_fit_to_corpus(WordTokenizer, &texts).build();
        let (mut scorer, mut vocabulary) = (Scorer::new(), BTreeMap::new());
        let (mut names, mut places) = (Vec::with_capacity(tools.len()), HashMap::with_capacity(tools.len()));
        for (place, (name, text)) in (0_u32..).zip(tools) {
            scorer.upsert(&place, embedder.embed(&text));
            for word in tokenizer::distinct(&text) {
                *vocabulary.entry(word).or_insert(0) += 1;
            }
            places.insert(name.clone(), place);
            names.push(name);
        }
        Self { names, places, embedder, scorer, vocabulary }
    }

    /// How many tools there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The tools that fit a query, the best first, at most `limit`. Equal ones stand in the order of their names, so that one
    /// query has one answer.
    #[must_use]
    pub fn search(&self, query: &Query, limit: usize) -> Vec<ToolMatch> {
        match query {
            Query::Names(wanted) => wanted
                .iter()
                .filter(|name| self.places.contains_key(*name))
                .take(limit)
                .map(|name| ToolMatch { name: name.clone(), score: 1.0 })
                .collect(),
            Query::WordTokenizer { required, words } => self.ranked(required, words, limit),
        }
    }

    fn ranked(&self, required: &[String], words: &[String], limit: usize) -> Vec<ToolMatch> {
        let wanted = self.known(required, words);
        let query = self.embedder.embed(&wanted.join(" "));
        let needed: Vec<_> = required.iter().map(|word| self.embedder.embed(&self.alike(word).join(" "))).collect();
        let mut matches: Vec<(f32, u32)> = self
            .scorer
            .matches(&query)
            .into_iter()
            .filter(|found| needed.iter().all(|one| self.scorer.score(&found.id, one).is_some_and(|score| score > 0.0)))
            .map(|found| (found.score, found.id))
            .collect();
        let better = |one: &(f32, u32), other: &(f32, u32)| -> Ordering {
            other.0.total_cmp(&one.0).then_with(|| one.1.cmp(&other.1))
        };
        if matches.len() > limit && limit > 0 {
            matches.select_nth_unstable_by(limit - 1, better);
        }
        matches.truncate(limit);
        matches.sort_unstable_by(better);
        matches
            .into_iter()
            .map(|(score, place)| ToolMatch { name: self.names[place as usize].clone(), score })
            .collect()
    }

    /// The words that tools are ranked by: those of a query that occur, or what they begin. Of those that are required the
    /// rarest is enough, since whatever is found has the others as well; of too many others the rarest are taken.
    fn known(&self, required: &[String], words: &[String]) -> Vec<String> {
        let occurrences = |word: &String| self.vocabulary.get(word).copied().unwrap_or(0);
        let required = required.iter().map(|word| self.alike(word));
        let mut known = required.min_by_key(|alike| alike.iter().map(occurrences).sum::<usize>()).unwrap_or_default();
        let others: BTreeSet<String> = words.iter().flat_map(|word| self.alike(word)).collect();
        let mut others: Vec<String> = others.into_iter().filter(|word| !known.contains(word)).collect();
        others.sort_by_key(occurrences);
        let mut sum = 0;
        for word in others.into_iter().take(WORDS_OF_QUERY) {
            sum += occurrences(&word);
            if sum > OCCURRENCES && !known.is_empty() {
                break;
            }
            known.push(word);
        }
        known
    }

    /// A word, and words that begin with it.
    fn alike(&self, word: &str) -> Vec<String> {
        let mut alike: Vec<String> = self.vocabulary.contains_key(word).then(|| word.to_owned()).into_iter().collect();
        if word.chars().count() >= SHORTEST_BEGINNING {
            let longer = self.vocabulary.range::<str, _>((std::ops::Bound::Excluded(word), std::ops::Bound::Unbounded));
            let longer = longer.map(|(longer, _)| longer).take_while(|longer| longer.starts_with(word));
            alike.extend(longer.take(COMPLETIONS).cloned());
        }
        alike
    }
}

/// What a tool is found by: its server, its name, its title and the beginning of its description.
fn text(server: &str, tool: &Tool) -> String {
    let mut text = format!("{server} ");
    for _ in 0..WEIGHT_OF_NAME {
        text.push_str(tool.name());
        text.push(' ');
    }
    text.push_str(tool.title().unwrap_or_default());
    text.push(' ');
    let description = tool.description().unwrap_or_default();
    text.push_str(head(description, DESCRIPTION_BYTES));
    text
}
