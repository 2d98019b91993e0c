//! The JSON-RPC edge: bytes come in, the engine of either era makes of them what it will, and what goes out is JSON,
//! one answer to a request at most, under the request's id.

use std::collections::VecDeque;

use mcp_workbench_mock_servers::{
    Script,
    engine::{DispatchId, DispatchOutput, Engine, Origin, Output, SessionKey, Step, Target},
};
use rand::{Rng, RngExt as _};
use serde_json::{Value, json};

use crate::{
    messages::{Heard, MODERN, any},
    mutation::once_in,
    rounds::play,
    scripts::{plain, wild},
};

/// How many wakes of one message are played at most: a script may wait for ever.
const MOST_WAKES: usize = 20;

/// An engine as a front holds it.
struct Client {
    engine: Engine,
    session: SessionKey,
    heard: Heard,
    open: Vec<DispatchId>,
}

impl Client {
    fn new(script: Script, random: &mut impl Rng) -> Self {
        let mut engine = Engine::new(script, MODERN, random.next_u64());
        let session = engine.open_session();
        if !once_in(random, 4) {
            let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}});
            let hello = json!({"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": params});
            engine.on_message(&Origin::session(session), &hello);
        }
        Self { engine, session, heard: Heard::default(), open: Vec::new() }
    }

    /// Takes in bytes as the fronts do, and returns everything that is said because of them.
    fn receive(&mut self, bytes: &[u8]) -> (Option<Value>, DispatchId, Vec<Output>) {
        let message = serde_json::from_slice::<Value>(bytes).ok();
        let DispatchOutput { dispatch, outputs } = match &message {
            Some(message) => self.engine.on_message(&Origin::session(self.session), message),
            None => self.engine.on_garbage(),
        };
        let (mut said, mut queue, mut wakes) = (Vec::new(), VecDeque::from(outputs), 0);
        while let Some(output) = queue.pop_front() {
            if let (Target::Dispatch(dispatch), Step::Wake(_)) = (output.to, &output.step) {
                wakes += 1;
                if wakes <= MOST_WAKES {
                    queue.extend(self.engine.on_wake(dispatch));
                }
            }
            said.push(output);
        }
        self.open.push(dispatch);
        (message, dispatch, said)
    }

    /// Looks at everything that was said, and remembers what a client may bring back.
    fn look_at(&mut self, said: &[Output]) {
        for output in said {
            if let Step::Send(message) | Step::Response { message, .. } = &output.step {
                let text = serde_json::to_string(message).expect("what is said is JSON");
                assert_eq!(&serde_json::from_str::<Value>(&text).expect("it reads back"), message);
                assert!(!text.contains(['\n', '\r']), "one message is one line: {text}");
                items(message).iter().for_each(|one| self.heard.listen(one));
            }
            if let Step::Response { status, .. } = &output.step {
                assert!((200..600).contains(status), "{status}");
            }
        }
    }

    /// A stream that its client has closed, or the whole session.
    fn disturb(&mut self, random: &mut impl Rng) {
        if once_in(random, 6) && !self.open.is_empty() {
            let at = random.random_range(0..self.open.len());
            self.engine.on_closed(self.open.swap_remove(at));
        }
        if once_in(random, 40) {
            self.engine.close_session(self.session);
            self.session = self.engine.open_session();
        }
    }
}

/// The answers in one dispatch, each message of a batch by itself.
fn answers(dispatch: DispatchId, said: &[Output]) -> Vec<Value> {
    let answer = |output: &Output| match (&output.step, output.to) {
        (Step::Response { message, .. }, Target::Dispatch(id)) if id == dispatch => Some(message.clone()),
        _ => None,
    };
    let flat = |message: Value| if let Value::Array(items) = message { items } else { vec![message] };
    said.iter().filter_map(answer).flat_map(flat).collect()
}

/// The messages in a batch, or the one there is.
fn items(message: &Value) -> &[Value] {
    message.as_array().map_or(std::slice::from_ref(message), Vec::as_slice)
}

/// The ids of the requests in a message, each of a batch by itself.
fn asked(message: &Value) -> Vec<Value> {
    let is_request = |one: &&Value| {
        one["jsonrpc"] == "2.0" && one["method"].is_string() && (one["id"].is_string() || one["id"].is_number())
    };
    items(message).iter().filter(is_request).map(|one| one["id"].clone()).collect()
}

#[test]
fn without_rules_each_request_is_answered_once_under_its_id_and_nothing_else_is() {
    play("json-rpc/plain", |random| {
        let mut front = Client::new(plain(random), random);
        for _ in 0..random.random_range(1..20) {
            let bytes = any(random, &front.heard);
            let (message, dispatch, said) = front.receive(&bytes);
            front.look_at(&said);
            let answers = answers(dispatch, &said);
            let shown = || format!("{}\n{said:#?}", String::from_utf8_lossy(&bytes));
            let asked = message.as_ref().map(asked).unwrap_or_default();
            // What is no request but has an id is refused under it.
            let named: Vec<_> = message.iter().flat_map(items).filter_map(|one| one.get("id")).collect();
            for answer in &answers {
                assert_eq!(answer["jsonrpc"], "2.0", "{}", shown());
                assert!(answer.get("result").is_some() != answer.get("error").is_some(), "{}", shown());
                let id = answer.get("id").filter(|id| !id.is_null());
                assert!(id.is_none_or(|id| named.contains(&id)), "{}", shown());
            }
            for id in &asked {
                let times = answers.iter().filter(|answer| &answer["id"] == id).count();
                let wanted = named.iter().filter(|other| **other == id).count();
                assert!(times <= wanted, "answered {times} times: {}", shown());
            }
            if message.as_ref().is_none_or(|message| !message.is_array()) {
                assert!(answers.len() <= 1, "{}", shown());
            }
            front.disturb(random);
        }
    });
}

#[test]
fn whatever_a_script_does_nothing_breaks_and_a_dispatch_has_one_response() {
    play("json-rpc/wild", |random| {
        let (script, seed) = (wild(random), random.next_u64());
        let mut front = Client::new(script.clone(), random);
        let mut again = Engine::new(script, MODERN, seed);
        let session = again.open_session();
        for _ in 0..random.random_range(1..40) {
            let bytes = any(random, &front.heard);
            let (message, dispatch, said) = front.receive(&bytes);
            front.look_at(&said);
            if message.as_ref().is_none_or(|message| !message.is_array()) {
                let answers = answers(dispatch, &said);
                assert!(answers.len() <= 1, "{}\n{said:#?}", String::from_utf8_lossy(&bytes));
            }
            // What has no session, or another one, must not break anything either.
            if let Some(message) = &message {
                again.on_message(
                    &Origin { session: (!once_in(random, 3)).then_some(session), ..Origin::default() },
                    message,
                );
            }
            front.disturb(random);
        }
    });
}
