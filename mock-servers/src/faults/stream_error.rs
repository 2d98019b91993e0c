//! A stream of the server's own messages that opens and breaks, again and again: a client that reopens it at once
//! makes a loop of it.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Disconnect, Fault, How, Moment, Turn};
use crate::{engine::Step, period::Period};

/// A stream that breaks off.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct StreamError {
    /// How long it stays open; not at all if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Period>,
    /// How it ends.
    pub by: How,
}

impl StreamError {
    pub(super) fn turn(self) -> Turn {
        let end = Disconnect { moment: Moment::Before, by: self.by, at: None };
        let open = self.after.map_or(Duration::ZERO, |period| period.0);
        Turn::DoThen(vec![Step::Open], open, Box::new(Fault::Disconnect(end)))
    }
}
