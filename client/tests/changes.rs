//! Announcements of changed lists and resources.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

use std::{collections::HashMap, time::Duration};

use mcp_workbench_client::{CallOptions, ClientEvent, ClientEventKind, Connection, EventSink};
use serde_json::{Value, json};
use test_support::wait_until;
use tokio::{sync::broadcast::Receiver, time::timeout};

use crate::support::{Answer, Transcript, config, connect_to, legacy, methods, modern, result, sent, until_sent};

/// Long enough for any machine: only a failing test waits for it.
const BOUND: Duration = Duration::from_secs(600);

fn change(of: &str, params: Value) -> String {
    json!({"jsonrpc": "2.0", "method": format!("notifications/{of}"), "params": params}).to_string()
}

/// A server that announces changes of these lists. Its tool `change` announces everything that the client subscribed
/// to. In 2026-07-28, the first `ends` subscriptions end by themselves.
fn server(era: &'static str, lists: &'static [&'static str], mut ends: usize) -> Answer {
    let in_filter = |list: &str| format!("{list}ListChanged");
    // Before 2026-07-28 changes are always announced.
    let mut wanted: Vec<_> = lists.iter().filter(|_| era == "legacy").map(|list| in_filter(list)).collect();
    // The subscription that each notification belongs to (2026-07-28, basic/patterns/subscriptions).
    let mut subscriptions: HashMap<String, Value> = HashMap::new();
    let belonging = |mut params: Value, id: Option<&Value>| {
        if let Some(id) = id {
            params["_meta"] = json!({ "io.modelcontextprotocol/subscriptionId": id });
        }
        params
    };
    let rest = move |message: &Value| match message["method"].as_str().unwrap_or_default() {
        "resources/subscribe" if era == "legacy" => {
            wanted.push(message["params"]["uri"].as_str().unwrap().to_owned());
            result(message, json!({}))
        }
        "resources/unsubscribe" if era == "legacy" => {
            wanted.retain(|wanted| *wanted != message["params"]["uri"]);
            result(message, json!({}))
        }
        "subscriptions/listen" if era == "modern" => {
            let filter = message["params"]["notifications"].as_object().unwrap();
            let uris = filter.get("resourceSubscriptions").and_then(Value::as_array).into_iter().flatten();
            let mut added: Vec<_> = uris.map(|uri| uri.as_str().unwrap().to_owned()).collect();
            added.extend(filter.iter().filter(|(_, on)| **on == json!(true)).map(|(name, _)| name.clone()));
            subscriptions.extend(added.iter().map(|name| (name.clone(), message["id"].clone())));
            wanted.extend(added);
            let acknowledged = belonging(json!({"notifications": filter}), Some(&message["id"]));
            let mut lines = vec![change("subscriptions/acknowledged", acknowledged)];
            if ends > 0 {
                ends -= 1;
                lines.extend(result(message, json!({"resultType": "complete"})));
            }
            lines
        }
        "tools/call" => {
            let mut lines: Vec<_> = ["tools", "prompts", "resources"]
                .iter()
                .filter(|list| wanted.contains(&in_filter(list)))
                .map(|list| {
                    let params = belonging(json!({}), subscriptions.get(&in_filter(list)));
                    change(&format!("{list}/list_changed"), params)
                })
                .collect();
            let watched = wanted.iter().filter(|wanted| wanted.contains("://"));
            let updated = |uri: &String| belonging(json!({"uri": uri}), subscriptions.get(uri));
            lines.extend(watched.map(|uri| change("resources/updated", updated(uri))));
            lines.extend(result(message, json!({"content": [], "resultType": "complete"})));
            lines
        }
        _ => vec![],
    };
    let mut answer: Answer = if era == "legacy" { Box::new(legacy(rest)) } else { Box::new(modern(rest)) };
    Box::new(move |message: &Value| answer(message).into_iter().map(|line| declaring(lists, line)).collect())
}

/// A handshake result that declares tools, subscriptions to resources, and announcements for these lists. Other lines are unchanged.
fn declaring(lists: &[&str], line: String) -> String {
    let mut message: Value = serde_json::from_str(&line).unwrap();
    let Some(capabilities) = message.pointer_mut("/result/capabilities") else { return line };
    *capabilities = json!({"tools": {}});
    for list in lists {
        capabilities[*list] = json!({"listChanged": true});
    }
    message["result"]["capabilities"]["resources"]["subscribe"] = json!(true);
    message.to_string()
}

async fn connect(answer: Answer) -> (Connection, Transcript, Receiver<ClientEvent>) {
    let events = EventSink::default();
    let heard = events.subscribe();
    let (connection, transcript) = connect_to(config(), events, answer).await;
    (connection.unwrap(), transcript, heard)
}

/// The next announcement.
async fn announced(heard: &mut Receiver<ClientEvent>) -> ClientEventKind {
    let next = async {
        loop {
            let event = heard.recv().await.unwrap();
            match event.kind {
                ClientEventKind::ToolsChanged
                | ClientEventKind::PromptsChanged
                | ClientEventKind::ResourcesChanged
                | ClientEventKind::ResourceUpdated { .. } => return event.kind,
                _ => {}
            }
        }
    };
    timeout(BOUND, next).await.expect("an announcement")
}

async fn change_all(connection: &Connection) {
    connection.call("change", json!({}), CallOptions::default()).await.unwrap();
}

#[tokio::test]
async fn changes_of_all_lists_are_reported_in_both_eras() {
    for era in ["legacy", "modern"] {
        let (connection, transcript, mut heard) = connect(server(era, &["tools", "prompts", "resources"], 0)).await;
        if era == "modern" {
            until_sent(&transcript, "subscriptions/listen").await;
        }
        change_all(&connection).await;
        assert_eq!(announced(&mut heard).await, ClientEventKind::ToolsChanged, "{era}");
        assert_eq!(announced(&mut heard).await, ClientEventKind::PromptsChanged, "{era}");
        assert_eq!(announced(&mut heard).await, ClientEventKind::ResourcesChanged, "{era}");
    }
}

#[tokio::test]
async fn only_declared_announcements_are_subscribed() {
    let (connection, transcript, mut heard) = connect(server("modern", &["prompts"], 0)).await;
    let listened = until_sent(&transcript, "subscriptions/listen").await;
    assert_eq!(listened["params"]["notifications"], json!({"promptsListChanged": true}));
    change_all(&connection).await;
    assert_eq!(announced(&mut heard).await, ClientEventKind::PromptsChanged);
    let (connection, transcript, _) = connect(server("modern", &[], 0)).await;
    change_all(&connection).await;
    assert!(sent(&transcript, "subscriptions/listen").is_none());
}

#[tokio::test(start_paused = true)]
async fn changes_without_a_subscription_are_assumed() {
    let (_connection, _, mut heard) = connect(server("modern", &["tools", "prompts", "resources"], 1)).await;
    assert_eq!(announced(&mut heard).await, ClientEventKind::ToolsChanged);
    assert_eq!(announced(&mut heard).await, ClientEventKind::PromptsChanged);
    assert_eq!(announced(&mut heard).await, ClientEventKind::ResourcesChanged);
}

#[tokio::test]
async fn a_resource_is_subscribed_until_it_is_unsubscribed() {
    for (era, asks, leaves) in [
        ("legacy", "resources/subscribe", "resources/unsubscribe"),
        ("modern", "subscriptions/listen", "notifications/cancelled"),
    ] {
        let (connection, transcript, mut heard) = connect(server(era, &[], 0)).await;
        connection.subscribe_resource("test://a").await.unwrap();
        let asked = until_sent(&transcript, asks).await;
        // A second subscription has no effect.
        connection.subscribe_resource("test://a").await.unwrap();
        change_all(&connection).await;
        assert_eq!(announced(&mut heard).await, ClientEventKind::ResourceUpdated { uri: "test://a".into() }, "{era}");
        connection.unsubscribe_resource("test://a").await.unwrap();
        let left = until_sent(&transcript, leaves).await;
        match era {
            "legacy" => {
                assert_eq!([&asked["params"]["uri"], &left["params"]["uri"]], ["test://a"; 2]);
            }
            _ => {
                assert_eq!(asked["params"]["notifications"], json!({"resourceSubscriptions": ["test://a"]}));
                assert_eq!(left["params"]["requestId"], asked["id"]);
                assert_eq!(methods(&transcript).iter().filter(|method| *method == asks).count(), 1);
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_failed_subscription_is_reopened() {
    let (connection, transcript, mut heard) = connect(server("modern", &[], 1)).await;
    connection.subscribe_resource("test://a").await.unwrap();
    assert_eq!(announced(&mut heard).await, ClientEventKind::ResourceUpdated { uri: "test://a".into() });
    let listens = || methods(&transcript).iter().filter(|method| *method == "subscriptions/listen").count();
    wait_until("a second subscription", || listens() == 2).await;
}

#[tokio::test]
async fn updates_of_other_subscriptions_are_ignored() {
    let mut answer = modern(|message| {
        let update = |uri: &str, id: Value| {
            let meta = json!({ "io.modelcontextprotocol/subscriptionId": id });
            change("resources/updated", json!({ "uri": uri, "_meta": meta }))
        };
        match message["method"].as_str().unwrap_or_default() {
            "subscriptions/listen" => {
                let id = &message["id"];
                let text = json!(id.to_string());
                vec![
                    change("resources/updated", json!({ "uri": "test://unmarked" })),
                    update("test://foreign", json!(9_999)),
                    update("test://retyped", text),
                    update("test://own", id.clone()),
                ]
            }
            _ => vec![],
        }
    });
    let answer = move |message: &Value| answer(message).into_iter().map(|line| declaring(&[], line)).collect();
    let (connection, _, mut heard) = connect(Box::new(answer)).await;
    connection.subscribe_resource("test://own").await.unwrap();
    assert_eq!(announced(&mut heard).await, ClientEventKind::ResourceUpdated { uri: "test://own".into() });
}

#[tokio::test(start_paused = true)]
async fn each_modern_request_has_the_log_level() {
    const LEVEL: &str = "io.modelcontextprotocol/logLevel";
    let answer = modern(|message| {
        if message["method"] != "tools/call" {
            return vec![];
        }
        let level = &message["params"]["_meta"][LEVEL];
        let mut lines = vec![];
        if !level.is_null() {
            lines.push(change("message", json!({"level": level, "data": {"a": 1}})));
        }
        lines.extend(result(message, json!({"content": []})));
        lines
    });
    let (connection, transcript, mut heard) = connect(Box::new(answer)).await;
    let call = async || connection.call("any", Value::Null, CallOptions::default()).await.unwrap();
    call().await;
    let first = sent(&transcript, "tools/call").unwrap();
    assert!(first["params"]["_meta"].get(LEVEL).is_none(), "{first}");
    assert_eq!(connection.set_log_level("loud").await.unwrap_err().kind(), "not-in-revision");
    connection.set_log_level("warning").await.unwrap();
    call().await;
    let logged =
        std::iter::from_fn(|| heard.try_recv().ok()).find(|event| matches!(event.kind, ClientEventKind::Log { .. }));
    assert_eq!(logged.unwrap().kind, ClientEventKind::Log { level: "warning".into(), data: json!({"a": 1}) });
    let last = transcript.lock().unwrap().last().cloned().unwrap();
    assert_eq!(last["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"], "2026-07-28", "{last}");
}
