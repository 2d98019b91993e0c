//! Reading back a run that [`crate::render::json`] saved.
//!
//! The version is looked at before the shape, so that a run of a newer workbench is told apart from a broken file.

use serde::Deserialize;

use crate::model::{FORMAT, Run};

/// Why a text is not a run that can be read.
#[derive(Debug, thiserror::Error)]
pub enum SavedError {
    /// It is not JSON, or it is JSON of another kind.
    #[error("not a saved run; expected the JSON report that a run of the workbench wrote")]
    Foreign {
        /// What was wrong, and at which line and column.
        #[source]
        source: serde_json::Error,
    },
    /// Another version of the workbench wrote it.
    #[error("a saved run of format {found}, but this workbench reads format {FORMAT}; use the workbench that wrote it")]
    Version {
        /// The version that the text names.
        found: u32,
    },
    /// It names the right version but has not its shape.
    #[error("a saved run that does not have the shape of format {FORMAT}; see reports/schema/run-1.schema.json")]
    Shape {
        /// What was wrong, and at which line and column.
        #[source]
        source: serde_json::Error,
    },
}

/// The run in a text that [`crate::render::json::render`] made.
///
/// # Errors
/// [`SavedError`] when the text is of another kind or another version.
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
