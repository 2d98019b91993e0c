//! The steps for resources, prompts, completion and logging as the frames show them: each is one request, or a list.

use serde_json::{Value, json};

use super::{Frames, Shown, error, is_complete, offers, requires_input, value};
use crate::{judge::transcript::RequestResponse, model::ClientStep};

/// The request of a step.
#[derive(Debug)]
pub(in crate::judge) struct FeatureRequest<'s> {
    /// The named server.
    pub(in crate::judge) server: Option<&'s str>,
    /// The method.
    pub(in crate::judge) method: &'static str,
    /// The member of a result with the items of a list.
    pub(in crate::judge) items: Option<&'static str>,
    /// The parameters that identify the request, by JSON Pointer.
    params: Vec<(&'static str, Value)>,
}

/// The request of a step, if it is one for resources, prompts, completion or logging and the revision has a request for it.
pub(in crate::judge) fn request(step: &ClientStep, modern: bool) -> Option<FeatureRequest<'_>> {
    let list = |server, method, items| FeatureRequest { server, method, items: Some(items), params: vec![] };
    let one = |server, method, params| FeatureRequest { server, method, items: None, params };
    Some(match step {
        ClientStep::Resources(step) => list(step.server.as_deref(), "resources/list", "resources"),
        ClientStep::ResourceTemplates(step) => {
            list(step.server.as_deref(), "resources/templates/list", "resourceTemplates")
        }
        ClientStep::Prompts(step) => list(step.server.as_deref(), "prompts/list", "prompts"),
        ClientStep::Read(step) => one(step.server.as_deref(), "resources/read", vec![("/uri", json!(step.uri))]),
        ClientStep::Prompt(step) => one(step.server.as_deref(), "prompts/get", vec![("/name", json!(step.name))]),
        ClientStep::Complete(step) => {
            let reference = match (&step.prompt, &step.template) {
                (Some(prompt), _) => ("/ref/name", json!(prompt)),
                (None, template) => ("/ref/uri", json!(template)),
            };
            let argument = [("/argument/name", json!(step.argument)), ("/argument/value", json!(step.value))];
            one(step.server.as_deref(), "completion/complete", [reference].into_iter().chain(argument).collect())
        }
        // 2026-07-28 has streams of notifications and a log level in each request instead.
        ClientStep::Subscribe(_) | ClientStep::Unsubscribe(_) | ClientStep::LogLevel(_) if modern => return None,
        ClientStep::Subscribe(step) => {
            one(step.server.as_deref(), "resources/subscribe", vec![("/uri", json!(step.uri))])
        }
        ClientStep::Unsubscribe(step) => {
            one(step.server.as_deref(), "resources/unsubscribe", vec![("/uri", json!(step.uri))])
        }
        ClientStep::LogLevel(step) => {
            one(step.server.as_deref(), "logging/setLevel", vec![("/level", json!(step.level))])
        }
        _ => return None,
    })
}

/// Lifetime in milliseconds of a result that is fresh at the end of a case.
const LONG_LIFETIME: u64 = 60_000;

/// Whether a client may use a result again instead of a request (2026-07-28, server/utilities/caching).
fn is_kept(result: &Value) -> bool {
    result.get("ttlMs").and_then(Value::as_u64).is_some_and(|lifetime| lifetime >= LONG_LIFETIME)
}

impl FeatureRequest<'_> {
    /// Whether a recorded request to this server is that of the step.
    pub(in crate::judge) fn matches(&self, server: &str, one: &RequestResponse<'_>) -> bool {
        let has = |(pointer, value): &(&str, Value)| {
            one.request.params().and_then(|params| params.pointer(pointer)) == Some(value)
        };
        one.request.frame.server == server && self.params.iter().all(has)
    }
}

impl<'t> Frames<'t, '_> {
    pub(super) fn feature(&mut self, request: &FeatureRequest<'t>) -> Shown {
        let Some(server) = self.server(request.server) else { return Shown::Nothing };
        if let Some(items) = request.items {
            return match self.list(server, request.method, items) {
                Shown::Outcome(mut shown) => {
                    if let crate::evidence::Outcome::Value(listed) = &mut shown.outcome.outcome {
                        *listed = json!({ items: listed.take() });
                    }
                    Shown::Outcome(shown)
                }
                other => other,
            };
        }
        let transcript = self.transcript;
        let ours = transcript.requests_of(request.method).filter(|one| request.matches(server, one));
        let mut left = ours.filter(|one| !self.used.contains(&one.request.seq()));
        let Some(first) = left.next() else {
            let earlier = transcript.requests_of(request.method).filter(|one| request.matches(server, one));
            if let Some(kept) = earlier.filter_map(RequestResponse::result).filter(|result| is_kept(result)).last() {
                return value(kept.clone(), 0, 0);
            }
            return match offers(transcript, server, request.method) {
                true => Shown::NotDone(format!("the client did not send this `{}` to `{server}`", request.method)),
                false => Shown::Nothing,
            };
        };
        let (mut last, mut used) = (first, vec![first.request.seq()]);
        // A request is repeated with the input that the server requires.
        while last.result().is_some_and(requires_input)
            && let Some(next) = left.next()
        {
            (last, _) = (next, used.push(next.request.seq()));
        }
        drop(left);
        self.used.extend(used);
        let began = first.request.at_us();
        match last.result() {
            Some(result) if is_complete(result) => {
                value(result.clone(), began, last.response.map_or(began, |response| response.at_us()))
            }
            Some(result) if requires_input(result) => {
                error("the client did not repeat the request with the required input", None, began, None)
            }
            Some(_) => Shown::Nothing,
            None => self.failure(last, began),
        }
    }
}
