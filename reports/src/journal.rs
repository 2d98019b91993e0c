//! The journal: one JSON value a line, written while a run goes on, so that an interrupted run loses only what was in
//! flight.
//!
//! This module owns the shape of a line ([`Line`]), its text ([`Line::to_text`]) and the way back to a run
//! ([`read`]). It opens no file: the caller appends each text and flushes it before it shows that the case ended.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::model::{BaselineState, CaseResult, FORMAT, LoadResult, RunHeader};

mod read;

pub use read::{LINE_LIMIT, ReadError, read};

/// One line of a journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "kebab-case")]
pub enum Line {
    /// The first line.
    Run {
        /// The version of the journal's format: that of the run model.
        format: u32,
        /// What is run.
        header: RunHeader,
    },
    /// A case ended.
    Case {
        /// How it ended.
        result: Box<CaseResult>,
        /// The position of the case in the plan.
        index: usize,
        /// Everything that was recorded; the scenarios crate knows its shape.
        evidence: Value,
    },
    /// A load test ended.
    Load {
        /// How it ended.
        result: Box<LoadResult>,
    },
    /// The last line: the run was not interrupted.
    End {
        /// How long it took, in milliseconds.
        elapsed_ms: u64,
        /// How the baseline stood, if one was used.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        baseline: Option<BaselineState>,
    },
}

impl Line {
    /// The first line of a journal of this version.
    #[must_use]
    pub fn first(header: RunHeader) -> Self {
        Self::Run { format: FORMAT, header }
    }

    /// The text of the line, with the line feed that ends it. It is to be written in one piece: a line without its line
    /// feed counts as torn.
    ///
    /// # Errors
    /// When `serde_json` cannot write the value, which only happens when memory runs out.
    pub fn to_text(&self) -> Result<String, serde_json::Error> {
        let mut text = serde_json::to_string(self)?;
        text.push('\n');
        Ok(text)
    }
}

#[cfg(test)]
mod tests;
