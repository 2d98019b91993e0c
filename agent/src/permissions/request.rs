//! What a person is asked before a call, and what may be answered.

use client::{Fingerprint, NameLimit, Tool, qualified_name};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Explanation, Hints};
use crate::filter::printable;

/// The longest form in which arguments are shown, in characters.
const SHOWN: usize = 4_000;
/// The longest form in which a title is shown, in characters.
const TITLE: usize = 200;

/// A question to a person: may this tool be called with these arguments?
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ApprovalRequest {
    /// The server.
    pub server: String,
    /// The tool, as its server knows it.
    pub tool: String,
    /// The tool, as the model knows it.
    pub qualified_name: String,
    /// The title that the server gives it. It is the server's word.
    pub title: Option<String>,
    /// The arguments as indented JSON, bounded, without anything that a terminal would act upon.
    pub arguments: String,
    /// How many characters of them are not shown.
    pub hidden: usize,
    /// What the tool says about itself.
    pub hints: Hints,
    /// The tool as it is now: what is remembered is remembered for this alone.
    pub fingerprint: Fingerprint,
    /// Why a person is asked.
    pub reason: String,
}

impl ApprovalRequest {
    /// The question that a decision leads to.
    #[must_use]
    pub fn new(server: &str, tool: &Tool, arguments: &Value, why: &Explanation) -> Self {
        let whole = printable(&format!("{arguments:#}"));
        let shown: String = whole.chars().take(SHOWN).collect();
        let hidden = if shown.len() < whole.len() { whole.chars().count() - SHOWN } else { 0 };
        Self {
            server: server.to_owned(),
            tool: tool.name().to_owned(),
            qualified_name: qualified_name(server, tool.name(), NameLimit::default()),
            title: tool.title().map(|title| printable(title).chars().take(TITLE).collect()),
            arguments: shown,
            hidden,
            hints: Hints::new(tool),
            fingerprint: tool.fingerprint(),
            reason: why.reason.clone(),
        }
    }
}

/// What a person may answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// This call, and no other.
    Once,
    /// This tool, for as long as the session lasts and the tool stays what it is.
    Session,
    /// Not this call.
    Deny,
    /// Not this tool, for as long as the session lasts and the tool stays what it is.
    DenySession,
}

impl Answer {
    pub(super) fn allows(self) -> bool {
        matches!(self, Self::Once | Self::Session)
    }

    pub(super) fn lasts(self) -> bool {
        matches!(self, Self::Session | Self::DenySession)
    }
}

/// An answer, and what the model is to be told with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalResponse {
    /// The answer.
    pub answer: Answer,
    /// What the person wants the model to know, why not for instance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feedback: Option<String>,
}

impl From<Answer> for ApprovalResponse {
    fn from(answer: Answer) -> Self {
        Self { answer, feedback: None }
    }
}
