//! Reads a journal.
//!
//! A process can be killed during a write, so the last line may be incomplete. It is skipped, and the run is incomplete. A
//! damaged line anywhere else is an error, because skipping it would hide a case.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Read};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::model::{BaselineState, CaseResult, FORMAT, LoadResult, Portability, Run, RunHeader, ToolCalls};

/// Maximum length of a line in bytes. Limits the memory that reading an untrusted file takes.
pub const MAX_LINE: u64 = 256 * 1024 * 1024;

/// A journal that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// I/O error.
    #[error("cannot read line {line} of the journal")]
    Io {
        /// The line, counted from 1.
        line: usize,
        /// Error of the operating system.
        #[source]
        source: io::Error,
    },
    /// No complete first line.
    #[error("the journal has no complete first line: the run stopped before it started; run it again")]
    Empty,
    /// Not a journal.
    #[error("line 1: not the first line of a journal; expected the `journal.jsonl` of a run")]
    Foreign {
        /// Syntax or type error with its column.
        #[source]
        source: serde_json::Error,
    },
    /// Written by another version of the workbench.
    #[error(
        "line 1: the journal has format {found}, but this version of mcp-workbench reads format {FORMAT}; use the version that wrote it"
    )]
    Version {
        /// The format in the file.
        found: u32,
    },
    /// A line exceeds [`MAX_LINE`].
    #[error("line {line}: longer than {limit} bytes; the file is damaged or not a journal")]
    TooLong {
        /// The line, counted from 1.
        line: usize,
        /// The limit, in bytes.
        limit: u64,
    },
    /// A damaged line before the last line.
    #[error("line {line}: the file is damaged; if you remove the line, its case counts as not run")]
    Damaged {
        /// The line, counted from 1.
        line: usize,
        /// Syntax or type error with its column.
        #[source]
        source: serde_json::Error,
    },
    /// A valid line in an unexpected position.
    #[error("line {line}: {what}; two runs may have written to the same file: give each run its own")]
    Misplaced {
        /// The line, counted from 1.
        line: usize,
        /// The unexpected line.
        what: String,
    },
}

/// Reads a run from its journal. An incomplete last line is skipped. Without an end line the run is incomplete, and its
/// duration is that of its longest case.
///
/// # Errors
/// If the text is not a journal, has another format version, or is damaged before its last line.
pub fn read(input: impl BufRead) -> Result<Run, ReadError> {
    read_bounded(input, MAX_LINE)
}

pub(super) fn read_bounded(mut input: impl BufRead, limit: u64) -> Result<Run, ReadError> {
    let first = next_line(&mut input, 1, limit)?.filter(|text| text.complete).ok_or(ReadError::Empty)?;
    let mut journal = Journal::begin(&first.bytes)?;
    let mut number = 1;
    loop {
        number += 1;
        let Some(text) = next_line(&mut input, number, limit)? else { break };
        match journal.add(number, &text.bytes) {
            Err(ReadError::Damaged { .. }) if !text.complete => break,
            other => other?,
        }
    }
    Ok(journal.finish())
}

/// The lines of a journal with their numbers.
pub(super) struct Lines<R> {
    input: R,
    number: usize,
}

impl<R: BufRead> Lines<R> {
    pub(super) fn new(input: R) -> Self {
        Self { input, number: 0 }
    }

    /// The next line and its number, counted from 1.
    pub(super) fn next(&mut self) -> Result<Option<(usize, Text)>, ReadError> {
        self.number += 1;
        Ok(next_line(&mut self.input, self.number, MAX_LINE)?.map(|text| (self.number, text)))
    }
}

/// A line of a journal.
pub(super) struct Text {
    pub(super) bytes: Vec<u8>,
    /// Whether the line ends with a line feed.
    pub(super) complete: bool,
}

fn next_line(input: &mut impl BufRead, line: usize, limit: u64) -> Result<Option<Text>, ReadError> {
    let mut bytes = Vec::new();
    // Reads one byte more than the limit, to distinguish a line of maximum length from a longer one.
    let read = input.take(limit + 1).read_until(b'\n', &mut bytes).map_err(|source| ReadError::Io { line, source })?;
    if read == 0 {
        return Ok(None);
    }
    if read as u64 > limit {
        return Err(ReadError::TooLong { line, limit });
    }
    let complete = bytes.last() == Some(&b'\n');
    Ok(Some(Text { bytes, complete }))
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Kind {
    Run,
    Case,
    Load,
    End,
}

// Each kind is read into its own struct instead of the tagged enum: errors keep their column, and the evidence is
// skipped without being built, however deep it is.
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
    #[serde(default)]
    tool_calls: Vec<ToolCalls>,
    #[serde(default)]
    portability: Vec<Portability>,
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
            return Err(ReadError::Misplaced { line: 1, what: "the first line of the run is missing".to_owned() });
        }
        if version.format != FORMAT {
            return Err(ReadError::Version { found: version.format });
        }
        let First { header } = serde_json::from_slice(bytes).map_err(foreign)?;
        Ok(Self { header, cases: BTreeMap::new(), loads: Vec::new(), end: None })
    }

    fn add(&mut self, line: usize, bytes: &[u8]) -> Result<(), ReadError> {
        let misplaced = |what: String| Err(ReadError::Misplaced { line, what });
        let kind = parse::<Head>(line, bytes)?.line;
        if self.end.is_some() {
            return misplaced("a line after the last line of the run".to_owned());
        }
        match kind {
            Kind::Run => return misplaced("a second first line of a run".to_owned()),
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
        let finished = self.cases.len() + self.loads.len();
        let complete = self.end.is_some() && finished >= self.header.planned;
        let longest =
            self.cases.values().map(|case| case.elapsed_ms).chain(self.loads.iter().map(|load| load.counted_ms));
        let end = self.end.unwrap_or_else(|| End {
            elapsed_ms: longest.max().unwrap_or(0),
            baseline: None,
            tool_calls: Vec::new(),
            portability: Vec::new(),
        });
        Run {
            format: FORMAT,
            header: self.header,
            cases: self.cases.into_values().collect(),
            loads: self.loads,
            baseline: end.baseline,
            tool_calls: end.tool_calls,
            portability: end.portability,
            complete,
            elapsed_ms: end.elapsed_ms,
        }
    }
}

fn parse<T: DeserializeOwned>(line: usize, bytes: &[u8]) -> Result<T, ReadError> {
    serde_json::from_slice(bytes).map_err(|source| ReadError::Damaged { line, source })
}
