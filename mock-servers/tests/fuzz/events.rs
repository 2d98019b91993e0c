//! The SSE edge: what a mock sends as events is read back by somebody else's parser, out of pieces of any size, and is
//! what was to be sent.

use std::convert::Infallible;

use bytes::Bytes;
use futures::{StreamExt as _, stream};
use mcp_workbench_mock_servers::{HttpMock, Recorder, Script};
use rand::{Rng, RngExt as _};
use reqwest::Client;
use serde_json::{Value, json};
use sse_stream::{Sse, SseStream};

use crate::{messages::MODERN, mutation::odd_text, rounds::play_async};

/// Each call is answered with a notification that carries its text, that text where a message belongs, and a result.
fn script() -> Script {
    serde_json::from_value(json!({"tools": [{"name": "say"}], "on": [{"when": {"tool": "say"}, "do": [
        {"notify": {"method": "notifications/message", "params": {"level": "info", "data": "{{arguments.text}}"}}},
        {"fault": {"garbage": "{{arguments.text}}"}},
        {"reply": {"text": "{{arguments.text}}"}},
    ]}]}))
    .unwrap()
}

async fn call(client: &Client, url: &str, text: &str) -> Bytes {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": MODERN, "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/logLevel": "debug",
    });
    let params = json!({"name": "say", "arguments": {"text": text}, "_meta": meta});
    let response = client
        .post(url)
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", MODERN)
        .header("mcp-method", "tools/call")
        .header("mcp-name", "say")
        .json(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}))
        .send()
        .await
        .unwrap();
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    response.bytes().await.unwrap()
}

/// The events in these bytes, which come in pieces of any size.
async fn events(random: &mut impl Rng, mut bytes: Bytes) -> Vec<Sse> {
    let mut pieces = Vec::new();
    while !bytes.is_empty() {
        let most = if random.next_u32().is_multiple_of(2) { 3 } else { 200 };
        pieces.push(Ok::<_, Infallible>(bytes.split_to(random.random_range(1..=most).min(bytes.len()))));
    }
    SseStream::from_bytes_stream(stream::iter(pieces)).map(|event| event.expect("an event")).collect().await
}

fn json_of(event: &Sse) -> Value {
    event.data.as_deref().unwrap_or_default().parse().unwrap_or_else(|_| panic!("no JSON in {event:?}"))
}

#[test]
fn what_is_sent_as_events_reads_back_as_it_was() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let mock = runtime.block_on(HttpMock::start(script(), MODERN, 1, Recorder::disabled())).unwrap();
    let client = test_support::http_client();
    let url = mock.url();
    play_async("events", |mut random| {
        let (client, url) = (client.clone(), url.clone());
        async move {
            let text = odd_text(&mut random);
            let bytes = call(&client, &url, &text).await;
            let shown = format!("{text:?} as {:?}", String::from_utf8_lossy(&bytes));
            // An event that has an id and no data is there to be resumed from and says nothing.
            let events = events(&mut random, bytes).await;
            let said: Vec<_> =
                events.iter().filter(|event| event.data.as_deref().is_some_and(|data| !data.is_empty())).collect();
            let garbage = text.replace("\r\n", "\n").replace('\r', "\n");
            let [first, between @ .., last] = said.as_slice() else { panic!("{shown}") };
            assert_eq!(json_of(first)["params"]["data"], text, "{shown}");
            assert_eq!(json_of(last)["result"]["content"][0]["text"], text, "{shown}");
            let between: Vec<_> = between.iter().map(|event| event.data.clone().unwrap_or_default()).collect();
            assert_eq!(between, if garbage.is_empty() { vec![] } else { vec![garbage] }, "{shown}");
        }
    });
    runtime.block_on(mock.stop());
}
