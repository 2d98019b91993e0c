//! JSON, with the places and the advice that YAML gets.

use serde::de::DeserializeOwned;
use serde_json::error::Category;

use super::{Diagnostic, Format, Source, Tree, shape, tree::NOT_YAML};

/// Reads the text into a value.
pub(super) fn read<T: DeserializeOwned>(source: Source<'_>, format: &Format) -> Result<T, Diagnostic> {
    serde_json::from_str(source.text).map_err(|cause| match cause.classify() {
        Category::Data => explained::<T>(source, format).unwrap_or_else(|| plain(source, &cause)),
        Category::Io | Category::Syntax | Category::Eof => plain(source, &cause),
    })
}

/// What the reader of YAML says of it. JSON is YAML, and that reader knows where each value begins; JSON's own knows
/// where it stopped.
fn explained<T: DeserializeOwned>(source: Source<'_>, format: &Format) -> Option<Diagnostic> {
    let tree = match Tree::read(source, format) {
        Ok(tree) => tree,
        // It refuses some JSON, very long keys for one, that JSON has no quarrel with.
        Err(diagnostic) => return (!diagnostic.message.starts_with(NOT_YAML)).then_some(diagnostic),
    };
    shape::read::<T>(&tree).err()
}

fn plain(source: Source<'_>, cause: &serde_json::Error) -> Diagnostic {
    let message = cause.to_string();
    let message = message.split(" at line ").next().unwrap_or_default();
    let message = if cause.is_data() { message.to_owned() } else { format!("not JSON: {message}") };
    // JSON's reader counts columns in bytes, and a line that has not begun yet as 0.
    let line = source.text.split('\n').nth(cause.line().saturating_sub(1)).unwrap_or_default();
    let before = line.len().min(cause.column().saturating_sub(1));
    let column = line.char_indices().take_while(|(start, _)| *start < before).count() + 1;
    source.error(cause.line().max(1), column, 1, message)
}
