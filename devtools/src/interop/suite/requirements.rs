//! Sets of requirements of the official suite: the scenarios of a revision for servers and for clients.

use anyhow::Context as _;
use diagnostics::{
    Diagnostics,
    document::{Document, Format, Limits, Source},
};
use serde::Deserialize;

/// A scenario of a set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct Expected {
    /// Its name.
    pub(in super::super) scenario: String,
    /// `scored`, or why it is not scored.
    pub(in super::super) kind: String,
}

#[derive(Debug, Deserialize)]
struct Requirements {
    server: Vec<String>,
    client: Vec<String>,
    #[serde(default)]
    not_scored: Vec<NotScored>,
}

#[derive(Debug, Deserialize)]
struct NotScored {
    scenario: String,
    leg: String,
    reason: String,
}

/// The scenarios for servers in the order of the suite; those without a score are last.
pub(super) fn server_scenarios(text: &str) -> anyhow::Result<Vec<Expected>> {
    let read = read(text)?;
    Ok(scenarios_for("server", read.server, read.not_scored))
}

/// The scenarios for clients, in the same order.
pub(super) fn client_scenarios(text: &str) -> anyhow::Result<Vec<Expected>> {
    let read = read(text)?;
    Ok(scenarios_for("client", read.client, read.not_scored))
}

fn read(text: &str) -> anyhow::Result<Requirements> {
    const FORMAT: Format = Format {
        noun: "list of requirements",
        example: "contains the keys `server` and `client`",
        limits: Limits::SMALL,
        noun_of: |_, _| None,
        renamed: &[],
    };
    let document = Document::parse(Source::named("requirements.yaml", text), &FORMAT).map_err(Diagnostics::from);
    document.and_then(|mut document| document.read()).context("cannot read the requirements of the suite")
}

fn scenarios_for(leg: &str, scored: Vec<String>, others: Vec<NotScored>) -> Vec<Expected> {
    let scored = scored.into_iter().map(|scenario| Expected { scenario, kind: "scored".to_owned() });
    let others = others.into_iter().filter(|entry| entry.leg == leg);
    scored.chain(others.map(|entry| Expected { scenario: entry.scenario, kind: entry.reason })).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_server_scenarios_scored_or_not() {
        let text = "server:\n  - ping\nclient:\n  - initialize\nnot_scored:\n\
                    \x20 - scenario: auth/dpop\n    leg: client\n    reason: extension\n\
                    \x20 - scenario: tasks-lifecycle\n    leg: server\n    reason: extension\n    note: >-\n      anything\n";
        let names: Vec<_> = server_scenarios(text).unwrap().into_iter().map(|e| (e.scenario, e.kind)).collect();
        let expected = [("ping", "scored"), ("tasks-lifecycle", "extension")];
        assert_eq!(names, expected.map(|(scenario, kind)| (scenario.to_owned(), kind.to_owned())));
    }

    #[test]
    fn reads_client_scenarios_scored_or_not() {
        let text = "server: [ping]\nclient: [initialize]\nnot_scored:\n\
                    \x20 - { scenario: auth/dpop, leg: client, reason: extension }\n\
                    \x20 - { scenario: tasks-lifecycle, leg: server, reason: extension }\n";
        let names: Vec<_> = client_scenarios(text).unwrap().into_iter().map(|e| (e.scenario, e.kind)).collect();
        let expected = [("initialize", "scored"), ("auth/dpop", "extension")];
        assert_eq!(names, expected.map(|(scenario, kind)| (scenario.to_owned(), kind.to_owned())));
    }

    #[test]
    fn rejects_a_set_without_servers_or_clients() {
        assert!(server_scenarios("client: []\n").is_err());
        assert!(client_scenarios("server: []\n").is_err());
    }
}
