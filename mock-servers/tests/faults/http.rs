//! Faults of the HTTP response.

use serde_json::{Value, json};

use super::{
    process::Process,
    wire::{MODERN, SEED, Server, answer, fault, on_call, plain, streamed},
};

#[tokio::test]
async fn a_status_has_any_headers_and_any_body() {
    for status in [200_u16, 204, 401, 418, 500, 599] {
        let body = if status == 204 { "" } else { "<h1>é</h1>" };
        let wanted = json!({"http-status": {"status": status, "headers": {"x-test": "yes"}, "body": body}});
        let heard = answer(fault(wanted.clone())).await;
        assert_eq!((heard.status(), heard.text().as_str()), (status, body));
        assert_eq!(heard.header("x-test").as_deref(), Some("yes"));
    }
    let plain = plain().await;
    assert_eq!((plain.status(), plain.header("x-test")), (200, None));
}

#[tokio::test]
async fn a_status_has_retry_after() {
    for (given, status, value) in [
        (json!({}), 429, "1"),
        (json!({"status": 503, "value": "Wed, 21 Oct 2015 07:28:00 GMT"}), 503, "Wed, 21 Oct 2015 07:28:00 GMT"),
        (json!({"value": "-1"}), 429, "-1"),
    ] {
        let heard = answer(fault(json!({"retry-after": given.clone()}))).await;
        assert_eq!((heard.status(), heard.header("retry-after").as_deref()), (status, Some(value)));
    }
    assert_eq!(plain().await.header("retry-after"), None);
}

async fn location(redirect: Value) -> (u16, String, String) {
    let server = Server::start(&on_call(fault(json!({"redirect": redirect}))), MODERN, SEED).await;
    let heard = server.call().await;
    (heard.status(), heard.header("location").unwrap(), server.host().to_owned())
}

#[tokio::test]
async fn a_redirect_has_the_requested_target() {
    let (status, same, host) = location(json!({"to": {"same-origin": "/mcp?again"}})).await;
    assert_eq!((status, same), (307, format!("http://{host}/mcp?again")));
    let (status, other, host) = location(json!({"status": 308, "to": {"other-origin": "/mcp"}})).await;
    assert_eq!((status, other), (308, format!("http://{}/mcp", host.replace("127.0.0.1", "localhost"))));
    let (status, far, _) = location(json!({"status": 302, "to": {"location": "gopher://x"}})).await;
    assert_eq!((status, far.as_str()), (302, "gopher://x"));
}

#[tokio::test]
async fn the_target_of_a_redirect_responds() {
    let script = json!({"tools": [{"name": "echo"}], "on": [
        {"when": {"method": "tools/call", "nth": 1}, "do": fault(json!({"redirect": {"to": {"same-origin": "/mcp?again"}}}))},
    ]});
    let server = Server::start(&script, MODERN, SEED).await;
    assert_eq!(server.call().await.status(), 307);
    let again = server.calling(2).replace("POST /mcp ", "POST /mcp?again ");
    assert_eq!(server.connect().await.exchange(&again).await.json()["id"], 2);
}

fn second_call_expires() -> Value {
    let when = json!({"method": "tools/call", "nth": 2});
    json!({"tools": [{"name": "echo"}], "on": [{"when": when, "do": fault("session-expiry")}]})
}

#[tokio::test]
async fn from_the_nth_request_on_the_session_is_unknown() {
    let mut server = Server::initialized(&second_call_expires()).await;
    let mut statuses = Vec::new();
    for _ in 0..3 {
        statuses.push(server.call().await.status());
    }
    assert_eq!(statuses, [200, 404, 404]);
    server.initialize().await;
    assert_eq!(server.call().await.status(), 200, "a new session works");
}

#[test]
fn over_stdio_the_server_is_no_longer_initialized() {
    let mut process = Process::initialized(&second_call_expires(), 1);
    let mut codes = Vec::new();
    for id in 1..4 {
        process.call(id);
        codes.push(process.message()["error"]["code"].as_i64());
    }
    assert_eq!(codes, [None, Some(-32001), Some(-32600)]);
}

#[tokio::test]
async fn the_same_body_has_another_content_type() {
    let wrong = fault(json!({"wrong-content-type": "text/html"}));
    let (heard, plain) = (answer(wrong.clone()).await, plain().await);
    assert_eq!(heard.header("content-type").as_deref(), Some("text/html"));
    assert_eq!(plain.header("content-type").as_deref(), Some("application/json"));
    assert_eq!(heard.body(), plain.body());
}

#[tokio::test]
async fn streams_have_the_content_type_too() {
    let heard = streamed(json!({"wrong-content-type": "text/html"})).await;
    assert_eq!(heard.header("content-type").as_deref(), Some("text/html"));
    let rule = json!({"fault": {"wrong-content-type": "text/html"}, "when": {"method": "GET"}});
    let broken = json!({"fault": {"stream-error": {}}, "when": {"method": "GET"}});
    let server = Server::initialized(&json!({"faults": [rule, broken]})).await;
    let heard = server.connect().await.exchange(&server.get()).await;
    assert_eq!(heard.header("content-type").as_deref(), Some("text/html"));
}

#[tokio::test]
async fn the_same_body_has_another_head() {
    let head = json!({"http-head": {"status": 203, "set": {"x-test": "yes"}, "remove": "content-type"}});
    let (heard, plain) = (answer(fault(head.clone())).await, plain().await);
    assert_eq!((heard.status(), heard.header("x-test").as_deref()), (203, Some("yes")));
    assert_eq!((heard.header("content-type"), heard.body()), (None, plain.body()));
    let heard = streamed(head).await;
    assert_eq!((heard.status(), heard.header("x-test").as_deref()), (203, Some("yes")));
}

#[tokio::test]
async fn notifications_have_another_head_too() {
    let head = json!({"fault": {"http-head": {"status": 200}}, "when": {"method": "notifications/x"}});
    let server = Server::initialized(&json!({"faults": [head]})).await;
    let notify = |method: &str| server.post(&json!({"jsonrpc": "2.0", "method": method}));
    for (method, status) in [("notifications/x", 200), ("notifications/y", 202)] {
        assert_eq!(server.connect().await.exchange(&notify(method)).await.status(), status, "{method}");
    }
}
