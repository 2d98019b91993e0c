//! The tools of several servers under names that no two of them share.
//!
//! A name is resolved by looking it up, never by splitting it: only the catalogue knows which server a name belongs to.

pub mod cache;

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use crate::{
    names::{Naming, qualified_name},
    tool::Tool,
};

/// A tool of the catalogue.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The name of its server.
    pub server: String,
    /// The tool; its own name is the one to call it by.
    pub tool: Arc<Tool>,
}

/// The tools of several servers.
#[derive(Debug, Clone, Default)]
pub struct Catalogue {
    naming: Naming,
    entries: BTreeMap<String, Entry>,
    servers: HashMap<String, Vec<String>>,
}

impl Catalogue {
    /// An empty catalogue whose tools are named so.
    #[must_use]
    pub fn new(naming: impl Into<Naming>) -> Self {
        Self { naming: naming.into(), ..Self::default() }
    }

    /// Puts these tools in the place of those that the server had before. The names of all other tools stay what they
    /// are, since a name depends on its own server and tool alone.
    pub fn set_server(&mut self, server: &str, tools: &[Arc<Tool>]) {
        self.remove_server(server);
        let mut names = Vec::with_capacity(tools.len());
        for tool in tools {
            let name = qualified_name(server, tool.name(), self.naming);
            let entry = Entry { server: server.to_owned(), tool: Arc::clone(tool) };
            // A list holds each name once, and no two pairs share a qualified name: nothing is overwritten.
            self.entries.insert(name.clone(), entry);
            names.push(name);
        }
        self.servers.insert(server.to_owned(), names);
    }

    /// Takes a server's tools out.
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

    /// How many tools there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none.
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
        let mut catalogue = Catalogue::new(NameLimit::Chars64);
        catalogue.set_server("a", &tools(&["b__c", "get-x", "get_x", "get.x"]));
        catalogue.set_server("a__b", &tools(&["c"]));
        assert_eq!(catalogue.len(), 5);
        for (name, entry) in catalogue.iter() {
            assert_eq!(name, qualified_name(&entry.server, entry.tool.name(), NameLimit::Chars64));
        }
        let owner = |server, tool| catalogue.resolve(&qualified_name(server, tool, NameLimit::Chars64)).unwrap();
        assert_eq!(owner("a", "b__c").tool.name(), "b__c");
        assert_eq!(owner("a__b", "c").tool.name(), "c");
        assert!(catalogue.resolve("mcp__a__b__c").is_none());
    }

    #[test]
    fn names_stay_when_another_server_joins_or_leaves() {
        let mut catalogue = Catalogue::default();
        catalogue.set_server("a", &tools(&["x", "y.z"]));
        let before: Vec<_> = catalogue.iter().map(|(name, _)| name.to_owned()).collect();
        catalogue.set_server("a_", &tools(&["_x", "y.z"]));
        assert!(before.iter().all(|name| catalogue.resolve(name).is_some_and(|entry| entry.server == "a")));
        catalogue.remove_server("a_");
        let after: Vec<_> = catalogue.iter().map(|(name, _)| name.to_owned()).collect();
        assert_eq!(before, after);
        catalogue.set_server("a", &tools(&["x"]));
        assert_eq!(catalogue.len(), 1);
    }
}
