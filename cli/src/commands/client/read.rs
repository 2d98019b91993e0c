//! `client read`: reads a resource, or lists resources.

use std::process::ExitCode;

use serde_json::{Map, Value, json};

use super::{call, session, target::ServerArgs};
use crate::{
    error::{CommandError, CommandResult},
    print,
};

/// The arguments of `client read`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// URI of the resource; without it, resources and resource templates are listed.
    #[arg(value_name = "URI")]
    resource: Option<String>,
    #[command(flatten)]
    target: ServerArgs,
}

/// Reads the resource and prints its text.
pub(crate) fn run(args: &Args) -> CommandResult {
    session::run(&args.target, |connection| async move {
        let Some(uri) = &args.resource else {
            let resources = connection.list_resources().await?;
            let templates = connection.list_resource_templates().await?;
            return Ok(list(&resources, &templates, args.target.json)?);
        };
        let result = connection.read_resource(uri).await?;
        Ok(print_result(&result, args.target.json)?)
    })
}

fn list(resources: &[Value], templates: &[Value], json: bool) -> Result<ExitCode, CommandError> {
    if json {
        print::json(&json!({ "resources": resources, "resourceTemplates": templates }))?;
    } else {
        resources.iter().try_for_each(|resource| print::entry(resource, "uri"))?;
        templates.iter().try_for_each(|template| print::entry(template, "uriTemplate"))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn print_result(result: &Map<String, Value>, json: bool) -> Result<ExitCode, CommandError> {
    if json {
        print::json(&Value::Object(result.clone()))?;
    } else {
        for contents in result.get("contents").and_then(Value::as_array).into_iter().flatten() {
            print::text(&call::describe(contents))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
