//! The project file `mcp-workbench.toml`: servers, and targets that `run` executes as command lines.
//!
//! Each target becomes the arguments of its command, so that it has the options, the errors and the results of that command.

mod file;

use std::{
    collections::BTreeMap,
    env,
    path::{Path, PathBuf},
};

use anyhow::anyhow;
use clap::{
    Command,
    error::{ContextKind, ContextValue},
};
use diagnostics::{
    Diagnostic, Diagnostics, FileError,
    document::{Document, Format, Limits, Source, Syntax, TreeCursor},
    nearest, read_file,
};
use serde::Serialize;
use serde_json::Value;

pub(crate) use self::file::schema_file;
use self::file::{ProjectFile, Server};
use crate::error::CommandError;

/// The name of a project file.
pub(crate) const FILE: &str = "mcp-workbench.toml";

const FORMAT: Format = Format {
    noun: "project file",
    example: "has targets, as in `[validate.my-server]`",
    limits: Limits::SMALL,
    noun_of: |_, _| None,
    renamed: &[],
};

/// The commands of targets, in the order in which `run` executes them.
const COMMANDS: [&str; 3] = ["validate", "conformance", "bench"];

/// A project file.
#[derive(Debug)]
pub(crate) struct Project {
    /// The directory of the file, in which its commands run.
    pub(crate) directory: PathBuf,
    /// The targets by command, and then in the order of the file.
    pub(crate) targets: Vec<Target>,
}

/// A target: a command with its options.
#[derive(Debug)]
pub(crate) struct Target {
    /// Command and name of the target: `validate.weather`.
    pub(crate) id: String,
    /// The command and its options.
    options: Vec<String>,
    /// The arguments that name the server. They can refer to environment variables.
    server: Vec<String>,
}

impl Target {
    /// The whole command line, with these options of the user. Fails if an environment variable is not set.
    pub(crate) fn arguments(&self, options: &[String]) -> Result<Vec<String>, CommandError> {
        let mut arguments: Vec<_> = self.options.iter().chain(options).cloned().collect();
        for argument in &self.server {
            let expanded = agent::config::expand(argument, |name| env::var(name).ok());
            arguments.push(
                expanded
                    .map_err(|error| CommandError::input(anyhow!("{}: {error}", self.id)).with_help(error.advice()))?,
            );
        }
        Ok(arguments)
    }

    /// The command line as a user would write it, with references to environment variables instead of their values.
    pub(crate) fn command_line(&self) -> String {
        let mut words = Vec::new();
        for argument in self.options.iter().chain(&self.server) {
            match argument.split_once('=').filter(|(option, _)| option.starts_with("--")) {
                Some((option, value)) => words.extend([option, value]),
                None => words.push(argument),
            }
        }
        shell_words::join(words)
    }

    /// Whether this name selects the target: its id, its command or its own name.
    pub(crate) fn is_named(&self, name: &str) -> bool {
        self.id == name || self.id.split_once('.').is_some_and(|(command, own)| command == name || own == name)
    }
}

impl Project {
    /// The project file of the working directory or of the nearest directory above it.
    pub(crate) fn find() -> Result<PathBuf, CommandError> {
        let directory = env::current_dir().map_err(CommandError::environment)?;
        let found = directory.ancestors().map(|directory| directory.join(FILE)).find(|path| path.is_file());
        found.ok_or_else(|| {
            CommandError::input(anyhow!("there is no {FILE} in {} or above it", directory.display()))
                .with_help("`mcp-workbench init` writes one, and `--project FILE` names one")
        })
    }

    /// Reports all errors of a project file. `command` is the command line of this program, which checks the options.
    pub(crate) fn check(path: &Path, command: &Command) -> Result<(), FileError> {
        Self::read(path, command).map(drop)
    }

    fn read(path: &Path, command: &Command) -> Result<Vec<Target>, FileError> {
        let text = read_file(path, &FORMAT)?;
        parse(&text, &path.display().to_string(), command).map_err(FileError::Invalid)
    }

    /// The ids of the targets, whose options are not checked.
    pub(crate) fn names(path: &Path) -> Result<Vec<String>, CommandError> {
        let text = read_file(path, &FORMAT).map_err(CommandError::input)?;
        let document = Document::parse(Source::new("", &text, Syntax::Toml), &FORMAT).map_err(CommandError::input)?;
        let names = COMMANDS.into_iter().flat_map(|command| {
            let tables = document.root().key(command).entries();
            tables.filter_map(move |table| Some(format!("{command}.{}", table.name()?)))
        });
        Ok(names.collect())
    }

    /// Reads a project file and reports all its errors, as [`Project::check`] does.
    pub(crate) fn load(path: &Path, command: &Command) -> Result<Self, CommandError> {
        let targets = Self::read(path, command).map_err(CommandError::input)?;
        let path = std::path::absolute(path).map_err(CommandError::environment)?;
        Ok(Self { directory: path.parent().map(Path::to_owned).unwrap_or_default(), targets })
    }
}

/// The targets of a project file.
fn parse(text: &str, name: &str, command: &Command) -> Result<Vec<Target>, Diagnostics> {
    // The name may end in anything if `--project` names the file.
    let source = Source::new(name, text, Syntax::Toml);
    let mut document = Document::parse(source, &FORMAT)?;
    let file: ProjectFile = document.read()?;
    let mut reader = Reader { file: &file, document: &document, command, errors: Vec::new() };
    let targets: Vec<Target> = COMMANDS.into_iter().flat_map(|command| reader.targets(command)).collect();
    reader.check_servers();
    if targets.is_empty() && reader.errors.is_empty() {
        reader.errors.push(Diagnostic::new(name, "the project file has no targets").with_help(FORMAT.example));
    }
    match Diagnostics::new(reader.errors) {
        Some(errors) => Err(errors),
        None => Ok(targets),
    }
}

/// Turns the tables of a file into targets, and collects errors.
struct Reader<'a> {
    file: &'a ProjectFile,
    document: &'a Document,
    command: &'a Command,
    errors: Vec<Diagnostic>,
}

impl Reader<'_> {
    fn error(&mut self, at: diagnostics::Location, message: String, help: Option<String>) {
        let error = Diagnostic::new(self.document.source().name(), message).at(at);
        self.errors.push(match help {
            Some(help) => error.with_help(help),
            None => error,
        });
    }

    /// The targets of a command, in the order of the file.
    fn targets(&mut self, command: &str) -> Vec<Target> {
        let tables = self.document.root().key(command).entries();
        tables.filter_map(|table| self.target(command, table.name()?, table)).collect()
    }

    fn target(&mut self, command: &str, name: &str, table: TreeCursor<'_>) -> Option<Target> {
        let mut options = vec![command.to_owned()];
        let server = match command {
            "validate" => {
                let target = self.file.validate.get(name)?;
                add_options(target, &mut options);
                Some(target.server.as_deref().unwrap_or(name))
            }
            "bench" => {
                let target = self.file.bench.get(name)?;
                add_options(target, &mut options);
                options.extend(target.file.iter().map(|file| file.display().to_string()));
                let own = (target.file.is_none() || self.file.servers.contains_key(name)).then_some(name);
                target.server.as_deref().or(own)
            }
            _ => {
                let target = self.file.conformance.get(name)?;
                add_options(target, &mut options);
                options.extend(target.only.iter().cloned());
                None
            }
        };
        let server = match server.map(|server| (server, self.file.servers.get(server))) {
            Some((_, Some(server))) => arguments_of(server),
            Some((server, None)) => {
                let known = self.file.servers.keys().map(String::as_str);
                let help = nearest::advice(server, known);
                let at = table.get("server").map_or(table.key_location(), TreeCursor::location);
                self.error(at, format!("no server `{server}` in `[servers]`"), Some(help));
                return None;
            }
            None => Vec::new(),
        };
        let target = Target { id: format!("{command}.{name}"), options, server };
        self.check(&target, table);
        Some(target)
    }

    /// Reports what the command rejects, at the key that the error names.
    fn check(&mut self, target: &Target, table: TreeCursor<'_>) {
        let line =
            std::iter::once("mcp-workbench").chain(target.options.iter().chain(&target.server).map(String::as_str));
        let Err(error) = self.command.clone().try_get_matches_from(line) else { return };
        let option = match error.get(ContextKind::InvalidArg) {
            Some(ContextValue::String(option)) => option.as_str(),
            _ => "",
        };
        let key = option.trim_start_matches('-').split([' ', '=']).next().unwrap_or_default().replace('-', "_");
        let at = table.get(&key).map_or(table.key_location(), TreeCursor::location);
        let text = error.to_string();
        let message = text.lines().next().unwrap_or_default();
        self.error(at, message.strip_prefix("error: ").unwrap_or(message).to_owned(), None);
    }

    /// Each server has either a command or a URL.
    fn check_servers(&mut self) {
        for table in self.document.root().key("servers").entries() {
            let Some((name, server)) = table.name().and_then(|name| self.file.servers.get_key_value(name)) else {
                continue;
            };
            let help = "add `command = [\"program\", \"argument\"]`, or `url = \"https://…\"`";
            match (server.command.is_empty(), server.url.is_none()) {
                (true, true) => {
                    let message = format!("server `{name}` has neither `command` nor `url`");
                    self.error(table.key_location(), message, Some(help.to_owned()));
                }
                (false, false) => {
                    let message = format!("server `{name}` has both `command` and `url`");
                    self.error(table.key("url").key_location(), message, Some("remove one of them".to_owned()));
                }
                (false, true) if !server.headers.is_empty() => {
                    let message = "`headers` has no effect for a server with `command`".to_owned();
                    self.error(table.key("headers").key_location(), message, Some("use `env`".to_owned()));
                }
                (true, false) if !server.env.is_empty() => {
                    let message = "`env` has no effect for a server with `url`".to_owned();
                    self.error(table.key("env").key_location(), message, Some("use `headers`".to_owned()));
                }
                _ => {}
            }
        }
    }
}

/// The arguments that name a server.
fn arguments_of(server: &Server) -> Vec<String> {
    let mut arguments: Vec<String> = server.url.iter().map(|url| format!("--url={url}")).collect();
    let pairs = |option: &str, separator: &str, pairs: &BTreeMap<String, String>| -> Vec<String> {
        pairs.iter().map(|(name, value)| format!("--{option}={name}{separator}{value}")).collect()
    };
    if server.url.is_some() {
        arguments.extend(pairs("header", ": ", &server.headers));
    } else {
        arguments.extend(pairs("env", "=", &server.env));
        arguments.push("--".to_owned());
        arguments.extend(server.command.iter().cloned());
    }
    arguments
}

/// Adds the options of a target: `--key`, or `--key=value`, once for each item of an array.
fn add_options(target: &impl Serialize, arguments: &mut Vec<String>) {
    // The types of targets are structs, which JSON can represent.
    let Ok(Value::Object(keys)) = serde_json::to_value(target) else { return };
    for (key, value) in keys {
        let option = key.replace('_', "-");
        match value {
            Value::Null | Value::Bool(false) => {}
            Value::Bool(true) => arguments.push(format!("--{option}")),
            Value::Array(items) => arguments.extend(items.iter().map(|item| format!("--{option}={}", scalar(item)))),
            value => arguments.push(format!("--{option}={}", scalar(&value))),
        }
    }
}

/// A string without quotation marks, or JSON.
fn scalar(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests;
