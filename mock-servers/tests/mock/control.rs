//! Control of a running server over HTTP.

use mcp_workbench_mock_servers::{
    MockServer,
    mock::{
        Expect, HttpTransport,
        control::{Control, ControlError},
        text,
    },
    script::{Fault, FaultRule, Tool, When},
};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::client::Client;

async fn faulty(transport: HttpTransport) -> MockServer {
    MockServer::builder()
        .transport(transport)
        .tool(Tool::new("echo").replies(text("{{arguments.text}}")))
        .fault(FaultRule::named("null ids", Fault::NullId).off().when(When::method("tools/call")))
        .fault(FaultRule::named("always", Fault::UnknownFields).when(When::call("absent")))
        .start()
        .await
        .unwrap()
}

/// Asks a control endpoint.
async fn ask(control: &Control, method: Method, path: &str, body: Value) -> (StatusCode, Value) {
    let request = test_support::http_client().request(method, control.url() + path);
    let request = if body.is_null() { request } else { request.json(&body) };
    let answer = request.send().await.unwrap();
    (answer.status(), answer.json().await.unwrap())
}

async fn start(server: &MockServer) -> Control {
    Control::start(([127, 0, 0, 1], 0).into(), server).await.unwrap()
}

fn enabled(answer: &Value) -> Vec<bool> {
    answer["faults"].as_array().unwrap().iter().map(|fault| fault["enabled"].as_bool().unwrap()).collect()
}

#[tokio::test]
async fn faults_are_switched_while_the_server_runs() {
    let server = faulty(HttpTransport::Http).await;
    let client = Client::connect(&server.url()).await;
    let id = async || client.call("echo", json!({"text": "hi"})).await["id"].clone();
    assert_eq!(id().await, 1);
    assert!(server.faults().enable("null ids"));
    assert_eq!(id().await, Value::Null);
    assert_eq!((server.faults().list()[0].matched, server.faults().list()[0].acted), (2, 1));
    assert!(server.faults().disable("null ids"));
    assert_eq!(id().await, 1);
    assert!(!server.faults().enable("absent"));
    let faults = server.faults().clone();
    server.stop().await;
    assert!(!faults.enable("null ids"), "a server that has ended has no faults");
}

#[tokio::test]
async fn the_control_endpoint_switches_faults_by_name() {
    for transport in [HttpTransport::Http, HttpTransport::Sse] {
        let server = faulty(transport).await;
        let control = start(&server).await;
        let (status, faults) = ask(&control, Method::GET, "/faults", Value::Null).await;
        assert_eq!((status, enabled(&faults)), (StatusCode::OK, vec![false, true]), "{faults}");
        let (_, faults) = ask(&control, Method::PUT, "/faults/null%20ids", json!({"enabled": true})).await;
        assert_eq!(enabled(&faults), [true, true]);
        let (_, faults) = ask(&control, Method::PUT, "/faults/always", json!({"enabled": false})).await;
        assert_eq!(enabled(&faults), [true, false]);
        let (_, faults) = ask(&control, Method::POST, "/reset", Value::Null).await;
        assert_eq!(enabled(&faults), [false, true]);
        for (method, path, body, expected) in [
            (Method::PUT, "/faults/nobody", json!({"enabled": true}), StatusCode::NOT_FOUND),
            (Method::PUT, "/faults/always", json!({"enable": true}), StatusCode::BAD_REQUEST),
            (Method::POST, "/faults", Value::Null, StatusCode::METHOD_NOT_ALLOWED),
            (Method::GET, "/elsewhere", Value::Null, StatusCode::NOT_FOUND),
        ] {
            let (status, answer) = ask(&control, method, path, body).await;
            assert_eq!(status, expected, "{path}");
            assert!(answer["error"].is_string(), "{answer}");
        }
        control.stop().await;
    }
}

#[tokio::test]
async fn the_control_endpoint_tells_what_came_and_forgets_it() {
    let server = faulty(HttpTransport::Http).await;
    let control = start(&server).await;
    let (_, health) = ask(&control, Method::GET, "/health", Value::Null).await;
    assert_eq!(health, json!({"status": "running", "url": server.url()}));
    let client = Client::connect(&server.url()).await;
    client.call("echo", json!({"password": "hunter2"})).await;
    let (_, came) = ask(&control, Method::GET, "/requests", Value::Null).await;
    let methods: Vec<_> = came["requests"].as_array().unwrap().iter().map(|one| &one["message"]["method"]).collect();
    assert_eq!(methods, ["initialize", "notifications/initialized", "tools/call"]);
    assert!(!came.to_string().contains("hunter2"), "{came}");
    server.expect(Expect::call("echo").times(1));
    ask(&control, Method::POST, "/reset", Value::Null).await;
    let (_, came) = ask(&control, Method::GET, "/requests", Value::Null).await;
    assert_eq!(came, json!({"requests": []}));
    // What is expected in the process stays expected.
    assert!(server.verify().is_err());
    server.reset();
}

/// A server that counts: its rules, its faults and its tools.
async fn counting(transport: HttpTransport) -> MockServer {
    let script = json!({
        "tools": [{"name": "echo", "reply": {"text": "{{nth}}"}}, {"name": "other", "reply": {"text": "{{nth}}"}}],
        "on": [{"when": {"tool": "echo", "nth": 2}, "do": {"reply": {"text": "the second"}}}],
        "faults": [
            {"fault": "null-id", "when": {"tool": "echo", "nth": 1}},
            {"fault": "unknown-fields", "when": {"tool": "other"}, "probability": 0.5},
        ],
    });
    let script = serde_json::from_value(script).unwrap();
    MockServer::builder().transport(transport).script(script).start().await.unwrap()
}

#[tokio::test]
async fn after_a_reset_everything_is_counted_from_the_beginning() {
    let server = counting(HttpTransport::Http).await;
    let control = start(&server).await;
    let client = Client::connect(&server.url()).await;
    let heard = async || {
        let mut heard = Vec::new();
        for tool in ["echo", "echo", "echo", "other", "other", "other", "other", "other"] {
            let mut answer = client.call(tool, json!({})).await;
            // What the client counts by itself.
            if answer["id"].is_number() {
                answer["id"] = "a number".into();
            }
            heard.push(answer);
        }
        heard
    };
    let first = heard().await;
    let text = |nth: usize| first[nth]["result"]["content"][0]["text"].as_str().unwrap();
    assert_eq!([text(0), text(1), text(2), text(3), text(7)], ["1", "the second", "2", "1", "5"]);
    assert_eq!([&first[0]["id"], &first[1]["id"]], [&Value::Null, &json!("a number")]);
    assert_ne!(heard().await, first, "without a reset the counts go on");
    let (_, reset) = ask(&control, Method::POST, "/reset", Value::Null).await;
    let counts = |fault: &Value| (fault["matched"].as_u64(), fault["acted"].as_u64());
    assert_eq!(reset["faults"].as_array().unwrap().iter().map(counts).collect::<Vec<_>>(), [(Some(0), Some(0)); 2]);
    assert_eq!(heard().await, first);
    server.reset();
    assert_eq!(heard().await, first);
}

#[tokio::test]
async fn the_control_endpoint_is_for_this_machine_alone() {
    let server = faulty(HttpTransport::Http).await;
    let refused = Control::start(([0, 0, 0, 0], 0).into(), &server).await;
    assert!(matches!(refused, Err(ControlError::NotLoopback { .. })), "{refused:?}");
    let control = start(&server).await;
    let reset = test_support::http_client().post(control.url() + "/reset");
    for (name, value) in [("origin", "http://evil.example"), ("host", "evil.example")] {
        let answer = reset.try_clone().unwrap().header(name, value).send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::FORBIDDEN, "{name}");
    }
}
