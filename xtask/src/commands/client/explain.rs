//! `client explain`: whether a tool would be called, and what decides.

use std::process::ExitCode;

use agent::permissions::{HintUse, Permissions, RuleTexts, Rules, Subject};
use anyhow::anyhow;
use client::Tool;
use serde_json::{Map, Value, json};

use super::{
    config::Files,
    say,
    trouble::{Trouble, settle},
};
use crate::failure::{CommandResult, Failure};

/// The arguments of `client explain`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The server.
    server: String,
    /// The tool; without one it is about what the server asks of you.
    tool: Option<String>,
    /// One more rule that allows, for all servers.
    #[arg(long, value_name = "RULE")]
    allow: Vec<String>,
    /// One more rule that asks, for all servers.
    #[arg(long, value_name = "RULE")]
    ask: Vec<String>,
    /// One more rule that denies, for all servers.
    #[arg(long, value_name = "RULE")]
    deny: Vec<String>,
    /// A rule of the server that allows; with any of these three those of the configuration do not count.
    #[arg(long, value_name = "RULE")]
    server_allow: Vec<String>,
    /// A rule of the server that asks.
    #[arg(long, value_name = "RULE")]
    server_ask: Vec<String>,
    /// A rule of the server that denies.
    #[arg(long, value_name = "RULE")]
    server_deny: Vec<String>,
    /// As if the tool said that it only reads.
    #[arg(long)]
    read_only: bool,
    /// As if it said that it destroys.
    #[arg(long)]
    destructive: bool,
    /// As if it said that it reaches nothing outside of its server.
    #[arg(long)]
    closed_world: bool,
    /// As if nothing that tools say about themselves counted.
    #[arg(long)]
    ignore_hints: bool,
    #[command(flatten)]
    files: Files,
    /// Print JSON, failures included.
    #[arg(long)]
    json: bool,
}

/// Tells it.
pub(crate) fn run(args: &Args) -> CommandResult {
    settle(tell(args), args.json)
}

fn tell(args: &Args) -> Result<ExitCode, Trouble> {
    let tool = args.tool.as_deref().map(|name| described(args, name)).transpose()?;
    let subject = match &tool {
        Some(tool) => Subject::Tool { server: &args.server, tool },
        None => Subject::Elicitation { server: &args.server },
    };
    let explanation = permissions(args)?.explain(&subject);
    if args.json {
        say::json(&serde_json::to_value(&explanation).map_err(Failure::fault)?)?;
    } else {
        say::text(&explanation.to_string())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The rules that are in force, with those of the arguments.
fn permissions(args: &Args) -> Result<Permissions, Trouble> {
    let wrong = |errors| Trouble::input("bad-rule", anyhow!("{errors}"));
    let texts = |allow: &[String], ask: &[String], deny: &[String]| RuleTexts {
        allow: allow.to_vec(),
        ask: ask.to_vec(),
        deny: deny.to_vec(),
    };
    let given = texts(&args.allow, &args.ask, &args.deny);
    let mut permissions = Permissions::configured(&args.files.load()?, &given).map_err(wrong)?;
    let own = texts(&args.server_allow, &args.server_ask, &args.server_deny);
    if own != RuleTexts::default() {
        permissions = permissions.with_server(&args.server, Rules::of_server(&own, &args.server).map_err(wrong)?);
    }
    Ok(permissions.with_hints(if args.ignore_hints { HintUse::Ignored } else { HintUse::AsDefaults }))
}

/// A tool of this name that says of itself what the arguments say.
fn described(args: &Args, name: &str) -> Result<Tool, Trouble> {
    let said = [
        ("readOnlyHint", args.read_only, true),
        ("destructiveHint", args.destructive, true),
        ("openWorldHint", args.closed_world, false),
    ];
    let hints: Map<String, Value> =
        said.iter().filter(|(_, given, _)| *given).map(|(hint, _, value)| ((*hint).to_owned(), json!(value))).collect();
    let wire = json!({ "name": name, "inputSchema": { "type": "object" }, "annotations": hints });
    let (tool, _) = Tool::read(wire).map_err(|refused| Failure::fault(anyhow!("{}", refused.reason)))?;
    Ok(tool)
}
