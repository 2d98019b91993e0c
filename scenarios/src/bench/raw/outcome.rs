//! The outcome of a call from an HTTP response, in both versions of HTTP.

use tokio::time::Instant;

use crate::bench::{
    CallFailure,
    notifications::Notified,
    raw::{
        reply::{INVALID_MESSAGE, Message, Verifier},
        response::InvalidResponse,
    },
};

/// Whether the result is as expected, and the cursor of a further page.
pub(super) type Outcome = Result<Option<String>, CallFailure>;

/// An open request.
#[derive(Debug, Clone, Copy)]
pub(super) struct OpenRequest {
    pub(super) id: u64,
    pub(super) operation: usize,
}

impl OpenRequest {
    /// The outcome of a JSON body.
    pub(super) fn in_body(self, verifier: &mut Verifier, body: &[u8]) -> Outcome {
        let message = self.read(verifier, body);
        self.own(message)
            .unwrap_or_else(|| Err(CallFailure::new(INVALID_MESSAGE, "the body is not a response").with_frame(body)))
    }

    /// The outcome of the events until now, if one of them ends the call. The notifications before it are added to `notified`.
    pub(super) fn in_events(
        self,
        verifier: &mut Verifier,
        notified: &mut Option<Notified>,
        mut next_event: impl FnMut() -> Option<Vec<u8>>,
    ) -> Option<Outcome> {
        while let Some(data) = next_event() {
            let message = self.read(verifier, &data);
            if let Message::Notification { .. } = message {
                Notified::add(notified, Instant::now());
            }
            if let Some(outcome) = self.own(message) {
                return Some(outcome);
            }
        }
        None
    }

    /// The failure of a response with another status or type.
    pub(super) fn rejected(self, verifier: &mut Verifier, status: u16, body: &[u8]) -> CallFailure {
        if let Message::Response { outcome: Err(failure), .. } = self.read(verifier, body) {
            return CallFailure { text: format!("HTTP {status}: {}", failure.text), ..failure };
        }
        let text = match status {
            200..300 => format!("HTTP {status} without a JSON body or an event stream"),
            _ => format!("HTTP {status}"),
        };
        CallFailure::new("http-status", text).with_frame(body)
    }

    fn read(self, verifier: &mut Verifier, bytes: &[u8]) -> Message {
        verifier.read(bytes, |id| (id == self.id).then_some(self.operation))
    }

    /// The outcome of a message that ends the call.
    fn own(self, message: Message) -> Option<Outcome> {
        match message {
            Message::Response { id, outcome } if id == self.id => Some(outcome),
            Message::Response { id, .. } => {
                let text = format!("the response has the id {id}, the request {}", self.id);
                Some(Err(CallFailure::new(INVALID_MESSAGE, text)))
            }
            Message::Request { method, .. } => {
                let text = format!("the server sent the request `{method}`; use `--driver client` to answer it");
                Some(Err(CallFailure::new("server-request", text)))
            }
            Message::Notification { .. } => None,
            Message::Invalid(failure) => Some(Err(failure)),
        }
    }
}

/// The failure of an event stream that ended.
pub(super) fn without_response() -> CallFailure {
    lost("the stream ended without the response")
}

/// The failure of a call whose connection was lost.
pub(super) fn lost(text: impl Into<String>) -> CallFailure {
    CallFailure::new("connection-lost", text)
}

/// The failure of a call without a connection.
pub(super) fn not_connected(cause: &std::io::Error) -> CallFailure {
    CallFailure::new("connect-failed", format!("cannot connect: {cause}"))
}

/// The failure of a call with an invalid response.
pub(super) fn invalid(cause: &InvalidResponse) -> CallFailure {
    match cause {
        InvalidResponse::Closed => lost(cause.to_string()),
        InvalidResponse::TooLong => CallFailure::new("oversize-reply", cause.to_string()),
        InvalidResponse::Syntax(_) => CallFailure::new("transport", cause.to_string()),
    }
}
