//! Starts and stops a server repeatedly, and checks for leaks.
//!
//! The cycles run in a separate process with its own descriptors, threads, children and memory.

use std::{
    fs,
    process::{Command, ExitCode, Stdio},
    time::{Duration, Instant},
};

use futures::StreamExt;
use mcp_workbench_client::{CallOptions, connect};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::kit::{self, ProcessMark};

/// Number of cycles in CI. The variable requests more: `MCP_WORKBENCH_CYCLES=10000`.
const CYCLES: u64 = 200;
/// Cycles before the first measurement, in which allocators, threads and pools grow.
const WARM_UP: u64 = 48;
const AT_ONCE: usize = 8;
/// Maximum time until a server is killed, about as long as a start.
const MAX_WAIT_MS: u64 = 80;

/// Runs the cycles in a separate process.
pub(crate) async fn leave_nothing_behind() {
    let mark = ProcessMark::new();
    let count = std::env::var("MCP_WORKBENCH_CYCLES").ok().and_then(|count| count.parse().ok()).unwrap_or(CYCLES);
    let mut command = Command::new(std::env::current_exe().unwrap());
    // glibc keeps up to 10 MB of freed memory in several arenas, depending on the order of the threads.
    command.env("MALLOC_ARENA_MAX", "1").env("MALLOC_TRIM_THRESHOLD_", "131072");
    let output = command.arg("cycles").arg(mark.word()).arg(count.to_string()).stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    print!("{said}");
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    kit::until_none_is_left(&mark).await;
}

/// The role of that process.
pub(crate) fn run(mark: &str, habits: &[String]) -> ExitCode {
    let count: u64 = habits.first().and_then(|count| count.parse().ok()).unwrap();
    let begun = Instant::now();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let all = async |from: u64, to: u64| {
            let cycles = (from..to).map(async |number| {
                let cycle = tokio::time::timeout(kit::LONG_TIMEOUT, cycle(format!("{mark}{number}-"), number));
                cycle.await.unwrap_or_else(|_| panic!("cycle {number} does not end"));
            });
            futures::stream::iter(cycles).buffer_unordered(AT_ONCE).collect::<()>().await;
            settled(mark).await
        };
        let before = all(0, WARM_UP).await;
        let after = all(WARM_UP, WARM_UP + count).await;
        println!("{count} cycles in {:?}: before {before:?}, after {after:?}", begun.elapsed());
        assert!(after.descriptors <= before.descriptors, "descriptors leak");
        assert!(after.threads <= before.threads + 2, "threads leak");
        assert!(after.kilobytes <= before.kilobytes + 2 * 1024, "memory grows");
    });
    ExitCode::SUCCESS
}

/// Resources of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Belongings {
    descriptors: usize,
    threads: usize,
    kilobytes: u64,
}

/// Measures after all processes of the cycles are reaped.
async fn settled(mark: &str) -> Belongings {
    kit::until_none_is_left(&ProcessMark::from_word(mark)).await;
    test_support::wait_until("no child process", || children().is_empty()).await;
    // The threads that watched the last processes end shortly after them.
    let entries = |directory: &str| fs::read_dir(directory).unwrap().count();
    let mut least = usize::MAX;
    for _ in 0..40 {
        least = least.min(entries("/proc/self/task"));
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    let kilobytes = resident.trim().trim_end_matches(" kB").parse().unwrap();
    Belongings { descriptors: entries("/proc/self/fd"), threads: least, kilobytes }
}

/// The ids of all children of this process, zombies included.
fn children() -> Vec<String> {
    let tasks = fs::read_dir("/proc/self/task").unwrap().flatten();
    let lists = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    lists.flat_map(|list| list.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).collect()
}

/// A pseudo-random number that is the same in each run (Knuth, TAOCP 2, 3.3.4).
fn jitter(number: u64, below: u64) -> u64 {
    (number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407) >> 33) % below
}

async fn cycle(mark: String, number: u64) {
    let config = kit::config_of(&mark, &[]);
    let wait = Duration::from_millis(jitter(number, MAX_WAIT_MS));
    match number % 3 {
        // Killed at some time; requests may fail, but must end.
        0 => {
            let killer = async {
                tokio::time::sleep(wait).await;
                kill(&ProcessMark::from_word(&mark));
            };
            let life = async {
                let Ok(connection) = connect(config).await else { return };
                while connection.call("echo", json!({"text": "a"}), CallOptions::default()).await.is_ok()
                    && !ProcessMark::from_word(&mark).alive().is_empty()
                {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                    kill(&ProcessMark::from_word(&mark));
                }
                connection.close().await;
            };
            tokio::join!(killer, life);
        }
        // Dropped at some time, with or without a connection.
        1 => {
            if let Ok(Ok(connection)) = tokio::time::timeout(wait, connect(config)).await {
                drop(connection);
            }
        }
        _ => {
            let connection = connect(config).await.unwrap();
            let result = connection.call("echo", json!({"text": "a"}), CallOptions::default()).await.unwrap();
            assert_eq!(result.text(), "a");
            assert!(connection.close().await.transport_closed);
        }
    }
}

/// Kills the server with this mark, if it is running.
fn kill(mark: &ProcessMark) {
    for pid in mark.pids() {
        // It may have exited in the meantime.
        let _ = kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL);
    }
}
