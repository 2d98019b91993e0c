//! The levels of log messages.

use serde_json::Value;

/// The levels in ascending order (RFC 5424, section 6.2.1).
pub(crate) const LEVELS: [&str; 8] = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/// The position of a level in the order; `None` if it is unknown.
pub(crate) fn severity(level: &Value) -> Option<usize> {
    let level = level.as_str()?;
    LEVELS.iter().position(|known| *known == level)
}
