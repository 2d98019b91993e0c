//! How a run begins: what it is called, and what everything in it that is drawn follows from.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::SystemTime,
};

use reports::model::{RunHeader, RunKind};

/// Tells the runs of one process apart that begin in the same second.
static COUNT: AtomicU64 = AtomicU64::new(0);

/// The header of a run that begins now.
#[must_use]
pub fn header(kind: RunKind, subject: String, seed: u64, planned: usize) -> RunHeader {
    let started = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    let compact: String = started.chars().filter(char::is_ascii_alphanumeric).collect();
    let run_id = match COUNT.fetch_add(1, Ordering::Relaxed) {
        0 => format!("{compact}-{}", std::process::id()),
        count => format!("{compact}-{}-{count}", std::process::id()),
    };
    RunHeader { run_id, kind, workbench: env!("CARGO_PKG_VERSION").to_owned(), started, subject, seed, planned }
}

/// A seed for a run that was given none, short enough to be typed again.
#[must_use]
pub fn fresh_seed() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::from(since.subsec_nanos() ^ std::process::id())
}
