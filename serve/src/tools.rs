//! The tools: one table, one file each. A tool reads its arguments, does its work through the libraries of the workbench, and
//! gives back a value and its text.
//!
//! What it takes and gives are types, from which the schemas are made. Arguments that make no sense are a result with an
//! error, so that a model can correct itself (2025-11-25, tools, "Error Handling").

mod bench;
mod conformance;
mod drift;
mod journal;
mod listing;
mod report;
pub(crate) mod requirement;
pub(crate) mod scenarios;
mod schema;
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

use crate::{mcp::teller::Teller, trouble::Trouble, workbench::Workbench};

/// The surroundings of one call.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) workbench: Workbench,
    pub(crate) teller: Teller,
    /// Cancelled when the caller gives up.
    pub(crate) cancel: CancellationToken,
}

impl Call {
    /// Carries a run out, when it is its turn.
    async fn run<T>(&self, work: impl Future<Output = Result<T, Trouble>>) -> Result<T, Trouble> {
        self.workbench.run(&self.teller, &self.cancel, work).await
    }
}

/// What a tool gives back.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Answer {
    /// For people, and for models in a hurry.
    pub(crate) text: String,
    /// All of it.
    pub(crate) value: Value,
}

/// A value that a tool gives back.
trait Output: Serialize + JsonSchema {
    /// The value for people: what matters of it, in few lines.
    fn text(&self) -> String;
}

/// One tool.
pub(crate) struct Entry {
    /// As clients see it.
    pub(crate) description: Tool,
    run: Box<Run>,
}

type Run = dyn Fn(Call, JsonObject) -> BoxFuture<'static, Result<Answer, Trouble>> + Send + Sync;

impl Entry {
    fn new<I, O, F>(
        (name, title, description): (&'static str, &'static str, &'static str),
        hints: ToolAnnotations,
        run: fn(Call, I) -> F,
    ) -> Self
    where
        I: DeserializeOwned + JsonSchema + 'static,
        O: Output + 'static,
        F: Future<Output = Result<O, Trouble>> + Send + 'static,
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
                    Box::pin(async move { answer(&outcome.await?) })
                }
                Err(trouble) => Box::pin(std::future::ready(Err(trouble))),
            }),
        }
    }

    /// Calls the tool.
    pub(crate) async fn call(&self, call: Call, arguments: JsonObject) -> Result<Answer, Trouble> {
        (self.run)(call, arguments).await
    }
}

static TOOLS: LazyLock<Vec<Entry>> = LazyLock::new(|| {
    vec![
        Entry::new(validate::WORDS, runs(), validate::validate_server),
        Entry::new(conformance::WORDS, runs(), conformance::run_scenarios),
        Entry::new(bench::WORDS, runs(), bench::bench_server),
        Entry::new(listing::WORDS, asks(), listing::list_tools),
        Entry::new(drift::WORDS, asks(), drift::diff_tools),
        Entry::new(schema::WORDS, asks(), schema::convert_schema),
        Entry::new(scenarios::WORDS, reads(), scenarios::list_scenarios),
        Entry::new(requirement::WORDS, reads(), requirement::explain_requirement),
    ]
});

/// Hints of a tool that uses a server: whatever that does may be done.
fn runs() -> ToolAnnotations {
    ToolAnnotations::new().read_only(false).destructive(true).idempotent(false).open_world(true)
}

/// Hints of a tool that starts a server, and asks it for its lists alone.
fn asks() -> ToolAnnotations {
    ToolAnnotations::new().read_only(false).destructive(false).idempotent(true).open_world(true)
}

/// Hints of a tool that reads what is part of the program.
fn reads() -> ToolAnnotations {
    ToolAnnotations::new().read_only(true).destructive(false).idempotent(true).open_world(false)
}

/// All tools, in the order in which they are listed.
pub(crate) fn all() -> impl Iterator<Item = &'static Entry> {
    TOOLS.iter()
}

/// The tool of this name.
pub(crate) fn find(name: &str) -> Option<&'static Entry> {
    all().find(|tool| tool.description.name == name)
}

fn read<I: DeserializeOwned>(arguments: JsonObject) -> Result<I, Trouble> {
    serde_json::from_value(Value::Object(arguments))
        .map_err(|error| Trouble::arguments(error.to_string()).advise("the tool's input schema says what it takes"))
}

fn answer<O: Output>(output: &O) -> Result<Answer, Trouble> {
    let value = serde_json::to_value(output).map_err(|error| Trouble::of("fault", &error))?;
    Ok(Answer { text: output.text(), value })
}

/// The schema of a type as models get it: without references, which not every provider follows, and without the names of our
/// own types and number formats.
fn schema_of<T: JsonSchema>(settings: SchemaSettings) -> Arc<JsonObject> {
    let settings = settings.with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    plain(&mut schema);
    match schema {
        Value::Object(schema) => Arc::new(schema),
        // Every tool takes and gives an object.
        _ => Arc::default(),
    }
}

fn plain(schema: &mut Value) {
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
            map.values_mut().for_each(plain);
        }
        Value::Array(items) => items.iter_mut().for_each(plain),
        _ => {}
    }
}

#[cfg(test)]
mod tests;
