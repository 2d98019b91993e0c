//! What a changed configuration means for servers that are there already. Pure.

use std::collections::{BTreeMap, HashSet};

use super::{DuplicateName, ManagedServer};

/// What was done with which server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reloaded {
    /// Servers that are new.
    pub added: Vec<String>,
    /// Servers that were connected in another way before.
    pub changed: Vec<String>,
    /// Servers that are gone.
    pub removed: Vec<String>,
    /// Servers that were not touched.
    pub unchanged: Vec<String>,
}

impl Reloaded {
    /// Compares what is wanted with what there is.
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
