//! The adapters of SDK clients in `adapters/`, as subjects of `conformance`.

use std::{fs, path::Path, time::Duration};

use anyhow::Context as _;
use reports::{Run, Verdict};

use super::{
    child::{self, Output},
    outcome::Row,
    tools::Tools,
};

/// Timeout of a run, which takes about ten seconds.
const TIMEOUT: Duration = Duration::from_secs(240);
/// Scenarios that every client passes.
const SCENARIOS: [&str; 3] = ["handshake/basic", "pagination/many-pages", "client-features/form-accepted"];

/// An adapter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Adapter {
    /// `adapters/typescript-1.mjs`.
    TypeScript1,
    /// `adapters/typescript-2.mjs`.
    TypeScript2,
    /// `adapters/python-2.py`.
    Python2,
}

impl Adapter {
    /// All adapters whose SDK is installed. Version 1 of the Python SDK would need another environment.
    pub(super) const ALL: [Self; 3] = [Self::TypeScript1, Self::TypeScript2, Self::Python2];

    /// The name of the check.
    pub(super) fn name(self) -> String {
        let file = self.file();
        format!("adapters/{}", file.split_once('.').map_or(file, |(name, _)| name))
    }

    fn file(self) -> &'static str {
        match self {
            Self::TypeScript1 => "typescript-1.mjs",
            Self::TypeScript2 => "typescript-2.mjs",
            Self::Python2 => "python-2.py",
        }
    }

    /// Whether it needs Python.
    pub(super) fn is_python(self) -> bool {
        self == Self::Python2
    }

    /// Version 1 of the TypeScript SDK has no modern era.
    fn revisions(self) -> &'static [&'static str] {
        match self {
            Self::TypeScript1 => &["2025-11-25"],
            Self::TypeScript2 | Self::Python2 => &["2025-11-25", "2026-07-28"],
        }
    }
}

/// Runs the scenarios. Each case is a row.
pub(super) async fn run(tools: &Tools, adapter: Adapter, directory: &Path) -> anyhow::Result<Vec<Row>> {
    let program = if adapter.is_python() { tools.python() } else { tools.node() };
    let client = format!("'{}' '{}'", program.display(), tools.adapter(adapter.file(), adapter.is_python()).display());
    let mut command = child::command(&tools.workbench)?;
    command.args(["conformance", "--quiet", "--profile", "sdk", "--format", "json", "--client-command", &client]);
    command.arg("--output").arg(directory).args(SCENARIOS);
    for revision in adapter.revisions() {
        command.args(["--revision", revision]);
    }
    let output = Output::in_directory(directory, "conformance");
    child::run(command, &output, TIMEOUT).await?;
    let report = fs::read_to_string(directory.join("run.json")).with_context(|| output.last_lines())?;
    let run: Run = serde_json::from_str(&report).context("the report is not one of `conformance`")?;
    let rows = run.cases.iter().map(|case| {
        // The most severe check is the first.
        let observed = case.checks.first().map_or("", |check| &check.observed);
        Row::new(&case.id, (case.verdict != Verdict::Passed).then(|| format!("{}: {observed}", case.verdict.as_str())))
    });
    Ok(rows.collect())
}
