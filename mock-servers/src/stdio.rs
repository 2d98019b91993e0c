//! stdio: a mock server as a process.
//!
//! It blocks on standard input and writes to standard output with plain system calls: the standard streams of an
//! asynchronous runtime move between threads, which would show in latencies. It never exits by itself; [`run`] returns
//! the exit code. The caller launches the process, with or without a wrapper.

mod child;
mod lines;
mod output;
mod server;
mod shutdown;
mod wake_timer;

use std::{
    ffi::OsString,
    fs::{self, OpenOptions},
    io::{self, Write as _},
    path::{Path, PathBuf},
    process::ExitCode,
    sync::{Arc, mpsc},
    thread,
    time::{Instant, SystemTime},
};

use serde_json::Value;
use thiserror::Error;

pub use self::child::run_child;
use self::server::StdioServer;
use crate::{
    engine::Engine,
    faults::Signal,
    profile,
    script::{Exit, ProcessScript, Script},
    system::{self, Interruption, Interruptions},
};
use evidence::{ConnectionEvent, FrameParts, Recorder};

/// Settings of a stdio mock.
#[derive(Debug, Clone)]
pub struct StdioMock {
    /// The script.
    pub script: Script,
    /// The revision of the case.
    pub revision: String,
    /// The seed of all randomness.
    pub seed: u64,
    /// Whether timestamps are those of the system's clock, instead of the same in every run.
    pub calendar: bool,
    /// The recorder of frames.
    pub recorder: Recorder,
    /// A file that counts the runs of the server's process [default: this is the first run].
    pub run_file: Option<PathBuf>,
    /// The arguments with which the current executable calls [`run_child`]. The child's script as JSON is added to
    /// them.
    pub child_arguments: Vec<OsString>,
}

/// Error of a stdio mock.
#[derive(Debug, Error)]
pub enum StdioError {
    /// The counter of runs could not be read or written.
    #[error("could not count the runs of the server in {path}")]
    RunFile {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// The handlers of SIGTERM and SIGINT could not be installed.
    #[error("could not watch for SIGTERM and SIGINT")]
    Signals(#[source] io::Error),
    /// A thread or a child process could not be started.
    #[error("could not start a thread or a child of the server")]
    Spawn(#[source] io::Error),
    /// A child ended before it was ready.
    #[error("a child of the server ended before it was ready")]
    ChildNotReady,
}

/// Reason for the server's end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ExitReason {
    InputClosed,
    Sigterm,
    /// SIGINT, which no fault ignores: it comes from a user at a terminal.
    Interrupted,
    Exit(Exit),
    /// From here on SIGTERM is ignored.
    IgnoreSigterm,
}

/// Serves over standard input and output until the client, a signal or the script ends it.
///
/// # Errors
/// When the process cannot do what its script says before it serves.
pub fn run(mock: StdioMock) -> Result<ExitCode, StdioError> {
    let run = count_run(mock.run_file.as_ref())?;
    let StdioMock { script, recorder, .. } = mock;
    let script = profile::resolve_or_report(script);
    let process = script.process.clone();
    recorder.record(FrameParts::event(run, ConnectionEvent::Opened));
    let (endings, ended) = mpsc::channel();
    watch_signals(endings.clone())?;
    let engine = Engine::new(script, &mock.revision, mock.seed).with_run(run);
    let engine = if mock.calendar { engine.with_calendar(SystemTime::now(), Instant::now()) } else { engine };
    let uses = mock.run_file.as_ref().map(|file| UseCounter::new(file));
    let server =
        StdioServer::start(engine, recorder.clone(), (run, uses), endings.clone(), mock.child_arguments.clone());
    server.write_banner(&process);
    if let Some(code) = process.exit_at_start {
        recorder.record(FrameParts::event(run, ConnectionEvent::Exit));
        return Ok(ExitCode::from(code));
    }
    for script in &process.children {
        child::spawn(script, &mock.child_arguments)?;
        recorder.record(FrameParts::event(run, ConnectionEvent::ChildStarted));
    }
    let delay = process.start_delay;
    let serving = Arc::clone(&server);
    let serving = move || {
        if let Some(delay) = delay {
            thread::sleep(delay.0);
        }
        serving.serve();
    };
    thread::Builder::new().name("stdio".into()).spawn(serving).map_err(StdioError::Spawn)?;
    let exit = wait_for_end(&ended, &process, &recorder, run).unwrap_or_else(|| {
        shutdown::shut_down(server);
        Exit::default()
    });
    recorder.record(FrameParts::event(run, ConnectionEvent::Exit));
    Ok(end_process(&exit))
}

/// Ends this process as an `exit` fault requires: by the signal, or by returning the exit code. For owners of the
/// process of an HTTP server.
#[must_use]
pub fn end_process(exit: &Exit) -> ExitCode {
    if let Some(signal) = exit.signal_to_raise() {
        die_by(signal);
    }
    ExitCode::from(exit.code)
}

/// Waits until the server ends; returns the exit of the script, or `None` for a graceful end.
fn wait_for_end(
    ended: &mpsc::Receiver<ExitReason>,
    process: &ProcessScript,
    recorder: &Recorder,
    run: u64,
) -> Option<Exit> {
    let mut deaf = process.ignore_sigterm;
    loop {
        // The signal watcher keeps a sender, so the channel stays open.
        let ending = ended.recv().unwrap_or(ExitReason::InputClosed);
        let ignored = match &ending {
            ExitReason::InputClosed => {
                recorder.record(FrameParts::event(run, ConnectionEvent::ClosedByPeer));
                process.ignore_stdin_close
            }
            ExitReason::Sigterm => {
                recorder.record(FrameParts::event(run, ConnectionEvent::Sigterm));
                deaf
            }
            ExitReason::Interrupted => false,
            ExitReason::IgnoreSigterm => {
                deaf = true;
                continue;
            }
            ExitReason::Exit(exit) => return Some(exit.clone()),
        };
        if !ignored {
            if let Some(linger) = process.linger {
                thread::sleep(linger.0);
            }
            return None;
        }
    }
}

fn watch_signals(endings: mpsc::Sender<ExitReason>) -> Result<(), StdioError> {
    let interruptions = Interruptions::watch().map_err(StdioError::Signals)?;
    let watching = move || {
        interruptions.for_each(|interruption| {
            let ending = match interruption {
                Interruption::Interrupt => ExitReason::Interrupted,
                Interruption::Terminate => ExitReason::Sigterm,
            };
            endings.send(ending).is_ok()
        });
    };
    thread::Builder::new().name("signals".into()).spawn(watching).map_err(StdioError::Spawn)?;
    Ok(())
}

/// Ends the process by a signal, without its handler. Windows has no signals, and aborts it.
fn die_by(signal: Signal) {
    let died = system::raise(signal.number());
    tracing::error!(?died, ?signal, "the process outlived its own signal");
}

/// Counts the processes of a server that were used for more than a probe: a client of both eras may send
/// `server/discover` to a process of its own first (2026-07-28, basic/versioning). Rules with `run` mean this number.
#[derive(Debug)]
pub(crate) struct UseCounter {
    /// A file with one byte for each process.
    path: PathBuf,
}

impl UseCounter {
    fn new(run_file: &Path) -> Self {
        Self { path: run_file.with_extension("used") }
    }

    /// The number of this process, counted from 1, if the message is more than a probe.
    pub(crate) fn count(&self, message: &Value) -> Option<u64> {
        if message.get("method").and_then(Value::as_str) == Some("server/discover") {
            return None;
        }
        let counted = || {
            let mut file = OpenOptions::new().create(true).append(true).open(&self.path)?;
            file.write_all(b".")?;
            Ok::<u64, io::Error>(file.metadata()?.len())
        };
        counted().inspect_err(|cause| tracing::error!(%cause, "the uses of the server could not be counted")).ok()
    }
}

/// The number of this run, counted from 1.
fn count_run(file: Option<&PathBuf>) -> Result<u64, StdioError> {
    let Some(path) = file else { return Ok(1) };
    let failed = |source| StdioError::RunFile { path: path.clone(), source };
    let before = match fs::read_to_string(path) {
        Ok(text) => text.trim().parse().unwrap_or(0),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => 0_u64,
        Err(cause) => return Err(failed(cause)),
    };
    let run = before.saturating_add(1);
    fs::write(path, run.to_string()).map_err(failed)?;
    Ok(run)
}
