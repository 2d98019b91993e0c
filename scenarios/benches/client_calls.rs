//! Cost of a call of the built-in client: `cargo bench --package mcp-workbench-scenarios`. Each figure is for a number of
//! concurrent calls to a mock server on its own threads. `bench client` compares it with other clients.

use client::{
    CallOptions, Connection, Endpoint, HttpEndpoint, Revision, RevisionChoice, ServerConfig, connect_over, connect_with,
};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use evidence::Recorder;
use mock_servers::{
    MockServer,
    mock::{Builder, text},
    script::Tool,
};
use serde_json::json;
use tokio::runtime::Runtime;

/// How many calls are made at a time.
const IN_FLIGHT: [usize; 3] = [1, 16, 64];
const REVISIONS: [Revision; 2] = [Revision::NEWEST_LEGACY, Revision::NEWEST_MODERN];

fn server(revision: Revision) -> Builder {
    let tool = Tool::new("echo").replies(text("hello"));
    MockServer::builder().tool(tool).revision(revision.to_string()).recorder(Recorder::disabled())
}

fn config(endpoint: Endpoint, revision: Revision) -> ServerConfig {
    let mut config = ServerConfig::new("bench", endpoint);
    config.protocol = RevisionChoice::Pinned(revision);
    config
}

async fn calls(connection: &Connection, count: usize) {
    let call = || connection.call("echo", json!({"text": "hello"}), CallOptions::default());
    for outcome in futures::future::join_all((0..count).map(|_| call())).await {
        assert_eq!(outcome.expect("a result").text(), "hello");
    }
}

fn measure(criterion: &mut Criterion, transport: &str, revision: Revision, runtime: &Runtime, connection: &Connection) {
    let mut group = criterion.benchmark_group(format!("{transport}/{revision}"));
    for count in IN_FLIGHT {
        group.throughput(Throughput::Elements(count as u64));
        group.bench_function(BenchmarkId::from_parameter(count), |bencher| {
            bencher.to_async(runtime).iter(|| calls(connection, count));
        });
    }
    group.finish();
}

fn over_http(criterion: &mut Criterion) {
    let (servers, runtime) = (Runtime::new().expect("a runtime"), Runtime::new().expect("a runtime"));
    for revision in REVISIONS {
        let server = servers.block_on(server(revision).start()).expect("a server");
        let endpoint = Endpoint::StreamableHttp(HttpEndpoint { url: server.url(), ..HttpEndpoint::default() });
        let connected = runtime.block_on(connect_with(config(endpoint, revision), Default::default()));
        let connection = connected.expect("a connection");
        measure(criterion, "http", revision, &runtime, &connection);
        runtime.block_on(connection.close());
        servers.block_on(server.stop());
    }
}

/// Lines as over stdio, without a process.
fn over_lines(criterion: &mut Criterion) {
    let (servers, runtime) = (Runtime::new().expect("a runtime"), Runtime::new().expect("a runtime"));
    for revision in REVISIONS {
        let (server, stream) = {
            let _entered = servers.enter();
            server(revision).duplex()
        };
        let (reader, writer) = tokio::io::split(stream);
        let config = config(Endpoint::Stdio(Default::default()), revision);
        let connected = runtime.block_on(connect_over(config, reader, writer, Default::default()));
        let connection = connected.expect("a connection");
        measure(criterion, "lines", revision, &runtime, &connection);
        runtime.block_on(connection.close());
        drop(server);
    }
}

criterion_group!(benches, over_http, over_lines);
criterion_main!(benches);
