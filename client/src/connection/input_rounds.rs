//! Results that require input first (2026-07-28, patterns, "Multi Round-Trip Requests").

use futures::future::try_join_all;
use serde_json::{Map, Value};

use super::{Connection, PendingRequest, RequestTimeouts};
use crate::{error::CallError, event::CallId};

/// Maximum number of requests for one result.
const ROUNDS: usize = 10;

/// The input that a server requires.
enum RequiredInput {
    /// Responses to input requests (2026-07-28).
    Inputs { asked: Option<Value>, state: Option<Value> },
    /// Visits of URLs: the `data` of its error (2025-11-25).
    Visits(Value),
}

/// URLElicitationRequiredError (2025-11-25, elicitation, "URL Elicitation Required Error").
const URL_ELICITATION_REQUIRED: i64 = -32042;

impl Connection {
    /// Waits for the response to a request. While it requires input, asks the user and sends the request again.
    /// Timeouts are paused while the user is asked.
    pub(crate) async fn run_input_rounds(
        &self,
        mut exchange: PendingRequest,
        method: &'static str,
        mut params: Map<String, Value>,
        call: Option<CallId>,
        timeouts: &RequestTimeouts,
    ) -> Result<Value, CallError> {
        let mut left = timeouts.clone();
        let mut round = 1;
        loop {
            let begun = exchange.begun();
            let asked = match exchange.answer(&left).await {
                Ok(mut result) if self.rules().input_rounds && result["resultType"] == "input_required" => {
                    let part = |field: &str| result.get_mut(field).map(Value::take);
                    let [asked, state] = ["inputRequests", "requestState"].map(part);
                    RequiredInput::Inputs { asked, state }
                }
                Err(CallError::Rpc { code: URL_ELICITATION_REQUIRED, data, .. })
                    if self.rules().url_elicitation_errors =>
                {
                    RequiredInput::Visits(data.unwrap_or_default())
                }
                other => return other,
            };
            if round == ROUNDS {
                return Err(CallError::TooManyRounds { limit: ROUNDS });
            }
            left.ceiling = left.ceiling.saturating_sub(begun.elapsed());
            match asked {
                RequiredInput::Inputs { asked: None, state: None } => {
                    let detail = "an `input_required` result has neither `inputRequests` nor `requestState`".into();
                    return Err(CallError::MalformedResult { detail });
                }
                RequiredInput::Inputs { asked, state } => {
                    let answers = self.answer_inputs(asked, call, timeouts).await?;
                    // Each retry responds to the previous result only, so fields that it did not have are omitted.
                    for (field, value) in [("inputResponses", answers), ("requestState", state)] {
                        params.remove(field);
                        params.extend(value.map(|value| (field.to_owned(), value)));
                    }
                }
                RequiredInput::Visits(data) => self.visit(data, call, &left).await?,
            }
            exchange = self.send(method, Some(Value::Object(params.clone())), call).await?;
            round += 1;
        }
    }

    async fn answer_inputs(
        &self,
        asked: Option<Value>,
        call: Option<CallId>,
        timeouts: &RequestTimeouts,
    ) -> Result<Option<Value>, CallError> {
        let Some(asked) = asked else { return Ok(None) };
        let Value::Object(asked) = asked else {
            return Err(CallError::MalformedResult { detail: "`inputRequests` is not an object".into() });
        };
        tokio::select! {
            biased;
            () = timeouts.cancel.cancelled() => Err(CallError::Cancelled),
            answers = self.answer_each(asked, call) => answers.map(|answers| Some(Value::Object(answers))),
        }
    }

    /// Responds to several requests concurrently.
    pub(super) async fn answer_each(
        &self,
        asked: Map<String, Value>,
        call: Option<CallId>,
    ) -> Result<Map<String, Value>, CallError> {
        let answers = asked.into_iter().map(|(key, request)| self.answer_input(key, request, call));
        Ok(try_join_all(answers).await?.into_iter().collect())
    }

    async fn answer_input(
        &self,
        key: String,
        mut request: Value,
        call: Option<CallId>,
    ) -> Result<(String, Value), CallError> {
        let method = request.get("method").and_then(Value::as_str).unwrap_or_default().to_owned();
        let params = request.get_mut("params").map(Value::take);
        let answered = self.inner.dispatcher.ask(&method, params, key.clone().into(), call).await;
        match answered {
            Ok(answer) => Ok((key, answer)),
            Err(error) => {
                let reason = error.message.into_owned();
                Err(CallError::InputRefused { key, method, reason })
            }
        }
    }
}
