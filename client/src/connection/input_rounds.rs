//! Results that require input first (2026-07-28, patterns, "Multi Round-Trip Requests").

use futures::future::try_join_all;
use serde_json::{Map, Value};

use super::{Connection, PendingRequest, RequestTimeouts};
use crate::{error::CallError, event::CallId};

/// Maximum number of requests for one result.
const ROUNDS: usize = 10;

/// The input that a server requires.
enum RequiredInput {
    /// Input requests (2026-07-28).
    Inputs { requests: Option<Value>, state: Option<Value> },
    /// URLs to open: the `data` of the error (2025-11-25).
    Urls(Value),
}

/// URLElicitationRequiredError (2025-11-25, elicitation, "URL Elicitation Required Error").
const URL_ELICITATION_REQUIRED: i64 = -32042;

impl Connection {
    /// Waits for the response to a request. While it requires input, asks the user and sends the request again.
    /// Timeouts are paused while the user is asked.
    pub(crate) async fn run_input_rounds(
        &self,
        mut pending: PendingRequest,
        method: &'static str,
        mut params: Map<String, Value>,
        call: Option<CallId>,
        timeouts: &RequestTimeouts,
    ) -> Result<Value, CallError> {
        let mut left = timeouts.clone();
        let mut round = 1;
        loop {
            let begun = pending.begun();
            let required = match pending.response(&left).await {
                Ok(mut result) if self.rules().input_rounds && result["resultType"] == "input_required" => {
                    let part = |field: &str| result.get_mut(field).map(Value::take);
                    let [requests, state] = ["inputRequests", "requestState"].map(part);
                    RequiredInput::Inputs { requests, state }
                }
                Err(CallError::Rpc { code: URL_ELICITATION_REQUIRED, data, .. })
                    if self.rules().url_elicitation_errors =>
                {
                    RequiredInput::Urls(data.unwrap_or_default())
                }
                other => return other.and_then(|result| self.with_known_type(result)),
            };
            if round == ROUNDS {
                return Err(CallError::TooManyRounds { limit: ROUNDS });
            }
            left.ceiling = left.ceiling.saturating_sub(begun.elapsed());
            match required {
                RequiredInput::Inputs { requests: None, state: None } => {
                    let detail = "an `input_required` result has neither `inputRequests` nor `requestState`".into();
                    return Err(CallError::MalformedResult { detail });
                }
                RequiredInput::Inputs { requests, state } => {
                    let responses = self.respond_to_inputs(requests, call, timeouts).await?;
                    // Each retry responds to the previous result only, so fields that it did not have are omitted.
                    for (field, value) in [("inputResponses", responses), ("requestState", state)] {
                        params.remove(field);
                        params.extend(value.map(|value| (field.to_owned(), value)));
                    }
                }
                RequiredInput::Urls(data) => self.open_urls(data, call, &left).await?,
            }
            pending = self.send(method, Some(Value::Object(params.clone())), call).await?;
            round += 1;
        }
    }

    async fn respond_to_inputs(
        &self,
        requests: Option<Value>,
        call: Option<CallId>,
        timeouts: &RequestTimeouts,
    ) -> Result<Option<Value>, CallError> {
        let Some(requests) = requests else { return Ok(None) };
        let Value::Object(requests) = requests else {
            return Err(CallError::MalformedResult { detail: "`inputRequests` is not an object".into() });
        };
        tokio::select! {
            biased;
            () = timeouts.cancel.cancelled() => Err(CallError::Cancelled),
            responses = self.respond_to_each(requests, call) => responses.map(|responses| Some(Value::Object(responses))),
        }
    }

    /// Responds to several requests concurrently.
    pub(super) async fn respond_to_each(
        &self,
        requests: Map<String, Value>,
        call: Option<CallId>,
    ) -> Result<Map<String, Value>, CallError> {
        let responses = requests.into_iter().map(|(key, request)| self.respond_to_input(key, request, call));
        Ok(try_join_all(responses).await?.into_iter().collect())
    }

    async fn respond_to_input(
        &self,
        key: String,
        mut request: Value,
        call: Option<CallId>,
    ) -> Result<(String, Value), CallError> {
        let method = request.get("method").and_then(Value::as_str).unwrap_or_default().to_owned();
        let params = request.get_mut("params").map(Value::take);
        let response = self.inner.dispatcher.request(&method, params, key.clone().into(), call).await;
        match response {
            Ok(response) => Ok((key, response)),
            Err(error) => {
                let reason = error.message.into_owned();
                Err(CallError::InputRefused { key, method, reason })
            }
        }
    }
}
