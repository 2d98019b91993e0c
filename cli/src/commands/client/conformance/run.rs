//! The actions of each scenario. Most need the tool list and one call.

use anyhow::{Context as _, bail};
use client::{
    CallOptions, ConnectOptions, Connection, Endpoint, HostLink, HttpEndpoint, RevisionChoice, ServerConfig,
    ToolResult, connect_with,
};
use serde_json::{Map, Value, json};

use super::{Request, auth, user};

/// Executes the scenario.
pub(super) async fn scenario(request: &Request) -> anyhow::Result<()> {
    let link = user::link();
    let connection = connect_with(config(request), options(request, link.clone())?).await?;
    let done = tokio::select! {
        done = work(request, &connection) => done,
        // The link stays open, so requests of the server never close before the work finishes.
        () = user::answer(&link, &connection) => Ok(()),
    };
    connection.close().await;
    done
}

/// Streamable HTTP in the revision of the suite, or a negotiated one.
fn config(request: &Request) -> ServerConfig {
    let endpoint = HttpEndpoint { url: request.url.clone(), ..HttpEndpoint::default() };
    let revision = request.revision.as_deref().and_then(|revision| revision.parse().ok());
    let protocol = revision.map_or(RevisionChoice::Auto, RevisionChoice::Pinned);
    ServerConfig { protocol, ..ServerConfig::new("suite", Endpoint::StreamableHttp(endpoint)) }
}

/// Client features and authorizer of the scenario.
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
        "sep-2640-client-no-prefetch" => connection.list_skills().await.map(drop)?,
        name if name.starts_with("sep-2640-client-verify-") => load_skill(connection).await?,
        name if name.starts_with("auth/") => authorized(connection).await?,
        _ => call_first(connection).await?,
    }
    Ok(())
}

/// Calls the first tool. Only one first tool of the suite has arguments: two numbers to add.
async fn call_first(connection: &Connection) -> anyhow::Result<()> {
    let list = connection.list_tools().await?;
    let Some(tool) = list.tools.first() else { return Ok(()) };
    let takes_numbers = tool.input_schema().and_then(|schema| schema.get("properties")?.get("a")).is_some();
    let arguments = if takes_numbers { json!({ "a": 2, "b": 3 }) } else { json!({}) };
    call(connection, tool.name(), arguments).await.map(drop)
}

/// Calls every tool of the list, which omits tools with invalid annotations.
async fn call_all(connection: &Connection) -> anyhow::Result<()> {
    for tool in &connection.list_tools().await?.tools {
        let takes_region = tool.input_schema().and_then(|schema| schema.get("properties")?.get("region")).is_some();
        let arguments = if takes_region { json!({ "region": "us-west1" }) } else { json!({}) };
        call(connection, tool.name(), arguments).await?;
    }
    Ok(())
}

/// Sends a request of every kind.
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

/// Makes the calls of the context, whose values need encoding in headers.
async fn call_from_context(request: &Request, connection: &Connection) -> anyhow::Result<()> {
    connection.list_tools().await?;
    let calls = request.context.get("toolCalls").and_then(Value::as_array).context("the context contains no calls")?;
    for requested in calls {
        let name = requested.get("name").and_then(Value::as_str).context("a call of the context has no name")?;
        call(connection, name, requested.get("arguments").cloned().unwrap_or_default()).await?;
    }
    Ok(())
}

/// Returns the received schema of one tool through another tool.
async fn echo_schema(connection: &Connection) -> anyhow::Result<()> {
    const FOCAL: &str = "json_schema_2020_12_tool";
    let list = connection.list_tools().await?;
    let schema = list.get(FOCAL).and_then(|tool| tool.input_schema());
    let schema = schema.with_context(|| format!("the server has no tool `{FOCAL}`"))?.clone();
    call(connection, "json_schema_echo", json!({ "schema": schema })).await.map(drop)
}

/// Loads the first skill and then its other files, unless the skill differs from its entry.
async fn load_skill(connection: &Connection) -> anyhow::Result<()> {
    let (skills, _) = connection.list_skills().await?;
    let skill = skills.first().context("the server lists no skill")?;
    connection.load_skill(skill).await?;
    for uri in skill.files().into_iter().flatten().filter(|uri| *uri != skill.uri()) {
        connection.read_skill_file(skill, uri).await?;
    }
    Ok(())
}

/// A request that needs a token, and one that may need more scopes.
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
