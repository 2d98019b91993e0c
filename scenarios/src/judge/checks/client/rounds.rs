//! Results that require input, and the requests that follow them with the input (2026-07-28, basic/patterns/mrtr).

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::judge::transcript::{IdKey, Message, Transcript};

/// Maximum number of results with which one request is compared: the last ones before it.
const MAX_CANDIDATES: usize = 16;
/// The requests that a server may answer with a demand for input (basic/patterns/mrtr#supported-requests).
const METHODS: [&str; 3] = ["tools/call", "prompts/get", "resources/read"];

/// A result that requires input.
#[derive(Debug, Clone, Copy)]
pub(super) struct Round<'a> {
    /// The frame of the result.
    pub(super) seq: u64,
    /// The id of the request.
    pub(super) id: Option<IdKey<'a>>,
    /// The state.
    pub(super) state: Option<&'a Value>,
    /// The requests to the user.
    pub(super) requests: Option<&'a Map<String, Value>>,
}

/// A request with a state or with responses, and what it answers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Retry<'a> {
    /// The request.
    pub(super) request: Message<'a>,
    /// Its origin.
    pub(super) origin: Origin<'a>,
}

/// The origin of a request with a state or with responses.
#[derive(Debug, Clone, Copy)]
pub(super) enum Origin<'a> {
    /// A result of the same request, with the same state.
    Round(Round<'a>),
    /// The latest result of the same request, which has another state, or one of both has none.
    OtherState(Round<'a>),
    /// A result of another request has the state.
    OtherRequest(Round<'a>),
    /// There is none.
    Nothing,
}

/// What is repeated: the server, the method, and the parameters without state, responses and metadata.
type Operation<'a> = (&'a str, &'a str, String);

fn operation<'a>(request: &Message<'a>) -> Option<Operation<'a>> {
    let method = request.method().filter(|method| METHODS.contains(method))?;
    let mut params = request.params()?.as_object()?.clone();
    params.retain(|name, _| !matches!(name.as_str(), "inputResponses" | "requestState" | "_meta"));
    Some((request.frame.server.as_str(), method, Value::from(params).to_string()))
}

/// The requests of the client with a state or with responses, in order.
pub(super) fn retries<'a>(transcript: &Transcript<'a>) -> Vec<Retry<'a>> {
    let mut rounds: HashMap<Operation<'a>, Vec<Round<'a>>> = HashMap::new();
    let mut by_state: HashMap<(&'a str, &'a Value), Round<'a>> = HashMap::new();
    for one in transcript.requests() {
        let result = one.result().filter(|result| result.get("resultType").is_some_and(|it| it == "input_required"));
        let (Some(result), Some(response)) = (result, one.response) else { continue };
        let Some(operation) = operation(&one.request) else { continue };
        let state = result.get("requestState");
        let requests = result.get("inputRequests").and_then(Value::as_object);
        let round = Round { seq: response.seq(), id: one.request.id_key(), state, requests };
        if let Some(state) = state {
            by_state.entry((operation.0, state)).or_insert(round);
        }
        rounds.entry(operation).or_default().push(round);
    }
    rounds.values_mut().for_each(|rounds| rounds.sort_by_key(|round| round.seq));
    let is_retry = |request: &Message<'_>| {
        request.is_request() && ["inputResponses", "requestState"].iter().any(|name| request.param(name).is_some())
    };
    let requests = transcript.client_messages().filter(is_retry);
    let retries = requests.filter_map(|request| {
        let operation = operation(&request)?;
        let state = request.param("requestState");
        let candidates = rounds.get(&operation).map_or(&[][..], Vec::as_slice);
        let before = candidates.partition_point(|round| round.seq < request.seq());
        let candidates = || candidates[..before].iter().rev().take(MAX_CANDIDATES).copied();
        let other = || by_state.get(&(operation.0, state?)).filter(|round| round.seq < request.seq()).copied();
        let same = candidates().find(|round| round.state == state);
        let origin = match (same, other(), candidates().next()) {
            (Some(round), ..) => Origin::Round(round),
            (None, Some(round), _) => Origin::OtherRequest(round),
            (None, None, Some(round)) => Origin::OtherState(round),
            (None, None, None) => Origin::Nothing,
        };
        Some(Retry { request, origin })
    });
    retries.collect()
}
