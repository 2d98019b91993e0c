//! What a complete client has, and what shows that ours has it: `requirements/features.yaml`.

use std::collections::BTreeMap;

use diagnostics::Diagnostics;
use serde::Deserialize;

const FILE: &str = include_str!("../../requirements/features.yaml");

/// A feature, and what shows it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Feature {
    /// What it is, in a few words.
    pub feature: String,
    /// Scenarios of the catalog, by id or as `<area>/*`.
    #[serde(default)]
    pub scenarios: Vec<String>,
    /// Tests of what cannot be seen on the wire: `<file>::<name>`.
    #[serde(default)]
    pub tests: Vec<String>,
}

/// All features, by the id of their row.
///
/// # Errors
/// If the file cannot be read; it is part of the program, so a test has read it.
pub fn features() -> Result<BTreeMap<String, Feature>, Diagnostics> {
    super::read("features.yaml", FILE)
}
