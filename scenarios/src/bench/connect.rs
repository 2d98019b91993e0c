//! Load tests of an MCP server with the built-in client.
//!
//! The tool is looked up before the first call: a load test of an unknown tool would measure error responses. Lost
//! connections are not restored; calls on them fail and are counted.

use std::{convert::Infallible, sync::Arc, time::Duration};

use client::{
    CallError, CallOptions, ConnectError, ConnectOptions, Connection, Endpoint, ListError, ServerConfig, ToolList,
    Transport, connect_with,
};
use diagnostics::nearest;
use futures::{StreamExt, TryStreamExt, future, stream};
use serde_json::{Map, Value};
use thiserror::Error;

use super::{
    CallFailure, Caller, LoadPlan, Position,
    iteration::{Iterations, Operation, has_placeholder},
    shared::threads,
    template::{Template, Values},
};
use crate::{
    drive::user,
    model::{HoldOperation, ListKind, LoadOperation, Shape},
};

/// Error kind of a call whose result is a tool error.
pub const TOOL_ERROR: &str = "tool-error";

/// Error kind of a call that requires user input.
pub const INPUT_REQUIRED: &str = "input-required";

/// Error kind of a result without the members that its method requires.
pub(super) const MALFORMED_RESULT: &str = "malformed-result";

/// Error kind of a session that was not opened.
const NO_SESSION: &str = "no-session";

/// The kind that the client gives to a cancelled call.
const CANCELLED: &str = "cancelled";

/// Maximum number of connections to an HTTP server in a closed loop, which has one per user.
const MAX_CONNECTIONS: usize = 64;

/// Connections to an HTTP server in an open loop: one would be the bottleneck, as its messages pass through one task.
pub(super) const OPEN_CONNECTIONS: usize = 8;

/// Maximum number of concurrent connection attempts.
const CONNECTING: usize = 8;

/// Makes the requests of a load over one or more connections in turn. Clones share the connections.
#[derive(Debug, Clone)]
pub struct ClientCaller {
    /// For further sessions.
    config: Arc<ServerConfig>,
    /// The same, with the user of the load.
    connect_options: ConnectOptions,
    connections: Arc<[Connection]>,
    iterations: Arc<Iterations>,
    /// The parameters of each operation.
    params: Arc<[Params]>,
    timeout: Duration,
}

/// The parameters of an operation.
#[derive(Debug)]
enum Params {
    Fixed(Map<String, Value>),
    Filled(Template),
}

/// A load test that cannot start.
#[derive(Debug, Error)]
pub enum LoadConnectError {
    /// The connection failed.
    #[error("cannot connect")]
    Connect(#[source] ConnectError),
    /// The connection over HTTP/2 failed.
    #[error("cannot connect over HTTP/2")]
    ConnectHttp2(#[source] ConnectError),
    /// Listing the tools failed.
    #[error("cannot list the tools of the server")]
    List(#[source] Box<ListError>),
    /// The server does not have the tool.
    #[error("the server has no tool `{tool}`: {advice}")]
    UnknownTool {
        /// The tool of the load.
        tool: String,
        /// The most similar tool, or the available tools.
        advice: String,
    },
    /// The revision does not have a method of the load.
    #[error("revision {revision} has no `{method}`")]
    UnknownMethod {
        /// The method.
        method: String,
        /// The negotiated revision.
        revision: &'static str,
    },
    /// The tool definition is invalid.
    #[error("the tool `{tool}` cannot be used: {reason}")]
    RejectedTool {
        /// The tool of the load.
        tool: String,
        /// The reason.
        reason: String,
    },
}

/// Default number of connections: one to a stdio server, since each connection starts a process. An HTTP server gets one
/// per user of a closed loop, up to 64, and up to 8 for an open loop. Over HTTP/2 each thread has one.
#[must_use]
pub fn usual_connections(endpoint: &Endpoint, plan: &LoadPlan) -> usize {
    match (endpoint, plan.shape()) {
        (Endpoint::Stdio(_), _) => 1,
        _ if plan.http2() => threads(plan.concurrency()),
        (_, Shape::Closed(_)) => plan.concurrency().min(MAX_CONNECTIONS),
        (_, Shape::Open(_)) => plan.concurrency().min(OPEN_CONNECTIONS),
    }
}

impl ClientCaller {
    /// Opens this many connections (at least one), and looks up the tools on each.
    ///
    /// # Errors
    ///
    /// If a connection fails or lacks a tool. Open connections are closed.
    pub async fn connect(config: &ServerConfig, connections: usize, plan: &LoadPlan) -> Result<Self, LoadConnectError> {
        let mut config = config.clone();
        // A server without HTTP/2 is then an error before the load.
        if let Endpoint::Auto(http) | Endpoint::StreamableHttp(http) | Endpoint::Sse(http) = &mut config.endpoint {
            http.http2 = plan.http2();
        }
        // The plan limits concurrent requests; the limit of the client must not affect the measurement.
        config.limits.concurrent_requests = config.limits.concurrent_requests.max(plan.concurrency());
        // Requests other than calls have this timeout.
        config.timeouts.request = config.timeouts.request.max(plan.timeout());
        let iterations = plan.iterations();
        let host = plan.user().map(|user| user::link_to(user.clone(), false));
        let options = ConnectOptions { host, ..ConnectOptions::default() };
        let connections: Vec<Connection> = stream::iter(0..connections.max(1))
            .map(|_| connect_once(config.clone(), options.clone(), iterations.operations()))
            .buffer_unordered(CONNECTING)
            .try_collect()
            .await?;
        Ok(Self {
            config: Arc::new(config),
            connect_options: options,
            connections: connections.into(),
            params: iterations.operations().iter().map(|operation| Params::new(operation, iterations)).collect(),
            iterations: Arc::clone(iterations),
            timeout: plan.timeout(),
        })
    }

    /// One of the connections.
    #[must_use]
    pub fn connection(&self) -> &Connection {
        &self.connections[0]
    }

    /// All connections.
    pub(super) fn all(&self) -> &[Connection] {
        &self.connections
    }

    /// Name of the transport in the run model.
    #[must_use]
    pub fn transport(&self) -> &'static str {
        match self.connection().transport() {
            Transport::Stdio => "stdio",
            Transport::StreamableHttp => "streamable-http",
            Transport::HttpSse => "sse",
        }
    }

    /// Process ids of the servers, over stdio.
    pub(crate) fn processes(&self) -> Vec<i32> {
        self.connections.iter().filter_map(Connection::process_id).collect()
    }

    /// Number of connections.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.connections.len()
    }

    /// Closes all connections concurrently.
    pub async fn close(&self) -> Vec<client::CloseReport> {
        future::join_all(self.connections.iter().map(Connection::close)).await
    }
}

impl Caller for ClientCaller {
    async fn call(&self, at: Position, cursor: Option<String>) -> Result<Option<String>, CallFailure> {
        // The remainder is smaller than the number of connections, which is a `usize`.
        let connection = &self.connections[(at.iteration % self.connections.len() as u64) as usize];
        let operation = &self.iterations.operations()[at.operation];
        let mut params = self.params[at.operation].fill(at, &self.iterations);
        if let Some(cursor) = cursor {
            params.insert("cursor".to_owned(), cursor.into());
        }
        let result = match &operation.definition {
            LoadOperation::Call(_) => call_tool(connection, params, self.options()).await?,
            LoadOperation::Session(_) => return self.open_session().await.map(|()| None),
            LoadOperation::Cancel(cancel) => {
                return self.cancel_call(connection, params, cancel.after.0).await.map(|()| None);
            }
            LoadOperation::Hold(hold) => return hold_subscription(connection, &params, hold).await.map(|()| None),
            other => request(connection, other, params).await?,
        };
        match operation.list() {
            Some(list) => next_page(list, &result),
            None => operation.expectation.check_value(&result).map(|()| None),
        }
    }
}

impl ClientCaller {
    fn options(&self) -> CallOptions {
        // Progress does not extend the timeout: latency ends with the result.
        CallOptions { timeout: Some(self.timeout), reset_on_progress: false, ..CallOptions::default() }
    }

    /// Calls a tool, and cancels the call if it has no result after this time.
    async fn cancel_call(
        &self,
        connection: &Connection,
        params: Map<String, Value>,
        after: Duration,
    ) -> Result<(), CallFailure> {
        let options = self.options();
        let cancel = options.cancel.clone();
        let canceller = async {
            tokio::time::sleep(after).await;
            cancel.cancel();
            // The call ends when its cancellation was sent.
            future::pending::<Infallible>().await
        };
        let called = tokio::select! {
            called = call_tool(connection, params, options) => called,
            never = canceller => match never {},
        };
        match called {
            Err(failure) if failure.kind != CANCELLED => Err(failure),
            _ => Ok(()),
        }
    }

    async fn open_session(&self) -> Result<(), CallFailure> {
        let opened = connect_with(ServerConfig::clone(&self.config), self.connect_options.clone()).await;
        let opened = opened.map_err(|error| CallFailure::new(NO_SESSION, error_text(&error)))?;
        opened.close().await;
        Ok(())
    }
}

async fn call_tool(
    connection: &Connection,
    mut params: Map<String, Value>,
    options: CallOptions,
) -> Result<Map<String, Value>, CallFailure> {
    let arguments = params.remove("arguments").unwrap_or_default();
    let tool = params.get("name").and_then(Value::as_str).unwrap_or_default();
    match connection.call(tool, arguments, options).await {
        Ok(result) if result.is_error() => Err(CallFailure::new(TOOL_ERROR, result.text())),
        Ok(result) if result.result_type() != "complete" => Err(incomplete(result.result_type())),
        Ok(result) => Ok(result.wire().clone()),
        Err(error) => Err(failed(error)),
    }
}

fn failed(error: CallError) -> CallFailure {
    CallFailure::new(error.kind(), error_text(&error))
}

async fn hold_subscription(
    connection: &Connection,
    params: &Map<String, Value>,
    hold: &HoldOperation,
) -> Result<(), CallFailure> {
    let uri = params.get("uri").and_then(Value::as_str).unwrap_or_default();
    connection.subscribe_resource(uri).await.map_err(failed)?;
    tokio::time::sleep(hold.period.0).await;
    connection.unsubscribe_resource(uri).await.map_err(failed)
}

/// Sends a request that is not a call of a tool.
async fn request(
    connection: &Connection,
    operation: &LoadOperation,
    params: Map<String, Value>,
) -> Result<Map<String, Value>, CallFailure> {
    let params = Some(Value::Object(params)).filter(|params| params.as_object().is_some_and(|all| !all.is_empty()));
    let result = connection.request_method(operation.method(), params).await.map_err(failed)?;
    match result {
        Value::Object(result) => match result.get("resultType").and_then(Value::as_str) {
            None | Some("complete") => Ok(result),
            Some(other) => Err(incomplete(other)),
        },
        _ => Err(malformed("the result is not an object".to_owned())),
    }
}

/// The cursor of the next page of a list.
fn next_page(list: ListKind, result: &Map<String, Value>) -> Result<Option<String>, CallFailure> {
    if !result.get(list.field()).is_some_and(Value::is_array) {
        return Err(malformed(format!("the result has no array `{}`", list.field())));
    }
    match result.get("nextCursor") {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(cursor)) => Ok(Some(cursor.clone())),
        Some(_) => Err(malformed("`nextCursor` is not a string".to_owned())),
    }
}

fn incomplete(result_type: &str) -> CallFailure {
    CallFailure::new(INPUT_REQUIRED, format!("the result has the type `{result_type}`"))
}

fn malformed(text: String) -> CallFailure {
    CallFailure::new(MALFORMED_RESULT, text)
}

impl Params {
    fn new(operation: &Operation, iterations: &Iterations) -> Self {
        let params = operation.definition.params();
        // The plan has rejected unknown placeholders.
        let template = iterations.template(&params).unwrap_or_default();
        if template.fixed_len().is_some() { Self::Fixed(params) } else { Self::Filled(template) }
    }

    fn fill(&self, position: Position, iterations: &Iterations) -> Map<String, Value> {
        match self {
            Self::Fixed(params) => params.clone(),
            Self::Filled(template) => {
                let mut bytes = Vec::new();
                let Position { iteration, user, .. } = position;
                let values = Values { id: 0, iteration, user, cursor: None, data: iterations.data() };
                template.fill(&mut bytes, values);
                // Filled templates are JSON.
                serde_json::from_slice(&bytes).unwrap_or_default()
            }
        }
    }
}

/// The message of an error with its causes.
fn error_text(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

/// Methods that revision 2026-07-28 removed.
const REMOVED: [&str; 4] = ["logging/setLevel", "ping", "resources/subscribe", "resources/unsubscribe"];

/// Opens one connection, and looks up the tools and methods of the operations.
async fn connect_once(
    config: ServerConfig,
    options: ConnectOptions,
    operations: &[Operation],
) -> Result<Connection, LoadConnectError> {
    let is_http2 = matches!(
        &config.endpoint,
        Endpoint::Auto(http) | Endpoint::StreamableHttp(http) | Endpoint::Sse(http) if http.http2
    );
    let failed = if is_http2 { LoadConnectError::ConnectHttp2 } else { LoadConnectError::Connect };
    let connection = connect_with(config, options).await.map_err(failed)?;
    match check(&connection, operations).await {
        Ok(()) => Ok(connection),
        Err(error) => {
            connection.close().await;
            Err(error)
        }
    }
}

async fn check(connection: &Connection, operations: &[Operation]) -> Result<(), LoadConnectError> {
    let revision = connection.revision();
    let mut methods = operations.iter().map(|operation| operation.definition.method());
    if let Some(method) = methods.find(|method| revision.is_modern() && REMOVED.contains(method)) {
        return Err(LoadConnectError::UnknownMethod { method: method.to_owned(), revision: revision.as_str() });
    }
    let tools: Vec<String> = operations.iter().filter_map(Operation::tool).collect();
    // A server without tools needs no list of them.
    if tools.is_empty() {
        return Ok(());
    }
    let list = connection.list_tools().await.map_err(|error| LoadConnectError::List(Box::new(error)))?;
    tools.iter().filter(|tool| !has_placeholder(tool)).try_for_each(|tool| find(&list, tool))
}

fn find(list: &ToolList, tool: &str) -> Result<(), LoadConnectError> {
    if list.tools.iter().any(|offered| offered.name() == tool) {
        return Ok(());
    }
    let tool = tool.to_owned();
    if let Some(rejected) = list.rejected.iter().find(|rejected| rejected.name.as_ref() == Some(&tool)) {
        return Err(LoadConnectError::RejectedTool { tool, reason: rejected.reason.clone() });
    }
    let advice = nearest::advice(&tool, list.tools.iter().map(|offered| offered.name()));
    Err(LoadConnectError::UnknownTool { tool, advice })
}

#[cfg(test)]
mod tests {
    use client::HttpEndpoint;
    use evidence::Recorder;
    use mock_servers::{HttpMock, Script};
    use serde_json::json;
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::bench;

    async fn mock() -> (HttpMock, ServerConfig) {
        let script: Script = serde_json::from_value(json!({
            "tools": [{ "name": "echo" }, { "name": "broken", "reply": { "text": "no", "is_error": true } }],
            "on": [
                { "when": { "tool": "echo", "arguments": { "text": "refuse" } },
                  "do": { "error": { "code": -32602, "message": "no" } } },
                { "when": { "tool": "echo", "arguments": { "text": "stall" } }, "do": { "fault": "silence" } },
            ],
        }))
        .unwrap();
        let mock = HttpMock::start(script, "2025-11-25", 0, Recorder::disabled()).await.unwrap();
        let endpoint = Endpoint::StreamableHttp(HttpEndpoint { url: mock.url(), ..HttpEndpoint::default() });
        (mock, ServerConfig::new("mock", endpoint))
    }

    /// A short load. The limit is generous, but for the calls that must run into it.
    fn plan(tool: &str, text: &str) -> LoadPlan {
        let timeout = if text == "stall" { "50ms" } else { "20s" };
        let load = serde_json::from_value(json!({
            "tool": tool,
            "arguments": { "text": text },
            "shape": { "closed": { "users": 3 } },
            "duration": "100ms",
            "timeout": timeout,
        }));
        LoadPlan::new(&load.unwrap()).unwrap()
    }

    #[tokio::test]
    async fn counts_how_calls_end_by_kind() {
        let (mock, config) = mock().await;
        for (tool, text, kind) in [
            ("echo", "hello", None),
            ("echo", "refuse", Some("rpc-error")),
            ("echo", "stall", Some(bench::TIMED_OUT)),
            ("broken", "", Some(TOOL_ERROR)),
        ] {
            let plan = plan(tool, text);
            let connections = usual_connections(&config.endpoint, &plan);
            let caller = ClientCaller::connect(&config, connections, &plan).await.unwrap();
            assert_eq!((caller.connections(), caller.transport()), (3, "streamable-http"));
            let result = bench::run(&plan, caller.clone(), |_| (), CancellationToken::new()).await;
            assert_eq!(
                result.errors.keys().map(String::as_str).collect::<Vec<_>>(),
                Vec::from_iter(kind),
                "{result:?}"
            );
            assert_eq!((result.succeeded > 0, result.passed()), (kind.is_none(), kind.is_none()), "{result:?}");
            assert_eq!(result.unfinished, 0, "{result:?}");
            // The client keeps the limit, and cancels the call; the engine's own is 250 ms later.
            let fastest = result.latency.map(|latency| latency.min_us);
            assert!(
                text != "stall" || fastest.is_some_and(|fastest| (50_000..300_000).contains(&fastest)),
                "{result:?}"
            );
            assert!(caller.close().await.iter().all(|report| report.transport_closed));
        }
        mock.stop().await;
    }

    #[tokio::test]
    async fn an_unknown_tool_is_an_error_before_the_first_call() {
        let (mock, config) = mock().await;
        let plan = plan("ecko", "hello");
        let error = ClientCaller::connect(&config, 2, &plan).await.unwrap_err();
        assert_eq!(error.to_string(), "the server has no tool `ecko`: did you mean `echo`?");
        mock.stop().await;
    }

    #[tokio::test]
    async fn sessions_are_opened_calls_cancelled_and_subscriptions_held() {
        for revision in ["2025-11-25", "2026-07-28"] {
            let script: Script = serde_json::from_value(json!({
                "capabilities": { "tools": {}, "resources": { "subscribe": true } },
                "tools": [{ "name": "slow" }],
                "resources": [{ "uri": "test://a" }],
                "on": [{ "when": { "tool": "slow" }, "do": { "fault": "silence" } }],
            }))
            .unwrap();
            let recorder = Recorder::in_memory("mock");
            let mock = HttpMock::start(script, revision, 0, recorder.clone()).await.unwrap();
            let endpoint = Endpoint::StreamableHttp(HttpEndpoint { url: mock.url(), ..HttpEndpoint::default() });
            let load = json!({
                "steps": [
                    { "session": {} },
                    { "cancel": { "tool": "slow", "after": "5ms" } },
                    { "hold": { "uri": "test://a", "for": "5ms" } },
                ],
                "shape": { "closed": { "users": 1 } },
                "duration": "100ms",
                "timeout": "20s",
            });
            let plan = LoadPlan::new(&serde_json::from_value(load).unwrap()).unwrap();
            let caller = ClientCaller::connect(&ServerConfig::new("mock", endpoint), 1, &plan).await.unwrap();
            assert!(bench::raw::supports(&caller, &plan).is_some_and(|reason| reason.contains("session/open")));
            let result = bench::run(&plan, caller.clone(), |_| (), CancellationToken::new()).await;
            caller.close().await;
            mock.stop().await;
            assert!(result.errors.is_empty() && result.succeeded > 0, "{result:?}");
            let frames = recorder.frames();
            let sent = |method: &str| {
                frames.iter().filter(|frame| frame.from_client() && frame.method() == Some(method)).count()
            };
            let held = if revision == "2025-11-25" {
                assert!(sent("initialize") > 1 && sent("notifications/cancelled") > 0, "{frames:#?}");
                assert_eq!(sent("resources/subscribe"), sent("resources/unsubscribe"));
                sent("resources/subscribe")
            } else {
                // Closing the response is the cancellation.
                assert!(sent("server/discover") > 1 && sent("tools/call") > 0, "{frames:#?}");
                sent("subscriptions/listen")
            };
            assert!(held > 0, "{frames:#?}");
        }
    }

    #[tokio::test]
    async fn the_user_of_the_load_answers_forms() {
        for revision in ["2025-11-25", "2026-07-28"] {
            let form =
                json!({ "type": "object", "properties": { "name": { "type": "string" } }, "required": ["name"] });
            let request =
                json!({ "method": "elicitation/create", "params": { "message": "Who?", "requestedSchema": form } });
            let script: Script = serde_json::from_value(json!({
                "tools": [{ "name": "greet" }],
                "on": [{
                    "when": { "tool": "greet" },
                    "do": [{ "request": request }, { "reply": { "text": "{{response.action}} {{response.content.name}}" } }],
                }],
            }))
            .unwrap();
            let mock = HttpMock::start(script, revision, 0, Recorder::disabled()).await.unwrap();
            let endpoint = Endpoint::StreamableHttp(HttpEndpoint { url: mock.url(), ..HttpEndpoint::default() });
            let run = async |user: Value| {
                let load = json!({
                    "tool": "greet",
                    "shape": { "closed": { "users": 2 } },
                    "duration": "100ms",
                    "timeout": "20s",
                    "expect": { "text": "accept Ada" },
                    "user": user,
                });
                let plan = LoadPlan::new(&serde_json::from_value(load).unwrap()).unwrap();
                let config = ServerConfig::new("mock", endpoint.clone());
                let caller = ClientCaller::connect(&config, 2, &plan).await.unwrap();
                let needs_client = bench::raw::supports(&caller, &plan).is_some();
                let result = bench::run(&plan, caller.clone(), |_| (), CancellationToken::new()).await;
                caller.close().await;
                (needs_client, result)
            };
            let (needs_client, result) = run(json!({ "form": { "accept": { "name": "Ada" } } })).await;
            assert!(needs_client && result.errors.is_empty() && result.succeeded > 0, "{result:?}");
            let (needs_client, result) = run(Value::Null).await;
            assert!(!needs_client && result.succeeded == 0 && !result.errors.is_empty(), "{result:?}");
            mock.stop().await;
        }
    }

    #[test]
    fn a_program_is_started_once_and_users_have_sessions_of_their_own() {
        let plan = |shape: Value| {
            let load = json!({ "tool": "echo", "shape": shape, "duration": "1s" });
            LoadPlan::new(&serde_json::from_value(load).unwrap()).unwrap()
        };
        let http = Endpoint::Auto(HttpEndpoint::default());
        for (endpoint, shape, connections) in [
            (&Endpoint::Stdio(client::StdioEndpoint::default()), json!({ "closed": { "users": 100 } }), 1),
            (&http, json!({ "closed": { "users": 20 } }), 20),
            (&http, json!({ "closed": { "users": 100 } }), 64),
            (&http, json!({ "open": { "rate": 100 } }), 8),
            (&http, json!({ "open": { "rate": 100, "max_in_flight": 2 } }), 2),
        ] {
            assert_eq!(usual_connections(endpoint, &plan(shape.clone())), connections, "{shape}");
        }
    }
}
