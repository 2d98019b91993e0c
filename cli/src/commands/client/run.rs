//! `client run`: expands a text as an agent does: prompts as commands, and mentioned resources.

use std::process::ExitCode;

use serde_json::json;

use super::{approval::RuleArgs, call, host, target::ServerArgs};
use crate::{
    error::{CommandResult, FAILED},
    print,
};

/// The arguments of `client run`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A prompt (`/mcp__server__prompt a "b c"`), or a text that mentions resources (`@server:uri`).
    #[arg(value_name = "TEXT")]
    text: String,
    #[command(flatten)]
    target: ServerArgs,
}

/// Prints the messages and the mentioned resources. A resource that cannot be read gives exit code 1.
pub(crate) fn run(args: &Args) -> CommandResult {
    host::run(&args.target, &RuleArgs::default(), |session| async move {
        let expansion = session.host.expand(&args.text).await?;
        let failed = expansion.mentions.iter().any(|mention| mention.error.is_some());
        if args.target.json {
            print::json(&json!(expansion))?;
        } else {
            for message in &expansion.messages {
                print::text(&format!("{}:", message.role))?;
                call::print_content(&message.content)?;
            }
            for mention in &expansion.mentions {
                print::text(&format!("@{}:{}", mention.server, mention.uri))?;
                call::print_content(&mention.content)?;
                mention.error.iter().for_each(|error| print::note(&format!("error: {error}")));
            }
        }
        Ok::<_, super::error::ClientCommandError>(if failed { ExitCode::from(FAILED) } else { ExitCode::SUCCESS })
    })
}

/// The arguments of `client complete`.
#[derive(Debug, clap::Args)]
pub(crate) struct CompleteArgs {
    /// The beginning of a text: a prompt and its values, or a mention.
    #[arg(value_name = "TEXT")]
    text: String,
    #[command(flatten)]
    target: ServerArgs,
}

/// Prints completions of the last word.
pub(crate) fn complete(args: &CompleteArgs) -> CommandResult {
    host::run(&args.target, &RuleArgs::default(), |session| async move {
        let completions = session.host.complete(&args.text).await?;
        if args.target.json {
            print::json(&json!({ "completions": completions }))?;
        } else {
            completions.iter().try_for_each(|completion| print::text(&completion.replace('\n', " ")))?;
        }
        Ok::<_, super::error::ClientCommandError>(ExitCode::SUCCESS)
    })
}

impl From<agent::host::ExpandError> for super::error::ClientCommandError {
    fn from(error: agent::host::ExpandError) -> Self {
        match error {
            agent::host::ExpandError::Prompt(error) => error.into(),
        }
    }
}
