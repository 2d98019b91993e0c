//! Sends a request with authorization, and again after an authorization challenge.

use std::sync::Arc;

use http::{StatusCode, header::AUTHORIZATION};
use reqwest::{RequestBuilder, Response};

use super::{HttpFailure, pool::Pooled, response};
use crate::{
    auth::{AuthError, Authorize, RejectedRequest, challenge_fields},
    tracker::RequestTracker,
};

/// Maximum number of attempts, for any implementation of `Authorize`.
const ATTEMPTS: u32 = 8;

/// Sends the requests of one connection.
#[derive(Debug, Clone)]
pub(crate) struct Sender {
    pub(crate) client: Pooled,
    authorizer: Option<Arc<dyn Authorize>>,
    tracker: Arc<RequestTracker>,
}

impl Sender {
    /// A configured `Authorization` header is not replaced.
    pub(crate) fn new(
        client: Pooled,
        authorizer: Option<&Arc<dyn Authorize>>,
        has_own_authorization: bool,
        tracker: &Arc<RequestTracker>,
    ) -> Self {
        let authorizer = authorizer.filter(|_| !has_own_authorization).cloned();
        Self { client, authorizer, tracker: Arc::clone(tracker) }
    }

    /// Sends a request, and returns the response with any status.
    pub(crate) async fn send(&self, request: RequestBuilder) -> Result<Response, HttpFailure> {
        let Some(authorizer) = &self.authorizer else { return Ok(request.send().await?) };
        let mut request = request;
        for attempt in 1..=ATTEMPTS {
            let again = request.try_clone();
            let mut built = request.build()?;
            let headers = {
                let _paused = self.tracker.pause.begin();
                self.noted(authorizer.headers(built.method(), built.url()).await)?
            };
            let presented = headers.get(AUTHORIZATION).cloned();
            let had_token = presented.is_some();
            let url = built.url().clone();
            built.headers_mut().extend(headers);
            let response = self.client.execute(built).await?;
            authorizer.on_response(response.headers());
            let status = response.status();
            let Some(again) = again.filter(|_| matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN))
            else {
                return Ok(response);
            };
            let www_authenticate = challenge_fields(response.headers());
            let rejection = RejectedRequest { status: status.as_u16(), www_authenticate, url, presented, attempt };
            let better = {
                let _paused = self.tracker.pause.begin();
                self.noted(authorizer.on_rejection(rejection).await)?
            };
            if !better || attempt == ATTEMPTS {
                return Ok(response);
            }
            if had_token {
                self.tracker.note_authorization();
            }
            response::discard(response).await;
            request = again;
        }
        unreachable!("the last attempt returns")
    }

    /// Records an authorization error, because rmcp reports a failed handshake without its cause.
    fn noted<T>(&self, outcome: Result<T, AuthError>) -> Result<T, AuthError> {
        outcome.inspect_err(|error| self.tracker.note_auth_failure(error))
    }
}
