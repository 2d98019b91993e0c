//! Selecting: which cases of all that there are shall be run.
//!
//! Several selectors of one kind widen the choice, those of different kinds narrow it: `--area tools --area lists
//! --transport stdio` are the cases of both areas over stdio. A selector that selects nothing in any scenario is an
//! error, never an empty run: it was misspelt.

use std::collections::BTreeSet;

use globset::{Glob, GlobMatcher};
use mock_servers::reading::nearest;
use thiserror::Error;

use crate::{
    model::{Revision, Subject, Transport},
    plan::Case,
};

/// What to run. Empty, it selects everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// Globs on the ids of scenarios or cases: `tools/*`, `*@stdio@2025-11-25`. A `*` goes across `/` and `@`.
    pub names: Vec<String>,
    /// Areas: the first part of the ids of scenarios.
    pub areas: Vec<String>,
    /// Tags.
    pub tags: Vec<String>,
    /// Revisions.
    pub revisions: Vec<Revision>,
    /// Transports.
    pub transports: Vec<Transport>,
    /// Subjects.
    pub subjects: Vec<Subject>,
}

/// Why nothing can be selected.
#[derive(Debug, Error)]
pub enum SelectError {
    /// A name is not a glob.
    #[error("`{glob}` is not a pattern for names")]
    BadGlob {
        /// The pattern.
        glob: String,
        /// Why not.
        #[source]
        source: globset::Error,
    },
    /// A selector matches no case at all.
    #[error("no case has the {kind} `{selector}`; {advice}")]
    Nothing {
        /// What it selects by: `name`, `area`, `tag`.
        kind: &'static str,
        /// The selector.
        selector: String,
        /// The nearest that there is, or what there is.
        advice: String,
    },
    /// Each selector matches something, but no case matches all kinds of them.
    #[error("no case matches all of the selectors; each of {kinds} alone matches some")]
    NothingInCommon {
        /// The kinds of selectors that were given.
        kinds: String,
    },
}

impl Selection {
    /// The selected ones of these cases, in their order.
    pub(crate) fn pick(&self, cases: Vec<Case>) -> Result<Vec<Case>, SelectError> {
        let selectors = self.selectors()?;
        for selector in selectors.iter().flat_map(|kind| &kind.selectors) {
            if !cases.iter().any(|case| (selector.matches)(case)) {
                return Err(selector.nothing(&cases));
            }
        }
        let of_every_kind =
            |case: &Case| selectors.iter().all(|kind| kind.selectors.iter().any(|selector| (selector.matches)(case)));
        let some = !cases.is_empty();
        let picked: Vec<Case> = cases.into_iter().filter(of_every_kind).collect();
        if picked.is_empty() && some {
            let kinds: Vec<&str> = selectors.iter().map(|kind| kind.name).collect();
            return Err(SelectError::NothingInCommon { kinds: kinds.join(", ") });
        }
        Ok(picked)
    }

    /// The selectors, by kind; only the kinds that were given.
    fn selectors(&self) -> Result<Vec<Kind>, SelectError> {
        let names = self.names.iter().map(|glob| Selector::name(glob)).collect::<Result<_, _>>()?;
        let kinds = [
            Kind { name: "name", selectors: names },
            Kind::exact("area", &self.areas, |case| vec![area_of(&case.scenario.scenario).to_owned()]),
            Kind::exact("tag", &self.tags, |case| case.scenario.tags.clone()),
            Kind::exact("revision", &self.revisions, |case| vec![case.revision.to_string()]),
            Kind::exact("transport", &self.transports, |case| vec![case.transport.to_string()]),
            Kind {
                name: "subject",
                selectors: self.subjects.iter().map(|subject| Selector::subject(*subject)).collect(),
            },
        ];
        Ok(kinds.into_iter().filter(|kind| !kind.selectors.is_empty()).collect())
    }
}

/// The area of a scenario: the first part of its id.
#[must_use]
pub fn area_of(scenario: &str) -> &str {
    scenario.split('/').next().unwrap_or_default()
}

/// The word for a subject, as files and flags have it.
fn subject_word(subject: Subject) -> &'static str {
    match subject {
        Subject::Client => "client",
        Subject::Server => "server",
    }
}

/// Selectors of one kind: one of them is enough.
struct Kind {
    name: &'static str,
    selectors: Vec<Selector>,
}

impl Kind {
    /// Selectors that are one of the words that a case has.
    fn exact<T: ToString>(name: &'static str, wanted: &[T], words: fn(&Case) -> Vec<String>) -> Self {
        let selector = |wanted: &T| {
            let wanted = wanted.to_string();
            let text = wanted.clone();
            Selector { kind: name, text, words, matches: Box::new(move |case| words(case).contains(&wanted)) }
        };
        Self { name, selectors: wanted.iter().map(selector).collect() }
    }
}

/// One selector.
struct Selector {
    kind: &'static str,
    text: String,
    /// What a case has of this kind, for advice.
    words: fn(&Case) -> Vec<String>,
    matches: Box<dyn Fn(&Case) -> bool>,
}

impl Selector {
    fn name(glob: &str) -> Result<Self, SelectError> {
        let bad = |source| SelectError::BadGlob { glob: glob.to_owned(), source };
        let matcher: GlobMatcher = Glob::new(glob).map_err(bad)?.compile_matcher();
        let matches =
            Box::new(move |case: &Case| matcher.is_match(&case.id) || matcher.is_match(&case.scenario.scenario));
        Ok(Self { kind: "name", text: glob.to_owned(), words: |case| vec![case.scenario.scenario.clone()], matches })
    }

    fn subject(wanted: Subject) -> Self {
        Self {
            kind: "subject",
            text: subject_word(wanted).to_owned(),
            words: |case| vec![subject_word(case.scenario.subject).to_owned()],
            matches: Box::new(move |case| case.scenario.subject == wanted),
        }
    }

    /// It matches none of the cases.
    fn nothing(&self, cases: &[Case]) -> SelectError {
        let words: BTreeSet<String> = cases.iter().flat_map(|case| (self.words)(case)).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        // What was read as a revision, a transport or a subject is spelt right; there is just no case of it.
        let spelt = matches!(self.kind, "revision" | "transport" | "subject");
        let advice = if spelt { nearest::told(&words) } else { nearest::advice(&self.text, words) };
        SelectError::Nothing { kind: self.kind, selector: self.text.clone(), advice }
    }
}

#[cfg(test)]
mod tests;
