//! All thresholds that decide the exit code.

/// Minimum ratio of calls per second over HTTP to a minimal axum handler with the same response.
pub(super) const HTTP_RATIO: f64 = 0.8;
/// Number of connections at which [`HTTP_RATIO`] is judged; the ratios of fewer connections are only reported.
pub(super) const HTTP_JUDGED_AT: usize = 64;
/// Minimum ratio of calls per second over stdio to a child that writes a constant response for each line.
pub(super) const STDIO_RATIO: f64 = 0.7;
/// Maximum resident memory of a server with [`SESSIONS`] sessions, in bytes.
pub(super) const SESSIONS_MEMORY: u64 = 200 * 1000 * 1000;
/// Number of open sessions, each with a stream.
pub(super) const SESSIONS: usize = 1_000;
/// Maximum growth of the resident memory from the first tenth of the calls to the last, in bytes. Eight bytes for each of a
/// million calls would be twice as much.
pub(super) const GROWTH: u64 = 4 * 1000 * 1000;
