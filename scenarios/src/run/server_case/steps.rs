//! Executes the steps of server cases.

use std::{collections::BTreeSet, time::Duration};

use mock_servers::HumanDuration;
use serde_json::{Map, Value, json};

use crate::{
    evidence::{Outcome, StepError},
    model::{HttpStep, Pages, Raw, Request, ServerStep, Transport},
    peer::{Outgoing, Peer, failure, rpc_error},
};

use super::fill::fill;

/// Default timeout of a response.
const ANSWER: Duration = Duration::from_secs(5);
/// Default time to wait for messages after raw text.
const RAW: Duration = Duration::from_secs(1);
/// Timeout of a server to exit after its input was closed. Longer than between cases, as the step measures the exit and
/// interpreters on a busy machine are slow.
const CLOSE: Duration = Duration::from_secs(4);
/// Default maximum number of pages.
const MAX_PAGES: usize = 100;

/// Executes one step. `values` has the values of all steps, null if a step has none.
pub(super) async fn take(peer: &mut Peer, step: &ServerStep, values: &[Value]) -> Outcome {
    let taken = match step {
        ServerStep::Request(step) => request(peer, step, values).await,
        ServerStep::Notify(step) => notify(peer, step, values).await,
        ServerStep::Raw(step) => raw(peer, step).await,
        ServerStep::Pages(step) => pages(peer, step).await,
        ServerStep::Http(step) => return http(peer, step).await,
        ServerStep::Close(_) => return peer.close(CLOSE).await,
    };
    match taken {
        Ok(value) => Outcome::Value(value),
        Err(Failure::Step(error)) => Outcome::Error(error),
        Err(Failure::Nothing(why)) => Outcome::Skipped(why),
    }
}

enum Failure {
    Step(StepError),
    Nothing(String),
}

impl From<StepError> for Failure {
    fn from(error: StepError) -> Self {
        Self::Step(error)
    }
}

async fn request(peer: &mut Peer, step: &Request, values: &[Value]) -> Result<Value, Failure> {
    let outgoing = outgoing(step, values)?;
    let within = step.within.map_or(ANSWER, |HumanDuration(within)| within);
    if let Some(method) = &step.until {
        let sent = peer.send(outgoing).await?;
        let found = peer.notification(&sent, method, within).await;
        peer.give_up(&sent).await;
        return Ok(found?);
    }
    if let Some(times) = step.times {
        return Ok(at_once(peer, &outgoing, times, within).await?);
    }
    let response = peer.request(outgoing, within).await?;
    if step.either {
        return Ok(response);
    }
    Ok(result_of(&response)?)
}

/// Sends all requests before it waits for the first response.
async fn at_once(peer: &mut Peer, outgoing: &Outgoing, times: u16, within: Duration) -> Result<Value, StepError> {
    let mut sent = Vec::new();
    for _ in 0..times {
        sent.push(peer.send(outgoing.clone()).await?);
    }
    let mut answers = Vec::new();
    for sent in &sent {
        answers.push(peer.response(sent, within).await?);
    }
    Ok(json!({ "answers": answers }))
}

async fn notify(peer: &mut Peer, step: &Request, values: &[Value]) -> Result<Value, Failure> {
    peer.notify(&outgoing(step, values)?).await?;
    Ok(Value::Null)
}

async fn raw(peer: &mut Peer, step: &Raw) -> Result<Value, Failure> {
    let replies = peer.raw(&step.text, step.within.map_or(RAW, |HumanDuration(within)| within)).await?;
    Ok(json!({ "replies": replies }))
}

async fn pages(peer: &mut Peer, step: &Pages) -> Result<Value, Failure> {
    let most = step.max_pages.unwrap_or(MAX_PAGES);
    let (mut items, mut cursors) = (Vec::new(), Vec::new());
    let mut met = BTreeSet::new();
    let mut count = 0;
    loop {
        let params = cursors.last().map(|cursor| Map::from_iter([("cursor".to_owned(), json!(cursor))]));
        let outgoing = Outgoing { method: step.method.clone(), params, ..Outgoing::default() };
        let result = result_of(&peer.request(outgoing, ANSWER).await?)?;
        count += 1;
        items.extend(result.get(&step.items).and_then(Value::as_array).cloned().unwrap_or_default());
        // Any string is a cursor, the empty one too (2026-07-28, server/utilities/pagination).
        let Some(cursor) = result.get("nextCursor").and_then(Value::as_str) else { break };
        let repeated = !met.insert(cursor.to_owned());
        cursors.push(cursor.to_owned());
        if repeated || count >= most {
            break;
        }
    }
    Ok(json!({ "items": items, "pages": count, "cursors": cursors }))
}

async fn http(peer: &mut Peer, step: &HttpStep) -> Outcome {
    if peer.transport() != Transport::StreamableHttp {
        return Outcome::Skipped("the transport is not Streamable HTTP".to_owned());
    }
    let body = step.json.as_ref().map(Value::to_string).or_else(|| step.text.clone());
    match peer.raw_exchange(&step.method, step.headers.clone(), body).await {
        Ok(value) => Outcome::Value(value),
        Err(error) => Outcome::Error(error),
    }
}

fn outgoing(step: &Request, values: &[Value]) -> Result<Outgoing, Failure> {
    let params = step.params.as_ref().map(|params| fill(params, values)).transpose().map_err(Failure::Nothing)?;
    Ok(Outgoing { method: step.method.clone(), params, id: step.id.clone(), bare: step.bare })
}

fn result_of(response: &Value) -> Result<Value, StepError> {
    if let Some(error) = rpc_error(response) {
        return Err(error);
    }
    let result = response.get("result").cloned();
    result.ok_or_else(|| failure("invalid-response", "the response has neither a result nor an error"))
}
