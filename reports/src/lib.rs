//! Results of runs, and report formats.
//!
//! - [`model`]: the run model
//! - [`comparison`]: the differences between two runs
//! - [`journal`]: the journal, written during a run
//! - [`histogram_log`]: latencies of several workers
//! - [`saved`]: reads a saved run
//! - [`render`]: the report formats
//!
//! The crate opens no files and reads no clock.

pub mod comparison;
pub mod histogram_log;
pub mod journal;
pub mod model;
pub mod render;
pub mod saved;

#[cfg(test)]
mod sample;

pub use model::{CaseResult, CheckResult, Run, Verdict};

/// JSON Schema of a saved [`Run`], generated into `reports/schema/run-1.schema.json`.
#[must_use]
pub fn schema() -> serde_json::Value {
    let mut schema = schemars::schema_for!(Run).to_value();
    // Readers must reject another version instead of misreading it.
    schema["properties"]["format"]["const"] = model::FORMAT.into();
    schema
}

/// Path of the schema file below the workspace root, and its content.
#[must_use]
pub fn schema_file() -> (&'static str, String) {
    ("reports/schema/run-1.schema.json", format!("{:#}\n", schema()))
}

#[cfg(test)]
mod tests;
