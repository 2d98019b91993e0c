//! A server on a byte stream in this process: the framing of stdio, without a process.
//!
//! Process settings of a script have no effect; everything else works as over stdio.

use std::{
    fmt,
    sync::{Arc, OnceLock},
    time::Duration,
};

use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, ReadHalf, WriteHalf},
    sync::{Notify, mpsc, watch},
    task::JoinHandle,
};

use crate::{
    conductor::{self, Conductor, Sink},
    engine::{self, Engine, Origin, Step},
    faults::{Chunk, Exit, Finish, Framed, WriteFaults},
    listen::fault_control::FaultHandle,
};
use evidence::{Body, ConnectionEvent, FrameParts, Recorder};

/// Size of the buffer of each direction.
const PIPE: usize = 64 * 1024;
/// Maximum length of a message.
const MAX_LINE_BYTES: u64 = 64 * 1024 * 1024;

/// Grace period of the last messages.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(2);

/// A running server. Dropping it ends its stream.
pub(super) struct DuplexMock {
    shared: Arc<Shared>,
    faults: FaultHandle,
    /// Whether the client has disconnected, and whether the server has ended.
    ended: watch::Receiver<bool>,
    reading: JoinHandle<()>,
    writing: JoinHandle<()>,
}

/// Job of the writer.
#[derive(Debug)]
enum Job {
    Write(Vec<u8>),
    Wait(Duration),
    Close,
}

type Shared = Conductor<DuplexSink>;
type Core = conductor::Core<DuplexSink>;

/// The fixed part of an in-memory server.
struct DuplexSink {
    recorder: Recorder,
    origin: Origin,
    ended: watch::Sender<bool>,
    /// The exit of the process that the script requires, if it has stopped the server.
    exit: OnceLock<Exit>,
    /// Notified after each wake-up.
    woken: Notify,
}

/// The output of an in-memory server.
struct DuplexState {
    jobs: mpsc::UnboundedSender<Job>,
    closed: bool,
    /// Bytes to be written together with the next message.
    held: Vec<u8>,
}

impl fmt::Debug for DuplexMock {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("DuplexMock").finish_non_exhaustive()
    }
}

impl DuplexMock {
    /// Starts a server; also returns the client's end.
    pub(super) fn start(mut engine: Engine, recorder: Recorder) -> (Self, DuplexStream) {
        let (ours, theirs) = tokio::io::duplex(PIPE);
        let (input, output) = tokio::io::split(ours);
        let (jobs, queue) = mpsc::unbounded_channel();
        let (sender, ended) = watch::channel(false);
        let origin = Origin::session(engine.open_session());
        recorder.record(FrameParts::event(1, ConnectionEvent::Opened));
        let sink = DuplexSink { recorder, origin, ended: sender, exit: OnceLock::new(), woken: Notify::new() };
        let state = DuplexState { jobs, closed: false, held: Vec::new() };
        let shared = Arc::new(Shared::new(engine, sink, state));
        let faults = FaultHandle::new(&shared);
        let reading = tokio::spawn(read(Arc::clone(&shared), input));
        let writing = tokio::spawn(write(output, queue));
        (Self { shared, faults, ended, reading, writing }, theirs)
    }

    pub(super) fn faults(&self) -> &FaultHandle {
        &self.faults
    }

    /// Waits until the client has disconnected or the server has ended, or for this time.
    pub(super) async fn until_idle(&self, limit: Duration) {
        // A timeout is an expected result.
        let _ = tokio::time::timeout(limit, self.stopped()).await;
    }

    /// Waits until the client has disconnected or the server has ended.
    pub(super) async fn stopped(&self) {
        // An error means that the reader has ended.
        let _ = self.ended.clone().wait_for(|ended| *ended).await;
    }

    /// The exit of the process that the script requires, if it has stopped the server.
    pub(super) fn exit(&self) -> Option<Exit> {
        self.shared.sink.exit.get().cloned()
    }

    /// Closes the stream gracefully, and returns when the client has read everything, or after the grace period.
    pub(super) async fn stop(mut self) {
        self.reading.abort();
        self.shared.lock().pending.set_deadline(SHUTDOWN_TIMEOUT);
        // Messages that are not sent by then are dropped.
        let _ = tokio::time::timeout(SHUTDOWN_TIMEOUT, self.shared.until_all_is_sent()).await;
        self.shared.close_all();
        match tokio::time::timeout(SHUTDOWN_TIMEOUT, &mut self.writing).await {
            Ok(Ok(())) => {}
            Ok(Err(cause)) => tracing::warn!(%cause, "the server's task failed"),
            Err(_) => self.writing.abort(),
        }
    }
}

impl Drop for DuplexMock {
    fn drop(&mut self) {
        self.reading.abort();
        // The writer ends after its last job.
        self.shared.close_all();
    }
}

async fn read(shared: Arc<Shared>, input: ReadHalf<DuplexStream>) {
    let mut input = BufReader::new(input);
    let mut line = Vec::new();
    loop {
        line.clear();
        match (&mut input).take(MAX_LINE_BYTES).read_until(b'\n', &mut line).await {
            Ok(0) => break,
            Ok(_) => shared.receive(line.trim_ascii()),
            Err(cause) => {
                tracing::debug!(%cause, "the stream failed");
                break;
            }
        }
    }
    shared.sink.recorder.record(FrameParts::event(1, ConnectionEvent::ClosedByPeer));
    shared.sink.ended.send_replace(true);
}

async fn write(mut output: WriteHalf<DuplexStream>, mut queue: mpsc::UnboundedReceiver<Job>) {
    while let Some(job) = queue.recv().await {
        let done = match job {
            Job::Write(bytes) => output.write_all(&bytes).await,
            Job::Wait(time) => {
                tokio::time::sleep(time).await;
                Ok(())
            }
            Job::Close => {
                if let Err(cause) = output.shutdown().await {
                    tracing::debug!(%cause, "the client is gone");
                }
                return;
            }
        };
        if let Err(cause) = done {
            tracing::debug!(%cause, "the client is gone");
            return;
        }
    }
}

impl Shared {
    fn receive(self: &Arc<Self>, line: &[u8]) {
        if line.is_empty() {
            return;
        }
        let message = serde_json::from_slice::<Value>(line).ok();
        let text = || Body::Text(String::from_utf8_lossy(line).into_owned());
        self.sink.recorder.record_with(|| FrameParts::received(1, message.clone().map_or_else(text, Body::json)));
        let core = &mut *self.lock();
        let output = core.input(|engine| match &message {
            Some(message) => engine.on_message(&self.sink.origin, message),
            None => engine.on_garbage(),
        });
        self.execute(core, (), output.outputs);
    }

    /// Writes a message with its faults.
    fn send(&self, state: &mut DuplexState, text: String, body: Body, shape: Option<&WriteFaults>) {
        if state.closed {
            return;
        }
        let recorder = &self.sink.recorder;
        let Some(shape) = shape else {
            // Recorded before it is written: the reaction of a fast client must not precede it in the record.
            recorder.record(FrameParts::sent(1, body));
            let end = if text.ends_with('\n') { "" } else { "\n" };
            state.write(format!("{text}{end}").as_bytes());
            state.release();
            return;
        };
        let rendered = shape.render(text.into_bytes(), body, Framed::line);
        recorder.record(FrameParts::sent(1, rendered.body));
        for Chunk { after, bytes } in rendered.chunks {
            if !after.is_zero() {
                state.release();
                state.queue(Job::Wait(after));
            }
            state.write(&bytes);
            if !rendered.hold {
                state.release();
            }
        }
        if !matches!(rendered.finish, Finish::Keep) {
            self.close(state);
        }
    }

    /// Waits until no wake-up before the deadline has pending work.
    async fn until_all_is_sent(&self) {
        loop {
            let woken = self.sink.woken.notified();
            {
                let core = self.lock();
                if core.state.closed || core.pending.before_deadline(&core.engine).next().is_none() {
                    return;
                }
            }
            woken.await;
        }
    }

    /// Ends every subscription, and then the stream.
    fn close_all(self: &Arc<Self>) {
        let core = &mut *self.lock();
        self.end_subscriptions(core, ());
        self.close(&mut core.state);
    }

    fn close(&self, state: &mut DuplexState) {
        state.release();
        if !state.closed {
            state.closed = true;
            state.queue(Job::Close);
            self.sink.recorder.record(FrameParts::event(1, ConnectionEvent::ClosedByServer));
        }
    }
}

impl Sink for DuplexSink {
    type State = DuplexState;
    type Route = ();

    fn execute(server: &Arc<Shared>, core: &mut Core, (): (), output: engine::Output) {
        let (state, shape) = (&mut core.state, output.shape.as_deref());
        match output.step {
            Step::Send(message) | Step::Response { message, .. } => {
                server.send(state, message.to_string(), Body::json(message), shape);
            }
            Step::Raw(text) => server.send(state, text.clone(), Body::Text(text), shape),
            Step::Close | Step::Reset => server.close(state),
            Step::Exit(exit) => {
                server.close(state);
                server.sink.recorder.record(FrameParts::event(1, ConnectionEvent::Exit));
                server.sink.exit.get_or_init(|| exit);
                server.sink.ended.send_replace(true);
            }
            Step::End => state.release(),
            // These steps have no effect without HTTP or a process.
            Step::Status(_)
            | Step::Open
            | Step::CloseStream(_)
            | Step::Respond(_)
            | Step::ExpireSession
            | Step::Process(_)
            | Step::Wake(_) => {}
        }
    }

    fn after_wake(server: &Arc<Shared>, _: &mut Core) {
        server.sink.woken.notify_one();
    }
}

impl DuplexState {
    fn write(&mut self, bytes: &[u8]) {
        self.held.extend_from_slice(bytes);
    }

    /// Queues the bytes written so far.
    fn release(&mut self) {
        if !self.held.is_empty() {
            let bytes = std::mem::take(&mut self.held);
            self.queue(Job::Write(bytes));
        }
    }

    fn queue(&self, job: Job) {
        if self.jobs.send(job).is_err() {
            tracing::debug!("the client disconnected");
        }
    }
}
