//! Records frames in memory, in a file, or both.
//!
//! Frames are redacted and truncated before they are stored, so nothing outside this module can read the originals.
//! The file is JSON Lines with one write(2) per frame: a process killed by SIGKILL loses no recorded frame, and several
//! processes can append to one file.

mod truncate;

#[cfg(test)]
mod tests;

use std::{
    collections::VecDeque,
    fs::{File, OpenOptions},
    io::{self, BufRead as _, BufReader, Write},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use thiserror::Error;
use tokio::sync::watch;

use crate::{
    clock::now_us,
    frame::{Body, ConnectionEvent, Direction, Frame, Http},
    redaction,
};

/// Maximum number of frames of one recorder; further frames are only counted.
pub const MAX_FRAMES: usize = 500_000;
/// Maximum number of frames that [`read_bounded`] keeps from the end of a file.
pub const LAST_FRAMES: usize = 50;
/// Number of bytes that a bounded file keeps free for the frames after [`Recorder::is_exhausted`].
pub const RESERVE_BYTES: usize = 256 * 1024;
/// Maximum size of one recorded body in bytes.
pub const MAX_BODY_BYTES: usize = 256 * 1024;

/// A failure to open or read a file of frames.
#[derive(Debug, Error)]
pub enum RecordError {
    /// The file could not be opened.
    #[error("could not open the record {path}")]
    Open {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// The file could not be read.
    #[error("could not read the record {path}")]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// A line other than the last is not a frame.
    #[error("line {line} of the record {path} is not a frame")]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// The cause.
        #[source]
        source: serde_json::Error,
    },
}

/// The parts of a frame that a transport supplies; the recorder adds position, time and server.
#[derive(Debug, Clone, PartialEq)]
pub struct FrameParts {
    /// The connection.
    pub connection: u64,
    /// Which side sent it.
    pub direction: Direction,
    /// The message or event.
    pub body: Body,
    /// The HTTP part, for frames sent over HTTP.
    pub http: Option<Http>,
}

impl FrameParts {
    /// A frame from the client.
    #[must_use]
    pub fn received(connection: u64, body: Body) -> Self {
        Self { connection, direction: Direction::ClientToServer, body, http: None }
    }

    /// A frame from the server.
    #[must_use]
    pub fn sent(connection: u64, body: Body) -> Self {
        Self { connection, direction: Direction::ServerToClient, body, http: None }
    }

    /// An event of the connection. Events that the client causes have the direction of the client.
    #[must_use]
    pub fn event(connection: u64, event: ConnectionEvent) -> Self {
        match event {
            ConnectionEvent::ClosedByPeer | ConnectionEvent::Sigterm => Self::received(connection, Body::Event(event)),
            ConnectionEvent::Opened
            | ConnectionEvent::ChildStarted
            | ConnectionEvent::Bodiless
            | ConnectionEvent::ClosedByServer
            | ConnectionEvent::Exit => Self::sent(connection, Body::Event(event)),
        }
    }

    /// The same frame with its HTTP part.
    #[must_use]
    pub fn with_http(self, http: Http) -> Self {
        Self { http: Some(http), ..self }
    }
}

/// Records the frames of one server. Clones share the record.
#[derive(Debug, Clone, Default)]
pub struct Recorder {
    /// `None` if disabled.
    shared: Option<Arc<Shared>>,
}

#[derive(Debug)]
struct Shared {
    server: String,
    record: Mutex<Record>,
    count: watch::Sender<usize>,
}

#[derive(Debug, Default)]
struct Record {
    next_seq: u64,
    seen: usize,
    frames: Option<Vec<Frame>>,
    file: Option<File>,
    /// How many of the latest frames stay in memory; `None`: all, up to [`MAX_FRAMES`].
    latest: Option<usize>,
    /// How many bytes may still be written to the file; `None`: no limit.
    room: Option<usize>,
}

impl Recorder {
    /// A recorder that stores nothing, for load runs.
    #[must_use]
    pub fn disabled() -> Self {
        Self::default()
    }

    /// A recorder that stores the frames of this server in memory.
    #[must_use]
    pub fn in_memory(server: impl Into<String>) -> Self {
        Self::new(server, Record { frames: Some(Vec::new()), ..Record::default() })
    }

    /// A recorder that appends the frames of this server to a file.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn to_file(server: impl Into<String>, path: &Path) -> Result<Self, RecordError> {
        Ok(Self::new(server, Record { file: Some(open(path)?), ..Record::default() }))
    }

    /// Like [`to_file`](Self::to_file), but lets the file grow to at most `max_bytes`, so that a client cannot fill the disk.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn to_bounded_file(server: impl Into<String>, path: &Path, max_bytes: usize) -> Result<Self, RecordError> {
        let file = open(path)?;
        // Several processes of a server append to one file.
        let used = file.metadata().map_or(0, |metadata| metadata.len());
        let room = max_bytes.saturating_sub(usize::try_from(used).unwrap_or(usize::MAX));
        Ok(Self::new(server, Record { file: Some(file), room: Some(room), ..Record::default() }))
    }

    /// Whether a bounded file is nearly full, so that a server stops the client that fills it. The frames of that end still
    /// fit.
    #[must_use]
    pub fn is_exhausted(&self) -> bool {
        let is_full = |record: &Record| record.room.is_some_and(|room| room < RESERVE_BYTES);
        self.shared.as_ref().is_some_and(|shared| is_full(&lock(&shared.record)))
    }

    /// A recorder that stores frames in memory and appends them to a file.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn in_memory_and_file(server: impl Into<String>, path: &Path) -> Result<Self, RecordError> {
        Ok(Self::new(server, Record { frames: Some(Vec::new()), file: Some(open(path)?), ..Record::default() }))
    }

    /// A recorder that keeps between `count` and `2 * count` of the latest frames in memory, and appends all frames to
    /// the file if there is one: for servers that run for days.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn latest(server: impl Into<String>, count: usize, path: Option<&Path>) -> Result<Self, RecordError> {
        let file = path.map(open).transpose()?;
        Ok(Self::new(server, Record { frames: Some(Vec::new()), file, latest: Some(count), ..Record::default() }))
    }

    fn new(server: impl Into<String>, record: Record) -> Self {
        let shared = Shared { server: server.into(), record: Mutex::new(record), count: watch::Sender::new(0) };
        Self { shared: Some(Arc::new(shared)) }
    }

    /// Whether frames are stored. If not, callers need not make them.
    #[must_use]
    pub fn is_enabled(&self) -> bool {
        self.shared.is_some()
    }

    /// Records a frame. A failure to write the file is logged; the server continues.
    pub fn record(&self, parts: FrameParts) {
        let Some(shared) = &self.shared else { return };
        let body = truncate::body(redaction::redact_body(parts.body));
        let http = parts.http.map(redaction::redact_http).map(Arc::new);
        let (connection, direction) = (parts.connection, parts.direction);
        let mut record = lock(&shared.record);
        record.seen += 1;
        if record.latest.is_some() || record.seen <= MAX_FRAMES {
            let seq = record.next_seq;
            record.next_seq += 1;
            let frame =
                Frame { seq, at_us: now_us(), server: shared.server.clone(), connection, direction, body, http };
            record.push(frame);
        }
        shared.count.send_replace(record.seen);
    }

    /// Records a frame that is only made if the recorder is enabled.
    pub fn record_with(&self, parts: impl FnOnce() -> FrameParts) {
        if self.is_enabled() {
            self.record(parts());
        }
    }

    /// A copy of the frames in memory.
    #[must_use]
    pub fn frames(&self) -> Vec<Frame> {
        self.inspect(<[Frame]>::to_vec)
    }

    /// Calls a function with the frames in memory, while recording is blocked.
    pub fn inspect<T>(&self, look: impl FnOnce(&[Frame]) -> T) -> T {
        match &self.shared {
            Some(shared) => look(lock(&shared.record).frames.as_deref().unwrap_or_default()),
            None => look(&[]),
        }
    }

    /// How many frames were not stored because there were more than [`MAX_FRAMES`].
    #[must_use]
    pub fn dropped(&self) -> usize {
        let dropped = |record: &Record| match record.latest {
            Some(_) => 0,
            None => record.seen.saturating_sub(MAX_FRAMES),
        };
        self.shared.as_ref().map_or(0, |shared| dropped(&lock(&shared.record)))
    }

    /// Waits until the frames in memory satisfy the condition. It has no timeout of its own.
    pub async fn wait_until(&self, mut condition: impl FnMut(&[Frame]) -> bool) {
        let Some(shared) = &self.shared else { return std::future::pending().await };
        let mut count = shared.count.subscribe();
        while !self.inspect(&mut condition) {
            if count.changed().await.is_err() {
                return;
            }
        }
    }

    /// The number of frames seen so far, as a channel to await more.
    #[must_use]
    pub fn watch(&self) -> Option<watch::Receiver<usize>> {
        self.shared.as_ref().map(|shared| shared.count.subscribe())
    }
}

impl Record {
    fn push(&mut self, frame: Frame) {
        if let Some(file) = &mut self.file {
            // One buffer, so one write(2): another process that appends to the same file cannot tear the line.
            let written = serde_json::to_vec(&frame).map_err(io::Error::from).and_then(|mut line| {
                line.push(b'\n');
                match &mut self.room {
                    Some(room) if line.len() > *room => Ok(()),
                    room => {
                        *room = room.map(|room| room - line.len());
                        file.write_all(&line)
                    }
                }
            });
            if let Err(cause) = written {
                tracing::warn!(%cause, "could not append to the record");
            }
        }
        if let Some(frames) = &mut self.frames {
            frames.push(frame);
            // Half of the frames are removed at once, so that each is moved at most once on average.
            if let Some(latest) = self.latest.filter(|latest| frames.len() >= 2 * latest.max(&1)) {
                frames.drain(..frames.len() - latest);
            }
        }
    }
}

fn open(path: &Path) -> Result<File, RecordError> {
    let opened = OpenOptions::new().create(true).append(true).open(path);
    opened.map_err(|source| RecordError::Open { path: path.to_owned(), source })
}

// A panic in another thread cannot leave the record half-changed, so a poisoned lock is usable.
fn lock(record: &Mutex<Record>) -> MutexGuard<'_, Record> {
    record.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads all frames of a file. A last line without its line feed, as a killed process leaves it, is ignored.
///
/// # Errors
/// The file cannot be read, or a complete line is not a frame.
pub fn read_file(path: &Path) -> Result<Vec<Frame>, RecordError> {
    read_bounded(path, u64::MAX, usize::MAX).map(|record| record.frames)
}

/// The frames of a file within a limit.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BoundedRecord {
    /// The first frames, and the last ones if frames were omitted between them.
    pub frames: Vec<Frame>,
    /// Number of omitted frames.
    pub omitted: u64,
}

/// Like [`read_file`], but keeps only the first `max_frames` with at most `max_bytes` of JSON, and the last
/// [`LAST_FRAMES`].
/// The memory used does not depend on the length of the file.
///
/// # Errors
/// The file cannot be read, or a line to keep is not a frame.
pub fn read_bounded(path: &Path, max_bytes: u64, max_frames: usize) -> Result<BoundedRecord, RecordError> {
    let read = |source| RecordError::Read { path: path.to_owned(), source };
    let mut lines = BufReader::new(File::open(path).map_err(read)?);
    let (mut record, mut last, mut bytes) = (BoundedRecord::default(), VecDeque::new(), 0);
    for number in 1.. {
        let mut line = Vec::new();
        lines.read_until(b'\n', &mut line).map_err(read)?;
        if line.last() != Some(&b'\n') {
            break;
        }
        bytes += line.len() as u64;
        if bytes <= max_bytes && record.frames.len() < max_frames {
            record.frames.extend(parse(path, number, &line)?);
        } else {
            last.push_back((number, line));
            if last.len() > LAST_FRAMES {
                last.pop_front();
                record.omitted += 1;
            }
        }
    }
    for (number, line) in last {
        record.frames.extend(parse(path, number, &line)?);
    }
    Ok(record)
}

/// A frame, or nothing for an empty line.
fn parse(path: &Path, line: usize, bytes: &[u8]) -> Result<Option<Frame>, RecordError> {
    if bytes == b"\n" {
        return Ok(None);
    }
    let frame = serde_json::from_slice(bytes);
    frame.map(Some).map_err(|source| RecordError::Line { path: path.to_owned(), line, source })
}
