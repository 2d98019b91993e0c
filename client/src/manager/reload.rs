//! Compares a new configuration with the running servers. Pure.

use std::collections::{BTreeMap, HashSet};

use super::{DuplicateName, ManagedServer};

/// The result of applying a configuration, by server name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reloaded {
    /// New servers.
    pub added: Vec<String>,
    /// Servers with a changed connection.
    pub changed: Vec<String>,
    /// Servers that are no longer configured.
    pub removed: Vec<String>,
    /// Servers with the same connection as before.
    pub unchanged: Vec<String>,
}

impl Reloaded {
    /// Compares the new configuration with the current one.
    pub(super) fn between<'a>(
        present: &BTreeMap<String, impl AsRef<ManagedServer>>,
        wanted: impl IntoIterator<Item = &'a ManagedServer>,
    ) -> Result<Self, DuplicateName> {
        let mut this = Self::default();
        let mut names = HashSet::new();
        for server in wanted {
            let name = server.name().to_owned();
            if !names.insert(name.clone()) {
                return Err(DuplicateName { name });
            }
            match present.get(&name) {
                None => this.added.push(name),
                Some(old) if old.as_ref().connects_like(server) => this.unchanged.push(name),
                Some(_) => this.changed.push(name),
            }
        }
        this.removed = present.keys().filter(|name| !names.contains(*name)).cloned().collect();
        Ok(this)
    }
}
