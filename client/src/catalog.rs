//! The tools of several servers under distinct names.
//!
//! Names are resolved by lookup and never split: only the catalog knows the server of a name.

pub mod cache;
pub mod hints;

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use crate::{
    names::{Naming, qualified_name},
    tool::Tool,
};

/// A tool of the catalog.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The name of the server.
    pub server: String,
    /// The tool, with its own name.
    pub tool: Arc<Tool>,
}

/// The tools of several servers.
#[derive(Debug, Clone, Default)]
pub struct ToolCatalog {
    naming: Naming,
    entries: BTreeMap<String, Entry>,
    servers: HashMap<String, Vec<String>>,
}

impl ToolCatalog {
    /// An empty catalog with this naming.
    #[must_use]
    pub fn new(naming: impl Into<Naming>) -> Self {
        Self { naming: naming.into(), ..Self::default() }
    }

    /// Replaces the tools of a server. Names of other tools do not change, because a name depends only on its own
    /// server and tool.
    pub fn set_server(&mut self, server: &str, tools: &[Arc<Tool>]) {
        self.remove_server(server);
        let mut names = Vec::with_capacity(tools.len());
        for tool in tools {
            let name = qualified_name(server, tool.name(), self.naming);
            let entry = Entry { server: server.to_owned(), tool: Arc::clone(tool) };
            // Names are unique in a list, and qualified names unique between servers, so nothing is overwritten.
            self.entries.insert(name.clone(), entry);
            names.push(name);
        }
        self.servers.insert(server.to_owned(), names);
    }

    /// Removes the tools of a server.
    pub fn remove_server(&mut self, server: &str) {
        for name in self.servers.remove(server).unwrap_or_default() {
            self.entries.remove(&name);
        }
    }

    /// The tool of this qualified name.
    #[must_use]
    pub fn resolve(&self, name: &str) -> Option<&Entry> {
        self.entries.get(name)
    }

    /// All tools, by qualified name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Entry)> {
        self.entries.iter().map(|(name, entry)| (name.as_str(), entry))
    }

    /// Number of tools.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are no tools.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::names::NameLimit;

    fn tools(names: &[&str]) -> Vec<Arc<Tool>> {
        names.iter().map(|name| Arc::new(Tool::read(json!({"name": name, "inputSchema": {}})).unwrap().0)).collect()
    }

    #[test]
    fn resolves_names_that_would_collide_if_they_were_joined() {
        let mut catalog = ToolCatalog::new(NameLimit::Chars64);
        catalog.set_server("a", &tools(&["b__c", "get-x", "get_x", "get.x"]));
        catalog.set_server("a__b", &tools(&["c"]));
        assert_eq!(catalog.len(), 5);
        for (name, entry) in catalog.iter() {
            assert_eq!(name, qualified_name(&entry.server, entry.tool.name(), NameLimit::Chars64));
        }
        let owner = |server, tool| catalog.resolve(&qualified_name(server, tool, NameLimit::Chars64)).unwrap();
        assert_eq!(owner("a", "b__c").tool.name(), "b__c");
        assert_eq!(owner("a__b", "c").tool.name(), "c");
        assert!(catalog.resolve("mcp__a__b__c").is_none());
    }

    #[test]
    fn names_stay_when_another_server_joins_or_leaves() {
        let mut catalog = ToolCatalog::default();
        catalog.set_server("a", &tools(&["x", "y.z"]));
        let before: Vec<_> = catalog.iter().map(|(name, _)| name.to_owned()).collect();
        catalog.set_server("a_", &tools(&["_x", "y.z"]));
        assert!(before.iter().all(|name| catalog.resolve(name).is_some_and(|entry| entry.server == "a")));
        catalog.remove_server("a_");
        let after: Vec<_> = catalog.iter().map(|(name, _)| name.to_owned()).collect();
        assert_eq!(before, after);
        catalog.set_server("a", &tools(&["x"]));
        assert_eq!(catalog.len(), 1);
    }
}
