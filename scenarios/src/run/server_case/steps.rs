//! Executes the steps of server cases.

use std::{collections::BTreeSet, time::Duration};

use mock_servers::HumanDuration;
use serde_json::{Map, Value, json};

use crate::{
    evidence::{Outcome, StepError},
    model::{HttpStep, Pages, Raw, Request, ServerStep, Transport, Wait},
    peer::{Headers, Outgoing, Peer, TITLE_CASE, failure, rpc_error},
    run::ToolPolicy,
    uri_template,
};

use super::{Failure, calls, fill};

mod extension_tasks;
mod input;
mod streams;
mod tasks;
mod templates;

/// Default time to wait for messages after raw text.
const RAW: Duration = Duration::from_secs(1);
/// Timeout of a server to exit after its input was closed. Longer than between cases, as the step measures the exit and
/// interpreters on a busy machine are slow.
const CLOSE: Duration = Duration::from_secs(4);
/// Maximum time of a request with `repeat`.
const REPEATED: Duration = Duration::from_secs(5);
/// The least number of responses whose shortest duration is compared, if there are three times as many.
const FEW_RESPONSES: usize = 20;
/// Default maximum number of requests of a step with `each`.
const MAX_ITEMS: usize = 20;
/// Why a step has no value after the end of a session.
pub(super) const SESSION_ENDED: &str = "the server ended the session, which it may";
/// Default maximum number of pages.
const MAX_PAGES: usize = 100;

/// Executes one step. `values` has the values of all steps, null if a step has none. `policy` decides which tools may be
/// called.
pub(super) async fn take(peer: &mut Peer, step: &ServerStep, values: &[Value], policy: &ToolPolicy) -> Outcome {
    let taken = match step {
        ServerStep::Request(step) => request(peer, step, values).await,
        ServerStep::Notify(step) => notify(peer, step, values).await,
        ServerStep::Raw(step) => raw(peer, step).await,
        ServerStep::Pages(step) => pages(peer, step).await,
        ServerStep::CallTools(step) => calls::call_tools(peer, step, values, policy).await,
        ServerStep::TaskCalls(step) if peer.revision().is_modern() => {
            extension_tasks::call(peer, step, values, policy).await
        }
        ServerStep::TaskCalls(step) => tasks::call(peer, step, values, policy).await,
        ServerStep::GetPrompts(step) => calls::get_prompts(peer, step, values).await,
        ServerStep::ReadTemplates(step) => templates::read(peer, step, values).await,
        ServerStep::Http(step) => return http(peer, step).await,
        ServerStep::Close(_) => return peer.close(peer.response_timeout(Some(CLOSE))).await,
        ServerStep::Terminate(_) => return peer.terminate(peer.response_timeout(Some(CLOSE))).await,
        ServerStep::Input(step) => input::take(peer, step, values, policy).await,
        ServerStep::Stop(step) if peer.stop(&step.request).await => Ok(Value::Null),
        ServerStep::Stop(step) => Err(Failure::Nothing(format!("the request `{}` is not open", step.request))),
        ServerStep::Together(step) => streams::together(peer, step, values).await,
        ServerStep::Listen(step) => return streams::listen(peer, step).await,
        ServerStep::Sessions(step) => return streams::sessions(peer, step).await,
        ServerStep::Unauthorized(_) => return unauthorized(peer).await,
        ServerStep::OtherAddress(_) => return peer.connect_elsewhere().await,
        ServerStep::Wait(step) => wait(step, values).await,
    };
    match taken {
        Ok(value) => Outcome::Value(value),
        Err(Failure::Step(error)) => Outcome::Error(error),
        Err(Failure::Nothing(why)) => Outcome::Skipped(why),
    }
}

async fn request(peer: &mut Peer, step: &Request, values: &[Value]) -> Result<Value, Failure> {
    let needs_http = !step.headers.is_empty() || step.title_case || step.lost_after.is_some();
    if needs_http && peer.transport() != Transport::StreamableHttp {
        return Err(Failure::Nothing("the transport is not Streamable HTTP".to_owned()));
    }
    if peer.names_unknown_session(&step.headers) {
        return Err(Failure::Nothing("no further session is open".to_owned()));
    }
    if let Some(path) = &step.each {
        return each(peer, step, path, values).await;
    }
    let outgoing = outgoing(peer, step, values, None)?;
    let within = peer.response_timeout(step.within.map(|HumanDuration(within)| within));
    if let Some(method) = &step.until {
        let sent = peer.send(outgoing).await?;
        let found = peer.notification(&sent, method, within).await;
        match (&step.name, &found) {
            (Some(name), Ok(_)) => peer.leave_open(name, sent),
            _ => peer.give_up(&sent).await,
        }
        return match found {
            // A check judges the response.
            Err(error) if step.either && error.kind != "closed" => Err(Failure::Nothing(error.message)),
            found => Ok(found?),
        };
    }
    if let Some(times) = step.times {
        return Ok(at_once(peer, &outgoing, times, within).await?);
    }
    if let Some(count) = step.repeat {
        return Ok(repeated(peer, &outgoing, count, within).await?);
    }
    let response = match peer.request(outgoing, within).await {
        Err(error) if peer.session_has_ended(&error).await => return Err(Failure::Nothing(SESSION_ENDED.to_owned())),
        // An error status without a response: a check judges it.
        Err(error) if step.either && error.kind == "http-status" => return Err(Failure::Nothing(error.message)),
        response => response?,
    };
    if step.either {
        return Ok(response);
    }
    Ok(result_of(&response)?)
}

/// Sends the request once per item, one after another.
async fn each(peer: &mut Peer, step: &Request, path: &str, values: &[Value]) -> Result<Value, Failure> {
    let items = some(path, values)?;
    let within = peer.response_timeout(step.within.map(|HumanDuration(within)| within));
    let mut answers = Vec::new();
    for item in items.iter().take(step.max.unwrap_or(MAX_ITEMS)) {
        answers.push(peer.request(outgoing(peer, step, values, Some(item))?, within).await?);
    }
    Ok(json!({ "answers": answers }))
}

/// The nodes that a path selects in the values of the steps, at least one.
fn some(path: &str, values: &[Value]) -> Result<Vec<Value>, Failure> {
    match fill::select(path, &fill::values(values, None)) {
        Ok(found) if found.is_empty() => Err(Failure::Nothing(format!("the server has no value at `{path}`"))),
        found => found.map_err(Failure::Nothing),
    }
}

async fn wait(step: &Wait, values: &[Value]) -> Result<Value, Failure> {
    step.condition.as_ref().map(|path| some(path, values)).transpose()?;
    tokio::time::sleep(step.period.0).await;
    Ok(Value::Null)
}

/// Sends all requests before it waits for the first response.
async fn at_once(peer: &mut Peer, outgoing: &Outgoing, times: u16, within: Duration) -> Result<Value, StepError> {
    let mut sent = Vec::new();
    for _ in 0..times {
        sent.push(peer.send(outgoing.clone()).await?);
    }
    Ok(json!({ "answers": peer.responses(&sent, within).await? }))
}

/// Sends the requests one after another, and measures the responses.
async fn repeated(peer: &mut Peer, outgoing: &Outgoing, count: u16, within: Duration) -> Result<Value, StepError> {
    let mut durations = Vec::with_capacity(usize::from(count));
    let deadline = peer.now_us() + u64::try_from(REPEATED.as_micros()).unwrap_or(u64::MAX);
    let mut first_kb = None;
    // A slow server gets fewer requests.
    while durations.len() < usize::from(count) && peer.now_us() < deadline {
        let began_us = peer.now_us();
        match peer.request(outgoing.clone(), within).await {
            Err(error) if !durations.is_empty() && peer.session_has_ended(&error).await => break,
            response => response?,
        };
        durations.push(peer.now_us() - began_us);
        if durations.len() == usize::from(count) / 10 {
            first_kb = peer.memory_kb().await;
        }
    }
    let last_kb = peer.memory_kb().await;
    // A tenth, but enough that a server with random latency has a fast response in each part.
    let part = (durations.len() / 10).max(FEW_RESPONSES).min(durations.len().div_ceil(3));
    let (first, last) = (&durations[..part], &durations[durations.len() - part..]);
    // A busy machine makes some responses slower and none faster, so the shortest duration is that of the server.
    let (first_us, last_us) = (first.iter().min(), last.iter().min());
    let count = durations.len();
    Ok(json!({ "count": count, "first_us": first_us, "last_us": last_us, "first_kb": first_kb, "last_kb": last_kb }))
}

async fn notify(peer: &mut Peer, step: &Request, values: &[Value]) -> Result<Value, Failure> {
    peer.notify(&outgoing(peer, step, values, None)?).await?;
    Ok(Value::Null)
}

async fn raw(peer: &mut Peer, step: &Raw) -> Result<Value, Failure> {
    let within = peer.response_timeout(Some(step.within.map_or(RAW, |HumanDuration(within)| within)));
    let replies = peer.raw(&fill::expand(&step.text), step.pieces.unwrap_or(1), within).await?;
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
        let response = peer.request(outgoing, peer.response_timeout(None)).await?;
        if let Some(error) = rpc_error(&response).filter(|_| step.optional && count == 0) {
            return Err(Failure::Nothing(format!("the server rejects `{}`: {}", step.method, error.message)));
        }
        let result = result_of(&response)?;
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
    if step.method == "tools/list" {
        peer.note_listed(&items);
    }
    let variables: Vec<Value> = items.iter().flat_map(variables).collect();
    Ok(json!({ "items": items, "pages": count, "cursors": cursors, "variables": variables }))
}

/// The variables of a resource template.
fn variables(item: &Value) -> Vec<Value> {
    let Some(template) = item.get("uriTemplate").and_then(Value::as_str) else { return vec![] };
    uri_template::variables(template).into_iter().map(|name| json!({ "template": template, "name": name })).collect()
}

async fn http(peer: &mut Peer, step: &HttpStep) -> Outcome {
    let body = step.json.as_ref().map(Value::to_string).or_else(|| step.text.clone());
    peer.raw_exchange(&step.method, step.headers.clone(), body).await
}

/// Calls a tool that no server has, as a server validates the token first.
async fn unauthorized(peer: &mut Peer) -> Outcome {
    let params = json!({ "name": "workbench-protected-tool", "arguments": {} }).as_object().cloned();
    peer.probe_protection(Outgoing { method: "tools/call".to_owned(), params, ..Outgoing::default() }).await
}

fn outgoing(peer: &Peer, step: &Request, values: &[Value], item: Option<&Value>) -> Result<Outgoing, Failure> {
    let mut root = fill::values(values, item);
    root["revision"] = json!(peer.revision());
    let params = step.params.as_ref().map(|params| fill::fill(params, &root)).transpose().map_err(Failure::Nothing)?;
    let headers = step.headers.iter().map(|(name, value)| Ok((name.clone(), fill::fill_text(value, &root)?)));
    let mut headers = headers.collect::<Result<Headers, String>>().map_err(Failure::Nothing)?;
    if step.title_case {
        headers.insert(TITLE_CASE.to_owned(), "yes".to_owned());
    }
    let lost_after = step.lost_after.map(|HumanDuration(after)| after);
    Ok(Outgoing { method: step.method.clone(), params, id: step.id.clone(), bare: step.bare, headers, lost_after })
}

fn result_of(response: &Value) -> Result<Value, StepError> {
    if let Some(error) = rpc_error(response) {
        return Err(error);
    }
    let result = response.get("result").cloned();
    result.ok_or_else(|| failure("invalid-response", "the response has neither a result nor an error"))
}
