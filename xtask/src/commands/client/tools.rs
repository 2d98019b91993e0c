//! `client tools`: the tools that a server offers.

use std::process::ExitCode;

use anyhow::anyhow;
use client::{Tool, ToolList, manager::ToolFilter};
use mock_servers::reading::nearest::nearest;
use serde_json::{Value, json};

use super::{say, session, target::ServerArgs, trouble::Trouble};
use crate::failure::{CommandResult, Failure};

/// The arguments of `client tools`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Show this one in full, with its schemas; without it all are listed.
    tool: Option<String>,
    #[command(flatten)]
    target: ServerArgs,
}

/// Lists them.
pub(crate) fn run(args: &Args) -> CommandResult {
    session::run(&args.target, |connection, tools| async move {
        let list = connection.list_tools().await?;
        let list = shown(&list, &tools);
        Ok(match &args.tool {
            Some(name) => show(find(&list, name)?, args.target.json)?,
            None => tell(&list, args.target.json)?,
        })
    })
}

/// What of the list the configuration lets through.
fn shown(list: &ToolList, filter: &ToolFilter) -> ToolList {
    let tools = list.tools.iter().filter(|tool| filter.allows(tool.name())).cloned().collect();
    ToolList { tools, ..ToolList::clone(list) }
}

fn find<'a>(list: &'a ToolList, name: &str) -> Result<&'a Tool, Trouble> {
    list.get(name).map(AsRef::as_ref).ok_or_else(|| {
        let refused = Trouble::refused("unknown-tool", anyhow!("the server offers no tool `{name}`"));
        match nearest(name, list.tools.iter().map(|tool| tool.name())) {
            Some(near) => refused.advise(format!("did you mean `{near}`?")),
            None => refused,
        }
    })
}

fn show(tool: &Tool, json: bool) -> Result<ExitCode, Failure> {
    let wire = Value::Object(tool.wire().clone());
    if json {
        say::json(&wire)?
    } else {
        say::text(&format!("{wire:#}"))?
    }
    Ok(ExitCode::SUCCESS)
}

fn tell(list: &ToolList, json: bool) -> Result<ExitCode, Failure> {
    if json {
        let tools: Vec<_> = list.tools.iter().map(|tool| tool.wire()).collect();
        say::json(&json!({ "tools": tools, "rejected": list.rejected, "pages": list.pages }))?;
    } else {
        list.tools.iter().try_for_each(|tool| say::entry(&Value::Object(tool.wire().clone()), "name"))?;
    }
    Ok(ExitCode::SUCCESS)
}
