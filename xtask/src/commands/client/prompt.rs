//! `client prompt`: gets a prompt, or lists what there is.

use std::process::ExitCode;

use serde_json::{Map, Value, json};

use super::{call, say, session, target::ServerArgs};
use crate::{
    commands::target,
    failure::{CommandResult, Failure},
};

/// The arguments of `client prompt`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The name of the prompt; without it the prompts are listed.
    prompt: Option<String>,
    /// Its arguments.
    #[arg(value_name = "NAME=VALUE", value_parser = target::variable)]
    arguments: Vec<(String, String)>,
    #[command(flatten)]
    target: ServerArgs,
}

/// Gets it, and prints its messages.
pub(crate) fn run(args: &Args) -> CommandResult {
    session::run(&args.target, |connection, _| async move {
        let Some(name) = &args.prompt else {
            let prompts = connection.list_prompts().await?;
            return Ok(list(&prompts, args.target.json)?);
        };
        // The arguments of prompts are texts in every revision.
        let arguments = args.arguments.iter().map(|(name, value)| (name.clone(), value.as_str().into())).collect();
        let result = connection.get_prompt(name, arguments).await?;
        Ok(tell(&result, args.target.json)?)
    })
}

fn list(prompts: &[Value], json: bool) -> Result<ExitCode, Failure> {
    if json {
        say::json(&json!({ "prompts": prompts }))?;
    } else {
        prompts.iter().try_for_each(|prompt| say::entry(prompt, "name"))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn tell(result: &Map<String, Value>, json: bool) -> Result<ExitCode, Failure> {
    if json {
        say::json(&Value::Object(result.clone()))?;
    } else {
        for message in result.get("messages").and_then(Value::as_array).into_iter().flatten() {
            let role = message.get("role").and_then(Value::as_str).unwrap_or_default();
            let content = message.get("content").map(call::in_words).unwrap_or_default();
            say::text(&format!("{role}: {content}"))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
