//! `bench_server`: a short load on a tool of a server.

use std::{fmt::Write as _, num::NonZeroUsize, time::Duration};

use mock_servers::Period;
use reports::{
    journal::Line,
    model::{LoadResult, RunKind},
};
use scenarios::{
    bench::Progress,
    model::{Closed, Load, Open, Shape},
    run::{fresh_seed, load_case::load_server},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::{Call, Output, journal::Journal, target::Target};
use crate::{trouble::Trouble, workbench::Limits};

pub(super) const WORDS: (&str, &str, &str) = (
    "bench_server",
    "Put a load on a server",
    "Calls one tool of a server again and again for some seconds, by users that wait for their answers or at a fixed rate, and \
     gives rates, errors and latencies (which count from when a call was due), with warnings where the figures are less than they \
     seem. The tool is really called: choose one without effects that last.",
);

/// The load.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Arguments {
    /// The server.
    server: Target,
    /// The tool to call.
    tool: String,
    /// Its arguments.
    #[serde(default)]
    arguments: Option<Map<String, Value>>,
    /// So many users, each calling again when answered; absent: 1. Either this or `rate`.
    #[serde(default)]
    users: Option<NonZeroUsize>,
    /// So many calls a second, whatever becomes of them. Either this or `users`.
    #[serde(default)]
    rate: Option<f64>,
    /// For how long calls are counted (`5s`, which is the default).
    #[serde(default)]
    duration: Option<Period>,
    /// For how long calls are made before they count (`1s`, which is the default).
    #[serde(default)]
    warmup: Option<Period>,
    /// How long one call may take (`10s`, which is the default).
    #[serde(default)]
    timeout: Option<Period>,
    /// How many connections; absent: as many as suit the load and the transport.
    #[serde(default)]
    connections: Option<NonZeroUsize>,
    /// What must hold: `p99 < 50ms`, `error_rate <= 1%`, `achieved_rate >= 100/s`.
    #[serde(default)]
    thresholds: Vec<String>,
}

/// How a load ended.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Measured {
    /// Whether at least one call succeeded, and every threshold held.
    held: bool,
    /// The figures.
    load: LoadResult,
    /// The file that holds them too.
    journal: String,
}

pub(super) async fn bench_server(call: Call, arguments: Arguments) -> Result<Measured, Trouble> {
    let limits = *call.workbench.limits();
    let load = load(&arguments, &limits)?;
    let config = arguments.server.config("bench", call.workbench.settings())?;
    let connections = arguments.connections.map(NonZeroUsize::get);
    call.run(measured(&call, &load, &config, connections, arguments.server.subject())).await
}

async fn measured(
    call: &Call,
    load: &Load,
    config: &client::ServerConfig,
    connections: Option<usize>,
    subject: String,
) -> Result<Measured, Trouble> {
    let runs = &call.workbench.settings().runs;
    let (_, mut journal) = Journal::begin(runs, RunKind::Bench, subject, fresh_seed(), 1)?;
    let Period(counted) = load.duration;
    let whole = counted + load.warmup.unwrap_or_default().0;
    let teller = call.teller.clone();
    let tell = move |progress: Progress| {
        let Progress { elapsed, done, errors, in_flight, .. } = progress;
        let words = format!("{done} calls answered, {errors} of them with errors, {in_flight} in flight");
        teller.say(elapsed.as_secs_f64().min(whole.as_secs_f64()), Some(whole.as_secs_f64()), words);
    };
    // Dropping the run ends the connections, and with them the calls: nobody waits for figures that nobody wants.
    let load = load_server(config, load, connections, tell, CancellationToken::new()).await?;
    journal.append(&Line::Load { result: Box::new(load.clone()) })?;
    let elapsed_ms = u64::try_from(whole.as_millis()).unwrap_or(u64::MAX);
    journal.append(&Line::End { elapsed_ms, baseline: None })?;
    Ok(Measured { held: load.held(), load, journal: journal.place() })
}

fn load(arguments: &Arguments, limits: &Limits) -> Result<Load, Trouble> {
    let duration = arguments.duration.unwrap_or(Period::from_millis(5_000));
    let warmup = arguments.warmup.unwrap_or(Period::from_millis(1_000));
    let timeout = arguments.timeout.unwrap_or(Period::from_millis(10_000));
    for (what, Period(asked)) in [("a duration", duration), ("a warm-up", warmup), ("a timeout", timeout)] {
        within(what, asked, limits.load)?;
    }
    let most = [("users", arguments.users), ("connections", arguments.connections)];
    for (what, asked) in most {
        if let Some(asked) = asked.filter(|asked| asked.get() > limits.users) {
            return Err(Trouble::over_limit(what, asked, limits.users));
        }
    }
    let shape = match (arguments.users, arguments.rate) {
        (Some(_), Some(_)) => return Err(Trouble::arguments("a load has `users` or a `rate`, not both")),
        (_, Some(rate)) if rate > limits.rate => return Err(Trouble::over_limit("a rate", rate, limits.rate)),
        (_, Some(rate)) => Shape::Open(Open { rate, max_in_flight: Some(limits.users) }),
        (users, None) => Shape::Closed(Closed { users: users.map_or(1, NonZeroUsize::get) }),
    };
    Ok(Load {
        tool: arguments.tool.clone(),
        arguments: arguments.arguments.clone(),
        shape,
        duration,
        warmup: Some(warmup),
        timeout: Some(timeout),
        thresholds: arguments.thresholds.clone(),
    })
}

fn within(what: &str, asked: Duration, limit: Duration) -> Result<(), Trouble> {
    if asked > limit { Err(Trouble::over_limit(what, Period(asked), Period(limit))) } else { Ok(()) }
}

impl Output for Measured {
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
        // A string takes everything that is written to it.
        if let Some(latency) = &load.latency {
            let ms = |us: u64| us as f64 / 1_000.0;
            let _ = writeln!(
                text,
                "latency: p50 {:.1} ms, p95 {:.1} ms, p99 {:.1} ms, at most {:.1} ms",
                ms(latency.p50_us),
                ms(latency.p95_us),
                ms(latency.p99_us),
                ms(latency.max_us)
            );
        }
        for (kind, count) in &load.errors {
            let _ = writeln!(text, "error {kind}: {count}");
        }
        for threshold in &load.thresholds {
            let word = if threshold.held { "held" } else { "BROKEN" };
            let _ = writeln!(text, "threshold {}: {word}, measured {}", threshold.threshold, threshold.measured);
        }
        for warning in &load.warnings {
            let _ = writeln!(text, "warning: {warning}");
        }
        let _ = write!(text, "journal: {}", self.journal);
        text
    }
}
