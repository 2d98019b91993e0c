//! The official server suite against `mock serve everything`.

pub(super) mod client;
mod requirements;
mod results;

use std::{fs, path::Path, time::Duration};

use anyhow::{Context as _, bail};

pub(super) use self::{
    requirements::Expected,
    results::{Prefix, judge_folder},
};
use super::{
    child::{self, Output},
    outcome::{Row, Verdict},
    server::Server,
    tools::Tools,
};

/// The revisions that the suite has sets of requirements for.
pub(super) const REVISIONS: [&str; 2] = ["2025-11-25", "2026-07-28"];
/// How long a set may take; it takes some ten seconds, most of which its tasks wait.
const LIMIT: Duration = Duration::from_secs(180);

/// Runs a set: all scenarios that it names for servers, scored or not.
pub(super) async fn run(tools: &Tools, revision: &str, folder: &Path) -> anyhow::Result<Vec<Row>> {
    let file = tools.suite().join(format!("requirements/{revision}.yaml"));
    let text = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
    let expected = requirements::server_scenarios(&text)?;
    let server =
        Server::start(tools, &["serve", "everything", "--transport", "http", "--listen", "127.0.0.1:0"], folder);
    let server = server.await?;
    let (output, results) = (Output::in_folder(folder, "suite"), folder.join("results"));
    let mut command = child::command(tools.node())?;
    command.arg(tools.suite().join("dist/index.js")).args(["server", "--url", &server.url]);
    command.args(["--requirements", revision, "--output-dir"]).arg(&results);
    let code = child::run(command, &output, LIMIT).await?;
    let rows: Vec<Row> = judge_folder(&results, Prefix::Server, expected)?;
    server.end().await?;
    if code != 0 && rows.iter().all(|row| row.verdict != Verdict::Failed) {
        bail!("the suite ended with exit code {code} though no check failed: {}", output.complaint());
    }
    Ok(rows)
}
