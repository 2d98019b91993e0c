//! The main loop of a supervisor.

use std::{
    fs::File,
    io::{self, Write},
    process::Command,
    time::{Duration, Instant},
};

use super::{LeftBehind, NOT_STARTED, SupervisorReport, Trigger, options::Task};
use crate::process::platform::{self, CAN_ASK, RECHECK_INTERVAL, Stop, Tree, Wake, Watch};

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
    let not_started = |error| {
        finish(&task, not_started(&task, &error), None);
        NOT_STARTED
    };
    let (tree, mut watch) = match platform::supervise(task.parent) {
        Ok(prepared) => prepared,
        Err(error) => return not_started(error),
    };
    let mut life = Life::new(&task, tree);
    if let Err(error) = life.start(&task) {
        return not_started(error);
    }
    // Copies of the streams would keep the pipes open after the program closed them. A copy of standard error is kept
    // if the report is written there.
    let voice = platform::release_streams(task.nonce.is_some());
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

/// The state of a supervision.
struct Life {
    tree: Tree,
    started: Instant,
    ended: Option<Instant>,
    report: SupervisorReport,
}

impl Life {
    fn new(task: &Task, tree: Tree) -> Self {
        let report = SupervisorReport { argv: argv(task), ..SupervisorReport::default() };
        Self { tree, started: Instant::now(), ended: None, report }
    }

    fn start(&mut self, task: &Task) -> io::Result<()> {
        let program = self.tree.start(Command::new(platform::program(&task.argv[0])).args(&task.argv[1..]))?;
        self.report.pid = Some(program);
        self.started = Instant::now();
        Ok(())
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
            wake = watch.next() => wake,
            () = tokio::time::sleep(limit) => Wake::Look,
        }
    }

    /// Reaps all processes that have exited, and returns whether there are others.
    fn reap(&mut self) -> bool {
        let reaped = self.tree.reap();
        if let Some(exit) = reaped.program {
            self.ended = Some(Instant::now());
            self.report.ran_ms = millis(self.started.elapsed());
            self.report.exit = exit;
        }
        !reaped.empty
    }

    /// Handles the exit of the program: records and stops the processes that it left behind.
    async fn leave(&mut self, watch: &mut Watch, task: &Task) {
        if self.until_empty(watch, task.supervision.settle).await {
            return;
        }
        let seen_after_ms = self.since_end();
        self.report.left_behind = self
            .tree
            .alive()
            .iter()
            .map(|process| LeftBehind { pid: process.pid, ppid: process.ppid, argv: process.argv(), seen_after_ms })
            .collect();
        self.tree.stop(Stop::Ask);
        if !self.until_empty(watch, task.supervision.leftover_grace).await {
            self.kill_all().await;
        }
    }

    async fn stop(&mut self, watch: &mut Watch, grace: Duration) {
        self.report.trigger = Trigger::Signalled;
        self.tree.stop(Stop::Ask);
        let grace = if CAN_ASK { grace } else { Duration::ZERO };
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
            match self.wait(watch, left.min(RECHECK_INTERVAL)).await {
                Wake::Look => {}
                Wake::Stop => return false,
                Wake::ParentDied => {
                    self.report.trigger = Trigger::ParentDied;
                    return false;
                }
            }
        }
    }

    /// Repeats killing until there are no descendants, because a process may fork in between.
    async fn kill_all(&mut self) {
        let deadline = Instant::now() + KILL_TIMEOUT;
        loop {
            self.tree.stop(Stop::Kill);
            if !self.reap() {
                return;
            }
            if Instant::now() > deadline {
                self.report.survivors = self.tree.alive().iter().map(|process| process.pid).collect();
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
