//! A measured client in a process of its own. It connects, reads a duration in milliseconds from each line of standard input,
//! calls for that time and prints a line with the measurement. It exits when its input closes.

mod builtin;
mod host;
mod hyper;
mod rmcp;

use std::{
    io::{self, BufRead as _, Write as _},
    process::ExitCode,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail};
use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::task::JoinSet;

use super::super::mock::{ARGUMENT, RESULT_TEXT, TOOL};
use crate::{
    error::{CommandError, CommandResult},
    interrupt,
};

/// The arguments of a caller.
#[derive(Debug, clap::Args)]
pub(crate) struct CallerArgs {
    /// Client to run.
    kind: Kind,
    /// Protocol revision.
    #[arg(long)]
    revision: String,
    /// URL of the server [default: a mock server over stdio].
    #[arg(long)]
    url: Option<String>,
    /// Number of calls in flight.
    #[arg(long)]
    in_flight: usize,
}

/// A measured client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Kind {
    /// The built-in client.
    Builtin,
    /// The host of an agent, which calls through the built-in client.
    Host,
    /// rmcp alone.
    Rmcp,
    /// hyper with constant requests, which parses the responses. No client can be much faster.
    Hyper,
}

impl Kind {
    pub(super) const ALL: [Self; 4] = [Self::Builtin, Self::Host, Self::Rmcp, Self::Hyper];

    /// Whether it supports HTTP (`true`) or stdio (`false`).
    pub(super) fn calls_over(self, http: bool) -> bool {
        http || self != Self::Hyper
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Builtin => "builtin",
            Self::Host => "host",
            Self::Rmcp => "rmcp",
            Self::Hyper => "hyper",
        }
    }
}

/// Measurement of one round.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Figures {
    /// Number of finished calls.
    pub(super) calls: u64,
    /// Duration of the round.
    pub(super) seconds: f64,
    /// CPU time of this process in microseconds.
    pub(super) cpu_us: f64,
}

/// A user of a client, which calls the tool and checks the result.
trait User: Send + 'static {
    fn call(&mut self) -> impl Future<Output = anyhow::Result<()>> + Send;
}

/// Calls until standard input closes.
pub(super) fn run(args: &CallerArgs) -> CommandResult {
    let runtime = interrupt::runtime()?;
    let outcome = runtime.block_on(async {
        match args.kind {
            Kind::Builtin => serve(builtin::users(args).await?).await,
            Kind::Host => serve(host::users(args).await?).await,
            Kind::Rmcp => serve(rmcp::users(args).await?).await,
            Kind::Hyper => serve(hyper::users(args).await?).await,
        }
    });
    outcome.map_err(CommandError::environment)?;
    Ok(ExitCode::SUCCESS)
}

async fn serve<U: User>(mut users: Vec<U>) -> anyhow::Result<()> {
    loop {
        let line = tokio::task::spawn_blocking(|| {
            let mut line = String::new();
            io::stdin().lock().read_line(&mut line).map(|_| line)
        });
        let line = line.await?.context("standard input cannot be read")?;
        if line.is_empty() {
            return Ok(());
        }
        let each = Duration::from_millis(line.trim().parse().context("not a number of milliseconds")?);
        let figures;
        (users, figures) = call(users, each).await?;
        writeln!(io::stdout(), "{}", serde_json::to_string(&figures)?)?;
    }
}

/// Calls for this time, after a warm-up of a fifth of it.
async fn call<U: User>(users: Vec<U>, each: Duration) -> anyhow::Result<(Vec<U>, Figures)> {
    let (stop, made) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let mut tasks = JoinSet::new();
    for mut user in users {
        let (stop, made) = (Arc::clone(&stop), Arc::clone(&made));
        tasks.spawn(async move {
            while !stop.load(Ordering::Relaxed) {
                user.call().await?;
                made.fetch_add(1, Ordering::Relaxed);
            }
            anyhow::Ok(user)
        });
    }
    tokio::time::sleep(each / 5).await;
    let (before, start, spent) = (made.load(Ordering::Relaxed), Instant::now(), processor_time()?);
    tokio::time::sleep(each).await;
    let figures = Figures {
        calls: made.load(Ordering::Relaxed) - before,
        seconds: start.elapsed().as_secs_f64(),
        cpu_us: (processor_time()? - spent).as_secs_f64() * 1e6,
    };
    stop.store(true, Ordering::Relaxed);
    let mut users = Vec::new();
    while let Some(user) = tasks.join_next().await {
        users.push(user??);
    }
    Ok((users, figures))
}

/// CPU time of this process so far, in user and system mode.
fn processor_time() -> anyhow::Result<Duration> {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::try_from(time).context("the CPU time is negative")
}

/// Arguments of each call.
fn arguments() -> Value {
    serde_json::json!({ ARGUMENT.0: ARGUMENT.1 })
}

/// Fails unless the text is the expected result for [`arguments`].
fn check_text(text: Option<&str>) -> anyhow::Result<()> {
    if text != Some(RESULT_TEXT) {
        bail!("the result of `{TOOL}` is {text:?}");
    }
    Ok(())
}
