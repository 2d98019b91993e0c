//! The official server suite against `mock serve everything`, and its scenarios without fixtures against `serve`.

pub(super) mod client;
mod requirements;
mod results;

use std::{fs, path::Path, time::Duration};

use anyhow::{Context as _, bail};

pub(super) use self::{
    requirements::Expected,
    results::{Prefix, judge_results},
};
use super::{
    child::{self, Output},
    outcome::{CheckStatus, Row},
    server::Server,
    tools::Tools,
};

/// The revisions with a set of requirements.
pub(super) const REVISIONS: [&str; 2] = ["2025-11-25", "2026-07-28"];
/// Timeout of a set, which usually takes ten seconds.
const TIMEOUT: Duration = Duration::from_secs(180);

/// The scenarios that need no fixtures (tools, resources or prompts of the suite), for each revision.
const FOR_ANY_SERVER: [(&str, &[&str]); 2] = [
    (
        "2025-11-25",
        &[
            "server-initialize",
            "ping",
            "tools-list",
            "resources-list",
            "prompts-list",
            "server-sse-multiple-streams",
            "dns-rebinding-protection",
            "server-session-lifecycle",
        ],
    ),
    (
        "2026-07-28",
        &[
            "server-stateless",
            "tools-list",
            "resources-list",
            "prompts-list",
            "sep-2164-resource-not-found",
            "caching",
            "server-sse-multiple-streams",
            "dns-rebinding-protection",
            "http-header-validation",
        ],
    ),
];

/// Runs all server scenarios of a set, scored or not.
pub(super) async fn run(tools: &Tools, revision: &str, directory: &Path) -> anyhow::Result<Vec<Row>> {
    let file = tools.suite().join(format!("requirements/{revision}.yaml"));
    let text = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
    let expected = requirements::server_scenarios(&text)?;
    let server =
        Server::start(tools, &["serve", "everything", "--transport", "http", "--listen", "127.0.0.1:0"], directory);
    let server = server.await?;
    let (output, results) = (Output::in_directory(directory, "suite"), directory.join("results"));
    let code = run_set(tools, revision, &server.url, &results, &output).await?;
    let rows: Vec<Row> = judge_results(&results, Prefix::Server, expected)?;
    server.stop().await?;
    if code != 0 && rows.iter().all(|row| row.status != CheckStatus::Failed) {
        bail!("the suite exited with code {code}, but no check failed: {}", output.last_lines());
    }
    Ok(rows)
}

/// Runs a set against `serve`, and judges the scenarios that need no fixtures.
pub(super) async fn run_serve(tools: &Tools, revision: &str, directory: &Path) -> anyhow::Result<Vec<Row>> {
    let names = FOR_ANY_SERVER.iter().find(|(known, _)| *known == revision).map_or(&[][..], |(_, names)| names);
    let generic = |name: &&str| Expected { scenario: (*name).to_owned(), kind: "generic".to_owned() };
    let mut command = child::command(&tools.workbench)?;
    // The suite cannot send a token.
    command.args(["serve", "--http", "127.0.0.1:0", "--no-token", "--json"]);
    let server = Server::start_program(command, "serve --http", directory).await?;
    let (output, results) = (Output::in_directory(directory, "suite"), directory.join("results"));
    // Its exit code also counts the scenarios that need fixtures.
    run_set(tools, revision, &server.url, &results, &output).await?;
    let rows = results::judge_without_fixtures(&results, names.iter().map(generic).collect())?;
    server.stop().await?;
    Ok(rows)
}

/// Runs the set of a revision against a server and returns its exit code.
async fn run_set(tools: &Tools, revision: &str, url: &str, results: &Path, output: &Output) -> anyhow::Result<i32> {
    let mut command = child::command(tools.node())?;
    command.arg(tools.suite().join("dist/index.js")).args(["server", "--url", url]);
    command.args(["--requirements", revision, "--output-dir"]).arg(results);
    child::run(command, output, TIMEOUT).await
}
