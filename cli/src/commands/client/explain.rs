//! `client explain`: explains the permission decision for a tool.

use std::process::ExitCode;

use agent::permissions::{HintUse, PermissionTarget, Permissions, RuleTexts, Rules};
use anyhow::anyhow;
use client::Tool;
use serde_json::{Map, Value, json};

use super::{
    config::{self, Files},
    error::{ClientCommandError, settle},
};
use crate::{
    error::{CommandError, CommandResult},
    print,
};

/// The arguments of `client explain`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Name of the server.
    #[arg(add = config::completed_names())]
    server: String,
    /// Name of the tool; without it, explains the decision for elicitation requests of the server.
    tool: Option<String>,
    /// Additional allow rule for all servers.
    #[arg(long, value_name = "RULE")]
    allow: Vec<String>,
    /// Additional ask rule for all servers.
    #[arg(long, value_name = "RULE")]
    ask: Vec<String>,
    /// Additional deny rule for all servers.
    #[arg(long, value_name = "RULE")]
    deny: Vec<String>,
    /// Allow rule of the server. Any of the `--server-*` options replaces its configured rules.
    #[arg(long, value_name = "RULE")]
    server_allow: Vec<String>,
    /// Ask rule of the server.
    #[arg(long, value_name = "RULE")]
    server_ask: Vec<String>,
    /// Deny rule of the server.
    #[arg(long, value_name = "RULE")]
    server_deny: Vec<String>,
    /// Assume the annotation `readOnlyHint`.
    #[arg(long)]
    read_only: bool,
    /// Assume the annotation `destructiveHint`.
    #[arg(long)]
    destructive: bool,
    /// Assume the annotation `openWorldHint: false`.
    #[arg(long)]
    closed_world: bool,
    /// Ignore tool annotations.
    #[arg(long)]
    ignore_hints: bool,
    #[command(flatten)]
    files: Files,
    /// Print JSON, including errors.
    #[arg(long)]
    json: bool,
}

/// Explains the decision.
pub(crate) fn run(args: &Args) -> CommandResult {
    settle(explain(args), args.json)
}

fn explain(args: &Args) -> Result<ExitCode, ClientCommandError> {
    let tool = args.tool.as_deref().map(|name| annotated_tool(args, name)).transpose()?;
    let target = match &tool {
        Some(tool) => PermissionTarget::Tool { server: &args.server, tool },
        None => PermissionTarget::Elicitation { server: &args.server },
    };
    let explanation = permissions(args)?.explain(&target);
    if args.json {
        print::json(&serde_json::to_value(&explanation).map_err(CommandError::internal)?)?;
    } else {
        print::text(&explanation.to_string())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The configured rules and those of the arguments.
fn permissions(args: &Args) -> Result<Permissions, ClientCommandError> {
    let invalid = |errors| ClientCommandError::input("bad-rule", anyhow!("{errors}"));
    let texts = |allow: &[String], ask: &[String], deny: &[String]| RuleTexts {
        allow: allow.to_vec(),
        ask: ask.to_vec(),
        deny: deny.to_vec(),
    };
    let given = texts(&args.allow, &args.ask, &args.deny);
    let mut permissions = Permissions::configured(&args.files.load()?, &given).map_err(invalid)?;
    let own = texts(&args.server_allow, &args.server_ask, &args.server_deny);
    if own != RuleTexts::default() {
        permissions = permissions.with_server(&args.server, Rules::for_server(&own, &args.server).map_err(invalid)?);
    }
    Ok(permissions.with_hints(if args.ignore_hints { HintUse::Ignored } else { HintUse::AsDefaults }))
}

/// A tool of this name with the annotations of the arguments.
fn annotated_tool(args: &Args, name: &str) -> Result<Tool, ClientCommandError> {
    let annotations = [
        ("readOnlyHint", args.read_only, true),
        ("destructiveHint", args.destructive, true),
        ("openWorldHint", args.closed_world, false),
    ];
    let hints: Map<String, Value> = annotations
        .iter()
        .filter(|(_, given, _)| *given)
        .map(|(hint, _, value)| ((*hint).to_owned(), json!(value)))
        .collect();
    let wire = json!({ "name": name, "inputSchema": { "type": "object" }, "annotations": hints });
    let (tool, _) = Tool::read(wire).map_err(|refused| CommandError::internal(anyhow!("{}", refused.reason)))?;
    Ok(tool)
}
