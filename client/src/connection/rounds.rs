//! Results that ask for more before they come (2026-07-28, patterns, "Multi Round-Trip Requests").

use futures::future::try_join_all;
use serde_json::{Map, Value};

use super::{Connection, Exchange, Patience};
use crate::{
    error::CallError,
    event::CallId,
    revision::{Era, Revision},
};

/// How often one request is made before a server that always asks for more is given up.
const ROUNDS: usize = 10;

/// What a server wants before it answers.
enum Asked {
    /// Answers to questions (2026-07-28).
    Inputs { asked: Option<Value>, state: Option<Value> },
    /// That the user visits URLs: the `data` of its error (2025-11-25).
    Visits(Value),
}

/// The code of an error that asks for visits (2025-11-25, elicitation, "URL Elicitation Required Error").
const URL_ELICITATION_REQUIRED: i64 = -32042;

impl Connection {
    /// Waits for the answer to a request that was sent, and as long as it is a question has the user answer it and sends
    /// the request again. The time that the user takes is nobody's.
    pub(crate) async fn see_through(
        &self,
        mut exchange: Exchange,
        method: &'static str,
        mut params: Map<String, Value>,
        call: Option<CallId>,
        patience: &Patience,
    ) -> Result<Value, CallError> {
        let mut left = patience.clone();
        let mut round = 1;
        loop {
            let begun = exchange.begun();
            let asked = match exchange.answer(&left).await {
                Ok(mut result) if self.era() == Era::Modern && result["resultType"] == "input_required" => {
                    let part = |field: &str| result.get_mut(field).map(Value::take);
                    let [asked, state] = ["inputRequests", "requestState"].map(part);
                    Asked::Inputs { asked, state }
                }
                Err(CallError::Rpc { code: URL_ELICITATION_REQUIRED, data, .. })
                    if self.revision() == Revision::V2025_11_25 =>
                {
                    Asked::Visits(data.unwrap_or_default())
                }
                other => return other,
            };
            if round == ROUNDS {
                return Err(CallError::TooManyRounds { limit: ROUNDS });
            }
            left.ceiling = left.ceiling.saturating_sub(begun.elapsed());
            match asked {
                Asked::Inputs { asked: None, state: None } => {
                    let detail = "it asks for input, but neither holds `inputRequests` nor `requestState`".into();
                    return Err(CallError::MalformedResult { detail });
                }
                Asked::Inputs { asked, state } => {
                    let answers = self.answer_inputs(asked, call, patience).await?;
                    // Each retry answers the result before it, and no other: what that one did not hold is left out.
                    for (field, value) in [("inputResponses", answers), ("requestState", state)] {
                        params.remove(field);
                        params.extend(value.map(|value| (field.to_owned(), value)));
                    }
                }
                Asked::Visits(data) => self.visit(data, call, &left).await?,
            }
            exchange = self.send(method, Some(Value::Object(params.clone())), call).await?;
            round += 1;
        }
    }

    async fn answer_inputs(
        &self,
        asked: Option<Value>,
        call: Option<CallId>,
        patience: &Patience,
    ) -> Result<Option<Value>, CallError> {
        let Some(asked) = asked else { return Ok(None) };
        let Value::Object(asked) = asked else {
            return Err(CallError::MalformedResult { detail: "`inputRequests` is not an object".into() });
        };
        tokio::select! {
            biased;
            () = patience.cancel.cancelled() => Err(CallError::Cancelled),
            answers = self.answer_each(asked, call) => answers.map(|answers| Some(Value::Object(answers))),
        }
    }

    /// Answers all of several requests at the same time.
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
        let answered = self.inner.desk.ask(&method, params, key.clone().into(), call).await;
        match answered {
            Ok(answer) => Ok((key, answer)),
            Err(error) => {
                let reason = error.message.into_owned();
                Err(CallError::InputRefused { key, method, reason })
            }
        }
    }
}
