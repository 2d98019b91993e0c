//! Many notifications at once, to see whether a client still hears the answer behind them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Turn;
use crate::engine::{Step, outgoing};

/// How many notifications are sent at once, so that a script's slip does not eat the memory.
const MOST: u32 = 100_000;

/// A flood of notifications.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct NotificationFlood {
    /// How many; 100,000 at most.
    pub count: u32,
    /// Their method; `notifications/message` if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// Their parameters. Absent: for `notifications/message` a log entry with the number of the notification, else
    /// none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub params: Option<Value>,
}

impl NotificationFlood {
    pub(super) fn turn(&self) -> Turn {
        Turn::Do((1..=self.count.min(MOST)).map(|number| Step::Send(self.message(number))).collect())
    }

    fn message(&self, number: u32) -> Value {
        const LOG: &str = "notifications/message";
        let method = self.method.as_deref().unwrap_or(LOG);
        let entry = || (method == LOG).then(|| json!({ "level": "info", "logger": "flood", "data": number }));
        outgoing(None, method, self.params.clone().or_else(entry))
    }
}
