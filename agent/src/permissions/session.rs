//! Choices of the user for the duration of a session.

use std::collections::HashMap;

use client::{Fingerprint, Tool};

use super::{ApprovalChoice, ApprovalResponse};

/// Remembered choices by server and tool. A choice applies to one fingerprint: it is void once schema or annotations change.
#[derive(Debug, Clone, Default)]
pub struct Session {
    choices: HashMap<(String, String), (Fingerprint, ApprovalResponse)>,
}

impl Session {
    /// Remembers a choice for the session. The fingerprint is that of the approval request.
    pub fn remember(&mut self, server: &str, tool: &str, fingerprint: Fingerprint, response: &ApprovalResponse) {
        if response.choice.is_remembered() {
            self.choices.insert((server.to_owned(), tool.to_owned()), (fingerprint, response.clone()));
        }
    }

    /// The remembered choice for this definition of the tool. A choice for another definition is deleted, so that a tool that
    /// changes back needs a new approval.
    pub fn recall(&mut self, server: &str, tool: &Tool) -> Option<ApprovalResponse> {
        let key = (server.to_owned(), tool.name().to_owned());
        let (fingerprint, response) = self.choices.get(&key)?;
        if *fingerprint == tool.fingerprint() {
            return Some(response.clone());
        }
        self.choices.remove(&key);
        None
    }

    /// Deletes the choices for a server, for example when it is removed.
    pub fn forget_server(&mut self, server: &str) {
        self.choices.retain(|(name, _), _| name != server);
    }

    /// Deletes all choices.
    pub fn clear(&mut self) {
        self.choices.clear();
    }

    /// The remembered choices: server, tool, choice.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str, ApprovalChoice)> {
        self.choices.iter().map(|((server, tool), (_, response))| (server.as_str(), tool.as_str(), response.choice))
    }
}
