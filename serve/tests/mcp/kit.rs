//! A workbench, and a client that is connected to it in memory.

use std::{path::PathBuf, time::Duration};

use agent::policy::Policy;
use client::{
    CallOptions, ClientEventKind, ConnectOptions, Connection, Endpoint, Revision, RevisionChoice, ServerConfig,
    StdioEndpoint, ToolResult, connect_over,
};
use mcp_workbench_serve::{Limits, Settings, Workbench, mcp};
use mock_servers::{MockServer, mock, script::Tool};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

pub(crate) const ERAS: [Revision; 2] = [Revision::V2025_11_25, Revision::V2026_07_28];

/// A workbench with a temporary directory for runs.
pub(crate) struct Bench {
    pub(crate) workbench: Workbench,
    pub(crate) directory: TempDir,
}

pub(crate) fn bench(limits: Limits) -> Bench {
    bench_under(limits, Policy::default())
}

/// A workbench with a policy.
pub(crate) fn bench_under(limits: Limits, policy: Policy) -> Bench {
    let directory = tempfile::tempdir().expect("a directory");
    let program = PathBuf::from("/nowhere/mcp-workbench");
    let settings = Settings { program, runs: directory.path().join("runs"), limits, policy: policy.into() };
    Bench { workbench: Workbench::new(settings).expect("the catalog is valid"), directory }
}

/// A client in memory, and the server's end.
pub(crate) struct Session {
    pub(crate) client: Connection,
    pub(crate) served: JoinHandle<Result<(), mcp::ServeError>>,
}

pub(crate) async fn connected(workbench: &Workbench, revision: Revision) -> Session {
    let (ours, theirs) = tokio::io::duplex(64 * 1024);
    let workbench = workbench.clone();
    let served = tokio::spawn(async move {
        let (reader, writer) = tokio::io::split(theirs);
        mcp::serve(&workbench, reader, writer, CancellationToken::new()).await
    });
    let (reader, writer) = tokio::io::split(ours);
    let mut config = ServerConfig::new("workbench", Endpoint::Stdio(StdioEndpoint::default()));
    config.protocol = RevisionChoice::Pinned(revision);
    let client = connect_over(config, reader, writer, ConnectOptions::default()).await.expect("it is a server");
    Session { client, served }
}

/// Calls a tool and validates the result against its output schema.
pub(crate) async fn call(client: &Connection, tool: &str, arguments: Value) -> ToolResult {
    let result = client.call(tool, arguments, CallOptions::default()).await;
    let result = result.unwrap_or_else(|error| panic!("{tool}: {error}"));
    if result.is_error() {
        return result;
    }
    let list = client.list_tools().await.expect("a list");
    let schema = Value::Object(list.get(tool).expect("it is listed").output_schema().expect("a schema").clone());
    let value = result.structured().expect("a value");
    let validator = jsonschema::draft202012::new(&schema).expect("the schema is one");
    let problems: Vec<_> = validator.iter_errors(value).map(|error| error.to_string()).collect();
    assert!(problems.is_empty(), "{tool}: {problems:?} in {value:#}");
    let texts: Vec<_> = result.content().iter().filter_map(|block| block["text"].as_str()).collect();
    assert_eq!(texts.len(), 2, "a summary, and the value as JSON");
    assert_eq!(&serde_json::from_str::<Value>(texts[1]).expect("JSON"), value);
    result
}

/// The error in the metadata of a result.
pub(crate) fn error(result: &ToolResult) -> &Value {
    assert!(result.is_error(), "{result:?}");
    assert!(result.structured().is_none());
    &result.wire()["_meta"]["mcp-workbench/error"]
}

/// A mock server with two tools.
pub(crate) async fn mock_server() -> MockServer {
    let echo =
        Tool::new("echo").described("Says it again").takes(json!({"type": "object"})).replies(mock::text("hello"));
    let add = Tool::new("add").described("Adds").takes(json!({"type": "object"})).replies(mock::text("3"));
    MockServer::builder().tool(echo).tool(add).start().await.expect("it starts")
}

/// The progress updates received so far.
pub(crate) fn progress(events: &mut tokio::sync::broadcast::Receiver<client::ClientEvent>) -> Vec<(f64, Option<f64>)> {
    let mut updates = Vec::new();
    while let Ok(event) = events.try_recv() {
        if let ClientEventKind::Progress { progress, total, .. } = event.kind {
            updates.push((progress, total));
        }
    }
    updates
}

/// Waits until something holds, within a bound.
pub(crate) async fn until<T>(what: &str, mut holds: impl FnMut() -> Option<T>) -> T {
    for _ in 0..1_000 {
        if let Some(found) = holds() {
            return found;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("in ten seconds it did not come to pass that {what}");
}

/// A server that writes its process id to a file and never responds.
pub(crate) fn silent(bench: &Bench) -> (Value, PathBuf) {
    let file = bench.directory.path().join("pid");
    let script = format!("echo $$ > '{}.new' && mv '{0}.new' '{0}' && exec sleep 1000", file.display());
    (json!({ "command": "sh", "args": ["-c", script] }), file)
}

/// The process that wrote its id into a file.
pub(crate) async fn pid(file: &std::path::Path) -> String {
    until("the server starts", || std::fs::read_to_string(file).ok()).await.trim().to_owned()
}

pub(crate) async fn gone(pid: &str) {
    until("the process ends", || (!std::path::Path::new("/proc").join(pid).exists()).then_some(())).await;
}
