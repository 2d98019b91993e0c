//! The official client suite against `client conformance`.

use std::{fs, path::Path, time::Duration};

use anyhow::{Context as _, bail};

use super::{
    super::{
        child::{self, Output},
        outcome::{CheckStatus, Row},
        tools::Tools,
    },
    requirements::{self, Expected},
    results::{Prefix, judge_results},
};

/// The revisions with client scenarios: two sets of requirements, and scenarios of an older revision.
pub(in super::super) const REVISIONS: [&str; 3] = ["2025-03-26", "2025-11-25", "2026-07-28"];
/// The older revision, which has no set, and its scenarios.
const OLDER: (&str, [&str; 2]) =
    ("2025-03-26", ["auth/2025-03-26-oauth-metadata-backcompat", "auth/2025-03-26-oauth-endpoint-fallback"]);
/// Timeout of a set. The suite runs its scenarios in parallel, with 30 s for each.
const TIMEOUT: Duration = Duration::from_secs(180);

/// Runs all client scenarios of a revision, scored or not.
pub(in super::super) async fn run(tools: &Tools, revision: &str, directory: &Path) -> anyhow::Result<Vec<Row>> {
    let results = directory.join("results");
    let (expected, failure) = if revision == OLDER.0 {
        let mut failure = None;
        for scenario in OLDER.1 {
            let output = Output::in_directory(directory, &scenario.replace('/', "-"));
            let code = suite(tools, &["--scenario", scenario], &results, &output).await?;
            failure = failure.or((code != 0).then(|| output.last_lines()));
        }
        let expected = OLDER.1.map(|scenario| Expected { scenario: scenario.into(), kind: "backwards".into() });
        (expected.to_vec(), failure)
    } else {
        let file = tools.suite().join(format!("requirements/{revision}.yaml"));
        let text = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        let output = Output::in_directory(directory, "suite");
        let code = suite(tools, &["--requirements", revision], &results, &output).await?;
        (requirements::client_scenarios(&text)?, (code != 0).then(|| output.last_lines()))
    };
    let rows = judge_results(&results, Prefix::Client, expected)?;
    match failure {
        // An error exit of the client fails the check even if no check of the suite failed.
        Some(failure) if rows.iter().all(|row| row.status != CheckStatus::Failed) => {
            bail!("the suite failed, but no check did: {failure}")
        }
        _ => Ok(rows),
    }
}

async fn suite(tools: &Tools, what: &[&str], results: &Path, output: &Output) -> anyhow::Result<i32> {
    let mut command = child::command(tools.node())?;
    command.arg(tools.suite().join("dist/index.js")).arg("client").args(what);
    command.args(["--command", &format!("{} client conformance", tools.workbench.display())]);
    command.arg("--output-dir").arg(results);
    child::run(command, output, TIMEOUT).await
}
