//! Approval requests to the user, and their responses.

use client::{Fingerprint, NameLimit, Tool, qualified_name};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Decider, Explanation, Hints};
use crate::filter::printable;

/// Maximum number of characters of the shown arguments.
const MAX_ARGUMENTS: usize = 4_000;
/// Maximum number of characters of the shown title.
const MAX_TITLE: usize = 200;

/// A request to approve a tool call with these arguments.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ApprovalRequest {
    /// The server.
    pub server: String,
    /// Name of the tool on its server.
    pub tool: String,
    /// Name of the tool for the model.
    pub qualified_name: String,
    /// The title from the server, which is untrusted.
    pub title: Option<String>,
    /// The arguments as indented JSON, truncated, with control characters escaped.
    pub arguments: String,
    /// Number of characters that are not shown.
    pub hidden: usize,
    /// Annotations of the tool.
    pub hints: Hints,
    /// Fingerprint of the current definition, to which a remembered choice applies.
    pub fingerprint: Fingerprint,
    /// Why approval is required.
    pub reason: String,
    /// The rule that requires it, or the default.
    pub decider: Decider,
}

impl ApprovalRequest {
    /// Creates the request for a decision.
    #[must_use]
    pub fn new(server: &str, tool: &Tool, arguments: &Value, why: &Explanation) -> Self {
        let whole = printable(&format!("{arguments:#}"));
        let shown: String = whole.chars().take(MAX_ARGUMENTS).collect();
        let hidden = if shown.len() < whole.len() { whole.chars().count() - MAX_ARGUMENTS } else { 0 };
        Self {
            server: server.to_owned(),
            tool: tool.name().to_owned(),
            qualified_name: qualified_name(server, tool.name(), NameLimit::default()),
            title: tool.title().map(|title| printable(title).chars().take(MAX_TITLE).collect()),
            arguments: shown,
            hidden,
            hints: Hints::new(tool),
            fingerprint: tool.fingerprint(),
            reason: why.reason.clone(),
            decider: why.decider.clone(),
        }
    }
}

/// The choice of the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ApprovalChoice {
    /// Allow this call.
    Once,
    /// Allow this tool for the session, until its definition changes.
    Session,
    /// Deny this call.
    Deny,
    /// Deny this tool for the session, until its definition changes.
    DenySession,
}

impl ApprovalChoice {
    pub(super) fn allows(self) -> bool {
        matches!(self, Self::Once | Self::Session)
    }

    pub(super) fn is_remembered(self) -> bool {
        matches!(self, Self::Session | Self::DenySession)
    }
}

/// The choice of the user, with feedback for the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalResponse {
    /// The choice.
    pub choice: ApprovalChoice,
    /// Feedback for the model, for example a reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feedback: Option<String>,
}

impl From<ApprovalChoice> for ApprovalResponse {
    fn from(choice: ApprovalChoice) -> Self {
        Self { choice, feedback: None }
    }
}
