//! The official client suite against `client conformance`.

use std::{fs, path::Path, time::Duration};

use anyhow::{Context as _, bail};

use super::{
    super::{
        child::{self, Output},
        outcome::{Row, Verdict},
        tools::Tools,
    },
    requirements::{self, Expected},
    results::{Prefix, judge_folder},
};

/// What the suite has for clients: two sets of requirements, and what an older revision did differently.
pub(in super::super) const REVISIONS: [&str; 3] = ["2025-03-26", "2025-11-25", "2026-07-28"];
/// The older revision, of which there is no set.
const BACKWARDS: (&str, [&str; 2]) =
    ("2025-03-26", ["auth/2025-03-26-oauth-metadata-backcompat", "auth/2025-03-26-oauth-endpoint-fallback"]);
/// How long a set may take. The suite runs its scenarios at the same time and gives each 30 s.
const LIMIT: Duration = Duration::from_secs(180);

/// Runs all scenarios that a revision has for clients, scored or not.
pub(in super::super) async fn run(tools: &Tools, revision: &str, folder: &Path) -> anyhow::Result<Vec<Row>> {
    let results = folder.join("results");
    let (expected, complaint) = if revision == BACKWARDS.0 {
        let mut complaint = None;
        for scenario in BACKWARDS.1 {
            let output = Output::in_folder(folder, &scenario.replace('/', "-"));
            let code = suite(tools, &["--scenario", scenario], &results, &output).await?;
            complaint = complaint.or((code != 0).then(|| output.complaint()));
        }
        let expected = BACKWARDS.1.map(|scenario| Expected { scenario: scenario.into(), kind: "backwards".into() });
        (expected.to_vec(), complaint)
    } else {
        let file = tools.suite().join(format!("requirements/{revision}.yaml"));
        let text = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        let output = Output::in_folder(folder, "suite");
        let code = suite(tools, &["--requirements", revision], &results, &output).await?;
        (requirements::client_scenarios(&text)?, (code != 0).then(|| output.complaint()))
    };
    let rows = judge_folder(&results, Prefix::Client, expected)?;
    match complaint {
        // A client that ends with an error is an objection too, though no check says so.
        Some(complaint) if rows.iter().all(|row| row.verdict != Verdict::Failed) => {
            bail!("the suite is not content though no check failed: {complaint}")
        }
        _ => Ok(rows),
    }
}

async fn suite(tools: &Tools, what: &[&str], results: &Path, output: &Output) -> anyhow::Result<i32> {
    let mut command = child::command(tools.node())?;
    command.arg(tools.suite().join("dist/index.js")).arg("client").args(what);
    command.args(["--command", &format!("{} client conformance", tools.workbench.display())]);
    command.arg("--output-dir").arg(results);
    child::run(command, output, LIMIT).await
}
