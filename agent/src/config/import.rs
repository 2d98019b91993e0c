//! Servers from the configuration of other clients.
//!
//! Each format becomes entries of `.mcp.json`, which are checked like those of our own files. A key that has no equivalent
//! either rejects its server, or is a note if the server works without it. Nothing is ignored silently.

mod claude;
mod codex;
mod opencode;
mod text;
mod vscode;

use std::{
    fmt,
    path::{Path, PathBuf},
};

use diagnostics::document::TreeCursor;
use serde_json::{Map, Number, Value};

use super::{
    Diagnostic,
    edit::check_entry,
    file::{parse, read_text},
    keys::Format,
};

/// A client whose configuration can be imported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ImportSource {
    /// Claude Code: `~/.claude.json` with `projects`, and `.mcp.json`.
    Claude,
    /// Codex: `config.toml`.
    Codex,
    /// OpenCode: `opencode.json`.
    OpenCode,
    /// Cursor: `mcp.json`.
    Cursor,
    /// Visual Studio Code: `mcp.json`.
    VsCode,
}

impl ImportSource {
    /// The name in commands.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::OpenCode => "opencode",
            Self::Cursor => "cursor",
            Self::VsCode => "vscode",
        }
    }

    /// The files that the client reads, the most specific first. They may not exist.
    #[must_use]
    pub fn files(self, project: &Path, home: &Path) -> Vec<PathBuf> {
        let config = home.join(".config");
        match self {
            Self::Claude => vec![project.join(".mcp.json"), home.join(".claude.json")],
            Self::Codex => vec![project.join(".codex/config.toml"), home.join(".codex/config.toml")],
            Self::OpenCode => {
                let names = ["opencode.json", "opencode.jsonc"];
                let directories = [project.to_owned(), config.join("opencode")];
                directories.iter().flat_map(|directory| names.map(|name| directory.join(name))).collect()
            }
            Self::Cursor => vec![project.join(".cursor/mcp.json"), home.join(".cursor/mcp.json")],
            Self::VsCode => vec![project.join(".vscode/mcp.json"), config.join("Code/User/mcp.json")],
        }
    }
}

impl fmt::Display for ImportSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The servers of a file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Import {
    /// Servers that can be added.
    pub servers: Vec<ImportedServer>,
    /// Servers, and other parts of the file, that cannot.
    pub rejected: Vec<RejectedImport>,
}

/// A server that can be added.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportedServer {
    /// Its name.
    pub name: String,
    /// Its entry, as in `.mcp.json`. It may contain secrets.
    pub entry: Map<String, Value>,
    /// Differences from the original that do not prevent its use.
    pub notes: Vec<String>,
}

/// A server that cannot be added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RejectedImport {
    /// Its name.
    pub name: String,
    /// The line of the file, counted from 1.
    pub line: usize,
    /// The reason.
    pub reason: String,
    /// What to do.
    pub help: String,
}

/// What an entry refers to outside its file.
#[derive(Debug, Clone, Copy)]
struct Context<'a> {
    /// The directory of the project.
    project: &'a Path,
}

/// Reads a file. Returns `None` if it does not exist.
///
/// # Errors
/// If it cannot be read or parsed.
pub fn import_file(source: ImportSource, file: &Path, project: &Path) -> Result<Option<Import>, Box<Diagnostic>> {
    let name = file.display().to_string();
    match read_text(file, &name)? {
        Some(text) => import(source, &text, &name, project).map(Some),
        None => Ok(None),
    }
}

/// Reads a text. `project` is the directory that the client would be started in.
///
/// # Errors
/// If it cannot be parsed, or contains no servers of this client.
pub fn import(source: ImportSource, text: &str, name: &str, project: &Path) -> Result<Import, Box<Diagnostic>> {
    let format = if source == ImportSource::Codex { Format::Toml } else { Format::Json };
    let document = parse(text, name, format)?;
    let root = document.root();
    if !root.is_table() {
        return Err(Box::new(Diagnostic::new(name, format!("expected an object, found {}", root.type_name()))));
    }
    let context = Context { project };
    let mut import = Import::default();
    match source {
        ImportSource::Claude => claude::read(root, context, &mut import),
        ImportSource::Codex => codex::read(root, &mut import),
        ImportSource::OpenCode => opencode::read(root, &mut import),
        ImportSource::Cursor => vscode::read_cursor(root, context, &mut import),
        ImportSource::VsCode => vscode::read(root, context, &mut import),
    }
    Ok(import)
}

/// An entry under construction.
struct Draft {
    entry: Map<String, Value>,
    notes: Vec<String>,
}

/// Why an entry is rejected: the reason and the help.
type Rejection = (String, String);

fn rejection(reason: impl Into<String>, help: impl Into<String>) -> Rejection {
    (reason.into(), help.into())
}

impl Draft {
    fn new() -> Self {
        Self { entry: Map::new(), notes: Vec::new() }
    }

    fn put(&mut self, key: &str, value: impl Into<Value>) {
        self.entry.insert(key.to_owned(), value.into());
    }

    fn note(&mut self, text: impl Into<String>) {
        self.notes.push(text.into());
    }
}

impl Import {
    /// Converts the servers of a table with `convert`, and checks the results.
    fn table(
        &mut self,
        servers: TreeCursor<'_>,
        convert: impl Fn(TreeCursor<'_>, &mut Draft) -> Result<(), Rejection>,
    ) {
        if !servers.is_table() {
            let reason = format!("expected an object of servers, found {}", servers.type_name());
            return self.reject(servers, rejection(reason, "write one key per server"));
        }
        for server in servers.entries() {
            let name = server.name().unwrap_or_default();
            if self.servers.iter().any(|known| known.name == name) {
                self.reject(server, rejection("another server has the same name", "the first one is imported"));
                continue;
            }
            let mut draft = Draft::new();
            let converted = if server.is_table() {
                convert(server, &mut draft).and_then(|()| checked(name, &draft))
            } else {
                Err(rejection(
                    format!("expected an object, found {}", server.type_name()),
                    "write the settings of the server",
                ))
            };
            match converted {
                Ok(()) => {
                    let Draft { entry, notes } = draft;
                    self.servers.push(ImportedServer { name: name.to_owned(), entry, notes });
                }
                Err(rejection) => self.reject(server, rejection),
            }
        }
    }

    fn reject(&mut self, at: TreeCursor<'_>, (reason, help): Rejection) {
        let (name, line) = (at.name().unwrap_or_default().to_owned(), at.key_location().line);
        self.rejected.push(RejectedImport { name, line, reason, help });
    }
}

/// Checks an entry like an entry of our own files.
fn checked(name: &str, draft: &Draft) -> Result<(), Rejection> {
    match check_entry(name, &draft.entry) {
        Ok(()) => Ok(()),
        Err(super::edit::EditError::Wrong { problems }) => {
            let problem = problems.first();
            let help = problem.and_then(|problem| problem.help.clone()).unwrap_or_default();
            Err(rejection(problem.map(|problem| problem.message.clone()).unwrap_or_default(), help))
        }
        Err(error) => Err(rejection(error.to_string(), "")),
    }
}

/// A value of the file as JSON.
fn value(at: TreeCursor<'_>) -> Value {
    if at.is_table() {
        return at
            .entries()
            .map(|entry| (entry.name().unwrap_or_default().to_owned(), value(entry)))
            .collect::<Map<_, _>>()
            .into();
    }
    if at.is_array() {
        return at.items().map(value).collect();
    }
    if let Some(text) = at.string() {
        return text.into();
    }
    if let Some(boolean) = at.boolean() {
        return boolean.into();
    }
    match at.number() {
        Some(number) if number.fract() == 0.0 && number.abs() < 9e15 => (number as i64).into(),
        Some(number) => Number::from_f64(number).map_or(Value::Null, Value::Number),
        None => Value::Null,
    }
}
