//! The workbench as an MCP server, in the handshake revisions and in 2026-07-28, over streams and over HTTP.
//!
//! rmcp implements the protocol. This module declares the server; `crate::tools`, [`resources`] and [`prompts`] implement
//! its features.

mod first_message;
mod http;
mod prompts;
mod resources;

use rmcp::{
    ErrorData, RoleServer, ServerHandler, ServiceExt as _,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestParams, CompleteResult, ContentBlock,
        GetPromptRequestParams, GetPromptResponse, Implementation, ListPromptsResult, ListResourceTemplatesResult,
        ListResourcesResult, ListToolsResult, MetaObject, PaginatedRequestParams, ReadResourceRequestParams,
        ReadResourceResponse, ServerCapabilities, ServerConfig, Tool,
    },
    service::{RequestContext, ServerInitializeError},
};
use serde_json::json;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

pub use http::{PATH, router};

use self::first_message::FirstMessageFilter;
use crate::{
    error::ToolError,
    progress::ProgressReporter,
    tools::{self, Call, ToolOutput},
    workbench::Workbench,
};

/// Key in `_meta` of a failed result with the error, for programs.
const ERROR_KEY: &str = "mcp-workbench/error";

/// Key in `_meta` of results in 2026-07-28 with the server's name (basic, "`_meta`").
const SERVER_INFO_KEY: &str = "io.modelcontextprotocol/serverInfo";
/// Cache time of lists in milliseconds.
const CACHE_MS: u64 = 600_000;

const INSTRUCTIONS: &str = "Tests MCP servers and clients. While you write a server, call `validate_server` with its command or its URL: it \
    validates the server against the specification in every revision it supports, and reports failed requirements with \
    evidence. `list_tools` shows the tools as clients see them, `diff_tools` classifies changes of tools, `convert_schema` \
    converts tools for model providers, and `bench_server` runs load tests. `run_scenarios` tests a client. \
    `list_scenarios` and `explain_requirement` describe scenarios and requirements. Runs take seconds to minutes and report \
    progress; only one run is active at a time. Commands run as the user of mcp-workbench.";

/// Error while serving over streams.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The client did not complete the handshake.
    #[error("session was not established")]
    Session(#[source] Box<ServerInitializeError>),
    /// A panic in mcp-workbench.
    #[error("the session ended with an internal error")]
    Internal(#[source] tokio::task::JoinError),
}

/// Serves one client over a pair of streams, until it closes them or `over` is cancelled. [`Workbench::close`] terminates
/// active runs.
///
/// # Errors
/// If the handshake fails. Streams that close before the first message are not an error.
pub async fn serve(
    workbench: &Workbench,
    reader: impl AsyncRead + Send + Unpin + 'static,
    writer: impl AsyncWrite + Send + Unpin + 'static,
    over: CancellationToken,
) -> Result<(), ServeError> {
    let served = Served { workbench: workbench.clone() };
    let running = match served.serve_with_ct(FirstMessageFilter::new(reader, writer), over).await {
        Ok(running) => running,
        Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => return Ok(()),
        Err(error) => return Err(ServeError::Session(Box::new(error))),
    };
    running.waiting().await.map(drop).map_err(ServeError::Internal)
}

/// Serves one client over stdio. Nothing else may write to standard output.
///
/// # Errors
/// As [`serve`].
pub async fn serve_stdio(workbench: &Workbench, over: CancellationToken) -> Result<(), ServeError> {
    let (reader, writer) = rmcp::transport::io::stdio_pipes();
    serve(workbench, reader, writer, over).await
}

/// A list as one page. It changes only with the program, so clients of 2026-07-28 may cache it.
macro_rules! page {
    ($kind:ident, $items:expr, $signature:expr) => {{
        let mut page = $kind::with_all_items($items);
        if let Some(signature) = $signature {
            page.meta = Some(signature);
            page.ttl_ms = Some(CACHE_MS);
        }
        page
    }};
}

/// The handler that rmcp calls.
#[derive(Debug, Clone)]
struct Served {
    workbench: Workbench,
}

impl ServerHandler for Served {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_resources().enable_prompts().build();
        ServerConfig::new(capabilities).with_server_info(implementation()).with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        reject_cursor(request)?;
        Ok(page!(ListToolsResult, tools::all().map(|tool| tool.description.clone()).collect(), signature(&context)))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        tools::find(name).map(|tool| tool.description.clone())
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let tool = tools::find(&request.name)
            .ok_or_else(|| ErrorData::invalid_params(format!("unknown tool `{}`", request.name), None))?;
        let (progress, forwarder) = ProgressReporter::for_request(&context);
        let call = Call { workbench: self.workbench.clone(), progress, cancel: context.ct.clone() };
        // All progress is sent before the response, because the response ends the validity of the progress token.
        let (outcome, ()) = tokio::join!(tool.call(call, request.arguments.unwrap_or_default()), forwarder.forward());
        let mut result = outcome.map_or_else(|error| failure(&error), success);
        if let Some(signature) = signature(&context) {
            result.meta.get_or_insert_default().extend(signature);
        }
        Ok(result.into())
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        reject_cursor(request)?;
        Ok(page!(ListResourcesResult, resources::list(), signature(&context)))
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        reject_cursor(request)?;
        Ok(page!(ListResourceTemplatesResult, resources::templates(), signature(&context)))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let mut result = resources::read(&self.workbench, &request.uri)?;
        result.meta = signature(&context);
        Ok(result.into())
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        reject_cursor(request)?;
        Ok(page!(ListPromptsResult, prompts::list(), signature(&context)))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let mut result = prompts::get(&request.name, &request.arguments.unwrap_or_default())?;
        result.meta = signature(&context);
        Ok(result.into())
    }

    async fn complete(
        &self,
        _: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        Err(ErrorData::method_not_found::<rmcp::model::CompleteRequestMethod>())
    }
}

fn implementation() -> Implementation {
    Implementation::new("mcp-workbench", env!("CARGO_PKG_VERSION")).with_title("MCP Workbench")
}

/// The server's name for results in 2026-07-28; other revisions do not have it.
fn signature(context: &RequestContext<RoleServer>) -> Option<MetaObject> {
    context.protocol_version().filter(|version| !version.has_initialize())?;
    let mut meta = MetaObject::new();
    meta.insert(SERVER_INFO_KEY.to_owned(), json!(implementation()));
    Some(meta)
}

/// Rejects cursors: lists have one page, so every cursor is invalid (2025-11-25, pagination, "Error Handling").
fn reject_cursor(request: Option<PaginatedRequestParams>) -> Result<(), ErrorData> {
    match request.and_then(|request| request.cursor) {
        Some(_) => Err(ErrorData::invalid_params("unknown cursor: lists have one page", None)),
        None => Ok(()),
    }
}

/// "A tool that returns structured content SHOULD also return the serialized JSON in a TextContent block" (2025-06-18, tools,
/// "Structured Content"); the first block is a summary for users and models.
fn success(output: ToolOutput) -> CallToolResult {
    let json = output.value.to_string();
    let mut result = CallToolResult::success(vec![ContentBlock::text(output.text), ContentBlock::text(json)]);
    result.structured_content = Some(output.value);
    result
}

fn failure(error: &ToolError) -> CallToolResult {
    let mut result = CallToolResult::error(vec![ContentBlock::text(error.to_string())]);
    let details = json!({ "kind": error.kind, "message": error.message, "help": error.help });
    let mut meta = MetaObject::new();
    meta.insert(ERROR_KEY.to_owned(), details);
    result.meta = Some(meta);
    result
}
