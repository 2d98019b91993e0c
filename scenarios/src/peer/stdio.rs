//! The peer over stdio: a child process, with one message per line.

use std::{sync::Arc, time::Duration};

use evidence::{Body, ConnectionEvent, Direction};
use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    process::{ChildStderr, ChildStdin, ChildStdout},
    sync::Mutex,
    task::JoinHandle,
};

use crate::evidence::ProcessEvidence;

use super::{PeerError, ServerCommand, answer, process::ServerProcess, transcript::TranscriptRecorder};

/// Maximum length of a line; a longer one closes the connection.
const MAX_LINE: u64 = 16 << 20;
/// Number of bytes of standard error to keep, from its end.
const MAX_STDERR: usize = 8 << 10;
/// Timeout of writing a message.
const WRITE: Duration = Duration::from_secs(5);
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
        record_sent(&self.recorder, text);
        write(&self.input, text).await
    }

    /// Observes the processes, so that those that leave the tree later are known.
    pub(super) async fn observe(&self) {
        self.process.lock().await.observe();
    }

    /// Closes the server's input and waits for its exit. Returns whether it exited, and its code.
    pub(super) async fn close_input(&self, within: Duration) -> (bool, Option<i32>) {
        self.shut_input().await;
        let mut process = self.process.lock().await;
        (process.wait(within).await, process.code())
    }

    /// Terminates the server and all processes below it.
    pub(super) async fn end(self) -> (ProcessEvidence, String) {
        self.process.lock().await.observe();
        self.shut_input().await;
        let evidence = self.process.into_inner().end().await;
        // The streams end with the processes. The timeouts are for a process that escaped.
        let _ = tokio::time::timeout(Duration::from_millis(200), self.reader).await;
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

fn record_sent(recorder: &TranscriptRecorder, text: &str) {
    let body = serde_json::from_str(text).map_or_else(|_| Body::Text(text.to_owned()), Body::Json);
    recorder.record(CONNECTION, Direction::ClientToServer, body, None);
}

async fn write(input: &Input, text: &str) -> Result<(), String> {
    let mut guard = input.lock().await;
    let Some(stdin) = guard.as_mut() else { return Err("the server's input is closed".to_owned()) };
    let line = format!("{text}\n");
    let written = async {
        stdin.write_all(line.as_bytes()).await?;
        stdin.flush().await
    };
    match tokio::time::timeout(WRITE, written).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(cause)) => Err(format!("cannot write to the server: {cause}")),
        Err(_) => Err("the server does not read its input".to_owned()),
    }
}

async fn read(stdout: ChildStdout, modern: bool, recorder: Arc<TranscriptRecorder>, input: Input) {
    let mut lines = BufReader::new(stdout);
    let mut line = Vec::new();
    loop {
        line.clear();
        let count = (&mut lines).take(MAX_LINE).read_until(b'\n', &mut line).await.unwrap_or(0);
        if count == 0 {
            break;
        }
        let whole = line.last() == Some(&b'\n') || count < usize::try_from(MAX_LINE).unwrap_or(usize::MAX);
        let text = String::from_utf8_lossy(&line);
        let requests = recorder.receive(CONNECTION, text.trim_end_matches(['\n', '\r']), None);
        for request in requests.iter().filter(|_| !modern) {
            let reply = answer(request);
            record_sent(&recorder, &reply.to_string());
            let _ = write(&input, &reply.to_string()).await;
        }
        if !whole {
            recorder.close("the server wrote a line of more than 16 MiB");
            return;
        }
    }
    recorder.mark(CONNECTION, Direction::ServerToClient, ConnectionEvent::ClosedByServer, None);
    recorder.close("the server closed its output");
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
