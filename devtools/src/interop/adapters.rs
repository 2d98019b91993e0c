//! The adapters of SDK clients in `adapters/`, as subjects of `conformance`.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    time::Duration,
};

use anyhow::{Context as _, ensure};
use reports::{Run, Verdict};

use super::{
    child::{self, Output},
    outcome::{CheckStatus, Row},
    tools::Tools,
};

/// Timeout of a run, which takes about half a minute.
const TIMEOUT: Duration = Duration::from_secs(300);
/// The scenarios: those whose verdicts differ between SDKs, and some that every client passes.
const SCENARIOS: [&str; 12] = [
    "authorization/dynamic-registration",
    "authorization/no-pkce",
    "authorization/step-up",
    "client-features/form-accepted",
    "client-features/rounds",
    "handshake/basic",
    "handshake/unknown-revision",
    "http/lost-session",
    "http/polled-answer",
    "pagination/many-pages",
    "timeouts/call-times-out",
    "timeouts/cancel-on-request",
];
/// The verdicts other than `passed`, by adapter and case.
const RECORDED: &str = include_str!("../../interop/adapters.yaml");

/// An adapter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Adapter {
    /// `adapters/typescript-1.mjs`.
    TypeScript1,
    /// `adapters/typescript-2.mjs`.
    TypeScript2,
    /// `adapters/python-2.py`.
    Python2,
    /// `adapters/rmcp`, which is built as an example of this package.
    Rmcp,
}

impl Adapter {
    /// All adapters whose SDK is installed. Version 1 of the Python SDK would need another environment.
    pub(super) const ALL: [Self; 4] = [Self::TypeScript1, Self::TypeScript2, Self::Python2, Self::Rmcp];

    /// The name of the check.
    pub(super) fn name(self) -> String {
        format!("adapters/{}", self.sdk())
    }

    /// The SDK, as in the record.
    fn sdk(self) -> &'static str {
        match self {
            Self::TypeScript1 => "typescript-1",
            Self::TypeScript2 => "typescript-2",
            Self::Python2 => "python-2",
            Self::Rmcp => "rmcp",
        }
    }

    /// The command of the client.
    fn command(self, tools: &Tools) -> anyhow::Result<String> {
        let script = |program: &Path, file: &str| {
            format!("'{}' '{}'", program.display(), tools.adapter(file, self.is_python()).display())
        };
        Ok(match self {
            Self::TypeScript1 => script(&tools.node(), "typescript-1.mjs"),
            Self::TypeScript2 => script(&tools.node(), "typescript-2.mjs"),
            Self::Python2 => script(&tools.python(), "python-2.py"),
            Self::Rmcp => {
                let program = tools.workbench.with_file_name("examples").join("rmcp-adapter");
                ensure!(program.exists(), "build it with `cargo build --package devtools --example rmcp-adapter`");
                format!("'{}'", program.display())
            }
        })
    }

    /// Whether it needs Python.
    pub(super) fn is_python(self) -> bool {
        self == Self::Python2
    }

    /// Version 1 of the TypeScript SDK has no modern era.
    fn revisions(self) -> &'static [&'static str] {
        match self {
            Self::TypeScript1 => &["2025-11-25"],
            Self::TypeScript2 | Self::Python2 | Self::Rmcp => &["2025-11-25", "2026-07-28"],
        }
    }
}

/// Runs the scenarios over stdio and Streamable HTTP. Each area is a row, which fails if a verdict is not the recorded one.
pub(super) async fn run(tools: &Tools, adapter: Adapter, directory: &Path) -> anyhow::Result<Vec<Row>> {
    let mut command = child::command(&tools.workbench)?;
    command.args(["conformance", "--quiet", "--profile", "sdk", "--format", "json", "--transport", "stdio"]);
    command.args(["--transport", "streamable-http", "--client-command", &adapter.command(tools)?]);
    command.arg("--output").arg(directory).args(SCENARIOS);
    for revision in adapter.revisions() {
        command.args(["--revision", revision]);
    }
    let output = Output::in_directory(directory, "conformance");
    child::run(command, &output, TIMEOUT).await?;
    let report = fs::read_to_string(directory.join("run.json")).with_context(|| output.last_lines())?;
    let run: Run = serde_json::from_str(&report).context("the report is not one of `conformance`")?;
    let mut all: BTreeMap<String, BTreeMap<String, Verdict>> =
        serde_saphyr::from_str(RECORDED).context("interop/adapters.yaml is invalid")?;
    Ok(rows(&run, all.remove(adapter.sdk()).unwrap_or_default()))
}

fn rows(run: &Run, mut recorded: BTreeMap<String, Verdict>) -> Vec<Row> {
    let areas: BTreeSet<&str> = run.cases.iter().map(|case| area(&case.id)).collect();
    let mut rows = Vec::new();
    for name in areas {
        let mut row = Row::new(name, None);
        row.passed = 0;
        let mut differences = Vec::new();
        for case in run.cases.iter().filter(|case| area(&case.id) == name) {
            match case.verdict {
                Verdict::Passed => row.passed += 1,
                Verdict::Skipped => {}
                Verdict::Warned | Verdict::Noted => row.warned += 1,
                Verdict::Failed | Verdict::Flaky | Verdict::Blocked => row.failed += 1,
            }
            let expected = recorded.remove(&case.id).unwrap_or(Verdict::Passed);
            if case.verdict != expected {
                // The most severe check is the first.
                let observed = case.checks.first().map_or("", |check| &check.observed);
                let (got, wanted) = (case.verdict.as_str(), expected.as_str());
                differences.push(format!("{}: {got}, recorded as {wanted}: {observed}", case.id));
            }
        }
        if !differences.is_empty() {
            row.status = CheckStatus::Failed;
            row.reason = Some(differences.join("; "));
        }
        rows.push(row);
    }
    rows.extend(recorded.keys().map(|id| Row::new(id, Some("it is recorded, and did not run".to_owned()))));
    rows
}

fn area(id: &str) -> &str {
    id.split_once('/').map_or(id, |(area, _)| area)
}
