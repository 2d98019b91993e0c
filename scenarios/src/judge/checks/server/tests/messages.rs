//! Checks of messages.

use super::*;

pub(super) fn table() -> Vec<Row> {
    let older = || Talk::new(Transport::Stdio, Revision::V2025_03_26);
    let ok = || stdio().result("ping", json!({}), json!({}));
    let unknown = "workbench/no-such-method";
    let strange = json!({ "jsonrpc": "2.0", "method": "notifications/strange" });
    let broken_json = |code: i64| {
        let error = json!({ "jsonrpc": "2.0", "id": null, "error": { "code": code, "message": "no" } });
        stdio().text(Direction::ClientToServer, "{").says(error)
    };
    vec![
        ("jsonrpc-version", stdio().ask(call("ping")).says(json!({ "id": 1, "result": {} })), ok()),
        (
            "response-is-result-or-error",
            stdio().ask(call("ping")).says(json!({ "jsonrpc": "2.0", "id": 1, "result": {}, "error": {} })),
            ok(),
        ),
        (
            "response-has-the-id-of-a-request",
            stdio().ask(call("ping")).says(json!({ "jsonrpc": "2.0", "id": "1", "result": {} })),
            ok(),
        ),
        (
            "request-answered-once",
            stdio().result("ping", json!({}), json!({})).says(json!({ "jsonrpc": "2.0", "id": 0, "result": {} })),
            ok(),
        ),
        (
            "no-response-to-notification",
            stdio()
                .ask(strange.clone())
                .says(json!({ "jsonrpc": "2.0", "id": null, "error": { "code": -32601, "message": "no" } })),
            stdio().ask(strange.clone()),
        ),
        (
            "server-asks-only-what-was-declared",
            ok().says(json!({ "jsonrpc": "2.0", "id": 9, "method": "roots/list" })),
            ok().says(json!({ "jsonrpc": "2.0", "id": 9, "method": "ping" })),
        ),
        (
            "server-respects-undeclared-capabilities",
            older().says(json!({ "jsonrpc": "2.0", "id": 9, "method": "sampling/createMessage" })),
            older().says(json!({ "jsonrpc": "2.0", "id": 9, "method": "ping" })),
        ),
        (
            "no-request-before-initialized",
            stdio()
                .says(json!({ "jsonrpc": "2.0", "id": 9, "method": "roots/list" }))
                .ask(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })),
            stdio()
                .says(json!({ "jsonrpc": "2.0", "id": 9, "method": "ping" }))
                .ask(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })),
        ),
        (
            "unknown-method-is-refused",
            stdio().result(unknown, json!({}), json!({})),
            stdio().error(unknown, json!({}), -32601),
        ),
        ("unknown-method-code", stdio().error(unknown, json!({}), -32602), stdio().error(unknown, json!({}), -32601)),
        (
            "survives-broken-json",
            stdio().text(Direction::ClientToServer, "{").ask(call("ping")),
            stdio().text(Direction::ClientToServer, "{").result("ping", json!({}), json!({})),
        ),
        ("broken-json-code", broken_json(-32600), broken_json(-32700)),
        (
            "survives-unknown-notification",
            stdio().ask(strange.clone()).ask(call("ping")),
            stdio().ask(strange).result("ping", json!({}), json!({})),
        ),
    ]
}
