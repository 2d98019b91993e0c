//! The workbench as an MCP server, in the handshake revisions and in 2026-07-28, over streams and over HTTP.
//!
//! The protocol is rmcp's. This module says what the workbench is and offers; what its tools do is in `crate::tools`, what can
//! be read in [`resources`] and [`prompts`].

mod http;
mod opening;
mod prompts;
mod resources;
pub(crate) mod teller;

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

use self::{opening::Opening, teller::Teller};
use crate::{
    tools::{self, Answer, Call},
    trouble::Trouble,
    workbench::Workbench,
};

/// Under which key of `_meta` a failed result says what failed, for programs.
const ERROR: &str = "mcp-workbench/error";

/// Under which key of `_meta` results of 2026-07-28 name the server (basic, "`_meta`").
const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
/// For how long lists may be kept, in milliseconds.
const KEPT_MS: u64 = 600_000;

const INSTRUCTIONS: &str = "Tests MCP servers and clients. While you write a server, call `validate_server` with the \
    command that starts it, or with its URL: it judges the server by the specification, in every revision that it speaks, \
    and cites requirement and evidence of what failed. `list_tools` shows what clients see of it, `diff_tools` what a change \
    means to those who use it, `convert_schema` what each model provider makes of them, `bench_server` how it takes load. `run_scenarios` judges a client instead. `list_scenarios` and \
    `explain_requirement` say what is judged, and why. Runs take seconds to minutes and report progress; one goes on at a time. \
    Commands run as the user of the workbench.";

/// Why serving over streams ended badly.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The other end spoke something else than MCP, or broke off.
    #[error("no session came about")]
    Session(#[source] Box<ServerInitializeError>),
    /// The session ended in a fault of the workbench itself.
    #[error("the session ended in a fault of the workbench")]
    Fault(#[source] tokio::task::JoinError),
}

/// Serves one client over a pair of streams, until it closes them or `over` is cancelled. Runs that are under way then are
/// ended with [`Workbench::close`].
///
/// # Errors
/// If no session comes about. That nobody says anything before the streams close is no error.
pub async fn serve(
    workbench: &Workbench,
    reader: impl AsyncRead + Send + Unpin + 'static,
    writer: impl AsyncWrite + Send + Unpin + 'static,
    over: CancellationToken,
) -> Result<(), ServeError> {
    let served = Served { workbench: workbench.clone() };
    let running = match served.serve_with_ct(Opening::new(reader, writer), over).await {
        Ok(running) => running,
        Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => return Ok(()),
        Err(error) => return Err(ServeError::Session(Box::new(error))),
    };
    running.waiting().await.map(drop).map_err(ServeError::Fault)
}

/// Serves one client over standard input and output. Nothing else may write to standard output.
///
/// # Errors
/// As [`serve`].
pub async fn serve_stdio(workbench: &Workbench, over: CancellationToken) -> Result<(), ServeError> {
    let (reader, writer) = rmcp::transport::io::stdio_pipes();
    serve(workbench, reader, writer, over).await
}

/// A whole list as one page. It changes only with the program, so clients of 2026-07-28 may keep it for a while.
macro_rules! page {
    ($kind:ident, $items:expr, $signature:expr) => {{
        let mut page = $kind::with_all_items($items);
        if let Some(signature) = $signature {
            page.meta = Some(signature);
            page.ttl_ms = Some(KEPT_MS);
        }
        page
    }};
}

/// What rmcp serves.
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
        whole(request)?;
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
            .ok_or_else(|| ErrorData::invalid_params(format!("there is no tool `{}`", request.name), None))?;
        let (teller, told) = Teller::for_request(&context);
        let call = Call { workbench: self.workbench.clone(), teller, cancel: context.ct.clone() };
        // What was told is sent before the answer: a client forgets the progress token once it has that.
        let (outcome, ()) = tokio::join!(tool.call(call, request.arguments.unwrap_or_default()), told.forward());
        let mut result = outcome.map_or_else(|trouble| failure(&trouble), success);
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
        whole(request)?;
        Ok(page!(ListResourcesResult, resources::list(), signature(&context)))
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        whole(request)?;
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
        whole(request)?;
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

/// What a result of 2026-07-28 says of its server. Other revisions do not know it.
fn signature(context: &RequestContext<RoleServer>) -> Option<MetaObject> {
    context.protocol_version().filter(|version| !version.has_initialize())?;
    let mut meta = MetaObject::new();
    meta.insert(SERVER_INFO.to_owned(), json!(implementation()));
    Some(meta)
}

/// Lists come in one page, so there is no cursor that could be right (2025-11-25, pagination, "Error Handling").
fn whole(request: Option<PaginatedRequestParams>) -> Result<(), ErrorData> {
    match request.and_then(|request| request.cursor) {
        Some(_) => Err(ErrorData::invalid_params("there is no such cursor: lists come in one page", None)),
        None => Ok(()),
    }
}

/// "A tool that returns structured content SHOULD also return the serialized JSON in a TextContent block" (2025-06-18, tools,
/// "Structured Content"); before it stands what a person, or a model in a hurry, reads.
fn success(answer: Answer) -> CallToolResult {
    let json = answer.value.to_string();
    let mut result = CallToolResult::success(vec![ContentBlock::text(answer.text), ContentBlock::text(json)]);
    result.structured_content = Some(answer.value);
    result
}

fn failure(trouble: &Trouble) -> CallToolResult {
    let mut result = CallToolResult::error(vec![ContentBlock::text(trouble.to_string())]);
    let told = json!({ "kind": trouble.kind, "message": trouble.message, "advice": trouble.advice });
    let mut meta = MetaObject::new();
    meta.insert(ERROR.to_owned(), told);
    result.meta = Some(meta);
    result
}
