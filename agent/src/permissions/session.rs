//! What a person has answered for as long as a session lasts.

use std::collections::HashMap;

use client::{Fingerprint, Tool};

use super::{Answer, ApprovalResponse};

/// The answers that last, by server, tool and the tool's fingerprint: a tool whose schema or hints change is another one, for
/// which nothing has been answered.
#[derive(Debug, Clone, Default)]
pub struct Session {
    answers: HashMap<(String, String), (Fingerprint, ApprovalResponse)>,
}

impl Session {
    /// Remembers an answer, if it is one that lasts. The tool is given as it was when it was asked about.
    pub fn remember(&mut self, server: &str, tool: &str, fingerprint: Fingerprint, reply: &ApprovalResponse) {
        if reply.answer.lasts() {
            self.answers.insert((server.to_owned(), tool.to_owned()), (fingerprint, reply.clone()));
        }
    }

    /// What was answered about this tool as it is now. An answer about what it was before is forgotten: a tool that changes
    /// and changes back has been out of sight meanwhile.
    pub fn recall(&mut self, server: &str, tool: &Tool) -> Option<ApprovalResponse> {
        let key = (server.to_owned(), tool.name().to_owned());
        let (fingerprint, reply) = self.answers.get(&key)?;
        if *fingerprint == tool.fingerprint() {
            return Some(reply.clone());
        }
        self.answers.remove(&key);
        None
    }

    /// Forgets what was answered about this server, when it is removed for instance.
    pub fn forget_server(&mut self, server: &str) {
        self.answers.retain(|(known, _), _| known != server);
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.answers.clear();
    }

    /// What was answered and lasts: server, tool, answer.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str, Answer)> {
        self.answers.iter().map(|((server, tool), (_, reply))| (server.as_str(), tool.as_str(), reply.answer))
    }
}
