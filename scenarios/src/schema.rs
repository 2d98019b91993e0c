//! The JSON Schema of scenario files, made from the types that read them. Editors check and complete files with it.
//!
//! It says less than [`crate::load`] does: shapes, and no meaning.

use schemars::generate::SchemaSettings;
use serde_json::Value;

use crate::model::Scenario;

/// The name of the schema's file, below `scenarios/schema/`.
pub const FILE: &str = "scenario-1.schema.json";

/// The JSON Schema of scenario format 1.
#[must_use]
pub fn scenario_schema() -> Value {
    let mut schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<Scenario>();
    schema.insert("title".to_owned(), "Scenario, format 1".into());
    schema.to_value()
}

/// The schema as its file holds it.
#[must_use]
pub fn scenario_schema_text() -> String {
    // `{:#}` is pretty-printed JSON, and cannot fail.
    format!("{:#}\n", scenario_schema())
}

/// The file that holds the schema, below the root of the workspace, and its text.
#[must_use]
pub fn schema_file() -> (&'static str, String) {
    ("scenarios/schema/scenario-1.schema.json", scenario_schema_text())
}

/// The first line of a scenario file, by which an editor finds the schema. `depth` is how many folders lie between the
/// file and the folder `schema`'s own: 2 for `catalog/<area>/<name>.yaml`.
#[must_use]
pub fn editor_line(depth: usize) -> String {
    format!("# yaml-language-server: $schema={}schema/{FILE}", "../".repeat(depth))
}

#[cfg(test)]
mod tests;
