//! The tasks of 2025-11-25.

use super::*;

const RELATED: &str = "io.modelcontextprotocol/related-task";

fn bench(support: &str, actions: Value) -> Bench {
    let mut bench = Bench::new(
        json!({"tools": [{"name": "job", "task": {"support": support}}, {"name": "plain"}],
            "on": [{"when": {"tool": "job"}, "do": actions}], "page_size": 2}),
        LEGACY,
    );
    bench.respond("initialize", json!({"protocolVersion": LEGACY, "capabilities": {"elicitation": {}}}));
    bench
}

fn begin(bench: &mut Bench) -> Value {
    bench.result("tools/call", json!({"name": "job", "task": {"ttl": 5000}, "_meta": {"progressToken": "p"}}))["task"]
        .take()
}

fn named(task: &Value) -> Value {
    json!({"taskId": task["taskId"]})
}

fn related(message: &Value) -> &Value {
    &message["params"]["_meta"][RELATED]["taskId"]
}

#[test]
fn tasks_are_declared_in_the_revisions_that_have_them() {
    for (revision, tasks, support) in [
        (LEGACY, json!({"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}), json!("optional")),
        ("2025-06-18", json!(null), json!(null)),
    ] {
        let mut bench = Bench::new(
            json!({"tools": [{"name": "job", "task": {"support": "optional"}}], "revisions": [LEGACY, "2025-06-18"]}),
            LEGACY,
        );
        let result = bench.result("initialize", json!({"protocolVersion": revision}));
        assert_eq!((&result["capabilities"]["tasks"], &result["capabilities"]["extensions"]), (&tasks, &json!(null)));
        assert_eq!(bench.result("tools/list", json!({}))["tools"][0]["execution"]["taskSupport"], support);
        let tool_result = bench.result("tools/call", json!({"name": "job", "task": {}}));
        assert_eq!(tool_result.get("task").is_some(), revision == LEGACY, "others ignore what they do not know");
        let list = bench.respond("tasks/list", json!({}));
        assert_eq!(list["error"]["code"] == -32601, revision != LEGACY);
    }
}

#[test]
fn only_fitting_calls_are_tasks() {
    assert_eq!(bench("required", json!("default")).error("tools/call", json!({"name": "job"})), -32601);
    let mut bench = bench("optional", json!("default"));
    assert_eq!(bench.error("tools/call", json!({"name": "plain", "task": {}})), -32601);
    assert!(bench.result("tools/call", json!({"name": "job"})).get("task").is_none());
}

#[test]
fn a_task_is_begun_asked_about_and_fetched() {
    let mut bench = bench("required", json!([{"fault": {"delay": "1s"}}, {"reply": {"text": "done"}}]));
    let request = bench.request("tools/call", json!({"name": "job", "task": {"ttl": 5000}}));
    let outputs = bench.outputs(&request);
    let steps: Vec<_> = outputs.iter().map(|output| output.step.clone()).collect();
    let task = final_answer(&steps).unwrap()["result"]["task"].take();
    assert_eq!((&task["status"], &task["ttl"], &task["pollInterval"]), (&json!("working"), &json!(5000), &json!(100)));
    let wakes = |after: u64| {
        outputs.iter().find_map(|output| match (output.to, &output.step) {
            (Target::Dispatch(id), Step::Wake(one)) if *one == Duration::from_secs(after) => Some(id),
            _ => None,
        })
    };
    let (work, end) = (wakes(1).unwrap(), wakes(5).unwrap());
    assert_eq!(bench.result("tasks/get", named(&task)), task);
    let (_, waiting) = bench.ask("tasks/result", named(&task));
    assert_eq!(waiting, [], "the result has to be waited for");
    let steps = bench.wake(work);
    let answer = final_answer(&steps).unwrap();
    assert_eq!(answer["id"], bench.next_id, "it is the answer to `tasks/result`");
    assert_eq!(answer["result"]["content"][0]["text"], "done");
    assert_eq!(answer["result"]["_meta"][RELATED], named(&task));
    let told = sent(&steps);
    assert_eq!(
        (&told[0]["method"], &told[0]["params"]["status"]),
        (&json!("notifications/tasks/status"), &json!("completed"))
    );
    assert_eq!(told[0]["params"].get("_meta"), None);
    assert_eq!(bench.result("tasks/result", named(&task)), answer["result"], "it is there to be fetched again");
    bench.wake(end);
    assert_eq!(bench.error("tasks/get", named(&task)), -32602, "it is forgotten after its time");
}

#[test]
fn a_quiet_task_tells_nothing_of_its_status() {
    for quiet in [false, true] {
        let job = json!({"name": "job", "task": {"support": "required", "after": "1s", "quiet": quiet}});
        let mut bench = Bench::new(json!({"tools": [job]}), LEGACY);
        bench.respond("initialize", json!({"protocolVersion": LEGACY, "capabilities": {}}));
        let request = bench.request("tools/call", json!({"name": "job", "task": {}}));
        let outputs = bench.outputs(&request);
        let work = outputs.iter().find_map(|output| match (output.to, &output.step) {
            (Target::Dispatch(id), Step::Wake(one)) if *one == Duration::from_secs(1) => Some(id),
            _ => None,
        });
        let told = sent(&bench.wake(work.unwrap())).iter().any(|one| one["method"] == "notifications/tasks/status");
        assert_eq!(told, !quiet);
    }
}

#[test]
fn failures_make_failed_tasks_with_the_result_of_the_call() {
    let mut tool = bench("required", json!({"reply": {"text": "limit exceeded", "is_error": true}}));
    let task = begin(&mut tool);
    let failed = tool.result("tasks/get", named(&task));
    assert_eq!((&failed["status"], &failed["statusMessage"]), (&json!("failed"), &json!("limit exceeded")));
    assert_eq!(tool.result("tasks/result", named(&task))["isError"], true);
    let mut protocol = bench("required", json!({"error": {"code": -32000, "message": "broken"}}));
    let task = begin(&mut protocol);
    assert_eq!(protocol.result("tasks/get", named(&task))["status"], "failed");
    assert_eq!(protocol.error("tasks/result", named(&task)), -32000);
}

#[test]
fn a_task_asks_on_the_stream_of_its_result() {
    let mut bench = bench(
        "required",
        json!([
            {"progress": {"progress": 1}},
            {"request": {"method": "elicitation/create", "params": {"message": "Name?"}}},
            {"reply": {"text": "Hello, {{response.content.name}}"}},
        ]),
    );
    let request = bench.request("tools/call", json!({"name": "job", "task": {}, "_meta": {"progressToken": "p"}}));
    let outputs = bench.outputs(&request);
    let steps: Vec<_> = outputs.iter().map(|output| output.step.clone()).collect();
    let task = final_answer(&steps).unwrap()["result"]["task"].take();
    let progress = outputs
        .iter()
        .find(|output| matches!(&output.step, Step::Send(one) if one["method"] == "notifications/progress"));
    let Output { to, step: Step::Send(message), .. } = progress.unwrap() else { unreachable!() };
    assert_eq!((*to, related(message)), (Target::Session(bench.session), &task["taskId"]));
    assert_eq!(bench.result("tasks/get", named(&task))["status"], "input_required");
    let (stream, steps) = bench.ask("tasks/result", named(&task));
    let [Step::Send(input_request)] = steps.as_slice() else { panic!("the question: {steps:?}") };
    assert_eq!((&input_request["method"], related(input_request)), (&json!("elicitation/create"), &task["taskId"]));
    let result = json!({"action": "accept", "content": {"name": "Ada"}});
    let message = json!({"jsonrpc": "2.0", "id": input_request["id"], "result": result});
    let outputs = bench.outputs(&message);
    let to_stream: Vec<_> =
        outputs.into_iter().filter(|one| one.to == Target::Dispatch(stream)).map(|one| one.step).collect();
    assert_eq!(final_answer(&to_stream).unwrap()["result"]["content"][0]["text"], "Hello, Ada");
    assert_eq!(to_stream.last(), Some(&Step::End));
}

#[test]
fn a_task_is_cancelled_once() {
    let mut bench = bench("required", json!({"fault": "silence"}));
    let task = begin(&mut bench);
    let (_, waiting) = bench.ask("tasks/result", named(&task));
    assert_eq!(waiting, []);
    let waiter = bench.next_id;
    let (_, steps) = bench.ask("tasks/cancel", named(&task));
    let answers: Vec<_> = steps
        .iter()
        .filter_map(|step| if let Step::Response { message, .. } = step { Some(message) } else { None })
        .collect();
    assert_eq!(answers[0]["result"]["status"], "cancelled");
    assert_eq!((&answers[1]["id"], answers[1]["error"]["code"].is_i64()), (&json!(waiter), true));
    assert_eq!(bench.error("tasks/cancel", named(&task)), -32602);
    assert_eq!(bench.result("tasks/get", named(&task))["status"], "cancelled");
}

#[test]
fn a_session_sees_its_own_tasks_in_pages() {
    let mut bench = bench("required", json!({"reply": {"text": "done"}}));
    let ids: Vec<_> = (0..3).map(|_| begin(&mut bench)["taskId"].clone()).collect();
    let first = bench.result("tasks/list", json!({}));
    let second = bench.result("tasks/list", json!({"cursor": first["nextCursor"]}));
    let listed: Vec<_> = [&first, &second]
        .iter()
        .flat_map(|page| page["tasks"].as_array().unwrap())
        .map(|one| one["taskId"].clone())
        .collect();
    assert_eq!((listed, second.get("nextCursor")), (ids.clone(), None));
    assert_eq!(bench.error("tasks/list", json!({"cursor": "foreign"})), -32602);
    bench.session = bench.engine.open_session();
    bench.respond("initialize", json!({"protocolVersion": LEGACY}));
    assert_eq!(bench.result("tasks/list", json!({}))["tasks"], json!([]));
    for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
        assert_eq!(bench.error(method, json!({"taskId": ids[0]})), -32602, "{method}: another session's task");
    }
}
