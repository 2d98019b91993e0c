//! Edits of configuration files: add, replace, enable, disable or remove one server without changing the rest of the file.
//!
//! Edits are functions from text to text. The new text is parsed again: only the intended value may differ. Files that cannot
//! be parsed are not edited, and [`edit_file`] replaces a file atomically.

mod json;
mod toml;
mod write;

use serde_json::{Map, Value};

use super::{
    Diagnostic,
    file::{ConfigFile, Role},
    keys::{self, Format, Key, TopKey},
};

pub use self::write::{WriteError, edit_file};

/// Reasons why a text cannot be edited.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// The text cannot be parsed.
    #[error("cannot edit a file that cannot be parsed")]
    Unread {
        /// All errors.
        problems: Vec<Diagnostic>,
    },
    /// The new entry is invalid.
    #[error("the new entry is invalid")]
    Wrong {
        /// All errors.
        problems: Vec<Diagnostic>,
    },
    /// The file contains a server of this name.
    #[error("the file already contains a server `{name}`")]
    Exists {
        /// The name of the server.
        name: String,
    },
    /// The file contains no server of this name.
    #[error("the file contains no server `{name}`")]
    Missing {
        /// The name of the server.
        name: String,
    },
    /// The edit would change or lose other parts of the file.
    #[error("cannot edit the file without changing other parts of it: {reason}")]
    Unsupported {
        /// The part of the file that prevents the edit.
        reason: &'static str,
    },
}

const NO_LIST: EditError = EditError::Unsupported { reason: "the allow rules are not in an array" };

const NO_ARRAY: EditError = EditError::Unsupported { reason: "the list is not an array" };

/// A change of one server.
#[derive(Debug, Clone, PartialEq)]
pub enum Edit {
    /// Adds a server.
    Add {
        /// The name of the server.
        name: String,
        /// The entry as in `.mcp.json`.
        entry: Map<String, Value>,
        /// Whether to replace an existing server.
        replace: bool,
    },
    /// Removes a server.
    Remove {
        /// The name of the server.
        name: String,
    },
    /// Enables or disables a server in its entry.
    Enable {
        /// The name of the server.
        name: String,
        /// Whether to enable the server.
        enabled: bool,
    },
    /// Adds a server to the list of disabled servers, or removes it from the list.
    List {
        /// The name of the server.
        name: String,
        /// Whether the list contains the server.
        disabled: bool,
    },
    /// Adds a directory to the list of plugins, or removes it from the list.
    Plugin {
        /// The directory, as written in the file.
        directory: String,
        /// Whether the list contains it.
        enabled: bool,
    },
    /// Adds an allow rule to a server.
    Allow {
        /// The name of the server.
        name: String,
        /// The rule, as in the rules of one server.
        rule: String,
    },
}

impl Edit {
    /// The name of the server, or the directory of the plugin.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Add { name, .. }
            | Self::Remove { name }
            | Self::Enable { name, .. }
            | Self::List { name, .. }
            | Self::Allow { name, .. } => name,
            Self::Plugin { directory, .. } => directory,
        }
    }
}

/// Returns the text of a new file.
#[must_use]
pub fn empty(format: Format) -> &'static str {
    match format {
        Format::Toml => "",
        Format::Json => "{\n  \"mcpServers\": {}\n}\n",
    }
}

/// Applies an edit to a text.
///
/// # Errors
/// If the text cannot be parsed, or the edit cannot be applied.
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
    let after =
        readable(&changed, format).map_err(|_| EditError::Unsupported { reason: "the new text cannot be parsed" })?;
    check_result(&before, &after, edit)?;
    Ok(changed)
}

fn readable(text: &str, format: Format) -> Result<ConfigFile, EditError> {
    let file = ConfigFile::parse(text, "the file", format);
    if file.is_read { Ok(file) } else { Err(EditError::Unread { problems: file.problems }) }
}

/// Checks an entry like an entry of a file.
pub(super) fn check_entry(name: &str, entry: &Map<String, Value>) -> Result<(), EditError> {
    let document = serde_json::json!({ "mcpServers": { name: entry } });
    let text = serde_json::to_string_pretty(&document).unwrap_or_default();
    let file = ConfigFile::parse_as(&text, "the new entry", None, Format::Json, Role::Own);
    let problems: Vec<Diagnostic> = file.all_problems().filter(|problem| problem.is_error()).cloned().collect();
    if problems.is_empty() { Ok(()) } else { Err(EditError::Wrong { problems }) }
}

fn check_presence(file: &ConfigFile, edit: &Edit) -> Result<(), EditError> {
    let (name, exists) = (edit.name().to_owned(), file.get(edit.name()).is_some());
    match edit {
        Edit::Add { replace: false, .. } if exists => Err(EditError::Exists { name }),
        Edit::Remove { .. } | Edit::Enable { .. } | Edit::Allow { .. } if !exists => Err(EditError::Missing { name }),
        _ => Ok(()),
    }
}

/// Checks that only the intended value has changed.
fn check_result(before: &ConfigFile, after: &ConfigFile, edit: &Edit) -> Result<(), EditError> {
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
        Edit::Plugin { directory, enabled } => {
            after.plugins.iter().any(|one| one.as_os_str() == directory.as_str()) == *enabled
        }
        Edit::Allow { rule, .. } => {
            found.and_then(|found| found.server.as_ref()).is_some_and(|server| server.permissions.allow.contains(rule))
        }
    };
    let kept = before.permissions == after.permissions
        && (before.plugins == after.plugins || matches!(edit, Edit::Plugin { .. }))
        && before.problems.len() == after.problems.len()
        && others(before) == others(after);
    match (done, kept) {
        (true, true) => Ok(()),
        (false, _) => Err(EditError::Unsupported { reason: "the edit has no effect" }),
        (true, false) => Err(EditError::Unsupported { reason: "the edit would change another value" }),
    }
}

fn servers_key(format: Format) -> &'static str {
    top_key(TopKey::Servers, format)
}

fn top_key(key: TopKey, format: Format) -> &'static str {
    keys::TOP.iter().find(|row| row.key == key).and_then(|row| row.name(format)).unwrap_or_default()
}

/// The list that an edit of a list changes, the item, and whether the list contains it afterwards.
fn list_edit(edit: &Edit) -> Option<(TopKey, &str, bool)> {
    match edit {
        Edit::List { name, disabled } => Some((TopKey::Disabled, name, *disabled)),
        Edit::Plugin { directory, enabled } => Some((TopKey::Plugins, directory, *enabled)),
        Edit::Add { .. } | Edit::Remove { .. } | Edit::Enable { .. } | Edit::Allow { .. } => None,
    }
}

fn permissions_key(format: Format) -> &'static str {
    keys::server_name(Key::Permissions, format)
}

fn enabled_key(format: Format) -> &'static str {
    keys::server_name(Key::Enabled, format)
}

#[cfg(test)]
mod tests;
