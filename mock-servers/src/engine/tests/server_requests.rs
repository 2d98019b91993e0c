//! What the server asks: only what the client has declared, and what it does otherwise.

use super::*;

fn asking(more: Value) -> Value {
    let mut request = json!({"method": "elicitation/create", "params": {"message": "who?"}});
    request.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap());
    on_call(json!([{"request": request}, {"reply": {"text": "{{response.action}}"}}]))
}

fn tool_result(script: Value, revision: &str, capabilities: Value) -> (Vec<Value>, Option<Value>) {
    let mut bench = Bench::with_revision(script, revision, &capabilities);
    let (_, steps) = bench.call_steps("echo");
    (sent(&steps), final_answer(&steps))
}

#[test]
fn asks_only_what_the_client_declares() {
    let form = || json!({"params": {"message": "who?", "requestedSchema": {}}});
    let url = || json!({"params": {"mode": "url", "message": "go", "url": "x:/"}});
    for (revision, more, capabilities, asked) in [
        (LEGACY, form(), json!({"elicitation": {}}), true),
        (LEGACY, form(), json!({"elicitation": {"form": {}}}), true),
        (LEGACY, form(), json!({"elicitation": {"url": {}}}), false),
        (LEGACY, form(), json!({"sampling": {}}), false),
        (LEGACY, url(), json!({"elicitation": {}}), false),
        (LEGACY, url(), json!({"elicitation": {"url": {}}}), true),
        ("2025-03-26", form(), json!({"elicitation": {}}), false),
    ] {
        let (sent, answer) = tool_result(asking(more.clone()), revision, capabilities.clone());
        assert_eq!(sent.len(), usize::from(asked), "{more} {capabilities} in {revision}");
        assert_eq!(answer.is_some_and(|answer| answer["result"]["isError"] == true), !asked);
    }
}

#[test]
fn asks_anyway_or_does_what_the_script_says_instead() {
    let (sent, answer) = tool_result(asking(json!({"anyway": true})), LEGACY, json!({}));
    assert_eq!((sent.len(), answer), (1, None));
    let (sent, answer) = tool_result(asking(json!({"otherwise": {"reply": {"text": "instead"}}})), LEGACY, json!({}));
    assert_eq!((sent.len(), &answer.unwrap()["result"]["content"][0]["text"]), (0, &json!("instead")));
}

#[test]
fn an_elicitation_by_url_can_be_announced_as_complete() {
    let script = on_call(json!([
        {"notify": {"method": "notifications/elicitation/complete", "params": {"elicitationId": "e"}}},
        {"error": {"code": -32042, "message": "first", "data": {"elicitations": []}}},
    ]));
    for (revision, told) in [("2025-06-18", 0), (LEGACY, 1)] {
        let (sent, answer) = tool_result(script.clone(), revision, json!({}));
        assert_eq!((sent.len(), &answer.unwrap()["error"]["code"]), (told, &json!(-32042)), "{revision}");
    }
}
