//! A server as a child process: one message per line, and a shutdown in three stages.

use std::{
    process::Stdio as Pipe,
    sync::{Arc, Mutex as SyncMutex, PoisonError},
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    process::{Child, ChildStderr, ChildStdin, ChildStdout, Command},
    sync::Mutex,
    time::timeout,
};

use super::{
    defect::{Defect, Flaw},
    fault::Fault,
    inbox::Inbox,
    setup::Setup,
};

/// Timeout for the exit status and the remaining stderr of an exited server.
const STDERR_TIMEOUT: Duration = Duration::from_secs(1);

/// The standard input of a server, until it is closed.
type Input = Arc<Mutex<Option<ChildStdin>>>;

/// The inputs of all servers, for a client that mixes them up.
static INPUTS: SyncMutex<Vec<Input>> = SyncMutex::new(Vec::new());

/// The process of a server, in a process group of its own.
pub(crate) struct Stdio {
    child: Mutex<Child>,
    pid: Option<Pid>,
    stdin: Input,
    stderr: Arc<SyncMutex<String>>,
    close_grace: Duration,
    term_grace: Duration,
    pub(crate) flaw: Flaw,
}

impl Stdio {
    pub(crate) fn spawn(endpoint: &Value, setup: &Setup, inbox: &Arc<Inbox>, flaw: Flaw) -> Result<Self, Fault> {
        let words: Vec<&str> = endpoint["command"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let Some((program, arguments)) = words.split_first() else {
            return Err(Fault::new("invalid-config", "the command is empty"));
        };
        let mut command = Command::new(program);
        command.args(arguments).stdin(Pipe::piped()).stdout(Pipe::piped()).stderr(Pipe::piped()).process_group(0);
        let failed = |error| Fault::new("spawn-failed", format!("`{program}` cannot be started: {error}"));
        let mut child = command.spawn().map_err(failed)?;
        let stdin = Arc::new(Mutex::new(child.stdin.take()));
        let stderr = Arc::new(SyncMutex::new(String::new()));
        if let (Some(out), Some(err)) = (child.stdout.take(), child.stderr.take()) {
            let elsewhere = flaw.is(Defect::AnswersElsewhere);
            INPUTS.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(&stdin));
            tokio::spawn(read(out, Arc::clone(inbox), Arc::clone(&stdin), setup.max_message, elsewhere));
            let reader = flaw.is(Defect::FailsOnStderr).then(|| Arc::clone(inbox));
            tokio::spawn(keep_stderr(err, Arc::clone(&stderr), reader));
        }
        let pid = child.id().and_then(|pid| i32::try_from(pid).ok()).and_then(Pid::from_raw);
        let Setup { close_grace, term_grace, .. } = *setup;
        Ok(Self { child: Mutex::new(child), pid, stdin, stderr, close_grace, term_grace, flaw })
    }

    pub(crate) async fn send(&self, message: &Value) -> Result<(), Fault> {
        if self.flaw.is(Defect::WritesBlankLines)
            && let Some(stdin) = self.stdin.lock().await.as_mut()
        {
            let _ = stdin.write_all(b"\n").await;
        }
        let written = write(&self.stdin, message).await;
        written.map_err(|error| Fault::new("connection-lost", format!("the server does not read: {error}")))
    }

    /// The error of a server that has exited, with its status and stderr.
    pub(crate) async fn exited(&self) -> Option<Fault> {
        let status = timeout(STDERR_TIMEOUT, async { self.child.lock().await.wait().await }).await.ok()?.ok()?;
        // The pipe may contain unread text.
        let read = async {
            while self.stderr_text().is_empty() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let _ = timeout(STDERR_TIMEOUT / 4, read).await;
        Some(Fault::new("exited", format!("the server exited ({status}): {}", self.stderr_text())))
    }

    fn stderr_text(&self) -> String {
        self.stderr.lock().unwrap_or_else(PoisonError::into_inner).trim().to_owned()
    }

    /// Closes the input, then sends SIGTERM, then SIGKILL (2025-11-25, basic/lifecycle, shutdown).
    pub(crate) async fn close(&self) {
        if self.flaw.is(Defect::DisconnectsLate) {
            return;
        }
        if self.flaw.is(Defect::LeavesServer) {
            self.stdin.lock().await.take();
            return;
        }
        if self.flaw.is(Defect::KillsWithoutClosingInput) {
            self.signal(Signal::TERM);
            self.ended_within(self.term_grace).await;
        }
        self.stdin.lock().await.take();
        if !self.ended_within(self.close_grace).await {
            self.signal(Signal::TERM);
            self.ended_within(self.term_grace).await;
        }
        // Descendants of an exited server remain in its process group.
        self.signal(Signal::KILL);
        self.ended_within(self.term_grace).await;
    }

    async fn ended_within(&self, time: Duration) -> bool {
        timeout(time, async { self.child.lock().await.wait().await }).await.is_ok()
    }

    fn signal(&self, signal: Signal) {
        let Some(pid) = self.pid else { return };
        // The group may be empty.
        let _ = if self.flaw.is(Defect::KillsOnlyDirectChild) {
            kill_process(pid, signal)
        } else {
            kill_process_group(pid, signal)
        };
    }
}

/// Reads messages until the server closes its output.
async fn read(out: ChildStdout, inbox: Arc<Inbox>, stdin: Input, limit: usize, elsewhere: bool) {
    let mut out = BufReader::new(out);
    let mut line = Vec::new();
    while let Ok(1..) = out.read_until(b'\n', &mut line).await {
        match serde_json::from_slice::<Value>(&line) {
            Ok(message) if line.len() > limit => inbox.too_long(message["id"].as_u64(), limit),
            Ok(message) => {
                let (responses, delay) = (inbox.take(&message), inbox.user.delay(&message));
                let (inbox, mut stdin) = (Arc::clone(&inbox), Arc::clone(&stdin));
                if let Some(other) = other_input(&stdin).filter(|_| elsewhere && message["method"] != "ping") {
                    stdin = other;
                }
                let respond = async move {
                    // A pause of no length takes a millisecond, which a flood of notifications multiplies.
                    if let Some(delay) = delay {
                        tokio::time::sleep(delay).await;
                    }
                    for response in responses.into_iter().filter(|response| inbox.is_wanted(response)) {
                        // A server may close its input before it gets the response.
                        let _ = write(&stdin, &response).await;
                    }
                };
                match delay {
                    Some(_) => drop(tokio::spawn(respond)),
                    None => respond.await,
                }
            }
            Err(_) => inbox.garbage(&String::from_utf8_lossy(&line)),
        }
        line.clear();
    }
    inbox.lose("the server closed its output");
}

fn other_input(own: &Input) -> Option<Input> {
    let inputs = INPUTS.lock().unwrap_or_else(PoisonError::into_inner);
    inputs.iter().find(|input| !Arc::ptr_eq(input, own)).cloned()
}

async fn write(stdin: &Mutex<Option<ChildStdin>>, message: &Value) -> std::io::Result<()> {
    let mut stdin = stdin.lock().await;
    let stdin = stdin.as_mut().ok_or(std::io::ErrorKind::BrokenPipe)?;
    stdin.write_all(format!("{message}\n").as_bytes()).await?;
    stdin.flush().await
}

/// Reads stderr, so that the server never blocks on it, and keeps its end.
async fn keep_stderr(mut err: ChildStderr, kept: Arc<SyncMutex<String>>, failing: Option<Arc<Inbox>>) {
    const MAX_BYTES: usize = 8_192;
    let mut buffer = [0; 1_024];
    while let Ok(count @ 1..) = err.read(&mut buffer).await {
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push_str(&String::from_utf8_lossy(&buffer[..count]));
        failing.iter().for_each(|inbox| inbox.lose("the server wrote to standard error"));
        while kept.len() > MAX_BYTES {
            kept.remove(0);
        }
    }
}
