//! From a journal back to a run.
//!
//! A process may be killed in the middle of a write, so the last line may be torn: it is left out and the run counts as
//! incomplete. A damaged line anywhere else is an error, because leaving it out would hide a case.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Read};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::model::{BaselineState, CaseResult, FORMAT, LoadResult, Run, RunHeader};

/// The longest line that is read, in bytes. It bounds the memory that a foreign file can take.
pub const LINE_LIMIT: u64 = 256 * 1024 * 1024;

/// Why a journal cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file could not be read.
    #[error("cannot read line {line} of the journal")]
    Io {
        /// The line, counted from 1.
        line: usize,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// There is not even a whole first line.
    #[error("the journal has no whole first line: the run was stopped before it began; run it again")]
    Empty,
    /// The first line is not that of a journal.
    #[error("line 1: not the first line of a journal; expected a file of JSON lines that a run of the workbench wrote")]
    Foreign {
        /// What was wrong, and at which column.
        #[source]
        source: serde_json::Error,
    },
    /// Another version of the workbench wrote it.
    #[error("line 1: a journal of format {found}, but this workbench reads format {FORMAT}; use the one that wrote it")]
    Version {
        /// The version that the first line names.
        found: u32,
    },
    /// A line is longer than any that the workbench writes.
    #[error("line {line}: longer than {limit} bytes; the file is damaged or not a journal")]
    TooLong {
        /// The line, counted from 1.
        line: usize,
        /// The limit, in bytes.
        limit: u64,
    },
    /// A line that is not the last one is damaged.
    #[error(
        "line {line}: not a line of a journal; the file is damaged: remove the line, and its case counts as not run"
    )]
    Damaged {
        /// The line, counted from 1.
        line: usize,
        /// What was wrong, and at which column.
        #[source]
        source: serde_json::Error,
    },
    /// A line that reads well stands where none of its kind can stand.
    #[error("line {line}: {what}; two runs may have written to the same file: give each run its own")]
    Misplaced {
        /// The line, counted from 1.
        line: usize,
        /// What stands there.
        what: String,
    },
}

/// The run that a journal tells. A torn last line is left out. Without its end the run is incomplete, and its length is
/// at least that of its longest case.
///
/// # Errors
/// [`ReadError`], with the line, when the text is of another kind, of another version, or damaged before its last line.
pub fn read(input: impl BufRead) -> Result<Run, ReadError> {
    read_bounded(input, LINE_LIMIT)
}

pub(super) fn read_bounded(mut input: impl BufRead, limit: u64) -> Result<Run, ReadError> {
    let first = next_line(&mut input, 1, limit)?.filter(|text| text.whole).ok_or(ReadError::Empty)?;
    let mut journal = Journal::begin(&first.bytes)?;
    let mut number = 1;
    loop {
        number += 1;
        let Some(text) = next_line(&mut input, number, limit)? else { break };
        match journal.take(number, &text.bytes) {
            Err(ReadError::Damaged { .. }) if !text.whole => break,
            other => other?,
        }
    }
    Ok(journal.finish())
}

struct Text {
    bytes: Vec<u8>,
    /// Whether the line feed was there.
    whole: bool,
}

fn next_line(input: &mut impl BufRead, line: usize, limit: u64) -> Result<Option<Text>, ReadError> {
    let mut bytes = Vec::new();
    // One byte more than the limit is asked for, so that a line of exactly the limit is told apart from a longer one.
    let read = input.take(limit + 1).read_until(b'\n', &mut bytes).map_err(|source| ReadError::Io { line, source })?;
    if read == 0 {
        return Ok(None);
    }
    if read as u64 > limit {
        return Err(ReadError::TooLong { line, limit });
    }
    let whole = bytes.last() == Some(&b'\n');
    Ok(Some(Text { bytes, whole }))
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Kind {
    Run,
    Case,
    Load,
    End,
}

// Each kind is read into its own struct instead of the tagged enum: errors keep their column, and the evidence, which
// this crate has no use for, is skipped without being built, however deep it is.
#[derive(Deserialize)]
struct Head {
    line: Kind,
}

#[derive(Deserialize)]
struct First {
    header: RunHeader,
}

#[derive(Deserialize)]
struct Case {
    index: usize,
    result: CaseResult,
}

#[derive(Deserialize)]
struct Load {
    result: LoadResult,
}

#[derive(Deserialize)]
struct End {
    elapsed_ms: u64,
    #[serde(default)]
    baseline: Option<BaselineState>,
}

struct Journal {
    header: RunHeader,
    cases: BTreeMap<usize, CaseResult>,
    loads: Vec<LoadResult>,
    end: Option<End>,
}

impl Journal {
    fn begin(bytes: &[u8]) -> Result<Self, ReadError> {
        #[derive(Deserialize)]
        struct Version {
            line: Kind,
            format: u32,
        }
        let foreign = |source| ReadError::Foreign { source };
        let version: Version = serde_json::from_slice(bytes).map_err(foreign)?;
        if version.line != Kind::Run {
            return Err(ReadError::Misplaced { line: 1, what: "the beginning of the run is missing".to_owned() });
        }
        if version.format != FORMAT {
            return Err(ReadError::Version { found: version.format });
        }
        let First { header } = serde_json::from_slice(bytes).map_err(foreign)?;
        Ok(Self { header, cases: BTreeMap::new(), loads: Vec::new(), end: None })
    }

    fn take(&mut self, line: usize, bytes: &[u8]) -> Result<(), ReadError> {
        let misplaced = |what: String| Err(ReadError::Misplaced { line, what });
        let kind = parse::<Head>(line, bytes)?.line;
        if self.end.is_some() {
            return misplaced("a line after the end of the run".to_owned());
        }
        match kind {
            Kind::Run => return misplaced("a second beginning of a run".to_owned()),
            Kind::Case => {
                let Case { index, result } = parse(line, bytes)?;
                if self.cases.contains_key(&index) {
                    return misplaced(format!("a second result of case number {index} of the plan"));
                }
                self.cases.insert(index, result);
            }
            Kind::Load => self.loads.push(parse::<Load>(line, bytes)?.result),
            Kind::End => self.end = Some(parse(line, bytes)?),
        }
        Ok(())
    }

    fn finish(self) -> Run {
        let ended = self.cases.len() + self.loads.len();
        let complete = self.end.is_some() && ended >= self.header.planned;
        let longest =
            self.cases.values().map(|case| case.elapsed_ms).chain(self.loads.iter().map(|load| load.counted_ms));
        let (elapsed_ms, baseline) = match self.end {
            Some(end) => (end.elapsed_ms, end.baseline),
            None => (longest.max().unwrap_or(0), None),
        };
        Run {
            format: FORMAT,
            header: self.header,
            cases: self.cases.into_values().collect(),
            loads: self.loads,
            baseline,
            complete,
            elapsed_ms,
        }
    }
}

fn parse<T: DeserializeOwned>(line: usize, bytes: &[u8]) -> Result<T, ReadError> {
    serde_json::from_slice(bytes).map_err(|source| ReadError::Damaged { line, source })
}
