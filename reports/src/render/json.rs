//! The run as JSON: the one format that holds all of it. Its schema is [`crate::schema`], its way back [`crate::saved`].

use crate::model::Run;

/// The run as pretty-printed JSON, with a line feed at the end. Its first key is the version of the format.
///
/// # Errors
/// When `serde_json` cannot write the value, which only happens when memory runs out.
pub fn render(run: &Run) -> Result<String, serde_json::Error> {
    let mut text = serde_json::to_string_pretty(run)?;
    text.push('\n');
    Ok(text)
}
