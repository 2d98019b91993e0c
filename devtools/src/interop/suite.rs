//! The official server suite against `mock serve everything`; and what of it every server can show, against `serve`.

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

/// The scenarios that need no tools, resources or prompts of the suite's own, for each revision.
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

/// Runs a set: all scenarios that it names for servers, scored or not.
pub(super) async fn run(tools: &Tools, revision: &str, folder: &Path) -> anyhow::Result<Vec<Row>> {
    let file = tools.suite().join(format!("requirements/{revision}.yaml"));
    let text = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
    let expected = requirements::server_scenarios(&text)?;
    let server =
        Server::start(tools, &["serve", "everything", "--transport", "http", "--listen", "127.0.0.1:0"], folder);
    let server = server.await?;
    let (output, results) = (Output::in_folder(folder, "suite"), folder.join("results"));
    let code = run_set(tools, revision, &server.url, &results, &output).await?;
    let rows: Vec<Row> = judge_folder(&results, Prefix::Server, expected)?;
    server.end().await?;
    if code != 0 && rows.iter().all(|row| row.verdict != Verdict::Failed) {
        bail!("the suite ended with exit code {code} though no check failed: {}", output.complaint());
    }
    Ok(rows)
}

/// Runs a set against the workbench as an MCP server, and judges the scenarios in it that are for any server.
pub(super) async fn run_serve(tools: &Tools, revision: &str, folder: &Path) -> anyhow::Result<Vec<Row>> {
    let names = FOR_ANY_SERVER.iter().find(|(known, _)| *known == revision).map_or(&[][..], |(_, names)| names);
    let generic = |name: &&str| Expected { scenario: (*name).to_owned(), kind: "generic".to_owned() };
    let mut command = child::command(&tools.workbench)?;
    // The suite sends no header that it is not asked to test: it shows no token.
    command.args(["serve", "--http", "127.0.0.1:0", "--no-token", "--json"]);
    let server = Server::start_program(command, "serve --http", folder).await?;
    let (output, results) = (Output::in_folder(folder, "suite"), folder.join("results"));
    // It fails where the fixtures of the other scenarios are missing, whatever becomes of these.
    run_set(tools, revision, &server.url, &results, &output).await?;
    let rows = results::judge_without_fixtures(&results, names.iter().map(generic).collect())?;
    server.end().await?;
    Ok(rows)
}

/// Runs the set of a revision against a server; its exit code.
async fn run_set(tools: &Tools, revision: &str, url: &str, results: &Path, output: &Output) -> anyhow::Result<i32> {
    let mut command = child::command(tools.node())?;
    command.arg(tools.suite().join("dist/index.js")).args(["server", "--url", url]);
    command.args(["--requirements", revision, "--output-dir"]).arg(results);
    child::run(command, output, LIMIT).await
}
