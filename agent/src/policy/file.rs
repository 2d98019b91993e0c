//! The two policy files. Every error rejects the file, because a rule that is skipped would allow what it denies.

use std::{
    fmt, io,
    path::{Path, PathBuf},
};

use client::{Endpoint, ServerConfig};
use diagnostics::{
    Diagnostic, Diagnostics, FileError,
    document::{Document, Format, Limits, Source, Syntax},
    nearest, read_file,
};
use serde::{Deserialize, de::IgnoredAny};
use serde_json::{Map, Value};

use super::{directory::exists, url_pattern::UrlPattern};
use crate::filter::printable;

const FORMAT: Format = Format {
    noun: "policy",
    example: "contains keys, as in `\"deniedMcpServers\": []`",
    limits: Limits { bytes: 4 << 20, depth: 128, values: 1_000_000, aliases: 0, expanded: 0 },
    noun_of: |_, _| None,
    renamed: &[],
};

const KEYS: [&str; 3] = ["allowedMcpServers", "deniedMcpServers", "allowManagedMcpServersOnly"];

/// The keys in TOML.
const TOML_KEYS: [&str; 2] = ["allowed_mcp_servers", "denied_mcp_servers"];

/// Reasons why a policy file rejects all servers.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    /// The file exists and cannot be read.
    #[error("cannot read {} ({error}); all servers are rejected until it is readable or removed", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The I/O error.
        #[source]
        error: io::Error,
    },
    /// The contents are invalid.
    #[error("{}; all servers are rejected until the file is corrected", one_line(problems))]
    Invalid {
        /// All errors, with file, line and column.
        problems: Diagnostics,
    },
}

impl<T: Into<Diagnostics>> From<T> for PolicyError {
    fn from(problems: T) -> Self {
        Self::Invalid { problems: problems.into() }
    }
}

fn one_line(problems: &Diagnostics) -> String {
    let line = |Diagnostic { file, location, message, help, .. }: &Diagnostic| {
        let position = location.as_ref().map(|location| format!(":{}:{}", location.line, location.column));
        let help = help.as_ref().map(|help| format!(", {help}"));
        format!("{}{}: {message}{}", printable(file), position.unwrap_or_default(), help.unwrap_or_default())
    };
    problems.as_slice().iter().map(line).collect::<Vec<_>>().join("; ")
}

/// The servers of `managed-mcp.json`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Exclusive {
    #[serde(rename = "mcpServers", alias = "mcp_servers")]
    servers: Map<String, Value>,
}

/// The lists of `managed-settings.json`.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Settings {
    #[serde(rename = "allowedMcpServers", alias = "allowed_mcp_servers")]
    pub(super) allowed: Option<Vec<Entry>>,
    #[serde(default, rename = "deniedMcpServers", alias = "denied_mcp_servers")]
    pub(super) denied: Vec<Entry>,
}

/// An entry of a list.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "RawEntry")]
pub(super) enum Entry {
    Name(String),
    Command(Vec<String>),
    Url(UrlPattern),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct RawEntry {
    #[serde(alias = "server_name")]
    server_name: Option<String>,
    #[serde(alias = "server_command")]
    server_command: Option<Vec<String>>,
    #[serde(alias = "server_url")]
    server_url: Option<String>,
}

/// The path of an exclusive file, and its servers.
pub(super) type ExclusiveServers = (PathBuf, Map<String, Value>);

/// Reads the servers of an exclusive file, and the path that was read; `None` if it does not exist.
pub(super) fn read_exclusive(json: &Path) -> Result<Option<ExclusiveServers>, PolicyError> {
    let Some((path, mut document)) = parse(json)? else { return Ok(None) };
    Ok(Some((path, document.read::<Exclusive>()?.servers)))
}

/// Reads the lists. In a shared file, only a misspelled key is an error, because other programs define other keys.
pub(super) fn read_settings(json: &Path, shared: bool) -> Result<Settings, PolicyError> {
    let Some((_, mut document)) = parse(json)? else { return Ok(Settings::default()) };
    let known: &[&str] = if document.source().syntax() == Syntax::Toml { &TOML_KEYS } else { &KEYS };
    let is_unknown =
        |key: &str| !known.contains(&key) && (!shared || nearest::nearest(key, known.iter().copied()).is_some());
    let keys = document.root().entries().filter_map(|entry| Some((entry, entry.name()?)));
    let unknown = keys.filter(|(_, key)| is_unknown(key)).map(|(entry, key)| {
        let error = document.source().error(entry.key_span(), format!("unknown key `{key}`"));
        error.with_help(nearest::advice(key, known.iter().copied()))
    });
    let mut problems: Vec<Diagnostic> = unknown.collect();
    let settings = document.read::<Settings>();
    problems.extend(settings.as_ref().err().into_iter().flat_map(Diagnostics::as_slice).cloned());
    match Diagnostics::new(problems) {
        Some(problems) => Err(problems.into()),
        None => Ok(settings?),
    }
}

/// Parses the file in JSON, or the one in TOML in the same directory.
fn parse(json: &Path) -> Result<Option<(PathBuf, Document)>, PolicyError> {
    let toml = json.with_extension("toml");
    let (path, syntax) = match (exists(json), exists(&toml)) {
        (false, false) => return Ok(None),
        (true, false) => (json.to_owned(), Syntax::Json),
        (false, true) => (toml, Syntax::Toml),
        (true, true) => {
            let problem = Diagnostic::new(&toml.display().to_string(), "the same file exists in JSON");
            return Err(problem.with_help("remove one of them").into());
        }
    };
    let text = match read_file(&path, &FORMAT) {
        Ok(text) => text,
        Err(FileError::Unreadable { path, source }) => return Err(PolicyError::Unreadable { path, error: source }),
        Err(FileError::Invalid(problems)) => return Err(problems.into()),
    };
    let document = Document::parse(Source::new(&path.display().to_string(), &text, syntax), &FORMAT)?;
    if syntax == Syntax::Json {
        check_strict(&document)?;
    }
    Ok(Some((path, document)))
}

/// Rejects comments and trailing commas, which other readers of these files do not accept.
fn check_strict(document: &Document) -> Result<(), Diagnostic> {
    let source = document.source();
    serde_json::from_str::<IgnoredAny>(source.text()).map(drop).map_err(|error| {
        let lines = source.text().split_inclusive('\n').take(error.line().saturating_sub(1));
        let at = lines.map(str::len).sum::<usize>() + error.column().saturating_sub(1);
        source.error(&(at..at + 1), "not strict JSON").with_help("remove comments and trailing commas")
    })
}

impl TryFrom<RawEntry> for Entry {
    type Error = String;

    fn try_from(raw: RawEntry) -> Result<Self, String> {
        match (raw.server_name, raw.server_command, raw.server_url) {
            (Some(name), None, None) if name.is_empty() => Err("`serverName` is empty".into()),
            (Some(name), None, None) => Ok(Self::Name(name)),
            (None, Some(command), None) if command.first().is_none_or(String::is_empty) => {
                Err("`serverCommand` names no program".into())
            }
            (None, Some(command), None) => Ok(Self::Command(command)),
            (None, None, Some(url)) => match UrlPattern::parse(&url) {
                Ok(pattern) => Ok(Self::Url(pattern)),
                Err(error) => Err(format!("`serverUrl` `{url}` {error}")),
            },
            _ => Err("an entry has exactly one of `serverName`, `serverCommand` and `serverUrl`".into()),
        }
    }
}

impl Entry {
    pub(super) fn is_name(&self) -> bool {
        matches!(self, Self::Name(_))
    }

    pub(super) fn is_command(&self) -> bool {
        matches!(self, Self::Command(_))
    }

    pub(super) fn is_url(&self) -> bool {
        matches!(self, Self::Url(_))
    }

    pub(super) fn allows(&self, server: &ServerConfig) -> bool {
        self.matches(server, UrlPattern::definitely_matches)
    }

    pub(super) fn denies(&self, server: &ServerConfig) -> bool {
        self.matches(server, UrlPattern::may_match)
    }

    fn matches(&self, server: &ServerConfig, url_matches: impl Fn(&UrlPattern, &str) -> bool) -> bool {
        match (self, &server.endpoint) {
            (Self::Name(name), _) => *name == server.name,
            (Self::Command(command), Endpoint::Stdio(program)) => {
                command.iter().eq(std::iter::once(&program.command).chain(&program.args))
            }
            (Self::Url(pattern), Endpoint::StreamableHttp(http) | Endpoint::Sse(http) | Endpoint::Auto(http)) => {
                url_matches(pattern, &http.url)
            }
            (Self::Command(_) | Self::Url(_), _) => false,
        }
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => write!(f, "the name `{}`", printable(name)),
            Self::Command(command) => write!(f, "the command `{}`", printable(&shell_words::join(command))),
            Self::Url(pattern) => write!(f, "the URL `{}`", printable(pattern.text())),
        }
    }
}
