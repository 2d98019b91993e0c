//! The statements of an older revision: those of the next one, with differences.

use include_dir::File;
use serde::Deserialize;

use super::{Coverage, Reader, Row, Statement, StatementLevel, StatementParty, name_of};
use crate::model::Revision;

/// The file of an older revision.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Differences {
    /// The next revision.
    next: Revision,
    /// Ids of its statements that this revision does not have. `<page>/*` is a whole page.
    #[serde(default)]
    absent: Vec<String>,
    /// Statements that read differently here.
    #[serde(default)]
    changed: Vec<Change>,
    /// Statements that the next revision does not have.
    #[serde(default)]
    only_here: Vec<Row>,
}

/// A statement that reads differently. What is missing is as in the next revision.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Change {
    id: String,
    #[serde(default)]
    level: Option<StatementLevel>,
    #[serde(default)]
    party: Option<StatementParty>,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    checks: Option<Vec<String>>,
    #[serde(default)]
    gap: Option<String>,
    #[serde(default)]
    unobservable: Option<String>,
}

impl Change {
    fn apply(self, statement: &mut Statement) {
        statement.level = self.level.unwrap_or(statement.level);
        statement.party = self.party.unwrap_or(statement.party);
        if let Some(text) = self.text {
            statement.text = text;
        }
        let coverage = self.checks.map(Coverage::Checks).or(self.gap.map(Coverage::Gap));
        if let Some(coverage) = coverage.or(self.unobservable.map(Coverage::Unobservable)) {
            statement.coverage = coverage;
        }
    }
}

impl Reader {
    /// Reads the file of an older revision. The next revision has been read.
    pub(super) fn differences(&mut self, revision: Revision, file: &File<'_>) {
        let name = name_of(file);
        let Some(differences) = self.parse::<Differences>(file) else { return };
        let Some(mut statements) = self.statements.get(&differences.next).cloned() else {
            return self.errors.push(format!("{name}: {} has no statements", differences.next));
        };
        for id in &differences.absent {
            let before = statements.len();
            statements.retain(|statement| !is_meant(id, statement));
            if statements.len() == before {
                self.errors.push(format!("{name}: `{id}` is absent in {} too", differences.next));
            }
        }
        for change in differences.changed {
            match statements.iter_mut().find(|statement| statement.id == change.id) {
                Some(statement) => change.apply(statement),
                None => self.errors.push(format!("{name}: {} has no statement `{}`", differences.next, change.id)),
            }
        }
        for row in differences.only_here {
            let page = row.id.rsplit_once('/').map(|(page, _)| page.to_owned()).unwrap_or_default();
            let Some(statement) = self.statement(&name, row, &page) else { continue };
            if statements.iter().any(|other| other.id == statement.id) {
                self.errors.push(format!("{name}: two statements have the id `{}`", statement.id));
            }
            statements.push(statement);
        }
        self.statements.insert(revision, statements);
    }
}

/// Whether an entry of `absent` means this statement.
fn is_meant(entry: &str, statement: &Statement) -> bool {
    entry.strip_suffix("/*").map_or(statement.id == entry, |page| statement.page == page)
}
