//! What a client brings back and must not have changed: cursors, and the states of 2026-07-28.

use mcp_workbench_mock_servers::engine::{Engine, Origin, Step};
use rand::RngExt as _;
use serde_json::{Value, json};

use crate::{
    messages::MODERN,
    mutation::{bytes, odd_text, once_in},
    rounds::play,
};

fn ask(engine: &mut Engine, method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
    });
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let outputs = engine.on_message(&Origin::default(), &message).outputs;
    let answer = outputs.into_iter().find_map(|output| match output.step {
        Step::Response { message, .. } => Some(message),
        _ => None,
    });
    answer.expect("a request is answered")
}

#[test]
fn only_what_the_server_gave_is_taken_back() {
    play("seals", |random| {
        let script = json!({
            "tools": [{"name": "ask"}], "generate": {"tools": 5}, "page_size": 2,
            "on": [{"when": {"tool": "ask"}, "do": [
                {"request": {"method": "elicitation/create", "params": {"message": "?"}}}, {"reply": {"text": "taken"}},
            ]}],
        });
        let mut engine = Engine::new(serde_json::from_value(script).unwrap(), MODERN, random.random());
        let first = ask(&mut engine, "tools/list", json!({}));
        let asked = ask(&mut engine, "tools/call", json!({"name": "ask", "arguments": {}}));
        for (method, member, given) in [
            ("tools/list", "cursor", &first["result"]["nextCursor"]),
            ("tools/call", "requestState", &asked["result"]["requestState"]),
        ] {
            let given = given.as_str().unwrap_or_else(|| panic!("no {member} in {first} or {asked}"));
            let mut changed = given.as_bytes().to_vec();
            if once_in(random, 4) {
                changed = odd_text(random).into_bytes();
            } else {
                bytes(random, &mut changed);
            }
            let Ok(changed) = String::from_utf8(changed) else { continue };
            let params = json!({
                "name": "ask", "arguments": {}, "inputResponses": {"input": {"action": "decline"}}, member: changed,
            });
            let answer = ask(&mut engine, method, params);
            assert_eq!(answer.get("error").is_none(), changed == given, "{member} {changed:?} for {given:?}: {answer}");
        }
    });
}
