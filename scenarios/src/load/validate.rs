//! Whether a scenario makes sense: everything that its shape does not say.
//!
//! Each part of the format has a file here. All of them write into one [`Findings`], so that an author is told
//! everything at once. The rules compare a scenario with itself and with a [`Vocabulary`]; none looks at another file.

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

/// Everything in the scenario that makes no sense, in the order of the file.
pub(super) fn check(scenario: &Scenario, document: &Document, vocabulary: &Vocabulary) -> Vec<Diagnostic> {
    let root = document.root();
    let mut findings = Findings { file: document.source().name(), found: Vec::new(), untold: 0 };
    let case = Case { scenario, root, vocabulary };
    identity::judge(&case, &mut findings);
    axes::judge(&case, &mut findings);
    servers::judge(&case, &mut findings);
    for (name, script, spot) in case.scripts() {
        tracing::trace!(name, "reading the script");
        script::judge(&case, script, spot, &mut findings);
    }
    steps::judge(&case, &mut findings);
    expectations::judge(&case, &mut findings);
    load::judge(&case, &mut findings);
    findings.in_order()
}

/// What the rules look at.
struct Case<'a> {
    scenario: &'a Scenario,
    root: TreeCursor<'a>,
    vocabulary: &'a Vocabulary,
}

impl<'a> Case<'a> {
    /// Every script with the name of its server and its place.
    fn scripts(&self) -> Vec<(&'a str, &'a mock_servers::Script, TreeCursor<'a>)> {
        let one = self.scenario.server.iter().map(|script| (MOCK_SERVER, script, self.root.key("server")));
        let several = self.scenario.servers.iter();
        let several = several.map(|(name, script)| (name.as_str(), script, self.root.key("servers").key(name)));
        one.chain(several).collect()
    }

    /// How long a case may take.
    fn limit(&self) -> Duration {
        self.scenario.limit.map_or(DEFAULT_LIMIT, |limit| limit.0)
    }

    /// Whether a case of it can run over this transport.
    fn runs_over(&self, transport: crate::model::Transport) -> bool {
        self.scenario.transports.as_ref().is_none_or(|transports| transports.contains(&transport))
    }
}

/// The most mistakes of one file that are told at once.
const MOST_TOLD: usize = 50;

/// What was found so far.
struct Findings<'a> {
    file: &'a str,
    found: Vec<Diagnostic>,
    /// How many mistakes there are beyond those.
    untold: usize,
}

impl Findings<'_> {
    /// The value here makes no sense.
    fn value(&mut self, spot: TreeCursor<'_>, message: impl AsRef<str>, advice: impl AsRef<str>) {
        self.place(|| spot.location(), message, advice);
    }

    /// That this key is here makes no sense.
    fn key(&mut self, spot: TreeCursor<'_>, message: impl AsRef<str>, advice: impl AsRef<str>) {
        self.place(|| spot.key_location(), message, advice);
    }

    /// What is at this place makes no sense.
    fn place(&mut self, place: impl FnOnce() -> Location, message: impl AsRef<str>, advice: impl AsRef<str>) {
        if self.found.len() < MOST_TOLD {
            self.found.push(Diagnostic::new(self.file, message).at(place()).with_help(advice));
        } else {
            self.untold += 1;
        }
    }

    /// The word here is not known.
    fn unknown<'k>(&mut self, spot: TreeCursor<'_>, noun: &str, word: &str, known: impl IntoIterator<Item = &'k str>) {
        // To look for the nearest of many words is slow, so it is done only for what is told.
        if self.found.len() < MOST_TOLD {
            self.value(spot, format!("unknown {noun} `{word}`"), nearest::advice(word, known));
        } else {
            self.untold += 1;
        }
    }

    /// A length of time is not to be nothing.
    fn not_zero(&mut self, spot: TreeCursor<'_>, period: Option<HumanDuration>) {
        if period.is_some_and(|period| period.0.is_zero()) {
            self.value(spot, "no time at all", "write a length of time above zero, as in `500ms`");
        }
    }

    /// A wait cannot be longer than the case.
    fn within_limit(&mut self, spot: TreeCursor<'_>, period: Option<HumanDuration>, limit: Duration) {
        if let Some(period) = period.filter(|period| period.0 > limit) {
            let message = format!("{period} is longer than the whole case may take");
            self.value(spot, message, format!("the limit of the case is {}; raise `limit`", HumanDuration(limit)));
        }
    }

    /// No element stands twice in a list.
    fn no_doubles<T: std::fmt::Display>(&mut self, list: TreeCursor<'_>, items: &[T]) {
        let mut seen = BTreeSet::new();
        for (position, item) in items.iter().enumerate() {
            if !seen.insert(item.to_string()) {
                self.value(list.item(position), format!("`{item}` stands twice in the list"), "take one away");
            }
        }
    }

    fn in_order(mut self) -> Vec<Diagnostic> {
        self.found.sort_by_key(|found| found.location.as_ref().map(|location| (location.line, location.column)));
        if self.untold > 0 {
            let message = format!("{} mistakes more", self.untold);
            self.found.push(Diagnostic::new(self.file, message).with_help("mend those above first"));
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
