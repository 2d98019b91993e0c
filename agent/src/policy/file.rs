//! The two files: read within bounds, understood strictly.

use std::{
    fmt, fs,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use client::{Endpoint, ServerConfig};
use diagnostics::nearest;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::url_pattern::UrlPattern;
use crate::filter::printable;

/// The largest file.
const MAX_BYTES: u64 = 4 << 20;
const KEYS: [&str; 3] = ["allowedMcpServers", "deniedMcpServers", "allowManagedMcpServersOnly"];

/// Why a file of an administrator refuses everything.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    /// It is there and cannot be read.
    #[error("{} cannot be read ({error}); every server is refused until it can, or is removed", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why not.
        #[source]
        error: io::Error,
    },
    /// It is too large to be one.
    #[error("{} is larger than {MAX_BYTES} bytes; every server is refused", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
    },
    /// It cannot be understood.
    #[error("{}:{line}:{column}: {message}; every server is refused until that is corrected", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// The line, from 1 on.
        line: usize,
        /// The column, from 1 on.
        column: usize,
        /// What is wrong.
        message: String,
    },
}

/// A file that could be read.
#[derive(Debug)]
pub(super) struct File {
    path: PathBuf,
    text: String,
}

/// Reads a file; `None` if there is none.
pub(super) fn read(path: &Path) -> Result<Option<File>, PolicyError> {
    let unreadable = |error| PolicyError::Unreadable { path: path.to_owned(), error };
    let file = match fs::File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unreadable(error)),
    };
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(PolicyError::TooLarge { path: path.to_owned() });
    }
    let text =
        String::from_utf8(bytes).map_err(|error| unreadable(io::Error::new(io::ErrorKind::InvalidData, error)))?;
    // Editors of Windows put a mark in front, which is no JSON.
    let text = text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text);
    Ok(Some(File { path: path.to_owned(), text }))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Exclusive {
    #[serde(rename = "mcpServers")]
    servers: Servers,
}

/// A map that does not let a second entry of a name take the place of the first.
#[derive(Debug)]
struct Servers(Map<String, Value>);

/// The lists.
#[derive(Debug, Default)]
pub(super) struct Settings {
    pub(super) allowed: Option<Vec<Entry>>,
    pub(super) denied: Vec<Entry>,
}

#[derive(Debug, Deserialize)]
struct Lists {
    #[serde(rename = "allowedMcpServers")]
    allowed: Option<Vec<Entry>>,
    #[serde(default, rename = "deniedMcpServers")]
    denied: Vec<Entry>,
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
    server_name: Option<String>,
    server_command: Option<Vec<String>>,
    server_url: Option<String>,
}

impl File {
    pub(super) fn parse_exclusive(&self) -> Result<Map<String, Value>, PolicyError> {
        Ok(self.parse::<Exclusive>()?.servers.0)
    }

    pub(super) fn parse_settings(&self, shared: bool) -> Result<Settings, PolicyError> {
        // The keys first: one that is misspelt forbids nothing.
        let keys = self.parse::<Servers>()?.0;
        let is_wrong = |key: &str| !KEYS.contains(&key) && (!shared || nearest::nearest(key, KEYS).is_some());
        if let Some(key) = keys.keys().find(|key| is_wrong(key)) {
            let advice = nearest::advice(key, KEYS);
            return Err(self.invalid_at(key, format!("unknown key `{}`, {advice}", printable(key))));
        }
        let lists: Lists = self.parse()?;
        Ok(Settings { allowed: lists.allowed, denied: lists.denied })
    }

    fn parse<T: for<'de> Deserialize<'de>>(&self) -> Result<T, PolicyError> {
        serde_json::from_str(&self.text).map_err(|error| {
            let place = format!(" at line {} column {}", error.line(), error.column());
            let message = printable(error.to_string().strip_suffix(&place).unwrap_or(&error.to_string()));
            PolicyError::Invalid { path: self.path.clone(), line: error.line(), column: error.column(), message }
        })
    }

    /// An error at the place where this key is written.
    fn invalid_at(&self, key: &str, message: String) -> PolicyError {
        let before = self.text.find(&Value::from(key).to_string()).map_or("", |at| &self.text[..at]);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        PolicyError::Invalid { path: self.path.clone(), line, column, message }
    }
}

impl<'de> Deserialize<'de> for Servers {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Once;
        impl<'de> serde::de::Visitor<'de> for Once {
            type Value = Map<String, Value>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut access: A) -> Result<Self::Value, A::Error> {
                let mut map = Map::new();
                while let Some((key, value)) = access.next_entry::<String, Value>()? {
                    if map.insert(key.clone(), value).is_some() {
                        return Err(serde::de::Error::custom(format!("`{key}` stands there twice")));
                    }
                }
                Ok(map)
            }
        }
        deserializer.deserialize_map(Once).map(Self)
    }
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
            (Self::Command(wanted), Endpoint::Stdio(program)) => {
                wanted.iter().eq(std::iter::once(&program.command).chain(&program.args))
            }
            (Self::Url(pattern), Endpoint::StreamableHttp(at) | Endpoint::Sse(at) | Endpoint::Auto(at)) => {
                url_matches(pattern, &at.url)
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
