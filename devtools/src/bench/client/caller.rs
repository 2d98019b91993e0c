//! One of the clients that are measured, in a process of its own: it connects, and then calls for as long as each line of its
//! standard input says (milliseconds), answering each with a line of figures. It ends when its input does.

mod bare;
mod builtin;
mod sdk;

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

use super::super::mock::{ANSWER, ARGUMENT, TOOL};
use crate::{
    error::{CommandError, CommandResult},
    interrupt,
};

/// The arguments of a caller.
#[derive(Debug, clap::Args)]
pub(crate) struct CallerArgs {
    /// Which client.
    kind: Kind,
    /// The revision to speak.
    #[arg(long)]
    revision: String,
    /// The server's URL; without it a mock server is started and spoken to over stdio.
    #[arg(long)]
    url: Option<String>,
    /// How many calls to keep in flight.
    #[arg(long)]
    in_flight: usize,
}

/// A client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Kind {
    /// The one of this program.
    Builtin,
    /// rmcp with nothing around it.
    Rmcp,
    /// hyper, sending the same bytes each time and parsing what comes back: no client can be much faster.
    Hyper,
}

impl Kind {
    pub(super) const ALL: [Self; 3] = [Self::Builtin, Self::Rmcp, Self::Hyper];

    /// Whether it can call over HTTP, or else over stdio.
    pub(super) fn calls_over(self, http: bool) -> bool {
        http || self != Self::Hyper
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Builtin => "builtin",
            Self::Rmcp => "rmcp",
            Self::Hyper => "hyper",
        }
    }
}

/// What came of one stretch of time.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Figures {
    /// How many calls were answered.
    pub(super) calls: u64,
    /// In how long.
    pub(super) seconds: f64,
    /// The processor time that this process took for them, in microseconds.
    pub(super) cpu_us: f64,
}

/// One user of a client: it calls the tool and looks whether the answer is right.
trait User: Send + 'static {
    fn call(&mut self) -> impl Future<Output = anyhow::Result<()>> + Send;
}

/// Calls until standard input ends.
pub(super) fn run(args: &CallerArgs) -> CommandResult {
    let runtime = interrupt::runtime()?;
    let outcome = runtime.block_on(async {
        match args.kind {
            Kind::Builtin => serve(builtin::users(args).await?).await,
            Kind::Rmcp => serve(sdk::users(args).await?).await,
            Kind::Hyper => serve(bare::users(args).await?).await,
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

/// Calls for this time, after a fifth of it that does not count.
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
    let (before, began, spent) = (made.load(Ordering::Relaxed), Instant::now(), processor_time()?);
    tokio::time::sleep(each).await;
    let figures = Figures {
        calls: made.load(Ordering::Relaxed) - before,
        seconds: began.elapsed().as_secs_f64(),
        cpu_us: (processor_time()? - spent).as_secs_f64() * 1e6,
    };
    stop.store(true, Ordering::Relaxed);
    let mut users = Vec::new();
    while let Some(user) = tasks.join_next().await {
        users.push(user??);
    }
    Ok((users, figures))
}

/// What this process has taken so far, in user and in system mode.
fn processor_time() -> anyhow::Result<Duration> {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::try_from(time).context("the processor time is no time")
}

/// The arguments of each call.
fn arguments() -> Value {
    serde_json::json!({ ARGUMENT.0: ARGUMENT.1 })
}

/// Fails unless the text is what the tool says to [`arguments`].
fn must_be_the_answer(text: Option<&str>) -> anyhow::Result<()> {
    if text != Some(ANSWER) {
        bail!("the answer to `{TOOL}` is {text:?}");
    }
    Ok(())
}
