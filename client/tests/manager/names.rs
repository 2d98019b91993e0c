//! Qualified names of many tools: each is callable, and does not change when servers are added or removed.

use std::collections::{BTreeMap, BTreeSet};

use futures::{StreamExt as _, stream};
use mcp_workbench_client::{
    CallOptions, NameLimit, NameScheme, Naming, ToolCatalog,
    manager::{ManagedServer, ToolFilter},
};
use serde_json::{Value, json};

use crate::{
    cast::{Cast, program},
    support::{Answer, legacy, result},
};

/// Names that have broken clients: illegal, too long, empty, in another script, or equal after normalization.
const TRAPS: [&str; 11] = [
    "get-x",
    "get_x",
    "get.x",
    "get x",
    "",
    "获取天气",
    "b__c",
    "_x_",
    "x/../y",
    "mcp__s00__get-x",
    "a tool whose name goes on and on, past what every provider of models takes, to 90 characters",
];
const SERVERS: usize = 50;
const TOOLS: usize = 100;

/// A server with these tools. The result of a call is the name of the tool.
fn play(tools: Vec<String>) -> impl Fn(usize) -> Answer + Send + Sync + 'static {
    move |_| {
        let listed: Vec<Value> =
            tools.iter().map(|name| json!({"name": name, "inputSchema": {"type": "object"}})).collect();
        Box::new(legacy(move |message| match message["method"].as_str() {
            Some("tools/list") => result(message, json!({ "tools": listed })),
            Some("tools/call") => {
                result(message, json!({"content": [{"type": "text", "text": message["params"]["name"]}]}))
            }
            _ => vec![],
        }))
    }
}

fn names(catalog: &ToolCatalog) -> BTreeMap<String, (String, String)> {
    let of = |entry: &mcp_workbench_client::catalog::Entry| (entry.server.clone(), entry.tool.name().to_owned());
    catalog.iter().map(|(name, entry)| (name.to_owned(), of(entry))).collect()
}

/// Function names that OpenAI, Anthropic and Gemini all accept.
fn is_legal(name: &str, limit: usize) -> bool {
    (1..=limit).contains(&name.len())
        && name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.chars().all(|character| character.is_ascii_alphanumeric() || matches!(character, '_' | '-'))
}

#[tokio::test(start_paused = true)]
async fn five_thousand_tools_of_fifty_servers_are_all_callable() {
    let mut cast = Cast::default();
    let mut servers: Vec<String> = (2..SERVERS).map(|number| format!("s{number:02}")).collect();
    servers.extend(["a".to_owned(), "a__b".to_owned()]);
    for name in &servers {
        let mut tools: Vec<String> = TRAPS.iter().map(|&trap| trap.to_owned()).collect();
        tools.push("c".to_owned());
        tools.extend((tools.len()..TOOLS).map(|number| format!("tool_{number}")));
        cast = cast.with(name, play(tools));
    }
    let manager = cast.manager();
    manager.apply(servers.iter().map(|name| program(name)).collect()).await.unwrap();
    for naming in [
        Naming::default(),
        Naming::from(NameLimit::Chars128),
        Naming { scheme: NameScheme::Short, limit: NameLimit::Chars64 },
    ] {
        let (catalog, missing) = manager.catalog(naming).await;
        assert!(missing.is_empty(), "{missing:?}");
        let names = names(&catalog);
        assert_eq!(names.len(), SERVERS * TOOLS);
        assert_eq!(names.values().collect::<BTreeSet<_>>().len(), SERVERS * TOOLS);
        for name in names.keys() {
            assert!(is_legal(name, naming.limit.chars()), "{name}");
        }
        let called = stream::iter(&names).map(|(name, (server, tool))| {
            let (manager, catalog) = (&manager, &catalog);
            async move {
                let entry = catalog.resolve(name).unwrap();
                let own = entry.tool.name();
                let result = manager.call(&entry.server, own, json!({}), CallOptions::default()).await.unwrap();
                assert_eq!((&entry.server, own, result.text().as_str()), (server, tool.as_str(), tool.as_str()));
            }
        });
        called.buffer_unordered(64).collect::<Vec<()>>().await;
    }
}

#[tokio::test(start_paused = true)]
async fn names_do_not_change_when_servers_are_added_or_removed() {
    let tools = || TRAPS.iter().map(|&trap| trap.to_owned()).collect::<Vec<_>>();
    let cast = Cast::default().with("a", play(tools())).with("a__b", play(tools())).with("a_", play(tools()));
    let manager = cast.manager();
    manager.apply(["a", "a__b"].map(program).into()).await.unwrap();
    let before = names(&manager.catalog(Naming::default()).await.0);
    manager.apply(["a_", "a", "a__b"].map(program).into()).await.unwrap();
    let joined = names(&manager.catalog(Naming::default()).await.0);
    assert_eq!(joined.len(), 3 * TRAPS.len());
    assert!(before.iter().all(|(name, tool)| joined.get(name) == Some(tool)));
    manager.apply(["a"].map(program).into()).await.unwrap();
    let left = names(&manager.catalog(Naming::default()).await.0);
    assert_eq!(left.len(), TRAPS.len());
    assert!(left.iter().all(|(name, tool)| before.get(name) == Some(tool)));
}

#[tokio::test(start_paused = true)]
async fn disabled_tools_are_neither_listed_nor_called() {
    let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<BTreeSet<String>>();
    let cast = Cast::default().with("a", play(vec!["one".into(), "two".into(), "three".into()]));
    let manager = cast.manager();
    let with = |tools| ManagedServer { tools, ..program("a") };
    for (filter, left) in [
        (ToolFilter::default(), &["one", "two", "three"][..]),
        (ToolFilter { enabled: Some(names(&["two", "three"])), ..ToolFilter::default() }, &["two", "three"]),
        (ToolFilter { enabled: Some(names(&["two", "three"])), disabled: names(&["two"]) }, &["three"]),
        (ToolFilter { disabled: names(&["one"]), ..ToolFilter::default() }, &["two", "three"]),
        (ToolFilter { enabled: Some(names(&[])), ..ToolFilter::default() }, &[]),
    ] {
        manager.apply(vec![with(filter)]).await.unwrap();
        let list = manager.tools("a").await.unwrap();
        assert_eq!(list.tools.iter().map(|tool| tool.name()).collect::<Vec<_>>(), left);
        assert_eq!(manager.catalog(Naming::default()).await.0.len(), left.len());
        for tool in ["one", "two", "three"] {
            let called = manager.call("a", tool, json!({}), CallOptions::default()).await;
            match called {
                Ok(result) => assert!(left.contains(&result.text().as_str())),
                Err(error) => assert!(error.kind() == "tool-disabled" && !left.contains(&tool), "{error}"),
            }
        }
    }
    assert_eq!(cast.starts("a").len(), 1, "what is let through changes nothing in the connection");
}
