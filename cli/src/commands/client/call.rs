//! `client call`: calls a tool.

use std::process::ExitCode;

use anyhow::anyhow;
use client::{CallError, CallOptions, Connection, ToolResult};
use diagnostics::nearest::nearest;
use serde_json::{Map, Value};

use super::{error::ClientCommandError, session, target::ServerArgs, values};
use crate::{
    commands::target,
    error::{CommandError, CommandResult, FAILED},
    print,
};

/// The arguments of `client call`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Name of the tool, without a server prefix.
    tool: String,
    /// Arguments, parsed according to the tool's schema: `count=3` is a number if the schema requires one.
    #[arg(value_name = "NAME=VALUE", value_parser = target::variable)]
    arguments: Vec<(String, String)>,
    /// Arguments as a JSON object; `NAME=VALUE` arguments override its members.
    #[arg(long, value_name = "JSON")]
    args: Option<String>,
    #[command(flatten)]
    target: ServerArgs,
}

/// Calls the tool and prints its result. A result with `isError` gives exit code 1.
pub(crate) fn run(args: &Args) -> CommandResult {
    session::run(&args.target, |connection, tools| async move {
        if !tools.allows(&args.tool) {
            let disabled = anyhow!("the configuration of the server disables the tool `{}`", args.tool);
            return Err(ClientCommandError::rejected("tool-disabled", disabled));
        }
        let arguments = arguments(args, &connection).await?;
        match connection.call(&args.tool, Value::Object(arguments), CallOptions::default()).await {
            Ok(result) => Ok(print_result(&result, args.target.json)?),
            Err(error) => Err(with_suggestion(error, &args.tool, &connection).await),
        }
    })
}

async fn arguments(args: &Args, connection: &Connection) -> Result<Map<String, Value>, ClientCommandError> {
    let mut all = match &args.args {
        Some(text) => object(text)?,
        None => Map::new(),
    };
    if !args.arguments.is_empty() {
        let tools = connection.list_tools().await?;
        let schema = tools.get(&args.tool).and_then(|tool| tool.input_schema());
        let given = values::arguments(&args.arguments, schema);
        all.extend(given.map_err(|cause| ClientCommandError::input("invalid-arguments", cause))?);
    }
    Ok(all)
}

fn object(text: &str) -> Result<Map<String, Value>, ClientCommandError> {
    let invalid = |cause| ClientCommandError::input("invalid-arguments", cause);
    match serde_json::from_str(text) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(invalid(anyhow!("--args is not a JSON object"))),
        Err(cause) => Err(invalid(anyhow!("--args is not JSON: {cause}"))),
    }
}

/// Adds the nearest tool name if the server does not have the tool.
async fn with_suggestion(error: CallError, tool: &str, connection: &Connection) -> ClientCommandError {
    let rejected = matches!(error, CallError::Rpc { .. });
    let error = ClientCommandError::from(error);
    match connection.list_tools().await {
        Ok(tools) if rejected && tools.get(tool).is_none() => {
            let names = tools.tools.iter().map(|tool| tool.name());
            error.with_help(match nearest(tool, names) {
                Some(name) => format!("did you mean `{name}`?"),
                None => "`client tools` lists the tools of the server".to_owned(),
            })
        }
        _ => error,
    }
}

fn print_result(result: &ToolResult, json: bool) -> Result<ExitCode, CommandError> {
    if json {
        print::json(&Value::Object(result.wire().clone()))?;
    } else {
        for block in result.content() {
            print::text(&describe(block))?;
        }
        if let Some(structured) = result.structured().filter(|_| result.content().is_empty()) {
            print::json(structured)?;
        }
    }
    Ok(if result.is_error() { ExitCode::from(FAILED) } else { ExitCode::SUCCESS })
}

/// A content block as text: its text, or a description of its data.
pub(super) fn describe(block: &Value) -> String {
    let field = |name: &str| block.get(name).and_then(Value::as_str);
    let embedded = block.get("resource").and_then(|resource| resource.get("text")?.as_str());
    if let Some(text) = field("text").or(embedded) {
        return text.to_owned();
    }
    let what = field("mimeType").or_else(|| field("uri")).map(|what| format!(" {what}")).unwrap_or_default();
    let data = field("data").or_else(|| field("blob"));
    let size = data.map(|data| format!(", {} characters of base64", data.len())).unwrap_or_default();
    format!("[{}{what}{size}]", field("type").unwrap_or("content"))
}
