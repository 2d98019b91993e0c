//! Reads messages, passes them to the engine, and writes its outputs.

use std::{
    ffi::OsString,
    io::{self, Write},
    sync::{Arc, Condvar, mpsc},
    thread,
    time::Duration,
};

use serde_json::Value;

use super::{
    ExitReason, UseCounter, child,
    lines::{Line, LineReader},
    output::Output,
    wake_timer::WakeTimer,
};
use crate::{
    conductor::{self, Conductor, Sink},
    engine::{self, DispatchId, Engine, Envelope, Origin, Step},
    faults::{Framed, ProcessAction, WriteFaults},
    script::{Exit, ProcessScript},
};
use evidence::{Body, ConnectionEvent, FrameParts, Recorder};

/// Maximum length of a message.
const MAX_LINE_BYTES: usize = 64 * 1024 * 1024;

/// A server on standard input and output.
pub(super) type StdioServer = Conductor<StdioSink>;
type Core = conductor::Core<StdioSink>;

/// The fixed part of a stdio server.
pub(super) struct StdioSink {
    wake_timer: WakeTimer,
    /// Notified after each wake-up.
    pub(super) woken: Condvar,
    recorder: Recorder,
    run: u64,
    origin: Origin,
}

/// The output of a stdio server, and its process.
pub(super) struct StdioState {
    /// The text around the values of the last simple call.
    envelope: Envelope,
    pub(super) output: Output,
    exits: mpsc::Sender<ExitReason>,
    child_arguments: Vec<OsString>,
    /// Present until the process is counted.
    uses: Option<UseCounter>,
}

impl StdioServer {
    pub(super) fn start(
        mut engine: Engine,
        recorder: Recorder,
        (run, uses): (u64, Option<UseCounter>),
        exits: mpsc::Sender<ExitReason>,
        child_arguments: Vec<OsString>,
    ) -> Arc<Self> {
        let origin = Origin::session(engine.open_session());
        let output = Output::new(recorder.clone(), run);
        let state = StdioState { envelope: Envelope::default(), output, exits, child_arguments, uses };
        let (wake_timer, woken) = (WakeTimer::default(), Condvar::new());
        Arc::new(Self::new(engine, StdioSink { wake_timer, woken, recorder, run, origin }, state))
    }

    /// Writes the script's texts for the start of the process.
    pub(super) fn write_banner(&self, process: &ProcessScript) {
        if let Some(text) = &process.stderr {
            let mut stderr = io::stderr().lock();
            let end = if text.ends_with('\n') { "" } else { "\n" };
            if let Err(cause) = write!(stderr, "{text}{end}") {
                tracing::debug!(%cause, "standard error is gone");
            }
        }
        if let Some(banner) = &process.banner {
            let mut core = self.lock();
            core.state.output.line(banner.clone());
            core.state.output.flush();
        }
    }

    /// Serves until the input ends.
    pub(super) fn serve(self: Arc<Self>) {
        let server = Arc::clone(&self);
        let waking = move || {
            loop {
                server.wake(server.sink.wake_timer.next(), ());
            }
        };
        if let Err(cause) = thread::Builder::new().name("wakes".into()).spawn(waking) {
            tracing::error!(%cause, "could not start the wake-up thread");
        }
        let mut lines = LineReader::new(io::stdin().lock(), MAX_LINE_BYTES);
        loop {
            match lines.next() {
                Ok(Some(_)) if self.sink.recorder.is_exhausted() => {
                    self.lock().state.exit(ExitReason::Exit(Exit::default()));
                    return;
                }
                Ok(Some(line)) => self.serve_line(&mut lines, line),
                Ok(None) => break,
                Err(cause) => {
                    tracing::debug!(%cause, "standard input failed");
                    break;
                }
            }
        }
        let mut core = self.lock();
        core.state.output.flush();
        core.state.exit(ExitReason::InputClosed);
    }

    /// Handles one line.
    fn serve_line(self: &Arc<Self>, lines: &mut LineReader<io::StdinLock<'_>>, line: Line) {
        let core = &mut *self.lock();
        let outputs = match line {
            Line::Whole(place) => match lines.bytes(place).trim_ascii() {
                b"" => self.receive_blank(),
                line if self.respond_fast(core, line) => Vec::new(),
                line => self.receive(core, line),
            },
            Line::TooLong(place) => self.receive_garbage(core, lines.bytes(place)),
        };
        self.execute(core, (), outputs);
        // If more messages are already here, their responses are written together with this one.
        if !lines.is_whole() {
            core.state.output.flush();
        }
    }

    /// Responds to a simple call if frames are not recorded; false if the call is not simple.
    fn respond_fast(&self, core: &mut Core, line: &[u8]) -> bool {
        if self.sink.recorder.is_enabled() || core.state.uses.is_some() {
            return false;
        }
        let StdioState { envelope, output, .. } = &mut core.state;
        let Some(call) = envelope.read(line) else { return false };
        output.in_place(|out| core.engine.respond_fast(self.sink.origin.session, &call, out))
    }

    fn receive(&self, core: &mut Core, line: &[u8]) -> Vec<engine::Output> {
        match serde_json::from_slice::<Value>(line) {
            Ok(message) => {
                let recorder = &self.sink.recorder;
                recorder.record_with(|| FrameParts::received(self.sink.run, Body::json(message.clone())));
                if let Some(run) = core.state.uses.as_ref().and_then(|uses| uses.count(&message)) {
                    core.state.uses = None;
                    core.engine.set_run(run);
                }
                core.input(|engine| engine.on_message(&self.sink.origin, &message)).outputs
            }
            Err(_) => self.receive_garbage(core, line),
        }
    }

    /// Records a blank line, which is not a message. Many servers skip it, so it has no response.
    fn receive_blank(&self) -> Vec<engine::Output> {
        self.sink.recorder.record_with(|| FrameParts::received(self.sink.run, Body::Text(String::new())));
        Vec::new()
    }

    fn receive_garbage(&self, core: &mut Core, line: &[u8]) -> Vec<engine::Output> {
        let text = || String::from_utf8_lossy(line).into_owned();
        self.sink.recorder.record_with(|| FrameParts::received(self.sink.run, Body::Text(text())));
        core.engine.on_garbage().outputs
    }
}

impl Sink for StdioSink {
    type State = StdioState;
    type Route = ();

    fn execute(_: &Arc<StdioServer>, core: &mut Core, (): (), output: engine::Output) {
        let state = &mut core.state;
        if let Some(shape) = &output.shape
            && state.execute_with_faults(&output.step, shape)
        {
            return;
        }
        match output.step {
            Step::Send(message) | Step::Response { message, .. } => state.output.message(message),
            Step::Raw(text) => state.output.line(text),
            // A pipe has no reset.
            Step::Close | Step::Reset => state.output.close(),
            Step::Exit(exit) => {
                state.output.finish();
                state.exit(ExitReason::Exit(exit));
            }
            Step::Process(action) => state.act(action),
            Step::End => state.output.release(),
            // These steps have no effect without HTTP.
            Step::Status(_)
            | Step::Open
            | Step::CloseStream(_)
            | Step::Respond(_)
            | Step::ExpireSession
            | Step::Wake(_) => {}
        }
    }

    fn after_wake(server: &Arc<StdioServer>, core: &mut Core) {
        core.state.output.flush();
        server.sink.woken.notify_all();
    }

    fn schedule(server: &Arc<StdioServer>, after: Duration, dispatch: DispatchId, (): ()) {
        server.sink.wake_timer.set(after, dispatch);
    }
}

impl StdioState {
    /// Writes a message with its faults; false for other steps.
    fn execute_with_faults(&mut self, step: &Step, shape: &WriteFaults) -> bool {
        let (text, said) = match step {
            Step::Send(message) | Step::Response { message, .. } => (message.to_string(), Body::json(message.clone())),
            Step::Raw(text) => (text.clone(), Body::Text(text.clone())),
            _ => return false,
        };
        self.output.shaped(shape.render(text.into_bytes(), said, Framed::line));
        true
    }

    /// Executes an action of the process.
    fn act(&mut self, action: ProcessAction) {
        match action {
            ProcessAction::Stderr { bytes } => {
                self.output.flush();
                flood(bytes);
            }
            // Not zero, so that every page is used.
            ProcessAction::Leak { bytes } => drop(vec![1_u8; bytes].leak()),
            ProcessAction::IgnoreSigterm => self.exit(ExitReason::IgnoreSigterm),
            ProcessAction::Start(script) => match child::spawn(&script, &self.child_arguments) {
                Ok(()) => self.output.mark(ConnectionEvent::ChildStarted),
                Err(cause) => tracing::error!(%cause, "the child of the script could not be started"),
            },
        }
    }

    fn exit(&self, reason: ExitReason) {
        // The receiver is dropped if the process is already exiting.
        if self.exits.send(reason).is_err() {
            tracing::debug!("the process is exiting already");
        }
    }
}

/// Writes this many bytes to standard error, in lines. The fault is that this blocks if the client does not read.
fn flood(bytes: usize) {
    const LINE: [u8; 80] = {
        let mut line = [b'.'; 80];
        line[79] = b'\n';
        line
    };
    let mut stderr = io::stderr().lock();
    let mut left = bytes;
    while left > 0 {
        // The last line is cut at its beginning, so that it ends like the others.
        let line = &LINE[LINE.len().saturating_sub(left)..];
        if let Err(cause) = stderr.write_all(line) {
            tracing::debug!(%cause, "standard error is gone");
            return;
        }
        left -= line.len();
    }
}
