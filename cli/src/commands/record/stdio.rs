//! A transparent proxy between a client and a stdio server: bytes, the ends of streams, signals and the exit code are passed
//! on, and standard error is that of the proxy. Windows has no signals, and there the ends of streams are passed on when the
//! server exits.
//!
//! Bytes are copied as they are read. A line is recorded before its last bytes are passed on, so that a response is never
//! recorded before its request.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

use std::{
    io::{self, ErrorKind, Read, Write},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::Duration,
};

use anyhow::Context as _;
use evidence::{Body, ConnectionEvent, FrameParts, Recorder};

#[cfg(unix)]
use self::unix::{ForwardedSignals, close_stdin, close_stdout, exit_with, separate};
#[cfg(windows)]
use self::windows::{ForwardedSignals, close_stdin, close_stdout, exit_with, separate};
use super::lines::Lines;
use crate::error::{CommandError, CommandResult};

/// Number of bytes per read.
const READ: usize = 64 * 1024;
/// How long the output of a server that exited is awaited: a process that it left behind may have it open.
const REST: Duration = Duration::from_secs(2);

/// Runs the server until it exits, and returns its exit code. A signal that terminated it terminates this process too.
pub(super) fn run(command: &[String], recorder: &Recorder) -> CommandResult {
    // Before the server is started, so that no signal is lost.
    let signals = ForwardedSignals::watch().map_err(CommandError::environment)?;
    let mut child = start(command)?;
    // One number per process of the server.
    let connection = u64::from(child.id());
    let recording = Recording { recorder: recorder.clone(), connection };
    recording.event(ConnectionEvent::Opened);
    let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(CommandError::internal(anyhow::anyhow!("the streams of the server are not pipes")));
    };
    let exited = Arc::new(AtomicBool::new(false));
    let terminating = recording.clone();
    signals.forward(&child, Arc::clone(&exited), move || terminating.event(ConnectionEvent::Sigterm));
    let from_client = recording.clone();
    thread::spawn(move || copy_input(input, &from_client));
    let (ended, end) = mpsc::channel();
    let from_server = recording.clone();
    thread::spawn(move || {
        copy_output(output, &from_server);
        // The main thread may have stopped waiting.
        let _ = ended.send(());
    });
    let status = child.wait().map_err(CommandError::environment)?;
    exited.store(true, Ordering::SeqCst);
    if end.recv_timeout(REST) == Err(RecvTimeoutError::Timeout) {
        tracing::warn!("a process that the server left behind still has its output open");
    }
    recording.event(ConnectionEvent::Exit);
    Ok(exit_with(status))
}

/// Starts the server in a process group of its own: a signal for the group of the client, such as that of Ctrl+C, reaches it
/// once, from here.
fn start(command: &[String]) -> Result<Child, CommandError> {
    let (program, arguments) = command.split_first().context("no command").map_err(CommandError::input)?;
    let mut command = Command::new(program);
    separate(command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()));
    command.spawn().with_context(|| format!("cannot start `{program}`")).map_err(CommandError::environment)
}

/// Records the frames of one process.
#[derive(Debug, Clone)]
struct Recording {
    recorder: Recorder,
    connection: u64,
}

impl Recording {
    fn event(&self, event: ConnectionEvent) {
        self.recorder.record(FrameParts::event(self.connection, event));
    }

    fn client_sent(&self, body: Body) {
        self.recorder.record(FrameParts::received(self.connection, body));
    }

    fn server_sent(&self, body: Body) {
        self.recorder.record(FrameParts::sent(self.connection, body));
    }
}

/// Copies standard input to the server. At its end the input of the server is closed; if the server closed it, so is
/// standard input.
fn copy_input(mut server: ChildStdin, recording: &Recording) {
    let mut client = std::io::stdin().lock();
    let mut lines = Lines::default();
    let copied = copy(&mut client, &mut server, |bytes| lines.add(bytes, |body| recording.client_sent(body)));
    if let Some(body) = lines.finish() {
        recording.client_sent(body);
    }
    match copied {
        Copied::All => recording.event(ConnectionEvent::ClosedByPeer),
        Copied::Closed => report_close(close_stdin()),
    }
}

/// Copies the output of the server to standard output. If the client closed it, the server gets a broken pipe.
fn copy_output(mut server: ChildStdout, recording: &Recording) {
    let mut client = std::io::stdout().lock();
    let mut lines = Lines::default();
    let copied = copy(&mut server, &mut client, |bytes| lines.add(bytes, |body| recording.server_sent(body)));
    if let Some(body) = lines.finish() {
        recording.server_sent(body);
    }
    if copied == Copied::All {
        recording.event(ConnectionEvent::ClosedByServer);
        report_close(close_stdout());
    }
}

/// How a copy ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Copied {
    /// The source ended.
    All,
    /// The destination was closed.
    Closed,
}

/// Copies until the source ends or the destination is closed. `seen` gets the bytes before they are written.
fn copy(source: &mut impl Read, destination: &mut impl Write, mut seen: impl FnMut(&[u8])) -> Copied {
    let mut buffer = vec![0; READ];
    loop {
        let read = match source.read(&mut buffer) {
            Ok(0) => return Copied::All,
            Ok(read) => read,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(_) => return Copied::All,
        };
        seen(&buffer[..read]);
        if destination.write_all(&buffer[..read]).and_then(|()| destination.flush()).is_err() {
            return Copied::Closed;
        }
    }
}

fn report_close(closed: io::Result<()>) {
    // The stream closes at the exit at the latest.
    if let Err(cause) = closed {
        tracing::warn!(%cause, "could not close a standard stream");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_copied_unchanged() {
        let bytes: Vec<u8> = (0..200_000_u32).map(|number| (number % 251) as u8).collect();
        let (mut copied, mut seen) = (Vec::new(), 0);
        assert_eq!(copy(&mut bytes.as_slice(), &mut copied, |chunk| seen += chunk.len()), Copied::All);
        assert_eq!((copied == bytes, seen), (true, bytes.len()));
    }

    #[test]
    fn a_closed_destination_ends_the_copy() {
        let mut small = [0_u8; 4];
        assert_eq!(copy(&mut &b"longer than that"[..], &mut &mut small[..], |_| {}), Copied::Closed);
    }
}
