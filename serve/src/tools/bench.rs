//! `bench_server`: runs a short load test on a tool of a server.

use std::{fmt::Write as _, num::NonZeroUsize, time::Duration};

use mock_servers::HumanDuration;
use reports::model::LoadResult;
use scenarios::{
    model::{Closed, Load, Open, Shape},
    run::{BenchPlan, LoadTask, RunPlan, fresh_seed},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    Call, Output,
    run::{ReportFormat, execute, write_reports},
    target::Target,
};
use crate::{error::ToolError, workbench::Limits};

pub(super) const METADATA: (&str, &str, &str) = (
    "bench_server",
    "Load-test a server",
    "Calls one tool of a server repeatedly for some seconds, with concurrent users or at a fixed rate. Returns rates, errors and \
     latencies, which are measured from the scheduled send time, and warnings about limitations of the measurement. Choose a tool \
     without lasting effects, because it is really called.",
);

/// Server, tool and load.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Arguments {
    /// The server.
    server: Target,
    /// Tool to call.
    tool: String,
    /// Arguments of the tool.
    #[serde(default)]
    arguments: Option<Map<String, Value>>,
    /// Closed loop: number of concurrent users. Default: 1. Excludes `rate`.
    #[serde(default)]
    users: Option<NonZeroUsize>,
    /// Open loop: calls per second. Excludes `users`.
    #[serde(default)]
    rate: Option<f64>,
    /// Duration of the measurement. Default: `5s`.
    #[serde(default)]
    duration: Option<HumanDuration>,
    /// Duration of the warm-up, which is not measured. Default: `1s`.
    #[serde(default)]
    warmup: Option<HumanDuration>,
    /// Timeout of a call. Default: `10s`.
    #[serde(default)]
    timeout: Option<HumanDuration>,
    /// Number of connections. Default: depends on the load and the transport.
    #[serde(default)]
    connections: Option<NonZeroUsize>,
    /// Pass/fail thresholds: `p99 < 50ms`, `error_rate <= 1%`, `achieved_rate >= 100/s`.
    #[serde(default)]
    thresholds: Vec<String>,
    /// Report formats to write next to the journal.
    #[serde(default)]
    reports: Vec<ReportFormat>,
}

/// Result of a load test.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct LoadReport {
    /// Whether at least one call succeeded and all thresholds passed.
    passed: bool,
    /// The measurements.
    load: LoadResult,
    /// The journal, if it could be written.
    #[serde(skip_serializing_if = "Option::is_none")]
    journal: Option<String>,
    /// The written reports.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    reports: Vec<String>,
}

pub(super) async fn bench_server(call: Call, arguments: Arguments) -> Result<LoadReport, ToolError> {
    let load = load(&arguments, call.workbench.limits())?;
    let config = arguments.server.config("bench", call.workbench.settings())?;
    let plan = BenchPlan {
        subject: arguments.server.subject(),
        seed: fresh_seed(),
        program: call.workbench.settings().program.clone(),
        connections: arguments.connections.map(NonZeroUsize::get),
        pid: None,
        abort: false,
        baseline: None,
        loads: vec![LoadTask::Server(Box::new(config), load)],
    };
    let finished = execute(&call, RunPlan::Bench(plan)).await?;
    let reports = write_reports(&finished.run, &arguments.reports, finished.journal.as_deref())?;
    let journal = finished.journal.map(|path| path.display().to_string());
    let load = finished.run.loads.into_iter().next().ok_or_else(|| ToolError::new("internal", "no load test ran"))?;
    Ok(LoadReport { passed: load.passed(), load, journal, reports })
}

fn load(arguments: &Arguments, limits: &Limits) -> Result<Load, ToolError> {
    let duration = arguments.duration.unwrap_or(HumanDuration::from_millis(5_000));
    let warmup = arguments.warmup.unwrap_or(HumanDuration::from_millis(1_000));
    let timeout = arguments.timeout.unwrap_or(HumanDuration::from_millis(10_000));
    for (what, HumanDuration(value)) in [("a duration", duration), ("a warm-up", warmup), ("a timeout", timeout)] {
        check_limit(what, value, limits.load)?;
    }
    let limited = [("users", arguments.users), ("connections", arguments.connections)];
    for (what, count) in limited {
        if let Some(count) = count.filter(|count| count.get() > limits.users) {
            return Err(ToolError::over_limit(what, count, limits.users));
        }
    }
    let shape = match (arguments.users, arguments.rate) {
        (Some(_), Some(_)) => {
            return Err(ToolError::arguments("`users` and `rate` exclude each other; remove one of them, not both"));
        }
        (_, Some(rate)) if rate > limits.rate => return Err(ToolError::over_limit("a rate", rate, limits.rate)),
        (_, Some(rate)) => Shape::Open(Open { rate: Some(rate), max_in_flight: Some(limits.users), ..Open::default() }),
        (users, None) => Shape::Closed(Closed::new(users.map_or(1, NonZeroUsize::get))),
    };
    Ok(Load {
        arguments: arguments.arguments.clone(),
        warmup: Some(warmup),
        timeout: Some(timeout),
        thresholds: arguments.thresholds.clone(),
        ..Load::new(arguments.tool.clone(), shape, duration)
    })
}

fn check_limit(what: &str, value: Duration, limit: Duration) -> Result<(), ToolError> {
    if value > limit { Err(ToolError::over_limit(what, HumanDuration(value), HumanDuration(limit))) } else { Ok(()) }
}

impl Output for LoadReport {
    fn text(&self) -> String {
        let load = &self.load;
        let mut text = format!(
            "{}: {} over {}: {} calls succeeded ({:.1}/s), {} failed, {} unfinished\n",
            load.name,
            load.shape,
            load.transport,
            load.succeeded,
            load.achieved_rate,
            load.errors.values().sum::<u64>(),
            load.unfinished
        );
        // Writing to a string cannot fail.
        if let Some(latency) = &load.latency {
            let ms = |us: u64| us as f64 / 1_000.0;
            let _ = writeln!(
                text,
                "latency: p50 {:.1} ms, p95 {:.1} ms, p99 {:.1} ms, max {:.1} ms",
                ms(latency.p50_us),
                ms(latency.p95_us),
                ms(latency.p99_us),
                ms(latency.max_us)
            );
        }
        for (kind, count) in &load.errors {
            let sample = load.error_samples.get(kind).map(|sample| format!(" ({})", sample.text)).unwrap_or_default();
            let _ = writeln!(text, "error {kind}: {count}{sample}");
        }
        for threshold in &load.thresholds {
            let verdict = if threshold.passed { "passed" } else { "FAILED" };
            let _ = writeln!(text, "threshold {}: {verdict}, measured {}", threshold.threshold, threshold.measured);
        }
        for warning in &load.warnings {
            let _ = writeln!(text, "warning: {warning}");
        }
        for path in self.journal.iter().chain(&self.reports) {
            let _ = writeln!(text, "written: {path}");
        }
        text.trim_end().to_owned()
    }
}
