//! Keeps what crossed the wire: in memory, in a file, or both.
//!
//! Secrets are scrubbed and sizes are bounded before a frame is kept anywhere; nothing behind this door sees the
//! originals. The file is JSON Lines, one write(2) for each frame, so that a process that dies by SIGKILL loses nothing
//! that it had recorded, and so that several processes can append to one file.

mod scrub;
mod shorten;

#[cfg(test)]
mod tests;

use std::{
    fs::{File, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use rustix::time::{ClockId, clock_gettime};
use thiserror::Error;
use tokio::sync::watch;

use crate::frame::{Body, Direction, Frame, Http, Mark};

/// How many frames a recorder keeps; more are counted and let go.
pub const MOST_FRAMES: usize = 500_000;
/// How many bytes of a body are kept.
pub const LARGEST_BODY: usize = 256 * 1024;

/// Why a record could not be opened or read.
#[derive(Debug, Error)]
pub enum RecordError {
    /// The file could not be opened.
    #[error("could not open the record {path}")]
    Open {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The file could not be read.
    #[error("could not read the record {path}")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A line before the last is no frame.
    #[error("line {line} of the record {path} is no frame")]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// Why.
        #[source]
        source: serde_json::Error,
    },
}

/// What a front knows about a frame; the recorder adds the position, the time and the server.
#[derive(Debug, Clone, PartialEq)]
pub struct Sighting {
    /// Which connection carried it.
    pub connection: u64,
    /// Which way it travelled.
    pub direction: Direction,
    /// What it was.
    pub body: Body,
    /// The HTTP envelope, where there is one.
    pub http: Option<Http>,
}

impl Sighting {
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

    /// Something that happened to the connection. What the client does to it counts as coming from the client.
    #[must_use]
    pub fn mark(connection: u64, mark: Mark) -> Self {
        match mark {
            Mark::ClosedByPeer | Mark::Sigterm => Self::received(connection, Body::Mark(mark)),
            _ => Self::sent(connection, Body::Mark(mark)),
        }
    }

    /// The same frame in an HTTP envelope.
    #[must_use]
    pub fn with_http(self, http: Http) -> Self {
        Self { http: Some(http), ..self }
    }
}

/// Where the frames of one server go. Clones share everything.
#[derive(Debug, Clone, Default)]
pub struct Recorder {
    /// None: nothing is kept, and recording costs nothing.
    shared: Option<Arc<Shared>>,
}

#[derive(Debug)]
struct Shared {
    server: String,
    kept: Mutex<Kept>,
    count: watch::Sender<usize>,
}

#[derive(Debug, Default)]
struct Kept {
    next_seq: u64,
    seen: usize,
    frames: Option<Vec<Frame>>,
    file: Option<File>,
    /// How many of the latest frames stay in memory; none: all, and no more than [`MOST_FRAMES`] are kept anywhere.
    latest: Option<usize>,
}

impl Recorder {
    /// A recorder that keeps nothing, for load runs.
    #[must_use]
    pub fn disabled() -> Self {
        Self::default()
    }

    /// A recorder that keeps the frames of this server in memory.
    #[must_use]
    pub fn in_memory(server: impl Into<String>) -> Self {
        Self::with(server.into(), Some(Vec::new()), None)
    }

    /// A recorder that appends the frames of this server to a file.
    ///
    /// # Errors
    /// When the file cannot be opened.
    pub fn to_file(server: impl Into<String>, path: &Path) -> Result<Self, RecordError> {
        let file = open(path)?;
        Ok(Self::with(server.into(), None, Some(file)))
    }

    /// A recorder that does both.
    ///
    /// # Errors
    /// When the file cannot be opened.
    pub fn in_memory_and_file(server: impl Into<String>, path: &Path) -> Result<Self, RecordError> {
        let file = open(path)?;
        Ok(Self::with(server.into(), Some(Vec::new()), Some(file)))
    }

    /// A recorder that keeps the latest frames in memory, at least this many and at most twice as many, and appends all
    /// of them to a file if there is one: for servers that run for days.
    ///
    /// # Errors
    /// When the file cannot be opened.
    pub fn latest(server: impl Into<String>, count: usize, path: Option<&Path>) -> Result<Self, RecordError> {
        let file = path.map(open).transpose()?;
        let kept = Kept { frames: Some(Vec::new()), file, latest: Some(count), ..Kept::default() };
        Ok(Self::keeping(server.into(), kept))
    }

    fn with(server: String, frames: Option<Vec<Frame>>, file: Option<File>) -> Self {
        Self::keeping(server, Kept { frames, file, ..Kept::default() })
    }

    fn keeping(server: String, kept: Kept) -> Self {
        let kept = Mutex::new(kept);
        Self { shared: Some(Arc::new(Shared { server, kept, count: watch::Sender::new(0) })) }
    }

    /// Whether anything is kept; a front may spare itself the trouble otherwise.
    #[must_use]
    pub fn is_enabled(&self) -> bool {
        self.shared.is_some()
    }

    /// Keeps a frame. A file that cannot be written is told to the log and not to the server, whose work goes on.
    pub fn record(&self, sighting: Sighting) {
        let Some(shared) = &self.shared else { return };
        let body = shorten::body(scrub::body(sighting.body));
        let http = sighting.http.map(scrub::http);
        let (connection, direction) = (sighting.connection, sighting.direction);
        let mut kept = lock(&shared.kept);
        kept.seen += 1;
        if kept.latest.is_some() || kept.seen <= MOST_FRAMES {
            let seq = kept.next_seq;
            kept.next_seq += 1;
            let frame =
                Frame { seq, at_us: now_us(), server: shared.server.clone(), connection, direction, body, http };
            kept.keep(frame);
        }
        shared.count.send_replace(kept.seen);
    }

    /// Keeps a frame that is only made when somebody keeps it.
    pub fn record_with(&self, sighting: impl FnOnce() -> Sighting) {
        if self.is_enabled() {
            self.record(sighting());
        }
    }

    /// The frames in memory so far.
    #[must_use]
    pub fn frames(&self) -> Vec<Frame> {
        self.inspect(<[Frame]>::to_vec)
    }

    /// Looks at the frames in memory without copying them.
    pub fn inspect<T>(&self, look: impl FnOnce(&[Frame]) -> T) -> T {
        match &self.shared {
            Some(shared) => look(lock(&shared.kept).frames.as_deref().unwrap_or_default()),
            None => look(&[]),
        }
    }

    /// How many frames were let go because there were too many.
    #[must_use]
    pub fn dropped(&self) -> usize {
        let dropped = |kept: &Kept| if kept.latest.is_some() { 0 } else { kept.seen.saturating_sub(MOST_FRAMES) };
        self.shared.as_ref().map_or(0, |shared| dropped(&lock(&shared.kept)))
    }

    /// Waits until the frames in memory satisfy the condition. It never returns if they never do: bound it outside.
    pub async fn wait_until(&self, mut condition: impl FnMut(&[Frame]) -> bool) {
        let Some(shared) = &self.shared else { return std::future::pending().await };
        let mut count = shared.count.subscribe();
        while !self.inspect(&mut condition) {
            if count.changed().await.is_err() {
                return;
            }
        }
    }

    /// The number of frames seen so far, and a way to await more.
    #[must_use]
    pub fn watch(&self) -> Option<watch::Receiver<usize>> {
        self.shared.as_ref().map(|shared| shared.count.subscribe())
    }
}

impl Kept {
    fn keep(&mut self, frame: Frame) {
        if let Some(file) = &mut self.file {
            // One buffer, so one write(2): another process that appends to the same file cannot tear the line.
            let written = serde_json::to_vec(&frame).map_err(io::Error::from).and_then(|mut line| {
                line.push(b'\n');
                file.write_all(&line)
            });
            if let Err(cause) = written {
                tracing::warn!(%cause, "could not append to the record");
            }
        }
        if let Some(frames) = &mut self.frames {
            frames.push(frame);
            // Half of them at once, so that each frame is moved no more than once on average.
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

/// A panic in another thread cannot leave the list half-changed, so its poison is no reason to stop recording.
fn lock(kept: &Mutex<Kept>) -> MutexGuard<'_, Kept> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A value as it would be kept: to be compared with what was.
pub(crate) fn scrubbed(value: serde_json::Value) -> serde_json::Value {
    match scrub::body(Body::Json(value)) {
        Body::Json(value) => value,
        // Scrubbing changes words, never the kind of a body.
        Body::Text(_) | Body::Mark(_) => serde_json::Value::Null,
    }
}

/// Microseconds of CLOCK_MONOTONIC, which all processes of the machine share.
#[must_use]
pub fn now_us() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    u64::try_from(now.tv_sec).unwrap_or(0) * 1_000_000 + u64::try_from(now.tv_nsec).unwrap_or(0) / 1_000
}

/// The frames in a file. A last line without its end, as a killed process leaves it, is ignored.
///
/// # Errors
/// When the file cannot be read, or a line before the last is no frame.
pub fn read_file(path: &Path) -> Result<Vec<Frame>, RecordError> {
    let bytes = std::fs::read(path).map_err(|source| RecordError::Read { path: path.to_owned(), source })?;
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let lines = bytes[..whole].split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines
        .enumerate()
        .map(|(at, line)| {
            serde_json::from_slice(line).map_err(|source| RecordError::Line {
                path: path.to_owned(),
                line: at + 1,
                source,
            })
        })
        .collect()
}
