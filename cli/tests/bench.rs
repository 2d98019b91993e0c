//! Load tests against real processes: rates that are not reached, servers that stall, and both drivers over stdio.

use std::{
    io::{BufRead as _, BufReader},
    net::TcpListener,
    process::{Child, Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

const PROGRAM: &str = env!("CARGO_BIN_EXE_mcp-workbench");

/// A mock server, which is killed when this is dropped.
struct Mock {
    child: Child,
    url: String,
}

impl Mock {
    /// Starts a script, or a profile.
    fn start(script: &str) -> Self {
        let mut command = Command::new(PROGRAM);
        command.args(["mock", "serve", script, "--json", "--listen", "127.0.0.1:0"]).stdout(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        let mut line = String::new();
        let stdout = child.stdout.take().expect("a pipe");
        BufReader::new(stdout).read_line(&mut line).expect("a line");
        let state: Value = serde_json::from_str(&line).expect("JSON");
        let url = state["url"].as_str().expect("a URL").to_owned();
        Self { child, url }
    }

    fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw).expect("a process id");
        kill_process(pid, signal).expect("the process exists");
    }
}

impl Drop for Mock {
    fn drop(&mut self) {
        // It may be stopped; SIGKILL ends it anyway.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn bench(arguments: &[&str]) -> (Output, Value) {
    let directory = tempfile::tempdir().expect("a directory");
    let mut command = Command::new(PROGRAM);
    command.args(["bench", "--quiet", "--format", "json"]).args(arguments).env("MCP_WORKBENCH_RUNS", directory.path());
    let output = command.output().expect("the program starts");
    let run: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|cause| panic!("{cause}: {}", String::from_utf8_lossy(&output.stderr)));
    (output, run["loads"][0].clone())
}

#[test]
fn a_rate_that_is_not_reached_fails_and_says_why() {
    let directory = tempfile::tempdir().expect("a directory");
    let script = directory.path().join("slow.yaml");
    let text = "tools: [{ name: slow, reply: { text: hi } }]\n\
        on: [{ when: { tool: slow }, do: { fault: { delay: 200ms } } }]\n";
    std::fs::write(&script, text).expect("a file");
    let mock = Mock::start(script.to_str().expect("UTF-8"));
    let load = ["--url", &mock.url, "--tool", "slow", "--rate", "5000", "--max-in-flight", "9", "--duration", "1s"];
    for driver in ["raw", "client"] {
        let arguments = [&load[..], &["--driver", driver, "--warmup", "200ms"]].concat();
        let (output, result) = bench(&arguments);
        assert_eq!(output.status.code(), Some(1), "{result:#}");
        let threshold = &result["thresholds"][0];
        assert_eq!(threshold["threshold"], "achieved_rate >= 95 % of 5000/s");
        let measured = threshold["measured"].as_str().expect("text");
        // On a busy machine the generator cannot even open the nine calls.
        let reasons = ["`max_in_flight` (9)", "the load generator was the limit"];
        let has_reason = reasons.iter().any(|reason| measured.contains(reason));
        assert!(measured.contains("calls are unfinished") && has_reason, "{measured}");
        assert_eq!(result["driver"], driver);
        let (_, result) = bench(&[&arguments[..], &["--min-rate", "0"]].concat());
        assert_eq!(result["thresholds"].as_array().map(Vec::len), Some(0), "any rate is accepted");
    }
}

#[test]
fn a_run_in_which_every_call_fails_fails_and_names_the_error() {
    let directory = tempfile::tempdir().expect("a directory");
    let script = directory.path().join("broken.yaml");
    let text = "tools: [{ name: broken }]\n\
        on: [{ when: { tool: broken }, do: { error: { code: -32603, message: the disk is full } } }]\n";
    std::fs::write(&script, text).expect("a file");
    let mock = Mock::start(script.to_str().expect("UTF-8"));
    for driver in ["raw", "client"] {
        let load = ["--url", &mock.url, "--tool", "broken", "--duration", "300ms", "--warmup", "10ms"];
        let (output, result) = bench(&[&load[..], &["--driver", driver]].concat());
        assert_eq!(output.status.code(), Some(1), "{result:#}");
        assert_eq!(result["succeeded"], 0, "{result:#}");
        let sample = result["error_samples"]["rpc-error"]["text"].as_str().expect("text");
        assert!(sample.contains("the disk is full"), "{sample}");
    }
}

/// A busy machine delays calls too, so a few attempts may fail. A generator that leaves out calls fails every time.
#[test]
fn a_stopped_server_counts_for_every_call_that_was_due() {
    let failures: Vec<String> = (0..5).map_while(|_| stop_a_server().err()).collect();
    assert!(failures.len() < 5, "{failures:#?}");
}

/// Stops a server during a load, and compares the latencies with those of the schedule.
fn stop_a_server() -> Result<(), String> {
    let mock = Mock::start("minimal");
    let load = ["--url", &mock.url, "--tool", "echo", "--rate", "200", "--duration", "3s", "--warmup", "500ms"];
    let running = thread::scope(|scope| {
        let running = scope.spawn(|| bench(&load));
        // The time of the stop does not matter, as long as it is within the measurement.
        thread::sleep(Duration::from_millis(1_500));
        mock.signal(Signal::STOP);
        let stopped = Instant::now();
        thread::sleep(Duration::from_millis(900));
        mock.signal(Signal::CONT);
        let stopped = stopped.elapsed();
        (running.join().expect("no panic"), stopped)
    });
    let ((_, result), stopped) = running;
    if result["succeeded"].as_u64() < Some(580) || result["offered"] != 600 {
        return Err(format!("{result:#}"));
    }
    // Of the calls that are due during the stop, the last 10 % and 1 % of all calls waited longer than this.
    for (percentile, expected) in
        [("p90_us", stopped - Duration::from_millis(300)), ("p99_us", stopped - Duration::from_millis(30))]
    {
        let measured = result["latency"][percentile].as_f64().expect("a number") / 1e6;
        let error = (measured - expected.as_secs_f64()).abs() / expected.as_secs_f64();
        if error > 0.1 {
            return Err(format!("{percentile} is {measured} s instead of {expected:?}"));
        }
        let uncorrected = result["uncorrected"]["p50_us"].as_f64().expect("a number");
        if uncorrected > 100_000.0 {
            return Err(format!("half of the calls took over {uncorrected} µs since they were sent"));
        }
    }
    Ok(())
}

#[test]
fn both_drivers_call_a_process() {
    for driver in ["raw", "client"] {
        // A busy machine may not reach the rate.
        for shape in [&["--users", "16"][..], &["--rate", "100", "--min-rate", "0"]] {
            let load = ["--tool", "echo", "--duration", "500ms", "--warmup", "100ms", "--driver", driver];
            let arguments = [&load[..], shape].concat();
            let (output, result) = bench(&[&arguments[..], &["--", PROGRAM, "mock", "stdio", "minimal"]].concat());
            assert_eq!(output.status.code(), Some(0), "{result:#}");
            assert_eq!((&result["transport"], &result["driver"]), (&"stdio".into(), &driver.into()));
            assert!(result["succeeded"].as_u64() > Some(0) && result["errors"] == serde_json::json!({}), "{result:#}");
            let series = result["series"].as_array().expect("a series");
            let counted: u64 = series.iter().filter_map(|point| point["succeeded"].as_u64()).sum();
            assert_eq!(Some(counted), result["succeeded"].as_u64());
        }
    }
}

#[test]
fn progress_over_standard_streams_is_measured_by_its_token() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("long.yaml");
    // The second notification is about another request.
    let script = "tools: [{ name: long, reply: { text: done } }]\non:\n  - when: { tool: long }\n    do:\n      \
        - progress: { progress: 1 }\n      \
        - notify: { anyway: true, method: notifications/progress, params: { progressToken: 1, progress: 1 } }\n      \
        - fault: { delay: 30ms }\n";
    std::fs::write(&path, script).expect("the directory is writable");
    let path = path.display().to_string();
    let load = ["--tool", "long", "--users", "4", "--duration", "500ms", "--warmup", "0s", "--request-progress"];
    for (limit, passed) in [("1h", true), ("29ms", false)] {
        let threshold = format!("notification_gap_max < {limit}");
        let arguments = [&load[..], &["--threshold", &threshold, "--", PROGRAM, "mock", "stdio", &path]].concat();
        let (output, result) = bench(&arguments);
        assert_eq!(output.status.code(), Some(if passed { 0 } else { 1 }), "{result:#}");
        let measured = &result["notifications"];
        assert_eq!(
            (&measured["count"], &measured["calls"]),
            (&result["succeeded"], &result["succeeded"]),
            "{result:#}"
        );
        assert!(measured["first"]["max_us"].as_u64() < result["latency"]["max_us"].as_u64(), "{result:#}");
    }
    let client =
        command(&["--tool", "long", "--request-progress", "--driver", "client", "--", PROGRAM, "mock", "stdio", &path]);
    let message = String::from_utf8_lossy(&client.stderr);
    assert!(
        client.status.code() == Some(2) && message.contains("`request_progress` needs the raw driver"),
        "{message}"
    );
}

/// Runs a command of `bench`.
fn command(arguments: &[&str]) -> Output {
    let mut command = Command::new(PROGRAM);
    command.arg("bench").args(arguments).output().expect("the program starts")
}

/// The script of a server whose calls take so many milliseconds.
fn delayed(directory: &tempfile::TempDir, millis: u64) -> String {
    let path = directory.path().join(format!("{millis}.yaml"));
    let script = format!(
        "tools: [{{ name: echo }}]\non:\n  - when: {{ tool: echo }}\n    do: [{{ fault: {{ delay: {millis}ms }} }}, {{ reply: {{ text: hello }} }}]\n"
    );
    std::fs::write(&path, script).expect("the directory is writable");
    path.display().to_string()
}

#[test]
fn a_slower_server_fails_the_comparison_and_a_faster_one_does_not() {
    let directory = tempfile::tempdir().expect("a directory");
    let [quick, slow] =
        [1, 30].map(|millis| format!("{PROGRAM} mock serve --transport stdio {}", delayed(&directory, millis)));
    let load = ["compare", "--quiet", "--format", "json", "--tool", "echo", "--pairs", "5", "--duration", "100ms"];
    for (a, b, code, difference) in [(&quick, &slow, 1, "worse"), (&slow, &quick, 0, "better")] {
        let output = command(&[&load[..], &["--warmup", "1ms", "--a", a, "--b", b]].concat());
        let comparison: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|cause| panic!("{cause}: {}", String::from_utf8_lossy(&output.stderr)));
        assert_eq!((output.status.code(), &comparison["difference"]), (Some(code), &difference.into()), "{comparison}");
        assert_eq!(comparison["metrics"][0]["pairs"].as_array().map(Vec::len), Some(5), "{comparison}");
    }
}

#[test]
fn a_comparison_names_the_server_that_does_not_start_and_needs_five_pairs() {
    let quick = format!("{PROGRAM} mock serve --transport stdio minimal");
    for (pairs, b, code, message) in
        [("5", "/does/not/exist", 3, "error: server B"), ("4", "true", 2, "error: 4 pairs are too few")]
    {
        let output =
            command(&["compare", "--tool", "echo", "--pairs", pairs, "--duration", "10ms", "--a", &quick, "--b", b]);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(stderr.contains(message) && output.status.code() == Some(code), "{:?} {stderr}", output.status);
    }
}

#[test]
fn a_search_ends_at_the_highest_rate_or_fails_at_the_lowest_one() {
    let directory = tempfile::tempdir().expect("a directory");
    let script = delayed(&directory, 1);
    let server = ["--", PROGRAM, "mock", "serve", "--transport", "stdio", &script];
    let load = ["search", "--quiet", "--format", "json", "--tool", "echo", "--duration", "200ms", "--min-rate", "0"];
    for (limit, code, best) in [("max < 60s", 0, Value::from(40.0)), ("max < 1us", 1, Value::Null)] {
        let range = ["--from", "20", "--to", "40", "--warmup", "1ms", "--threshold", limit];
        let output = command(&[&load[..], &range, &server].concat());
        let report: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|cause| panic!("{cause}: {}", String::from_utf8_lossy(&output.stderr)));
        assert_eq!((output.status.code(), &report["best_rate"]), (Some(code), &best), "{report}");
        assert_eq!(report["steps"].as_array().map(Vec::len), Some(2), "{report}");
    }
}

#[test]
fn a_run_is_compared_with_a_baseline_of_the_same_load() {
    let directory = tempfile::tempdir().expect("a directory");
    let [quick, slow] = [1, 30].map(|millis| delayed(&directory, millis));
    let (saved, runs) = (directory.path().join("base.json"), directory.path().join("runs"));
    let run = |users: &str, script: &str, more: &[&str]| {
        let mut command = Command::new(PROGRAM);
        command.args([
            "bench",
            "--quiet",
            "--format",
            "json",
            "--tool",
            "echo",
            "--duration",
            "300ms",
            "--warmup",
            "1ms",
        ]);
        command.args(["--users", users]).args(more).env("MCP_WORKBENCH_RUNS", &runs);
        command.args(["--", PROGRAM, "mock", "serve", "--transport", "stdio", script]);
        command.output().expect("the program starts")
    };
    std::fs::write(&saved, run("4", &quick, &[]).stdout).expect("the directory is writable");
    let baseline = ["--baseline", saved.to_str().expect("a path"), "--tolerance", "900%"];
    let slower = run("4", &slow, &baseline);
    let report: Value = serde_json::from_slice(&slower.stdout).expect("JSON");
    let failed =
        report["loads"][0]["thresholds"].as_array().expect("thresholds").iter().filter(|one| one["passed"] == false);
    let failed: Vec<_> = failed.filter_map(|one| one["threshold"].as_str()).collect();
    assert_eq!(slower.status.code(), Some(1), "{report}");
    assert!(failed.iter().any(|threshold| threshold.starts_with("p50 <= ")), "{failed:?}");
    let other = run("2", &quick, &baseline);
    let stderr = String::from_utf8_lossy(&other.stderr);
    assert!(stderr.contains("the shape is closed loop, 2 users, and was closed loop, 4 users"), "{stderr}");
    assert_eq!(other.status.code(), Some(2), "{stderr}");
}

#[test]
fn a_soak_test_finds_a_server_that_becomes_slower() {
    let directory = tempfile::tempdir().expect("a directory");
    let script = directory.path().join("slower.yaml");
    // Each call waits for one millisecond more than that before, until 60 of them.
    let rules: Vec<String> = (1..60)
        .map(|nth| {
            format!("{{ when: {{ tool: echo, nth: {nth} }}, do: [{{ fault: {{ delay: {nth}ms }} }}, default] }}")
        })
        .collect();
    let text = format!("tools: [{{ name: echo }}]\non: [{}]\n", rules.join(", "));
    std::fs::write(&script, text).expect("a file");
    let server = [PROGRAM, "mock", "stdio", script.to_str().expect("UTF-8")];
    let load = ["soak", "--quiet", "--format", "json", "--tool", "echo", "--rate", "5", "--min-rate", "0"];
    let limits = ["--threshold", "error_rate <= 5%", "--duration", "9s", "--"];
    let output = command(&[&load[..], &limits, &server].concat());
    let run: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|cause| panic!("{cause}: {}", String::from_utf8_lossy(&output.stderr)));
    let thresholds = run["loads"][0]["thresholds"].as_array().expect("thresholds");
    let passed: Vec<(&str, &Value)> =
        thresholds.iter().map(|one| (one["threshold"].as_str().expect("text"), &one["passed"])).collect();
    let [yes, no] = [Value::Bool(true), Value::Bool(false)];
    let expected = [("error_rate <= 5%", &yes), ("p50_drift <= 20%", &no), ("rss_growth < 1MB/min", &yes)];
    assert_eq!((output.status.code(), passed), (Some(1), expected.to_vec()), "{run:#}");
}

#[test]
fn the_process_of_a_server_is_sampled() {
    let growth = ["--threshold", "rss_growth < 1GB/min", "--threshold", "rss_growth > 100GB/min"];
    let load = ["--tool", "echo", "--rate", "20", "--duration", "1s", "--warmup", "1ms", "--min-rate", "0"];
    let directory = tempfile::tempdir().expect("a directory");
    let script = delayed(&directory, 1);
    let server = ["--", PROGRAM, "mock", "serve", "--transport", "stdio", &script];
    let (output, result) = bench(&[&load[..], &growth, &server].concat());
    assert!(result["process"]["rss_max_kb"].as_u64().is_some_and(|kb| kb > 1_000), "{result}");
    assert!(result["series"][0]["threads"].as_u64().is_some_and(|threads| threads > 0), "{result}");
    // A second has too few samples for a slope, so that both thresholds fail.
    let failed =
        result["thresholds"].as_array().expect("thresholds").iter().filter(|one| one["passed"] == false).count();
    assert_eq!((output.status.code(), failed), (Some(1), 2), "{result}");
    let mock = Mock::start(&script);
    let (_, without) = bench(&[&load[..], &["--url", &mock.url]].concat());
    assert_eq!(without["process"], Value::Null, "{without}");
    let pid = mock.child.id().to_string();
    let (_, with) = bench(&[&load[..], &["--url", &mock.url, "--pid", &pid]].concat());
    assert_eq!(with["process"]["processes_max"], 1, "{with}");
}

#[test]
fn a_mix_with_data_is_reported_by_operation() {
    let directory = tempfile::tempdir().expect("a directory");
    let data = directory.path().join("words.csv");
    std::fs::write(&data, "word\nred\ngreen\n").expect("a file");
    let mix = ["--mix", r#"3:echo={"message": "{{word}} {{iteration}}"}"#, "--mix", "1:tools/list", "--mix", "1:ping"];
    let load = ["--data", data.to_str().expect("a path"), "--users", "4", "--duration", "300ms", "--warmup", "1ms"];
    let thresholds = ["--threshold", "max{echo} < 60s", "--threshold", "max{tools/list} < 1us"];
    let server = ["--", PROGRAM, "mock", "stdio", "minimal"];
    for driver in ["raw", "client"] {
        let arguments = [&mix[..], &load, &thresholds, &["--driver", driver], &server].concat();
        let (output, result) = bench(&arguments);
        assert_eq!((output.status.code(), &result["driver"]), (Some(1), &driver.into()), "{result:#}");
        let passed: Vec<_> =
            result["thresholds"].as_array().expect("thresholds").iter().map(|one| &one["passed"]).collect();
        assert_eq!(passed, [true, false]);
        assert_eq!(result["errors"], serde_json::json!({}), "{result:#}");
        let operations = result["operations"].as_array().expect("operations");
        let names: Vec<_> = operations.iter().map(|one| one["name"].as_str().unwrap_or_default()).collect();
        assert_eq!(names, ["echo", "tools/list", "ping"]);
        let sum: u64 = operations.iter().filter_map(|one| one["succeeded"].as_u64()).sum();
        assert_eq!(Some(sum), result["succeeded"].as_u64());
    }
}

#[test]
fn invalid_operations_and_data_are_errors_before_the_run() {
    let directory = tempfile::tempdir().expect("a directory");
    let data = directory.path().join("words.csv");
    std::fs::write(&data, "word,n\nred,1\ngreen\n").expect("a file");
    let rows = data.to_str().expect("a path");
    for (arguments, message) in [
        (&["--mix", "echo"][..], "`echo` has no weight"),
        (&["--step", "echo=1"], "`1` is not a JSON object"),
        (&["--step", "ecko"], "the server has no tool `ecko`: did you mean `echo`?"),
        (&["--tool", "echo", "--arguments", r#"{"message": "{{word}}"}"#], "unknown placeholder `{{word}}` in `echo`"),
        (&["--tool", "echo", "--data", rows], "words.csv:3:6\n3 | green"),
        (&["--step", "echo", "--threshold", "p99{ecko} < 1s"], "the load has no operation `ecko`"),
    ] {
        let output = command(&[arguments, &["--", PROGRAM, "mock", "stdio", "minimal"]].concat());
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(stderr.contains(message) && output.status.code() == Some(2), "{:?} {stderr}", output.status);
    }
}

#[test]
fn calls_are_made_over_http2_and_errors_say_what_it_needs() {
    let mock = Mock::start("minimal");
    let load = ["--tool", "echo", "--users", "8", "--duration", "300ms", "--warmup", "10ms", "--http2"];
    let (output, result) = bench(&[&load[..], &["--url", &mock.url, "--connections", "3"]].concat());
    assert_eq!(output.status.code(), Some(0), "{result:#}");
    assert_eq!((&result["transport"], &result["driver"]), (&"streamable-http (HTTP/2)".into(), &"raw".into()));
    assert!(result["succeeded"].as_u64() > Some(8) && result["errors"] == serde_json::json!({}), "{result:#}");
    // Nothing listens at the port of a listener that was dropped.
    let address = TcpListener::bind("127.0.0.1:0").and_then(|unused| unused.local_addr()).expect("a port");
    let url = format!("http://{address}/mcp");
    for (arguments, message, code) in [
        (&["--url", &mock.url, "--driver", "client"][..], "`http2` needs the raw driver, not `client`", 2),
        (&["--url", &mock.url, "--transport", "sse"], "cannot connect over HTTP/2", 3),
        (&["--url", &url], "HTTP/1.1 is used without `--http2`", 3),
        (&["--", PROGRAM, "mock", "stdio", "minimal"], "cannot use `http2`: it needs a URL", 2),
    ] {
        let output = command(&[&load[..], arguments].concat());
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(stderr.contains(message) && output.status.code() == Some(code), "{:?} {stderr}", output.status);
    }
}
