//! Standard output: complete messages in batches.

use std::{
    io::{self, Write},
    sync::mpsc,
    thread,
    time::Duration,
};

use serde_json::Value;

use crate::{
    faults::{Chunk, Finish, WritePlan},
    system,
};
use evidence::{Body, ConnectionEvent, FrameParts, Recorder};

/// Size at which a batch is written although more messages follow.
const MAX_BATCH_BYTES: usize = 64 * 1024;

/// Pending bytes of standard output. The holder of the lock is the only writer.
#[derive(Debug)]
pub(super) struct Output {
    batch: Vec<u8>,
    recorder: Recorder,
    run: u64,
    closed: bool,
    /// Whether the pending bytes wait for the next message.
    held: bool,
    /// The thread that writes after the first delayed message.
    slow: Option<mpsc::Sender<Job>>,
}

/// Job of the slow writer.
#[derive(Debug)]
enum Job {
    Write(Vec<u8>),
    Wait(Duration),
    Close,
    /// Signal that all earlier jobs are done.
    Tell(mpsc::Sender<()>),
}

impl Output {
    pub(super) fn new(recorder: Recorder, run: u64) -> Self {
        Self { batch: Vec::new(), recorder, run, closed: false, held: false, slow: None }
    }

    /// Records an event of the process.
    pub(super) fn mark(&self, mark: ConnectionEvent) {
        self.recorder.record(FrameParts::event(self.run, mark));
    }

    /// Adds a message with its faults.
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
        // Every close mode closes the pipe.
        if !matches!(rendered.finish, Finish::Keep) {
            self.close();
        }
    }

    /// Releases the bytes that wait for the next message.
    pub(super) fn release(&mut self) {
        self.held = false;
    }

    /// Moves all writing to a thread that can wait, while the server continues to read.
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

    /// Passes a job to the slow writer, if there is one.
    fn leave(&self, job: Job) -> bool {
        self.slow.as_ref().is_some_and(|slow| slow.send(job).is_ok())
    }

    /// Adds a message.
    pub(super) fn message(&mut self, message: Value) {
        if self.closed {
            return;
        }
        // A JSON value can always be written: its keys are strings.
        let text = serde_json::to_vec(&message).unwrap_or_default();
        // Recorded before it is sent: the reaction of a fast client must not precede it in the record.
        self.recorder.record_with(|| FrameParts::sent(self.run, Body::json(message)));
        self.held = false;
        self.add(&text);
        self.add(b"\n");
    }

    /// Adds a message that the function writes; false if it wrote none, which changes nothing.
    pub(super) fn in_place(&mut self, write: impl FnOnce(&mut Vec<u8>) -> bool) -> bool {
        let written = !self.closed && write(&mut self.batch);
        if written {
            self.held = false;
            self.add(b"\n");
        }
        written
    }

    /// Adds text, with a line feed if it has none.
    pub(super) fn line(&mut self, text: String) {
        self.text(if text.ends_with('\n') { text } else { text + "\n" });
    }

    /// Adds text unchanged.
    pub(super) fn text(&mut self, text: String) {
        if self.closed {
            return;
        }
        self.held = false;
        self.add(text.as_bytes());
        self.recorder.record_with(|| FrameParts::sent(self.run, Body::Text(text)));
    }

    /// Writes the pending bytes, and nothing afterwards: the process exits.
    pub(super) fn finish(&mut self) {
        self.release();
        self.flush();
        let (done, end) = mpsc::channel();
        // An error means that the writer has ended.
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

    /// Closes standard output. The descriptor stays in use, so that a file that is opened later cannot get it.
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
                tracing::debug!("the slow writer has ended");
            }
        }
    }
}

/// Writes to standard output; false if it is closed.
fn write(bytes: &[u8]) -> bool {
    let mut stdout = io::stdout().lock();
    let written = stdout.write_all(bytes).and_then(|()| stdout.flush());
    if let Err(cause) = &written {
        tracing::debug!(%cause, "standard output is gone");
    }
    written.is_ok()
}

fn close_stdout(recorder: &Recorder, run: u64) {
    match system::close_stdout() {
        Ok(()) => recorder.record(FrameParts::event(run, ConnectionEvent::ClosedByServer)),
        Err(cause) => tracing::warn!(%cause, "could not close standard output"),
    }
}
