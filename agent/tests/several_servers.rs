//! Resources, prompts and mentions of several servers at once, over real sockets.

#![expect(clippy::unwrap_used, reason = "a test fails where something is missing")]

use std::time::Duration;

use client::{
    Endpoint, HttpEndpoint, ManagedServer, Manager, ManagerOptions, Naming, Revision, RevisionChoice, ServerConfig,
    Timeouts, manager::Backoff,
};
use mcp_workbench_agent::{
    mentions,
    prompts::Prompts,
    resources::{Resources, TemplateArguments},
};
use mock_servers::{MockServer, script::Script};
use serde_json::{Value, json};

const REVISIONS: [&str; 2] = ["2025-11-25", "2026-07-28"];

/// A server with a note that a call replaces, a template and a prompt.
fn notes(name: &str) -> Value {
    json!({
        "name": name,
        "capabilities": {"tools": {}, "resources": {"listChanged": true, "subscribe": true}, "prompts": {"listChanged": true}},
        "page_size": 1,
        "tools": [{"name": "more"}],
        "resources": [
            {"uri": format!("note://{name}/1"), "name": "first", "contents": {"text": format!("first of {name}")}},
            {"uri": format!("note://{name}/2"), "name": "second note", "contents": {"text": format!("second of {name}")}},
        ],
        "resource_templates": [{"uri_template": "note://{owner}/{id}", "name": "note"}],
        "prompts": [{
            "name": "greet.someone",
            "arguments": [{"name": "who", "required": true}, {"name": "how"}],
            "messages": {"content": {"text": "Hello {{arguments.who}}, {{arguments.how}}"}},
        }],
        "on": [{
            "when": {"tool": "more"},
            "do": [
                {"change": {
                    "resources": {"put": [{"uri": format!("note://{name}/3"), "name": "third", "contents": {"text": "3"}}]},
                    "prompts": {"put": [{"name": "bye", "messages": {"content": {"text": "Bye"}}}]},
                    "announce": true,
                }},
                {"reply": {"text": "done"}},
            ],
        }],
    })
}

async fn start(script: Value) -> MockServer {
    MockServer::start(serde_json::from_value::<Script>(script).unwrap()).await.unwrap()
}

fn managed(name: &str, url: String, revision: &str) -> ManagedServer {
    let endpoint = Endpoint::StreamableHttp(HttpEndpoint { url, ..HttpEndpoint::default() });
    let pinned: Revision = serde_json::from_value(json!(revision)).unwrap();
    let timeouts = Timeouts { request: Duration::from_secs(2), ..Timeouts::default() };
    let config =
        ServerConfig { protocol: RevisionChoice::Pinned(pinned), timeouts, ..ServerConfig::new(name, endpoint) };
    ManagedServer::new(config)
}

/// Two servers that work, one without resources and prompts, one that refuses its lists, and one that is not there.
async fn servers(revision: &str) -> (Manager, [MockServer; 4]) {
    let refuses =
        |method: &str| json!({"when": {"method": method}, "do": {"error": {"code": -32603, "message": "no"}}});
    let servers = [
        start(notes("a")).await,
        start(notes("b")).await,
        start(json!({"tools": [{"name": "only"}], "capabilities": {"tools": {}}})).await,
        start(json!({
            "capabilities": {"resources": {}, "prompts": {}},
            "on": [refuses("resources/list"), refuses("prompts/list")],
        }))
        .await,
    ];
    let gone = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}/mcp", listener.local_addr().unwrap())
    };
    let backoff = Backoff { tries: 0, ..Backoff::default() };
    let manager = Manager::new(ManagerOptions { backoff, ..ManagerOptions::default() });
    let mut all: Vec<_> = ["a", "b", "bare", "refuses"]
        .into_iter()
        .zip(&servers)
        .map(|(name, server)| managed(name, server.url(), revision))
        .collect();
    all.push(managed("gone", gone, revision));
    manager.apply(all).await.unwrap();
    (manager, servers)
}

fn requests(server: &MockServer, method: &str) -> usize {
    server.received().iter().filter(|message| message.method() == Some(method)).count()
}

fn uris(list: &[Value]) -> Vec<&str> {
    list.iter().filter_map(|resource| resource["uri"].as_str()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_are_fetched_per_server_and_cached_until_they_change() {
    for revision in REVISIONS {
        let (manager, mocks) = servers(revision).await;
        let resources = Resources::new(manager.clone());
        for _ in 0..2 {
            let all = resources.all().await;
            assert_eq!(uris(&all.servers["a"].resources), ["note://a/1", "note://a/2"]);
            assert_eq!(uris(&all.servers["b"].resources), ["note://b/1", "note://b/2"]);
            assert_eq!(all.servers["a"].templates.len(), 1);
            assert!(all.servers["bare"].resources.is_empty());
            assert_eq!(all.missing.keys().collect::<Vec<_>>(), ["gone", "refuses"]);
            assert_eq!(all.missing["refuses"].kind(), "rpc-error");
        }
        assert_eq!(requests(&mocks[0], "resources/list"), 2, "two pages, and read once");
        let mut events = manager.events();
        manager.call("a", "more", json!({}), Default::default()).await.unwrap();
        let changed = async { while events.recv().await.unwrap().kind != client::ClientEventKind::ResourcesChanged {} };
        tokio::time::timeout(Duration::from_secs(10), changed).await.unwrap();
        assert_eq!(uris(&resources.list("a").await.unwrap()), ["note://a/1", "note://a/2", "note://a/3"]);
        resources.list("b").await.unwrap();
        assert_eq!(requests(&mocks[1], "resources/list"), 2, "a change of one server does not affect another");
        manager.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_template_is_expanded_and_read() {
    let (manager, _servers) = servers("2025-11-25").await;
    let resources = Resources::new(manager.clone());
    let template = resources.template("b", "note").await.unwrap().unwrap();
    let uri = template.fill(&TemplateArguments::ByPosition(vec!["b".into(), "2".into()])).unwrap();
    assert_eq!(resources.read("b", &uri).await.unwrap()["contents"][0]["text"], "second of b");
    assert_eq!(resources.template("b", "none").await.unwrap(), None);
    manager.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn mentioned_resources_are_read_once() {
    for revision in REVISIONS {
        let (manager, mocks) = servers(revision).await;
        let resources = Resources::new(manager.clone());
        let text = "Compare @a:note://a/1 with @b:<second note>, @gone:x://y and @a:note://a/1. Not me@a:note://a/2!";
        let found = mentions::read(text, &resources).await;
        let read: Vec<_> = found.iter().map(|one| (one.server.as_str(), one.uri.as_str(), one.ranges.len())).collect();
        assert_eq!(read, [("a", "note://a/1", 2), ("b", "note://b/2", 1), ("gone", "x://y", 1)]);
        let text_of = |number: usize| found[number].contents.as_ref().unwrap()["contents"][0]["text"].clone();
        assert_eq!([text_of(0), text_of(1)], ["first of a", "second of b"]);
        assert!(found[2].contents.is_err());
        assert_eq!(requests(&mocks[0], "resources/read"), 1);
        assert_eq!(requests(&mocks[0], "resources/list"), 0, "a URI needs no list");
        manager.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_incomplete_mention_is_completed() {
    let (manager, _servers) = servers("2025-11-25").await;
    let resources = Resources::new(manager.clone());
    assert_eq!(mentions::completions("@b", &resources).await.unwrap(), ["@b:", "@bare:"]);
    assert_eq!(mentions::completions("@a:note://a/", &resources).await.unwrap(), ["@a:note://a/1", "@a:note://a/2"]);
    assert_eq!(mentions::completions("@a:SECOND", &resources).await.unwrap(), ["@a:note://a/2"]);
    assert!(mentions::completions("@refuses:", &resources).await.is_err());
    manager.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn prompts_of_all_servers_are_commands() {
    for revision in REVISIONS {
        let (manager, _servers) = servers(revision).await;
        let prompts = Prompts::new(manager.clone(), Naming::default());
        let table = prompts.all().await;
        let name = client::qualified_name("a", "greet.someone", Naming::default());
        assert_eq!(table.commands.len(), 2);
        assert_eq!(table.missing.keys().collect::<Vec<_>>(), ["gone", "refuses"]);
        let (prompt, result) = prompts.run(&format!("/{name} \"dear world\" how are you")).await.unwrap();
        assert_eq!((prompt.server.as_str(), prompt.name()), ("a", "greet.someone"));
        assert_eq!(result["messages"][0]["content"]["text"], "Hello dear world, how are you");
        for (typed, expected) in [
            (format!("/{name}"), "requires a value for `who`"),
            ("/mcp__a__nothing".to_owned(), "unknown prompt"),
            ("hello".to_owned(), "begins with `/`"),
        ] {
            let error = prompts.run(&typed).await.unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
        let mut events = manager.events();
        manager.call("a", "more", json!({}), Default::default()).await.unwrap();
        let changed = async { while events.recv().await.unwrap().kind != client::ClientEventKind::PromptsChanged {} };
        tokio::time::timeout(Duration::from_secs(10), changed).await.unwrap();
        let (_, result) = prompts.run("/mcp__a__bye").await.unwrap();
        assert_eq!(result["messages"][0]["content"]["text"], "Bye");
        manager.close().await;
    }
}
