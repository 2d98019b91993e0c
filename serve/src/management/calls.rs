//! Routes of tools as a model sees them, and of calls.

use agent::{
    host::{HostTool, Visibility},
    output::Outcome,
    permissions::{ApprovalChoice, ApprovalRequest, ApprovalResponse, Approver, Decider},
};
use axum::{
    Json,
    extract::{Path, Request, State},
};
use client::CallOptions;
use futures::{FutureExt as _, future::BoxFuture};
use http::{StatusCode, Uri};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::{
    Management,
    body::{read, required_query},
    error::{ApiError, ErrorBody},
};
use crate::tools::schema::{Conversion, conversions as conversions_for_all};

/// The tools of all servers.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct AllTools {
    /// All tools, also deferred ones.
    tools: Vec<ToolView>,
    /// The definitions for a request to a model: tools that are not deferred, and the search tool if there are deferred ones.
    #[schema(value_type = Vec<Object>)]
    definitions: Vec<Value>,
    /// Servers whose tools could not be read, with the reason.
    missing: std::collections::BTreeMap<String, String>,
}

/// A tool of a server.
#[derive(Debug, Serialize, ToSchema)]
struct ToolView {
    /// Qualified name, for calls.
    name: String,
    /// The server.
    server: String,
    /// Name on the server.
    tool: String,
    /// `shown`, `loaded` or `deferred`.
    #[schema(value_type = String)]
    visibility: Visibility,
}

impl From<&HostTool> for ToolView {
    fn from(tool: &HostTool) -> Self {
        let (server, name) = (tool.server().to_owned(), tool.tool().name().to_owned());
        Self { name: tool.name.clone(), server, tool: name, visibility: tool.visibility }
    }
}

/// A call.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ToolCall {
    /// Qualified name of the tool.
    name: String,
    /// Arguments. Default: none.
    #[serde(default)]
    #[schema(value_type = Object)]
    arguments: Map<String, Value>,
    /// Whether the user has approved this call. Needed if a rule asks; deny rules still apply. Default: false.
    #[serde(default)]
    approve: bool,
}

/// The result of a call.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct CallResult {
    /// Whether the tool reported an error.
    is_error: bool,
    /// The content for a model: filtered and limited.
    #[schema(value_type = Vec<Object>)]
    content: Value,
    /// The result as received; absent if it was truncated.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    result: Option<Map<String, Value>>,
    /// The effect of the output limits.
    #[schema(value_type = Object)]
    limit: Outcome,
}

/// The client of the API is the user: a call without a rule is approved by its request.
struct RequestApprover {
    approved: bool,
}

impl Approver for RequestApprover {
    fn request(&self, request: ApprovalRequest) -> BoxFuture<'static, Option<ApprovalResponse>> {
        let approved = self.approved || request.decider == Decider::Default;
        std::future::ready(approved.then(|| ApprovalChoice::Once.into())).boxed()
    }
}

/// Lists the tools of all servers as a model sees them, and starts servers if necessary.
#[utoipa::path(get, path = "/tools", responses((status = 200, description = "The tools", body = AllTools)))]
pub(super) async fn tools(State(management): State<Management>) -> Json<AllTools> {
    management.host().ready().await;
    let all = management.host().tools();
    let missing = all
        .missing
        .iter()
        .map(|(server, error)| (server.clone(), management.redact(server, crate::error::error_chain(&**error))));
    let missing = missing.collect();
    Json(AllTools { tools: all.tools.iter().map(ToolView::from).collect(), definitions: all.definitions(), missing })
}

/// Converts a tool for each model provider, with the changes and their reasons.
#[utoipa::path(get, path = "/mcp/{name}/conversions", params(
    ("name" = String, Path, description = "The server"),
    ("tool" = String, Query, description = "Name of the tool on the server"),
), responses(
    (status = 200, description = "A conversion per provider", body = Vec<Conversion>),
    (status = 404, description = "Unknown server or tool", body = ErrorBody),
    (status = 502, description = "The request to the server failed", body = ErrorBody),
))]
pub(super) async fn conversions(
    State(management): State<Management>,
    Path(name): Path<String>,
    uri: Uri,
) -> Result<Json<Vec<Conversion>>, ApiError> {
    let tool = required_query(&uri, "tool")?;
    management.server(&name)?;
    let list = management.host().server_tools(&name).await.map_err(|error| management.error(&name, &error))?;
    let tool = list.get(&tool).ok_or_else(|| {
        let message = format!("server `{name}` has no tool `{tool}`");
        ApiError::new(StatusCode::NOT_FOUND, "unknown-tool", message).with_help("`GET /mcp/{name}/tools` lists them")
    })?;
    Ok(Json(conversions_for_all(&name, tool)))
}

/// Calls a tool by its qualified name. Permission rules, the policy and output limits apply. A denied call is not sent.
#[utoipa::path(post, path = "/tools/call", request_body = ToolCall, responses(
    (status = 200, description = "The result, also one with an error of the tool", body = CallResult),
    (status = 400, description = "Invalid body", body = ErrorBody),
    (status = 403, description = "A rule or the policy denied the call", body = ErrorBody),
    (status = 404, description = "Unknown tool", body = ErrorBody),
    (status = 409, description = "The definition of the tool changed after it was listed", body = ErrorBody),
    (status = 502, description = "The server cannot be used, or the request failed", body = ErrorBody),
))]
pub(super) async fn call(State(management): State<Management>, request: Request) -> Result<Json<CallResult>, ApiError> {
    let ToolCall { name, arguments, approve } = read(request).await?;
    let approver = RequestApprover { approved: approve };
    let host = management.host();
    let called = host.call_approved_by(Some(&approver), &name, arguments.into(), CallOptions::default()).await;
    let called = called.map_err(|error| ApiError::from(error).map(|text| management.redact_all(text)))?;
    let is_whole = matches!(called.limit, Outcome::Whole | Outcome::Large { .. });
    let result = called.result.filter(|_| is_whole).map(|result| result.wire().clone());
    let content = serde_json::to_value(called.content.parts).unwrap_or_default();
    Ok(Json(CallResult { is_error: called.content.is_error, content, result, limit: called.limit }))
}
