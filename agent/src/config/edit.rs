//! Changes to files that people wrote: one entry is added, replaced, switched or taken away, and every other byte stays.
//!
//! The changes are functions from text to text. What comes out is read again before it is given back: it must hold what was
//! meant, and nothing else may have changed. A file that cannot be read is not edited, and [`edit_file`] writes all of a new
//! text or nothing of it.

mod json;
mod toml;
mod write;

use serde_json::{Map, Value};

use super::{
    Diagnostic,
    file::{ConfigFile, Role},
    keys::{self, Key, TopKey},
    tree::Format,
};

pub use self::write::{WriteError, edit_file};

/// Why a text was not changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// It cannot be read.
    #[error("a file that cannot be read is not edited")]
    Unread {
        /// What is wrong with it.
        problems: Vec<Diagnostic>,
    },
    /// What was to be added is wrong.
    #[error("what is to be added is wrong")]
    Wrong {
        /// What is wrong with it.
        problems: Vec<Diagnostic>,
    },
    /// There is a server of this name.
    #[error("there is a server `{name}` in this file already")]
    Exists {
        /// The name.
        name: String,
    },
    /// There is no server of this name.
    #[error("there is no server `{name}` in this file")]
    Missing {
        /// The name.
        name: String,
    },
    /// The file is written in a way in which this change cannot be made without a loss.
    #[error("this file is written in a way that cannot be changed without a loss: {why}")]
    Unfit {
        /// Why.
        why: &'static str,
    },
}

/// What is to be changed.
#[derive(Debug, Clone, PartialEq)]
pub enum Edit {
    /// A server is added.
    Add {
        /// Its name.
        name: String,
        /// What an entry of `.mcp.json` would hold.
        entry: Map<String, Value>,
        /// Whether it takes the place of one that is there.
        replace: bool,
    },
    /// A server is taken away.
    Remove {
        /// Its name.
        name: String,
    },
    /// A server is switched on or off in its entry.
    Enable {
        /// Its name.
        name: String,
        /// On or off.
        enabled: bool,
    },
    /// A server is switched on or off by the file's list of those that are not to be used.
    List {
        /// Its name.
        name: String,
        /// Whether it is in the list.
        disabled: bool,
    },
}

impl Edit {
    /// The server that it is about.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Add { name, .. } | Self::Remove { name } | Self::Enable { name, .. } | Self::List { name, .. } => {
                name
            }
        }
    }
}

/// What an empty file of this format begins as.
#[must_use]
pub fn empty(format: Format) -> &'static str {
    match format {
        Format::Toml => "",
        Format::Json => "{\n  \"mcpServers\": {}\n}\n",
    }
}

/// The text with this change.
///
/// # Errors
/// When the text cannot be read, or the change cannot be made.
pub fn apply(text: &str, format: Format, edit: &Edit) -> Result<String, EditError> {
    let before = readable(text, format)?;
    if let Edit::Add { name, entry, .. } = edit {
        check_entry(name, entry)?;
    }
    check_presence(&before, edit)?;
    let changed = match format {
        Format::Toml => toml::apply(text, edit),
        Format::Json => json::apply(text, edit),
    }?;
    let after = readable(&changed, format).map_err(|_| EditError::Unfit { why: "the outcome could not be read" })?;
    check_outcome(&before, &after, edit)?;
    Ok(changed)
}

fn readable(text: &str, format: Format) -> Result<ConfigFile, EditError> {
    let file = ConfigFile::parse(text, "the file", format);
    if file.is_read { Ok(file) } else { Err(EditError::Unread { problems: file.problems }) }
}

/// Holds an entry to what a file would be held to.
fn check_entry(name: &str, entry: &Map<String, Value>) -> Result<(), EditError> {
    let document = serde_json::json!({ "mcpServers": { name: entry } });
    let text = serde_json::to_string_pretty(&document).unwrap_or_default();
    let file = ConfigFile::parse_as(&text, "the new entry", None, Format::Json, Role::Own);
    let problems: Vec<Diagnostic> = file.all_problems().filter(|problem| problem.is_error()).cloned().collect();
    if problems.is_empty() { Ok(()) } else { Err(EditError::Wrong { problems }) }
}

fn check_presence(file: &ConfigFile, edit: &Edit) -> Result<(), EditError> {
    let (name, there) = (edit.name().to_owned(), file.get(edit.name()).is_some());
    match edit {
        Edit::Add { replace: false, .. } if there => Err(EditError::Exists { name }),
        Edit::Remove { .. } | Edit::Enable { .. } if !there => Err(EditError::Missing { name }),
        _ => Ok(()),
    }
}

/// Nothing but what was meant may have changed.
fn check_outcome(before: &ConfigFile, after: &ConfigFile, edit: &Edit) -> Result<(), EditError> {
    let others = |file: &ConfigFile| -> Vec<_> {
        let others = file.servers.iter().filter(|server| server.name != edit.name());
        others.map(|server| (server.name.clone(), server.server.clone())).collect()
    };
    let found = after.get(edit.name());
    let done = match edit {
        Edit::Add { .. } => found.is_some_and(|server| server.server.is_some()),
        Edit::Remove { .. } => found.is_none(),
        Edit::Enable { enabled, .. } => {
            found.is_some_and(|found| found.server.as_ref().is_none_or(|server| server.enabled == *enabled))
        }
        Edit::List { name, disabled } => after.disabled.contains(name) == *disabled,
    };
    let kept = before.permissions == after.permissions
        && before.plugins == after.plugins
        && before.problems.len() == after.problems.len()
        && others(before) == others(after);
    match (done, kept) {
        (true, true) => Ok(()),
        (false, _) => Err(EditError::Unfit { why: "the change did not come about" }),
        (true, false) => Err(EditError::Unfit { why: "something else would change" }),
    }
}

/// The name of the table of servers.
fn servers_key(format: Format) -> &'static str {
    top_key(TopKey::Servers, format)
}

/// The name of a key at the top.
fn top_key(key: TopKey, format: Format) -> &'static str {
    keys::TOP.iter().find(|row| row.key == key).and_then(|row| row.name(format)).unwrap_or_default()
}

/// The name of the switch of a server.
fn enabled_key(format: Format) -> &'static str {
    keys::server_name(Key::Enabled, format)
}

#[cfg(test)]
mod tests;
