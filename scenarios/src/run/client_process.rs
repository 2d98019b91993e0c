//! The process tree of the client under test, started by a supervisor.

use std::{
    collections::{BTreeMap, HashSet, VecDeque},
    io,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use client::process::{
    Stop,
    subtree::descendants,
    supervisor::{MARKER, Supervision, SupervisorReport},
};
use reports::model::Profile;
use tokio::{
    io::{AsyncRead, AsyncReadExt},
    task::JoinHandle,
};

use crate::{
    contract::now_us,
    evidence::{ObservedProcess, ProcessEvidence, Usage},
    supervised::Supervised,
};

/// Number of bytes of standard error to keep.
const MAX_STDERR: usize = 16 * 1024;
/// Time for a supervisor to terminate its process tree.
const TERMINATE_TIMEOUT: Duration = Duration::from_secs(5);

/// The client under test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClientUnderTest {
    /// The client of mcp-workbench, started as a process.
    BuiltIn,
    /// Another client, started as `sh -c "<command> <server-url>"`; also on Windows, where `sh` must be installed.
    External {
        /// The shell command.
        command: String,
        /// Environment variables to remove.
        hidden_variables: Vec<String>,
    },
}

impl ClientUnderTest {
    /// The profile of a client without a given one.
    #[must_use]
    pub fn default_profile(&self) -> Profile {
        match self {
            Self::BuiltIn => Profile::Agent,
            Self::External { .. } => Profile::Sdk,
        }
    }

    /// Name of the client in reports.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::BuiltIn => "the built-in client",
            Self::External { command, .. } => command,
        }
    }
}

/// A running client under test.
#[derive(Debug)]
pub(super) struct ClientProcess {
    supervised: Supervised,
    report: PathBuf,
    /// Directory of the case. A process with this path in its arguments is a server of the case.
    folder: String,
    stderr: JoinHandle<Vec<u8>>,
    seen: BTreeMap<i32, ObservedProcess>,
    /// Whether observations include what the client uses.
    pub(super) samples_usage: bool,
    /// CPU time of each process without the mock servers.
    cpu: BTreeMap<i32, Duration>,
    /// The most memory in use, in KiB.
    memory_kb: u64,
    killed_on_purpose: bool,
}

impl ClientProcess {
    /// Starts the client. `settle` is the time for its child processes to exit after it.
    pub(super) fn start(
        client: &ClientUnderTest,
        program: &Path,
        url: Option<&str>,
        folder: &Path,
        settle: Duration,
        environment: impl IntoIterator<Item = (&'static str, String)>,
    ) -> io::Result<Self> {
        let report = folder.join("supervisor.json");
        let supervision = Supervision {
            term_grace: Duration::from_millis(300),
            settle,
            leftover_grace: Duration::from_millis(200),
            report: Some(report.clone()),
        };
        let mut command = match client {
            ClientUnderTest::BuiltIn => {
                let mut command = supervision.command(program)?;
                command.args(["client", "drive"]).args(url);
                command
            }
            ClientUnderTest::External { command: line, hidden_variables } => {
                let mut command = supervision.command("sh")?;
                for name in hidden_variables {
                    command.env_remove(name);
                }
                command.arg("-c").arg(url.map_or_else(|| line.clone(), |url| format!("{line} {url}")));
                command
            }
        };
        command.envs(environment).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut supervised = Supervised::start(command)?;
        let stderr = supervised.child.stderr.take();
        Ok(Self {
            supervised,
            report,
            folder: folder.to_string_lossy().into_owned(),
            stderr: tokio::spawn(keep_end(stderr)),
            seen: BTreeMap::new(),
            samples_usage: false,
            cpu: BTreeMap::new(),
            memory_kb: 0,
            killed_on_purpose: false,
        })
    }

    /// Waits until the client and all processes below it have exited.
    pub(super) async fn exited(&mut self) {
        self.supervised.ended().await;
    }

    /// Records the processes that exist below the client, and on request what those of the client use.
    pub(super) fn observe(&mut self) {
        let now = now_us();
        let mut memory_kb = 0;
        for process in descendants(self.supervised.pid) {
            let seen = self.seen.entry(process.pid).or_insert_with(|| ObservedProcess {
                pid: process.pid,
                parent: process.ppid,
                server: false,
                command: String::new(),
                first_us: now,
                last_us: now,
            });
            // A process that was just forked still has the command line of its parent.
            if !seen.server {
                let command = process.argv().join(" ");
                seen.server = command.contains(&self.folder) && !command.contains(MARKER);
                seen.command = command.chars().take(500).collect();
            }
            seen.last_us = now;
            if self.samples_usage
                && !seen.server
                && let Some(used) = process.usage()
            {
                memory_kb += used.resident_kb;
                // A peak between two readings counts too.
                self.memory_kb = self.memory_kb.max(used.peak_kb);
                self.cpu.insert(process.pid, used.own_cpu);
            }
        }
        self.memory_kb = self.memory_kb.max(memory_kb);
    }

    /// What the client used, if it was observed.
    fn usage(&self) -> Option<Usage> {
        let cpu: Duration = self.cpu.values().sum();
        let cpu_us = u64::try_from(cpu.as_micros()).unwrap_or(u64::MAX);
        (self.memory_kb > 0).then_some(Usage { memory: self.memory_kb * 1024, cpu_us })
    }

    /// Kills the client with SIGKILL at its `die` step. `pid` is the process id that the client reported.
    pub(super) fn kill(&mut self, pid: u32) {
        self.observe();
        let below = i32::try_from(pid)
            .ok()
            .and_then(|pid| descendants(self.supervised.pid).into_iter().find(|one| one.pid == pid));
        // The process id comes from the client, so only processes below the client are killed.
        if let Some(process) = below {
            // It cannot fail when it kills.
            let _ = process.stop(Stop::Kill);
            self.killed_on_purpose = true;
        }
    }

    /// Kills the client with SIGKILL, and leaves its servers with the processes below them.
    pub(super) fn kill_all(&mut self) {
        self.observe();
        let mut kept = HashSet::new();
        for process in descendants(self.supervised.pid) {
            let command = process.argv().join(" ");
            if kept.contains(&process.ppid) || command.contains(&self.folder) || command.contains(MARKER) {
                kept.insert(process.pid);
            } else {
                // It cannot fail when it kills.
                let _ = process.stop(Stop::Kill);
                self.killed_on_purpose = true;
            }
        }
    }

    /// Terminates the client and all processes below it.
    pub(super) async fn terminate(&mut self) {
        self.supervised.end(TERMINATE_TIMEOUT).await;
    }

    /// Returns the observed processes and the end of standard error. Times are those of the monotonic clock.
    pub(super) async fn finish(mut self) -> (ProcessEvidence, String) {
        let ended = now_us();
        let report = SupervisorReport::read(&self.report).unwrap_or_default();
        let emptied = Duration::from_millis(report.emptied_after_ms);
        let client_ended = ended.saturating_sub(u64::try_from(emptied.as_micros()).unwrap_or(u64::MAX));
        let left: Vec<ObservedProcess> = report
            .left_behind
            .iter()
            .map(|left| ObservedProcess {
                pid: left.pid,
                parent: left.ppid,
                command: left.argv.join(" ").chars().take(500).collect(),
                server: left.argv.iter().any(|word| word.contains(&self.folder)),
                first_us: client_ended,
                last_us: client_ended.saturating_add(left.seen_after_ms.saturating_mul(1000)),
            })
            .collect();
        let stderr = tokio::time::timeout(Duration::from_millis(200), &mut self.stderr).await;
        self.stderr.abort();
        let stderr = stderr.ok().and_then(Result::ok).unwrap_or_default();
        let evidence = ProcessEvidence {
            code: report.exit.code,
            signal: report.exit.signal,
            ended_us: Some(client_ended),
            killed_on_purpose: self.killed_on_purpose,
            seen: std::mem::take(&mut self.seen).into_values().collect(),
            empty_us: left.is_empty().then_some(ended),
            left,
            usage: self.usage(),
        };
        (evidence, String::from_utf8_lossy(&stderr).into_owned())
    }
}

/// Reads to the end and returns the last bytes.
async fn keep_end(stream: Option<impl AsyncRead + Unpin>) -> Vec<u8> {
    let Some(mut stream) = stream else { return Vec::new() };
    let mut kept = VecDeque::new();
    let mut buffer = vec![0; 8192];
    while let Ok(count @ 1..) = stream.read(&mut buffer).await {
        kept.extend(&buffer[..count]);
        let surplus = kept.len().saturating_sub(MAX_STDERR);
        kept.drain(..surplus);
    }
    kept.into()
}
