//! The JSON Schemas of scenario files and of the contract with clients, generated from the types. [`crate::load`] validates
//! more.

use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::Value;

use crate::{
    contract::{Context, ReportLine},
    model::Scenario,
};

/// File name of the schema in `scenarios/schema/`.
pub const FILE: &str = "scenario-1.schema.json";

/// The JSON Schema of scenario format 1.
#[must_use]
pub fn scenario_schema() -> Value {
    schema_of::<Scenario>("Scenario, format 1", SchemaSettings::draft2020_12())
}

fn schema_of<T: JsonSchema>(title: &str, settings: SchemaSettings) -> Value {
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    schema.insert("title".to_owned(), title.into());
    schema.to_value()
}

/// The path of the schema of `MCP_CONFORMANCE_CONTEXT` in the workspace, and its text.
#[must_use]
pub fn context_file() -> (&'static str, String) {
    // The workbench writes a context, and a client reads it.
    let schema = schema_of::<Context>("Context of a client, format 1", SchemaSettings::draft2020_12().for_serialize());
    ("scenarios/schema/context-1.schema.json", format!("{schema:#}\n"))
}

/// The path of the schema of a line of a client's report in the workspace, and its text.
#[must_use]
pub fn report_file() -> (&'static str, String) {
    let schema = schema_of::<ReportLine>("Line of a client's report, format 1", SchemaSettings::draft2020_12());
    ("scenarios/schema/report-1.schema.json", format!("{schema:#}\n"))
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
