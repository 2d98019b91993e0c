//! Server requests to the user, against servers in memory. Time is paused.

#![expect(clippy::unwrap_used, reason = "a test fails where something is missing")]

mod support;

use std::time::Duration;

use mcp_workbench_client::{
    CallError, CallOptions, ConnectOptions, Connection, HostLink, HostRequest, HostRequestKind, HostSupport, Revision,
    RevisionChoice, Root, ServerConfig, host::HostResponseError,
};
use serde_json::{Map, Value, json};
use support::{Answer, Transcript, config, connect_to, legacy, modern, result, until_sent};

const LEGACY: Revision = Revision::V2025_11_25;
const MODERN: Revision = Revision::V2026_07_28;

async fn joined(
    name: &str,
    revision: Revision,
    link: Option<&HostLink>,
    answer: impl FnMut(&Value) -> Vec<String> + Send + 'static,
) -> (Connection, Transcript) {
    let config = ServerConfig { name: name.to_owned(), protocol: RevisionChoice::Pinned(revision), ..config() };
    let options = ConnectOptions { host: link.cloned(), ..ConnectOptions::default() };
    let (connection, transcript) = connect_to(config, options, answer).await;
    (connection.unwrap(), transcript)
}

/// A server that sends one request during each call, and returns the response as its result.
fn asking(method: &'static str, params: Value) -> Answer {
    let mut call = Value::Null;
    Box::new(legacy(move |message| {
        if message["method"] == "tools/call" {
            call = message.clone();
            return vec![json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}).to_string()];
        }
        let answered = message.get("result").or_else(|| message.get("error"));
        match answered.filter(|_| message["id"] == 7) {
            Some(answer) => result(&call, json!({"content": [], "structuredContent": answer})),
            None => vec![],
        }
    }))
}

fn age_form() -> Value {
    let schema = json!({
        "type": "object",
        "properties": {"age": {"type": "integer", "maximum": 99, "x-kept": 1}, "name": {"type": "string", "default": "John"}},
    });
    json!({"message": "Who?", "requestedSchema": schema})
}

async fn call(connection: &Connection) -> Result<Value, CallError> {
    let options = CallOptions { timeout: Some(Duration::from_secs(5)), ..CallOptions::default() };
    let result = connection.call("ask", Value::Null, options).await?;
    Ok(result.structured().cloned().unwrap_or_default())
}

/// Waits until the request is withdrawn, with a timeout.
async fn withdrawn(request: &mut HostRequest) {
    tokio::time::timeout(Duration::from_secs(3_600), request.withdrawn()).await.expect("the request is withdrawn");
}

#[tokio::test(start_paused = true)]
async fn a_form_is_validated_completed_and_pauses_the_timeout() {
    let link = HostLink::new(HostSupport::ALL);
    let mut requests = link.subscribe();
    let (connection, _) = joined("mine", LEGACY, Some(&link), asking("elicitation/create", age_form())).await;
    let user = async {
        let mut request = requests.next().await.unwrap();
        assert_eq!((request.server(), request.wire_id()), ("mine", &json!(7)));
        let HostRequestKind::Form { message, form } = request.kind().clone() else { panic!("{request:?}") };
        assert_eq!((message.as_str(), form.fields()[0].schema["x-kept"].clone()), ("Who?", json!(1)));
        // Longer than the timeout of the call.
        tokio::time::sleep(Duration::from_secs(3_600)).await;
        let too_old = json!({"age": 100}).as_object().unwrap().clone();
        assert!(
            matches!(request.accept(too_old), Err(HostResponseError::Invalid { problems }) if problems[0].field == "age")
        );
        request.accept(json!({"age": 30}).as_object().unwrap().clone()).unwrap();
        assert_eq!(request.accept(Map::new()), Err(HostResponseError::Gone));
    };
    let (answer, ()) = tokio::join!(call(&connection), user);
    assert_eq!(answer.unwrap(), json!({"action": "accept", "content": {"age": 30, "name": "John"}}));
}

#[tokio::test(start_paused = true)]
async fn the_timeout_continues_after_the_response() {
    let link = HostLink::new(HostSupport::ALL);
    let mut requests = link.subscribe();
    let asked = json!({"jsonrpc": "2.0", "id": 7, "method": "elicitation/create", "params": age_form()}).to_string();
    let silent = legacy(move |message| if message["method"] == "tools/call" { vec![asked.clone()] } else { vec![] });
    let (connection, _) = joined("mine", LEGACY, Some(&link), silent).await;
    let begun = tokio::time::Instant::now();
    let user = async {
        let request = requests.next().await.unwrap();
        tokio::time::sleep(Duration::from_secs(100)).await;
        request.cancel();
    };
    let (answer, ()) = tokio::join!(call(&connection), user);
    assert_eq!(answer.unwrap_err().kind(), "timed-out");
    assert_eq!(begun.elapsed().as_secs(), 105);
}

#[tokio::test(start_paused = true)]
async fn requests_are_declined_without_a_subscriber_and_rejected_without_a_host() {
    let link = HostLink::new(HostSupport::ALL);
    drop(link.subscribe());
    let (connection, _) = joined("a", LEGACY, Some(&link), asking("elicitation/create", age_form())).await;
    assert_eq!(call(&connection).await.unwrap(), json!({"action": "decline"}));
    let sampling = json!({"messages": [], "maxTokens": 1});
    let (connection, _) = joined("a", LEGACY, Some(&link), asking("sampling/createMessage", sampling)).await;
    assert_eq!(call(&connection).await.unwrap()["code"], -1);
    for (method, params) in [("elicitation/create", age_form()), ("roots/list", Value::Null)] {
        let (connection, _) = joined("a", LEGACY, None, asking(method, params)).await;
        assert_eq!(call(&connection).await.unwrap()["code"], -32601);
    }
}

#[tokio::test(start_paused = true)]
async fn undeclared_and_invalid_requests_do_not_reach_the_user() {
    let forms = HostSupport { forms: true, sampling: true, ..HostSupport::NONE };
    for (support, method, params) in [
        (forms, "elicitation/create", json!({"mode": "url", "message": "", "url": "https://127.0.0.1/"})),
        (forms, "elicitation/create", json!({"message": ""})),
        (HostSupport::ALL, "elicitation/create", json!({"mode": "url", "message": "", "url": "file:///etc/passwd"})),
        (forms, "sampling/createMessage", json!({"messages": [], "tools": []})),
    ] {
        let link = HostLink::new(support);
        let mut requests = link.subscribe();
        let (connection, _) = joined("a", LEGACY, Some(&link), asking(method, params)).await;
        tokio::select! {
            answer = call(&connection) => assert_eq!(answer.unwrap()["code"], -32602),
            request = requests.next() => panic!("{request:?}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn declares_the_features_of_the_host_in_both_eras() {
    let link = HostLink::new(HostSupport { sampling_tools: false, ..HostSupport::ALL });
    let expected = json!({
        "elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {"listChanged": true},
        "extensions": {"io.modelcontextprotocol/tasks": {}},
    });
    let (_kept, transcript) = joined("a", LEGACY, Some(&link), legacy(|_| vec![])).await;
    assert_eq!(until_sent(&transcript, "initialize").await["params"]["capabilities"], expected);
    let tools = |message: &Value| result(message, json!({"resultType": "complete", "tools": []}));
    let (connection, transcript) = joined("a", MODERN, Some(&link), modern(tools)).await;
    connection.refresh().await.unwrap();
    let asked = until_sent(&transcript, "tools/list").await;
    assert_eq!(asked["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"], expected);
}

#[tokio::test(start_paused = true)]
async fn equal_ids_of_two_servers_are_distinguished() {
    let link = HostLink::new(HostSupport::ALL);
    let mut requests = link.subscribe();
    let (one, _) = joined("one", LEGACY, Some(&link), asking("elicitation/create", age_form())).await;
    let (two, _) = joined("two", LEGACY, Some(&link), asking("elicitation/create", age_form())).await;
    let user = async {
        let mut both = [requests.next().await.unwrap(), requests.next().await.unwrap()];
        assert_eq!(both[0].wire_id(), both[1].wire_id());
        assert_ne!(both[0].number(), both[1].number());
        // The last request is answered first.
        for request in both.iter_mut().rev() {
            let name = json!({"name": request.server()}).as_object().unwrap().clone();
            request.accept(name).unwrap();
        }
    };
    let (first, second, ()) = tokio::join!(call(&one), call(&two), user);
    assert_eq!(first.unwrap()["content"]["name"], "one");
    assert_eq!(second.unwrap()["content"]["name"], "two");
}

#[tokio::test(start_paused = true)]
async fn roots_are_listed_and_changes_announced() {
    let link = HostLink::new(HostSupport::ALL);
    let root = |uri: &str| Root { uri: uri.into(), name: None };
    link.set_roots(vec![root("file:///a")]);
    let (connection, transcript) = joined("a", LEGACY, Some(&link), asking("roots/list", Value::Null)).await;
    assert_eq!(call(&connection).await.unwrap(), json!({"roots": [{"uri": "file:///a"}]}));
    assert!(support::sent(&transcript, "notifications/roots/list_changed").is_none());
    link.set_roots(vec![root("file:///b")]);
    until_sent(&transcript, "notifications/roots/list_changed").await;
    assert_eq!(call(&connection).await.unwrap(), json!({"roots": [{"uri": "file:///b"}]}));
}

#[tokio::test(start_paused = true)]
async fn a_request_can_be_withdrawn_by_the_server() {
    let link = HostLink::new(HostSupport::ALL);
    let mut requests = link.subscribe();
    let asked = json!({"jsonrpc": "2.0", "id": 7, "method": "elicitation/create", "params": age_form()}).to_string();
    let cancelled = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}});
    let fickle = legacy(move |message| match message["method"].as_str() {
        Some("tools/call") => vec![asked.clone()],
        Some("ping") => [vec![cancelled.to_string()], result(message, json!({}))].concat(),
        _ => vec![],
    });
    let (connection, _) = joined("a", LEGACY, Some(&link), fickle).await;
    let user = async {
        let mut request = requests.next().await.unwrap();
        connection.ping().await.unwrap();
        withdrawn(&mut request).await;
        assert_eq!(request.accept(Map::new()), Err(HostResponseError::Gone));
    };
    let (answer, ()) = tokio::join!(call(&connection), user);
    assert_eq!(answer.unwrap_err().kind(), "timed-out");
}

fn input_required(state: Option<&str>) -> Value {
    let mut result = json!({
        "resultType": "input_required",
        "inputRequests": {"k": {"method": "elicitation/create", "params": age_form()}},
    });
    if let Some(state) = state {
        result["requestState"] = state.into();
    }
    result
}

#[tokio::test(start_paused = true)]
async fn rounds_return_the_state_of_the_last_result_only() {
    const STATE: &str = "{\"z\":1, \"a\" : 2}\u{e9}";
    let link = HostLink::new(HostSupport::ALL);
    let mut requests = link.subscribe();
    let mut calls = 0;
    let (connection, transcript) = joined(
        "a",
        MODERN,
        Some(&link),
        modern(move |message| {
            if message["method"] != "tools/call" {
                return vec![];
            }
            calls += 1;
            match calls {
                1 => result(message, input_required(Some(STATE))),
                2 => result(message, input_required(None)),
                _ => {
                    result(message, json!({"resultType": "complete", "content": [], "structuredContent": {"done": 1}}))
                }
            }
        }),
    )
    .await;
    let user = async {
        for _ in 0..2 {
            let mut request = requests.next().await.unwrap();
            assert_eq!((request.wire_id(), request.call().is_some()), (&json!("k"), true));
            tokio::time::sleep(Duration::from_secs(3_600)).await;
            request.accept(Map::new()).unwrap();
        }
    };
    let (answer, ()) = tokio::join!(call(&connection), user);
    assert_eq!(answer.unwrap(), json!({"done": 1}));
    let sent = transcript.lock().unwrap().clone();
    let calls: Vec<_> = sent.iter().filter(|message| message["method"] == "tools/call").collect();
    assert_eq!(calls.len(), 3);
    assert!(calls[0]["params"].get("requestState").is_none() && calls[0]["params"].get("inputResponses").is_none());
    assert_eq!(calls[1]["params"]["requestState"], STATE);
    assert_eq!(calls[1]["params"]["inputResponses"]["k"]["content"]["name"], "John");
    assert!(calls[2]["params"].get("requestState").is_none());
    assert!(calls[0]["id"] != calls[1]["id"] && calls[1]["id"] != calls[2]["id"]);
}

#[tokio::test(start_paused = true)]
async fn ten_rounds_are_enough() {
    let link = HostLink::new(HostSupport::ALL);
    let (connection, transcript) =
        joined("a", MODERN, Some(&link), modern(|message| result(message, input_required(Some("s"))))).await;
    assert_eq!(call(&connection).await.unwrap_err().kind(), "too-many-rounds");
    let sent = transcript.lock().unwrap().clone();
    assert_eq!(sent.iter().filter(|message| message["method"] == "tools/call").count(), 10);
}

#[tokio::test(start_paused = true)]
async fn undeclared_input_fails_the_call() {
    let (connection, transcript) =
        joined("a", MODERN, None, modern(|message| result(message, input_required(None)))).await;
    assert!(matches!(call(&connection).await, Err(CallError::InputRefused { key, .. }) if key == "k"));
    let sent = transcript.lock().unwrap().clone();
    assert_eq!(sent.iter().filter(|message| message["method"] == "tools/call").count(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_call_can_be_cancelled_while_the_user_is_asked() {
    let link = HostLink::new(HostSupport::ALL);
    let mut requests = link.subscribe();
    let (connection, _) =
        joined("a", MODERN, Some(&link), modern(|message| result(message, input_required(None)))).await;
    let options = CallOptions::default();
    let cancel = options.cancel.clone();
    let (answer, ()) = tokio::join!(connection.call("ask", Value::Null, options), async {
        let mut request = requests.next().await.unwrap();
        cancel.cancel();
        withdrawn(&mut request).await;
    },);
    assert_eq!(answer.unwrap_err().kind(), "cancelled");
}

#[tokio::test(start_paused = true)]
async fn lists_of_resources_have_the_same_limits_as_tools() {
    let (connection, _) = joined("a", LEGACY, None, |message: &Value| {
        let again = json!({"resources": [{"uri": "x:1", "x-kept": 1}], "nextCursor": "same"});
        let mut greeting = support::initialize_result(message["params"]["protocolVersion"].clone());
        greeting["capabilities"] = json!({"resources": {}, "prompts": {}});
        match (message["method"].as_str(), message["params"]["cursor"].as_str()) {
            (Some("server/discover"), _) => support::error(message, -32601),
            (Some("initialize"), _) => result(message, greeting),
            (Some("resources/list"), _) => result(message, again),
            (Some("prompts/list"), None) => result(message, json!({"prompts": [{"name": "a"}], "nextCursor": "2"})),
            (Some("prompts/list"), _) => result(message, json!({"prompts": [{"name": "b"}]})),
            _ => vec![],
        }
    })
    .await;
    let error = connection.list_resources().await.unwrap_err().to_string();
    assert!(error.contains("cursor"), "{error}");
    assert_eq!(connection.list_prompts().await.unwrap(), [json!({"name": "a"}), json!({"name": "b"})]);
}

#[tokio::test(start_paused = true)]
async fn a_task_is_asked_answered_and_cancelled() {
    let link = HostLink::new(HostSupport::ALL);
    let mut requests = link.subscribe();
    let (connection, transcript) = joined(
        "a",
        MODERN,
        Some(&link),
        modern(|message| match message["method"].as_str() {
            Some("tasks/get") => result(message, json!({"resultType": "complete", "taskId": "t", "status": "working"})),
            _ => result(message, json!({"resultType": "complete"})),
        }),
    )
    .await;
    assert_eq!(connection.task("t").await.unwrap()["status"], "working");
    let asked = input_required(None)["inputRequests"].as_object().unwrap().clone();
    let user = async { requests.next().await.unwrap().accept(Map::new()).unwrap() };
    let (answered, ()) = tokio::join!(connection.respond_to_task("t", asked), user);
    answered.unwrap();
    connection.cancel_task("t").await.unwrap();
    let update = until_sent(&transcript, "tasks/update").await;
    assert_eq!(update["params"]["taskId"], "t");
    assert_eq!(update["params"]["inputResponses"]["k"], json!({"action": "accept", "content": {"name": "John"}}));
    assert_eq!(until_sent(&transcript, "tasks/cancel").await["params"]["taskId"], "t");
    let (old, _) = joined("a", LEGACY, None, legacy(|_| vec![])).await;
    assert_eq!(old.task("t").await.unwrap_err().kind(), "not-in-revision");
}
