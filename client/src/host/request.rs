//! One request to the user, and the ways to answer it.

use std::sync::Arc;

use serde_json::{Map, Value};
use tokio::sync::oneshot;
use url::Url;

use super::form::{FieldProblem, Form};
use crate::event::CallId;

/// What is asked.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Ask {
    /// To fill in a form.
    Form {
        /// Why, in the server's words.
        message: String,
        /// The form.
        form: Form,
    },
    /// To visit a URL, after having been shown its host.
    Url {
        /// Why, in the server's words.
        message: String,
        /// The URL; http or https.
        url: Url,
        /// The id under which the server tells that the visit is over (2025-11-25).
        elicitation_id: Option<String>,
    },
    /// To let the model speak: the parameters of `sampling/createMessage`, as they came.
    Sampling {
        /// The parameters.
        params: Map<String, Value>,
    },
}

/// What the user has answered.
#[derive(Debug)]
pub(super) enum Answer {
    Accept(Option<Map<String, Value>>),
    Sampled(Map<String, Value>),
    Decline,
    Cancel,
}

/// A request of a server to the user. Dropped without an answer, it counts as dismissed.
#[derive(Debug)]
pub struct HostRequest {
    pub(super) server: Arc<str>,
    pub(super) number: u64,
    pub(super) wire_id: Value,
    pub(super) call: Option<CallId>,
    pub(super) ask: Ask,
    pub(super) reply: Option<oneshot::Sender<Answer>>,
}

/// An answer that could not be given.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum AnswerError {
    /// The content does not fit the form. The request still waits for an answer.
    #[error("{} of the form cannot be accepted", match problems.len() { 1 => "a field", _ => "several fields" })]
    Invalid {
        /// What is wrong, field by field.
        problems: Vec<FieldProblem>,
    },
    /// The request is of another kind. It still waits for an answer.
    #[error("the request is of another kind")]
    OtherKind,
    /// Nobody waits any more: it was answered before, the server has withdrawn it, or its call has ended.
    #[error("nobody waits for the answer any more")]
    Gone,
}

impl HostRequest {
    /// The name of the server that asks. A user interface has to show it (2025-11-25, elicitation, "Security
    /// Considerations").
    #[must_use]
    pub fn server(&self) -> &str {
        &self.server
    }

    /// A number that no other request of the link has, whatever ids the servers choose.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The server's own id: that of its JSON-RPC request, or on 2026-07-28 the key among the input requests.
    #[must_use]
    pub fn wire_id(&self) -> &Value {
        &self.wire_id
    }

    /// The tool call that it belongs to, where that is known: only 2026-07-28 says so.
    #[must_use]
    pub fn call(&self) -> Option<CallId> {
        self.call
    }

    /// What is asked.
    #[must_use]
    pub fn ask(&self) -> &Ask {
        &self.ask
    }

    /// Sends the form, once the user has seen what is sent. Fields that are left out get their defaults.
    ///
    /// # Errors
    /// If the content does not fit, is not asked for, or comes too late.
    pub fn accept(&mut self, content: Map<String, Value>) -> Result<(), AnswerError> {
        let Ask::Form { form, .. } = &self.ask else { return Err(AnswerError::OtherKind) };
        let content = form.fill(content).map_err(|problems| AnswerError::Invalid { problems })?;
        self.send(Answer::Accept(Some(content)))
    }

    /// Says that the user agrees to visit the URL.
    ///
    /// # Errors
    /// If no URL is asked about, or the answer comes too late.
    pub fn consent(&mut self) -> Result<(), AnswerError> {
        match self.ask {
            Ask::Url { .. } => self.send(Answer::Accept(None)),
            _ => Err(AnswerError::OtherKind),
        }
    }

    /// Gives what the model has said: the result of `sampling/createMessage`, as it goes over the wire.
    ///
    /// # Errors
    /// If the model is not asked, or the answer comes too late.
    pub fn sampled(&mut self, result: Map<String, Value>) -> Result<(), AnswerError> {
        match self.ask {
            Ask::Sampling { .. } => self.send(Answer::Sampled(result)),
            _ => Err(AnswerError::OtherKind),
        }
    }

    /// Says that the user refuses.
    pub fn decline(mut self) {
        // Where nobody waits any more, nobody is to be told either.
        let _ = self.send(Answer::Decline);
    }

    /// Says that the user has dismissed it without a choice.
    pub fn cancel(mut self) {
        let _ = self.send(Answer::Cancel);
    }

    /// Returns once nobody waits for the answer any more: a dialogue can be closed then.
    pub async fn withdrawn(&mut self) {
        if let Some(reply) = &mut self.reply {
            reply.closed().await;
        }
    }

    fn send(&mut self, answer: Answer) -> Result<(), AnswerError> {
        let reply = self.reply.take().ok_or(AnswerError::Gone)?;
        reply.send(answer).map_err(|_| AnswerError::Gone)
    }
}
