//! What has to hold. Every figure that decides about the exit code stands here and nowhere else.

/// Calls a second over HTTP, as a part of what a bare axum handler reaches that returns the same bytes.
pub(super) const HTTP_RATIO: f64 = 0.8;
/// The number of connections that [`HTTP_RATIO`] is judged at; fewer are told, not judged.
pub(super) const HTTP_JUDGED_AT: usize = 64;
/// Calls a second over stdio, as a part of what a bare child reaches that writes a fixed reply for each line.
pub(super) const STDIO_RATIO: f64 = 0.7;
/// The resident memory of a server that holds [`SESSIONS`] sessions, in bytes.
pub(super) const SESSIONS_MEMORY: u64 = 200 * 1000 * 1000;
/// How many sessions are open at a time, each with its stream.
pub(super) const SESSIONS: usize = 1_000;
/// How much the resident memory may grow from the first tenth of the calls to the last, in bytes. One word kept for
/// each of a million calls would be twice as much.
pub(super) const GROWTH: u64 = 4 * 1000 * 1000;
