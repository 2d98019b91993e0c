//! Converts transport errors.

use rmcp::transport::streamable_http_client::StreamableHttpError;

use crate::{error::CallError, transport::http::HttpFailure};

pub(super) fn from_transport(error: crate::error::Cause) -> CallError {
    match error.downcast::<StreamableHttpError<HttpFailure>>().map(|error| *error) {
        Ok(StreamableHttpError::Client(HttpFailure::Status { status: status @ (401 | 403), challenge, .. })) => {
            CallError::NeedsAuth { status, challenge }
        }
        Ok(StreamableHttpError::Client(HttpFailure::Status { status, body, .. })) => {
            CallError::HttpStatus { status, body }
        }
        Ok(StreamableHttpError::Client(HttpFailure::Auth(source))) => CallError::Auth { source },
        Ok(StreamableHttpError::Client(HttpFailure::Redirect(rejected))) => {
            CallError::RedirectRefused { to: rejected.to, reason: rejected.reason }
        }
        Ok(StreamableHttpError::ResponseBodyTooLarge { max_size }) => CallError::OversizeReply { limit: max_size },
        Ok(
            lost @ (StreamableHttpError::SessionExpired
            | StreamableHttpError::SessionRecoveryTimeout
            | StreamableHttpError::ReinitializationFailed(_)),
        ) => CallError::SessionLost { reason: lost.to_string() },
        Ok(StreamableHttpError::UnexpectedServerResponse(detail)) => {
            CallError::MalformedResult { detail: detail.into_owned() }
        }
        Ok(other) => CallError::Transport { source: other.into() },
        Err(error) => match error.downcast::<HttpFailure>().map(|error| *error) {
            Ok(HttpFailure::Status { status, body, .. }) => CallError::HttpStatus { status, body },
            Ok(HttpFailure::Auth(source)) => CallError::Auth { source },
            Ok(HttpFailure::Redirect(rejected)) => {
                CallError::RedirectRefused { to: rejected.to, reason: rejected.reason }
            }
            Ok(other) => CallError::Transport { source: other.into() },
            Err(source) => CallError::Transport { source },
        },
    }
}
