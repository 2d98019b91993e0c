//! The JSON Schema of scenario files for editors, generated from the types. [`crate::load`] validates more.

use schemars::generate::SchemaSettings;
use serde_json::Value;

use crate::model::Scenario;

/// File name of the schema in `scenarios/schema/`.
pub const FILE: &str = "scenario-1.schema.json";

/// The JSON Schema of scenario format 1.
#[must_use]
pub fn scenario_schema() -> Value {
    let mut schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<Scenario>();
    schema.insert("title".to_owned(), "Scenario, format 1".into());
    schema.to_value()
}

/// The text of the schema file.
#[must_use]
pub fn scenario_schema_text() -> String {
    // `{:#}` is pretty-printed JSON, and cannot fail.
    format!("{:#}\n", scenario_schema())
}

/// The path of the schema file in the workspace, and its text.
#[must_use]
pub fn schema_file() -> (&'static str, String) {
    ("scenarios/schema/scenario-1.schema.json", scenario_schema_text())
}

/// The first line of a scenario file, which names the schema for editors. `depth` is the number of directories between
/// the file and the parent of `schema`: 2 for `catalog/<area>/<name>.yaml`.
#[must_use]
pub fn editor_line(depth: usize) -> String {
    format!("# yaml-language-server: $schema={}schema/{FILE}", "../".repeat(depth))
}

#[cfg(test)]
mod tests;
