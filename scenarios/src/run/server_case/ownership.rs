//! Assigns the frames of a shared session to its scenarios.
//!
//! A late response, or notification of progress or of a subscription, belongs to the scenario whose request caused it, not
//! to the one that ran when it arrived.

use std::{collections::HashMap, ops::Range};

use evidence::Frame;
use serde_json::Value;

/// The key of the request of a subscription in its notifications (2026-07-28, basic/patterns/subscriptions).
const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";

/// The frames of each scenario: those of the handshake, then its own. `scenarios` are the ranges of `seq` in which each ran.
pub(crate) fn assign(frames: &[Frame], handshake: u64, scenarios: &[Range<u64>]) -> Vec<Vec<Frame>> {
    let owners = Owners::new(frames, scenarios);
    let greeting = || frames.iter().take_while(|frame| frame.seq < handshake).cloned();
    let mut assigned: Vec<Vec<Frame>> = scenarios.iter().map(|_| greeting().collect()).collect();
    for frame in frames.iter().filter(|frame| frame.seq >= handshake) {
        if let Some(scenario) = owners.owner_of(frame) {
            assigned[scenario].push(frame.clone());
        }
    }
    assigned
}

/// The frames of successive scenarios of a session, of which the first one performed the handshake: each has that and its own.
/// `scenarios` are the values of `seq` at which each began.
pub(crate) fn assign_successive(frames: Vec<Frame>, scenarios: &[u64]) -> Vec<Vec<Frame>> {
    if scenarios.len() == 1 {
        return vec![frames];
    }
    let ends = scenarios.iter().skip(1).copied().chain([u64::MAX]);
    let ranges: Vec<Range<u64>> = scenarios.iter().copied().zip(ends).map(|(from, to)| from..to).collect();
    let mut assigned = assign(&frames, 0, &ranges).into_iter();
    let first = assigned.next().unwrap_or_default();
    let requested = first.iter().find_map(|frame| messages(frame).find(|message| message["method"] == "initialize"));
    let id = requested.and_then(|request| request.get("id")).cloned();
    let of_handshake = |frame: &&Frame| {
        messages(frame).any(|message| match message.get("method") {
            Some(method) => method == "initialize" || method == "notifications/initialized",
            None => id.is_some() && message.get("id") == id.as_ref(),
        })
    };
    let handshake: Vec<Frame> = first.iter().filter(of_handshake).cloned().collect();
    let others: Vec<Vec<Frame>> = assigned.map(|own| handshake.iter().cloned().chain(own).collect()).collect();
    std::iter::once(first).chain(others).collect()
}

struct Owners<'a> {
    scenarios: &'a [Range<u64>],
    connections: HashMap<u64, usize>,
    requests: HashMap<String, usize>,
    tokens: HashMap<String, usize>,
}

impl<'a> Owners<'a> {
    fn new(frames: &[Frame], scenarios: &'a [Range<u64>]) -> Self {
        let mut owners =
            Self { scenarios, connections: HashMap::new(), requests: HashMap::new(), tokens: HashMap::new() };
        for frame in frames.iter().filter(|frame| frame.from_client()) {
            let Some(scenario) = owners.running(frame.seq) else { continue };
            if frame.http.is_some() {
                owners.connections.entry(frame.connection).or_insert(scenario);
            }
            for message in messages(frame).filter(|message| message.get("method").is_some()) {
                if let Some(id) = message.get("id") {
                    insert(&mut owners.requests, id, scenario);
                }
                if let Some(token) = message.pointer("/params/_meta/progressToken") {
                    insert(&mut owners.tokens, token, scenario);
                }
            }
        }
        owners
    }

    /// The scenario that ran at this frame.
    fn running(&self, seq: u64) -> Option<usize> {
        let next = self.scenarios.partition_point(|range| range.start <= seq);
        next.checked_sub(1).filter(|scenario| self.scenarios[*scenario].contains(&seq))
    }

    fn owner_of(&self, frame: &Frame) -> Option<usize> {
        if frame.from_client() {
            let cancelled =
                || messages(frame).find_map(|message| find(&self.requests, message.pointer("/params/requestId")?));
            return self.running(frame.seq).or_else(cancelled);
        }
        if frame.http.is_some() {
            return self.connections.get(&frame.connection).copied().or_else(|| self.running(frame.seq));
        }
        let caused = messages(frame).find_map(|message| {
            if message.get("method").is_none() {
                // An error without an id may be for any text.
                return find(&self.requests, message.get("id").filter(|id| !id.is_null())?);
            }
            let of_subscription = || message.get("params")?.get("_meta")?.get(SUBSCRIPTION_ID);
            let token = message.pointer("/params/progressToken").and_then(|token| find(&self.tokens, token));
            token.or_else(|| find(&self.requests, of_subscription()?))
        });
        caused.or_else(|| self.running(frame.seq))
    }
}

fn messages(frame: &Frame) -> impl Iterator<Item = &Value> {
    let (batch, single) = match frame.json() {
        Some(Value::Array(messages)) => (messages.as_slice(), None),
        single => (&[][..], single),
    };
    batch.iter().chain(single)
}

fn insert(owners: &mut HashMap<String, usize>, key: &Value, scenario: usize) {
    owners.insert(key.to_string(), scenario);
}

/// The owner of an id or token; without one, that of the same text with another type.
fn find(owners: &HashMap<String, usize>, key: &Value) -> Option<usize> {
    let other = match key {
        Value::String(text) => text.clone(),
        other => Value::String(other.to_string()).to_string(),
    };
    owners.get(&key.to_string()).or_else(|| owners.get(&other)).copied()
}

#[cfg(test)]
mod tests {
    use evidence::{Body, Direction};
    use serde_json::json;

    use super::*;

    fn frame(seq: u64, direction: Direction, message: Value) -> Frame {
        let body = Body::json(message);
        Frame { seq, at_us: seq, server: "server".to_owned(), connection: 0, direction, body, http: None }
    }

    #[test]
    fn late_messages_belong_to_the_scenario_that_caused_them() {
        use Direction::{ClientToServer as Client, ServerToClient as Server};
        let frames = [
            frame(0, Client, json!({ "id": 1, "method": "initialize" })),
            frame(1, Server, json!({ "id": 1, "result": {} })),
            frame(
                2,
                Client,
                json!({ "id": 2, "method": "tools/call", "params": { "_meta": { "progressToken": "t" } } }),
            ),
            frame(3, Client, json!({ "id": 3, "method": "ping" })),
            frame(4, Server, json!({ "method": "notifications/progress", "params": { "progressToken": "t" } })),
            frame(5, Server, json!({ "id": "2", "result": {} })),
            frame(6, Server, json!({ "method": "notifications/message" })),
            frame(7, Server, json!({ "id": 3, "result": {} })),
            frame(8, Client, json!({ "id": "3", "method": "ping" })),
            frame(9, Server, json!({ "id": "3", "result": {} })),
            frame(10, Client, json!({ "method": "notifications/cancelled", "params": { "requestId": 3 } })),
        ];
        let numbers = |frames: &[Frame]| frames.iter().map(|frame| frame.seq).collect::<Vec<_>>();
        let assigned = assign(&frames, 2, &[2..3, 3..8, 8..10]);
        assert_eq!(numbers(&assigned[0]), [0, 1, 2, 4, 5]);
        assert_eq!(numbers(&assigned[1]), [0, 1, 3, 6, 7, 10]);
        assert_eq!(numbers(&assigned[2]), [0, 1, 8, 9]);
    }

    #[test]
    fn an_error_without_an_id_belongs_to_the_scenario_that_runs() {
        let frames = [
            frame(0, Direction::ClientToServer, json!({ "id": null, "method": "ping" })),
            frame(1, Direction::ServerToClient, json!({ "id": null, "error": { "code": -32600, "message": "" } })),
        ];
        let assigned = assign(&frames, 0, &[0..1, 1..2]);
        assert_eq!(assigned.iter().map(Vec::len).collect::<Vec<_>>(), [1, 1]);
    }

    #[test]
    fn a_notification_of_a_subscription_belongs_to_the_scenario_that_opened_it() {
        let listen = json!({ "jsonrpc": "2.0", "id": 5, "method": "subscriptions/listen" });
        let params = json!({ "_meta": { SUBSCRIPTION_ID: 5 } });
        let acknowledged =
            json!({ "jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": params });
        let frames = [frame(0, Direction::ClientToServer, listen), frame(1, Direction::ServerToClient, acknowledged)];
        let assigned = assign(&frames, 0, &[0..1, 1..2]);
        assert_eq!(assigned.iter().map(Vec::len).collect::<Vec<_>>(), [2, 0]);
    }
}
