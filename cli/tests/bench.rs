//! Load tests against real processes: rates that are not reached, servers that stall, and both drivers over stdio.

use std::{
    io::{BufRead as _, BufReader},
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
