//! The tools of a server: all pages, without invalid tools.

use std::{collections::HashSet, time::Duration};

use serde_json::{Value, json};

use super::{
    connection::{Connection, RequestTimeouts},
    defect::Defect,
    fault::Fault,
    habit::Habit,
};

/// Delay between pages of a client that never stops, so that the test uses little CPU time.
const BREATH: Duration = Duration::from_millis(20);

/// Maximum number of pages of a client with a limit of its own.
const OWN_LIMIT: usize = 64;

/// The tools of a server.
#[derive(Debug, Clone, Default)]
pub(crate) struct Listing {
    /// The tools, unchanged and in the order of the server.
    pub(crate) tools: Vec<Value>,
    /// The rejected tools: `{ name, reason }`.
    pub(crate) rejected: Vec<Value>,
    /// Whether the first page has a lifetime.
    pub(crate) is_fresh: bool,
    names: HashSet<String>,
}

impl Listing {
    /// The tool with this name.
    pub(crate) fn tool(&self, name: &str) -> Option<&Value> {
        self.tools.iter().find(|tool| tool["name"] == name)
    }

    fn add(&mut self, tool: &Value, with_headers: bool) {
        let name = tool["name"].as_str().unwrap_or_default();
        let in_headers = || Some("its `x-mcp-header` is invalid").filter(|_| with_headers && !has_valid_headers(tool));
        let reason = match defect_of(tool).or_else(in_headers) {
            None if self.names.insert(name.to_owned()) => return self.tools.push(tool.clone()),
            None => "the server has listed a tool of this name already",
            Some(reason) => reason,
        };
        self.rejected.push(json!({ "name": name, "reason": reason }));
    }
}

/// Reads all pages.
pub(crate) async fn list(connection: &Connection) -> Result<Listing, Fault> {
    let (flaw, setup) = (connection.flaw, &connection.setup);
    let mut listing = Listing::default();
    // Without the capability no request is sent (2025-06-18, lifecycle, operation).
    if !connection.greeting.is_null() && !connection.greeting["capabilities"]["tools"].is_object() {
        return Ok(listing);
    }
    let own_limit = flaw.has(Habit::OwnPageLimit) || flaw.has(Habit::TruncatesLists);
    let max_pages = if own_limit { OWN_LIMIT } else { setup.max_pages };
    let mut cursors = HashSet::new();
    let mut params = json!({});
    let mut first = None;
    for pages in 1.. {
        let cached = first.clone().filter(|_| flaw.is(Defect::CachesByMethod) && listing.is_fresh);
        let page = match connection.request("tools/list", params, &RequestTimeouts::new(setup.call)).await {
            Err(_) if flaw.is(Defect::HidesErrorOnPageTwo) && !cursors.is_empty() => return Ok(listing),
            page => page?,
        };
        let page = cached.unwrap_or(page);
        first.get_or_insert_with(|| page.clone());
        listing.is_fresh |= pages == 1 && page["ttlMs"].as_u64() > Some(0);
        let Some(tools) = page["tools"].as_array() else {
            return Err(Fault::new("malformed-result", "the page holds no list of tools"));
        };
        // Rejected tools are excluded from the list (2026-07-28, Streamable HTTP, x-mcp-header).
        let with_headers = connection.modern && connection.is_http() && !flaw.is(Defect::ListsInvalidTools);
        tools.iter().for_each(|tool| listing.add(tool, with_headers));
        connection.learn(tools);
        connection.misuse(tools).await?;
        if flaw.is(Defect::NeedsItsDialect) && tools.iter().any(|tool| tool.to_string().contains("dialects.invalid")) {
            return Err(Fault::new("malformed-result", "a schema has an unknown dialect"));
        }
        let rejects = flaw.is(Defect::BadToolDropsList) || flaw.has(Habit::RejectsInvalidLists);
        if rejects && !listing.rejected.is_empty() {
            return Err(Fault::new("malformed-result", "a tool makes no sense"));
        }
        if listing.tools.len() > setup.max_items && !own_limit {
            return Err(Fault::new("too-many-items", format!("there are more than {} tools", setup.max_items)));
        }
        let enough = flaw.is(Defect::FirstPageOnly)
            || flaw.is(Defect::StopsAtEmptyPage) && tools.is_empty()
            || flaw.is(Defect::StopsAtShortPage) && tools.len() < 2;
        if page.get("nextCursor").is_some_and(Value::is_null) && flaw.has(Habit::RejectsNullCursors) {
            return Err(Fault::new("malformed-result", "the cursor is null"));
        }
        let next = next_cursor(&page)?.filter(|_| !enough);
        let Some(next) = next else { break };
        let new = cursors.insert(next.clone());
        if flaw.is(Defect::FollowsForEver) {
            tokio::time::sleep(BREATH).await;
        } else if !new && !own_limit {
            return Err(Fault::new("repeated-cursor", format!("the cursor `{next}` came before")));
        } else if pages >= max_pages && flaw.has(Habit::TruncatesLists) {
            break;
        } else if pages >= max_pages {
            return Err(Fault::new("too-many-pages", format!("there are more than {} pages", setup.max_pages)));
        }
        // The cursor is opaque (all revisions, server/utilities/pagination).
        let next = if flaw.is(Defect::ChangesCursors) { next.trim() } else { &next };
        params = json!({ "cursor": next });
    }
    if flaw.is(Defect::SecondRequestAfterEnd) {
        connection.request("tools/list", json!({}), &RequestTimeouts::new(setup.call)).await?;
    }
    Ok(listing)
}

pub(crate) fn next_cursor(page: &Value) -> Result<Option<String>, Fault> {
    match &page["nextCursor"] {
        // Many serializers write null for a missing value.
        Value::Null => Ok(None),
        Value::String(cursor) => Ok(Some(cursor.clone())),
        odd => Err(Fault::new("illegal-cursor", format!("the cursor {odd} is no string"))),
    }
}

/// Why a tool is invalid. Other tools are not affected.
fn defect_of(tool: &Value) -> Option<&'static str> {
    match tool {
        _ if !tool["name"].is_string() => Some("it has no name"),
        _ if !tool["inputSchema"].is_object() => Some("it has no input schema"),
        _ if !matches!(tool["outputSchema"], Value::Null | Value::Object(_)) => Some("its output schema is no object"),
        _ => None,
    }
}

/// Whether the annotated properties have simple types, and headers with different, valid names, and are reached by properties
/// alone.
fn has_valid_headers(tool: &Value) -> bool {
    let (mut names, mut reached) = (HashSet::new(), 0);
    let mut open = vec![&tool["inputSchema"]];
    while let Some(schema) = open.pop() {
        open.extend(schema["properties"].as_object().into_iter().flat_map(|properties| properties.values()));
        let Some(header) = schema.get("x-mcp-header") else { continue };
        let name = header.as_str().unwrap_or_default().to_ascii_lowercase();
        let is_simple = matches!(schema["type"].as_str(), Some("string" | "integer" | "boolean"));
        let is_token =
            !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
        if !(is_simple && is_token && names.insert(name)) {
            return false;
        }
        reached += 1;
    }
    reached == annotations(&tool["inputSchema"])
}

/// The number of annotations in any part of a schema.
fn annotations(schema: &Value) -> usize {
    match schema {
        Value::Object(members) => {
            usize::from(members.contains_key("x-mcp-header")) + members.values().map(annotations).sum::<usize>()
        }
        Value::Array(items) => items.iter().map(annotations).sum(),
        _ => 0,
    }
}
