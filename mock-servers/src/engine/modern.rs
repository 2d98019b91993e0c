//! What only 2026-07-28 has: metadata on every request, discovery, and input that takes another round trip.

use serde_json::{Map, Value, json};

use super::{
    Defect, Engine, Era, Output, VERSION_KEY,
    answers::LOG_LEVELS,
    exchange::Exchange,
    message::{Outcome, method, param},
    requested_version,
};
use crate::script::Action;

const CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";
const LOG_LEVEL_KEY: &str = "io.modelcontextprotocol/logLevel";
const SERVER_INFO_KEY: &str = "io.modelcontextprotocol/serverInfo";

/// The name under which a server asks for input; one at a time.
const INPUT: &str = "input";

/// How many unanswered requests for input are remembered.
const MOST_RETRIES: usize = 10_000;

/// What to do when the client comes back with the input that was asked for.
#[derive(Debug, Clone)]
pub(crate) struct Retry {
    method: String,
    name: Option<Value>,
    nth: u64,
    asked: Value,
    remaining: Vec<Action>,
}

impl Engine {
    /// What is wrong with the metadata of a request (2026-07-28, basic, `_meta`, and versioning).
    pub(crate) fn modern_defect(&self, message: &Value) -> Option<Defect> {
        // A server of this era alone should name what it supports in any answer to `initialize`.
        if method(message) == "initialize" {
            let asked = param(message, "protocolVersion").and_then(Value::as_str).unwrap_or_default();
            return Some(self.unsupported_version(asked));
        }
        let meta = param(message, "_meta");
        let field = |name: &str| meta.and_then(|meta| meta.get(name));
        let missing = |name: &str| Some(Defect::new(400, -32602, format!("`_meta` lacks `{name}`")));
        let Some(version) = requested_version(message) else { return missing(VERSION_KEY) };
        if !self.support.has(version) || Era::of(version) == Era::Legacy {
            return Some(self.unsupported_version(version));
        }
        if !field(CAPABILITIES_KEY).is_some_and(Value::is_object) {
            return missing(CAPABILITIES_KEY);
        }
        let level = field(LOG_LEVEL_KEY);
        let known = level.is_none_or(|level| level.as_str().is_some_and(|level| LOG_LEVELS.contains(&level)));
        (!known).then(|| Defect::new(400, -32602, "unknown log level"))
    }

    /// The refusal of a revision, with those that are supported.
    pub(crate) fn unsupported_version(&self, requested: &str) -> Defect {
        let supported = self.support.all();
        Defect {
            status: 400,
            code: -32022,
            message: format!("unsupported protocol version: this server supports {}", supported.join(", ")),
            data: Some(json!({ "supported": supported, "requested": requested })),
        }
    }

    /// A finished result: as it is up to 2025-11-25, with its type, the server's identity and the caching hints since.
    pub(crate) fn complete(&self, exchange: &Exchange, members: Map<String, Value>) -> Value {
        if exchange.era == Era::Legacy {
            return Value::Object(members);
        }
        let mut result = Map::from_iter([("resultType".to_owned(), Value::from("complete"))]);
        result.extend(members);
        if is_cacheable(method(&exchange.message)) {
            result.insert("ttlMs".into(), self.ttl_millis.into());
            result.insert("cacheScope".into(), "public".into());
        }
        result.insert("_meta".into(), json!({ SERVER_INFO_KEY: self.server_info() }));
        Value::Object(result)
    }

    pub(crate) fn discover(&self, exchange: &Exchange) -> Outcome {
        let mut members = Map::new();
        members.insert("supportedVersions".into(), self.support.all().into());
        members.insert("capabilities".into(), self.capabilities.clone().into());
        if let Some(instructions) = &self.instructions {
            members.insert("instructions".into(), instructions.clone().into());
        }
        Outcome::Result(self.complete(exchange, members))
    }

    /// Asks for input with an `input_required` result, which ends this request; the retry goes on with what is left to
    /// do (2026-07-28, multi round-trip requests).
    pub(crate) fn require_input(
        &mut self,
        exchange: &mut Exchange,
        asked: &str,
        params: Option<Value>,
        out: &mut Vec<Output>,
    ) {
        let remaining: Vec<Action> = exchange.remaining.drain(..).collect();
        let capability = asked.split('/').next().unwrap_or_default();
        let declared = exchange.message.pointer("/params/_meta").and_then(|meta| meta.get(CAPABILITIES_KEY));
        if declared.is_none_or(|declared| declared.get(capability).is_none()) {
            let error = Outcome::Error {
                code: -32021,
                message: format!("the client does not declare `{capability}`"),
                data: Some(json!({ "requiredCapabilities": { capability: {} } })),
            };
            return self.answer(exchange, error, out);
        }
        let mut request = json!({ "method": asked });
        if let Some(params) = params {
            request["params"] = params;
        }
        let retry = Retry {
            method: method(&exchange.message).to_owned(),
            name: subject(&exchange.message),
            nth: exchange.nth,
            asked: request,
            remaining,
        };
        self.ask_again(exchange, retry, out);
    }

    fn ask_again(&mut self, exchange: &mut Exchange, retry: Retry, out: &mut Vec<Output>) {
        let token = self.token();
        let result = json!({
            "resultType": "input_required",
            "inputRequests": { INPUT: retry.asked },
            "requestState": token,
            "_meta": { SERVER_INFO_KEY: self.server_info() },
        });
        if self.retries.len() >= MOST_RETRIES {
            self.retries.clear();
        }
        self.retries.insert(token, retry);
        self.answer(exchange, Outcome::Result(result), out);
    }

    /// Whether the message was the retry of a request for input, and has been dealt with as such. It counts for no
    /// rule: the rule that asked goes on.
    pub(crate) fn take_up_retry(&mut self, exchange: &mut Exchange, out: &mut Vec<Output>) -> bool {
        if exchange.era == Era::Legacy || !exchange.is_request() || exchange.defect.is_some() {
            return false;
        }
        let Some(token) = param(&exchange.message, "requestState").and_then(Value::as_str) else { return false };
        let same =
            |retry: &Retry| retry.method == method(&exchange.message) && retry.name == subject(&exchange.message);
        match self.retries.remove(token).filter(same) {
            None => exchange.defect = Some(Defect::new(200, -32602, "unknown `requestState`")),
            Some(retry) => {
                exchange.nth = retry.nth;
                exchange.response = exchange.message.pointer("/params/inputResponses/input").cloned();
                if exchange.response.is_none() {
                    // What is missing is asked for again (multi round-trip requests, error handling).
                    self.ask_again(exchange, retry, out);
                } else {
                    exchange.remaining = retry.remaining.into();
                }
            }
        }
        self.run(exchange.clone(), out);
        true
    }
}

/// What a request is about, next to its method.
fn subject(message: &Value) -> Option<Value> {
    param(message, "name").or_else(|| param(message, "uri")).cloned()
}

/// The results that must carry caching hints (2026-07-28, caching).
fn is_cacheable(method: &str) -> bool {
    matches!(
        method,
        "server/discover"
            | "tools/list"
            | "prompts/list"
            | "resources/list"
            | "resources/templates/list"
            | "resources/read"
    )
}
