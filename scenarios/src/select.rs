//! Selection of the cases to run.
//!
//! Several selectors of one kind widen the selection, those of different kinds narrow it: `--area tools --area lists
//! --transport stdio` selects the cases of both areas over stdio. A selector without a match is an error, never an empty
//! run, since it is misspelled or meant for another command.

mod checks;

use std::{collections::BTreeSet, path::PathBuf};

use diagnostics::nearest;
use globset::{Glob, GlobMatcher};
use thiserror::Error;

pub use self::checks::{CheckSelection, server_checks};
use crate::{
    case::Case,
    model::{OFFICIAL_TAG, Revision, Scenario, Subject, Transport},
};

/// A command that runs scenarios.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Runner {
    /// `conformance`: scenarios for clients.
    Conformance,
    /// `validate`: scenarios for servers.
    Validate,
    /// `bench`: scenarios with a load.
    Bench,
}

impl Runner {
    /// The command that runs a scenario.
    #[must_use]
    pub fn for_scenario(scenario: &Scenario) -> Self {
        match (&scenario.load, scenario.subject) {
            (Some(_), _) => Self::Bench,
            (None, Subject::Client) => Self::Conformance,
            (None, Subject::Server) => Self::Validate,
        }
    }

    /// The command line of the command, without arguments.
    #[must_use]
    pub fn command(self) -> &'static str {
        match self {
            Self::Conformance => "mcp-workbench conformance",
            Self::Validate => "mcp-workbench validate",
            Self::Bench => "mcp-workbench bench",
        }
    }
}

/// The cases to run. The default selects all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// Globs on the ids of scenarios or cases, or on names of the official suite: `tools/*`, `*@stdio@2025-11-25`,
    /// `tools_call`. A `*` goes across `/` and `@`.
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
    /// The command that is to run them.
    pub runner: Option<Runner>,
}

/// An invalid selection.
#[derive(Debug, Error)]
pub enum SelectError {
    /// A name is not a valid glob.
    #[error("`{glob}` is not a valid name pattern")]
    BadGlob {
        /// The pattern.
        glob: String,
        /// The error.
        #[source]
        source: globset::Error,
    },
    /// A selector matches no case.
    #[error("no case has the {kind} `{selector}`; {advice}")]
    Nothing {
        /// The kind of the selector: `name`, `area`, `tag`.
        kind: &'static str,
        /// The selector.
        selector: String,
        /// Similar or available names.
        advice: String,
    },
    /// A selector matches only scenarios of another command.
    #[error("the {kind} `{selector}` matches only scenarios that another command runs; use `{command}`")]
    OtherCommand {
        /// The kind of the selector.
        kind: &'static str,
        /// The selector.
        selector: String,
        /// The command that runs them.
        command: &'static str,
    },
    /// A path has only scenarios of another command.
    #[error("`{}` has no scenario for this command; use `{command}`", path.display())]
    NoScenarioInPath {
        /// The path.
        path: PathBuf,
        /// The command that runs them.
        command: String,
    },
    /// Every case that matches is of a scenario that has to be selected.
    #[error("`{id}` runs only if a name, an area or a tag selects it; name it, as in `{command} {id}`")]
    OnlyIfSelected {
        /// The id of the first such scenario.
        id: String,
        /// The command that runs it.
        command: &'static str,
    },
    /// Each selector matches a case, but no case matches all kinds of selectors.
    #[error("no case matches all of the selectors; each of {kinds} alone matches some")]
    NothingInCommon {
        /// The kinds of the selectors.
        kinds: String,
    },
}

impl Selection {
    /// The selected ones of these cases, in their order.
    pub(crate) fn pick(&self, cases: Vec<Case>) -> Result<Vec<Case>, SelectError> {
        let selectors = self.selectors()?;
        let (cases, others): (Vec<_>, Vec<_>) = cases
            .into_iter()
            .partition(|case| self.runner.is_none_or(|runner| Runner::for_scenario(&case.scenario) == runner));
        for selector in selectors.iter().flat_map(|kind| &kind.selectors) {
            if !cases.iter().any(|case| (selector.matches)(case)) {
                return Err(match others.iter().find(|case| (selector.matches)(case)) {
                    Some(other) => SelectError::OtherCommand {
                        kind: selector.kind,
                        selector: selector.text.clone(),
                        command: Runner::for_scenario(&other.scenario).command(),
                    },
                    None => selector.nothing(&cases),
                });
            }
        }
        // A command that only lists has no runner, and shows every scenario.
        let is_by_name = !(self.names.is_empty() && self.areas.is_empty() && self.tags.is_empty());
        let leaves_out = |case: &Case| self.runner.is_some() && case.scenario.only_if_selected && !is_by_name;
        let matches_all =
            |case: &Case| selectors.iter().all(|kind| kind.selectors.iter().any(|selector| (selector.matches)(case)));
        let some = !cases.is_empty();
        let (left_out, picked): (Vec<_>, Vec<_>) = cases.into_iter().filter(matches_all).partition(leaves_out);
        if picked.is_empty()
            && let Some(case) = left_out.first()
        {
            let command = Runner::for_scenario(&case.scenario).command();
            return Err(SelectError::OnlyIfSelected { id: case.scenario.scenario.clone(), command });
        }
        if picked.is_empty() && some {
            let kinds: Vec<&str> = selectors.iter().map(|kind| kind.name).collect();
            return Err(SelectError::NothingInCommon { kinds: kinds.join(", ") });
        }
        Ok(picked)
    }

    /// The selectors by kind, without empty kinds.
    fn selectors(&self) -> Result<Vec<Kind>, SelectError> {
        let names = self.names.iter().map(|glob| Selector::name(glob)).collect::<Result<_, _>>()?;
        let kinds = [
            Kind { name: "name", selectors: names },
            Kind::exact("area", &self.areas, |case| vec![area_of(&case.scenario.scenario).to_owned()]),
            Kind::exact("tag", &self.tags, tags_of),
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

/// The tags of the scenario of a case. One with a name in the official suite has the tag [`OFFICIAL_TAG`].
fn tags_of(case: &Case) -> Vec<String> {
    let official = case.scenario.official.as_ref().map(|_| OFFICIAL_TAG.to_owned());
    case.scenario.tags.iter().cloned().chain(official).collect()
}

/// The id of the scenario of a case, and its name in the official suite.
fn names_of(case: &Case) -> impl Iterator<Item = &str> {
    let official = case.scenario.official.as_ref().map(|official| official.name.as_str());
    [case.scenario.scenario.as_str()].into_iter().chain(official)
}

/// The name of a subject in files and flags.
fn subject_name(subject: Subject) -> &'static str {
    match subject {
        Subject::Client => "client",
        Subject::Server => "server",
    }
}

/// Selectors of one kind. A case must match at least one.
struct Kind {
    name: &'static str,
    selectors: Vec<Selector>,
}

impl Kind {
    /// Selectors that equal one of the values of a case.
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
    /// The values of a case, for suggestions.
    words: fn(&Case) -> Vec<String>,
    matches: Box<dyn Fn(&Case) -> bool>,
}

impl Selector {
    fn name(glob: &str) -> Result<Self, SelectError> {
        let bad = |source| SelectError::BadGlob { glob: glob.to_owned(), source };
        let matcher: GlobMatcher = Glob::new(glob).map_err(bad)?.compile_matcher();
        let matches = Box::new(move |case: &Case| {
            matcher.is_match(&case.id) || names_of(case).any(|name| matcher.is_match(name))
        });
        let words = |case: &Case| names_of(case).map(str::to_owned).collect();
        Ok(Self { kind: "name", text: glob.to_owned(), words, matches })
    }

    fn subject(wanted: Subject) -> Self {
        Self {
            kind: "subject",
            text: subject_name(wanted).to_owned(),
            words: |case| vec![subject_name(case.scenario.subject).to_owned()],
            matches: Box::new(move |case| case.scenario.subject == wanted),
        }
    }

    fn nothing(&self, cases: &[Case]) -> SelectError {
        let words: BTreeSet<String> = cases.iter().flat_map(|case| (self.words)(case)).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        // A parsed revision, transport or subject is spelled correctly, so only the available ones help.
        let spelt = matches!(self.kind, "revision" | "transport" | "subject");
        let advice = if spelt { nearest::known_names(&words) } else { nearest::advice(&self.text, words) };
        SelectError::Nothing { kind: self.kind, selector: self.text.clone(), advice }
    }
}

#[cfg(test)]
mod tests;
