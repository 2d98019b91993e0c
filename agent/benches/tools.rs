//! What many tools cost an agent: naming them, indexing them, searching them.

use std::{hint::black_box, sync::Arc};

use client::{NameLimit, NameScheme, Naming, Tool, ToolCatalog, qualified_name};
use criterion::{Criterion, criterion_group, criterion_main};
use mcp_workbench_agent::search::{Query, ToolIndex};
use serde_json::json;

/// How many tools there are, on how many servers.
const TOOLS: usize = 10_000;
const SERVERS: usize = 50;

const VERBS: [&str; 12] =
    ["create", "list", "get", "update", "delete", "search", "merge", "close", "export", "import", "watch", "rename"];
const THINGS: [&str; 14] = [
    "issue",
    "repository",
    "pull_request",
    "file",
    "page",
    "table",
    "message",
    "channel",
    "calendar",
    "invoice",
    "customer",
    "dashboard",
    "deployment",
    "secret",
];

/// The name and the description of a tool, as servers have them.
fn tool(number: usize) -> (String, String) {
    let verb = VERBS[number % VERBS.len()];
    let thing = THINGS[number / VERBS.len() % THINGS.len()];
    let area = number / (VERBS.len() * THINGS.len());
    let description = format!(
        "{verb} a {thing} in area {area}. Returns the {thing} with all of its fields, or an error if the caller has no \
         permission to {verb} it. Use this when the user asks to {verb} something in the workspace."
    );
    (format!("{verb}_{thing}_{area}"), description)
}

fn catalog() -> ToolCatalog {
    let mut catalog = ToolCatalog::default();
    for server in 0..SERVERS {
        let tools: Vec<Arc<Tool>> = (server..TOOLS)
            .step_by(SERVERS)
            .filter_map(|number| {
                let (name, description) = tool(number);
                let wire = json!({"name": name, "description": description, "inputSchema": {"type": "object"}});
                Some(Arc::new(Tool::read(wire).ok()?.0))
            })
            .collect();
        catalog.set_server(&format!("server-{server}"), &tools);
    }
    assert_eq!(catalog.len(), TOOLS);
    catalog
}

fn names(criterion: &mut Criterion) {
    let plain: Vec<_> = (0..TOOLS).map(|number| (format!("server-{}", number % SERVERS), tool(number).0)).collect();
    let hashed: Vec<_> = plain.iter().map(|(server, tool)| (server.clone(), format!("{tool}.über {tool}"))).collect();
    let short = Naming { scheme: NameScheme::Short, limit: NameLimit::Chars64 };
    for (what, pairs, naming) in [
        ("name 10,000 tools", &plain, Naming::default()),
        ("name 10,000 tools, short", &plain, short),
        ("name 10,000 tools that need a hash", &hashed, Naming::default()),
    ] {
        criterion.bench_function(what, |bench| {
            bench.iter(|| {
                for (server, tool) in pairs {
                    black_box(qualified_name(server, tool, naming));
                }
            });
        });
    }
}

fn search(criterion: &mut Criterion) {
    let catalog = catalog();
    let index = ToolIndex::from_entries(catalog.iter());
    for (what, query) in [
        ("search 10,000 tools: two words", "create invoice"),
        ("search 10,000 tools: words that all of them have", "use this when the user asks to"),
        (
            "search 10,000 tools: a whole sentence",
            "I need to find the dashboard of a customer and export the table with all of its fields to the workspace \
             calendar, then merge the pull requests that are open in the repository and watch the deployment",
        ),
        (
            "search 10,000 tools: required words that all of them have",
            "+use +this +when +user zebra invoice create merge",
        ),
        ("search 10,000 tools: the beginning of a word", "depl"),
        ("search 10,000 tools: nothing fits", "zebra"),
        ("select 2 of 10,000 tools by name", "select:mcp__server-1__list_issue_0,mcp__server-2__get_issue_0"),
    ] {
        let query = Query::parse(query);
        criterion.bench_function(what, |bench| bench.iter(|| black_box(index.search(&query, 5))));
    }
    criterion.bench_function("index 10,000 tools", |bench| {
        bench.iter(|| black_box(ToolIndex::from_entries(catalog.iter())))
    });
}

criterion_group!(benches, names, search);
criterion_main!(benches);
