//! `client prompt`: gets a prompt, or lists prompts.

use std::process::ExitCode;

use serde_json::{Map, Value, json};

use super::{call, session, target::ServerArgs};
use crate::{
    commands::target,
    error::{CommandError, CommandResult},
    print,
};

/// The arguments of `client prompt`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Name of the prompt; without it, prompts are listed.
    prompt: Option<String>,
    /// Arguments of the prompt.
    #[arg(value_name = "NAME=VALUE", value_parser = target::variable)]
    arguments: Vec<(String, String)>,
    #[command(flatten)]
    target: ServerArgs,
}

/// Gets the prompt and prints its messages.
pub(crate) fn run(args: &Args) -> CommandResult {
    session::run(&args.target, |connection| async move {
        let Some(name) = &args.prompt else {
            let prompts = connection.list_prompts().await?;
            return Ok(list(&prompts, args.target.json)?);
        };
        // Prompt arguments are strings in every revision.
        let arguments = args.arguments.iter().map(|(name, value)| (name.clone(), value.as_str().into())).collect();
        let result = connection.get_prompt(name, arguments).await?;
        Ok(print_result(&result, args.target.json)?)
    })
}

fn list(prompts: &[Value], json: bool) -> Result<ExitCode, CommandError> {
    if json {
        print::json(&json!({ "prompts": prompts }))?;
    } else {
        prompts.iter().try_for_each(|prompt| print::entry(prompt, "name"))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn print_result(result: &Map<String, Value>, json: bool) -> Result<ExitCode, CommandError> {
    if json {
        print::json(&Value::Object(result.clone()))?;
    } else {
        for message in result.get("messages").and_then(Value::as_array).into_iter().flatten() {
            let role = message.get("role").and_then(Value::as_str).unwrap_or_default();
            let content = message.get("content").map(call::describe).unwrap_or_default();
            print::text(&format!("{role}: {content}"))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
