//! The register of requirements: every rule that a verdict may cite, with the place where it can be read.
//!
//! The register is data, in `scenarios/requirements/register/<area>.yaml`. This module reads it and resolves an id and a
//! revision to what a report shows. It judges nothing.

mod features;

use std::{collections::BTreeMap, sync::LazyLock};

use diagnostics::{
    Diagnostics,
    document::{Document, Format, Limits, Source},
};
use include_dir::{Dir, include_dir};
use reports::model::{Level, Profile, Requirement};
use serde::{Deserialize, de::DeserializeOwned};

pub use self::features::{Feature, features};
use crate::model::{Revision, Transport};

const FORMAT: Format = Format {
    noun: "register",
    example: "contains ids, as in `lifecycle/initialize-first: { level: MUST }`",
    limits: Limits::SMALL,
    noun_of: |_, _| None,
    renamed: &[],
};

static FILES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/requirements/register");

static BUILT_IN: LazyLock<Register> = LazyLock::new(|| {
    let mut register = Register::default();
    for file in FILES.files() {
        let entries =
            file.contents_utf8().map(|text| read::<BTreeMap<String, Entry>>(&file.path().display().to_string(), text));
        match entries {
            Some(Ok(entries)) => register.entries.extend(entries),
            // The register is part of the program; the tests read every file of it, so this is not met in a release.
            other => tracing::error!(file = %file.path().display(), ?other, "requirement file is not readable"),
        }
    }
    register
});

/// Reads a YAML file that is part of the program.
pub(crate) fn read<T: DeserializeOwned>(file: &str, text: &str) -> Result<T, Diagnostics> {
    Document::parse(Source::named(file, text), &FORMAT)?.read()
}

/// The requirements, by id.
#[derive(Debug, Default)]
pub struct Register {
    entries: BTreeMap<String, Entry>,
}

/// One requirement, as the register writes it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    /// How strong it is.
    level: Level,
    /// The rule, in our words.
    text: String,
    /// The page and anchor, by the revision from which on it holds there (`basic/lifecycle#initialization`).
    #[serde(default)]
    pages: BTreeMap<Revision, String>,
    /// Where to read it, if not in the specification.
    #[serde(default)]
    source: Option<String>,
    /// The first revision with the requirement [default: the oldest].
    #[serde(default)]
    since: Option<Revision>,
    /// The last revision with the requirement [default: the newest].
    #[serde(default)]
    until: Option<Revision>,
    /// The transports that it applies over [default: all].
    #[serde(default)]
    transports: Option<Vec<Transport>>,
    /// The kinds of clients with the requirement [default: all].
    #[serde(default)]
    profiles: Option<Vec<Profile>>,
    /// What usually mends a violation.
    #[serde(default)]
    advice: Option<String>,
}

/// The revisions with a requirement.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RevisionRange {
    since: Option<Revision>,
    until: Option<Revision>,
}

impl RevisionRange {
    /// Whether the revision is one of them.
    #[must_use]
    pub fn contains(self, revision: Revision) -> bool {
        self.since.is_none_or(|since| since <= revision) && self.until.is_none_or(|until| revision <= until)
    }
}

impl Register {
    /// The register that is part of the program.
    #[must_use]
    pub fn built_in() -> &'static Self {
        &BUILT_IN
    }

    /// Every id, sorted.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }

    /// The revisions with a requirement; all if the id is unknown.
    #[must_use]
    pub fn range_of(&self, id: &str) -> RevisionRange {
        let range = |entry: &Entry| RevisionRange { since: entry.since, until: entry.until };
        self.entries.get(id).map(range).unwrap_or_default()
    }

    /// Whether a requirement applies over a transport.
    #[must_use]
    pub fn applies_over(&self, id: &str, transport: Transport) -> bool {
        let transports = self.entries.get(id).and_then(|entry| entry.transports.as_ref());
        transports.is_none_or(|transports| transports.contains(&transport))
    }

    /// Whether clients with this profile have a requirement.
    #[must_use]
    pub fn applies_to(&self, id: &str, profile: Profile) -> bool {
        let profiles = self.entries.get(id).and_then(|entry| entry.profiles.as_ref());
        profiles.is_none_or(|profiles| profiles.contains(&profile))
    }

    /// The requirement with this id, as it is to be read in this revision. Where the revision has no page of its own
    /// for it, the nearest earlier one is cited, else the nearest later one.
    #[must_use]
    pub fn get(&self, id: &str, revision: Revision) -> Option<Requirement> {
        let entry = self.entries.get(id)?;
        let page = entry.pages.range(..=revision).next_back().or_else(|| entry.pages.iter().next());
        let url = match page {
            Some((written_in, page)) => {
                let cited = if *written_in <= revision { revision } else { *written_in };
                format!("https://modelcontextprotocol.io/specification/{cited}/{page}")
            }
            None => entry.source.clone().unwrap_or_default(),
        };
        let (text, advice) = (entry.text.clone(), entry.advice.clone());
        Some(Requirement { id: id.to_owned(), level: entry.level, text, url, advice })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_readable_and_every_entry_can_be_looked_up_by_a_reader() {
        for file in FILES.files() {
            let text = file.contents_utf8().expect("UTF-8");
            let entries: BTreeMap<String, Entry> =
                read(&file.path().display().to_string(), text).unwrap_or_else(|errors| panic!("{errors}"));
            for (id, entry) in entries {
                assert!(!entry.pages.is_empty() || entry.source.is_some(), "{id} has neither pages nor a source");
                assert!(entry.text.len() > 10, "{id} says nothing");
            }
        }
    }

    #[test]
    fn no_id_stands_in_two_files() {
        let mut seen = BTreeMap::new();
        for file in FILES.files() {
            let text = file.contents_utf8().expect("UTF-8");
            let entries: BTreeMap<String, Entry> = read("register.yaml", text).expect("readable");
            for id in entries.into_keys() {
                let earlier = seen.insert(id.clone(), file.path());
                assert_eq!(earlier, None, "{id} stands in {} too", file.path().display());
            }
        }
    }

    #[test]
    fn the_page_of_the_revision_is_cited() {
        let requirement = Register::built_in().get("lifecycle/initialize-first", Revision::V2025_06_18).expect("known");
        assert_eq!(
            requirement.url,
            "https://modelcontextprotocol.io/specification/2025-06-18/basic/lifecycle#initialization"
        );
    }
}
