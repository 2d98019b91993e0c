//! A request to the user, and its possible responses.

use std::sync::Arc;

use serde_json::{Map, Value};
use tokio::sync::oneshot;
use url::Url;

use super::form::{FieldProblem, Form};
use crate::event::CallId;

/// The kind of a request.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum HostRequestKind {
    /// Fill in a form.
    Form {
        /// The message of the server.
        message: String,
        /// The form.
        form: Form,
    },
    /// Visit a URL, after its host was shown.
    Url {
        /// The message of the server.
        message: String,
        /// The URL; http or https.
        url: Url,
        /// The id in the completion notification (2025-11-25).
        elicitation_id: Option<String>,
    },
    /// Sample from the model.
    Sampling {
        /// The parameters of `sampling/createMessage`, as received.
        params: Map<String, Value>,
    },
}

/// The response of the user.
#[derive(Debug)]
pub(super) enum HostResponse {
    Accept(Option<Map<String, Value>>),
    Sampled(Map<String, Value>),
    Decline,
    Cancel,
}

/// A server request to the user. Dropping it without a response cancels it.
#[derive(Debug)]
pub struct HostRequest {
    pub(super) server: Arc<str>,
    pub(super) number: u64,
    pub(super) wire_id: Value,
    pub(super) call: Option<CallId>,
    pub(super) kind: HostRequestKind,
    pub(super) reply: Option<oneshot::Sender<HostResponse>>,
}

/// The reason why a response was not accepted.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum HostResponseError {
    /// The content does not match the form. The request is still open.
    #[error("{} of the form cannot be accepted", match problems.len() { 1 => "a field", _ => "several fields" })]
    Invalid {
        /// The problems by field.
        problems: Vec<FieldProblem>,
    },
    /// The request is of another kind, and still open.
    #[error("the request is of another kind")]
    OtherKind,
    /// The request is no longer open: it was answered or withdrawn, or its call has ended.
    #[error("the request is no longer open")]
    Gone,
}

impl HostRequest {
    /// The name of the requesting server. A user interface must show it (2025-11-25, elicitation, "Security
    /// Considerations").
    #[must_use]
    pub fn server(&self) -> &str {
        &self.server
    }

    /// A number that is unique within the link.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The server's id: that of the JSON-RPC request, or in 2026-07-28 the key of the input request.
    #[must_use]
    pub fn wire_id(&self) -> &Value {
        &self.wire_id
    }

    /// The tool call of the request, which only 2026-07-28 specifies.
    #[must_use]
    pub fn call(&self) -> Option<CallId> {
        self.call
    }

    /// The kind of request.
    #[must_use]
    pub fn kind(&self) -> &HostRequestKind {
        &self.kind
    }

    /// Submits the form after the user has reviewed it. Missing fields get their defaults.
    ///
    /// # Errors
    /// If the content is invalid, or the request is of another kind or no longer open.
    pub fn accept(&mut self, content: Map<String, Value>) -> Result<(), HostResponseError> {
        let HostRequestKind::Form { form, .. } = &self.kind else { return Err(HostResponseError::OtherKind) };
        let content = form.fill(content).map_err(|problems| HostResponseError::Invalid { problems })?;
        self.send(HostResponse::Accept(Some(content)))
    }

    /// Reports that the user agrees to visit the URL.
    ///
    /// # Errors
    /// If the request is of another kind or no longer open.
    pub fn consent(&mut self) -> Result<(), HostResponseError> {
        match self.kind {
            HostRequestKind::Url { .. } => self.send(HostResponse::Accept(None)),
            _ => Err(HostResponseError::OtherKind),
        }
    }

    /// Returns the result of `sampling/createMessage`.
    ///
    /// # Errors
    /// If the request is of another kind or no longer open.
    pub fn sampled(&mut self, result: Map<String, Value>) -> Result<(), HostResponseError> {
        match self.kind {
            HostRequestKind::Sampling { .. } => self.send(HostResponse::Sampled(result)),
            _ => Err(HostResponseError::OtherKind),
        }
    }

    /// Reports that the user declined.
    pub fn decline(mut self) {
        // An error means that the request is no longer open.
        let _ = self.send(HostResponse::Decline);
    }

    /// Reports that the user dismissed the request.
    pub fn cancel(mut self) {
        let _ = self.send(HostResponse::Cancel);
    }

    /// Whether the request was neither answered nor withdrawn, and its call goes on.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.reply.as_ref().is_some_and(|reply| !reply.is_closed())
    }

    /// Waits until the request is no longer open, so that a dialog can be closed.
    pub async fn withdrawn(&mut self) {
        if let Some(reply) = &mut self.reply {
            reply.closed().await;
        }
    }

    fn send(&mut self, response: HostResponse) -> Result<(), HostResponseError> {
        let reply = self.reply.take().ok_or(HostResponseError::Gone)?;
        reply.send(response).map_err(|_| HostResponseError::Gone)
    }
}
