//! The tasks extension of 2026-07-28.

use super::*;

const EXTENSION: &str = "io.modelcontextprotocol/tasks";

fn tasks(support: &str, actions: Value) -> Value {
    json!({
        "tools": [{"name": "job", "task": {"support": support, "after": "{{arguments.seconds}}s", "poll": "50ms"}}],
        "on": [{"when": {"tool": "job"}, "do": actions}],
    })
}

/// A client of the extension, whose engine's wakes are played when it asks for them.
struct Client {
    bench: Bench,
    declared: bool,
    wakes: Vec<(DispatchId, Duration)>,
    heard: Vec<Output>,
}

impl Client {
    fn new(script: Value) -> Self {
        Self { bench: Bench::modern(script), declared: true, wakes: Vec::new(), heard: Vec::new() }
    }

    fn ask(&mut self, method: &str, params: Value) -> (Option<u16>, Value) {
        let mut request = self.bench.request(method, params);
        let mut capabilities = json!({"elicitation": {}});
        if self.declared {
            capabilities["extensions"] = json!({EXTENSION: {}});
        }
        request["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] = capabilities;
        let outputs = self.bench.outputs(&request);
        self.take_in(outputs);
        let answer = self.heard.iter().rev().find_map(|output| match &output.step {
            Step::Response { message, status } if message["id"] == request["id"] => {
                Some((Some(*status), message.clone()))
            }
            _ => None,
        });
        answer.unwrap_or_default()
    }

    fn take_in(&mut self, outputs: Vec<Output>) {
        for output in outputs {
            if let (Target::Dispatch(id), Step::Wake(after)) = (output.to, &output.step) {
                self.wakes.push((id, *after));
            }
            self.heard.push(output);
        }
    }

    fn result(&mut self, method: &str, params: Value) -> Value {
        let (_, mut answer) = self.ask(method, params);
        assert!(answer["error"].is_null(), "{answer}");
        answer["result"].take()
    }

    fn call(&mut self, seconds: u64) -> Value {
        self.result("tools/call", json!({"name": "job", "arguments": {"seconds": seconds}}))
    }

    fn get(&mut self, task: &Value) -> Value {
        self.result("tasks/get", json!({"taskId": task["taskId"]}))
    }

    /// Lets everything come due that is due within this time.
    fn pass(&mut self, limit: Duration) {
        let (due, rest) = std::mem::take(&mut self.wakes).into_iter().partition(|(_, after)| *after <= limit);
        self.wakes = rest;
        let due: Vec<_> = due;
        for (id, _) in due {
            let outputs = self.bench.engine.on_wake(id);
            self.take_in(outputs);
        }
    }
}

const A_WHILE: Duration = Duration::from_secs(60);

fn input_request(property: &str) -> Value {
    json!({"method": "elicitation/create", "params": {"message": "?", "requestedSchema": {
        "type": "object", "properties": {(property): {"type": "string"}}, "required": [property],
    }}})
}

#[test]
fn a_call_becomes_a_task_that_completes_in_its_time() {
    let mut client = Client::new(tasks("optional", json!({"reply": {"text": "done {{arguments.seconds}} {{nth}}"}})));
    let task = client.call(2);
    let stamp = "2026-07-28T00:00:00.000Z";
    let expected = json!({
        "resultType": "task", "taskId": task["taskId"], "status": "working", "createdAt": stamp,
        "lastUpdatedAt": stamp, "ttlMs": 3_600_000, "pollIntervalMs": 50, "_meta": task["_meta"],
    });
    assert_eq!(task, expected);
    let working = client.get(&task);
    assert_eq!((&working["resultType"], &working["status"]), (&json!("complete"), &json!("working")));
    assert!(working.get("result").is_none() && working.get("requestState").is_none());
    client.pass(A_WHILE);
    let done = client.get(&task);
    assert_eq!((&done["status"], &done["lastUpdatedAt"]), (&json!("completed"), &json!("2026-07-28T00:00:02.000Z")));
    assert_eq!(done["result"]["content"][0]["text"], "done 2 1");
    assert_eq!(done["result"]["resultType"], "complete");
    client.pass(Duration::MAX);
    assert_eq!(client.ask("tasks/get", json!({"taskId": task["taskId"]})).1["error"]["code"], -32602, "it has expired");
}

#[test]
fn a_call_without_a_rule_can_be_a_task() {
    let mut client = Client::new(json!({"tools": [{"name": "job", "task": {"support": "optional", "ttl": "1m"}}]}));
    let task = client.call(0);
    assert_eq!(task["ttlMs"], 60_000);
    assert_eq!(client.get(&task)["result"]["content"][0]["text"], r#"job: {"seconds":0}"#);
}

#[test]
fn a_client_without_the_extension_is_answered_as_usual_or_refused() {
    let mut client = Client::new(tasks("optional", json!({"reply": {"text": "done"}})));
    client.declared = false;
    let (_, answer) = client.ask("tools/call", json!({"name": "job", "arguments": {"seconds": 1}}));
    assert_eq!(answer, Value::Null, "it takes its time all the same");
    client.pass(A_WHILE);
    let Step::Response { message, .. } = &client.heard[client.heard.len() - 2].step else { panic!("an answer") };
    assert_eq!((&message["result"]["resultType"], &message["result"]["taskId"]), (&json!("complete"), &json!(null)));

    let mut client = Client::new(tasks("required", json!({"reply": {"text": "done"}})));
    client.declared = false;
    let required = json!({"requiredCapabilities": {"extensions": {EXTENSION: {}}}});
    for (method, params) in [
        ("tools/call", json!({"name": "job", "arguments": {"seconds": 0}})),
        ("tasks/get", json!({"taskId": "gate-test"})),
        ("tasks/update", json!({"taskId": "gate-test", "inputResponses": {}})),
        ("tasks/cancel", json!({"taskId": "gate-test"})),
        ("subscriptions/listen", json!({"notifications": {"taskIds": []}})),
    ] {
        let (status, answer) = client.ask(method, params);
        assert_eq!((status, &answer["error"]["code"]), (Some(400), &json!(-32021)), "{method}");
        assert_eq!(answer["error"]["data"], required, "{method}");
    }
}

#[test]
fn methods_of_the_other_kind_of_task_are_not_found() {
    let mut client = Client::new(tasks("optional", json!("default")));
    let task = client.call(0);
    for method in ["tasks/result", "tasks/list"] {
        let (status, answer) = client.ask(method, json!({"taskId": task["taskId"]}));
        assert_eq!((status, &answer["error"]["code"]), (Some(404), &json!(-32601)), "{method}");
    }
    let capabilities = client.result("server/discover", json!({}))["capabilities"].take();
    assert_eq!((&capabilities["extensions"][EXTENSION], &capabilities["tasks"]), (&json!({}), &json!(null)));
    assert!(client.result("tools/list", json!({}))["tools"][0].get("execution").is_none());
    let mut plain = Client::new(json!({"tools": [{"name": "job"}]}));
    assert_eq!(plain.ask("tasks/get", json!({"taskId": "x"})).1["error"]["code"], -32601);
    assert!(plain.result("server/discover", json!({}))["capabilities"].get("extensions").is_none());
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        let (_, answer) = client.ask(method, json!({"taskId": "unknown", "inputResponses": {}}));
        assert_eq!(answer["error"]["code"], -32602, "{method}");
    }
}

#[test]
fn a_tools_error_completes_a_task_and_a_protocol_error_fails_it() {
    let mut client = Client::new(tasks("required", json!({"reply": {"text": "no", "is_error": true}})));
    let task = client.call(0);
    let done = client.get(&task);
    assert_eq!((&done["status"], &done["result"]["isError"]), (&json!("completed"), &json!(true)));
    let mut client = Client::new(tasks("required", json!({"error": {"code": -32000, "message": "broken"}})));
    let task = client.call(0);
    let failed = client.get(&task);
    assert_eq!((&failed["status"], failed.get("result")), (&json!("failed"), None));
    assert_eq!(failed["error"], json!({"code": -32000, "message": "broken"}));
}

#[test]
fn a_task_asks_and_goes_on_with_the_last_answer() {
    let mut client = Client::new(tasks(
        "optional",
        json!([
            {"ask": {"requests": {"a": input_request("x"), "b": input_request("y")}}},
            {"request": input_request("z")}, {"request": input_request("z")},
            {"reply": {"text": "{{responses.a.content.x}}{{responses.b.content.y}}{{response.content.z}}"}},
        ]),
    ));
    let task = client.call(0);
    let update = |client: &mut Client, key: &str, content: Value| {
        let responses = json!({(key): {"action": "accept", "content": content}, "stray": {"action": "cancel"}});
        client.ask("tasks/update", json!({"taskId": task["taskId"], "inputResponses": responses})).1
    };
    let asked = client.get(&task);
    assert_eq!((&asked["status"], &asked["inputRequests"]["a"]), (&json!("input_required"), &input_request("x")));
    assert_eq!(asked["inputRequests"].as_object().unwrap().len(), 2);
    assert_eq!(update(&mut client, "a", json!({"x": 1}))["error"]["code"], -32602, "no answer to that question");
    let acknowledged = update(&mut client, "a", json!({"x": "1"}))["result"].take();
    assert_eq!(acknowledged.as_object().unwrap().keys().collect::<Vec<_>>(), ["resultType", "_meta"]);
    let rest = client.get(&task);
    assert_eq!(
        (&rest["status"], &rest["inputRequests"]),
        (&json!("input_required"), &json!({"b": input_request("y")}))
    );
    update(&mut client, "b", json!({"y": "2"}));
    let keys = |client: &mut Client| {
        client.get(&task)["inputRequests"].as_object().unwrap().keys().cloned().collect::<Vec<_>>()
    };
    assert_eq!(keys(&mut client), ["input"]);
    update(&mut client, "input", json!({"z": "3"}));
    assert_eq!(keys(&mut client), ["input-2"], "no key is used twice");
    update(&mut client, "input", json!({"z": "old"}));
    assert_eq!(client.get(&task)["status"], "input_required", "an answered key is ignored");
    update(&mut client, "input-2", json!({"z": "4"}));
    assert_eq!(client.get(&task)["result"]["content"][0]["text"], "124");
}

#[test]
fn what_a_call_asks_before_it_becomes_a_task_takes_a_round_trip() {
    let mut client = Client::new(tasks(
        "required",
        json!([{"ask": {"requests": {"a": input_request("x")}}}, {"task": {"status": "begun"}}, {"reply": {"text": "{{responses.a.content.x}}"}}]),
    ));
    let asked = client.call(0);
    assert_eq!((&asked["resultType"], &asked["taskId"]), (&json!("input_required"), &json!(null)));
    let responses = json!({"a": {"action": "accept", "content": {"x": "Alice"}}});
    let task = client.result("tools/call", json!({
        "name": "job", "arguments": {"seconds": 0}, "requestState": asked["requestState"], "inputResponses": responses,
    }));
    assert_eq!((&task["resultType"], &task["statusMessage"]), (&json!("task"), &json!("begun")));
    assert!(task.get("requestState").is_none() && task.get("inputRequests").is_none());
    assert_eq!(client.get(&task)["result"]["content"][0]["text"], "Alice");
}

#[test]
fn a_cancelled_task_stays_cancelled_and_its_acknowledgement_is_empty() {
    let mut client = Client::new(tasks("optional", json!({"reply": {"text": "done"}})));
    let task = client.call(30);
    for _ in 0..2 {
        let acknowledged = client.result("tasks/cancel", json!({"taskId": task["taskId"]}));
        assert_eq!(acknowledged.as_object().unwrap().keys().collect::<Vec<_>>(), ["resultType", "_meta"]);
    }
    client.pass(A_WHILE);
    let cancelled = client.get(&task);
    assert_eq!((&cancelled["status"], cancelled.get("result")), (&json!("cancelled"), None));
    // A task at its end is not cancelled any more.
    let task = client.call(0);
    client.result("tasks/cancel", json!({"taskId": task["taskId"]}));
    assert_eq!(client.get(&task)["status"], "completed");
}

#[test]
fn the_cancellation_of_the_request_is_none_of_the_task() {
    let mut client = Client::new(tasks("optional", json!({"reply": {"text": "done"}})));
    let task = client.call(1);
    let id = client.bench.next_id;
    client.bench.send(&notification("notifications/cancelled", json!({"requestId": id})));
    client.pass(A_WHILE);
    assert_eq!(client.get(&task)["status"], "completed");
}

#[test]
fn streams_that_request_a_task_get_all_its_statuses() {
    let mut client = Client::new(tasks("optional", json!([{"task-status": "half"}, {"reply": {"text": "done"}}])));
    let task = client.call(1);
    client.ask("subscriptions/listen", json!({"notifications": {"taskIds": [task["taskId"], "unknown"]}}));
    let id = client.bench.next_id;
    let acknowledged = sent(&client.heard.iter().map(|output| output.step.clone()).collect::<Vec<_>>());
    assert_eq!(acknowledged[0]["params"]["notifications"], json!({"taskIds": [task["taskId"]]}));
    client.heard.clear();
    client.pass(A_WHILE);
    let told = sent(&client.heard.iter().map(|output| output.step.clone()).collect::<Vec<_>>());
    let statuses: Vec<_> = told.iter().map(|one| (one["method"].clone(), one["params"]["status"].clone())).collect();
    let method = json!("notifications/tasks");
    assert_eq!(statuses, [(method.clone(), json!("working")), (method, json!("completed"))]);
    assert_eq!(told[0]["params"]["statusMessage"], "half");
    assert_eq!(told[1]["params"]["result"]["content"][0]["text"], "done");
    assert_eq!(told[1]["params"]["_meta"], json!({"io.modelcontextprotocol/subscriptionId": id}));
}

#[test]
fn a_task_sends_nothing_but_its_status() {
    let actions = json!([
        {"notify": {"method": "notifications/message", "params": {"level": "info", "data": "x"}}},
        {"progress": {"progress": 1}}, {"fault": "close"}, {"reply": {"text": "done"}},
    ]);
    let mut client = Client::new(tasks("optional", actions));
    let params = json!({"name": "job", "arguments": {"seconds": 0}, "_meta": {"progressToken": 1}});
    client.result("tools/call", params);
    let stray = client.heard.iter().find(|output| matches!(output.step, Step::Send(_) | Step::Close));
    assert_eq!(stray, None);
}
