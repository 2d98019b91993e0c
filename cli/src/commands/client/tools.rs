//! `client tools`: the tools of a server.

use std::process::ExitCode;

use anyhow::anyhow;
use client::{Tool, ToolList, manager::ToolFilter};
use diagnostics::nearest::nearest;
use serde_json::{Value, json};

use super::{error::ClientCommandError, session, target::ServerArgs};
use crate::{
    error::{CommandError, CommandResult},
    print,
};

/// The arguments of `client tools`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Show only this tool, with its schemas.
    tool: Option<String>,
    #[command(flatten)]
    target: ServerArgs,
}

/// Lists the tools.
pub(crate) fn run(args: &Args) -> CommandResult {
    session::run(&args.target, |connection, tools| async move {
        let list = connection.list_tools().await?;
        let list = enabled(&list, &tools);
        Ok(match &args.tool {
            Some(name) => show(find(&list, name)?, args.target.json)?,
            None => print_list(&list, args.target.json)?,
        })
    })
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
