//! Standard output: whole messages, in batches, until it is closed.

use std::{fs::OpenOptions, io, io::Write};

use serde_json::Value;

use crate::{
    frame::{Body, Mark},
    record::{Recorder, Sighting},
};

/// When a batch is written out even though more is to come.
const LARGEST_BATCH: usize = 64 * 1024;

/// What is to be written to standard output. Whoever holds it is the only writer.
#[derive(Debug)]
pub(super) struct Output {
    batch: Vec<u8>,
    recorder: Recorder,
    run: u64,
    closed: bool,
}

impl Output {
    pub(super) fn new(recorder: Recorder, run: u64) -> Self {
        Self { batch: Vec::new(), recorder, run, closed: false }
    }

    /// Adds a message.
    pub(super) fn message(&mut self, message: Value) {
        if self.closed {
            return;
        }
        // A JSON value always has a text: its keys are strings.
        let text = serde_json::to_vec(&message).unwrap_or_default();
        // Recorded before it is sent: what a fast client says in return must not come before it in the record.
        self.recorder.record_with(|| Sighting::sent(self.run, Body::Json(message)));
        self.add(&text);
        self.add(b"\n");
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
        self.add(text.as_bytes());
        self.recorder.record_with(|| Sighting::sent(self.run, Body::Text(text)));
    }

    /// Writes out what is there, and nothing ever after: the process is about to end.
    pub(super) fn finish(&mut self) {
        self.flush();
        self.closed = true;
    }

    fn add(&mut self, bytes: &[u8]) {
        self.batch.extend_from_slice(bytes);
        if self.batch.len() > LARGEST_BATCH {
            self.flush();
        }
    }

    /// Writes out what is there. A client that is gone is no error here: the end of the input will tell.
    pub(super) fn flush(&mut self) {
        if self.batch.is_empty() {
            return;
        }
        let mut stdout = io::stdout().lock();
        if let Err(cause) = stdout.write_all(&self.batch).and_then(|()| stdout.flush()) {
            tracing::debug!(%cause, "standard output is gone");
            self.closed = true;
        }
        self.batch.clear();
    }

    /// Closes standard output: the pipe ends for the client, and the descriptor stays taken, so that nothing opened
    /// later can be written to by mistake.
    pub(super) fn close(&mut self) {
        self.flush();
        if self.closed {
            return;
        }
        self.closed = true;
        let replaced =
            OpenOptions::new().write(true).open("/dev/null").and_then(|null| Ok(rustix::stdio::dup2_stdout(null)?));
        match replaced {
            Ok(()) => self.recorder.record(Sighting::mark(self.run, Mark::ClosedByServer)),
            Err(cause) => tracing::warn!(%cause, "could not close standard output"),
        }
    }
}
