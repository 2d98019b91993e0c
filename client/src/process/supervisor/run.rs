//! The main loop of a supervisor.

use std::{
    fs::{File, OpenOptions},
    io::{self, Write},
    os::{fd::OwnedFd, unix::process::CommandExt},
    process::Command,
    time::{Duration, Instant},
};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions, getpid, getppid, pidfd_open, set_child_subreaper, wait};
use tokio::{
    signal::unix::{Signal as SignalStream, SignalKind, signal},
    sync::watch,
};

use super::{LeftBehind, NOT_STARTED, SupervisorReport, Trigger, options::Task};
use crate::process::{
    ExitInfo,
    subtree::{ProcessEntry, descendants},
};

/// Timeout for processes to exit after SIGKILL, before they count as survivors.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);

/// Runs the task and returns the exit code.
pub(super) fn run(task: Task) -> u8 {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    match runtime {
        Ok(runtime) => runtime.block_on(supervise(task)),
        Err(error) => {
            finish(&task, not_started(&task, &error), None);
            NOT_STARTED
        }
    }
}

async fn supervise(task: Task) -> u8 {
    let mut watch = match Watch::new(&task) {
        Ok(watch) => watch,
        Err(error) => {
            finish(&task, not_started(&task, &error), None);
            return NOT_STARTED;
        }
    };
    let mut command = Command::new(&task.argv[0]);
    let spawned = command.args(&task.argv[1..]).process_group(0).spawn();
    let program = match spawned {
        Ok(child) => Pid::from_child(&child),
        Err(error) => {
            finish(&task, not_started(&task, &error), None);
            return NOT_STARTED;
        }
    };
    // Copies of the streams would keep the pipes open after the program closed them. A copy of standard error is kept
    // if the report is written there.
    let voice = release_streams(task.nonce.is_some());
    let mut life = Life::new(&task, program);
    life.live(&mut watch, &task).await;
    let code = life.exit_code();
    finish(&task, life.report, voice);
    code
}

fn not_started(task: &Task, error: &io::Error) -> SupervisorReport {
    SupervisorReport {
        argv: argv(task),
        trigger: Trigger::NotStarted,
        os_error: error.raw_os_error(),
        start_error: Some(error.to_string()),
        ..SupervisorReport::default()
    }
}

fn argv(task: &Task) -> Vec<String> {
    task.argv.iter().map(|word| word.to_string_lossy().into_owned()).collect()
}

/// Writes the report. A failure cannot be reported any more.
fn finish(task: &Task, report: SupervisorReport, voice: Option<File>) {
    if let Some(path) = &task.supervision.report {
        let _ = report.write(path);
    }
    if let Some(nonce) = &task.nonce
        && let Ok(json) = serde_json::to_string(&report)
    {
        let line = format!("{nonce} {json}\n");
        let _ = match voice {
            Some(mut voice) => voice.write_all(line.as_bytes()),
            None => io::stderr().write_all(line.as_bytes()),
        };
    }
}

/// Replaces the standard streams by the null device, and returns a copy of standard error if requested.
fn release_streams(keep_stderr: bool) -> Option<File> {
    let voice = keep_stderr.then(|| rustix::io::fcntl_dupfd_cloexec(io::stderr(), 3).ok()).flatten().map(File::from);
    if let Ok(null) = OpenOptions::new().read(true).write(true).open("/dev/null") {
        let _ = rustix::stdio::dup2_stdin(&null);
        let _ = rustix::stdio::dup2_stdout(&null);
        let _ = rustix::stdio::dup2_stderr(&null);
    }
    voice
}

/// Events that wake the supervisor.
struct Watch {
    /// Whether the parent has died.
    parent: watch::Receiver<bool>,
    child: SignalStream,
    stop: [SignalStream; 3],
}

impl Watch {
    fn new(task: &Task) -> io::Result<Self> {
        set_child_subreaper(Some(getpid()))?;
        let parent = pidfd_open(task.parent, PidfdFlags::empty())?;
        // If the parent died before the pidfd was opened, this process has another parent and the id may have been
        // reused.
        if getppid() != Some(task.parent) {
            return Err(io::Error::other("the parent process has exited"));
        }
        Ok(Self {
            parent: watch_end(parent)?,
            child: signal(SignalKind::child())?,
            stop: [signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?, signal(SignalKind::hangup())?],
        })
    }

    async fn stopped(stop: &mut [SignalStream; 3]) {
        let [first, second, third] = stop;
        tokio::select! {
            _ = first.recv() => {}
            _ = second.recv() => {}
            _ = third.recv() => {}
        }
    }
}

/// Waits for the exit of a process on a thread: a pidfd becomes readable when its process has exited (pidfd_open(2)).
fn watch_end(process: OwnedFd) -> io::Result<watch::Receiver<bool>> {
    let (sender, died) = watch::channel(false);
    std::thread::Builder::new().name("parent-watch".into()).spawn(move || {
        let mut events = [PollFd::new(&process, PollFlags::IN)];
        while let Err(Errno::INTR) = poll(&mut events, None) {}
        sender.send_replace(true);
    })?;
    Ok(died)
}

/// An event during supervision.
enum Wake {
    ParentDied,
    Stop,
    Look,
}

/// The state of a supervision.
struct Life {
    program: Pid,
    started: Instant,
    ended: Option<Instant>,
    report: SupervisorReport,
}

impl Life {
    fn new(task: &Task, program: Pid) -> Self {
        let report = SupervisorReport {
            argv: argv(task),
            pid: Some(program.as_raw_nonzero().get()),
            ..SupervisorReport::default()
        };
        Self { program, started: Instant::now(), ended: None, report }
    }

    async fn live(&mut self, watch: &mut Watch, task: &Task) {
        loop {
            self.reap();
            if self.ended.is_some() {
                break self.leave(watch, task).await;
            }
            match self.wait(watch, Duration::MAX).await {
                Wake::ParentDied => break self.parent_died().await,
                Wake::Stop => break self.stop(watch, task.supervision.term_grace).await,
                Wake::Look => {}
            }
        }
        self.note_empty();
    }

    /// Waits for a signal, the exit of a child, the parent's death, or the end of this time.
    async fn wait(&self, watch: &mut Watch, limit: Duration) -> Wake {
        tokio::select! {
            biased;
            _ = watch.parent.wait_for(|died| *died) => Wake::ParentDied,
            () = Watch::stopped(&mut watch.stop) => Wake::Stop,
            _ = watch.child.recv() => Wake::Look,
            () = tokio::time::sleep(limit) => Wake::Look,
        }
    }

    /// Reaps all exited children, including adopted ones, and returns whether there are others.
    ///
    /// Without children there are no descendants: this process adopts those whose parent has exited.
    fn reap(&mut self) -> bool {
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if pid == self.program => {
                    self.ended = Some(Instant::now());
                    self.report.ran_ms = millis(self.started.elapsed());
                    self.report.exit = ExitInfo { code: status.exit_status(), signal: status.terminating_signal() };
                }
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) => return true,
                Err(_) => return false,
            }
        }
    }

    /// Handles the exit of the program: records and stops the processes that it left behind.
    async fn leave(&mut self, watch: &mut Watch, task: &Task) {
        if self.until_empty(watch, task.supervision.settle).await {
            return;
        }
        let seen_after_ms = self.since_end();
        self.report.left_behind = alive()
            .iter()
            .map(|process| LeftBehind { pid: process.pid, ppid: process.ppid, argv: process.argv(), seen_after_ms })
            .collect();
        signal_all(Signal::TERM);
        if !self.until_empty(watch, task.supervision.leftover_grace).await {
            self.kill_all().await;
        }
    }

    async fn stop(&mut self, watch: &mut Watch, grace: Duration) {
        self.report.trigger = Trigger::Signalled;
        signal_all(Signal::TERM);
        if !self.until_empty(watch, grace).await {
            self.report.killed = self.ended.is_none();
            self.kill_all().await;
        }
    }

    async fn parent_died(&mut self) {
        self.report.trigger = Trigger::ParentDied;
        self.report.killed = self.ended.is_none();
        self.kill_all().await;
    }

    /// Waits until there are no descendants, up to the limit, the parent's death or another signal.
    async fn until_empty(&mut self, watch: &mut Watch, limit: Duration) -> bool {
        let deadline = Instant::now() + limit;
        loop {
            if !self.reap() {
                return true;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            match self.wait(watch, left).await {
                Wake::Look => {}
                Wake::Stop => return false,
                Wake::ParentDied => {
                    self.report.trigger = Trigger::ParentDied;
                    return false;
                }
            }
        }
    }

    /// Repeats SIGKILL until there are no descendants, because a process may fork in between.
    async fn kill_all(&mut self) {
        let deadline = Instant::now() + KILL_TIMEOUT;
        loop {
            signal_all(Signal::KILL);
            if !self.reap() {
                return;
            }
            if Instant::now() > deadline {
                self.report.survivors = alive().iter().map(|process| process.pid).collect();
                return;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    fn note_empty(&mut self) {
        self.reap();
        self.report.emptied_after_ms = self.since_end();
    }

    fn since_end(&self) -> u64 {
        self.ended.map_or(0, |ended| millis(ended.elapsed()))
    }

    fn exit_code(&self) -> u8 {
        let code = match (self.report.exit.code, self.report.exit.signal) {
            (Some(code), _) => code & 0xff,
            (None, Some(signal)) => 128 + signal,
            (None, None) => 255,
        };
        u8::try_from(code).unwrap_or(255)
    }
}

fn millis(period: Duration) -> u64 {
    u64::try_from(period.as_millis()).unwrap_or(u64::MAX)
}

fn alive() -> Vec<ProcessEntry> {
    descendants(getpid().as_raw_nonzero().get())
}

fn signal_all(signal: Signal) {
    for process in alive() {
        process.signal(signal);
    }
}
