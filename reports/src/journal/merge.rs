//! Merges the journals of several runs, such as shards of one plan, into one.
//!
//! The evidence of a case is copied as it is, without being parsed, so the memory used is that of the longest line.

use std::collections::{BTreeMap, btree_map::Entry};
use std::io::{self, BufRead, Write};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{Line, ReadError, read::Lines};
use crate::model::{BaselineState, LoadResult, Run, RunHeader};

/// Runs that cannot be merged, or a journal that cannot be copied.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    /// No run was given.
    #[error("no runs to merge")]
    Empty,
    /// The runs are of different kinds.
    #[error("run {run} is of another kind than the first run; merge runs of one command")]
    Kind {
        /// The position of the run, counted from 1.
        run: usize,
    },
    /// The runs are judged by different rules.
    #[error("run {run} has another policy or profile than the first run, so that their verdicts differ in meaning")]
    Policy {
        /// The position of the run, counted from 1.
        run: usize,
    },
    /// Two runs have a result of the same case or load test.
    #[error("runs {first} and {second} both have the case {case}")]
    Duplicate {
        /// The case or load test.
        case: String,
        /// The position of the first run, counted from 1.
        first: usize,
        /// The position of the second run, counted from 1.
        second: usize,
    },
    /// A journal cannot be read, or changed in the meantime.
    #[error("cannot copy a journal")]
    Read(#[from] ReadError),
    /// The merged journal cannot be written.
    #[error("cannot write the merged journal")]
    Write(#[source] io::Error),
}

/// The plan of a merge: which run has the result of each case.
#[derive(Debug)]
pub struct Merge {
    runs: Vec<Run>,
    /// The run that has a case, and the position of the case in the merged plan.
    cases: BTreeMap<String, (usize, usize)>,
    /// The run that has a load test.
    loads: BTreeMap<String, usize>,
    replaced: usize,
}

impl Merge {
    /// Plans the merge of these runs. With `replace`, a later run wins over an earlier one with the same case.
    ///
    /// # Errors
    /// If the runs do not belong together, or two of them have the same case and `replace` is false.
    pub fn new(runs: Vec<Run>, replace: bool) -> Result<Self, MergeError> {
        let first = runs.first().ok_or(MergeError::Empty)?.header.clone();
        let mut merge = Self { runs: Vec::new(), cases: BTreeMap::new(), loads: BTreeMap::new(), replaced: 0 };
        for (position, run) in runs.into_iter().enumerate() {
            let number = position + 1;
            if run.header.kind != first.kind {
                return Err(MergeError::Kind { run: number });
            }
            if (run.header.policy, run.header.profile) != (first.policy, first.profile) {
                return Err(MergeError::Policy { run: number });
            }
            merge.add(run, replace)?;
        }
        Ok(merge)
    }

    fn add(&mut self, run: Run, replace: bool) -> Result<(), MergeError> {
        let position = self.runs.len();
        let duplicate = |case: &str, first: usize| MergeError::Duplicate {
            case: case.to_owned(),
            first: first + 1,
            second: position + 1,
        };
        for case in &run.cases {
            let next = self.cases.len();
            match self.cases.entry(case.id.clone()) {
                Entry::Occupied(owner) if !replace => return Err(duplicate(&case.id, owner.get().0)),
                Entry::Occupied(mut owner) => {
                    // It keeps its position in the plan.
                    owner.get_mut().0 = position;
                    self.replaced += 1;
                }
                Entry::Vacant(free) => {
                    free.insert((position, next));
                }
            }
        }
        for load in &run.loads {
            match self.loads.insert(load_key(load), position) {
                Some(owner) if !replace => return Err(duplicate(&load_key(load), owner)),
                Some(_) => self.replaced += 1,
                None => {}
            }
        }
        self.runs.push(run);
        Ok(())
    }

    /// Number of cases and load tests in the merged run.
    #[must_use]
    pub fn results(&self) -> usize {
        self.cases.len() + self.loads.len()
    }

    /// Number of results that a later run replaced.
    #[must_use]
    pub fn replaced(&self) -> usize {
        self.replaced
    }

    /// The header of the merged run: that of the first run with the number of all planned cases.
    fn header(&self) -> RunHeader {
        let mut header = self.runs[0].header.clone();
        header.planned = self
            .contributing()
            .map(|(run, kept)| {
                let own = run.cases.len() + run.loads.len();
                run.header.planned.saturating_sub(own - kept)
            })
            .sum();
        header
    }

    /// The runs of which a result is left, and the number of these results. An interrupted run that was replaced as a whole does
    /// not make the merged run incomplete.
    fn contributing(&self) -> impl Iterator<Item = (&Run, usize)> {
        let kept = |position: usize| {
            let cases = self.cases.values().filter(|(owner, _)| *owner == position).count();
            cases + self.loads.values().filter(|owner| **owner == position).count()
        };
        let is_superseded = |run: &Run, kept: usize| kept == 0 && run.cases.len() + run.loads.len() > 0;
        let runs = self.runs.iter().enumerate().map(move |(position, run)| (run, kept(position)));
        runs.filter(move |(run, kept)| !is_superseded(run, *kept))
    }

    /// Writes the merged journal. `open` opens the journal of the run at a position, counted from 0. Without the last line of
    /// every run the merged run is incomplete too.
    ///
    /// # Errors
    /// If a journal cannot be read, or the output cannot be written.
    pub fn write<R: BufRead>(
        &self,
        mut open: impl FnMut(usize) -> io::Result<R>,
        out: &mut impl Write,
    ) -> Result<(), MergeError> {
        write_line(out, &Line::first(self.header()))?;
        for position in 0..self.runs.len() {
            let input = open(position).map_err(|source| ReadError::Io { line: 1, source })?;
            self.copy(position, input, out)?;
        }
        if self.contributing().all(|(run, _)| run.complete) {
            write_line(out, &self.end())?;
        }
        out.flush().map_err(MergeError::Write)
    }

    /// Copies the lines of one run that the merged run has.
    fn copy(&self, position: usize, input: impl BufRead, out: &mut impl Write) -> Result<(), MergeError> {
        let mut lines = Lines::new(input);
        while let Some((number, text)) = lines.next()? {
            let damaged = |source| ReadError::Damaged { line: number, source };
            let line: RawLine<'_> = match serde_json::from_slice(&text.bytes) {
                Ok(line) => line,
                Err(_) if !text.complete => break,
                Err(source) => return Err(damaged(source).into()),
            };
            let RawLine { line: "case" | "load", result: Some(result), evidence, .. } = line else { continue };
            let copied = if line.line == "case" {
                let id: CaseId = serde_json::from_str(result.get()).map_err(damaged)?;
                match self.cases.get(id.id.as_str()) {
                    Some((owner, index)) if *owner == position => RawLine { index: Some(*index), ..line },
                    _ => continue,
                }
            } else {
                let load: LoadResult = serde_json::from_str(result.get()).map_err(damaged)?;
                if self.loads.get(&load_key(&load)) != Some(&position) {
                    continue;
                }
                RawLine { line: "load", result: Some(result), index: None, evidence }
            };
            write_line(out, &copied)?;
        }
        Ok(())
    }

    fn end(&self) -> Line {
        let mut known: Vec<String> = Vec::new();
        let mut stale: Vec<String> = Vec::new();
        for baseline in self.runs.iter().filter_map(|run| run.baseline.as_ref()) {
            known.extend(baseline.known.iter().cloned());
            stale.extend(baseline.stale.iter().cloned());
        }
        // A shard does not run the cases of the others, whose entries look stale to it.
        stale.retain(|id| !self.cases.contains_key(id) || !known.contains(id));
        [&mut known, &mut stale].into_iter().for_each(|ids| {
            ids.sort();
            ids.dedup();
        });
        let has_baseline = self.runs.iter().any(|run| run.baseline.is_some());
        Line::End {
            elapsed_ms: self.runs.iter().fold(0, |sum, run| sum.saturating_add(run.elapsed_ms)),
            baseline: has_baseline.then_some(BaselineState { known, stale }),
            tool_calls: self.runs.iter().flat_map(|run| run.tool_calls.clone()).collect(),
            portability: self
                .runs
                .iter()
                .map(|run| &run.portability)
                .find(|one| !one.is_empty())
                .cloned()
                .unwrap_or_default(),
        }
    }
}

/// The identity of a load test.
fn load_key(load: &LoadResult) -> String {
    format!("{} ({}; {})", load.name, load.transport, load.shape)
}

/// A line whose parts are copied.
#[derive(Serialize, Deserialize)]
struct RawLine<'a> {
    line: &'a str,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    result: Option<&'a RawValue>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    index: Option<usize>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    evidence: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct CaseId {
    id: String,
}

/// Writes one line with its line feed.
fn write_line(out: &mut impl Write, line: &impl Serialize) -> Result<(), MergeError> {
    let mut bytes = serde_json::to_vec(line).map_err(|source| MergeError::Write(source.into()))?;
    bytes.push(b'\n');
    out.write_all(&bytes).map_err(MergeError::Write)
}
