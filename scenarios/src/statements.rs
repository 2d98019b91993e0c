//! The statements of the specification, in our words, and what tests each of them: `requirements/statements/`.
//!
//! The two newest revisions have one file per page. An older revision has one file with its differences from the next
//! one. This module reads and validates the files; it judges nothing.

mod older;
#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt, mem,
};

use include_dir::{Dir, File, include_dir};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{
    catalog::ScenarioCatalog,
    judge::checks,
    model::{Revision, Subject},
    requirements::read,
};

static FILES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/requirements/statements");

/// How binding a statement is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum StatementLevel {
    /// MUST, MUST NOT, REQUIRED, SHALL.
    Must,
    /// SHOULD, SHOULD NOT, RECOMMENDED.
    Should,
    /// MAY: a form that checks must accept.
    May,
    /// Behavior that the page states without a keyword.
    Stated,
}

/// Who a statement binds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StatementParty {
    /// Servers.
    Server,
    /// Clients.
    Client,
    /// Clients and servers.
    Both,
    /// Authorization servers.
    AuthorizationServer,
    /// Applications that contain clients.
    Host,
    /// Authors and projects.
    Implementer,
}

/// What tests a statement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Coverage {
    /// Ids of checks.
    Checks(Vec<String>),
    /// Ids of scenarios of the catalog, whose expectations test it.
    Scenarios(Vec<String>),
    /// It is observable, and this is missing.
    Gap(String),
    /// Messages and processes cannot show it, for this reason.
    Unobservable(String),
}

/// A statement of the specification.
#[derive(Debug, Clone, Serialize)]
pub struct Statement {
    /// The stable id, `<page>/<name>`. It is unique within a revision.
    pub id: String,
    /// The page, as in its URL below the revision.
    pub page: String,
    /// The anchor of the heading; none if the statement precedes the first one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub anchor: Option<String>,
    /// How binding it is.
    pub level: StatementLevel,
    /// Who it binds.
    pub party: StatementParty,
    /// The statement in our words.
    pub text: String,
    /// The number of keywords of the page that it accounts for. MAY is not counted.
    pub keywords: u32,
    /// What tests it.
    pub coverage: Coverage,
}

/// The statements of all revisions.
pub type Statements = BTreeMap<Revision, Vec<Statement>>;

/// The files have errors.
#[derive(Debug, Error)]
#[error("the statements are invalid:\n{}", .0.join("\n"))]
pub struct InvalidStatements(Vec<String>);

/// A file of one page.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Page {
    page: String,
    /// The number of keywords on the page, without examples, quotations and MAY.
    keywords: u32,
    statements: Vec<Row>,
}

/// A statement, as files write it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    id: String,
    #[serde(default)]
    anchor: Option<String>,
    level: StatementLevel,
    party: StatementParty,
    text: String,
    /// [default: 1 for MUST and SHOULD, else 0]
    #[serde(default)]
    keywords: Option<u32>,
    #[serde(default)]
    checks: Option<Vec<String>>,
    #[serde(default)]
    scenarios: Option<Vec<String>>,
    #[serde(default)]
    gap: Option<String>,
    #[serde(default)]
    unobservable: Option<String>,
}

impl Row {
    /// The statement, or why the row is invalid.
    fn into_statement(mut self, page: &str) -> Result<Statement, String> {
        let coverage = self.coverage().ok_or_else(|| {
            format!("`{}` needs exactly one of `checks`, `scenarios`, `gap` and `unobservable`", self.id)
        })?;
        let name = self.id.strip_prefix(page).and_then(|rest| rest.strip_prefix('/'));
        if !name.is_some_and(|name| !name.is_empty() && !name.contains('/')) {
            return Err(format!("`{}` is not an id of the page `{page}`", self.id));
        }
        if self.text.split_whitespace().count() < 3 || !self.text.ends_with('.') {
            return Err(format!("the text of `{}` is not a sentence", self.id));
        }
        let counted = matches!(self.level, StatementLevel::Must | StatementLevel::Should);
        Ok(Statement {
            page: page.to_owned(),
            keywords: self.keywords.unwrap_or(counted.into()),
            id: self.id,
            anchor: self.anchor,
            level: self.level,
            party: self.party,
            text: self.text,
            coverage,
        })
    }

    /// What tests it; none unless the row has exactly one non-empty entry.
    fn coverage(&mut self) -> Option<Coverage> {
        let all = [
            self.checks.take().map(Coverage::Checks),
            self.scenarios.take().map(Coverage::Scenarios),
            self.gap.take().map(Coverage::Gap),
            self.unobservable.take().map(Coverage::Unobservable),
        ];
        let mut found = all.into_iter().flatten();
        let coverage = found.next().filter(|coverage| !coverage.is_empty());
        if found.next().is_some() { None } else { coverage }
    }
}

impl Coverage {
    fn is_empty(&self) -> bool {
        match self {
            Self::Checks(ids) | Self::Scenarios(ids) => ids.is_empty(),
            Self::Gap(text) | Self::Unobservable(text) => text.is_empty(),
        }
    }
}

impl Statement {
    /// Whether it binds this subject.
    #[must_use]
    pub fn binds(&self, subject: Subject) -> bool {
        match self.party {
            StatementParty::Both => true,
            StatementParty::Server => subject == Subject::Server,
            StatementParty::Client => subject == Subject::Client,
            StatementParty::AuthorizationServer | StatementParty::Host | StatementParty::Implementer => false,
        }
    }

    /// Whether messages or processes can show it.
    #[must_use]
    pub fn is_observable(&self) -> bool {
        !matches!(self.coverage, Coverage::Unobservable(_))
    }
}

impl fmt::Display for StatementLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Must => "MUST",
            Self::Should => "SHOULD",
            Self::May => "MAY",
            Self::Stated => "STATED",
        })
    }
}

impl fmt::Display for StatementParty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Server => "server",
            Self::Client => "client",
            Self::Both => "both",
            Self::AuthorizationServer => "authorization-server",
            Self::Host => "host",
            Self::Implementer => "implementer",
        })
    }
}

/// The statements of all revisions.
///
/// # Errors
/// If a file is invalid, or names an unknown check or scenario; all errors are reported together.
pub fn statements() -> Result<Statements, InvalidStatements> {
    let mut reader = Reader::default();
    for revision in Revision::ALL {
        if let Some(directory) = FILES.get_dir(revision.as_str()) {
            reader.pages(revision, directory);
        }
    }
    // Each older revision is described by its differences from the next one.
    for revision in Revision::ALL.into_iter().rev() {
        if let Some(file) = FILES.get_file(format!("{revision}.yaml")) {
            reader.differences(revision, file);
        }
    }
    reader.references();
    if reader.errors.is_empty() { Ok(reader.statements) } else { Err(InvalidStatements(reader.errors)) }
}

/// The statements that have been read, and the errors.
#[derive(Debug, Default)]
struct Reader {
    statements: Statements,
    errors: Vec<String>,
}

impl Reader {
    /// Reads the files of a directory and its subdirectories.
    fn pages(&mut self, revision: Revision, directory: &Dir<'_>) {
        for file in directory.files() {
            if let Some(page) = self.parse::<Page>(file) {
                self.page(revision, &name_of(file), page);
            }
        }
        for below in directory.dirs() {
            self.pages(revision, below);
        }
    }

    fn parse<T: serde::de::DeserializeOwned>(&mut self, file: &File<'_>) -> Option<T> {
        let name = name_of(file);
        let text = file.contents_utf8().unwrap_or_default();
        read(&name, text).map_err(|errors| self.errors.push(errors.to_string())).ok()
    }

    fn page(&mut self, revision: Revision, file: &str, page: Page) {
        if file != format!("{revision}/{}.yaml", page.page) {
            self.errors.push(format!("{file}: is not the file of the page `{}`", page.page));
        }
        let statements: Vec<Statement> =
            page.statements.into_iter().filter_map(|row| self.statement(file, row, &page.page)).collect();
        let keywords: u32 = statements.iter().map(|statement| statement.keywords).sum();
        if keywords != page.keywords {
            let expected = page.keywords;
            self.errors.push(format!("{file}: its statements account for {keywords} of {expected} keywords"));
        }
        let all = self.statements.entry(revision).or_default();
        for statement in statements {
            if all.iter().any(|other| other.id == statement.id) {
                self.errors.push(format!("{file}: two statements have the id `{}`", statement.id));
            }
            all.push(statement);
        }
    }

    fn statement(&mut self, file: &str, row: Row, page: &str) -> Option<Statement> {
        row.into_statement(page).map_err(|error| self.errors.push(format!("{file}: {error}"))).ok()
    }

    /// Reports checks and scenarios that do not exist.
    fn references(&mut self) {
        let known_checks: BTreeSet<&str> = checks::all().map(|(check, _)| check.id).collect();
        let catalog = ScenarioCatalog::built_in().unwrap_or_default();
        let known_scenarios: BTreeSet<&str> =
            catalog.entries().iter().map(|entry| entry.scenario.scenario.as_str()).collect();
        let statements = mem::take(&mut self.statements);
        for (revision, statement) in
            statements.iter().flat_map(|(revision, all)| all.iter().map(move |it| (revision, it)))
        {
            let (noun, ids, known) = match &statement.coverage {
                Coverage::Checks(ids) => ("check", ids, &known_checks),
                Coverage::Scenarios(ids) => ("scenario", ids, &known_scenarios),
                Coverage::Gap(_) | Coverage::Unobservable(_) => continue,
            };
            for id in ids.iter().filter(|id| !known.contains(id.as_str())) {
                self.errors.push(format!("{revision}: `{}` names the unknown {noun} `{id}`", statement.id));
            }
        }
        self.statements = statements;
    }
}

fn name_of(file: &File<'_>) -> String {
    file.path().display().to_string()
}
