//! Faults of extra output: text, log lines and notifications that do not belong to the exchange.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{FaultAction, FaultContext, FaultHooks, FaultStep, Framed, ParameterProblem, ProcessAction};

/// The largest number of lines or notifications that are sent at once, so that a typing error in a script does not
/// exhaust the memory.
const MAX_COUNT: u32 = 100_000;

/// Writes this text in place of a message, then continues.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Garbage(pub String);

impl FaultHooks for Garbage {
    fn action(&self, context: &mut FaultContext<'_>) -> FaultAction {
        FaultAction::Do(vec![FaultStep::Raw((context.fill)(&self.0))])
    }
}

/// Writes log lines in place of messages: on standard output over stdio, which is reserved for messages (all revisions,
/// transports, stdio), and as events over HTTP.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct LogLines {
    /// The number of lines, at most 100,000 [default: 1].
    pub count: u32,
    /// The text of each line, without its number and its line end.
    pub text: String,
    /// The position of the lines.
    #[serde(rename = "where")]
    pub position: LogPosition,
}

/// The position of log lines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LogPosition {
    /// Before the next message.
    #[default]
    Before,
    /// Inside every message that follows, as two threads that write at once cause it.
    Inside,
}

impl Default for LogLines {
    fn default() -> Self {
        Self { count: 1, text: "INFO mock: still here".to_owned(), position: LogPosition::Before }
    }
}

impl LogLines {
    fn lines(&self) -> impl Iterator<Item = String> {
        (1..=self.count.min(MAX_COUNT)).map(|number| format!("{} {number}", self.text))
    }
}

impl FaultHooks for LogLines {
    fn action(&self, _: &mut FaultContext<'_>) -> FaultAction {
        match self.position {
            LogPosition::Before => FaultAction::Do(self.lines().map(FaultStep::Raw).collect()),
            LogPosition::Inside => FaultAction::Join,
        }
    }

    fn rewrite_frame(&self, framed: &mut Framed) {
        let middle = framed.payload.start + framed.payload.len() / 2;
        let text: String = self.lines().map(|line| line + "\n").collect();
        framed.insert(middle, text.as_bytes());
    }
}

/// Writes to standard error (only over stdio), then continues. If the client does not read it, the pipe fills up and
/// the server blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct StderrFlood {
    /// The number of bytes, in lines of 80. A pipe holds 65,536 on Linux.
    pub bytes: usize,
}

impl FaultHooks for StderrFlood {
    fn action(&self, _: &mut FaultContext<'_>) -> FaultAction {
        FaultAction::Do(vec![FaultStep::Process(ProcessAction::Stderr { bytes: self.bytes })])
    }
}

/// Sends many notifications, then continues.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub struct NotificationFlood {
    /// The number of notifications, at most 100,000.
    pub count: u32,
    /// Their method [default: `notifications/message`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// Their parameters [default: a log entry with the number of the notification for `notifications/message`, none
    /// for other methods].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub params: Option<Value>,
}

impl NotificationFlood {
    pub(super) fn problems(&self) -> Vec<ParameterProblem> {
        let problem = || ParameterProblem::value("count", "count is zero", "write at least 1");
        (self.count == 0).then(problem).into_iter().collect()
    }

    fn message(&self, number: u32) -> Value {
        const LOG: &str = "notifications/message";
        let method = self.method.as_deref().unwrap_or(LOG);
        let entry = || (method == LOG).then(|| json!({ "level": "info", "logger": "flood", "data": number }));
        let mut message = json!({ "jsonrpc": "2.0", "method": method });
        if let Some(params) = self.params.clone().or_else(entry) {
            message["params"] = params;
        }
        message
    }
}

impl FaultHooks for NotificationFlood {
    fn action(&self, _: &mut FaultContext<'_>) -> FaultAction {
        let numbers = 1..=self.count.min(MAX_COUNT);
        FaultAction::Do(numbers.map(|number| FaultStep::Send(self.message(number))).collect())
    }
}
