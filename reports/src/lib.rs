//! What happened in a run, and how it is shown.
//!
//! This crate owns the run model ([`model`]), the journal that is written while a run goes on ([`journal`]), the reading
//! of a saved run ([`saved`]) and one renderer per format ([`render`]). Renderers are pure: a run in, a string out. The
//! crate judges nothing, opens no file and reads no clock.

pub mod journal;
pub mod model;
pub mod render;
pub mod saved;

#[cfg(test)]
mod sample;

pub use model::{CaseResult, Judgement, Run, Verdict};

/// The JSON Schema of a saved [`Run`], as `reports/schema/run-1.schema.json` holds it.
#[must_use]
pub fn schema() -> serde_json::Value {
    let mut schema = schemars::schema_for!(Run).to_value();
    // A reader of this schema must refuse another version instead of misreading it.
    schema["properties"]["format"]["const"] = model::FORMAT.into();
    schema
}

/// The text of the file that holds [`schema`], and where it is below the root of the workspace.
#[must_use]
pub fn schema_file() -> (&'static str, String) {
    ("reports/schema/run-1.schema.json", format!("{:#}\n", schema()))
}

#[cfg(test)]
mod tests;
