//! The journal of a run: JSON Lines, written during the run, so that an interrupted run loses only unfinished cases.
//!
//! This module defines a line ([`Line`]), reads a journal ([`read`]) and merges several ([`Merge`]). The caller writes the file, and flushes each line
//! before it reports the case as finished.

use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};

use crate::model::{BaselineState, CaseResult, FORMAT, LoadResult, Portability, RunHeader, ToolCalls};

mod merge;
mod read;

pub use merge::{Merge, MergeError};
pub use read::{MAX_LINE, ReadError, read};

/// One line of a journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "kebab-case")]
pub enum Line {
    /// The first line.
    Run {
        /// Format version, the same as that of the run model.
        format: u32,
        /// Header of the run.
        header: RunHeader,
    },
    /// A finished case.
    Case {
        /// Its result.
        result: Box<CaseResult>,
        /// Position of the case in the plan.
        index: usize,
        /// Recorded evidence; the scenarios crate defines its type.
        evidence: Value,
    },
    /// A finished load test.
    Load {
        /// Its result.
        result: Box<LoadResult>,
    },
    /// The last line of a run that was not interrupted.
    End {
        /// Duration of the run in milliseconds.
        elapsed_ms: u64,
        /// Comparison with the baseline, if one was given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        baseline: Option<BaselineState>,
        /// The tools of a validated server, and how often each was called.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<ToolCalls>,
        /// How model providers accept the tools of a validated server.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        portability: Vec<Portability>,
    },
}

impl Line {
    /// Creates the first line of a journal.
    #[must_use]
    pub fn first(header: RunHeader) -> Self {
        Self::Run { format: FORMAT, header }
    }

    /// Serializes the line with its line feed. Write it with one call: a line without line feed is incomplete.
    ///
    /// # Errors
    /// If serialization fails.
    pub fn to_text(&self) -> Result<String, serde_json::Error> {
        let mut text = serde_json::to_string(self)?;
        text.push('\n');
        Ok(text)
    }
}

/// Serializes the line of a finished case with its line feed, without an intermediate value of the evidence.
///
/// # Errors
/// If serialization fails.
pub fn case_line(index: usize, result: &CaseResult, evidence: &impl Serialize) -> Result<Vec<u8>, serde_json::Error> {
    #[derive(Serialize)]
    struct CaseLine<'a, E> {
        line: &'static str,
        result: &'a RawValue,
        index: usize,
        evidence: &'a E,
    }
    let mut bytes = serde_json::to_vec(&CaseLine { line: "case", result: &raw(result)?, index, evidence })?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// The text of a result. This is not generic: development builds optimize this crate, and not that of the evidence.
fn raw(result: &CaseResult) -> Result<Box<RawValue>, serde_json::Error> {
    serde_json::value::to_raw_value(result)
}

#[cfg(test)]
mod tests;
