//! Sample runs for tests.

use std::collections::BTreeMap;

use serde_json::json;

use crate::model::{
    BaselineState, CaseEnd, CaseResult, CheckResult, ConnectionEnd, Descendant, ErrorSample, Estimate, FORMAT,
    Generator, HistogramBucket, Latency, Level, LoadPoint, LoadResult, NotificationResult, OperationResult, ProcessEnd,
    ProcessUsage, ReportFrame, Requirement, Run, RunHeader, RunKind, ThresholdResult, Verdict,
};

pub(crate) fn header(planned: usize) -> RunHeader {
    RunHeader {
        run_id: "20260728T101112Z-7f3a".to_owned(),
        kind: RunKind::Conformance,
        profile: None,
        call_tools: Vec::new(),
        workbench: "0.1.0".to_owned(),
        started: "2026-07-28T10:11:12Z".to_owned(),
        subject: "built-in client".to_owned(),
        seed: 42,
        planned,
        policy: crate::model::PassPolicy::default(),
    }
}

/// A complete run of these cases.
pub(crate) fn run(cases: Vec<CaseResult>) -> Run {
    let header = header(cases.len());
    Run {
        format: FORMAT,
        header,
        cases,
        loads: Vec::new(),
        baseline: None,
        tool_calls: Vec::new(),
        portability: Vec::new(),
        complete: true,
        elapsed_ms: 2_345,
    }
}

/// A case with one check, without frames.
pub(crate) fn case(scenario: &str, verdict: Verdict) -> CaseResult {
    CaseResult {
        id: format!("{scenario}@stdio@2025-11-25"),
        scenario: scenario.to_owned(),
        transport: "stdio".to_owned(),
        revision: "2025-11-25".to_owned(),
        title: "A stuck tool leaves the others usable.".to_owned(),
        verdict,
        checks: vec![check(verdict)],
        frames: Vec::new(),
        stderr: String::new(),
        end: None,
        elapsed_ms: 1_204,
    }
}

pub(crate) fn check(verdict: Verdict) -> CheckResult {
    CheckResult {
        id: "timeout-sends-cancel".to_owned(),
        verdict,
        requirement: Requirement {
            id: "lifecycle.timeouts.cancel".to_owned(),
            level: if verdict == Verdict::Warned { Level::Should } else { Level::Must },
            text: "When a request times out, the sender issues a cancellation for it and stops waiting.".to_owned(),
            url: "https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#timeouts".to_owned(),
            advice: None,
        },
        expected: "a `notifications/cancelled` that names request 2 within 1 s of the timeout".to_owned(),
        observed: match verdict {
            Verdict::Skipped => "the subject does not declare the capability `tools`",
            Verdict::Blocked => "the handshake did not end, so no tool could be called",
            Verdict::Passed => "it was sent after 12 ms",
            _ => "no cancellation; the connection was closed after 3.2 s",
        }
        .to_owned(),
        frames: Vec::new(),
    }
}

/// A failed case with frames, a warning and standard error.
pub(crate) fn failed() -> CaseResult {
    let mut case = case("tools/stuck-tool-leaves-others-usable", Verdict::Failed);
    case.checks[0].frames = vec![4, 5, 9];
    let mut warned = check(Verdict::Warned);
    warned.id = "progress-stops".to_owned();
    warned.frames = vec![5];
    case.checks.push(warned);
    case.checks.push(check(Verdict::Passed));
    case.frames = vec![
        ReportFrame {
            seq: 3,
            at_us: 900,
            from_client: true,
            server: "main".to_owned(),
            http: None,
            headers: Default::default(),
            body: (&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).into(),
            truncated: false,
        },
        ReportFrame {
            seq: 4,
            at_us: 12_345,
            from_client: true,
            server: "main".to_owned(),
            http: Some("POST /mcp".to_owned()),
            headers: [("origin".to_owned(), "http://evil.example".to_owned())].into(),
            body: (&json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "stuck"}})).into(),
            truncated: false,
        },
        ReportFrame {
            seq: 5,
            at_us: 3_200_001,
            from_client: false,
            server: "main".to_owned(),
            http: Some("200 text/event-stream".to_owned()),
            headers: Default::default(),
            body: (&json!("not JSON\u{1b}[2J at all")).into(),
            truncated: true,
        },
    ];
    case.stderr = "starting\npanicked at 'no'\n".to_owned();
    case.end = Some(CaseEnd {
        connections: vec![ConnectionEnd { at_us: 3_200_400, server: "main".to_owned(), event: "exit".to_owned() }],
        process: Some(ProcessEnd { code: Some(101), at_us: Some(3_201_000), ..ProcessEnd::default() }),
        descendants: vec![Descendant { pid: 4711, command: "server --stdio".to_owned(), left: true }],
        timed_out: false,
    });
    case
}

/// Latencies of so many milliseconds.
fn latency(millis: u64) -> Latency {
    let us = millis * 1_000;
    Latency {
        min_us: us / 2,
        mean_us: us as f64,
        p50_us: us,
        p90_us: us,
        p95_us: us,
        p99_us: us * 2,
        p999_us: us * 3,
        max_us: us * 3,
    }
}

pub(crate) fn load() -> LoadResult {
    LoadResult {
        name: "tools/call echo".to_owned(),
        transport: "streamable-http".to_owned(),
        shape: "open loop, 20/s".to_owned(),
        counted_ms: 10_000,
        offered: 200,
        sent: 198,
        succeeded: 190,
        errors: BTreeMap::from([("timeout".to_owned(), 7), ("http 503".to_owned(), 1)]),
        unfinished: 2,
        offered_rate: 20.0,
        achieved_rate: 19.0,
        latency: Some(Latency {
            min_us: 812,
            mean_us: 1_530.5,
            p50_us: 1_400,
            p90_us: 2_100,
            p95_us: 2_900,
            p99_us: 14_000,
            p999_us: 1_250_000,
            max_us: 1_300_000,
        }),
        thresholds: vec![
            ThresholdResult { threshold: "p95 < 5ms".to_owned(), measured: "2.9 ms".to_owned(), passed: true },
            ThresholdResult { threshold: "errors < 1%".to_owned(), measured: "4.0 %".to_owned(), passed: false },
        ],
        warnings: vec!["2 calls of 200 were not sent in time: the workbench itself may be the limit".to_owned()],
        driver: "raw".to_owned(),
        uncorrected: None,
        notifications: Some(NotificationResult { count: 412, calls: 190, first: latency(3), longest_gap: latency(40) }),
        error_samples: BTreeMap::from([(
            "http 503".to_owned(),
            ErrorSample { at_ms: 4_200, text: "HTTP 503".to_owned(), frame: Some("<h1>\u{1b}[31mno</h1>".to_owned()) },
        )]),
        bytes_sent: 28_000,
        bytes_received: 37_000,
        generator: Some(Generator { threads: 2, cpu_percent: 12.5, saturated: false, lag_max_us: 210 }),
        interval_ms: 1_000,
        series: vec![LoadPoint {
            at_ms: 0,
            sent: 20,
            succeeded: 19,
            errors: 1,
            p50_us: Some(1_400),
            p99_us: Some(2_100),
            max_us: Some(2_100),
            rss_kb: Some(51_200),
            cpu_ms: Some(125),
            fds: Some(21),
            threads: Some(4),
        }],
        histogram: vec![HistogramBucket(812, 1), HistogramBucket(1_400, 189)],
        process: Some(ProcessUsage {
            samples: 10,
            processes_max: 2,
            rss_first_kb: 51_200,
            rss_last_kb: 53_248,
            rss_max_kb: 53_300,
            rss_growth: Some(Estimate { value: 14_000_000.0, low: 12_500_000.0, high: 15_200_000.0 }),
            cpu_percent: 12.5,
            fds_first: Some(21),
            fds_last: Some(23),
            threads_max: 4,
        }),
        operations: Vec::new(),
    }
}

/// A load of two operations, one of which has no latencies.
pub(crate) fn mix() -> LoadResult {
    let load = load();
    let operation = |name: &str, succeeded| OperationResult {
        name: name.to_owned(),
        sent: succeeded,
        succeeded,
        errors: BTreeMap::new(),
        unfinished: 0,
        rate: succeeded as f64 / 10.0,
        latency: None,
        histogram: Vec::new(),
    };
    let echo = OperationResult {
        sent: 158,
        errors: load.errors.iter().take(1).map(|(kind, _)| (kind.clone(), 7)).collect(),
        unfinished: 1,
        latency: load.latency,
        histogram: vec![HistogramBucket(812, 1), HistogramBucket(1_400, 149)],
        ..operation("echo", 150)
    };
    LoadResult { name: "8:echo, 2:tools/list".to_owned(), operations: vec![echo, operation("tools/list", 40)], ..load }
}

/// A run with every verdict, a load test, a baseline and an interruption.
pub(crate) fn everything() -> Run {
    let mut known = case("auth/refresh-once", Verdict::Failed);
    known.checks[0].id = "refreshes-once".to_owned();
    let mut blocked = case("transport/reconnects", Verdict::Blocked);
    blocked.stderr = "cannot bind\n".to_owned();
    let mut run = run(vec![
        case("tools/lists-all-pages", Verdict::Passed),
        failed(),
        case("tools/keeps-order", Verdict::Warned),
        case("sampling/answers", Verdict::Skipped),
        blocked,
        known.clone(),
    ]);
    run.loads = vec![load()];
    run.baseline = Some(BaselineState { known: vec![known.id], stale: vec!["tools/gone@stdio@2025-11-25".to_owned()] });
    run.header.planned = 8;
    run.complete = false;
    run
}
