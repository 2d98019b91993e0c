//! Recordings of real sessions between any client and any server: a directory with a header and a file of frames.
//!
//! The program writes the frames while messages pass (`mcp-workbench record`); this module owns the format of the directory,
//! and reads it as evidence. [`crate::judge::recorded`] judges it, [`script`] makes a mock server of it.

pub mod script;

#[cfg(test)]
mod tests;

use std::{
    fs::{self, OpenOptions},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use evidence::{
    Frame,
    recorder::{RecordError, read_bounded},
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use thiserror::Error;

use crate::{
    evidence::{Evidence, Outcome, StepOutcome},
    model::{Revision, Transport},
};

/// Version of the format. It changes when a reader of the old format would misread the new one.
pub const FORMAT: u32 = 1;
/// Name of the server in the frames of a recording.
pub const SERVER: &str = "server";
/// Maximum number of frames that are read; the last ones are read too.
const MAX_FRAMES: usize = 500_000;
/// Maximum size of the frames that are read, in bytes of JSON.
const MAX_BYTES: u64 = 1 << 30;
const HEADER: &str = "recording.json";
const FRAMES: &str = "frames.jsonl";
/// The member of a request of 2026-07-28 with its revision (basic/index#meta).
const META_VERSION: &str = "/params/_meta/io.modelcontextprotocol~1protocolVersion";
/// The member of a result of 2026-07-28 with the server's description of itself.
const META_SERVER: &str = "/_meta/io.modelcontextprotocol~1serverInfo";

/// The header of a recording.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// Version of the format.
    pub format: u32,
    /// Version of the workbench that made the recording.
    pub workbench: String,
    /// The transport.
    pub transport: Transport,
    /// The command or URL of the server, without secrets.
    pub target: String,
}

/// A recording that cannot be written or read.
#[derive(Debug, Error)]
pub enum RecordingError {
    /// A file cannot be created, written or read.
    #[error("cannot access {path}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// The header is not valid.
    #[error("{path} is not the header of a recording")]
    Header {
        /// The file.
        path: PathBuf,
        /// The cause, with line and column.
        #[source]
        source: serde_json::Error,
    },
    /// Another version of the workbench wrote it.
    #[error(
        "{path}: the recording has format {found}, but this version of mcp-workbench reads format {FORMAT}; use the version that wrote it"
    )]
    Version {
        /// The file.
        path: PathBuf,
        /// The format in the file.
        found: u32,
    },
    /// The directory has the recording of another server.
    #[error("{path} has the recording of {found}; give each server a directory of its own")]
    OtherServer {
        /// The directory.
        path: PathBuf,
        /// The server in the header.
        found: String,
    },
    /// The frames cannot be read.
    #[error(transparent)]
    Frames(#[from] RecordError),
}

/// Whether a path is the directory of a recording.
#[must_use]
pub fn is_recording(path: &Path) -> bool {
    path.join(HEADER).is_file()
}

/// Creates the directory and the header of a recording, or continues one of the same server. Returns the file to which
/// frames are appended: several processes may do so, because a client may start its server more than once.
///
/// # Errors
/// If a file cannot be written, or the directory has the recording of another server.
pub fn create(directory: &Path, header: &Header) -> Result<PathBuf, RecordingError> {
    let path = directory.join(HEADER);
    let failed = |source| RecordingError::Io { path: path.clone(), source };
    fs::create_dir_all(directory).map_err(failed)?;
    match OpenOptions::new().write(true).create_new(true).open(&path) {
        Ok(mut file) => file.write_all(format!("{:#}\n", json!(header)).as_bytes()).map_err(failed)?,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let found = read_header(directory)?;
            if (&found.target, found.transport) != (&header.target, header.transport) {
                return Err(RecordingError::OtherServer { path: directory.to_owned(), found: found.target });
            }
        }
        Err(error) => return Err(failed(error)),
    }
    Ok(directory.join(FRAMES))
}

fn read_header(directory: &Path) -> Result<Header, RecordingError> {
    #[derive(Deserialize)]
    struct Version {
        format: u32,
    }
    let path = directory.join(HEADER);
    let text = fs::read_to_string(&path).map_err(|source| RecordingError::Io { path: path.clone(), source })?;
    let invalid = |source| RecordingError::Header { path: path.clone(), source };
    let Version { format } = serde_json::from_str(&text).map_err(invalid)?;
    if format != FORMAT {
        return Err(RecordingError::Version { path, found: format });
    }
    serde_json::from_str(&text).map_err(invalid)
}

/// The `serverInfo` of a result, which is in the metadata since 2026-07-28 (server/discover).
fn server_info(result: &Value) -> Option<&Value> {
    result.get("serverInfo").or_else(|| result.pointer(META_SERVER))
}

/// A recording in memory.
#[derive(Debug, Clone, PartialEq)]
pub struct Recording {
    /// The header.
    pub header: Header,
    /// The frames in order of time; `seq` counts from 0, times from the first frame.
    pub frames: Vec<Frame>,
    /// Number of frames that were omitted because the recording is too long.
    pub omitted: u64,
}

impl Recording {
    /// Reads the recording of a directory. Of a very long one the first and the last frames are read.
    ///
    /// # Errors
    /// If a file cannot be read, or is not a recording.
    pub fn read(directory: &Path) -> Result<Self, RecordingError> {
        let header = read_header(directory)?;
        let record = read_bounded(&directory.join(FRAMES), MAX_BYTES, MAX_FRAMES)?;
        Ok(Self::new(header, record.frames, record.omitted))
    }

    /// A recording of frames whose times are those of the system's clock. Several processes may have recorded them.
    fn new(header: Header, mut frames: Vec<Frame>, omitted: u64) -> Self {
        frames.sort_by_key(|frame| frame.at_us);
        let start = frames.first().map_or(0, |frame| frame.at_us);
        for (seq, frame) in frames.iter_mut().enumerate() {
            (frame.seq, frame.at_us) = (seq as u64, frame.at_us - start);
        }
        Self { header, frames, omitted }
    }

    /// The revision: the negotiated one, else that of a request, else that of the last handshake revision.
    #[must_use]
    pub fn revision(&self) -> Revision {
        let known = |value: Option<&Value>| value?.as_str()?.parse::<Revision>().ok();
        let mut negotiated = self.frames.iter().filter(|frame| !frame.from_client());
        let negotiated = negotiated.find_map(|frame| known(frame.json()?.pointer("/result/protocolVersion")));
        let named = || self.frames.iter().find_map(|frame| known(frame.json()?.pointer(META_VERSION)));
        negotiated.or_else(named).unwrap_or(Revision::V2025_11_25)
    }

    /// The result of `initialize` or `server/discover`, if one is recorded.
    fn identity(&self) -> Option<&Value> {
        let results = self.frames.iter().filter(|frame| !frame.from_client());
        let mut results = results.filter_map(|frame| frame.json()?.get("result"));
        results.find(|result| result.get("capabilities").is_some() && server_info(result).is_some())
    }

    /// The recording as the evidence of a case. It has no steps but the handshake, no reports, and no processes.
    #[must_use]
    pub fn into_evidence(self, id: &str) -> Evidence {
        let handshake = self.identity().map(|identity| {
            let identity = json!({
                "revision": self.revision(),
                "server_info": server_info(identity),
                "capabilities": identity.get("capabilities"),
            });
            StepOutcome { step: None, server: None, began_us: 0, ended_us: 0, outcome: Outcome::Value(identity) }
        });
        let revision = self.revision();
        Evidence {
            omitted_frames: self.omitted,
            steps: handshake.into_iter().collect(),
            elapsed_us: self.frames.last().map_or(0, |frame| frame.at_us),
            frames: self.frames,
            ..Evidence::without_records(id, self.header.transport, revision)
        }
    }
}
