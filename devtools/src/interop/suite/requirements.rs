//! Reads the official suite's sets of requirements: which scenarios a revision asks of a server, and of a client.

use anyhow::Context as _;
use diagnostics::{
    Diagnostics,
    document::{Document, Format, Limits, Source},
};
use serde::Deserialize;

/// A scenario that is run, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct Expected {
    /// Its name.
    pub(in super::super) scenario: String,
    /// `scored`, or the reason for which it is not.
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

/// The scenarios for servers, those that are not scored last, as the suite runs them.
pub(super) fn server_scenarios(text: &str) -> anyhow::Result<Vec<Expected>> {
    let read = read(text)?;
    Ok(of_leg("server", read.server, read.not_scored))
}

/// The scenarios for clients, likewise.
pub(super) fn client_scenarios(text: &str) -> anyhow::Result<Vec<Expected>> {
    let read = read(text)?;
    Ok(of_leg("client", read.client, read.not_scored))
}

fn read(text: &str) -> anyhow::Result<Requirements> {
    const FORMAT: Format = Format {
        noun: "list of requirements",
        example: "contains the keys `server` and `client`",
        limits: Limits::SMALL,
        noun_of: |_, _| None,
    };
    let document = Document::parse(Source::named("requirements.yaml", text), &FORMAT).map_err(Diagnostics::from);
    document.and_then(|mut document| document.read()).context("cannot read the requirements of the suite")
}

fn of_leg(leg: &str, scored: Vec<String>, others: Vec<NotScored>) -> Vec<Expected> {
    let scored = scored.into_iter().map(|scenario| Expected { scenario, kind: "scored".to_owned() });
    let others = others.into_iter().filter(|entry| entry.leg == leg);
    scored.chain(others.map(|entry| Expected { scenario: entry.scenario, kind: entry.reason })).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_what_concerns_servers_scored_or_not() {
        let text = "server:\n  - ping\nclient:\n  - initialize\nnot_scored:\n\
                    \x20 - scenario: auth/dpop\n    leg: client\n    reason: extension\n\
                    \x20 - scenario: tasks-lifecycle\n    leg: server\n    reason: extension\n    note: >-\n      anything\n";
        let names: Vec<_> = server_scenarios(text).unwrap().into_iter().map(|e| (e.scenario, e.kind)).collect();
        let expected = [("ping", "scored"), ("tasks-lifecycle", "extension")];
        assert_eq!(names, expected.map(|(scenario, kind)| (scenario.to_owned(), kind.to_owned())));
    }

    #[test]
    fn takes_what_concerns_clients_likewise() {
        let text = "server: [ping]\nclient: [initialize]\nnot_scored:\n\
                    \x20 - { scenario: auth/dpop, leg: client, reason: extension }\n\
                    \x20 - { scenario: tasks-lifecycle, leg: server, reason: extension }\n";
        let names: Vec<_> = client_scenarios(text).unwrap().into_iter().map(|e| (e.scenario, e.kind)).collect();
        let expected = [("initialize", "scored"), ("auth/dpop", "extension")];
        assert_eq!(names, expected.map(|(scenario, kind)| (scenario.to_owned(), kind.to_owned())));
    }

    #[test]
    fn refuses_a_set_without_servers_or_clients() {
        assert!(server_scenarios("client: []\n").is_err());
        assert!(client_scenarios("server: []\n").is_err());
    }
}
