//! Earlier runs: the journals in the directory of all runs.

use std::{
    fs::{self, File},
    io::{BufRead as _, BufReader, Read as _},
    path::{Path, PathBuf},
};

use http::StatusCode;
use reports::{
    Run,
    journal::{self, Line, MAX_LINE},
    model::RunHeader,
};

use super::{super::error::ApiError, unknown_run};
use crate::error::ToolError;

/// Maximum number of listed runs.
const MAX_LISTED: usize = 50;

/// The headers of the newest runs. Other files, and journals that cannot be read, are skipped.
pub(super) async fn headers(directory: PathBuf) -> Vec<RunHeader> {
    let list = move || {
        let entries = fs::read_dir(&directory).into_iter().flatten().flatten();
        let mut names: Vec<_> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        // The name of a run begins with its start time.
        names.sort_unstable_by(|one, other| other.cmp(one));
        let found = names.iter().filter(|name| is_run_id(name));
        found.filter_map(|name| header(&journal_path(&directory, name))).take(MAX_LISTED).collect()
    };
    tokio::task::spawn_blocking(list).await.unwrap_or_default()
}

/// The results of an earlier run.
pub(super) async fn read(directory: PathBuf, id: &str) -> Result<Run, ApiError> {
    if !is_run_id(id) {
        return Err(unknown_run(id));
    }
    let file = File::open(journal_path(&directory, id)).map_err(|_| unknown_run(id))?;
    let run = tokio::task::spawn_blocking(move || journal::read(BufReader::new(file)));
    let invalid = |error: &dyn std::error::Error| {
        ApiError::from_error(StatusCode::CONFLICT, ToolError::from_error("invalid-journal", error))
    };
    run.await.map_err(|error| invalid(&error))?.map_err(|error| invalid(&error))
}

fn journal_path(directory: &Path, id: &str) -> PathBuf {
    directory.join(id).join("journal.jsonl")
}

/// Whether the id can be the name of a directory of a run, and not a path out of the directory of all runs.
fn is_run_id(id: &str) -> bool {
    !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

fn header(journal: &Path) -> Option<RunHeader> {
    let mut line = String::new();
    BufReader::new(File::open(journal).ok()?.take(MAX_LINE)).read_line(&mut line).ok()?;
    match serde_json::from_str(&line) {
        Ok(Line::Run { header, .. }) => Some(header),
        _ => None,
    }
}
