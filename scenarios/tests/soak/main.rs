//! The client against servers with every fault at once, each on one message in a hundred: nothing hangs, nothing panics,
//! nothing stays behind, and each call ends, with its own result or a typed error, within its limit.
//!
//! Ten seconds, or as long as `MCP_WORKBENCH_SOAK` says: `10m`, say. Some fault must have acted, and from a minute on each.

#![expect(clippy::unwrap_used, reason = "a test fails where something is missing")]
#![expect(clippy::print_stdout, reason = "what the calls came to is for people to read")]

mod books;
mod faults;
mod servers;

use std::{
    path::Path,
    process::ExitCode,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use books::{Belongings, Panics, Tally};
use client::{
    CallOptions, Connection, Endpoint, Era, Revision, RevisionChoice, ServerConfig, ShutdownGracePeriods, connect,
};
use faults::ServerTransport;
use libtest_mimic::{Arguments, Trial};
use mock_servers::HumanDuration;
use serde_json::json;
use servers::{Acts, Phoenix};
use tokio_util::sync::CancellationToken;

/// How long in CI.
const CI: Duration = Duration::from_secs(10);
/// From here on a fault that never acted is a mistake of this test, and memory has had its time to settle.
const LONG: Duration = Duration::from_secs(60);
/// How many callers use a connection at the same time, and how often each before there is another connection.
const CALLERS: usize = 8;
const CALLS: usize = 25;
/// What a call may take by its options.
const CALL_LIMIT: Duration = Duration::from_millis(500);
/// Whatever takes longer than this hangs.
const HANG_TIMEOUT: Duration = Duration::from_secs(20);
/// Every so many calls one is given up by its caller, after this time.
const GIVEN_UP: usize = 16;
const INTEREST: Duration = Duration::from_millis(3);
/// By how much memory may grow from the end of the first part to the end: it is what allocators keep.
const GROWTH_KB: u64 = 64 * 1024;

/// How servers are reached.
#[derive(Debug, Clone, Copy)]
struct Variant {
    name: &'static str,
    transport: ServerTransport,
    revision: Revision,
}

const VARIANTS: [Variant; 5] = [
    Variant { name: "Streamable HTTP, 2025-11-25", transport: ServerTransport::Http, revision: Revision::V2025_11_25 },
    Variant { name: "Streamable HTTP, 2026-07-28", transport: ServerTransport::Http, revision: Revision::V2026_07_28 },
    Variant { name: "HTTP+SSE, 2024-11-05", transport: ServerTransport::Sse, revision: Revision::V2024_11_05 },
    Variant { name: "stdio, 2025-11-25", transport: ServerTransport::Stdio, revision: Revision::V2025_11_25 },
    Variant { name: "stdio, 2026-07-28", transport: ServerTransport::Stdio, revision: Revision::V2026_07_28 },
];

fn main() -> ExitCode {
    if let Some(code) = client::process::supervisor::main_if_requested() {
        return code;
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let Some(code) = servers::play(&arguments) {
        return code;
    }
    let tests = vec![
        Trial::test("every_fault_is_on", || {
            faults::every_fault_is_on();
            Ok(())
        }),
        Trial::test("every_call_ends_in_time_whatever_a_server_does", || {
            tokio::runtime::Builder::new_multi_thread()
                .worker_threads(2)
                .enable_all()
                .build()?
                .block_on(Box::pin(soak()));
            Ok(())
        }),
    ];
    libtest_mimic::run(&Arguments::from_args(), tests).exit_code()
}

async fn soak() {
    let length = std::env::var("MCP_WORKBENCH_SOAK").map_or(CI, |length| length.parse::<HumanDuration>().unwrap().0);
    let folder = tempfile::tempdir().unwrap();
    let mark = format!("soak-{}-", std::process::id());
    Panics::watch();
    let (before, begun) = (Belongings::now(), Instant::now());
    let (stall, early) = (Mutex::new(Duration::ZERO), AtomicU64::new(0));
    let variants = futures::future::join_all(
        VARIANTS.map(|variant| Box::pin(over(variant, begun + length, &mark, folder.path()))),
    );
    let watched = async {
        tokio::time::sleep(length / 4).await;
        early.store(Belongings::now().kilobytes, Ordering::Relaxed);
        std::future::pending::<()>().await;
    };
    let variants = tokio::select! {
        variants = variants => variants,
        () = watched => unreachable!(),
        () = books::watch_stalls(&stall) => unreachable!(),
    };
    let after = Belongings::settled(before).await;
    let mut wrong = Vec::new();
    for (variant, tally, acts) in variants {
        let (summary, found) = tally.summary(variant.name, *stall.lock().unwrap());
        println!("{summary}  faults that acted: {acts:?}");
        wrong.extend(found);
        let never: Vec<_> =
            faults::names(variant).into_iter().filter(|name| acts.get(name).is_none_or(|acts| *acts == 0)).collect();
        if acts.values().all(|acts| *acts == 0) || length >= LONG && !never.is_empty() {
            wrong.push(format!("{}: faults that never acted: {never:?}", variant.name));
        }
    }
    println!("{length:?}: before {before:?}, after {after:?}, held up by {stall:?}, {} panics", Panics::so_far());
    let more = after.descriptors > before.descriptors || after.tasks > before.tasks || after.children > before.children;
    if more {
        wrong.push(format!("something stays behind: before {before:?}, after {after:?}"));
    }
    let growth = after.kilobytes.saturating_sub(early.into_inner());
    if length >= LONG && growth > GROWTH_KB {
        wrong.push(format!("memory grows by {growth} kB"));
    }
    wrong.extend(books::alive(&mark).into_iter().map(|line| format!("a process stays behind: {line}")));
    if Panics::so_far() > 0 {
        wrong.push(format!("{} panics", Panics::so_far()));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// One variant until the time is over: what came of it, and how often each fault acted.
async fn over(variant: Variant, until: Instant, mark: &str, folder: &Path) -> (Variant, Tally, Acts) {
    let tally = Tally::default();
    if variant.transport == ServerTransport::Stdio {
        let file = folder.join(variant.revision.to_string());
        let mark = format!("{mark}{}", variant.revision);
        connections(variant, until, &tally, |number| servers::program(variant, &mark, number, &file)).await;
        return (variant, tally, servers::acts_in(&file));
    }
    let mut phoenix = Phoenix::rise(variant).await;
    let (endpoint, over) = (phoenix.endpoint(), CancellationToken::new());
    let calling = async {
        connections(variant, until, &tally, |_| endpoint.clone()).await;
        over.cancel();
    };
    tokio::join!(calling, phoenix.live(over.clone()));
    tally.count("server", &format!("died {} times", phoenix.deaths), Duration::ZERO);
    (variant, tally, phoenix.end().await)
}

/// One connection after the other.
async fn connections(variant: Variant, until: Instant, tally: &Tally, endpoint: impl Fn(u64) -> Endpoint) {
    for number in 1.. {
        if Instant::now() > until {
            break;
        }
        let begun = Instant::now();
        let Ok(connected) =
            tokio::time::timeout(HANG_TIMEOUT, connect(config(variant, number, endpoint(number)))).await
        else {
            tally.wrong("a start hangs");
            continue;
        };
        tally.count("connect", connected.as_ref().map_or_else(|error| error.kind(), |_| "ok"), begun.elapsed());
        let Ok(connection) = connected else { continue };
        list(&connection, tally).await;
        futures::future::join_all((0..CALLERS).map(|caller| Box::pin(calls(&connection, caller, until, tally)))).await;
        look_for_leftovers(&connection, tally).await;
        close(&connection, tally).await;
    }
    // If nothing goes well, nothing is shown.
    if tally.how_often("call: ok") == 0 {
        tally.wrong("no call succeeds");
    }
}

fn config(variant: Variant, number: u64, endpoint: Endpoint) -> ServerConfig {
    let mut config = ServerConfig::new("soaked", endpoint);
    // Every other time the era has to be found out.
    if number.is_multiple_of(2) {
        config.protocol = RevisionChoice::Pinned(variant.revision);
    }
    config.limits.message_bytes = 100_000;
    config.timeouts.startup = Duration::from_secs(2);
    config.timeouts.request = Duration::from_secs(1);
    config.shutdown =
        ShutdownGracePeriods { stdin_close: Duration::from_millis(300), sigterm: Duration::from_millis(300) };
    config
}

async fn list(connection: &Connection, tally: &Tally) {
    let begun = Instant::now();
    let outcome = match tokio::time::timeout(HANG_TIMEOUT, connection.list_tools()).await {
        Ok(Ok(_)) => "ok",
        Ok(Err(error)) => error.kind(),
        Err(_) => return tally.wrong("a list hangs"),
    };
    tally.count("list", outcome, begun.elapsed());
}

/// What one caller does with a connection.
async fn calls(connection: &Connection, caller: usize, until: Instant, tally: &Tally) {
    for number in 0..CALLS {
        if connection.is_closed() || Instant::now() > until {
            return;
        }
        let begun = Instant::now();
        let text = format!("{caller}/{number}");
        let options = CallOptions { timeout: Some(CALL_LIMIT), reset_on_progress: false, ..CallOptions::default() };
        let called = connection.call("echo", json!({ "text": text }), options);
        if (caller + number).is_multiple_of(GIVEN_UP) {
            let given_up = tokio::time::timeout(INTEREST, called).await.is_err();
            tally.count("call that is soon given up", if given_up { "given up" } else { "ended" }, begun.elapsed());
            continue;
        }
        let outcome = match tokio::time::timeout(HANG_TIMEOUT, called).await {
            Ok(Ok(result)) if result.is_error() => "tool-error",
            Ok(Ok(result)) => {
                // A fault may have spoilt the text, but it is never that of another call.
                if result.text() != text && !result.text().contains(char::REPLACEMENT_CHARACTER) {
                    tally.wrong(format!("`{text}` was answered with `{}`", result.text()));
                }
                "ok"
            }
            Ok(Err(error)) => error.kind(),
            Err(_) => return tally.wrong("a call hangs"),
        };
        tally.count("call", outcome, begun.elapsed());
    }
}

/// Nobody waits for anything any more, so nothing may be kept for anybody, but for the subscription to changes.
async fn look_for_leftovers(connection: &Connection, tally: &Tally) {
    let allowed = if connection.era() == Era::Modern { 1 } else { 0 };
    let begun = Instant::now();
    while connection.requests_under_way() > allowed && !connection.is_closed() {
        if begun.elapsed() > HANG_TIMEOUT {
            return tally.wrong(format!("{} requests stay in the books", connection.requests_under_way()));
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    tally.count("books", "empty", begun.elapsed());
}

async fn close(connection: &Connection, tally: &Tally) {
    let begun = Instant::now();
    let Ok(report) = tokio::time::timeout(HANG_TIMEOUT, connection.close()).await else {
        return tally.wrong("a close hangs");
    };
    let outcome = match report.process {
        Some(process) => format!("process {:?}", process.ending),
        None if report.transport_closed => "ok".to_owned(),
        None => "transport not closed in time".to_owned(),
    };
    tally.count("close", &outcome, begun.elapsed());
}
