//! The HTTP envelope: headers with anything in them that HTTP lets through get an answer that fits, on every method,
//! with and without a session.

use mcp_workbench_mock_servers::{HttpMock, Recorder, Script};
use rand::{Rng, RngExt as _};
use reqwest::{Client, Method, header::HeaderValue};
use serde_json::{Value, json};

use crate::{
    messages::{Heard, MODERN, REVISIONS, any},
    mutation::{bytes, odd_text, once_in, pick},
    rounds::play_async,
};

const NAMES: [&str; 10] = [
    "last-event-id",
    "mcp-session-id",
    "mcp-protocol-version",
    "mcp-method",
    "mcp-name",
    "mcp-param-region",
    "accept",
    "content-type",
    "origin",
    "authorization",
];

fn script() -> Script {
    serde_json::from_value(json!({
        "revisions": ["2025-03-26", "2025-11-25", MODERN],
        "tools": [{"name": "echo", "input_schema": {
            "type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
        }}],
        "on": [{"when": {"tool": "ask"}, "do": [{"notify": {"method": "notifications/message"}}]}],
    }))
    .unwrap()
}

/// The value of a header: a good one, a changed one, or junk.
fn header(random: &mut impl Rng, session: &str) -> HeaderValue {
    let good = ["application/json, text/event-stream", "application/json", "tools/call", "echo", session, "1_2", "0-0"];
    let text = if once_in(random, 3) { odd_text(random) } else { pick(random, &good).to_owned() };
    let mut raw = if once_in(random, 4) { pick(random, &REVISIONS).as_bytes().to_vec() } else { text.into_bytes() };
    if once_in(random, 3) {
        bytes(random, &mut raw);
    }
    HeaderValue::from_bytes(&raw).unwrap_or(HeaderValue::from_static(""))
}

/// Opens a session.
async fn session(client: &Client, url: &str) -> String {
    let params =
        json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}});
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
    let request = client.post(url).header("accept", "application/json, text/event-stream").json(&hello);
    request.send().await.unwrap().headers()["mcp-session-id"].to_str().unwrap().to_owned()
}

#[test]
fn no_header_breaks_the_server_and_every_refusal_is_a_message_or_nothing() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let mock = runtime.block_on(HttpMock::start(script(), MODERN, 1, Recorder::disabled())).unwrap();
    let client = test_support::http_client();
    let url = mock.url();
    play_async("headers", |mut random| {
        let (client, url) = (client.clone(), url.clone());
        async move {
            let session = session(&client, &url).await;
            for _ in 0..10 {
                let method = pick(&mut random, &["POST", "POST", "POST", "GET", "DELETE", "PUT", "OPTIONS"]);
                let mut request = client.request(Method::from_bytes(method.as_bytes()).unwrap(), &url);
                if !once_in(&mut random, 4) {
                    request = request
                        .header("accept", "application/json, text/event-stream")
                        .header("content-type", "application/json");
                }
                for _ in 0..random.random_range(0..5) {
                    request = request.header(pick(&mut random, &NAMES), header(&mut random, &session));
                }
                let response = request.body(any(&mut random, &Heard::default())).send().await.expect("an answer");
                let (status, streams) = (response.status().as_u16(), is_stream(&response));
                assert!([200, 202, 204, 400, 401, 403, 404, 405, 406, 409, 415].contains(&status), "{status}");
                if !streams {
                    let body = response.bytes().await.unwrap();
                    let message =
                        |body: &[u8]| serde_json::from_slice::<Value>(body).is_ok_and(|body| is_message(&body));
                    assert!(body.is_empty() || message(&body), "{status}: {}", String::from_utf8_lossy(&body));
                }
            }
        }
    });
    runtime.block_on(mock.stop());
}

fn is_stream(response: &reqwest::Response) -> bool {
    response.headers().get("content-type").is_some_and(|value| value == "text/event-stream")
}

fn is_message(body: &Value) -> bool {
    let items = body.as_array().map_or(std::slice::from_ref(body), Vec::as_slice);
    items.iter().all(|one| one["jsonrpc"] == "2.0" && (one.get("result").is_some() != one.get("error").is_some()))
}
