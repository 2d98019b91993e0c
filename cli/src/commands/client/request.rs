//! `client request`: sends a request of any method.

use std::process::ExitCode;

use anyhow::anyhow;
use serde_json::Value;

use super::{
    error::{ClientCommandError, settle},
    session,
    target::ServerArgs,
};
use crate::{error::CommandResult, print};

/// The arguments of `client request`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The method, for example `resources/templates/list`. Tools are called with `client call`, which applies the rules.
    method: String,
    /// Parameters as a JSON object.
    #[arg(long, value_name = "JSON")]
    params: Option<String>,
    #[command(flatten)]
    target: ServerArgs,
}

/// Sends the request and prints the result as JSON, as the server sent it.
pub(crate) fn run(args: &Args) -> CommandResult {
    let params = match params(args) {
        Ok(params) => params,
        Err(error) => return settle(Err(error), args.target.json),
    };
    session::run(&args.target, |connection| async move {
        let result = connection.request_method(&args.method, params).await?;
        match args.target.json {
            true => print::json(&result)?,
            false => print::pretty_json(&result)?,
        }
        Ok(ExitCode::SUCCESS)
    })
}

fn params(args: &Args) -> Result<Option<Value>, ClientCommandError> {
    if args.method == "tools/call" {
        let rejected = anyhow!("`client request` does not call tools");
        let help = "use `client call`, which applies the permission rules";
        return Err(ClientCommandError::input("invalid-arguments", rejected).with_help(help));
    }
    let invalid = |cause| ClientCommandError::input("invalid-arguments", cause);
    let Some(text) = &args.params else { return Ok(None) };
    match serde_json::from_str(text) {
        Ok(object @ Value::Object(_)) => Ok(Some(object)),
        Ok(_) => Err(invalid(anyhow!("--params is not a JSON object"))),
        Err(cause) => Err(invalid(anyhow!("--params is not JSON: {cause}"))),
    }
}
