//! Counts of statements, by page and party.

use std::collections::{BTreeMap, BTreeSet};

use scenarios::{
    catalog::ScenarioCatalog,
    judge::checks,
    load::LoadErrors,
    model::{Revision, Subject},
    statements::{Coverage, Statement, StatementLevel},
};
use serde::Serialize;

/// The checks and scenarios that test servers.
#[derive(Debug)]
pub(super) struct ServerTests {
    checks: BTreeSet<&'static str>,
    scenarios: BTreeSet<String>,
}

impl ServerTests {
    /// Those of the catalog.
    pub(super) fn built_in() -> Result<Self, LoadErrors> {
        let catalog = ScenarioCatalog::built_in()?;
        let servers = catalog.entries().iter().filter(|entry| entry.scenario.subject == Subject::Server);
        Ok(Self {
            checks: checks::for_subject(Subject::Server).map(|check| check.id).collect(),
            scenarios: servers.map(|entry| entry.scenario.scenario.clone()).collect(),
        })
    }

    /// Whether one of them tests the statement. Of a statement on both parties, checks on clients do not count.
    fn cover(&self, statement: &Statement) -> bool {
        match &statement.coverage {
            Coverage::Checks(ids) => ids.iter().any(|id| self.checks.contains(id.as_str())),
            Coverage::Scenarios(ids) => ids.iter().any(|id| self.scenarios.contains(id)),
            Coverage::Gap(_) | Coverage::Unobservable(_) => false,
        }
    }
}

/// How many statements there are, and how many of them have a check or scenario.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub(super) struct Count {
    pub(super) statements: usize,
    pub(super) observable: usize,
    pub(super) tested: usize,
}

impl Count {
    fn add(&mut self, statement: &Statement, tested: bool) {
        self.statements += 1;
        self.observable += usize::from(statement.is_observable());
        self.tested += usize::from(tested);
    }

    pub(super) fn gaps(self) -> usize {
        self.observable - self.tested
    }

    /// The tested part of the observable statements; 100 if none is observable.
    #[expect(clippy::cast_precision_loss, reason = "counts are small")]
    pub(super) fn percent(self) -> f64 {
        if self.observable == 0 { 100.0 } else { self.tested as f64 * 100.0 / self.observable as f64 }
    }
}

/// The counts of one revision.
#[derive(Debug, Serialize)]
pub(super) struct RevisionCoverage {
    pub(super) revision: Revision,
    pub(super) total: Count,
    /// MUST and SHOULD statements that bind servers.
    pub(super) servers: Count,
    pub(super) pages: BTreeMap<String, Count>,
    pub(super) parties: BTreeMap<String, Count>,
    /// Observable statements without a check, MUST first.
    pub(super) gaps: Vec<Statement>,
}

impl RevisionCoverage {
    pub(super) fn new(revision: Revision, statements: &[Statement], tests: &ServerTests) -> Self {
        let mut coverage = Self {
            revision,
            total: Count::default(),
            servers: Count::default(),
            pages: BTreeMap::new(),
            parties: BTreeMap::new(),
            gaps: Vec::new(),
        };
        for statement in statements {
            let tested = matches!(statement.coverage, Coverage::Checks(_) | Coverage::Scenarios(_));
            coverage.total.add(statement, tested);
            coverage.pages.entry(statement.page.clone()).or_default().add(statement, tested);
            coverage.parties.entry(statement.party.to_string()).or_default().add(statement, tested);
            let binding = matches!(statement.level, StatementLevel::Must | StatementLevel::Should);
            if binding && statement.binds(Subject::Server) {
                coverage.servers.add(statement, tests.cover(statement));
            }
            if matches!(statement.coverage, Coverage::Gap(_)) {
                coverage.gaps.push(statement.clone());
            }
        }
        // Stable: the statements of a level stay in the order of the pages.
        coverage.gaps.sort_by_key(|statement| statement.level);
        coverage
    }
}

#[cfg(test)]
mod tests {
    use scenarios::statements::StatementParty;

    use super::*;

    fn statement(party: StatementParty, level: StatementLevel, coverage: Coverage) -> Statement {
        let (id, page, text) = ("basic/a".to_owned(), "basic".to_owned(), "A sentence.".to_owned());
        Statement { id, page, anchor: None, level, party, text, keywords: 1, coverage }
    }

    #[test]
    fn only_checks_on_servers_count_for_servers() {
        let tests = ServerTests::built_in().expect("the catalog is valid");
        let checks = |id: &str| Coverage::Checks(vec![id.to_owned()]);
        let statements = [
            statement(StatementParty::Server, StatementLevel::Must, checks("jsonrpc-version")),
            statement(StatementParty::Both, StatementLevel::Must, checks("request-ids-unique")),
            statement(StatementParty::Server, StatementLevel::Should, Coverage::Gap("a check".to_owned())),
            statement(StatementParty::Server, StatementLevel::Stated, checks("jsonrpc-version")),
            statement(StatementParty::Server, StatementLevel::Must, Coverage::Unobservable("internal".to_owned())),
            statement(StatementParty::Client, StatementLevel::Must, checks("request-ids-unique")),
        ];
        let coverage = RevisionCoverage::new(Revision::NEWEST, &statements, &tests);
        assert_eq!(coverage.total, Count { statements: 6, observable: 5, tested: 4 });
        assert_eq!(coverage.servers, Count { statements: 4, observable: 3, tested: 1 });
        assert_eq!(coverage.parties["server"], Count { statements: 4, observable: 3, tested: 2 });
        assert_eq!(coverage.gaps.len(), 1);
    }
}
