//! Standard output: complete messages in batches.

use std::{
    fs::OpenOptions,
    io::{self, Write},
    sync::mpsc,
    thread,
    time::Duration,
};

use serde_json::Value;

use crate::faults::{Chunk, Finish, WritePlan};
use evidence::{Body, ConnectionEvent, FrameParts, Recorder};

/// When a batch is written out even though more is to come.
const MAX_BATCH_BYTES: usize = 64 * 1024;

/// Pending bytes of standard output. The holder of the lock is the only writer.
#[derive(Debug)]
pub(super) struct Output {
    batch: Vec<u8>,
    recorder: Recorder,
    run: u64,
    closed: bool,
    /// Whether what is there waits for what follows.
    held: bool,
    /// Who writes from the first message on that takes its time.
    slow: Option<mpsc::Sender<Job>>,
}

/// What a slow writer does.
#[derive(Debug)]
enum Job {
    Write(Vec<u8>),
    Wait(Duration),
    Close,
    /// Tell that everything before this is done.
    Tell(mpsc::Sender<()>),
}

impl Output {
    pub(super) fn new(recorder: Recorder, run: u64) -> Self {
        Self { batch: Vec::new(), recorder, run, closed: false, held: false, slow: None }
    }

    /// Notes that something has happened to the process.
    pub(super) fn mark(&self, mark: ConnectionEvent) {
        self.recorder.record(FrameParts::event(self.run, mark));
    }

    /// Adds a message as faults want it written.
    pub(super) fn shaped(&mut self, rendered: WritePlan) {
        if self.closed {
            return;
        }
        self.recorder.record_with(|| FrameParts::sent(self.run, rendered.body));
        let in_pieces = rendered.chunks.len() > 1;
        for Chunk { after, bytes } in rendered.chunks {
            if !after.is_zero() {
                self.flush();
                self.wait(after);
            }
            self.add(&bytes);
            if in_pieces && !rendered.hold {
                self.flush();
            }
        }
        self.held = rendered.hold;
        // What ends a connection ends this one, in whatever manner: a pipe knows no other.
        if !matches!(rendered.finish, Finish::Keep) {
            self.close();
        }
    }

    /// Lets go of what waits for what follows.
    pub(super) fn release(&mut self) {
        self.held = false;
    }

    /// Leaves all writing from here on to a thread of its own, and lets it wait: the server goes on reading.
    fn wait(&mut self, time: Duration) {
        if self.slow.is_none() {
            let (sender, jobs) = mpsc::channel();
            let (recorder, run) = (self.recorder.clone(), self.run);
            let writing = move || jobs.into_iter().for_each(|job| work(job, &recorder, run));
            match thread::Builder::new().name("slow-output".into()).spawn(writing) {
                Ok(_) => self.slow = Some(sender),
                Err(cause) => return tracing::error!(%cause, "no thread for slow messages"),
            }
        }
        self.leave(Job::Wait(time));
    }

    /// Leaves a job to the slow writer, if there is one.
    fn leave(&self, job: Job) -> bool {
        self.slow.as_ref().is_some_and(|slow| slow.send(job).is_ok())
    }

    /// Adds a message.
    pub(super) fn message(&mut self, message: Value) {
        if self.closed {
            return;
        }
        // A JSON value always has a text: its keys are strings.
        let text = serde_json::to_vec(&message).unwrap_or_default();
        // Recorded before it is sent: what a fast client says in return must not come before it in the record.
        self.recorder.record_with(|| FrameParts::sent(self.run, Body::Json(message)));
        self.held = false;
        self.add(&text);
        self.add(b"\n");
    }

    /// Adds a message that is written in its place; false if none was, which leaves everything as it is.
    pub(super) fn in_place(&mut self, write: impl FnOnce(&mut Vec<u8>) -> bool) -> bool {
        let written = !self.closed && write(&mut self.batch);
        if written {
            self.held = false;
            self.add(b"\n");
        }
        written
    }

    /// Adds text, and the end of the line where it has none.
    pub(super) fn line(&mut self, text: String) {
        self.text(if text.ends_with('\n') { text } else { text + "\n" });
    }

    /// Adds text as it is.
    pub(super) fn text(&mut self, text: String) {
        if self.closed {
            return;
        }
        self.held = false;
        self.add(text.as_bytes());
        self.recorder.record_with(|| FrameParts::sent(self.run, Body::Text(text)));
    }

    /// Writes out what is there, and nothing ever after: the process is about to end.
    pub(super) fn finish(&mut self) {
        self.release();
        self.flush();
        let (done, end) = mpsc::channel();
        // An error means that the writer is gone, and with it the wait for it.
        if self.leave(Job::Tell(done)) && end.recv().is_err() {
            tracing::debug!("the slow writer is gone");
        }
        self.closed = true;
    }

    fn add(&mut self, bytes: &[u8]) {
        self.batch.extend_from_slice(bytes);
        if self.batch.len() > MAX_BATCH_BYTES {
            self.flush();
        }
    }

    /// Writes the pending bytes. A disconnected client is detected at the end of the input.
    pub(super) fn flush(&mut self) {
        if self.batch.is_empty() || self.held {
            return;
        }
        if self.slow.is_some() {
            let batch = std::mem::take(&mut self.batch);
            self.leave(Job::Write(batch));
            return;
        }
        self.closed |= !write(&self.batch);
        self.batch.clear();
    }

    /// Closes standard output: the pipe ends for the client, and the descriptor stays taken, so that nothing opened
    /// later can be written to by mistake.
    pub(super) fn close(&mut self) {
        self.release();
        self.flush();
        if self.closed {
            return;
        }
        self.closed = true;
        if !self.leave(Job::Close) {
            close_stdout(&self.recorder, self.run);
        }
    }
}

fn work(job: Job, recorder: &Recorder, run: u64) {
    match job {
        Job::Write(bytes) => {
            write(&bytes);
        }
        Job::Wait(time) => thread::sleep(time),
        Job::Close => close_stdout(recorder, run),
        Job::Tell(done) => {
            if done.send(()).is_err() {
                tracing::debug!("nobody waits for the slow writer");
            }
        }
    }
}

/// Writes to standard output; false if it is gone.
fn write(bytes: &[u8]) -> bool {
    let mut stdout = io::stdout().lock();
    let written = stdout.write_all(bytes).and_then(|()| stdout.flush());
    if let Err(cause) = &written {
        tracing::debug!(%cause, "standard output is gone");
    }
    written.is_ok()
}

fn close_stdout(recorder: &Recorder, run: u64) {
    let replaced =
        OpenOptions::new().write(true).open("/dev/null").and_then(|null| Ok(rustix::stdio::dup2_stdout(null)?));
    match replaced {
        Ok(()) => recorder.record(FrameParts::event(run, ConnectionEvent::ClosedByServer)),
        Err(cause) => tracing::warn!(%cause, "could not close standard output"),
    }
}
