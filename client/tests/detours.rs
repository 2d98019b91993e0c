//! Results after URL elicitation (2025-11-25) or a task (2026-07-28). Servers are in memory, and time is paused.

#![expect(clippy::unwrap_used, reason = "a test fails where something is missing")]

mod support;

use std::time::Duration;

use mcp_workbench_client::{
    CallError, CallOptions, ClientEvent, ClientEventKind, ConnectOptions, Connection, EventSink, HostLink,
    HostRequestKind, HostRequests, HostSupport, Revision, RevisionChoice, ServerConfig, ToolResult,
};
use serde_json::{Map, Value, json};
use support::{Answer, Transcript, config, connect_to, legacy, modern, result, until_sent};
use tokio::{sync::broadcast::Receiver, time::Instant};

const MODERN: Revision = Revision::V2026_07_28;

struct Met {
    connection: Connection,
    transcript: Transcript,
    requests: HostRequests,
    heard: Receiver<ClientEvent>,
}

async fn meet(
    revision: Revision,
    support: HostSupport,
    answer: impl FnMut(&Value) -> Vec<String> + Send + 'static,
) -> Met {
    let config = ServerConfig { protocol: RevisionChoice::Pinned(revision), ..config() };
    let (link, events) = (HostLink::new(support), EventSink::default());
    let (requests, heard) = (link.subscribe(), events.subscribe());
    let options = ConnectOptions { host: Some(link), events, ..ConnectOptions::default() };
    let (connection, transcript) = connect_to(config, options, answer).await;
    Met { connection: connection.unwrap(), transcript, requests, heard }
}

async fn call(connection: &Connection) -> Result<ToolResult, CallError> {
    let options = CallOptions {
        timeout: Some(Duration::from_secs(5)),
        ceiling: Some(Duration::from_secs(100)),
        ..CallOptions::default()
    };
    connection.call("late", Value::Null, options).await
}

fn visit(id: &str) -> Value {
    json!({"mode": "url", "elicitationId": id, "url": format!("https://a.test/{id}"), "message": "Sign in."})
}

/// A server that requires visits to `a` and `b` before the second call, and reports one as complete for each ping.
fn wanting(data: Value) -> Answer {
    let (mut calls, mut over) = (0, vec!["b", "a", "never-asked-for"]);
    Box::new(legacy(move |message| match message["method"].as_str().unwrap_or_default() {
        "tools/call" => {
            calls += 1;
            if calls > 1 {
                return result(message, json!({"content": [{"type": "text", "text": "done"}]}));
            }
            let error = json!({"code": -32042, "message": "first", "data": data});
            vec![json!({"jsonrpc": "2.0", "id": message["id"], "error": error}).to_string()]
        }
        "ping" => {
            let params = json!({"elicitationId": over.pop().unwrap()});
            let told = json!({"jsonrpc": "2.0", "method": "notifications/elicitation/complete", "params": params});
            [vec![told.to_string()], result(message, json!({}))].concat()
        }
        _ => vec![],
    }))
}

fn completed(heard: &mut Receiver<ClientEvent>) -> Vec<String> {
    let all = std::iter::from_fn(|| heard.try_recv().ok());
    let ids = all.filter_map(|event| match event.kind {
        ClientEventKind::ElicitationCompleted { elicitation_id } => Some(elicitation_id),
        _ => None,
    });
    ids.collect()
}

fn calls(transcript: &Transcript) -> usize {
    support::methods(transcript).iter().filter(|method| *method == "tools/call").count()
}

#[tokio::test(start_paused = true)]
async fn a_call_that_requires_visits_is_repeated_after_them() {
    let data = json!({"elicitations": [visit("a"), visit("b")]});
    let Met { connection, transcript, mut requests, mut heard } =
        meet(Revision::V2025_11_25, HostSupport::ALL, wanting(data)).await;
    let user = async {
        let mut asked = vec![requests.next().await.unwrap(), requests.next().await.unwrap()];
        let urls = asked.iter().map(|request| match request.kind() {
            HostRequestKind::Url { url, elicitation_id, .. } => (url.to_string(), elicitation_id.clone()),
            other => panic!("{other:?}"),
        });
        let mut urls: Vec<_> = urls.collect();
        urls.sort();
        let expected = ["a", "b"].map(|id| (format!("https://a.test/{id}"), Some(id.to_owned())));
        assert_eq!(urls, expected);
        // The time of the user does not count.
        tokio::time::sleep(Duration::from_secs(3_600)).await;
        for request in &mut asked {
            request.consent().unwrap();
        }
        connection.ping().await.unwrap();
        connection.ping().await.unwrap();
        assert_eq!(calls(&transcript), 1, "one visit is still to be made");
        tokio::time::sleep(Duration::from_secs(50)).await;
        connection.ping().await.unwrap();
    };
    let (outcome, ()) = tokio::join!(call(&connection), user);
    assert_eq!(outcome.unwrap().text(), "done");
    assert_eq!(calls(&transcript), 2);
    assert_eq!(completed(&mut heard), ["a", "b"], "what was never asked for is ignored");
}

#[tokio::test(start_paused = true)]
async fn visits_that_are_declined_or_never_complete_fail_the_call_with_the_urls() {
    let data = || json!({"elicitations": [visit("a")]});
    // URLs were not declared.
    let forms = HostSupport { forms: true, ..HostSupport::NONE };
    let met = meet(Revision::V2025_11_25, forms, wanting(data())).await;
    let error = call(&met.connection).await.unwrap_err();
    assert!(matches!(&error, CallError::UrlElicitationRequired { elicitations } if elicitations[0] == visit("a")));
    assert!(error.to_string().contains("https://a.test/a"), "{error}");

    for consents in [false, true] {
        let Met { connection, transcript, mut requests, .. } =
            meet(Revision::V2025_11_25, HostSupport::ALL, wanting(data())).await;
        let user = async {
            let mut request = requests.next().await.unwrap();
            if consents {
                request.consent().unwrap();
            } else {
                request.decline();
            }
        };
        let begun = Instant::now();
        let (outcome, ()) = tokio::join!(call(&connection), user);
        assert_eq!(outcome.unwrap_err().kind(), "url-elicitation-required");
        assert_eq!(begun.elapsed() > Duration::from_secs(90), consents, "only a visit is waited for");
        assert_eq!(calls(&transcript), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn an_error_without_visits_or_of_another_revision_does_not_ask_the_user() {
    for data in [
        json!({}),
        json!({"elicitations": []}),
        json!({"elicitations": [{"mode": "form", "elicitationId": "a", "url": "https://a.test"}]}),
        json!({"elicitations": [{"mode": "url", "url": "https://a.test"}]}),
    ] {
        let met = meet(Revision::V2025_11_25, HostSupport::ALL, wanting(data.clone())).await;
        assert_eq!(call(&met.connection).await.unwrap_err().kind(), "malformed-result", "{data}");
    }
    let data = json!({"elicitations": [visit("a")]});
    let met = meet(Revision::V2025_06_18, HostSupport::ALL, wanting(data)).await;
    assert!(matches!(call(&met.connection).await, Err(CallError::Rpc { code: -32042, .. })));
}

/// A server whose call becomes a task with these successive states.
fn tasked(states: Vec<Value>) -> Answer {
    let mut states = states.into_iter();
    Box::new(modern(move |message| match message["method"].as_str().unwrap_or_default() {
        "tools/call" => result(message, task("task", json!({"status": "working"}))),
        "tasks/get" => match states.next() {
            Some(state) if state == "lost" => support::error(message, -32603),
            Some(state) => result(message, task("complete", state)),
            None => vec![],
        },
        "tasks/update" | "tasks/cancel" => result(message, json!({"resultType": "complete"})),
        _ => vec![],
    }))
}

fn task(kind: &str, state: Value) -> Value {
    let mut task = json!({"resultType": kind, "taskId": "t", "ttlMs": null, "pollIntervalMs": 2_000});
    task.as_object_mut().unwrap().extend(state.as_object().unwrap().clone());
    task
}

#[tokio::test(start_paused = true)]
async fn a_task_is_polled_at_the_suggested_interval_and_its_inputs_are_answered_once() {
    let question = json!({"method": "elicitation/create", "params": {
        "mode": "form", "message": "Sure?", "requestedSchema": {"type": "object", "properties": {}}}});
    let asking = || json!({"status": "input_required", "inputRequests": {"k": question}});
    let done = json!({"status": "completed", "result": {"content": [{"type": "text", "text": "done"}]}});
    let states = vec![json!({"status": "working"}), asking(), asking(), done];
    let Met { connection, transcript, mut requests, .. } = meet(MODERN, HostSupport::ALL, tasked(states)).await;
    let user = async {
        let mut request = requests.next().await.unwrap();
        assert!(request.call().is_some());
        tokio::time::sleep(Duration::from_secs(3_600)).await;
        request.accept(Map::new()).unwrap();
    };
    let begun = Instant::now();
    let (outcome, ()) = tokio::join!(call(&connection), user);
    assert_eq!(outcome.unwrap().text(), "done");
    assert_eq!(begun.elapsed().as_secs(), 3_600 + 8, "four intervals and the user");
    let sent = transcript.lock().unwrap().clone();
    let updates: Vec<_> = sent.iter().filter(|message| message["method"] == "tasks/update").collect();
    assert_eq!(updates.len(), 1, "the same question was asked again before the answer was seen");
    assert_eq!(updates[0]["params"]["inputResponses"]["k"]["action"], "accept");
    assert!(!sent.iter().any(|message| message["method"] == "tasks/cancel"));
}

#[tokio::test(start_paused = true)]
async fn the_result_of_a_task_is_that_of_its_call() {
    let failed = json!({"status": "failed", "error": {"code": -32000, "message": "no", "data": 7}});
    for (state, kind) in [
        (failed, "rpc-error"),
        (json!({"status": "cancelled"}), "task-cancelled"),
        (json!({"status": "completed"}), "malformed-result"),
        (json!({"status": "failed"}), "malformed-result"),
        (json!("lost"), "rpc-error"),
    ] {
        let met = meet(MODERN, HostSupport::ALL, tasked(vec![state.clone()])).await;
        assert_eq!(call(&met.connection).await.unwrap_err().kind(), kind, "{state}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_dropped_task_is_cancelled_and_one_that_is_not_awaited_is_the_result() {
    let working = || vec![json!({"status": "working"}); 1_000];
    let met = meet(MODERN, HostSupport::ALL, tasked(working())).await;
    let begun = Instant::now();
    assert_eq!(call(&met.connection).await.unwrap_err().kind(), "timed-out");
    assert_eq!(begun.elapsed().as_secs(), 100, "the ceiling of the call");
    assert_eq!(until_sent(&met.transcript, "tasks/cancel").await["params"]["taskId"], "t");

    let met = meet(MODERN, HostSupport::ALL, tasked(working())).await;
    let dropped = tokio::time::timeout(Duration::from_secs(30), call(&met.connection)).await;
    assert!(dropped.is_err());
    until_sent(&met.transcript, "tasks/cancel").await;

    let met = meet(MODERN, HostSupport::ALL, tasked(working())).await;
    let options = CallOptions { await_task: false, ..CallOptions::default() };
    let result = met.connection.call("late", Value::Null, options).await.unwrap();
    assert_eq!((result.result_type(), &result.wire()["taskId"]), ("task", &json!("t")));
    assert!(support::sent(&met.transcript, "tasks/get").is_none());
}
