//! `client call`: calls a tool.

use std::process::ExitCode;

use agent::{
    filter::{ContentPart, ModelContent, size},
    host::{Called, HostError},
    output::Outcome,
};
use anyhow::anyhow;
use client::{CallOptions, qualified_name};
use diagnostics::nearest::nearest;
use serde_json::{Map, Value, json};

use super::{
    approval::RuleArgs,
    error::{ClientCommandError, settle},
    host::{self, Session},
    target::ServerArgs,
    values,
};
use crate::{
    commands::target,
    error::{CommandError, CommandResult, FAILED},
    print,
};

/// The arguments of `client call`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Name of the tool: with the name of a configured server before it (`SERVER TOOL`), as `mcp__server__tool`, or alone if
    /// an option names the server.
    #[arg(value_name = "[SERVER] TOOL")]
    tool: String,
    /// Arguments, parsed according to the tool's schema: `count=3` is a number if the schema requires one.
    #[arg(value_name = "NAME=VALUE")]
    arguments: Vec<String>,
    /// Arguments as a JSON object; `NAME=VALUE` arguments override its members.
    #[arg(long, value_name = "JSON")]
    args: Option<String>,
    #[command(flatten)]
    rules: RuleArgs,
    #[command(flatten)]
    target: ServerArgs,
}

/// The words of the command line.
struct Words {
    target: ServerArgs,
    /// The name on the server; `None` for a qualified name.
    tool: Option<String>,
    arguments: Vec<(String, String)>,
}

/// Calls the tool and prints its result. A result with `isError` gives exit code 1.
pub(crate) fn run(args: &Args) -> CommandResult {
    let words = match words(args) {
        Ok(words) => words,
        Err(error) => return settle(Err(error), args.target.json),
    };
    host::run(&words.target, &args.rules, |session| call(args, &words, session))
}

fn words(args: &Args) -> Result<Words, ClientCommandError> {
    let mut rest = args.arguments.as_slice();
    let (target, tool) = match rest.split_first() {
        Some((tool, others)) if !args.target.is_given() && !tool.contains('=') => {
            rest = others;
            (args.target.with_server(&args.tool), Some(tool.clone()))
        }
        _ if args.target.is_given() => (args.target.clone(), Some(args.tool.clone())),
        _ => (args.target.clone(), None),
    };
    let invalid = |problem: String| ClientCommandError::input("invalid-arguments", anyhow!(problem));
    let arguments = rest.iter().map(|text| target::variable(text)).collect::<Result<_, _>>().map_err(invalid)?;
    Ok(Words { target, tool, arguments })
}

async fn call(args: &Args, words: &Words, session: Session) -> Result<ExitCode, ClientCommandError> {
    let name = match (&session.server, &words.tool) {
        (Some(server), Some(tool)) => {
            let config = session.host.config();
            if config.server_named(server).is_some_and(|server| !server.managed.tools.allows(tool)) {
                let disabled = anyhow!("the configuration of the server disables the tool `{tool}`");
                return Err(ClientCommandError::rejected("tool-disabled", disabled));
            }
            // The log level belongs to the connection.
            session.connection(args.target.log_level.as_deref()).await?;
            qualified_name(server, tool, session.host.naming())
        }
        _ => args.tool.clone(),
    };
    let arguments = arguments(args, words, &session, &name).await?;
    match session.host.call(&name, Value::Object(arguments), CallOptions::default()).await {
        Ok(called) => Ok(print_result(&called, args.target.json)?),
        Err(HostError::UnknownTool { .. }) if words.tool.is_some() => Err(unknown(&session, words.tool.as_deref())),
        Err(error) => Err(error.into()),
    }
}

async fn arguments(
    args: &Args,
    words: &Words,
    session: &Session,
    name: &str,
) -> Result<Map<String, Value>, ClientCommandError> {
    let mut all = match &args.args {
        Some(text) => object(text)?,
        None => Map::new(),
    };
    if !words.arguments.is_empty() {
        let tool = session.host.tool(name).await;
        let schema = tool.as_ref().and_then(|tool| tool.tool().input_schema());
        let given = values::arguments(&words.arguments, schema);
        all.extend(given.map_err(|cause| ClientCommandError::input("invalid-arguments", cause))?);
    }
    Ok(all)
}

/// The error for a tool that the named server does not have, with the nearest name.
fn unknown(session: &Session, tool: Option<&str>) -> ClientCommandError {
    let tool = tool.unwrap_or_default();
    let tools = session.host.tools();
    let error = ClientCommandError::rejected("unknown-tool", anyhow!("the server has no tool `{tool}`"));
    error.with_help(match nearest(tool, tools.tools.iter().map(|known| known.tool().name())) {
        Some(name) => format!("did you mean `{name}`?"),
        None => "`client tools` lists the tools of the server".to_owned(),
    })
}

fn object(text: &str) -> Result<Map<String, Value>, ClientCommandError> {
    let invalid = |cause| ClientCommandError::input("invalid-arguments", cause);
    match serde_json::from_str(text) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(invalid(anyhow!("--args is not a JSON object"))),
        Err(cause) => Err(invalid(anyhow!("--args is not JSON: {cause}"))),
    }
}

fn print_result(called: &Called, json: bool) -> Result<ExitCode, CommandError> {
    if json {
        print::json(&json_result(called))?;
    } else {
        print_content(&called.content)?;
    }
    Ok(if called.content.is_error { ExitCode::from(FAILED) } else { ExitCode::SUCCESS })
}

/// The result as received, unless it was truncated.
fn json_result(called: &Called) -> Value {
    match (&called.limit, &called.result) {
        (Outcome::Whole | Outcome::Large { .. }, Some(result)) => Value::Object(result.wire().clone()),
        (limit, _) => {
            let texts = called.content.parts.iter().map(|part| json!({ "type": "text", "text": part_text(part) }));
            let content: Vec<Value> = texts.collect();
            json!({ "content": content, "isError": called.content.is_error, "limit": limit })
        }
    }
}

/// Prints content for a model.
pub(super) fn print_content(content: &ModelContent) -> Result<(), CommandError> {
    content.parts.iter().try_for_each(|part| print::text(&part_text(part)))
}

fn part_text(part: &ContentPart) -> String {
    match part {
        ContentPart::Text { text } => text.clone(),
        ContentPart::Json { value } => value.to_string(),
        ContentPart::Image { mime, data } | ContentPart::Audio { mime, data } => {
            format!("[{mime}, {} of base64]", size(data.len() as u64))
        }
    }
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
