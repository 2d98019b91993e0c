//! A server at the other end of a byte stream in this process: the wire of stdio, without a process.
//!
//! What a script says about processes has no meaning here and is left out; everything else is played as over stdio.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::{Duration, Instant},
};

use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, ReadHalf, WriteHalf},
    sync::{Notify, mpsc, watch},
    task::JoinHandle,
};

use crate::{
    awaited::Awaited,
    engine::{self, Engine, ExchangeId, Origin, Step, Target},
    faults::{Exit, FaultState, Finish, Framed, Piece, Shape},
    frame::{Body, Mark},
    listen::switch::{FaultSwitch, Switchboard},
    record::{Recorder, Sighting},
};

/// How much may be on the way in each direction before the writer waits.
const PIPE: usize = 64 * 1024;
/// The longest line that is read as one message.
const LONGEST_LINE: u64 = 64 * 1024 * 1024;

/// How long what is said in the end may take to be read.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// A running server. Dropping it ends its stream.
pub(super) struct DuplexMock {
    shared: Arc<Shared>,
    faults: FaultSwitch,
    /// Whether the client has hung up, and whether the server has ended.
    ended: watch::Receiver<bool>,
    exit: Arc<OnceLock<Exit>>,
    reading: JoinHandle<()>,
    writing: JoinHandle<()>,
}

/// What a writer does.
#[derive(Debug)]
enum Job {
    Write(Vec<u8>),
    Wait(Duration),
    Close,
}

struct Shared {
    state: Mutex<State>,
    recorder: Recorder,
    origin: Origin,
    ended: watch::Sender<bool>,
    /// How the script wants the server's process to end.
    exit: Arc<OnceLock<Exit>>,
    /// Somebody was woken.
    woken: Notify,
}

struct State {
    engine: Engine,
    jobs: mpsc::UnboundedSender<Job>,
    closed: bool,
    /// What waits for the next message, to be written together with it.
    held: Vec<u8>,
    awaited: Awaited,
}

impl fmt::Debug for DuplexMock {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("DuplexMock").finish_non_exhaustive()
    }
}

impl DuplexMock {
    /// Starts a server; what comes back is the client's end.
    pub(super) fn start(mut engine: Engine, recorder: Recorder) -> (Self, DuplexStream) {
        let (ours, theirs) = tokio::io::duplex(PIPE);
        let (input, output) = tokio::io::split(ours);
        let (jobs, queue) = mpsc::unbounded_channel();
        let (sender, ended) = watch::channel(false);
        let origin = Origin::session(engine.open_session());
        let state = Mutex::new(State { engine, jobs, closed: false, held: Vec::new(), awaited: Awaited::default() });
        recorder.record(Sighting::mark(1, Mark::Opened));
        let exit = Arc::default();
        let woken = Notify::new();
        let shared = Arc::new(Shared { state, recorder, origin, ended: sender, exit: Arc::clone(&exit), woken });
        let faults = FaultSwitch::of(&shared);
        let reading = tokio::spawn(read(Arc::clone(&shared), input));
        let writing = tokio::spawn(write(output, queue));
        (Self { shared, faults, ended, exit, reading, writing }, theirs)
    }

    pub(super) fn faults(&self) -> &FaultSwitch {
        &self.faults
    }

    /// Returns when the client has hung up or the server has ended, and after this time at the latest.
    pub(super) async fn until_idle(&self, limit: Duration) {
        // A limit that passes is an answer like any other.
        let _ = tokio::time::timeout(limit, self.stopped()).await;
    }

    /// Returns when the client has hung up or the server has ended.
    pub(super) async fn stopped(&self) {
        // An error means that the reader is gone, which is an end as well.
        let _ = self.ended.clone().wait_for(|ended| *ended).await;
    }

    /// How the script wants the server's process to end; none if it has not said so.
    pub(super) fn exit(&self) -> Option<Exit> {
        self.exit.get().cloned()
    }

    /// Ends the stream in good order, and returns when the client has read the last of it, or does not.
    pub(super) async fn stop(mut self) {
        self.reading.abort();
        self.shared.lock().awaited.end_after(LAST_WORDS);
        // What is not said by then is not said at all.
        let _ = tokio::time::timeout(LAST_WORDS, self.shared.until_all_is_said()).await;
        self.shared.bid_farewell();
        match tokio::time::timeout(LAST_WORDS, &mut self.writing).await {
            Ok(Ok(())) => {}
            Ok(Err(cause)) => tracing::warn!(%cause, "the server's task failed"),
            Err(_) => self.writing.abort(),
        }
    }
}

impl Drop for DuplexMock {
    fn drop(&mut self) {
        self.reading.abort();
        // The writer ends by itself once this is out.
        self.shared.bid_farewell();
    }
}

async fn read(shared: Arc<Shared>, input: ReadHalf<DuplexStream>) {
    let mut input = BufReader::new(input);
    let mut line = Vec::new();
    loop {
        line.clear();
        match (&mut input).take(LONGEST_LINE).read_until(b'\n', &mut line).await {
            Ok(0) => break,
            Ok(_) => shared.receive(line.trim_ascii()),
            Err(cause) => {
                tracing::debug!(%cause, "the stream failed");
                break;
            }
        }
    }
    shared.recorder.record(Sighting::mark(1, Mark::ClosedByPeer));
    shared.ended.send_replace(true);
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
    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic elsewhere cannot leave the state half-changed in a way that matters to a mock: it goes on.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn receive(self: &Arc<Self>, line: &[u8]) {
        if line.is_empty() {
            return;
        }
        let message = serde_json::from_slice::<Value>(line).ok();
        let text = || Body::Text(String::from_utf8_lossy(line).into_owned());
        self.recorder.record_with(|| Sighting::received(1, message.clone().map_or_else(text, Body::Json)));
        let mut state = self.lock();
        state.engine.is_now(Instant::now());
        let reaction = match &message {
            Some(message) => state.engine.on_message(&self.origin, message),
            None => state.engine.on_garbage(),
        };
        self.play(&mut state, reaction.outputs);
    }

    fn play(self: &Arc<Self>, state: &mut State, outputs: Vec<engine::Output>) {
        for output in outputs {
            match (output.step, output.to) {
                (Step::Send(message) | Step::Answer { message, .. }, _) => {
                    self.say(state, message.to_string(), Body::Json(message), output.shape.as_deref());
                }
                (Step::Raw(text), _) => self.say(state, text.clone(), Body::Text(text), output.shape.as_deref()),
                (Step::Wake(after), Target::Exchange(exchange)) => {
                    state.awaited.set(exchange, after);
                    self.wake_later(after, exchange);
                }
                (Step::Close | Step::Reset, _) => self.close(state),
                (Step::Exit(exit), _) => {
                    self.close(state);
                    self.recorder.record(Sighting::mark(1, Mark::Exit));
                    self.exit.get_or_init(|| exit);
                    self.ended.send_replace(true);
                }
                (Step::End, _) => state.release(),
                // What belongs to HTTP or to a process has no place here.
                _ => {}
            }
        }
    }

    /// Writes a message, as its faults want it.
    fn say(&self, state: &mut State, text: String, said: Body, shape: Option<&Shape>) {
        if state.closed {
            return;
        }
        let Some(shape) = shape else {
            // Recorded before it is sent: what a fast client says in return must not come before it in the record.
            self.recorder.record(Sighting::sent(1, said));
            let end = if text.ends_with('\n') { "" } else { "\n" };
            state.write(format!("{text}{end}").as_bytes());
            state.release();
            return;
        };
        let rendered = shape.render(text.into_bytes(), said, Framed::line);
        self.recorder.record(Sighting::sent(1, rendered.said));
        for Piece { after, bytes } in rendered.pieces {
            if !after.is_zero() {
                state.release();
                state.leave(Job::Wait(after));
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

    /// Returns when nobody waits for an answer that will come by itself.
    async fn until_all_is_said(&self) {
        loop {
            let news = self.woken.notified();
            {
                let state = self.lock();
                if state.closed || state.awaited.worth_waiting(&state.engine).next().is_none() {
                    return;
                }
            }
            news.await;
        }
    }

    /// Ends every subscription, and then the stream.
    fn bid_farewell(self: &Arc<Self>) {
        let mut state = self.lock();
        let outputs = state.engine.end_subscriptions();
        self.play(&mut state, outputs);
        self.close(&mut state);
    }

    fn close(&self, state: &mut State) {
        state.release();
        if !state.closed {
            state.closed = true;
            state.leave(Job::Close);
            self.recorder.record(Sighting::mark(1, Mark::ClosedByServer));
        }
    }

    fn wake_later(self: &Arc<Self>, after: Duration, exchange: ExchangeId) {
        let shared = Arc::downgrade(self);
        tokio::spawn(async move {
            tokio::time::sleep(after).await;
            if let Some(shared) = shared.upgrade() {
                let mut state = shared.lock();
                state.awaited.come(exchange);
                state.engine.is_now(Instant::now());
                let outputs = state.engine.on_wake(exchange);
                shared.play(&mut state, outputs);
                shared.woken.notify_one();
            }
        });
    }
}

impl State {
    fn write(&mut self, bytes: &[u8]) {
        self.held.extend_from_slice(bytes);
    }

    /// Hands over what is there.
    fn release(&mut self) {
        if !self.held.is_empty() {
            let bytes = std::mem::take(&mut self.held);
            self.leave(Job::Write(bytes));
        }
    }

    fn leave(&self, job: Job) {
        if self.jobs.send(job).is_err() {
            tracing::debug!("the client is gone");
        }
    }
}

impl Switchboard for Shared {
    fn switch(&self, name: &str, enabled: bool) -> bool {
        self.lock().engine.switch(name, enabled)
    }

    fn faults(&self) -> Vec<FaultState> {
        self.lock().engine.faults()
    }

    fn reset(&self) {
        self.lock().engine.reset();
    }
}
