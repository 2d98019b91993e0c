//! What each scenario wants to see. Most want the same: the list of the tools, and one call.

use anyhow::{Context as _, bail};
use client::{
    CallOptions, ConnectOptions, Connection, Endpoint, HostLink, HttpEndpoint, RevisionChoice, ServerConfig,
    ToolResult, connect_with,
};
use serde_json::{Map, Value, json};

use super::{Request, auth, user};

/// Does what the scenario asks for.
pub(super) async fn scenario(request: &Request) -> anyhow::Result<()> {
    let link = user::link();
    let connection = connect_with(config(request), options(request, link.clone())?).await?;
    let done = tokio::select! {
        done = work(request, &connection) => done,
        // The link is held here, so questions never end before the work does.
        () = user::answer(&link, &connection) => Ok(()),
    };
    connection.close().await;
    done
}

/// Streamable HTTP, in the revision that the suite has resolved; without one the client finds out by itself.
fn config(request: &Request) -> ServerConfig {
    let endpoint = HttpEndpoint { url: request.url.clone(), ..HttpEndpoint::default() };
    let revision = request.revision.as_deref().and_then(|revision| revision.parse().ok());
    let protocol = revision.map_or(RevisionChoice::Auto, RevisionChoice::Pinned);
    ServerConfig { protocol, ..ServerConfig::new("suite", Endpoint::StreamableHttp(endpoint)) }
}

/// Host and authorizer of the scenario.
fn options(request: &Request, link: HostLink) -> anyhow::Result<ConnectOptions> {
    let authorizer = request.scenario.starts_with("auth/").then(|| auth::authorizer(request)).transpose()?;
    Ok(ConnectOptions { host: Some(link), authorizer, ..ConnectOptions::default() })
}

async fn work(request: &Request, connection: &Connection) -> anyhow::Result<()> {
    match request.scenario.as_str() {
        "request-metadata" | "json-schema-ref-no-deref" => connection.list_tools().await.map(drop)?,
        "json-schema-2020-12-preservation" => echo_schema(connection).await?,
        "http-custom-headers" => call_from_context(request, connection).await?,
        "http-invalid-tool-headers" | "sep-2322-client-request-state" => call_all(connection).await?,
        "http-standard-headers" => use_all(connection).await?,
        name if name.starts_with("auth/") => authorized(connection).await?,
        _ => call_first(connection).await?,
    }
    Ok(())
}

/// Calls the first tool. The arguments suit the tool that adds two numbers; no other first tool of the suite has any.
async fn call_first(connection: &Connection) -> anyhow::Result<()> {
    let list = connection.list_tools().await?;
    let Some(tool) = list.tools.first() else { return Ok(()) };
    let takes_numbers = tool.input_schema().and_then(|schema| schema.get("properties")?.get("a")).is_some();
    let arguments = if takes_numbers { json!({ "a": 2, "b": 3 }) } else { json!({}) };
    call(connection, tool.name(), arguments).await.map(drop)
}

/// Calls every tool that is left when those with wrong annotations are not.
async fn call_all(connection: &Connection) -> anyhow::Result<()> {
    for tool in &connection.list_tools().await?.tools {
        let takes_region = tool.input_schema().and_then(|schema| schema.get("properties")?.get("region")).is_some();
        let arguments = if takes_region { json!({ "region": "us-west1" }) } else { json!({}) };
        call(connection, tool.name(), arguments).await?;
    }
    Ok(())
}

/// Makes a request of every kind.
async fn use_all(connection: &Connection) -> anyhow::Result<()> {
    call_first(connection).await?;
    for resource in connection.list_resources().await? {
        let uri = resource.get("uri").and_then(Value::as_str).context("a resource has no URI")?;
        connection.read_resource(uri).await?;
    }
    for prompt in connection.list_prompts().await? {
        let name = prompt.get("name").and_then(Value::as_str).context("a prompt has no name")?;
        connection.get_prompt(name, Map::new()).await?;
    }
    Ok(())
}

/// Makes the calls of the context: values that are hard to send in headers.
async fn call_from_context(request: &Request, connection: &Connection) -> anyhow::Result<()> {
    connection.list_tools().await?;
    let calls = request.context.get("toolCalls").and_then(Value::as_array).context("the context names no calls")?;
    for told in calls {
        let name = told.get("name").and_then(Value::as_str).context("a call of the context has no name")?;
        call(connection, name, told.get("arguments").cloned().unwrap_or_default()).await?;
    }
    Ok(())
}

/// Gives back the schema of one tool, as it was read, through another.
async fn echo_schema(connection: &Connection) -> anyhow::Result<()> {
    const FOCAL: &str = "json_schema_2020_12_tool";
    let list = connection.list_tools().await?;
    let schema = list.get(FOCAL).and_then(|tool| tool.input_schema());
    let schema = schema.with_context(|| format!("the server offers no tool `{FOCAL}`"))?.clone();
    call(connection, "json_schema_echo", json!({ "schema": schema })).await.map(drop)
}

/// A request that needs a token, and one that may need a better one.
async fn authorized(connection: &Connection) -> anyhow::Result<()> {
    const TOOL: &str = "test-tool";
    if connection.list_tools().await?.get(TOOL).is_some() {
        call(connection, TOOL, json!({})).await?;
    }
    Ok(())
}

async fn call(connection: &Connection, tool: &str, arguments: Value) -> anyhow::Result<ToolResult> {
    let called = connection.call(tool, arguments, CallOptions::default()).await;
    let result = called.with_context(|| format!("the call of `{tool}` failed"))?;
    if result.is_error() {
        bail!("`{tool}` reports an error: {}", result.text());
    }
    Ok(result)
}
