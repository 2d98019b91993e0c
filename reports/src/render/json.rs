//! The complete run as JSON. [`crate::schema`] is its schema; [`crate::saved`] reads it.

use super::{Format, RenderError, Style};
use crate::model::Run;

/// JSON, pretty-printed. The first key is the version of the format.
#[derive(Debug)]
pub struct Json;

impl Format for Json {
    fn name(&self) -> &'static str {
        "json"
    }

    fn about(&self) -> &'static str {
        "The complete run, versioned; `mcp-workbench schema run` prints its JSON Schema"
    }

    fn file_name(&self) -> &'static str {
        "run.json"
    }

    fn render(&self, run: &Run, _: &Style) -> Result<String, RenderError> {
        let text = serde_json::to_string_pretty(run).map_err(|error| RenderError::new(self, error))?;
        Ok(text + "\n")
    }
}
