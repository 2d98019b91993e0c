//! `client tools`: the tools of a server, or of all configured servers as a model sees them.

use std::process::ExitCode;

use agent::host::{HostTool, Toolset, Visibility};
use anyhow::anyhow;
use client::{Status, Tool, ToolList, manager::ToolFilter};
use diagnostics::nearest::nearest;
use serde_json::{Map, Value, json};

use super::{
    approval::RuleArgs,
    error::ClientCommandError,
    host::{self, Session},
    target::ServerArgs,
};
use crate::{
    error::{CommandError, CommandResult, ENVIRONMENT},
    print,
};

/// The arguments of `client tools`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Show only this tool, with its schemas: its name, or without a server `mcp__server__tool`.
    tool: Option<String>,
    #[command(flatten)]
    target: ServerArgs,
}

/// Lists the tools.
pub(crate) fn run(args: &Args) -> CommandResult {
    host::run(&args.target, &RuleArgs::default(), |session| async move {
        if session.server.is_none() {
            return all(args, &session).await;
        }
        let list = session.connection(args.target.log_level.as_deref()).await?.list_tools().await?;
        let config = session.host.config();
        let filter = config.servers.first().map(|server| server.managed.tools.clone()).unwrap_or_default();
        let list = enabled(&list, &filter);
        Ok(match &args.tool {
            Some(name) => show(find(&list, name)?, args.target.json)?,
            None => print_list(&list, args.target.json)?,
        })
    })
}

/// The tools of all configured servers. A server that cannot be used gives exit code 3.
async fn all(args: &Args, session: &Session) -> Result<ExitCode, ClientCommandError> {
    if let Some(name) = &args.tool {
        let tool = session.host.tool(name).await;
        let unknown = || agent::host::HostError::UnknownTool { name: name.clone(), nearest: None };
        return Ok(show(tool.ok_or_else(unknown)?.tool(), args.target.json)?);
    }
    session.host.ready().await;
    let tools = session.host.tools();
    if args.target.json {
        print::json(&toolset_json(session, &tools))?;
    } else {
        print_toolset(session, &tools)?;
    }
    Ok(if tools.missing.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(ENVIRONMENT) })
}

/// The tools, and the state of each server.
pub(super) fn toolset_json(session: &Session, tools: &Toolset) -> Value {
    let tool = |tool: &HostTool| {
        json!({
            "name": tool.name, "server": tool.server(), "tool": tool.tool().name(),
            "visibility": tool.visibility, "tokens": tool.tokens(),
        })
    };
    let mut servers = Map::new();
    for (name, status) in session.host.statuses() {
        let mut server = json!(status);
        let own: Vec<&HostTool> = server_tools(tools, &name).collect();
        server["tools"] = own.len().into();
        server["tokens"] = own.iter().map(|tool| tool.tokens()).sum::<usize>().into();
        if let Some(error) = tools.missing.get(&name) {
            server["error"] = CommandError::environment(std::sync::Arc::clone(error)).message().into();
        }
        servers.insert(name, server);
    }
    let deferred = tools.search.is_some();
    json!({
        "tools": tools.tools.iter().map(tool).collect::<Vec<_>>(),
        "servers": servers,
        "search": { "mode": session.settings.tool_search.to_string(), "deferred": deferred },
    })
}

fn server_tools<'t>(tools: &'t Toolset, server: &'t str) -> impl Iterator<Item = &'t HostTool> {
    tools.tools.iter().filter(move |tool| tool.server() == server)
}

/// Prints each server with its state, and its tools with their cost.
pub(super) fn print_toolset(session: &Session, tools: &Toolset) -> Result<(), CommandError> {
    let statuses = session.host.statuses();
    if statuses.is_empty() {
        return print::text("no configured servers");
    }
    for (name, status) in statuses {
        let own: Vec<&HostTool> = server_tools(tools, &name).collect();
        let tokens: usize = own.iter().map(|tool| tool.tokens()).sum();
        let state = match (&status, tools.missing.get(&name)) {
            (Status::Disabled, _) => "disabled".to_owned(),
            (Status::Connected, None) => format!("connected, {} tools, {tokens} tokens", own.len()),
            // The tools are known from an earlier connection.
            (status, None) => format!("{}, {} tools, {tokens} tokens", status.as_str(), own.len()),
            (status, Some(error)) => {
                format!("{}: {}", status.as_str(), CommandError::environment(std::sync::Arc::clone(error)).message())
            }
        };
        print::text(&format!("{}: {}", name.replace('\n', " "), state.replace('\n', " ")))?;
        for tool in own {
            let deferred = match tool.visibility {
                Visibility::Shown => "",
                Visibility::Loaded => ", loaded",
                Visibility::Deferred => ", deferred",
            };
            print::text(&format!("  {} ({} tokens{deferred})", tool.name, tool.tokens()))?;
        }
    }
    Ok(())
}

/// The tools that the configuration enables.
fn enabled(list: &ToolList, filter: &ToolFilter) -> ToolList {
    let tools = list.tools.iter().filter(|tool| filter.allows(tool.name())).cloned().collect();
    ToolList { tools, ..ToolList::clone(list) }
}

fn find<'a>(list: &'a ToolList, name: &str) -> Result<&'a Tool, ClientCommandError> {
    list.get(name).map(AsRef::as_ref).ok_or_else(|| {
        let error = ClientCommandError::rejected("unknown-tool", anyhow!("the server has no tool `{name}`"));
        match nearest(name, list.tools.iter().map(|tool| tool.name())) {
            Some(near) => error.with_help(format!("did you mean `{near}`?")),
            None => error,
        }
    })
}

fn show(tool: &Tool, json: bool) -> Result<ExitCode, CommandError> {
    let wire = Value::Object(tool.wire().clone());
    if json {
        print::json(&wire)?
    } else {
        print::text(&format!("{wire:#}"))?
    }
    Ok(ExitCode::SUCCESS)
}

fn print_list(list: &ToolList, json: bool) -> Result<ExitCode, CommandError> {
    if json {
        let tools: Vec<_> = list.tools.iter().map(|tool| tool.wire()).collect();
        print::json(&json!({ "tools": tools, "rejected": list.rejected, "pages": list.pages }))?;
    } else {
        list.tools.iter().try_for_each(|tool| print::entry(&Value::Object(tool.wire().clone()), "name"))?;
    }
    Ok(ExitCode::SUCCESS)
}
