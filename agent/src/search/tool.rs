//! The tool that a model searches with, in place of those that are deferred.

use serde_json::{Map, Value, json};

use super::{Query, ToolIndex};

/// Its name, which no tool of a server has: qualified names hold underscores.
pub const NAME: &str = "ToolSearch";
/// How many tools are found where the model does not say.
const DEFAULT_RESULTS: usize = 5;
/// How many are found at most.
const MAX_RESULTS: usize = 20;

/// What the tool does, for the model: with the servers that have something to find.
#[must_use]
pub fn description<'a>(servers: impl IntoIterator<Item = &'a str>) -> String {
    let servers: Vec<&str> = servers.into_iter().collect();
    format!(
        "Finds tools that are not shown yet, by words of their names and descriptions; those it finds can be called \
         afterwards. `+word` asks for tools that have that word, `select:name,name` for tools of exactly these names. \
         Servers: {}.",
        servers.join(", ")
    )
}

/// The schema of its arguments.
#[must_use]
pub fn input_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "What the tool should do or be called."},
            "max_results": {
                "type": "integer",
                "minimum": 1,
                "maximum": MAX_RESULTS,
                "default": DEFAULT_RESULTS,
                "description": "How many tools to find at most.",
            },
        },
        "required": ["query"],
        "additionalProperties": false,
    })
}

/// Answers a call of it: the qualified names that were found, the best first.
///
/// # Errors
/// A sentence for the model, if it did not say what to look for.
pub fn answer(index: &ToolIndex, arguments: &Map<String, Value>) -> Result<Vec<String>, String> {
    let query = arguments.get("query").and_then(Value::as_str).filter(|query| !query.trim().is_empty());
    let query = query.ok_or("`query` is missing: say in a few words what the tool should do")?;
    let limit = arguments
        .get("max_results")
        .and_then(Value::as_u64)
        .map_or(DEFAULT_RESULTS, |wanted| usize::try_from(wanted).unwrap_or(MAX_RESULTS).clamp(1, MAX_RESULTS));
    Ok(index.search(&Query::parse(query), limit).into_iter().map(|found| found.name).collect())
}
