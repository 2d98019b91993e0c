//! `bench host`: the host of an agent with 50 servers and 5,000 tools, and one server that does not answer.
//!
//! The mock servers run in this process and the host in another one, whose memory is measured. Both use one clock, so the time
//! since the last response of a server is known.

use std::{
    env, fs,
    io::{Read as _, Write as _},
    net::TcpListener,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use agent::{
    host::{Host, HostConfig, HostOptions, HostServer},
    schema::Provider,
};
use anyhow::{Context as _, anyhow, ensure};
use clap::Subcommand;
use client::{Endpoint, HttpEndpoint, ManagedServer, ServerConfig};
use mock_servers::{MockServer, script::Script};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{measure::MeasureArgs, mock::median};
use crate::{
    error::{CommandError, CommandResult},
    interrupt,
};

/// Number of servers.
const SERVERS: usize = 50;
/// Number of tools of each server.
const TOOLS: usize = 100;
/// Number of results of a search, as in a call of the search tool.
const RESULTS: usize = 5;
/// How long the host may take to connect and to list all tools.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Limits of the figures, in milliseconds and bytes.
const MAX_LIST_MS: f64 = 300.0;
const MAX_SEARCH_MS: f64 = 5.0;
const MAX_MEMORY: u64 = 100_000_000;

const VERBS: [&str; 10] = ["create", "list", "get", "update", "delete", "search", "merge", "close", "export", "import"];
const THINGS: [&str; 10] =
    ["issue", "repository", "file", "page", "table", "message", "channel", "invoice", "customer", "dashboard"];

/// The arguments of `bench host`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    measure: MeasureArgs,
    #[command(subcommand)]
    part: Option<Part>,
}

#[derive(Debug, Subcommand)]
enum Part {
    /// Run the measured host.
    #[command(hide = true)]
    Agent {
        /// URLs of the servers. The last one does not answer.
        urls: Vec<String>,
    },
}

/// What the process of the host measures.
#[derive(Debug, Serialize, Deserialize)]
struct HostFigures {
    /// When the definitions for the model were ready, in microseconds of the clock of recorded frames.
    listed_at_us: u64,
    /// Number of tools.
    tools: usize,
    /// Duration of each search in milliseconds.
    searches_ms: Vec<f64>,
    /// Maximum resident memory in bytes; `None` without `/proc`.
    memory: Option<u64>,
}

/// The result of the benchmark.
#[derive(Debug, Serialize)]
struct Report {
    /// Version of this format.
    format: u32,
    /// Whether this is a release build.
    optimized: bool,
    servers: usize,
    tools: usize,
    /// Time from the last response with tools to the definitions for the model, in milliseconds.
    list_ms: f64,
    /// Median duration of a search in milliseconds.
    search_ms: f64,
    /// Duration of the slowest search in milliseconds. The first one also builds the index.
    slowest_search_ms: f64,
    /// Maximum resident memory of the host in bytes.
    memory_bytes: Option<u64>,
    /// Whether all figures are within their limits.
    passed: bool,
}

impl Report {
    fn new(figures: &HostFigures, answered_at_us: u64) -> Self {
        let list_ms = figures.listed_at_us.saturating_sub(answered_at_us) as f64 / 1e3;
        let slowest_search_ms = figures.searches_ms.iter().copied().fold(0.0, f64::max);
        let memory_passed = figures.memory.is_none_or(|bytes| bytes <= MAX_MEMORY);
        Self {
            format: 1,
            optimized: !cfg!(debug_assertions),
            servers: SERVERS,
            tools: figures.tools,
            list_ms,
            search_ms: median(&mut figures.searches_ms.clone()),
            slowest_search_ms,
            memory_bytes: figures.memory,
            passed: list_ms <= MAX_LIST_MS && slowest_search_ms <= MAX_SEARCH_MS && memory_passed,
        }
    }

    fn text(&self) -> String {
        let memory = self.memory_bytes.map_or("unknown".to_owned(), |bytes| format!("{:.1} MB", bytes as f64 / 1e6));
        format!(
            "{} servers, {} tools, and one server that does not answer\n\
             tool list after the last response  {:.1} ms (limit {MAX_LIST_MS} ms)\n\
             search, median and slowest         {:.2} ms, {:.2} ms (limit {MAX_SEARCH_MS} ms)\n\
             memory                             {memory} (limit {} MB)\n{}\n",
            self.servers,
            self.tools,
            self.list_ms,
            self.search_ms,
            self.slowest_search_ms,
            MAX_MEMORY / 1_000_000,
            if self.passed { "PASSED" } else { "FAILED" },
        )
    }
}

/// Measures the host, or runs it.
pub(crate) fn run(args: &Args) -> CommandResult {
    let runtime = interrupt::runtime()?;
    if let Some(Part::Agent { urls }) = &args.part {
        let figures = runtime.block_on(measure_host(urls)).map_err(CommandError::environment)?;
        let line = serde_json::to_string(&figures).map_err(CommandError::internal)?;
        writeln!(std::io::stdout(), "{line}").map_err(CommandError::environment)?;
        return Ok(std::process::ExitCode::SUCCESS);
    }
    args.measure.check_build()?;
    let report = runtime.block_on(measure()).map_err(CommandError::environment)?;
    args.measure.print(&report, || report.text(), report.passed)
}

/// Starts the servers and the process of the host.
async fn measure() -> anyhow::Result<Report> {
    let mut servers = Vec::new();
    for server in 0..SERVERS {
        servers.push(MockServer::start(script(server)?).await.context("a mock server cannot start")?);
    }
    // Connections are accepted by the system, and never answered.
    let silent = TcpListener::bind("127.0.0.1:0").context("cannot listen")?;
    let silent_url = format!("http://{}/mcp", silent.local_addr().context("the listener has no address")?);
    let urls: Vec<String> = servers.iter().map(MockServer::url).chain([silent_url]).collect();
    let figures = tokio::task::spawn_blocking(move || host_process(&urls)).await??;
    ensure!(figures.tools == SERVERS * TOOLS, "the host lists {} tools", figures.tools);
    let lists = servers.iter().flat_map(MockServer::frames).filter(|frame| {
        !frame.from_client() && frame.json().is_some_and(|body| body.pointer("/result/tools").is_some())
    });
    let answered_at_us = lists.map(|frame| frame.at_us).max().ok_or_else(|| anyhow!("no server listed tools"))?;
    Ok(Report::new(&figures, answered_at_us))
}

fn host_process(urls: &[String]) -> anyhow::Result<HostFigures> {
    let mut child = Command::new(env::current_exe().context("cannot find this program")?)
        .args(["bench", "host", "agent"])
        .args(urls)
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start the host")?;
    let mut output = String::new();
    let read = child.stdout.take().ok_or_else(|| anyhow!("the host has no output"))?.read_to_string(&mut output);
    let status = child.wait().context("cannot wait for the host")?;
    read.context("cannot read the output of the host")?;
    ensure!(status.success(), "the host failed: {status}");
    serde_json::from_str(&output).context("the output of the host is not valid")
}

/// A server with tools whose names and descriptions resemble those of real servers.
fn script(server: usize) -> anyhow::Result<Script> {
    let tools: Vec<_> = (0..TOOLS)
        .map(|tool| {
            let (verb, thing) = (VERBS[tool % VERBS.len()], THINGS[tool / VERBS.len() % THINGS.len()]);
            json!({
                "name": format!("{verb}_{thing}"),
                "description": format!(
                    "{verb} a {thing} in workspace {server}. Returns the {thing} with all of its fields, or an error if \
                     the caller has no permission to {verb} it."
                ),
                "input_schema": {
                    "type": "object",
                    "properties": {
                        "id": { "type": "string", "description": format!("Identifier of the {thing}") },
                        "fields": { "type": "array", "items": { "type": "string" } },
                        "limit": { "type": "integer", "minimum": 1, "maximum": 100 },
                    },
                    "required": ["id"],
                },
            })
        })
        .collect();
    let script = json!({ "name": format!("server-{server}"), "capabilities": { "tools": {} }, "tools": tools });
    serde_json::from_value(script).context("the script is not valid")
}

/// Connects to all servers, lists their tools for a model, and searches them. The last server does not answer.
async fn measure_host(urls: &[String]) -> anyhow::Result<HostFigures> {
    let servers = urls.iter().enumerate().map(|(number, url)| {
        let endpoint = Endpoint::StreamableHttp(HttpEndpoint { url: url.clone(), ..HttpEndpoint::default() });
        HostServer::new(ManagedServer::new(ServerConfig::new(format!("server-{number}"), endpoint)))
    });
    let options = HostOptions { provider: Some(Provider::Anthropic), ..HostOptions::default() };
    let host = Host::start(HostConfig::default().with_servers(servers), options).await?;
    let mut changes = host.tool_changes();
    let answering = u64::try_from(urls.len().saturating_sub(1))?;
    let all = changes.wait_for(|reads| *reads >= answering);
    tokio::time::timeout(TIMEOUT, all).await.context("not all servers listed their tools")??;
    let mut tools = host.tools();
    // Some lists are read twice.
    while tools.tools.len() < (urls.len() - 1) * TOOLS {
        tokio::time::timeout(TIMEOUT, changes.changed()).await.context("not all servers listed their tools")??;
        tools = host.tools();
    }
    let definitions = tools.definitions();
    let listed_at_us = evidence::now_us();
    drop(definitions);
    let mut searches_ms = Vec::new();
    for verb in VERBS {
        for thing in THINGS {
            let start = Instant::now();
            let found = host.search(&format!("{verb} {thing} workspace"), RESULTS);
            searches_ms.push(start.elapsed().as_secs_f64() * 1e3);
            ensure!(found.len() == RESULTS, "a search found {} tools", found.len());
        }
    }
    Ok(HostFigures { listed_at_us, tools: tools.tools.len(), searches_ms, memory: max_memory() })
}

/// The maximum resident memory of this process in bytes.
fn max_memory() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let kilobytes = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    kilobytes.split_whitespace().next()?.parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_figure_has_a_limit() {
        let figures = |listed_at_us, slowest, memory| HostFigures {
            listed_at_us,
            tools: SERVERS * TOOLS,
            searches_ms: vec![1.0, slowest, 1.0],
            memory: Some(memory),
        };
        assert!(Report::new(&figures(1_300_000, 5.0, MAX_MEMORY), 1_000_000).passed);
        for slow in [figures(1_300_100, 5.0, 1), figures(1_000_000, 5.1, 1), figures(1_000_000, 1.0, MAX_MEMORY + 1)] {
            assert!(!Report::new(&slow, 1_000_000).passed, "{slow:?}");
        }
    }
}
