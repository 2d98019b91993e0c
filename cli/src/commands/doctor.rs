//! `doctor`: what this machine and the configuration allow, and what is missing.

use std::{
    env,
    io::Read as _,
    net::TcpListener,
    process::{Command, ExitCode, Stdio},
    time::{Duration, Instant},
};

use agent::config::Configuration;
use client::{
    auth::store::open_default,
    process::{Coverage, coverage},
};
use serde::Serialize;

use crate::{
    commands::client::{config::Files, error::ClientCommandError},
    error::{CommandResult, ENVIRONMENT},
    print, system,
};

/// Programs that start most servers.
const PROGRAMS: [&str; 5] = ["node", "npx", "python3", "uvx", "docker"];
/// How long a program may take to print its version.
const VERSION_TIMEOUT: Duration = Duration::from_secs(5);
/// Number of descriptors below which a load test with many connections fails.
const FEW_DESCRIPTORS: u64 = 4_096;

/// The arguments of `doctor`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    files: Files,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// One finding.
#[derive(Debug, Serialize)]
struct Finding {
    /// The subject.
    name: &'static str,
    state: State,
    /// What was found.
    found: String,
    /// The remedy.
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<&'static str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum State {
    Ok,
    /// Something optional is missing.
    Note,
    /// Most commands do not work.
    Failed,
}

impl Finding {
    fn ok(name: &'static str, found: impl Into<String>) -> Self {
        Self { name, state: State::Ok, found: found.into(), help: None }
    }

    fn note(name: &'static str, found: impl Into<String>, help: &'static str) -> Self {
        Self { name, state: State::Note, found: found.into(), help: Some(help) }
    }

    fn failed(name: &'static str, found: impl Into<String>, help: &'static str) -> Self {
        Self { name, state: State::Failed, found: found.into(), help: Some(help) }
    }
}

/// Prints the findings. Exit code 3 if most commands do not work.
pub(crate) fn run(args: &Args) -> CommandResult {
    let loaded = args.files.load().map_err(ClientCommandError::into_inner)?;
    let mut findings = vec![build(), processes(), loopback(), descriptors(), store()];
    findings.extend(configuration(&loaded));
    findings.push(proxies());
    findings.extend(PROGRAMS.map(program));
    if args.json {
        print::pretty_json(&findings)?;
    } else {
        for Finding { name, state, found, help } in &findings {
            let word = match state {
                State::Ok => "ok",
                State::Note => "note",
                State::Failed => "failed",
            };
            print::text(&format!("{word:<7} {name:<14} {found}"))?;
            if let Some(help) = help {
                print::text(&format!("{:<22} {help}", ""))?;
            }
        }
    }
    let failed = findings.iter().any(|finding| finding.state == State::Failed);
    Ok(if failed { ExitCode::from(ENVIRONMENT) } else { ExitCode::SUCCESS })
}

fn build() -> Finding {
    let version = env!("CARGO_PKG_VERSION");
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let found = format!("{version}, {} on {}, {cores} cores", env::consts::OS, env::consts::ARCH);
    match cfg!(debug_assertions) {
        true => Finding::note("program", format!("{found}, debug build"), "measure load with a release build"),
        false => Finding::ok("program", found),
    }
}

/// Servers over stdio are stopped with all of their processes, as far as the system allows. On Linux this needs `/proc` and
/// pidfds.
fn processes() -> Finding {
    let help = "servers over stdio cannot be stopped reliably; mount /proc, and use Linux 5.3 or newer";
    match coverage() {
        Coverage::Complete(means) => Finding::ok("processes", means),
        Coverage::Partial { covered, missing } => Finding::note("processes", covered, missing),
        Coverage::Unavailable(reason) => Finding::failed("processes", reason, help),
    }
}

/// Mock servers listen on it.
fn loopback() -> Finding {
    let bound = |address: &str| TcpListener::bind((address, 0));
    match (bound("127.0.0.1"), bound("::1")) {
        (Ok(_), Ok(_)) => Finding::ok("loopback", "127.0.0.1 and ::1"),
        (Ok(_), Err(_)) => Finding::ok("loopback", "127.0.0.1, without IPv6"),
        (Err(error), _) => {
            Finding::failed("loopback", format!("cannot listen on 127.0.0.1: {error}"), "mock servers listen on it")
        }
    }
}

fn descriptors() -> Finding {
    let limit = system::descriptor_limit();
    let found = limit.map_or("any number".to_owned(), |limit| format!("at most {limit}"));
    match limit {
        Some(limit) if limit < FEW_DESCRIPTORS => {
            Finding::note("descriptors", found, "`ulimit -n 65536` allows load tests with thousands of connections")
        }
        _ => Finding::ok("descriptors", found),
    }
}

fn store() -> Finding {
    match open_default() {
        Ok(store) => Finding::ok("credentials", store.describe()),
        Err(error) => Finding::note("credentials", error.to_string(), "logins cannot be stored"),
    }
}

fn configuration(configuration: &Configuration) -> Vec<Finding> {
    let help = "correct the file; `client list` shows where each server comes from";
    let servers = configuration.servers.iter().map(|server| server.name.as_str()).collect::<Vec<_>>();
    let found = match servers.as_slice() {
        [] => "no servers; `client add` and `client import` configure them".to_owned(),
        servers => format!("{} servers: {}", servers.len(), servers.join(", ")),
    };
    let problems =
        configuration.all_problems().map(|problem| Finding::note("configuration", problem.to_string(), help));
    std::iter::once(Finding::ok("configuration", found)).chain(problems).collect()
}

/// A proxy for 127.0.0.1 is a frequent reason why a local server cannot be reached.
fn proxies() -> Finding {
    let names = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"];
    let set: Vec<&str> =
        names.into_iter().filter(|name| env::var_os(name).is_some_and(|value| !value.is_empty())).collect();
    let excluded = ["NO_PROXY", "no_proxy"].iter().filter_map(|name| env::var(name).ok());
    let is_local = excluded.flat_map(|list| list.split(',').map(|one| one.trim().to_owned()).collect::<Vec<_>>());
    let is_local = is_local.into_iter().any(|one| one == "*" || one == "localhost" || one.starts_with("127."));
    match set.as_slice() {
        [] => Finding::ok("proxies", "none"),
        set if is_local => Finding::ok("proxies", format!("{}, not for this machine", set.join(", "))),
        set => Finding::note(
            "proxies",
            set.join(", "),
            "requests to servers on this machine go through the proxy too; set NO_PROXY=127.0.0.1,localhost",
        ),
    }
}

fn program(name: &'static str) -> Finding {
    match version(name) {
        Some(version) => Finding::ok(name, version),
        None => Finding::note(name, "not found", "servers that need it cannot be started"),
    }
}

/// The first line of `--version`; `None` if the program cannot be started, fails or takes too long.
fn version(name: &str) -> Option<String> {
    let mut child = Command::new(name)
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let begun = Instant::now();
    let status = loop {
        match child.try_wait().ok()? {
            Some(status) => break status,
            None if begun.elapsed() > VERSION_TIMEOUT => {
                // It may have exited in the meantime.
                let _ = child.kill();
                child.wait().ok()?;
                return None;
            }
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    };
    let mut text = String::new();
    child.stdout.take()?.take(1_000).read_to_string(&mut text).ok()?;
    let line = text.lines().next().unwrap_or_default().trim().to_owned();
    (status.success() && !line.is_empty()).then_some(line)
}
