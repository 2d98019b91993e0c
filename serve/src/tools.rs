//! The tools: one table, one file each.
//!
//! Arguments and results are types, and their schemas are generated. Invalid arguments are a result with an error, so that a
//! model can correct itself (2025-11-25, tools, "Error Handling").

mod bench;
mod conformance;
mod drift;
mod listing;
mod report;
pub(crate) mod requirement;
mod run;
pub(crate) mod scenarios;
pub(crate) mod schema;
mod target;
mod validate;

use std::{
    future::Future,
    sync::{Arc, LazyLock},
};

use futures::future::BoxFuture;
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use schemars::{JsonSchema, generate::SchemaSettings};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::{error::ToolError, progress::ProgressReporter, workbench::Workbench};

/// Context of one call.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) workbench: Workbench,
    pub(crate) progress: ProgressReporter,
    /// Triggered when the client cancels the call.
    pub(crate) cancel: CancellationToken,
}

impl Call {
    /// Executes a run when no other run is active.
    async fn run<T>(&self, work: impl Future<Output = Result<T, ToolError>>) -> Result<T, ToolError> {
        self.workbench.run(&self.progress, &self.cancel, work).await
    }
}

/// The result of a tool.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ToolOutput {
    /// Summary for users and models.
    pub(crate) text: String,
    /// The complete value.
    pub(crate) value: Value,
}

/// A typed result of a tool.
trait Output: Serialize + JsonSchema {
    /// A short summary.
    fn text(&self) -> String;
}

/// A tool.
pub(crate) struct Entry {
    /// Description in `tools/list`.
    pub(crate) description: Tool,
    run: Box<Run>,
}

type Run = dyn Fn(Call, JsonObject) -> BoxFuture<'static, Result<ToolOutput, ToolError>> + Send + Sync;

impl Entry {
    fn new<I, O, F>(
        (name, title, description): (&'static str, &'static str, &'static str),
        hints: ToolAnnotations,
        run: fn(Call, I) -> F,
    ) -> Self
    where
        I: DeserializeOwned + JsonSchema + 'static,
        O: Output + 'static,
        F: Future<Output = Result<O, ToolError>> + Send + 'static,
    {
        let (input, output) = (SchemaSettings::draft2020_12(), SchemaSettings::draft2020_12().for_serialize());
        let mut tool = Tool::new(name, description, schema_of::<I>(input));
        tool.output_schema = Some(schema_of::<O>(output));
        tool.title = Some(title.to_owned());
        tool.annotations = Some(hints);
        Self {
            description: tool,
            run: Box::new(move |call, arguments| match read::<I>(arguments) {
                Ok(arguments) => {
                    let outcome = run(call, arguments);
                    Box::pin(async move { tool_output(&outcome.await?) })
                }
                Err(error) => Box::pin(std::future::ready(Err(error))),
            }),
        }
    }

    /// Calls the tool.
    pub(crate) async fn call(&self, call: Call, arguments: JsonObject) -> Result<ToolOutput, ToolError> {
        (self.run)(call, arguments).await
    }
}

static TOOLS: LazyLock<Vec<Entry>> = LazyLock::new(|| {
    vec![
        Entry::new(validate::METADATA, runs_server(), validate::validate_server),
        Entry::new(conformance::METADATA, runs_server(), conformance::run_scenarios),
        Entry::new(bench::METADATA, runs_server(), bench::bench_server),
        Entry::new(listing::METADATA, requests_lists(), listing::list_tools),
        Entry::new(drift::METADATA, requests_lists(), drift::diff_tools),
        Entry::new(schema::METADATA, requests_lists(), schema::convert_schema),
        Entry::new(scenarios::METADATA, reads_built_in(), scenarios::list_scenarios),
        Entry::new(requirement::METADATA, reads_built_in(), requirement::explain_requirement),
    ]
});

/// Hints of a tool that uses all features of a server.
fn runs_server() -> ToolAnnotations {
    ToolAnnotations::new().read_only(false).destructive(true).idempotent(false).open_world(true)
}

/// Hints of a tool that only requests lists from a server.
fn requests_lists() -> ToolAnnotations {
    ToolAnnotations::new().read_only(false).destructive(false).idempotent(true).open_world(true)
}

/// Hints of a tool that reads built-in data.
fn reads_built_in() -> ToolAnnotations {
    ToolAnnotations::new().read_only(true).destructive(false).idempotent(true).open_world(false)
}

/// All tools in list order.
pub(crate) fn all() -> impl Iterator<Item = &'static Entry> {
    TOOLS.iter()
}

/// The tool of this name.
pub(crate) fn find(name: &str) -> Option<&'static Entry> {
    all().find(|tool| tool.description.name == name)
}

fn read<I: DeserializeOwned>(arguments: JsonObject) -> Result<I, ToolError> {
    serde_json::from_value(Value::Object(arguments))
        .map_err(|error| ToolError::arguments(error.to_string()).with_help("see the input schema of the tool"))
}

fn tool_output<O: Output>(output: &O) -> Result<ToolOutput, ToolError> {
    let value = serde_json::to_value(output).map_err(|error| ToolError::from_error("internal", &error))?;
    Ok(ToolOutput { text: output.text(), value })
}

/// The schema of a type for models: without references, which not every provider supports, and without the names of Rust
/// types and number formats.
fn schema_of<T: JsonSchema>(settings: SchemaSettings) -> Arc<JsonObject> {
    let settings = settings.with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    remove_rust_names(&mut schema);
    match schema {
        Value::Object(schema) => Arc::new(schema),
        // Arguments and results of every tool are objects.
        _ => Arc::default(),
    }
}

fn remove_rust_names(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            let own = |format: &Value| !matches!(format.as_str(), Some("date-time" | "uri" | "email"));
            if map.get("format").is_some_and(own) && map.get("type").is_some() {
                map.remove("format");
            }
            if map.get("title").is_some_and(Value::is_string) && (map.contains_key("type") || map.contains_key("enum"))
            {
                map.remove("title");
            }
            map.values_mut().for_each(remove_rust_names);
        }
        Value::Array(items) => items.iter_mut().for_each(remove_rust_names),
        _ => {}
    }
}

#[cfg(test)]
mod tests;
