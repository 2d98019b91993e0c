//! Requests whose results may request input, and the retries with responses (2026-07-28, basic/patterns/mrtr).

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::{Failure, MAX_ITEMS};
use crate::{
    arguments::{prompt_argument, sample},
    evidence::StepError,
    model::{Input, Responses},
    peer::{Headers, META_CAPABILITIES, Outgoing, Peer, all_capabilities},
    run::{
        ToolPolicy,
        server_case::{calls, fill},
    },
};

/// Timeout of one response.
const WITHIN: Duration = Duration::from_secs(3);
/// The same for a call with large arguments, which is often slow. A tool that asks does so at once.
const WITHIN_MOST: Duration = Duration::from_millis(500);
/// Maximum number of rounds until a request is complete.
const MAX_ROUNDS: usize = 5;
/// Maximum number of pairs of items of which one gets the state of the other.
const MAX_PAIRS: usize = 3;

/// Sends the request for each item, and the retries after each result that requests input.
pub(super) async fn take(
    peer: &mut Peer,
    step: &Input,
    values: &[Value],
    policy: &ToolPolicy,
) -> Result<Value, Failure> {
    let items = fill::select(&step.each, &fill::values(values, None)).map_err(Failure::Nothing)?;
    let targets = items.iter().filter_map(|item| Target::new(&step.method, item, policy));
    let targets: Vec<Target> = targets.take(step.max.unwrap_or(MAX_ITEMS)).collect();
    if targets.is_empty() {
        return Err(Failure::Nothing(format!("the server has no item at `{}` that may be used", step.each)));
    }
    let mut answers = Vec::new();
    let mut asking: Vec<&Target> = Vec::new();
    for target in &targets {
        let Some(answer) = target.send(peer, all_capabilities(), Map::new()).await? else { continue };
        let interim = requested_input(&answer).is_some();
        answers.push(answer);
        if interim {
            for capabilities in partial_capabilities() {
                target.send(peer, capabilities, Map::new()).await?;
            }
            asking.push(target);
        }
        if step.responses.is_empty() {
            continue;
        }
        let mut rounds = 0;
        if interim {
            rounds = target.take_rounds(peer, step, 0, &mut answers).await?;
            target.ask_otherwise(peer, &mut answers).await?;
        }
        // Some tools ask only about a large amount, or ask more then.
        if let Some(most) = target.with_most_arguments(peer) {
            most.take_rounds(peer, step, rounds, &mut answers).await?;
        }
    }
    if step.responses.contains(&Responses::OtherArguments) {
        for pair in asking.windows(2).take(MAX_PAIRS) {
            answers.extend(pair[1].take_state_of(peer, pair[0]).await?);
        }
    }
    Ok(json!({ "answers": answers }))
}

/// Sets of capabilities that lack one which the server may need.
fn partial_capabilities() -> [Value; 5] {
    [
        json!({}),
        json!({ "elicitation": {} }),
        json!({ "elicitation": { "url": {} } }),
        json!({ "sampling": {} }),
        json!({ "roots": {} }),
    ]
}

/// The input requests and the state of a result that requests input.
fn requested_input(response: &Value) -> Option<(Map<String, Value>, Option<Value>)> {
    let result = response.get("result")?;
    result.get("resultType").filter(|kind| *kind == "input_required")?;
    let requests = result.get("inputRequests").and_then(Value::as_object).cloned().unwrap_or_default();
    Some((requests, result.get("requestState").cloned()))
}

/// A tool, a prompt or a resource.
struct Target {
    method: String,
    params: Map<String, Value>,
    /// The definition in the list.
    item: Value,
    /// Timeout of one response. A tool that takes longer is skipped.
    within: Duration,
}

impl Target {
    /// `None` for a tool that may not be called.
    fn new(method: &str, item: &Value, policy: &ToolPolicy) -> Option<Self> {
        let params = match method {
            "tools/call" if policy.permits(item).is_ok() => {
                let arguments = item.get("inputSchema").map_or_else(|| json!({}), sample);
                json!({ "name": item.get("name")?, "arguments": arguments })
            }
            "prompts/get" => {
                let arguments = item.get("arguments").and_then(Value::as_array).into_iter().flatten();
                let names = arguments.filter_map(|one| one.get("name")?.as_str());
                let arguments = names.map(|name| (name.to_owned(), prompt_argument(name)));
                json!({ "name": item.get("name")?, "arguments": arguments.collect::<Map<_, _>>() })
            }
            "resources/read" => json!({ "uri": item.get("uri")? }),
            _ => return None,
        };
        Some(Self {
            method: method.to_owned(),
            params: params.as_object().cloned()?,
            item: item.clone(),
            within: WITHIN,
        })
    }

    /// The name of the tool.
    fn tool(&self) -> Option<&str> {
        self.params.get("name").and_then(Value::as_str).filter(|_| self.method == "tools/call")
    }

    /// Sends the request with these capabilities and additional parameters. `None` if it timed out, or if the calls of the session
    /// took too long.
    async fn send(
        &self,
        peer: &mut Peer,
        capabilities: impl Into<Value>,
        more: Map<String, Value>,
    ) -> Result<Option<Value>, StepError> {
        if let Some(tool) = self.tool()
            && peer.has_time_for(tool).await.is_err()
        {
            return Ok(None);
        }
        let mut params = self.params.clone();
        params.insert("_meta".to_owned(), json!({ META_CAPABILITIES: capabilities.into() }));
        params.extend(more);
        // The retry is sent on another connection: "servers SHOULD NOT require that a client reuse the same connection or process to
        // perform related operations" (2026-07-28, basic).
        let headers = Headers::from([("connection".to_owned(), "close".to_owned())]);
        let outgoing = Outgoing { method: self.method.clone(), params: Some(params), headers, ..Outgoing::default() };
        let began_us = peer.now_us();
        let sent = peer.send(outgoing).await?;
        let response = peer.response_or_error(&sent, self.within).await;
        if let Some(tool) = self.tool() {
            peer.note_duration(tool, Duration::from_micros(peer.now_us() - began_us), response.is_ok());
        }
        match response {
            Ok(response) => Ok(Some(response)),
            Err(error) if error.kind == "timed-out" => {
                peer.give_up(&sent).await;
                Ok(None)
            }
            Err(error) if matches!(error.kind.as_str(), "http-status" | "no-answer") => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Answers the requests of this target with the state of another one.
    async fn take_state_of(&self, peer: &mut Peer, other: &Self) -> Result<Option<Value>, StepError> {
        let foreign = other.send(peer, all_capabilities(), Map::new()).await?;
        let own = self.send(peer, all_capabilities(), Map::new()).await?;
        let requested = |answer: &Option<Value>| answer.as_ref().and_then(requested_input);
        let (Some((_, Some(state))), Some((requests, Some(_)))) = (requested(&foreign), requested(&own)) else {
            return Ok(None);
        };
        let Some(more) = retry_params(&requests, Some(state), Responses::OtherArguments) else { return Ok(None) };
        self.send(peer, all_capabilities(), more).await
    }

    /// The tool with larger arguments.
    fn with_most_arguments(&self, peer: &Peer) -> Option<Self> {
        let most = self.tool().and_then(|_| calls::most_arguments(&self.item))?;
        Some(self.with(most, peer))
    }

    /// The tool with other arguments, which often make it slow.
    fn with(&self, arguments: Map<String, Value>, peer: &Peer) -> Self {
        let mut params = self.params.clone();
        params.insert("arguments".to_owned(), Value::Object(arguments));
        let within = peer.response_timeout(Some(WITHIN_MOST));
        Self { method: self.method.clone(), params, item: self.item.clone(), within }
    }

    /// Calls the tool with other arguments, with all capabilities and without any, until it requests several inputs at once.
    async fn ask_otherwise(&self, peer: &mut Peer, answers: &mut Vec<Value>) -> Result<(), Failure> {
        let arguments = self.tool().map(|_| calls::varied_arguments(&self.item)).unwrap_or_default();
        for arguments in arguments {
            let target = self.with(arguments, peer);
            let Some(answer) = target.send(peer, all_capabilities(), Map::new()).await? else { return Ok(()) };
            let requests = requested_input(&answer).map_or(0, |(requests, _)| requests.len());
            answers.push(answer);
            if requests > 1 {
                target.send(peer, Map::new(), Map::new()).await?;
                answers.extend(target.retry(peer, Responses::Partial, 0).await?.0);
                return Ok(());
            }
        }
        Ok(())
    }

    /// Sends first requests, and retries them with each kind of responses of the step: in the first round, and in the last one.
    /// Rounds up to `known` are not repeated. Returns the number of rounds.
    async fn take_rounds(
        &self,
        peer: &mut Peer,
        step: &Input,
        known: usize,
        answers: &mut Vec<Value>,
    ) -> Result<usize, Failure> {
        let (answer, rounds) = self.retry(peer, Responses::Complete, 0).await?;
        answers.extend(answer);
        let first = (known == 0 && rounds > 0).then_some(0);
        let last = (known < rounds && rounds > 1).then(|| rounds - 1);
        for before in first.into_iter().chain(last) {
            for responses in step.responses.iter().filter(|responses| **responses != Responses::Complete) {
                answers.extend(self.retry(peer, *responses, before).await?.0);
            }
        }
        Ok(rounds)
    }

    /// Sends a new first request, then retries it with responses, which are complete in so many rounds before. Returns the last
    /// response, and the number of rounds.
    async fn retry(
        &self,
        peer: &mut Peer,
        responses: Responses,
        before: usize,
    ) -> Result<(Option<Value>, usize), StepError> {
        let mut answer = self.send(peer, all_capabilities(), Map::new()).await?;
        for round in 0..MAX_ROUNDS {
            let Some((requests, state)) = answer.as_ref().and_then(requested_input) else { return Ok((answer, round)) };
            let responses = if round < before { Responses::Complete } else { responses };
            let Some(mut more) = retry_params(&requests, state, responses) else { return Ok((answer, round)) };
            if responses == Responses::OtherArguments {
                let other = self.params.get("arguments").and_then(|than| calls::other_arguments(&self.item, than));
                let Some(other) = other else { return Ok((answer, round)) };
                more.insert("arguments".to_owned(), other);
            }
            // A retry is a request of its own, with its own capabilities.
            let capabilities = if responses == Responses::Undeclared { Map::new() } else { all_capabilities() };
            answer = self.send(peer, capabilities, more).await?;
            if responses != Responses::Complete {
                return Ok((answer, round + 1));
            }
        }
        Ok((answer, MAX_ROUNDS))
    }
}

/// The parameters of a retry; `None` if the variant needs a state or requests that the result lacks.
fn retry_params(
    requests: &Map<String, Value>,
    state: Option<Value>,
    responses: Responses,
) -> Option<Map<String, Value>> {
    let state = match (state, responses) {
        (Some(state), Responses::ChangedState | Responses::DeclinedWithChangedState) => {
            Some(changed(&state, |length| length / 2)?)
        }
        // The last characters of Base64 can be unused bits, or padding.
        (Some(state), Responses::ChangedEnd) => Some(changed(&state, |length| length.saturating_sub(6))?),
        (Some(state), Responses::ChangedPart) => Some(changed_part(&state)?),
        (Some(_), Responses::StateOfAnotherType) => Some(json!({})),
        (Some(state), Responses::ShortenedState) => Some(shortened(&state)?),
        (
            None,
            Responses::ShortenedState
            | Responses::ChangedPart
            | Responses::StateOfAnotherType
            | Responses::ChangedState
            | Responses::ChangedEnd
            | Responses::OtherArguments
            | Responses::DeclinedWithChangedState,
        ) => return None,
        (state, _) => state,
    };
    let mut given: Map<String, Value> =
        requests.iter().map(|(key, one)| (key.clone(), response(one, responses))).collect();
    match responses {
        Responses::Missing
        | Responses::Undeclared
        | Responses::Malformed
        | Responses::Declined
        | Responses::Dismissed
        | Responses::DeclinedWithChangedState
            if requests.is_empty() =>
        {
            return None;
        }
        Responses::Missing | Responses::Undeclared => given.clear(),
        Responses::Partial => {
            let last = requests.keys().next_back().filter(|_| requests.len() > 1)?;
            given.remove(last);
        }
        Responses::Extra => drop(given.insert("workbench_unknown".to_owned(), json!({ "action": "cancel" }))),
        _ => {}
    }
    let mut params = Map::new();
    if !requests.is_empty() || !given.is_empty() {
        params.insert("inputResponses".to_owned(), Value::Object(given));
    }
    if let Some(state) = state {
        params.insert("requestState".to_owned(), state);
    }
    Some(params)
}

/// The state with another letter or digit at this position or after it.
fn changed(state: &Value, position: impl Fn(usize) -> usize) -> Option<Value> {
    let text = state.as_str()?;
    let swap = |byte: u8| if byte == b'A' { 'B' } else { 'A' };
    let found = text.bytes().enumerate().skip(position(text.len())).find(|(_, byte)| byte.is_ascii_alphanumeric());
    let (at, byte) = found.or_else(|| text.bytes().enumerate().find(|(_, byte)| byte.is_ascii_alphanumeric()))?;
    Some(json!(format!("{}{}{}", &text[..at], swap(byte), &text[at + 1..])))
}

/// The state with another letter or digit in the second of its parts, which dots separate. Only one with more parts has a
/// signature behind it.
fn changed_part(state: &Value) -> Option<Value> {
    let (first, rest) = state.as_str()?.split_once('.')?;
    let (second, end) = rest.split_once('.')?;
    let second = changed(&json!(second), |length| length / 2)?;
    Some(json!(format!("{first}.{}.{end}", second.as_str()?)))
}

/// The state without a signature at its end.
fn shortened(state: &Value) -> Option<Value> {
    let text = state.as_str()?;
    let kept = text.chars().count() * 2 / 3;
    let rest = text.rsplit_once('.').map_or_else(|| text.chars().take(kept).collect(), |(rest, _)| rest.to_owned());
    (!rest.is_empty()).then(|| json!(rest))
}

/// The response to an input request.
fn response(request: &Value, responses: Responses) -> Value {
    if responses == Responses::Malformed {
        return json!("workbench");
    }
    match request.get("method").and_then(Value::as_str) {
        Some("sampling/createMessage") => json!({
            "role": "assistant", "model": "workbench", "stopReason": "endTurn",
            "content": { "type": "text", "text": "workbench" },
        }),
        Some("roots/list") => json!({ "roots": [{ "uri": "file:///workbench", "name": "workbench" }] }),
        _ if matches!(responses, Responses::Declined | Responses::DeclinedWithChangedState) => {
            json!({ "action": "decline" })
        }
        _ if responses == Responses::Dismissed => json!({ "action": "cancel" }),
        _ => match request.pointer("/params/requestedSchema") {
            Some(schema) if responses == Responses::Invalid => {
                json!({ "action": "accept", "content": invalid(schema) })
            }
            Some(schema) => json!({ "action": "accept", "content": sample(schema) }),
            None => json!({ "action": "accept" }),
        },
    }
}

/// The content of a form with an object in one field, which no field of a form permits.
fn invalid(schema: &Value) -> Value {
    let mut content = sample(schema);
    let required = schema.get("required").and_then(Value::as_array).and_then(|names| names.first()?.as_str());
    let first = || schema.get("properties")?.as_object()?.keys().next().map(String::as_str);
    if let Some(name) = required.or_else(first) {
        content[name] = json!({ "workbench": "an object" });
    }
    content
}
