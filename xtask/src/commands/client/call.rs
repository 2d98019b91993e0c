//! `client call`: calls a tool.

use std::process::ExitCode;

use anyhow::anyhow;
use client::{CallError, CallOptions, Connection, ToolResult};
use mock_servers::reading::nearest::nearest;
use serde_json::{Map, Value};

use super::{say, session, target::ServerArgs, trouble::Trouble, values};
use crate::{
    commands::target,
    failure::{CommandResult, Failure, VERDICT},
};

/// The arguments of `client call`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The tool, in the server's own name.
    tool: String,
    /// Its arguments, each read as the tool's schema has it: `count=3` is a number where a number is wanted.
    #[arg(value_name = "NAME=VALUE", value_parser = target::variable)]
    arguments: Vec<(String, String)>,
    /// Its arguments as a JSON object; those that are given one by one come on top.
    #[arg(long, value_name = "JSON")]
    args: Option<String>,
    #[command(flatten)]
    target: ServerArgs,
}

/// Calls it, and prints what it says. A tool that reports a failure makes this one, too.
pub(crate) fn run(args: &Args) -> CommandResult {
    session::run(&args.target, |connection, tools| async move {
        if !tools.allows(&args.tool) {
            let disabled = anyhow!("the configuration of the server does not let the tool `{}` through", args.tool);
            return Err(Trouble::refused("tool-disabled", disabled));
        }
        let arguments = arguments(args, &connection).await?;
        match connection.call(&args.tool, Value::Object(arguments), CallOptions::default()).await {
            Ok(result) => Ok(tell(&result, args.target.json)?),
            Err(error) => Err(explained(error, &args.tool, &connection).await),
        }
    })
}

async fn arguments(args: &Args, connection: &Connection) -> Result<Map<String, Value>, Trouble> {
    let mut all = match &args.args {
        Some(text) => object(text)?,
        None => Map::new(),
    };
    if !args.arguments.is_empty() {
        let tools = connection.list_tools().await?;
        let schema = tools.get(&args.tool).and_then(|tool| tool.input_schema());
        let given = values::arguments(&args.arguments, schema);
        all.extend(given.map_err(|cause| Trouble::input("invalid-arguments", cause))?);
    }
    Ok(all)
}

fn object(text: &str) -> Result<Map<String, Value>, Trouble> {
    let invalid = |cause| Trouble::input("invalid-arguments", cause);
    match serde_json::from_str(text) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(invalid(anyhow!("--args is not a JSON object"))),
        Err(cause) => Err(invalid(anyhow!("--args is not JSON: {cause}"))),
    }
}

/// A refusal, with what may have been meant where the server does not offer the tool.
async fn explained(error: CallError, tool: &str, connection: &Connection) -> Trouble {
    let refused = matches!(error, CallError::Rpc { .. });
    let trouble = Trouble::from(error);
    match connection.list_tools().await {
        Ok(tools) if refused && tools.get(tool).is_none() => {
            let names = tools.tools.iter().map(|tool| tool.name());
            trouble.advise(match nearest(tool, names) {
                Some(name) => format!("did you mean `{name}`?"),
                None => "`client tools` lists what the server offers".to_owned(),
            })
        }
        _ => trouble,
    }
}

fn tell(result: &ToolResult, json: bool) -> Result<ExitCode, Failure> {
    if json {
        say::json(&Value::Object(result.wire().clone()))?;
    } else {
        for block in result.content() {
            say::text(&in_words(block))?;
        }
        if let Some(structured) = result.structured().filter(|_| result.content().is_empty()) {
            say::json(structured)?;
        }
    }
    Ok(if result.is_error() { ExitCode::from(VERDICT) } else { ExitCode::SUCCESS })
}

/// A block of content: its text, or what it is where it is none.
pub(super) fn in_words(block: &Value) -> String {
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
