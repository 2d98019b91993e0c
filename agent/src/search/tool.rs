//! The search tool for models.

use serde_json::{Map, Value, json};

use super::{Query, ToolIndex};

/// Name of the search tool. It cannot collide with qualified names, which contain underscores.
pub const NAME: &str = "ToolSearch";
/// Default number of results.
const DEFAULT_RESULTS: usize = 5;
/// Maximum number of results.
const MAX_RESULTS: usize = 20;

/// The description of the tool for the model, with the servers of deferred tools.
#[must_use]
pub fn description<'a>(servers: impl IntoIterator<Item = &'a str>) -> String {
    let servers: Vec<&str> = servers.into_iter().collect();
    format!(
        "Finds tools that are not shown yet by words of their names and descriptions. The tools it finds can be called \
         afterwards. `+word` requires a word; `select:name,name` selects tools by name. \
         Servers: {}.",
        servers.join(", ")
    )
}

/// The input schema of the tool.
#[must_use]
pub fn input_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "Words that describe the tool, or its name."},
            "max_results": {
                "type": "integer",
                "minimum": 1,
                "maximum": MAX_RESULTS,
                "default": DEFAULT_RESULTS,
                "description": "Maximum number of tools.",
            },
        },
        "required": ["query"],
        "additionalProperties": false,
    })
}

/// Runs a call: returns the qualified names of matching tools, the best first.
///
/// # Errors
/// A message for the model if the query is missing.
pub fn call(index: &ToolIndex, arguments: &Map<String, Value>) -> Result<Vec<String>, String> {
    let query = arguments.get("query").and_then(Value::as_str).filter(|query| !query.trim().is_empty());
    let query = query.ok_or("`query` is missing; describe in a few words what the tool should do")?;
    let limit = arguments
        .get("max_results")
        .and_then(Value::as_u64)
        .map_or(DEFAULT_RESULTS, |wanted| usize::try_from(wanted).unwrap_or(MAX_RESULTS).clamp(1, MAX_RESULTS));
    Ok(index.search(&Query::parse(query), limit).into_iter().map(|found| found.name).collect())
}
