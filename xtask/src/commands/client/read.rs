//! `client read`: reads a resource, or lists what there is.

use std::process::ExitCode;

use serde_json::{Map, Value, json};

use super::{call, say, session, target::ServerArgs};
use crate::failure::{CommandResult, Failure};

/// The arguments of `client read`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The URI of the resource; without it the resources and their templates are listed.
    #[arg(value_name = "URI")]
    resource: Option<String>,
    #[command(flatten)]
    target: ServerArgs,
}

/// Reads it, and prints its text.
pub(crate) fn run(args: &Args) -> CommandResult {
    session::run(&args.target, |connection, _| async move {
        let Some(uri) = &args.resource else {
            let resources = connection.list_resources().await?;
            let templates = connection.list_resource_templates().await?;
            return Ok(list(&resources, &templates, args.target.json)?);
        };
        let result = connection.read_resource(uri).await?;
        Ok(tell(&result, args.target.json)?)
    })
}

fn list(resources: &[Value], templates: &[Value], json: bool) -> Result<ExitCode, Failure> {
    if json {
        say::json(&json!({ "resources": resources, "resourceTemplates": templates }))?;
    } else {
        resources.iter().try_for_each(|resource| say::entry(resource, "uri"))?;
        templates.iter().try_for_each(|template| say::entry(template, "uriTemplate"))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn tell(result: &Map<String, Value>, json: bool) -> Result<ExitCode, Failure> {
    if json {
        say::json(&Value::Object(result.clone()))?;
    } else {
        for contents in result.get("contents").and_then(Value::as_array).into_iter().flatten() {
            say::text(&call::in_words(contents))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
