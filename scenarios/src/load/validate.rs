//! Validates scenarios beyond their shape.
//!
//! Each part of the format has a module. All report into one [`Findings`]. The rules see the scenario and a
//! [`Vocabulary`], but no other files.

use std::{collections::BTreeSet, time::Duration};

use diagnostics::{
    Diagnostic, Location,
    document::{Document, TreeCursor},
    nearest,
};
use mock_servers::HumanDuration;

use super::vocabulary::Vocabulary;
use crate::{
    model::{MOCK_SERVER, Scenario},
    plan::DEFAULT_LIMIT,
};

mod authorization;
mod axes;
mod conditions;
mod expectations;
mod faults;
mod identity;
mod load;
mod names;
mod rules;
mod script;
mod servers;
mod steps;
mod values;

/// All problems of a scenario, in the order of the file.
pub(super) fn check(scenario: &Scenario, document: &Document, vocabulary: &Vocabulary) -> Vec<Diagnostic> {
    let root = document.root();
    let mut findings = Findings { file: document.source().name(), found: Vec::new(), unreported: 0 };
    let case = Case { scenario, root, vocabulary };
    identity::check(&case, &mut findings);
    axes::check(&case, &mut findings);
    servers::check(&case, &mut findings);
    authorization::check(&case, &mut findings);
    for (name, script, spot) in case.scripts() {
        tracing::trace!(name, "validating a script");
        script::check(&case, script, spot, &mut findings);
    }
    steps::check(&case, &mut findings);
    expectations::check(&case, &mut findings);
    load::check(&case, &mut findings);
    findings.in_order()
}

/// The input of the rules.
struct Case<'a> {
    scenario: &'a Scenario,
    root: TreeCursor<'a>,
    vocabulary: &'a Vocabulary,
}

impl<'a> Case<'a> {
    /// The scripts with the names of their servers and their locations.
    fn scripts(&self) -> Vec<(&'a str, &'a mock_servers::Script, TreeCursor<'a>)> {
        let one = self.scenario.server.iter().map(|script| (MOCK_SERVER, script, self.root.key("server")));
        let several = self.scenario.servers.iter();
        let several = several.map(|(name, script)| (name.as_str(), script, self.root.key("servers").key(name)));
        one.chain(several).collect()
    }

    /// The timeout of a case.
    fn limit(&self) -> Duration {
        self.scenario.limit.map_or(DEFAULT_LIMIT, |limit| limit.0)
    }

    /// Whether a case of the scenario can run over this transport.
    fn runs_over(&self, transport: crate::model::Transport) -> bool {
        self.scenario.transports.as_ref().is_none_or(|transports| transports.contains(&transport))
    }
}

/// Maximum number of reported errors of one file.
const MAX_REPORTED: usize = 50;

/// The problems so far.
struct Findings<'a> {
    file: &'a str,
    found: Vec<Diagnostic>,
    /// Number of further problems.
    unreported: usize,
}

impl Findings<'_> {
    /// Reports an invalid value.
    fn value(&mut self, spot: TreeCursor<'_>, message: impl AsRef<str>, advice: impl AsRef<str>) {
        self.at(|| spot.location(), message, advice);
    }

    /// Reports an invalid key.
    fn key(&mut self, spot: TreeCursor<'_>, message: impl AsRef<str>, advice: impl AsRef<str>) {
        self.at(|| spot.key_location(), message, advice);
    }

    /// Reports a problem at a location.
    fn at(&mut self, location: impl FnOnce() -> Location, message: impl AsRef<str>, advice: impl AsRef<str>) {
        if self.found.len() < MAX_REPORTED {
            self.found.push(Diagnostic::new(self.file, message).at(location()).with_help(advice));
        } else {
            self.unreported += 1;
        }
    }

    /// Reports an unknown name.
    fn unknown<'k>(&mut self, spot: TreeCursor<'_>, noun: &str, word: &str, known: impl IntoIterator<Item = &'k str>) {
        // The search for similar names is slow, so only reported errors need it.
        if self.found.len() < MAX_REPORTED {
            self.value(spot, format!("unknown {noun} `{word}`"), nearest::advice(word, known));
        } else {
            self.unreported += 1;
        }
    }

    /// Rejects a duration of zero.
    fn not_zero(&mut self, spot: TreeCursor<'_>, period: Option<HumanDuration>) {
        if period.is_some_and(|period| period.0.is_zero()) {
            self.value(spot, "duration is zero", "write a longer one, as in `500ms`");
        }
    }

    /// Rejects a duration above the timeout of the case.
    fn within_limit(&mut self, spot: TreeCursor<'_>, period: Option<HumanDuration>, limit: Duration) {
        if let Some(period) = period.filter(|period| period.0 > limit) {
            let message = format!("{period} exceeds the timeout of the case");
            self.value(spot, message, format!("the timeout is {}; raise `limit`", HumanDuration(limit)));
        }
    }

    /// Rejects duplicate elements of a list.
    fn no_doubles<T: std::fmt::Display>(&mut self, list: TreeCursor<'_>, items: &[T]) {
        let mut seen = BTreeSet::new();
        for (position, item) in items.iter().enumerate() {
            if !seen.insert(item.to_string()) {
                self.value(list.item(position), format!("duplicate `{item}`"), "remove one");
            }
        }
    }

    fn in_order(mut self) -> Vec<Diagnostic> {
        self.found.sort_by_key(|found| found.location.as_ref().map(|location| (location.line, location.column)));
        if self.unreported > 0 {
            let message = format!("{} more errors", self.unreported);
            self.found.push(Diagnostic::new(self.file, message).with_help("fix the errors above first"));
        }
        self.found
    }
}

/// Whether the text is a kebab-case word: lower-case letters, digits and single hyphens in between.
fn is_kebab(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 100
        && text
            .split('-')
            .all(|word| !word.is_empty() && word.chars().all(|ch| ch.is_ascii_lowercase() || ch.is_ascii_digit()))
}
