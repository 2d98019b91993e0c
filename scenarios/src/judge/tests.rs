//! Verdicts on whole cases: outcomes that the frames show, reports that contradict them, and undeclared capabilities.

use std::sync::Arc;

use evidence::Http;
use reports::model::{CaseResult, Profile, Verdict};
use serde_json::{Value, json};

use super::{
    checks::testing::{EvidenceBuilder, call, cancel, initialize, modern, note, request, result, tools},
    judge,
    transcript::{Body, ConnectionEvent, Direction, Frame, WORK},
};
use crate::{
    evidence::{Evidence, Outcome, ProcessEvidence, StepError, Usage},
    model::{Revision, Scenario},
};

const LEGACY: Revision = Revision::V2025_11_25;
const MODERN: Revision = Revision::V2026_07_28;

fn scenario(more: &str) -> Arc<Scenario> {
    let text = format!("scenario: a/b\ntitle: t\nsubject: client\nrequirement: tasks/handled\nserver: {{}}\n{more}");
    Arc::new(crate::load::unvalidated(&text))
}

/// The result of a client without a report, with the profile `sdk`.
fn silent(steps: &str, evidence: EvidenceBuilder) -> CaseResult {
    let mut evidence = evidence.build();
    evidence.profile = Profile::Sdk;
    evidence.steps.clear();
    judge("a/b", &scenario(steps), &evidence)
}

fn verdict_of(case: &CaseResult, id: &str) -> Verdict {
    case.checks.iter().find(|check| check.id == id).map(|check| check.verdict).expect("a result with this id")
}

fn task_request(id: u64, method: &str) -> Value {
    let mut message = modern(id, method, json!({"taskId": "7", "name": "job"}));
    message["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] =
        json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
    message
}

fn task(id: u64, members: Value) -> Value {
    let mut task = json!({"resultType": "complete", "taskId": "7"});
    task.as_object_mut().zip(members.as_object()).into_iter().for_each(|(task, more)| task.extend(more.clone()));
    result(id, task)
}

fn became_task() -> EvidenceBuilder {
    let called = EvidenceBuilder::stdio(MODERN).client(task_request(1, "tools/call"));
    called.server(task(1, json!({"resultType": "task", "status": "working"})))
}

#[test]
fn a_silent_client_that_polls_its_task_gets_the_result() {
    let steps = "steps: [{ call: { tool: job, expect: { text: done } } }]";
    let done = json!({"status": "completed", "result": {"content": [{"type": "text", "text": "done"}]}});
    let polled = |done| became_task().client(task_request(2, "tasks/get")).server(task(2, done));
    assert_eq!(verdict_of(&silent(steps, polled(done)), "steps[0].call.text"), Verdict::Passed);
    let other = json!({"status": "completed", "result": {"content": []}});
    assert_eq!(verdict_of(&silent(steps, polled(other)), "steps[0].call.text"), Verdict::Failed);
    for state in ["working", "failed", "cancelled"] {
        let ended = polled(json!({"status": state, "error": {"code": -1, "message": "no"}}));
        assert_eq!(verdict_of(&silent(steps, ended), "steps[0].call"), Verdict::Failed, "{state}");
    }
    assert_eq!(verdict_of(&silent(steps, became_task()), "steps[0].call"), Verdict::Failed);
}

/// The verdict on the second step if the first one had this outcome, for a client that reports.
fn after_first(first: Outcome) -> Verdict {
    let steps = "steps: [{ call: { tool: a, expect: { either: true } } }, \
                 { call: { tool: b, expect: { error: malformed-result, if_failed: 0 } } }]";
    let story = EvidenceBuilder::stdio(MODERN).client(modern(1, "tools/call", json!({"name": "a"})));
    let story = story.step(0, first).step(0, Outcome::Value(json!({})));
    verdict_of(&judge("a/b", &scenario(steps), &story.build()), "steps[1].call")
}

#[test]
fn an_error_may_depend_on_an_earlier_one() {
    assert_eq!(after_first(Outcome::Value(json!({}))), Verdict::Skipped);
    let error = StepError { kind: "malformed-result".to_owned(), message: String::new(), code: None, detail: None };
    assert_eq!(after_first(Outcome::Error(error)), Verdict::Failed);
}

#[test]
fn a_silent_client_may_keep_a_result_instead_of_another_request() {
    let steps = "steps: [{ read: { uri: \"file:///a\" } }, { read: { uri: \"file:///a\" } }]\n";
    let read = |lifetime: u64| {
        let contents = json!([{"uri": "file:///a", "text": "a"}]);
        let kept = json!({"resultType": "complete", "ttlMs": lifetime, "cacheScope": "private", "contents": contents});
        let capabilities = json!({"resultType": "complete", "capabilities": {"resources": {}}});
        let story = EvidenceBuilder::stdio(MODERN).client(modern(1, "server/discover", json!({})));
        let story = story.server(result(1, capabilities));
        let story = story.client(modern(2, "resources/read", json!({"uri": "file:///a"}))).server(result(2, kept));
        verdict_of(&silent(steps, story), "steps[1].read")
    };
    assert_eq!((read(3_600_000), read(0)), (Verdict::Passed, Verdict::Blocked));
}

#[test]
fn a_silent_client_fails_with_its_task_where_that_is_expected() {
    let steps = "steps: [{ call: { tool: job, expect: { error: rpc-error, code: -5 } } }]";
    let failed = json!({"status": "failed", "error": {"code": -5, "message": "no"}});
    let failed = became_task().client(task_request(2, "tasks/get")).server(task(2, failed));
    assert_eq!(verdict_of(&silent(steps, failed), "steps[0].call"), Verdict::Passed);
    let cancelled = became_task().client(task_request(2, "tasks/cancel")).server(task(2, json!({})));
    assert_eq!(verdict_of(&silent(steps, cancelled), "steps[0].call"), Verdict::Passed);
}

#[test]
fn a_silent_client_reads_the_result_of_a_task_of_2025() {
    let steps = "steps: [{ call: { tool: job, expect: { text: done } } }]";
    let called = EvidenceBuilder::stdio(LEGACY).greet().client(call(1, "job"));
    let called = called.server(result(1, json!({"task": {"taskId": "7", "status": "working"}})));
    let read = called.client(request(2, "tasks/result", json!({"taskId": "7"})));
    let read = read.server(result(2, json!({"content": [{"type": "text", "text": "done"}]})));
    assert_eq!(verdict_of(&silent(steps, read), "steps[0].call.text"), Verdict::Passed);
}

#[test]
fn a_silent_client_that_ignores_required_input_fails() {
    let steps = "steps: [{ call: { tool: job, expect: { text: done } } }]";
    let required = json!({"resultType": "input_required", "requestState": "s"});
    let asked =
        || EvidenceBuilder::stdio(MODERN).client(task_request(1, "tools/call")).server(result(1, required.clone()));
    assert_eq!(verdict_of(&silent(steps, asked()), "steps[0].call"), Verdict::Failed);
    let mut retry = task_request(2, "tools/call");
    retry["params"]["requestState"] = json!("s");
    let done = json!({"resultType": "complete", "content": [{"type": "text", "text": "done"}]});
    let repeated = asked().client(retry).server(result(2, done));
    assert_eq!(verdict_of(&silent(steps, repeated), "steps[0].call.text"), Verdict::Passed);
}

#[test]
fn a_report_of_a_result_that_no_server_sent_fails() {
    let steps = scenario("steps: [{ call: { tool: x } }]");
    let called = || EvidenceBuilder::stdio(LEGACY).greet().client(call(1, "x"));
    let reported = |evidence: EvidenceBuilder| {
        let content = json!({"content": [{"type": "text", "text": "done"}]});
        judge("a/b", &steps, &evidence.step(5, Outcome::Value(content)).build())
    };
    let claims = |case: CaseResult| case.checks.iter().any(|check| check.id == "report-matches-frames");
    assert!(claims(reported(called())));
    assert!(!claims(reported(called().server(result(1, json!({"content": []}))))));
    let other = called().client(call(2, "y")).server(result(2, json!({"content": []})));
    assert!(claims(reported(other)));
}

#[test]
fn cases_of_undeclared_capabilities_are_skipped() {
    let steps = "client: { user: { form: decline } }\nsteps: [{ call: { tool: x } }]";
    let declared = |capabilities: Value| {
        let mut hello = initialize(0, "2025-11-25");
        hello["params"]["capabilities"] = capabilities;
        let story = EvidenceBuilder::stdio(LEGACY).client(hello);
        let story = story.server(result(0, json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}})));
        silent(steps, story.client(note("notifications/initialized")).client(call(1, "x")))
    };
    let is_skipped = |case: &CaseResult| case.checks.iter().any(|check| check.observed.contains("did not declare"));
    let undeclared = declared(json!({}));
    assert!(is_skipped(&undeclared) && undeclared.verdict == Verdict::Skipped, "{undeclared:?}");
    assert!(!is_skipped(&declared(json!({"elicitation": {}}))));
    assert!(is_skipped(&declared(json!({"elicitation": {"url": {}}}))));
    // A wrong message still counts.
    let mut wrong = initialize(0, "2025-11-25");
    wrong["params"]["capabilities"] = json!({"roots": 1});
    let wrong = silent(steps, EvidenceBuilder::stdio(LEGACY).client(wrong));
    assert_eq!(wrong.verdict, Verdict::Failed);
}

#[test]
fn a_library_that_knows_only_handshakes_is_not_judged_without_one() {
    let legacy = || EvidenceBuilder::stdio(MODERN).client(initialize(1, "2025-11-25"));
    let steps = "steps: [{ call: { tool: job, expect: { text: done } } }]";
    assert_eq!(silent(steps, legacy()).verdict, Verdict::Skipped);
    // One of both eras began with the wrong era, and must go on.
    let both = legacy().client(modern(2, "server/discover", json!({})));
    assert_ne!(silent(steps, both).verdict, Verdict::Skipped);
    // An application has to reach every server.
    let evidence = legacy().build();
    assert_ne!(judge("a/b", &scenario(steps), &evidence).verdict, Verdict::Skipped);
}

#[test]
fn a_call_that_was_rejected_for_its_token_is_an_error() {
    let exchange = |evidence: &mut Evidence, server: &str, path: &str, body: Body, status: u16| {
        let seq = evidence.frames.len() as u64;
        let (method, path) = (Some("POST".to_owned()), Some(path.to_owned()));
        let request = Http { method, path, ..Http::default() };
        let response = Http { status: Some(status), ..Http::default() };
        let frames = [
            (Direction::ClientToServer, body, request),
            (Direction::ServerToClient, Body::Event(ConnectionEvent::Bodiless), response),
        ];
        for (number, (direction, body, http)) in (seq..).zip(frames) {
            let (server, http) = (server.to_owned(), Some(http.into()));
            evidence.frames.push(Frame { seq: number, at_us: number, server, connection: seq, direction, body, http });
        }
    };
    let judged = |is_repeated: bool| {
        let mut evidence = EvidenceBuilder::http(LEGACY).greet().build();
        evidence.profile = Profile::Sdk;
        evidence.steps.clear();
        exchange(&mut evidence, "oauth:rejected", "/mcp", Body::json(call(1, "x")), 401);
        exchange(&mut evidence, "oauth:server", "/token", Body::Text("grant_type=authorization_code".into()), 400);
        if is_repeated {
            exchange(&mut evidence, "mock", "/mcp", Body::json(call(1, "x")), 200);
        }
        let steps = "authorization: {}\nsteps: [{ call: { tool: x } }, { call: { tool: x } }]";
        judge("a/b", &scenario(steps), &evidence)
    };
    assert_eq!(verdict_of(&judged(false), "steps[0].call"), Verdict::Failed);
    // The second call was not sent.
    assert_eq!(verdict_of(&judged(true), "steps[1].call"), Verdict::Skipped);
}

#[test]
fn a_rejected_handshake_shows_that_a_library_knows_only_handshakes() {
    let is_left_out = |story: EvidenceBuilder| {
        let mut evidence = story.build();
        evidence.profile = Profile::Sdk;
        evidence.frames.iter_mut().for_each(|frame| "oauth:rejected".clone_into(&mut frame.server));
        let case = judge("a/b", &scenario("authorization: {}\nsteps: [{ list: {} }]"), &evidence);
        case.checks.iter().any(|check| check.observed.contains("knows no revision without a handshake"))
    };
    let rejected = || EvidenceBuilder::http(MODERN).client(initialize(1, "2025-11-25"));
    assert!(is_left_out(rejected()));
    assert!(!is_left_out(rejected().client(modern(2, "server/discover", json!({})))));
}

#[test]
fn a_library_that_leaves_a_newer_revision_is_left_out() {
    let is_left_out = |requested: &str, answered: &str, goes_on: bool| {
        let answer = result(1, json!({ "protocolVersion": answered, "capabilities": {} }));
        let story = EvidenceBuilder::stdio(LEGACY).client(initialize(1, requested)).server(answer);
        let story = if goes_on { story.client(note("notifications/initialized")) } else { story };
        let mut evidence = story.build();
        evidence.profile = Profile::Sdk;
        let case = judge("a/b", &scenario("steps: [{ list: {} }]"), &evidence);
        case.checks.iter().any(|check| check.observed.contains("the client does not support 2025-11-25"))
    };
    assert!(is_left_out("2025-06-18", "2025-11-25", false));
    assert!(!is_left_out("2025-06-18", "2025-11-25", true), "it accepted the revision");
    assert!(!is_left_out("2025-11-25", "2025-11-25", false));
    assert!(!is_left_out("2025-06-18", "1999-01-01", false), "the server has another revision");
}

#[test]
fn a_library_may_lack_a_feature_but_not_calls() {
    let skips = |step: &str, profile: Profile| {
        let story = EvidenceBuilder::stdio(LEGACY).greet().step(0, Outcome::Skipped("no such method".to_owned()));
        let mut evidence = story.build();
        evidence.profile = profile;
        judge("a/b", &scenario(&format!("steps: [{step}]")), &evidence).verdict
    };
    assert_eq!(skips("{ log-level: { level: debug } }", Profile::Sdk), Verdict::Skipped);
    assert_eq!(skips("{ log-level: { level: debug } }", Profile::Agent), Verdict::Blocked);
    assert_eq!(skips("{ call: { tool: x } }", Profile::Sdk), Verdict::Blocked);
}

#[test]
fn a_client_that_reports_and_hangs_did_not_finish_the_next_step() {
    let judged = |timed_out: bool| {
        let done = || json!({"content": []});
        let story = EvidenceBuilder::stdio(LEGACY).greet().client(call(1, "a")).server(result(1, done()));
        let story = story.step(0, Outcome::Value(done()));
        let mut evidence = story.client(call(2, "b")).server(result(2, done())).build();
        (evidence.profile, evidence.timed_out) = (Profile::Sdk, timed_out);
        judge(
            "a/b",
            &scenario("steps: [{ call: { tool: a } }, { call: { tool: b } }, { call: { tool: b } }]"),
            &evidence,
        )
    };
    assert_eq!(verdict_of(&judged(true), "steps[1].call"), Verdict::Failed);
    assert_eq!(verdict_of(&judged(true), "steps[2].call"), Verdict::Skipped);
    assert_eq!(verdict_of(&judged(false), "steps[1].call"), Verdict::Passed);
}

#[test]
fn only_a_report_shows_that_a_response_was_rejected() {
    let story = || {
        let story =
            EvidenceBuilder::stdio(LEGACY).greet().client(call(1, "odd")).server(result(1, json!({"content": 5})));
        story.client(call(2, "echo")).server(result(2, json!({"content": []})))
    };
    let steps = "steps: [{ call: { tool: odd, expect: { error: malformed-result } } }, { call: { tool: echo } }]";
    assert_eq!(silent(steps, story()).verdict, Verdict::Skipped);
    let checked = format!("{steps}\nchecks: [client-messages-have-shapes]");
    assert_eq!(silent(&checked, story()).verdict, Verdict::Passed);
}

#[test]
fn what_a_client_uses_is_compared_with_the_limits() {
    let scenario = scenario("steps: [{ list: {} }]\nexpect: { usage: { memory: 400MB, cpu: 2s } }");
    for (used, expected) in [
        (Some((400_000_000, 2_000_000)), vec![("memory", Verdict::Passed), ("cpu", Verdict::Passed)]),
        (Some((400_000_001, 2_000_001)), vec![("memory", Verdict::Failed), ("cpu", Verdict::Failed)]),
        (None, vec![("", Verdict::Skipped)]),
    ] {
        let mut evidence = EvidenceBuilder::stdio(LEGACY).greet().build();
        let usage = used.map(|(memory, cpu_us)| Usage { memory, cpu_us });
        evidence.process = Some(ProcessEvidence { usage, ..ProcessEvidence::default() });
        let case = judge("a/b", &scenario, &evidence);
        let checks =
            case.checks.iter().filter_map(|check| Some((check.id.strip_prefix("expect.usage")?, check.verdict)));
        let checks: Vec<_> = checks.map(|(id, verdict)| (id.trim_start_matches('.'), verdict)).collect();
        assert_eq!(checks, expected);
    }
}

/// A client that lists, calls with progress tokens, and cancels, without end.
fn endless(count: u64) -> Evidence {
    let story = (1..=count).fold(EvidenceBuilder::stdio(LEGACY).greet(), |story, round| {
        let (list, call) = (round * 2, round * 2 + 1);
        let story = story.client(request(list, "tools/list", json!({}))).server(tools(list, &["x"], None));
        let params = json!({"name": "x", "_meta": {"progressToken": call}});
        story.client(request(call, "tools/call", params)).client(cancel(call))
    });
    story.build()
}

#[test]
fn a_case_with_many_frames_is_judged_in_linear_time() {
    let scenario = scenario("steps: [{ list: {} }, { call: { tool: x, expect: { error: timed-out } } }]");
    let work = |evidence: &Evidence| {
        WORK.set(0);
        drop(judge("a/b", &scenario, evidence));
        WORK.get()
    };
    let (small, large) = (endless(1_000), endless(2_000));
    let [small, large] = [&small, &large].map(work);
    assert!(large < small * 21 / 10, "{small} accesses became {large}");
}

/// Prints the time for 100,000 frames: `cargo test --release -p mcp-workbench-scenarios --lib -- --ignored hundred`.
#[test]
#[ignore = "a measurement"]
fn a_hundred_thousand_frames() {
    let evidence = endless(25_000);
    let began = std::time::Instant::now();
    let case = judge("a/b", &scenario("steps: [{ list: {} }]"), &evidence);
    let took = began.elapsed();
    assert!(took < std::time::Duration::from_secs(60), "{} frames took {took:?}: {case:?}", evidence.frames.len());
    eprintln!("{} frames were judged in {took:?}", evidence.frames.len());
}
