//! Reads a run that [`crate::render::json`] wrote.
//!
//! The version is checked first, so that the error for a newer format differs from the error for a damaged file.

use serde::Deserialize;

use crate::model::{FORMAT, Run};

/// A saved run that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum SavedError {
    /// Not JSON, or another kind of JSON.
    #[error("not a saved run; expected a JSON report of mcp-workbench")]
    Foreign {
        /// Syntax or type error with line and column.
        #[source]
        source: serde_json::Error,
    },
    /// Written by another version of the workbench.
    #[error(
        "the saved run has format {found}, but this version of mcp-workbench reads format {FORMAT}; use the version that wrote it"
    )]
    Version {
        /// The format in the file.
        found: u32,
    },
    /// The right version, but invalid content.
    #[error("the saved run is not valid for format {FORMAT}; see reports/schema/run-1.schema.json")]
    Shape {
        /// Syntax or type error with line and column.
        #[source]
        source: serde_json::Error,
    },
}

/// Parses a JSON report.
///
/// # Errors
/// If the text is not a run, or has another format version.
pub fn read(text: &str) -> Result<Run, SavedError> {
    #[derive(Deserialize)]
    struct Head {
        format: u32,
    }
    let head: Head = serde_json::from_str(text).map_err(|source| SavedError::Foreign { source })?;
    if head.format != FORMAT {
        return Err(SavedError::Version { found: head.format });
    }
    serde_json::from_str(text).map_err(|source| SavedError::Shape { source })
}
