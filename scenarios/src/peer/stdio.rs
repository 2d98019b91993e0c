//! The peer over stdio: a child process, with one message per line.

use std::{sync::Arc, time::Duration};

use client::process::subtree::ProcessEntry;
use evidence::{ConnectionEvent, Direction};
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    process::{ChildStderr, ChildStdin, ChildStdout},
    sync::Mutex,
    task::JoinHandle,
};

use crate::evidence::ProcessEvidence;

use super::{
    PeerError, ServerCommand,
    lines::{Lines, Output},
    process::ServerProcess,
    transcript::TranscriptRecorder,
};

/// Maximum length of a line; a longer one closes the connection.
const MAX_LINE: usize = 16 << 20;
/// How long a server must be silent before a message without a newline is taken for complete.
const SILENCE: Duration = Duration::from_secs(1);
/// The same for a server that sent such a message before.
const LATER_SILENCE: Duration = Duration::from_millis(20);
/// Number of bytes of standard error to keep, from its end.
const MAX_STDERR: usize = 8 << 10;
/// Timeout of writing a message.
pub(super) const WRITE: Duration = Duration::from_secs(5);
/// Pause between the pieces of a message.
pub(super) const PAUSE: Duration = Duration::from_millis(10);
/// How long to wait for the last lines of a process that has exited.
const LAST_LINES: Duration = Duration::from_millis(200);
/// The only connection over stdio.
const CONNECTION: u64 = 0;

type Input = Arc<Mutex<Option<ChildStdin>>>;

/// A peer over stdio.
#[derive(Debug)]
pub(super) struct StdioPeer {
    recorder: Arc<TranscriptRecorder>,
    input: Input,
    process: Mutex<ServerProcess>,
    reader: JoinHandle<()>,
    stderr: Arc<std::sync::Mutex<Vec<u8>>>,
    stderr_reader: JoinHandle<()>,
}

impl StdioPeer {
    /// Starts the server and the task that reads its output.
    pub(super) fn start(
        server: &ServerCommand,
        modern: bool,
        recorder: Arc<TranscriptRecorder>,
    ) -> Result<Self, PeerError> {
        let (process, streams) = ServerProcess::start(server, Arc::clone(&recorder))
            .map_err(|source| PeerError::Start { command: server.to_string(), source })?;
        recorder.mark(CONNECTION, Direction::ClientToServer, ConnectionEvent::Opened, None);
        let input: Input = Arc::new(Mutex::new(Some(streams.stdin)));
        let reader = tokio::spawn(read(streams.stdout, modern, Arc::clone(&recorder), Arc::clone(&input)));
        let stderr = Arc::default();
        let stderr_reader = tokio::spawn(keep_the_end(streams.stderr, Arc::clone(&stderr)));
        Ok(Self { recorder, input, process: Mutex::new(process), reader, stderr, stderr_reader })
    }

    /// Writes one line.
    pub(super) async fn send(&self, text: &str) -> Result<(), String> {
        self.recorder.sent(CONNECTION, text, None);
        write(&self.input, text).await
    }

    /// Writes bytes and a newline in so many pieces, with pauses in between.
    pub(super) async fn send_pieces(&self, bytes: &[u8], pieces: u8) -> Result<(), String> {
        for line in bytes.split(|byte| *byte == b'\n') {
            self.recorder.sent(CONNECTION, &String::from_utf8_lossy(line), None);
        }
        let line = [bytes, b"\n"].concat();
        let size = line.len().div_ceil(usize::from(pieces.max(1)));
        let mut guard = self.input.lock().await;
        for (number, piece) in line.chunks(size).enumerate() {
            if number > 0 {
                tokio::time::sleep(PAUSE).await;
            }
            write_bytes(guard.as_mut(), piece).await?;
        }
        Ok(())
    }

    /// Observes the processes now and then, so that those that leave the tree later are known.
    pub(super) async fn observe(&self) {
        self.process.lock().await.observe_in_use();
    }

    /// The server and all processes below it.
    pub(super) async fn processes(&self) -> Vec<ProcessEntry> {
        self.process.lock().await.observe()
    }

    /// Closes the server's input and waits for its exit. Returns whether it exited, and its code.
    pub(super) async fn close_input(&self, within: Duration) -> (bool, Option<i32>) {
        self.shut_input().await;
        let mut process = self.process.lock().await;
        self.exit(&mut process, within).await
    }

    /// Waits for the exit, and then for the last lines.
    async fn exit(&self, process: &mut ServerProcess, within: Duration) -> (bool, Option<i32>) {
        let exited = process.wait(within).await;
        if exited {
            self.recorder.wait(LAST_LINES, |state| state.closed.as_ref().map(|_| ())).await;
        }
        (exited, process.code())
    }

    /// Sends SIGTERM to the server, with its input open, and waits for its exit. Returns whether it exited, and its code.
    pub(super) async fn terminate(&self, within: Duration) -> Result<(bool, Option<i32>), String> {
        let mut process = self.process.lock().await;
        process.terminate()?;
        self.recorder.mark(CONNECTION, Direction::ClientToServer, ConnectionEvent::Sigterm, None);
        Ok(self.exit(&mut process, within).await)
    }

    /// Terminates the server and all processes below it. A busy one is not waited for.
    pub(super) async fn end(self, busy: bool) -> (ProcessEvidence, String) {
        self.process.lock().await.observe();
        self.shut_input().await;
        let (evidence, before_signal) = self.process.into_inner().end(busy).await;
        // The streams end with the processes. The timeouts are for a process that escaped.
        let _ = tokio::time::timeout(LAST_LINES, self.reader).await;
        // What a server writes on a signal is the matter of the scenario that sends one, and a slow exit is not.
        if let Some(frames) = before_signal {
            self.recorder.forget_text_from(frames);
        }
        let _ = tokio::time::timeout(Duration::from_millis(100), self.stderr_reader).await;
        let bytes = self.stderr.lock().map(|bytes| bytes.clone()).unwrap_or_default();
        let stderr = self.recorder.redact_text(&String::from_utf8_lossy(&bytes));
        (evidence, stderr)
    }

    async fn shut_input(&self) {
        if self.input.lock().await.take().is_some() {
            self.recorder.mark(CONNECTION, Direction::ClientToServer, ConnectionEvent::ClosedByPeer, None);
        }
    }
}

async fn write(input: &Input, text: &str) -> Result<(), String> {
    write_bytes(input.lock().await.as_mut(), format!("{text}\n").as_bytes()).await
}

async fn write_bytes(stdin: Option<&mut ChildStdin>, bytes: &[u8]) -> Result<(), String> {
    let Some(stdin) = stdin else { return Err("the server's input is closed".to_owned()) };
    let written = async {
        stdin.write_all(bytes).await?;
        stdin.flush().await
    };
    written.await.map_err(|cause| format!("cannot write to the server: {cause}"))
}

async fn read(mut stdout: ChildStdout, modern: bool, recorder: Arc<TranscriptRecorder>, input: Input) {
    let mut lines = Lines::default();
    let mut chunk = vec![0; 64 << 10];
    let (mut fresh, mut silence) = (false, SILENCE);
    loop {
        // Only a message that nothing terminates waits for the silence.
        let count = if fresh && lines.pending() > 0 {
            tokio::time::timeout(silence, stdout.read(&mut chunk)).await.ok()
        } else {
            Some(stdout.read(&mut chunk).await)
        };
        let found = match count {
            None => {
                fresh = false;
                let found = lines.recover();
                if !found.is_empty() {
                    silence = LATER_SILENCE;
                }
                found
            }
            Some(Ok(count @ 1..)) => {
                fresh = true;
                lines.push(&chunk[..count])
            }
            Some(_) => break,
        };
        receive(found, modern, &recorder, &input).await;
        if lines.pending() > MAX_LINE {
            recorder.close("the server wrote a line of more than 16 MiB");
            return;
        }
    }
    receive(lines.finish(), modern, &recorder, &input).await;
    recorder.mark(CONNECTION, Direction::ServerToClient, ConnectionEvent::ClosedByServer, None);
    recorder.close("the server closed its output");
}

/// Records the output, and responds to requests.
async fn receive(found: Vec<Output>, modern: bool, recorder: &TranscriptRecorder, input: &Input) {
    for output in found {
        let value = match output {
            Output::Message(value) => value,
            Output::Recovered(value, text) => {
                recorder.text(CONNECTION, &text, None);
                value
            }
            Output::Text(text) => {
                recorder.text(CONNECTION, &text, None);
                continue;
            }
        };
        for request in recorder.message(CONNECTION, value, None).iter().filter(|_| !modern) {
            let Some(reply) = recorder.answer_to(request).map(|reply| reply.to_string()) else { continue };
            recorder.sent(CONNECTION, &reply, None);
            let _ = tokio::time::timeout(WRITE, write(input, &reply)).await;
        }
    }
}

async fn keep_the_end(mut stderr: ChildStderr, kept: Arc<std::sync::Mutex<Vec<u8>>>) {
    let mut chunk = [0; 1024];
    while let Ok(count @ 1..) = stderr.read(&mut chunk).await {
        let Ok(mut kept) = kept.lock() else { return };
        kept.extend_from_slice(&chunk[..count]);
        let surplus = kept.len().saturating_sub(MAX_STDERR);
        kept.drain(..surplus);
    }
}

pub(super) fn line(message: &Value) -> String {
    message.to_string()
}
