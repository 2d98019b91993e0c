//! How a file that somebody wrote becomes a value, and what its author is told where it does not.
//!
//! This module owns the one reader of YAML and JSON for everything that people write: scripts of mock servers, scripts
//! of authorization servers, scenarios. It holds files to limits before it looks at them, stops at the first departure
//! from the shape, and says it with the place, the line and what was probably meant. What a value means is its owner's
//! business: the [`Tree`] tells places to whoever looks at that.
//!
//! ```
//! use mcp_workbench_mock_servers::reading::{self, Source};
//!
//! let known = ["stdio", "sse"];
//! let advice = reading::nearest::advice("Stdoi", known);
//! let source = Source { file: "mine.yaml", text: "transport: Stdoi" };
//! let diagnostic = source.error(1, 12, 5, "unknown transport `Stdoi`").advise(advice);
//! assert_eq!(
//!     diagnostic.to_string(),
//!     "error: unknown transport `Stdoi`\n  mine.yaml:1:12\n1 | transport: Stdoi\n  |            ^^^^^ did you mean `stdio`?"
//! );
//! ```

mod format;
mod json;
mod shape;
mod text;
mod tree;

use serde::de::DeserializeOwned;

pub use diagnostics::{Diagnostic, Place, nearest, printable};

pub use self::{
    format::{Format, Limits},
    text::{FileError, from_utf8, read_file},
    tree::{Source, Spot, Tree},
};

/// Reads YAML into a value, along a tree of the same text.
///
/// # Errors
/// At the first departure from the shape of the value.
pub fn yaml<T: DeserializeOwned>(tree: &Tree<'_>) -> Result<T, Diagnostic> {
    shape::read(tree)
}

/// Reads a file's text into a value: JSON where its name ends in `.json`, else YAML.
///
/// # Errors
/// When the text is neither, holds more than the format allows, or departs from the shape of the value.
pub fn value<T: DeserializeOwned>(source: Source<'_>, format: &Format) -> Result<T, Diagnostic> {
    if source.is_json() { json::read(source, format) } else { yaml(&Tree::read(source, format)?) }
}
