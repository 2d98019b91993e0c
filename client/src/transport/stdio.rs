//! One message per line over a pair of byte streams (2024-11-05 to 2026-07-28, transports, "stdio").

use std::{collections::VecDeque, sync::Arc, time::Duration};

use rmcp::{
    RoleClient,
    model::{ClientJsonRpcMessage, ServerJsonRpcMessage},
    transport::Transport,
};
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt},
    sync::{mpsc, oneshot},
    task::JoinHandle,
};

use super::lines::{Line, LineReader};
use crate::tracker::{Failure, RequestTracker};

/// Maximum number of messages that wait for a server that does not read.
const BACKLOG: usize = 4_096;
/// Maximum number of bytes in one write.
const BATCH_BYTES: usize = 64 * 1024;
/// Timeout for writing the last messages when the connection is closed.
const FLUSH_TIMEOUT: Duration = Duration::from_millis(200);

/// The reason why a message could not be written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StdioError {
    /// The message cannot be serialized.
    #[error("cannot serialize the message")]
    Encode(#[from] serde_json::Error),
    /// The server does not read its input.
    #[error("{BACKLOG} messages wait for a server that does not read its input")]
    Backlog,
    /// The server's input is closed.
    #[error("the server's input is closed")]
    Closed,
}

/// A line, and the notification that it was written.
type Job = (Vec<u8>, Option<oneshot::Sender<()>>);

/// Queue of lines that bypass rmcp. It does not keep the server's input open.
#[derive(Debug, Clone)]
pub(crate) struct LineQueue(mpsc::WeakSender<Job>);

impl LineQueue {
    /// Queues a message after all earlier ones.
    pub(crate) fn push(&self, message: Vec<u8>) -> Result<(), StdioError> {
        let queue = self.0.upgrade().ok_or(StdioError::Closed)?;
        push(&queue, message, None)
    }
}

fn push(
    queue: &mpsc::Sender<Job>,
    mut message: Vec<u8>,
    written: Option<oneshot::Sender<()>>,
) -> Result<(), StdioError> {
    // A newline in a JSON string is escaped, so each message is one line.
    message.push(b'\n');
    queue.try_send((message, written)).map_err(|error| match error {
        mpsc::error::TrySendError::Full(_) => StdioError::Backlog,
        mpsc::error::TrySendError::Closed(_) => StdioError::Closed,
    })
}

/// The stdio transport.
///
/// Messages are queued in the order of `send` and written by a separate task. Dropping a sender therefore never
/// truncates a message, and a cancellation never precedes its request.
#[derive(Debug)]
pub(crate) struct StdioTransport<R> {
    lines: LineReader<R>,
    read: VecDeque<ServerJsonRpcMessage>,
    queue: Option<mpsc::Sender<Job>>,
    writer: JoinHandle<()>,
    tracker: Arc<RequestTracker>,
}

impl<R: AsyncRead + Unpin + Send> StdioTransport<R> {
    pub(crate) fn new(
        reader: R,
        writer: impl AsyncWrite + Unpin + Send + 'static,
        tracker: Arc<RequestTracker>,
    ) -> Self {
        let (queue, jobs) = mpsc::channel(BACKLOG);
        Self {
            lines: LineReader::new(reader, tracker.limits.message_bytes),
            read: VecDeque::new(),
            queue: Some(queue),
            writer: tokio::spawn(write(writer, jobs)),
            tracker,
        }
    }

    fn enqueue(&self, message: &ClientJsonRpcMessage) -> Result<oneshot::Receiver<()>, StdioError> {
        let (written, confirmation) = oneshot::channel();
        let queue = self.queue.as_ref().ok_or(StdioError::Closed)?;
        push(queue, serde_json::to_vec(message)?, Some(written))?;
        Ok(confirmation)
    }

    /// The queue for lines that bypass rmcp.
    pub(crate) fn lines(&self) -> Option<LineQueue> {
        self.queue.as_ref().map(|queue| LineQueue(queue.downgrade()))
    }
}

async fn write(mut writer: impl AsyncWrite + Unpin, mut jobs: mpsc::Receiver<Job>) {
    let mut batch = Vec::new();
    let mut confirmations = Vec::new();
    while let Some((line, confirmation)) = jobs.recv().await {
        batch.extend_from_slice(&line);
        confirmations.extend(confirmation);
        while batch.len() < BATCH_BYTES
            && let Ok((line, confirmation)) = jobs.try_recv()
        {
            batch.extend_from_slice(&line);
            confirmations.extend(confirmation);
        }
        let written = async {
            writer.write_all(&batch).await?;
            writer.flush().await
        };
        if let Err(error) = written.await {
            // Dropping the confirmations notifies the senders. The reader detects the end of the connection.
            tracing::debug!(%error, "the server's input is closed");
            return;
        }
        batch.clear();
        for confirmation in confirmations.drain(..) {
            let _ = confirmation.send(());
        }
    }
}

impl<R: AsyncRead + Unpin + Send + 'static> Transport<RoleClient> for StdioTransport<R> {
    type Error = StdioError;

    fn send(
        &mut self,
        message: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let queued = self.enqueue(&message);
        async move { queued?.await.map_err(|_| StdioError::Closed) }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            if let Some(message) = self.read.pop_front() {
                return Some(message);
            }
            match self.lines.next().await {
                Ok(Some(Line::Whole(line))) => match line.trim_ascii() {
                    [] => continue,
                    line => self.read.extend(self.tracker.decode(line)),
                },
                // Only the call with this id fails.
                Ok(Some(Line::TooLong(json_scan))) => self.read.extend(self.tracker.too_long(json_scan.response_id())),
                Ok(None) => return None,
                Err(error) => {
                    self.tracker.fail(Failure::Protocol(error.to_string()));
                    return None;
                }
            }
            // Invalid lines without end must not block other tasks.
            if self.read.is_empty() {
                if self.tracker.closed.is_cancelled() {
                    return None;
                }
                tokio::task::consume_budget().await;
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.queue = None;
        // A server that does not read would keep the writer, and its own standard input, open forever.
        if tokio::time::timeout(FLUSH_TIMEOUT, &mut self.writer).await.is_err() {
            self.writer.abort();
        }
        Ok(())
    }
}

impl<R> Drop for StdioTransport<R> {
    fn drop(&mut self) {
        self.writer.abort();
    }
}
