//! Log messages and log levels.

use serde_json::{Value, json};

use super::{
    Engine, Era, Output,
    dispatch::Dispatch,
    message::{LOG_LEVEL_KEY, Outcome, outgoing, param},
};
use crate::script::Log;

/// The log levels of RFC 5424, which all revisions use, the least severe first.
const LEVELS: [&str; 8] = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/// Severity of a log message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Level(usize);

impl Level {
    /// The level of a name, if it exists.
    pub(crate) fn named(name: &Value) -> Option<Self> {
        LEVELS.iter().position(|level| name == level).map(Self)
    }
}

impl Engine {
    /// Sets the level of a session (2024-11-05 to 2025-11-25, logging).
    pub(crate) fn set_level(&mut self, dispatch: &Dispatch) -> Outcome {
        let Some(level) = param(&dispatch.message, "level").and_then(Level::named) else {
            return Outcome::invalid_params("unknown log level");
        };
        if let Some(session) = dispatch.session.and_then(|key| self.sessions.open.get_mut(&key)) {
            session.level = Some(level);
        }
        Outcome::Result(json!({}))
    }

    /// Sends a log message if the client's log level allows it.
    pub(crate) fn log(&self, dispatch: &Dispatch, log: &Log, out: &mut Vec<Output>) {
        if !self.allows_log(dispatch, &log.level) {
            return;
        }
        let context = dispatch.context();
        let mut params = json!({ "level": log.level });
        if let Some(logger) = &log.logger {
            params["logger"] = context.fill_text(logger).into();
        }
        params["data"] = context.fill(&log.data);
        self.send_message(dispatch, outgoing(None, "notifications/message", Some(params)), out);
    }

    /// Whether the log level allows a message. A legacy client gets messages at or above its level, and all before it
    /// sets one (the server decides). A modern client gets the level of its request, and nothing without one (logging).
    fn allows_log(&self, dispatch: &Dispatch, level: &str) -> bool {
        let severity = LEVELS.iter().position(|known| *known == level).map(Level);
        match dispatch.era {
            Era::Legacy => {
                let minimum =
                    dispatch.session.and_then(|key| self.sessions.open.get(&key)).and_then(|session| session.level);
                severity.zip(minimum).is_none_or(|(severity, minimum)| severity >= minimum)
            }
            Era::Modern => {
                let meta = param(&dispatch.message, "_meta");
                let minimum = meta.and_then(|meta| meta.get(LOG_LEVEL_KEY)).and_then(Level::named);
                severity.zip(minimum).is_some_and(|(severity, minimum)| severity >= minimum)
            }
        }
    }
}
