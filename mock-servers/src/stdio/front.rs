//! Reads messages, hands them to the engine, and plays what it says.

use std::{
    ffi::OsString,
    io::{self, Write},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc},
    thread,
    time::Instant,
};

use serde_json::Value;

use super::{
    Ending, child,
    lines::{Line, Lines},
    output::Output,
    parting::Parting,
    wakes::Wakes,
};
use crate::{
    awaited::Awaited,
    engine::{self, Deed, Engine, Envelope, Origin, Step, Target},
    faults::{Framed, Shape},
    frame::{Body, Mark},
    record::{Recorder, Sighting},
    script::ProcessScript,
};

/// The longest line that is read as one message.
const LONGEST_LINE: usize = 64 * 1024 * 1024;

/// The server behind standard input and output.
pub(super) struct Front {
    state: Arc<Mutex<State>>,
    wakes: Arc<Wakes>,
    /// Somebody was woken.
    woken: Arc<Condvar>,
    recorder: Recorder,
    run: u64,
    origin: Origin,
}

pub(super) struct State {
    pub(super) engine: Engine,
    /// What stood around the values of the last plain call.
    envelope: Envelope,
    pub(super) output: Output,
    pub(super) awaited: Awaited,
    endings: mpsc::Sender<Ending>,
    child_arguments: Vec<OsString>,
}

impl Front {
    pub(super) fn new(
        mut engine: Engine,
        recorder: Recorder,
        run: u64,
        endings: mpsc::Sender<Ending>,
        child_arguments: Vec<OsString>,
    ) -> Self {
        let origin = Origin::session(engine.open_session());
        let output = Output::new(recorder.clone(), run);
        let (envelope, awaited) = (Envelope::default(), Awaited::default());
        let state = Arc::new(Mutex::new(State { engine, envelope, output, awaited, endings, child_arguments }));
        Self { state, wakes: Arc::default(), woken: Arc::default(), recorder, run, origin }
    }

    /// What ends this front in good order.
    pub(super) fn parting(&self) -> Parting {
        Parting { state: Arc::clone(&self.state), wakes: Arc::clone(&self.wakes), woken: Arc::clone(&self.woken) }
    }

    /// Says what the process says before it serves.
    pub(super) fn greet(&self, process: &ProcessScript) {
        if let Some(text) = &process.stderr {
            let mut stderr = io::stderr().lock();
            let end = if text.ends_with('\n') { "" } else { "\n" };
            if let Err(cause) = write!(stderr, "{text}{end}") {
                tracing::debug!(%cause, "standard error is gone");
            }
        }
        if let Some(banner) = &process.banner {
            let mut state = lock(&self.state);
            state.output.line(banner.clone());
            state.output.flush();
        }
    }

    /// Serves until the input ends.
    pub(super) fn serve(self) {
        let (state, wakes, woken) = (Arc::clone(&self.state), Arc::clone(&self.wakes), Arc::clone(&self.woken));
        let waking = move || {
            loop {
                let exchange = wakes.next();
                let mut state = lock(&state);
                state.awaited.come(exchange);
                state.engine.is_now(Instant::now());
                let outputs = state.engine.on_wake(exchange);
                state.play(outputs, &wakes);
                state.output.flush();
                woken.notify_all();
            }
        };
        if let Err(cause) = thread::Builder::new().name("wakes".into()).spawn(waking) {
            tracing::error!(%cause, "no thread for delayed answers");
        }
        let mut lines = Lines::new(io::stdin().lock(), LONGEST_LINE);
        loop {
            match lines.next() {
                Ok(Some(line)) => self.serve_line(&mut lines, line),
                Ok(None) => break,
                Err(cause) => {
                    tracing::debug!(%cause, "standard input failed");
                    break;
                }
            }
        }
        let mut state = lock(&self.state);
        state.output.flush();
        state.end(Ending::InputClosed);
    }

    /// Answers one line.
    fn serve_line(&self, lines: &mut Lines<io::StdinLock<'_>>, line: Line) {
        let mut state = lock(&self.state);
        match line {
            Line::Whole(place) => {
                let line = lines.bytes(place).trim_ascii();
                if !line.is_empty() && !self.answer_plain(&mut state, line) {
                    let outputs = self.receive(&mut state, line);
                    state.play(outputs, &self.wakes);
                }
            }
            Line::TooLong(place) => {
                let outputs = self.receive_garbage(&mut state, lines.bytes(place));
                state.play(outputs, &self.wakes);
            }
        }
        // While more messages are already here, their answers go out together with this one.
        if !lines.is_whole() {
            state.output.flush();
        }
    }

    /// Answers a plain call that nobody wants recorded; false if it is none.
    fn answer_plain(&self, state: &mut State, line: &[u8]) -> bool {
        if self.recorder.is_enabled() {
            return false;
        }
        let State { engine, envelope, output, .. } = state;
        let Some(call) = envelope.read(line) else { return false };
        output.in_place(|out| engine.answer_plain(self.origin.session, &call, out))
    }

    fn receive(&self, state: &mut State, line: &[u8]) -> Vec<engine::Output> {
        match serde_json::from_slice::<Value>(line) {
            Ok(message) => {
                self.recorder.record_with(|| Sighting::received(self.run, Body::Json(message.clone())));
                state.engine.is_now(Instant::now());
                state.engine.on_message(&self.origin, &message).outputs
            }
            Err(_) => self.receive_garbage(state, line),
        }
    }

    fn receive_garbage(&self, state: &mut State, line: &[u8]) -> Vec<engine::Output> {
        let text = || String::from_utf8_lossy(line).into_owned();
        self.recorder.record_with(|| Sighting::received(self.run, Body::Text(text())));
        state.engine.on_garbage().outputs
    }
}

impl State {
    pub(super) fn play(&mut self, outputs: Vec<engine::Output>, wakes: &Wakes) {
        for output in outputs {
            if let Some(shape) = &output.shape
                && self.play_shaped(&output.step, shape)
            {
                continue;
            }
            match (output.step, output.to) {
                (Step::Send(message) | Step::Answer { message, .. }, _) => self.output.message(message),
                (Step::Raw(text), _) => self.output.line(text),
                (Step::Wake(after), Target::Exchange(exchange)) => {
                    self.awaited.set(exchange, after);
                    wakes.set(after, exchange);
                }
                // A pipe knows no reset.
                (Step::Close | Step::Reset, _) => self.output.close(),
                (Step::Exit(exit), _) => {
                    self.output.finish();
                    self.end(Ending::Exit(exit));
                }
                (Step::Process(deed), _) => self.act(deed),
                (Step::End, _) => self.output.release(),
                // What belongs to HTTP has no place here.
                (
                    Step::Status(_)
                    | Step::Open
                    | Step::CloseStream(_)
                    | Step::Respond(_)
                    | Step::ExpireSession
                    | Step::Wake(_),
                    _,
                ) => {}
            }
        }
    }

    /// Writes a message as these faults want it; false if it is none.
    fn play_shaped(&mut self, step: &Step, shape: &Shape) -> bool {
        let (text, said) = match step {
            Step::Send(message) | Step::Answer { message, .. } => (message.to_string(), Body::Json(message.clone())),
            Step::Raw(text) => (text.clone(), Body::Text(text.clone())),
            _ => return false,
        };
        self.output.shaped(shape.render(text.into_bytes(), said, Framed::line));
        true
    }

    /// Does something that a process does besides speaking.
    fn act(&mut self, deed: Deed) {
        match deed {
            Deed::Stderr { bytes } => {
                self.output.flush();
                flood(bytes);
            }
            Deed::IgnoreSigterm => self.end(Ending::Deaf),
            Deed::Start(script) => match child::spawn(&script, &self.child_arguments) {
                Ok(()) => self.output.mark(Mark::ChildStarted),
                Err(cause) => tracing::error!(%cause, "the child of the script could not be started"),
            },
        }
    }

    fn end(&self, ending: Ending) {
        // Nobody listens any more when the process is already about to end.
        if self.endings.send(ending).is_err() {
            tracing::debug!("the process is ending already");
        }
    }
}

/// Writes this many bytes to standard error, in lines. When nobody reads it, this never returns: that is the fault.
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

/// A panic elsewhere cannot leave the state half-changed in a way that matters to a mock: it goes on.
pub(super) fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
