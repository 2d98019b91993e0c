//! Over real sockets: batches of 2025-03-26, and tasks, which go on when their request is long answered.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::time::Duration;

use futures::StreamExt;
use mcp_workbench_mock_servers::{HttpMock, Recorder, Script};
use reqwest::{Client, RequestBuilder, Response};
use serde_json::{Value, json};

const BATCHES: &str = "2025-03-26";
const MODERN: &str = "2026-07-28";
/// Long enough for any machine; no test waits for it unless it fails.
const BOUND: Duration = Duration::from_secs(10);

async fn start(script: Value, revision: &str) -> (HttpMock, Client) {
    let script: Script = serde_json::from_value(script).unwrap();
    let mock = HttpMock::start(script, revision, 7, Recorder::in_memory("mock")).await.unwrap();
    (mock, test_support::http_client())
}

fn post(mock: &HttpMock, client: &Client, message: &Value) -> RequestBuilder {
    let accept = "application/json, text/event-stream";
    client.post(mock.url()).header("accept", accept).json(message).timeout(BOUND)
}

/// The messages of a stream until this is true of one of them, or until its end.
async fn events(response: Response, last: impl Fn(&Value) -> bool) -> Vec<Value> {
    let (mut stream, mut text, mut seen) = (response.bytes_stream(), String::new(), Vec::new());
    while let Some(piece) = tokio::time::timeout(BOUND, stream.next()).await.expect("an event in time") {
        text.push_str(std::str::from_utf8(&piece.unwrap()).unwrap());
        while let Some((event, rest)) = text.split_once("\n\n") {
            let data: String = event.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
            if let Ok(message) = serde_json::from_str(&data) {
                seen.push(message);
            }
            text = rest.to_owned();
        }
        if seen.last().is_some_and(&last) {
            break;
        }
    }
    seen
}

#[tokio::test]
async fn a_batch_is_answered_with_one_array_or_on_one_stream() {
    let rule = json!({"when": {"tool": "talks"}, "do": {"notify": {"method": "notifications/message"}}});
    let script = json!({"tools": [{"name": "echo"}, {"name": "talks"}], "on": [rule]});
    let (mock, client) = start(script, BATCHES).await;
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": BATCHES}});
    let opened = post(&mock, &client, &hello).send().await.unwrap();
    let session = opened.headers()["mcp-session-id"].clone();
    let send = |batch: Value| post(&mock, &client, &batch).header("mcp-session-id", session.clone()).send();
    let note = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let call =
        |id: u64, tool: &str| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool}});

    let ids =
        |messages: &Value| -> Vec<Value> { messages.as_array().unwrap().iter().map(|one| one["id"].clone()).collect() };
    let answered = send(json!([call(1, "echo"), note, call(2, "echo")])).await.unwrap();
    assert_eq!(
        (answered.status().as_u16(), &answered.headers()["content-type"]),
        (200, &"application/json".parse().unwrap())
    );
    assert_eq!(ids(&answered.json().await.unwrap()), [json!(1), json!(2)]);

    let streamed = send(json!([call(3, "echo"), call(4, "talks")])).await.unwrap();
    assert_eq!(streamed.headers()["content-type"], "text/event-stream");
    let seen = events(streamed, |_| false).await;
    assert_eq!(seen[0]["method"], "notifications/message");
    assert_eq!((ids(&seen[1]), seen.len()), (vec![json!(3), json!(4)], 2));

    let response = json!({"jsonrpc": "2.0", "id": 9, "result": {}});
    assert_eq!(send(json!([note, note])).await.unwrap().status(), 202);
    assert_eq!(send(json!([response])).await.unwrap().status(), 202);
    for refused in [json!([]), json!([1])] {
        let answer: Value = send(refused).await.unwrap().json().await.unwrap();
        let error = answer.as_array().map_or(&answer, |answers| &answers[0]);
        assert_eq!(error["error"]["code"], -32600, "{answer}");
    }
}

#[tokio::test]
async fn a_task_goes_on_in_its_own_time_and_is_heard_of() {
    let (mock, client) = start(
        json!({"tools": [{"name": "job", "task": {"support": "required", "after": "20ms"}, "reply": {"text": "done"}}]}),
        MODERN,
    )
    .await;
    let send = |id: u64, method: &str, name: Option<&str>, mut params: Value| {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientCapabilities": {"extensions": {"io.modelcontextprotocol/tasks": {}}},
        });
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let mut request =
            post(&mock, &client, &message).header("mcp-protocol-version", MODERN).header("mcp-method", method);
        if let Some(name) = name {
            request = request.header("mcp-name", name);
        }
        request.send()
    };
    let task: Value = send(1, "tools/call", Some("job"), json!({"name": "job"})).await.unwrap().json().await.unwrap();
    assert_eq!(task["result"]["resultType"], "task");
    let id = task["result"]["taskId"].as_str().unwrap();
    let get = |name| send(2, "tasks/get", name, json!({"taskId": id}));
    for wrong in [None, Some("other")] {
        let refused = get(wrong).await.unwrap();
        assert_eq!(refused.status(), 400, "the header is to name the task");
        assert_eq!(refused.json::<Value>().await.unwrap()["error"]["code"], -32020);
    }
    // The stream tells of the end, unless that has come before it: then asking tells it.
    let asked: Value = get(Some(id)).await.unwrap().json().await.unwrap();
    if asked["result"]["status"] == "working" {
        let stream = send(3, "subscriptions/listen", None, json!({"notifications": {"taskIds": [id]}})).await.unwrap();
        let now: Value = get(Some(id)).await.unwrap().json().await.unwrap();
        if now["result"]["status"] == "working" {
            let seen = events(stream, |message| message["params"]["status"] == "completed").await;
            assert_eq!(seen.last().unwrap()["params"]["result"]["content"][0]["text"], "done");
        }
    }
    let done: Value = get(Some(id)).await.unwrap().json().await.unwrap();
    assert_eq!(done["result"]["result"]["content"][0]["text"], "done");
}
