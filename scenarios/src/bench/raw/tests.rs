//! The raw driver against mock servers and against servers that are broken on purpose.

use std::{
    io::{Read as _, Write as _},
    net::TcpListener,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

use client::{Endpoint, HttpEndpoint, RevisionChoice, ServerConfig};
use evidence::Recorder as FrameRecorder;
use mock_servers::{HttpMock, Script};
use reports::model::LoadResult;
use serde_json::{Value, json};

mod http2;

use super::{
    http::{Address, Route},
    pacer::{DueCall, Next},
    reply::Verifier,
    request::{EncodedRequest, OperationRequests, Requests},
    *,
};
use crate::{
    bench::{
        TIMED_OUT, UNEXPECTED_RESULT,
        connect::{ClientCaller, TOOL_ERROR},
        template::Template,
    },
    model::Load,
};

async fn mock(revision: &str) -> (HttpMock, ServerConfig) {
    let script: Script = serde_json::from_value(json!({
        "tools": [
            { "name": "echo", "reply": { "text": "{{arguments.text}}" } },
            { "name": "broken", "reply": { "text": "no", "is_error": true } },
        ],
        "on": [
            { "when": { "tool": "echo", "arguments": { "text": "refuse" } },
              "do": { "error": { "code": -32602, "message": "no" } } },
            { "when": { "tool": "echo", "arguments": { "text": "stall" } }, "do": { "fault": "silence" } },
        ],
    }))
    .unwrap();
    start(script, revision, FrameRecorder::disabled()).await
}

async fn start(script: Script, revision: &str, recorder: FrameRecorder) -> (HttpMock, ServerConfig) {
    let mock = HttpMock::start(script, revision, 0, recorder).await.unwrap();
    let endpoint = Endpoint::StreamableHttp(HttpEndpoint { url: mock.url(), ..HttpEndpoint::default() });
    let mut config = ServerConfig::new("mock", endpoint);
    config.protocol = revision.parse().map(RevisionChoice::Pinned).unwrap();
    (mock, config)
}

fn load(tool: &str, text: &str, more: &Value) -> Load {
    let mut load = json!({
        "tool": tool,
        "arguments": { "text": text },
        "shape": { "closed": { "users": 3 } },
        "duration": "100ms",
        "timeout": if text == "stall" { "50ms" } else { "20s" },
    });
    for (key, value) in more.as_object().unwrap() {
        load[key] = value.clone();
    }
    serde_json::from_value(load).unwrap()
}

async fn run_load(config: &ServerConfig, load: &Load) -> LoadResult {
    let plan = LoadPlan::open(load).unwrap();
    let caller = ClientCaller::connect(config, 2, &plan).await.unwrap();
    assert_eq!(supports(&caller, &plan), None);
    let mut target = RawTarget::connect(config, caller, &plan).await.unwrap();
    let result = run(&plan, &mut target, |_| (), CancellationToken::new()).await.unwrap();
    target.close().await;
    let ended = result.succeeded + result.errors.values().sum::<u64>();
    assert_eq!(result.offered, ended + result.unfinished, "{result:?}");
    result
}

#[tokio::test(flavor = "multi_thread")]
async fn counts_how_calls_end_by_kind_in_both_eras() {
    for revision in ["2025-11-25", "2026-07-28"] {
        let (mock, config) = mock(revision).await;
        for (tool, text, more, kind) in [
            ("echo", "hello", json!({}), None),
            ("echo", "hello", json!({ "expect": { "text": "hell" } }), None),
            ("echo", "hello", json!({ "expect": { "text": "heaven" } }), Some(UNEXPECTED_RESULT)),
            ("echo", "refuse", json!({}), Some("rpc-error")),
            ("echo", "stall", json!({}), Some(TIMED_OUT)),
            ("broken", "", json!({}), Some(TOOL_ERROR)),
        ] {
            let result = run_load(&config, &load(tool, text, &more)).await;
            assert_eq!(
                result.errors.keys().map(String::as_str).collect::<Vec<_>>(),
                Vec::from_iter(kind),
                "{result:?}"
            );
            assert_eq!((result.succeeded > 0, result.unfinished), (kind.is_none(), 0), "{result:?}");
            assert_eq!(result.error_samples.keys().collect::<Vec<_>>(), result.errors.keys().collect::<Vec<_>>());
            assert!(result.bytes_sent > 0 && result.generator.is_some_and(|generator| generator.threads > 0));
        }
        mock.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn measures_the_notifications_before_a_response() {
    let script: Script = serde_json::from_value(json!({
        "tools": [{ "name": "long", "reply": { "text": "done" } }, { "name": "stuck" }],
        "on": [
            { "when": { "tool": "long" }, "do": [
                { "progress": { "progress": 1, "times": 3, "every": "5ms" } }, { "fault": { "delay": "30ms" } },
            ] },
            { "when": { "tool": "stuck" }, "do": [{ "progress": { "progress": 1 } }, { "fault": "silence" }] },
        ],
    }))
    .unwrap();
    for (revision, http2) in [("2025-11-25", false), ("2025-11-25", true), ("2026-07-28", false), ("2026-07-28", true)]
    {
        let (mock, config) = start(script.clone(), revision, FrameRecorder::disabled()).await;
        let more = |progress| json!({ "http2": http2, "request_progress": progress });
        let result = run_load(&config, &load("long", "", &more(true))).await;
        let measured = result.notifications.unwrap_or_else(|| panic!("{revision}, {http2}: {result:?}"));
        assert_eq!((measured.count, measured.calls), (3 * result.succeeded, result.succeeded), "{result:?}");
        assert!(measured.longest_gap.max_us >= 29_000 && measured.first.min_us < result.latency.unwrap().min_us);
        let without = run_load(&config, &load("long", "", &more(false))).await;
        assert!(without.succeeded > 0 && without.notifications.is_none(), "{without:?}");
        // The silence of a call that times out counts, too.
        let timeout = json!({ "http2": http2, "request_progress": true, "timeout": "80ms" });
        let stuck = run_load(&config, &load("stuck", "", &timeout)).await;
        let measured = stuck.notifications.unwrap();
        assert_eq!((measured.count, stuck.errors[TIMED_OUT]), (measured.calls, measured.calls), "{stuck:?}");
        assert!(measured.longest_gap.max_us + measured.first.max_us >= 79_000, "{measured:?}");
        mock.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ends_after_a_number_of_measured_calls() {
    let (mock, config) = mock("2026-07-28").await;
    for http2 in [false, true] {
        let more = json!({ "shape": { "closed": { "users": 3, "calls": 1_000 } }, "duration": "1h", "http2": http2 });
        let result = run_load(&config, &load("echo", "{{iteration}}", &more)).await;
        assert_eq!((result.offered, result.sent, result.succeeded), (1_000, 1_000, 1_000), "{result:?}");
        assert!(result.counted_ms < 30_000 && result.achieved_rate > 30.0, "{result:?}");
        assert!(!result.warnings.iter().any(|warning| warning.contains("cancelled")), "{:?}", result.warnings);
    }
    mock.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_open_loop_opens_the_connections_that_it_needs() {
    let (mock, config) = mock("2026-07-28").await;
    let shape = json!({ "shape": { "open": { "rate": 400 } }, "duration": "500ms" });
    let result = run_load(&config, &load("echo", "hello", &shape)).await;
    // A busy machine may be late for the last ones.
    assert_eq!((result.offered, result.succeeded + result.unfinished), (200, 200), "{result:?}");
    assert!(result.succeeded > 150, "{result:?}");
    let stalled = run_load(&config, &load("echo", "stall", &shape)).await;
    assert!(stalled.errors[TIMED_OUT] > 150 && stalled.errors.len() == 1, "{stalled:?}");
    assert!(!stalled.passed());
    mock.stop().await;
}

/// The load of a mix, or of steps, against both drivers.
async fn operations(config: &ServerConfig, load: &Value) -> [LoadResult; 2] {
    let mut all = json!({ "shape": { "closed": { "users": 3 } }, "duration": "150ms" });
    all.as_object_mut().unwrap().extend(load.as_object().unwrap().clone());
    let load: Load = serde_json::from_value(all).unwrap();
    let raw = run_load(config, &load).await;
    let plan = LoadPlan::open(&load).unwrap();
    let caller = ClientCaller::connect(config, 2, &plan).await.unwrap();
    let client = crate::bench::run(&plan, caller.clone(), |_| (), CancellationToken::new()).await;
    caller.close().await;
    [raw, client]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mix_has_results_of_each_operation_that_add_up_to_the_load() {
    for revision in ["2025-11-25", "2026-07-28"] {
        let (mock, config) = mock(revision).await;
        let mix = json!({ "mix": [
            { "weight": 3, "do": { "call": { "tool": "echo", "arguments": { "text": "{{user}} of {{iteration}}" },
                "expect": { "values": [{ "path": "$.content[0].text", "matches": "^[1-3] of [0-9]+$" }] } } } },
            { "weight": 1, "do": { "list": "tools" } },
            { "weight": 1, "do": { "request": { "method": "resources/read", "params": { "uri": "a:b" } } } },
            { "weight": 1, "do": { "call": { "tool": "broken" } } },
        ] });
        for result in operations(&config, &mix).await {
            let names: Vec<_> = result.operations.iter().map(|operation| operation.name.as_str()).collect();
            assert_eq!(names, ["echo", "tools/list", "resources/read", "broken"]);
            let [echo, list, read, broken] = result.operations.as_slice() else { panic!("{result:?}") };
            assert!(echo.succeeded > list.succeeded && list.succeeded > 0 && echo.errors.is_empty(), "{result:?}");
            assert_eq!((read.succeeded, read.errors.keys().map(String::as_str).collect()), (0, vec!["rpc-error"]));
            assert_eq!((broken.succeeded, broken.errors.keys().map(String::as_str).collect()), (0, vec![TOOL_ERROR]));
            assert!(echo.latency.is_some() && read.latency.is_none(), "{result:?}");
            let sum = |of: fn(&reports::model::OperationResult) -> u64| result.operations.iter().map(of).sum::<u64>();
            assert_eq!((sum(|one| one.sent), sum(|one| one.succeeded)), (result.offered, result.succeeded));
        }
        mock.stop().await;
    }
}

/// The parameters of all requests of a method.
fn params(recorder: &FrameRecorder, method: &str) -> Vec<Value> {
    let frames = recorder.frames().into_iter();
    let bodies = frames.filter_map(|frame| if let evidence::Body::Json(body) = frame.body { Some(body) } else { None });
    bodies.filter(|body| body["method"] == method).map(|body| body["params"].clone()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn each_iteration_has_the_next_row_of_the_data() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("rows.jsonl");
    std::fs::write(&path, "{\"n\": 7, \"name\": \"a\"}\n{\"n\": [\"long\"], \"name\": \"\\\"\u{e9}\"}\n").unwrap();
    let script: Script = serde_json::from_value(json!({ "tools": [{ "name": "echo" }] })).unwrap();
    let recorder = FrameRecorder::in_memory("mock");
    let (mock, config) = start(script, "2025-11-25", recorder.clone()).await;
    let load = json!({
        "tool": "echo",
        "arguments": { "n": "{{n}}", "text": "{{ name }}:{{iteration}}", "user": "{{user}}" },
        "data": path,
        "shape": { "closed": { "users": 1 } },
    });
    for result in operations(&config, &load).await {
        assert!(result.succeeded > 3 && result.errors.is_empty() && result.operations.is_empty(), "{result:?}");
    }
    mock.stop().await;
    let calls = params(&recorder, "tools/call");
    let starts: Vec<usize> =
        (0..calls.len()).filter(|at| calls[*at]["arguments"]["text"].as_str() == Some("a:0")).collect();
    // The second driver starts again.
    let [0, second] = starts.as_slice() else { panic!("{starts:?}") };
    for (position, call) in calls.iter().enumerate() {
        let iteration = position % second;
        if position < 2 * second {
            let (n, name) = if iteration % 2 == 0 { (json!(7), "a") } else { (json!(["long"]), "\"\u{e9}") };
            let expected = json!({ "n": n, "text": format!("{name}:{iteration}"), "user": 1 });
            assert_eq!(call["arguments"], expected, "{position}");
        }
    }
    let error = LoadPlan::open(&serde_json::from_value(json!({
        "tool": "echo", "arguments": { "x": "{{nme}}" }, "data": path, "duration": "1s", "shape": { "closed": { "users": 1 } },
    })).unwrap());
    let message = error.unwrap_err().to_string();
    assert_eq!(
        message,
        "unknown placeholder `{{nme}}` in `echo`; known are `{{iteration}}`, `{{user}}`, `{{n}}`, `{{name}}`"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn all_pages_of_a_list_are_read_and_steps_end_with_the_first_failure() {
    for revision in ["2025-11-25", "2026-07-28"] {
        let script: Script = serde_json::from_value(json!({
            "tools": [{ "name": "one" }, { "name": "two", "reply": { "text": "no", "is_error": true } }, { "name": "three" }],
            "page_size": 1,
        }))
        .unwrap();
        let recorder = FrameRecorder::in_memory("mock");
        let (mock, config) = start(script, revision, recorder.clone()).await;
        let steps = json!({ "steps": [{ "list": "tools" }, { "call": { "tool": "one" } }] });
        for result in operations(&config, &steps).await {
            let [list, one] = result.operations.as_slice() else { panic!("{result:?}") };
            assert_eq!((list.succeeded, one.succeeded), (result.succeeded, result.succeeded), "{result:?}");
            assert!(result.succeeded > 0 && result.errors.is_empty(), "{result:?}");
            // An iteration takes as long as its operations together.
            let [all, list, one] = [result.latency, list.latency, one.latency].map(|latency| latency.unwrap().mean_us);
            assert!((all - list - one).abs() < 10.0, "{all} {list} {one}");
        }
        let failing =
            json!({ "steps": [{ "list": "tools" }, { "call": { "tool": "two" } }, { "call": { "tool": "three" } }] });
        let [raw, _] = operations(&config, &failing).await;
        assert_eq!((raw.succeeded, raw.operations[2].sent), (0, 0), "{raw:?}");
        assert_eq!(raw.operations[0].succeeded, raw.operations[1].errors[TOOL_ERROR], "{raw:?}");
        mock.stop().await;
        // Each list has three pages, the first of which is requested without a cursor.
        let lists = params(&recorder, "tools/list");
        let further = lists.iter().filter(|params| params.get("cursor").is_some()).count();
        assert_eq!((further * 3, further > 10), (lists.len() * 2, true));
    }
}

/// Serves raw responses to each connection, one per request, then closes it. Counts the connections.
fn broken_server(responses: &'static [&'static str]) -> (std::net::SocketAddr, &'static AtomicUsize) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let count: &'static AtomicUsize = Box::leak(Box::new(AtomicUsize::new(0)));
    thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            count.fetch_add(1, Relaxed);
            thread::spawn(move || {
                let mut buffer = [0; 4_096];
                for response in responses {
                    if stream.read(&mut buffer).unwrap_or(0) == 0 || stream.write_all(response.as_bytes()).is_err() {
                        return;
                    }
                }
            });
        }
    });
    (address, count)
}

/// Makes calls one after the other, and returns the result.
fn against(address: std::net::SocketAddr, duration: &str) -> LoadResult {
    let load = load("echo", "hello", &json!({ "shape": { "closed": { "users": 1 } }, "duration": duration }));
    let plan = LoadPlan::new(&load).unwrap();
    let url = format!("http://{address}/mcp").parse().unwrap();
    let head = client::RequestHead { url, socket: None, headers: reqwest::header::HeaderMap::new() };
    let first = EncodedRequest::post(&head, "tools/call", Template::default());
    let requests = Requests::new(vec![OperationRequests { first, page: None }], Arc::default());
    let routes = vec![Route { address: Arc::new(Address::Tcp(address)), requests }];
    let worker = HttpWorker::new(routes, Verifier::new(plan.iterations()), 1, (0, 1)).unwrap();
    let timing = Arc::new(Timing::new(&plan));
    let share = Share { worker: 0, workers: 1 };
    let pacer = Pacer::new(&plan, share, 1, Arc::clone(&timing), Arc::default());
    let (generated, recorder) = worker.run(pacer).unwrap();
    crate::bench::finish(&plan, &timing, &generated, recorder)
}

fn kinds(result: &LoadResult) -> Vec<&str> {
    result.errors.keys().map(String::as_str).collect()
}

#[test]
fn a_response_with_another_id_fails() {
    let (address, _) = broken_server(&[concat!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: 44\r\n\r\n",
        r#"{"jsonrpc":"2.0","id":9999999999,"result":{"#,
    )]);
    let cut = against(address, "50ms");
    // One byte is missing, so the response is incomplete.
    assert_eq!((kinds(&cut), cut.succeeded), (vec!["connection-lost"], 0), "{cut:?}");
    let (address, _) = broken_server(&[concat!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: 45\r\n\r\n",
        r#"{"jsonrpc":"2.0","id":9999999999,"result":{}}"#,
    )]);
    let other = against(address, "50ms");
    assert_eq!((kinds(&other), other.succeeded), (vec!["protocol-violation"], 0), "{other:?}");
    assert!(other.error_samples["protocol-violation"].text.contains("9999999999"), "{other:?}");
}

#[test]
fn statuses_closed_connections_and_silence_are_counted_by_kind() {
    let (address, _) = broken_server(&["HTTP/1.1 503 No\r\nconnection: close\r\ncontent-length: 4\r\n\r\nbusy"]);
    let status = against(address, "50ms");
    assert_eq!(kinds(&status), ["http-status"], "{status:?}");
    let sample = &status.error_samples["http-status"];
    assert_eq!((sample.text.as_str(), sample.frame.as_deref()), ("HTTP 503", Some("busy")));
    let (address, connections) = broken_server(&[]);
    let closed = against(address, "50ms");
    assert_eq!(kinds(&closed), ["connection-lost"], "{closed:?}");
    assert!(connections.load(Relaxed) > 1, "each call opens another connection");
    let (address, _) = broken_server(&[""]);
    assert!(kinds(&against(address, "50ms")).contains(&"connection-lost"));
    // Nothing listens at the port of a listener that was dropped.
    let unused = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let refused = against(unused, "50ms");
    assert_eq!(kinds(&refused), ["connect-failed"], "{refused:?}");
}

fn pacer(shape: Value, limit: usize) -> (Pacer, Instant) {
    let plan = LoadPlan::new(&load("echo", "hello", &json!({ "shape": shape, "duration": "10s" }))).unwrap();
    let timing = Arc::new(Timing::new(&plan));
    let start = timing.start;
    (Pacer::new(&plan, Share { worker: 1, workers: 2 }, limit, timing, Arc::default()), start)
}

fn call(next: Next) -> DueCall {
    let Next::Call(call) = next else { panic!("{next:?}") };
    call
}

#[test]
fn a_worker_sends_its_share_of_the_schedule_and_keeps_the_scheduled_times() {
    let (mut pacer, start) = pacer(json!({ "open": { "rate": 10 } }), 1);
    let due = |tenths: u64| start + Duration::from_millis(100 * tenths);
    assert_eq!(pacer.next(start), Next::At(due(1)));
    // Late: two calls of this worker are due, and only one may be in flight.
    let first = call(pacer.next(due(4)));
    assert_eq!((first.at.iteration, first.intended), (1, due(1)));
    assert_eq!(pacer.next(due(4)), Next::Full);
    pacer.finished(first, due(5), Ok(()));
    let second = call(pacer.next(due(5)));
    assert_eq!((second.at.iteration, second.intended, second.sent), (3, due(3), due(5)));
    pacer.finished(second, due(100), Err(None));
    assert_eq!(pacer.next(due(100)), Next::End);
    let (generated, recorder) = pacer.finish();
    // 50 calls are due for this worker in 10 s; 2 were sent.
    assert_eq!((generated.offered, generated.sent, recorder.succeeded, recorder.abandoned), (50, 2, 1, 1));
    // The wait for the first call is the lag of the generator, that for the second one is not.
    assert_eq!(generated.lag, Duration::from_millis(300));
}

#[test]
fn calls_of_the_warm_up_that_were_not_sent_are_dropped_when_it_is_over() {
    let more = json!({ "shape": { "open": { "rate": 10 } }, "warmup": "1s", "duration": "1s" });
    let plan = LoadPlan::new(&load("echo", "hello", &more)).unwrap();
    let timing = Arc::new(Timing::new(&plan));
    let start = timing.start;
    let mut pacer = Pacer::new(&plan, Share { worker: 0, workers: 1 }, 1, timing, Arc::default());
    let due = |tenths: u64| start + Duration::from_millis(100 * tenths);
    let slow = call(pacer.next(due(0)));
    assert_eq!(pacer.next(due(9)), Next::Full);
    pacer.finished(slow, due(15), Ok(()));
    let first = call(pacer.next(due(15)));
    assert_eq!((first.at.iteration, first.intended), (10, due(10)));
    pacer.finished(first, due(20), Ok(()));
    let (generated, recorder) = pacer.finish();
    assert_eq!((generated.offered, generated.sent, recorder.succeeded), (10, 1, 1));
}

#[test]
fn a_closed_loop_has_as_many_calls_in_flight_as_users() {
    let (mut pacer, start) = pacer(json!({ "closed": { "users": 4 } }), 2);
    let first = call(pacer.next(start));
    let second = call(pacer.next(start));
    assert_eq!((first.at.iteration, second.at.iteration, pacer.next(start)), (1, 3, Next::Full));
    pacer.timed_out(first, start);
    assert_eq!(call(pacer.next(start)).at.iteration, 5);
}

#[test]
fn a_user_thinks_after_each_response() {
    let (mut pacer, start) = pacer(json!({ "closed": { "users": 4, "think_time": "1s" } }), 2);
    let after = |millis| start + Duration::from_millis(millis);
    let first = call(pacer.next(start));
    let second = call(pacer.next(start));
    pacer.finished(second, after(100), Ok(()));
    assert_eq!(pacer.next(after(100)), Next::At(after(1_100)));
    pacer.finished(first, after(200), Ok(()));
    assert_eq!(call(pacer.next(after(1_100))).sent, after(1_100));
    assert_eq!(pacer.next(after(1_100)), Next::At(after(1_200)));
}

#[test]
fn users_at_a_constant_rate_are_spread_and_keep_their_times() {
    let (period, share) = (Duration::from_secs(1), Share { worker: 0, workers: 1 });
    let mut pace = users::ConstantPace::new(period, share);
    let start = Instant::now();
    assert_eq!(pace.due(), None);
    pace.set_users(10, start);
    let mut due = Vec::new();
    while let Some(next) = pace.due().filter(|next| *next < start + 2 * period) {
        due.push((next - start).as_secs_f64());
        pace.advance();
    }
    // Each user has one call in each second, and they do not call together.
    assert_eq!(due.len(), 20);
    assert!(due.windows(2).all(|pair| (0.03..0.16).contains(&(pair[1] - pair[0]))), "{due:?}");
    // A user who leaves has no more calls; those that were due and not sent are counted.
    pace.set_users(1, start + 2 * period);
    assert_eq!(pace.take_unsent().len(), 0);
    pace.end(start + 5 * period);
    assert_eq!(pace.take_unsent().len(), 3);
}

#[test]
fn the_number_of_users_changes_while_calls_are_open() {
    let plan = LoadPlan::new(&load("echo", "hello", &json!({ "shape": { "closed": { "users": 1 } } }))).unwrap();
    let timing = Arc::new(Timing::new(&plan));
    let (start, share) = (timing.start, Share { worker: 0, workers: 1 });
    let (outbox, mut intervals) = tokio::sync::mpsc::unbounded_channel();
    let settings = users::Settings::new(users::Pace::AfterResponse, outbox);
    let mut pacer = Pacer::new(&plan, share, 1, timing, Arc::default());
    pacer.set_users(settings.share(share));
    assert_eq!(pacer.next(start), Next::Full);
    settings.set_users(2);
    let first = call(pacer.next(start));
    let second = call(pacer.next(start));
    assert_eq!(pacer.next(start), Next::Full);
    settings.set_users(1);
    pacer.finished(first, start, Ok(()));
    assert_eq!(pacer.next(start), Next::Full);
    pacer.finished(second, start, Ok(()));
    let third = call(pacer.next(start));
    // Calls of one second are in one interval, and those of the last second are not lost.
    let later = start + Duration::from_millis(1_100);
    pacer.finished(third, later, Ok(()));
    let one = intervals.try_recv().unwrap();
    assert_eq!((one.recorder.succeeded, intervals.try_recv().is_err()), (2, true));
    pacer.finish();
    let two = intervals.try_recv().unwrap();
    assert_eq!((two.recorder.succeeded, two.second > one.second), (1, true));
}
