//! The engine's promises, one message at a time.

mod batches;
mod cancellation;
mod eras;
mod everything;
mod faults;
mod fixtures;
mod inputs;
mod legacy_tasks;
mod listing;
mod primitives;
mod properties;
mod rules;
mod server_requests;
mod skills;
mod tasks;

use std::time::Duration;

use serde_json::{Value, json};

use super::{DispatchId, Engine, Origin, Output, SessionKey, Step, Target};
use crate::script::Script;

const LEGACY: &str = "2025-11-25";
const MODERN: &str = "2026-07-28";

/// An engine with one session, as over stdio.
struct Bench {
    engine: Engine,
    session: SessionKey,
    next_id: u64,
}

impl Bench {
    fn new(script: Value, revision: &str) -> Self {
        let script: Script = serde_json::from_value(script).expect("the script is well-formed");
        let mut engine = Engine::new(script, revision, 42);
        let session = engine.open_session();
        Self { engine, session, next_id: 0 }
    }

    /// A bench for a profile, in this revision, with a client that declares everything.
    fn with_profile(name: &str, revision: &str) -> Self {
        let script = crate::profile::load(name).unwrap_or_else(|error| panic!("{error}"));
        let mut bench = Self { engine: Engine::new(script, revision, 42), session: SessionKey(0), next_id: 0 };
        bench.session = bench.engine.open_session();
        if revision != MODERN {
            let capabilities = json!({"sampling": {}, "elicitation": {"form": {}, "url": {}}, "roots": {}});
            bench.shake(revision, &capabilities);
        }
        bench
    }

    /// A bench of a handshake revision, whose client declares these capabilities.
    fn with_revision(script: Value, revision: &str, capabilities: &Value) -> Self {
        let mut bench = Self::new(script, revision);
        bench.shake(revision, capabilities);
        bench
    }

    fn shake(&mut self, revision: &str, capabilities: &Value) {
        let params = json!({"protocolVersion": revision, "capabilities": capabilities});
        let (_, steps) = self.send(&json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}));
        assert_eq!(final_answer(&steps).expect("an answer")["result"]["protocolVersion"], revision);
    }

    /// A request in the manner of this very revision.
    fn plain(&mut self, revision: &str, method: &str, mut params: Value) -> (DispatchId, Vec<Step>) {
        self.next_id += 1;
        if revision == MODERN {
            params["_meta"]["io.modelcontextprotocol/protocolVersion"] = MODERN.into();
            params["_meta"]["io.modelcontextprotocol/clientCapabilities"] =
                json!({"sampling": {}, "elicitation": {"form": {}, "url": {}}, "roots": {}});
        }
        self.send(&json!({"jsonrpc": "2.0", "id": self.next_id, "method": method, "params": params}))
    }

    /// A bench whose session is initialized.
    fn legacy(script: Value) -> Self {
        let mut bench = Self::new(script, LEGACY);
        bench.respond("initialize", json!({"protocolVersion": LEGACY, "capabilities": {"sampling": {}}}));
        bench
    }

    fn modern(script: Value) -> Self {
        Self::new(script, MODERN)
    }

    fn send(&mut self, message: &Value) -> (DispatchId, Vec<Step>) {
        let reaction = self.engine.on_message(&Origin::session(self.session), message);
        (reaction.dispatch, reaction.outputs.into_iter().map(|output| output.step).collect())
    }

    /// The outputs of a message, with their targets.
    fn outputs(&mut self, message: &Value) -> Vec<Output> {
        self.engine.on_message(&Origin::session(self.session), message).outputs
    }

    /// A request in the manner of the era that the newest revision belongs to.
    fn request(&mut self, method: &str, mut params: Value) -> Value {
        self.next_id += 1;
        if self.engine.support().has(MODERN) {
            params["_meta"]["io.modelcontextprotocol/protocolVersion"] = MODERN.into();
            params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({"elicitation": {}});
        }
        json!({"jsonrpc": "2.0", "id": self.next_id, "method": method, "params": params})
    }

    fn ask(&mut self, method: &str, params: Value) -> (DispatchId, Vec<Step>) {
        let request = self.request(method, params);
        self.send(&request)
    }

    /// The answer to a request that is answered at once.
    fn respond(&mut self, method: &str, params: Value) -> Value {
        let (_, steps) = self.ask(method, params);
        let answer = final_answer(&steps).unwrap_or_else(|| panic!("no answer to {method}: {steps:?}"));
        assert_eq!(answer["id"], self.next_id);
        answer
    }

    fn result(&mut self, method: &str, params: Value) -> Value {
        let mut answer = self.respond(method, params);
        assert!(answer.get("error").is_none(), "{answer}");
        answer["result"].take()
    }

    fn error(&mut self, method: &str, params: Value) -> i64 {
        let answer = self.respond(method, params);
        answer["error"]["code"].as_i64().unwrap_or_else(|| panic!("no error: {answer}"))
    }

    /// The text of a tool's reply.
    fn call(&mut self, tool: &str) -> String {
        let result = self.result("tools/call", json!({"name": tool, "arguments": {"text": "hi", "n": 3}}));
        result["content"][0]["text"].as_str().unwrap_or_default().to_owned()
    }

    fn call_steps(&mut self, tool: &str) -> (DispatchId, Vec<Step>) {
        self.ask("tools/call", json!({"name": tool, "arguments": {"text": "hi"}, "_meta": {"progressToken": "p"}}))
    }

    fn wake(&mut self, dispatch: DispatchId) -> Vec<Step> {
        self.engine.on_wake(dispatch).into_iter().map(|output| output.step).collect()
    }
}

fn final_answer(steps: &[Step]) -> Option<Value> {
    steps.iter().find_map(|step| match step {
        Step::Response { message, .. } => Some(message.clone()),
        _ => None,
    })
}

/// The messages that are sent besides the answer.
fn sent(steps: &[Step]) -> Vec<Value> {
    steps.iter().filter_map(|step| if let Step::Send(message) = step { Some(message.clone()) } else { None }).collect()
}

fn wake_of(steps: &[Step]) -> Option<Duration> {
    steps.iter().find_map(|step| if let Step::Wake(after) = step { Some(*after) } else { None })
}

/// A server with a tool named `echo` that does these things when it is called.
fn on_call(actions: Value) -> Value {
    json!({"tools": [{"name": "echo"}], "on": [{"when": {"method": "tools/call"}, "do": actions}]})
}

fn notification(method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "method": method, "params": params})
}
