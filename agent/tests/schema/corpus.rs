//! The listings of real servers in `agent/corpus/`.

use std::{fs, path::Path};

use client::{NameLimit, Tool, qualified_name};
use serde::Deserialize;
use serde_json::Value;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Listing {
    pub(crate) server: String,
    pub(crate) package: String,
    pub(crate) version: String,
    pub(crate) source: String,
    pub(crate) revision: String,
    pub(crate) listed: String,
    pub(crate) tools: Vec<Value>,
}

impl Listing {
    /// The tools, under the names that a model calls them by.
    pub(crate) fn named(&self) -> Vec<(String, Tool)> {
        self.tools
            .iter()
            .map(|wire| {
                let (tool, complaint) = Tool::read(wire.clone()).unwrap();
                assert_eq!(complaint, None);
                (qualified_name(&self.server, tool.name(), NameLimit::Chars64), tool)
            })
            .collect()
    }
}

/// All listings, by name.
pub(crate) fn all() -> Vec<Listing> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    files.iter().map(|path| serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()).collect()
}

#[test]
fn at_least_twelve_public_servers_are_in_the_corpus_with_their_source() {
    let listings = all();
    assert!(listings.len() >= 12, "{}", listings.len());
    for listing in listings {
        assert!(!listing.tools.is_empty(), "{}", listing.server);
        assert!(matches!(listing.source.as_str(), "npm" | "PyPI"), "{}", listing.server);
        for text in [&listing.package, &listing.version, &listing.revision, &listing.listed] {
            assert!(!text.is_empty(), "{}", listing.server);
        }
    }
}
